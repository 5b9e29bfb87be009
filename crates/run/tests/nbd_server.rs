//! An NBD server over one file that keeps its own books, written from the protocol document and not
//! from the client.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const EXPORT_NAME: u32 = 1;
const GO: u32 = 7;
/// Has flags, can flush, can write through.
const FLAGS: u16 = 1 | 4 | 8;

/// What the server saw, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) flushes: AtomicU64,
    /// Writes that were answered and not done.
    pub(crate) forgotten: AtomicU64,
}

/// Which writes a server does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writes {
    All,
    /// This one of a connection, and each further one at this distance, is answered and not done.
    ForgetsAfter {
        first: u64,
        every: u64,
    },
}

impl Writes {
    fn forgets(self, number: u64) -> bool {
        match self {
            Self::All => false,
            Self::ForgetsAfter { first, every } => {
                number >= first && (number - first).is_multiple_of(every)
            }
        }
    }
}

/// A server that listens until the process ends.
pub(crate) struct NbdServer {
    pub(crate) url: String,
    pub(crate) books: Arc<Books>,
}

impl NbdServer {
    /// Serves the file at `path`, as long as it is, on a socket beside it.
    pub(crate) fn over(path: &Path) -> Self {
        Self::that_does(Writes::All, path)
    }

    pub(crate) fn that_does(writes: Writes, path: &Path) -> Self {
        let socket = path.with_extension("sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let file = Arc::new(
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .unwrap(),
        );
        let books = Arc::new(Books::default());
        let seen = Arc::clone(&books);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (file, books) = (Arc::clone(&file), Arc::clone(&seen));
                // A client that hangs up ends its connection; whether it should have is judged by
                // the test.
                std::thread::spawn(move || drop(serve(stream, &file, &books, writes)));
            }
        });
        Self {
            url: format!("nbd+unix:///?socket={}", socket.display()),
            books,
        }
    }
}

fn serve(mut stream: UnixStream, file: &File, books: &Books, writes: Writes) -> io::Result<()> {
    shake_hands(&mut stream, file.metadata()?.len())?;
    let mut written = 0;
    loop {
        let request: [u8; 28] = exactly(&mut stream)?;
        let kind = u16::from_be_bytes([request[6], request[7]]);
        let offset = u64::from_be_bytes(request[16..24].try_into().unwrap());
        let mut data = vec![0; u32::from_be_bytes(request[24..28].try_into().unwrap()) as usize];
        match kind {
            0 => {
                file.read_exact_at(&mut data, offset)?;
                books.read_bytes.fetch_add(data.len() as u64, SeqCst);
            }
            1 => {
                stream.read_exact(&mut data)?;
                if writes.forgets(written) {
                    books.forgotten.fetch_add(1, SeqCst);
                } else {
                    file.write_all_at(&data, offset)?;
                }
                written += 1;
                books.written_bytes.fetch_add(data.len() as u64, SeqCst);
                data.clear();
            }
            3 => {
                file.sync_data()?;
                books.flushes.fetch_add(1, SeqCst);
            }
            _ => return Ok(()),
        }
        stream.write_all(
            &[
                &0x6744_6698_u32.to_be_bytes()[..],
                &[0; 4],
                &request[8..16],
                &data,
            ]
            .concat(),
        )?;
    }
}

fn shake_hands(stream: &mut UnixStream, size: u64) -> io::Result<()> {
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    let _flags: [u8; 4] = exactly(stream)?;
    loop {
        let option: [u8; 16] = exactly(stream)?;
        let number = u32::from_be_bytes(option[8..12].try_into().unwrap());
        let mut payload = vec![0; u32::from_be_bytes(option[12..16].try_into().unwrap()) as usize];
        stream.read_exact(&mut payload)?;
        let mut answer = |kind: u32, payload: &[u8]| {
            let len = u32::try_from(payload.len()).unwrap();
            let head = [
                &0x0003_e889_0455_65a9_u64.to_be_bytes()[..],
                &option[8..12],
                &kind.to_be_bytes(),
                &len.to_be_bytes(),
            ]
            .concat();
            stream.write_all(&[&head, payload].concat())
        };
        let description = [&size.to_be_bytes()[..], &FLAGS.to_be_bytes()].concat();
        match number {
            EXPORT_NAME => return stream.write_all(&description),
            GO => {
                answer(3, &[&[0, 0], &description[..]].concat())?;
                return answer(1, &[]);
            }
            _ => answer(0x8000_0001, &[])?,
        }
    }
}

fn exactly<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
