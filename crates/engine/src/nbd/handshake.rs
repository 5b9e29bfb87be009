//! From a fresh connection to an agreed export: fixed newstyle, `NBD_OPT_GO`, and the bare export
//! name for servers without it.

use super::protocol::{
    Answer, BlockSizes, Description, GREETING_BYTES, Greeting, NbdFault, OPTION_EXPORT_NAME,
    OPTION_GO, OPTION_REPLY_BYTES, OPTION_START_TLS, OptionReply, TransmissionFlags, export,
    go_payload, option,
};
use std::io::{self, Read, Write};

/// Answers that a server may give to one option before it must decide.
const MOST_ANSWERS: u32 = 64;

/// The export that both sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size: u64,
    pub(super) flags: TransmissionFlags,
    pub(super) block_sizes: BlockSizes,
}

/// Why there is no agreement.
#[derive(Debug)]
pub(super) enum Disagreement {
    Io(io::Error),
    Fault(NbdFault),
    /// A clause that follows "the server".
    Refused(String),
}

impl From<io::Error> for Disagreement {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<NbdFault> for Disagreement {
    fn from(fault: NbdFault) -> Self {
        Self::Fault(fault)
    }
}

/// Hears the greeting and answers it.
pub(super) fn greet(peer: &mut (impl Read + Write)) -> Result<Greeting, Disagreement> {
    let greeting = Greeting::parse(&bytes::<GREETING_BYTES>(peer)?)?;
    peer.write_all(&greeting.answer())?;
    Ok(greeting)
}

/// Asks for TLS, which begins with the next byte of either side.
pub(super) fn start_tls(
    peer: &mut (impl Read + Write),
    greeting: Greeting,
) -> Result<(), Disagreement> {
    let without = || Disagreement::Refused("has no TLS".into());
    if !greeting.is_fixed() {
        return Err(without());
    }
    peer.write_all(&option(OPTION_START_TLS, &[]))?;
    let reply = OptionReply::parse(&bytes::<OPTION_REPLY_BYTES>(peer)?, OPTION_START_TLS)?;
    let mut payload = vec![0; reply.bytes];
    peer.read_exact(&mut payload)?;
    match reply.answer {
        Answer::Accepted => Ok(()),
        Answer::Unsupported => Err(without()),
        Answer::Refused(reason) => Err(Disagreement::Refused(with_message(reason, &payload))),
        Answer::Description => Err(NbdFault::OptionAnswer { kind: 3 }.into()),
    }
}

/// Negotiates the named export; afterwards the connection carries requests and simple replies.
pub(super) fn agree(
    peer: &mut (impl Read + Write),
    name: &str,
    greeting: Greeting,
) -> Result<Export, Disagreement> {
    if greeting.is_fixed()
        && let Some(export) = go(peer, name)?
    {
        return Ok(export);
    }
    by_bare_name(peer, name, greeting)
}

/// `None` when the server lacks the option.
fn go(peer: &mut (impl Read + Write), name: &str) -> Result<Option<Export>, Disagreement> {
    peer.write_all(&option(OPTION_GO, &go_payload(name)))?;
    let (mut agreed, mut block_sizes) = (None, BlockSizes::UNTOLD);
    for _ in 0..MOST_ANSWERS {
        let reply = OptionReply::parse(&bytes::<OPTION_REPLY_BYTES>(peer)?, OPTION_GO)?;
        let mut payload = vec![0; reply.bytes];
        peer.read_exact(&mut payload)?;
        match reply.answer {
            Answer::Accepted => {
                let (size, flags) = agreed.ok_or(NbdFault::NoSize)?;
                return Ok(Some(Export {
                    size,
                    flags,
                    block_sizes,
                }));
            }
            Answer::Description => match Description::parse(&payload)? {
                Description::Export { size, flags } => agreed = Some((size, flags)),
                Description::BlockSizes(sizes) => block_sizes = sizes,
                Description::Other => {}
            },
            Answer::Unsupported => return Ok(None),
            Answer::Refused(reason) => {
                return Err(Disagreement::Refused(with_message(reason, &payload)));
            }
        }
    }
    Err(NbdFault::Endless.into())
}

/// A server that does not know the name ends the connection: the option has no answer for it.
fn by_bare_name(
    peer: &mut (impl Read + Write),
    name: &str,
    greeting: Greeting,
) -> Result<Export, Disagreement> {
    peer.write_all(&option(OPTION_EXPORT_NAME, name.as_bytes()))?;
    let mut answer = [0; 134];
    let answer = &mut answer[..greeting.export_name_answer_bytes()];
    match peer.read_exact(answer) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(Disagreement::Refused(
                "has no such export (it hung up on the name)".into(),
            ));
        }
        Err(e) => return Err(e.into()),
    }
    let (size, flags) = export(answer)?;
    Ok(Export {
        size,
        flags,
        block_sizes: BlockSizes::UNTOLD,
    })
}

