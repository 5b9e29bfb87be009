//! A server for tests: memory behind the wire format, written from the protocol document and not
//! from the client's constants.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

/// How the server deviates from a plain one.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    pub(super) size: usize,
    pub(super) flags: u16,
    /// `None`: the server knows only the bare export name.
    pub(super) sizes: Option<[u32; 3]>,
    /// Requests that touch this offset fail with this number.
    pub(super) fault: Option<(u64, u32)>,
    /// So many requests are gathered and answered in reverse.
    pub(super) gather: usize,
    pub(super) end: End,
}

/// How the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    WithTheClient,
    /// After so many replies, within the next one.
    InsideReply(usize),
    /// After so many replies, with a reply to nothing.
    WithNonsense(usize),
}

pub(super) const HAS_FLAGS: u16 = 1;
pub(super) const READ_ONLY: u16 = 2;
pub(super) const FLUSH: u16 = 4;
pub(super) const FUA: u16 = 8;

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            size: 8 << 20,
            flags: HAS_FLAGS | FLUSH | FUA,
            sizes: Some([1, 4096, 4 << 20]),
            fault: None,
            gather: 1,
            end: End::WithTheClient,
        }
    }
}

/// What the server saw of one client.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) memory: Vec<u8>,
    pub(super) requests: usize,
    pub(super) flushes: usize,
    pub(super) stable_writes: usize,
    pub(super) took_leave: bool,
}

struct Asked {
    kind: u16,
    cookie: [u8; 8],
    offset: u64,
    len: usize,
    failed: Option<u32>,
}

/// Serves one client of the export `disk`.
pub(super) fn start(listener: UnixListener, behaviour: Behaviour) -> JoinHandle<Seen> {
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut seen = Seen {
            memory: vec![0; behaviour.size],
            ..Seen::default()
        };
        // A client that hangs up ends the service; what was seen is judged by the test.
        let _the_end = serve(stream, &behaviour, &mut seen);
        seen
    })
}

fn serve(mut stream: UnixStream, behaviour: &Behaviour, seen: &mut Seen) -> io::Result<()> {
    shake_hands(&mut stream, behaviour)?;
    let mut replies = 0;
    loop {
        let mut gathered = Vec::new();
        while gathered.len() < behaviour.gather {
            match ask(&mut stream, behaviour, seen)? {
                Some(asked) => gathered.push(asked),
                None => return Ok(()),
            }
        }
        for asked in gathered.iter().rev() {
            let mut reply = reply(asked, seen);
            match behaviour.end {
                End::InsideReply(n) if n == replies => {
                    reply.truncate(reply.len() / 2);
                    return stream.write_all(&reply);
                }
                End::WithNonsense(n) if n == replies => {
                    reply[8..16].fill(0xEE);
                    stream.write_all(&reply)?;
                    let mut until_the_client_goes = Vec::new();
                    return stream.read_to_end(&mut until_the_client_goes).map(drop);
                }
                End::WithTheClient | End::InsideReply(_) | End::WithNonsense(_) => {
                    stream.write_all(&reply)?
                }
            }
            replies += 1;
        }
    }
}

fn shake_hands(stream: &mut UnixStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    assert_eq!(flags, [0, 0, 0, 3]);
    let size = [
        (behaviour.size as u64).to_be_bytes().to_vec(),
        behaviour.flags.to_be_bytes().to_vec(),
    ]
    .concat();
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        assert_eq!(&head[..8], b"IHAVEOPT");
        let mut payload = vec![0; u32::from_be_bytes(head[12..].try_into().unwrap()) as usize];
        stream.read_exact(&mut payload)?;
        let mut say = |kind: u32, payload: &[u8]| {
            let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
            stream.write_all(
                &[
                    &0x3e889045565a9_u64.to_be_bytes()[..],
                    &head[8..12],
                    &kind.to_be_bytes(),
                    &len,
                    payload,
                ]
                .concat(),
            )
        };
        match (head[11], behaviour.sizes) {
            (1, _) if payload == b"disk" => return stream.write_all(&size),
            (1, _) => return Err(io::ErrorKind::NotFound.into()),
            (7, Some(sizes)) if payload[4..8] == *b"disk" => {
                let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_be_bytes()).collect();
                say(3, &[&[0, 0], &size[..]].concat())?;
                say(3, &[&[0, 3], &sizes[..]].concat())?;
                return say(1, &[]);
            }
            (7, Some(_)) => say(0x8000_0006, b"only disk")?,
            _ => say(0x8000_0001, &[])?,
        }
    }
}

fn ask(
    stream: &mut UnixStream,
    behaviour: &Behaviour,
    seen: &mut Seen,
) -> io::Result<Option<Asked>> {
    let mut head = [0; 28];
    stream.read_exact(&mut head)?;
    assert_eq!(head[..4], 0x2560_9513_u32.to_be_bytes());
    let (flags, kind) = (
        u16::from_be_bytes([head[4], head[5]]),
        u16::from_be_bytes([head[6], head[7]]),
    );
    let offset = u64::from_be_bytes(head[16..24].try_into().unwrap());
    let len = u32::from_be_bytes(head[24..28].try_into().unwrap()) as usize;
    let failed = behaviour
        .fault
        .filter(|(at, _)| (offset..offset + len as u64).contains(at))
        .map(|(_, number)| number);
    seen.requests += usize::from(kind != 2);
    match kind {
        0 => {}
        1 => {
            let mut data = vec![0; len];
            stream.read_exact(&mut data)?;
            seen.stable_writes += usize::from(flags == 1);
            if failed.is_none() {
                let at = usize::try_from(offset).unwrap();
                seen.memory[at..at + len].copy_from_slice(&data);
            }
        }
        2 => {
            seen.took_leave = true;
            return Ok(None);
        }
        3 => {
            assert_eq!((offset, len), (0, 0));
            seen.flushes += 1;
        }
        other => panic!("request of kind {other}"),
    }
    Ok(Some(Asked {
        kind,
        cookie: head[8..16].try_into().unwrap(),
        offset,
        len,
        failed,
    }))
}

fn reply(asked: &Asked, seen: &Seen) -> Vec<u8> {
    let mut bytes = [
        &0x6744_6698_u32.to_be_bytes()[..],
        &asked.failed.unwrap_or(0).to_be_bytes(),
        &asked.cookie,
    ]
    .concat();
    if asked.kind == 0 && asked.failed.is_none() {
        let at = usize::try_from(asked.offset).unwrap();
        bytes.extend_from_slice(&seen.memory[at..at + asked.len]);
    }
    bytes
}