fn bytes<const N: usize>(peer: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    peer.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The reason with the server's own words, as far as they are printable.
fn with_message(reason: &str, payload: &[u8]) -> String {
    let message: String = String::from_utf8_lossy(payload)
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    if message.trim().is_empty() {
        reason.into()
    } else {
        format!("{reason}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A server that says what it says, whatever it hears.
    struct Script {
        says: io::Cursor<Vec<u8>>,
        heard: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.says.read(into)
        }
    }

    impl Write for Script {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            self.heard.write(from)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn negotiated(says: &[&[u8]], name: &str) -> (Result<Export, Disagreement>, Vec<u8>) {
        let mut script = Script {
            says: io::Cursor::new(says.concat()),
            heard: Vec::new(),
        };
        let greeting = greet(&mut script);
        let agreed = greeting.and_then(|greeting| agree(&mut script, name, greeting));
        (agreed, script.heard)
    }

    fn answer(kind: u32, payload: &[u8]) -> Vec<u8> {
        let len = u32::try_from(payload.len()).unwrap();
        [
            &b"\x00\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x07"[..],
            &kind.to_be_bytes(),
            &len.to_be_bytes(),
            payload,
        ]
        .concat()
    }

    const FIXED: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";
    const SIZE: &[u8] = b"\0\0\0\0\0\0\0\x10\0\0\0\x0d";

    #[test]
    fn go_agrees_on_size_flags_and_block_sizes() {
        let sizes = b"\0\x03\0\0\x02\0\0\0\x10\0\0\x10\0\0";
        let (export, heard) = negotiated(
            &[
                FIXED,
                &answer(3, SIZE),
                &answer(3, b"\0\x01name"),
                &answer(3, sizes),
                &answer(1, b""),
            ],
            "d",
        );
        let export = export.unwrap();
        assert_eq!(
            (export.size, export.block_sizes),
            (
                1 << 20,
                BlockSizes {
                    minimum: 512,
                    preferred: 4096,
                    maximum: 1 << 20
                }
            )
        );
        assert!(
            export.flags.flush()
                && export.flags.fua()
                && !export.flags.read_only()
                && !export.flags.multi_conn()
        );
        assert_eq!(
            heard,
            b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x09\0\0\0\x01d\0\x01\0\x03"
        );
    }

    #[test]
    fn servers_without_go_get_the_bare_name_and_their_padding_is_read() {
        let (export, heard) = negotiated(&[FIXED, &answer(0x8000_0001, b"what?"), &SIZE[2..]], "d");
        assert_eq!(
            (export.as_ref().unwrap().size, export.unwrap().block_sizes),
            (1 << 20, BlockSizes::UNTOLD)
        );
        assert!(heard.ends_with(b"IHAVEOPT\0\0\0\x01\0\0\0\x01d"));
        let (export, heard) = negotiated(&[b"NBDMAGICIHAVEOPT\0\0", &SIZE[2..], &[0; 124]], "d");
        assert_eq!(
            (export.unwrap().size, heard),
            (1 << 20, b"\0\0\0\0IHAVEOPT\0\0\0\x01\0\0\0\x01d".to_vec())
        );
        let (cut, _) = negotiated(&[b"NBDMAGICIHAVEOPT\0\0", &SIZE[2..]], "d");
        assert!(
            matches!(cut, Err(Disagreement::Refused(_))),
            "without its 124 bytes of padding the answer is not whole"
        );
    }

    fn enciphered(says: &[&[u8]]) -> Result<(), Disagreement> {
        let mut script = Script {
            says: io::Cursor::new(says.concat()),
            heard: Vec::new(),
        };
        let greeting = greet(&mut script)?;
        start_tls(&mut script, greeting)?;
        assert!(script.heard.ends_with(b"IHAVEOPT\0\0\0\x05\0\0\0\0"));
        Ok(())
    }

    #[test]
    fn a_server_without_tls_is_told_nothing_more() {
        let of_tls = |kind, payload: &[u8]| {
            let mut answer = answer(kind, payload);
            answer[11] = 5;
            answer
        };
        assert!(enciphered(&[FIXED, &of_tls(1, b"")]).is_ok());
        for says in [
            vec![FIXED, &of_tls(0x8000_0001, b"")],
            vec![b"NBDMAGICIHAVEOPT\0\0"],
        ] {
            let refused = enciphered(&says);
            assert!(
                matches!(&refused, Err(Disagreement::Refused(why)) if why == "has no TLS"),
                "{refused:?}"
            );
        }
        let refused = enciphered(&[FIXED, &of_tls(0x8000_0002, b"not here")]);
        assert!(
            matches!(&refused, Err(Disagreement::Refused(why)) if why.ends_with("not here")),
            "{refused:?}"
        );
        let refused = enciphered(&[FIXED, &of_tls(3, b"")]);
        assert!(
            matches!(refused, Err(Disagreement::Fault(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn a_refusal_keeps_the_words_of_the_server() {
        let (refused, _) = negotiated(&[FIXED, &answer(0x8000_0006, b"only\n 'a' and 'b'")], "d");
        assert!(
            matches!(refused, Err(Disagreement::Refused(reason)) if reason == "has no such export: only 'a' and 'b'")
        );
    }

    #[test]
    fn a_server_that_never_decides_or_tells_no_size_is_at_fault() {
        let endless: Vec<u8> = answer(3, SIZE).repeat(100);
        assert!(matches!(
            negotiated(&[FIXED, &endless], "").0,
            Err(Disagreement::Fault(NbdFault::Endless))
        ));
        assert!(matches!(
            negotiated(&[FIXED, &answer(1, b"")], "").0,
            Err(Disagreement::Fault(NbdFault::NoSize))
        ));
    }

    proptest! {
        #[test]
        fn no_server_makes_the_negotiation_panic(
            kinds in proptest::collection::vec((prop_oneof![Just(3_u32), Just(1), Just(0x8000_0001), any::<u32>()], proptest::collection::vec(any::<u8>(), 0..20)), 0..6),
            noise in proptest::collection::vec(any::<u8>(), 0..200),
            flags in 0_u8..4,
        ) {
            let answers: Vec<u8> = kinds.iter().flat_map(|(kind, payload)| answer(*kind, payload)).collect();
            let _any_outcome = negotiated(&[b"NBDMAGICIHAVEOPT\0", &[flags], &answers, &noise], "d");
            let _any_outcome = negotiated(&[&noise], "d");
        }
    }
}
