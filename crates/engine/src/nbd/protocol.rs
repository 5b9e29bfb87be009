//! The bytes of the NBD protocol as pure functions: what a client sends, and what a server's answer
//! means.
//!
//! Source: the protocol document of the NBD project (`doc/proto.md`). Integers are big-endian.

/// How a server broke the protocol; the connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NbdFault {
    #[error("it greets with {0:#018x}, which is not NBD")]
    Greeting(u64),
    #[error(
        "it speaks only the oldstyle handshake, which fixes the export before a client can name one"
    )]
    OldStyle,
    #[error("an answer in the negotiation starts with {0:#018x}")]
    OptionMagic(u64),
    #[error("it answers option {answered} where option {asked} was asked")]
    OptionMismatch { asked: u32, answered: u32 },
    #[error("an answer of kind {kind:#x} does not belong to the option that was asked")]
    OptionAnswer { kind: u32 },
    #[error("{what} has {bytes} bytes, which is not possible")]
    Length { what: &'static str, bytes: u32 },
    #[error("it never ends its description of the export")]
    Endless,
    #[error("it accepts the export without telling its size")]
    NoSize,
    #[error("the export has {0} bytes, more than a signed 64-bit offset reaches")]
    Size(u64),
    #[error("block sizes {minimum}, {preferred} and {maximum} contradict each other")]
    BlockSizes {
        minimum: u32,
        preferred: u32,
        maximum: u32,
    },
    #[error("a reply starts with {0:#010x}")]
    ReplyMagic(u32),
    #[error("a reply names request {0}, which is not outstanding")]
    UnknownRequest(u64),
    #[error("a reply to request {0} came before the whole request was sent")]
    EarlyReply(u64),
}

const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OLD_STYLE_MAGIC: u64 = 0x0000_4202_8186_1253;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

pub(super) const GREETING_BYTES: usize = 18;
pub(super) const OPTION_REPLY_BYTES: usize = 20;
pub(super) const REQUEST_BYTES: usize = 28;
pub(super) const REPLY_BYTES: usize = 16;

pub(super) const OPTION_EXPORT_NAME: u32 = 1;
pub(super) const OPTION_START_TLS: u32 = 5;
pub(super) const OPTION_GO: u32 = 7;

/// Longest answer to an option that is read, in bytes: names and messages end at 4096, descriptions
/// are shorter.
const LONGEST_ANSWER: u32 = 8192;

/// Big-endian fields, or `None` beyond the end.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// What the server can do in the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    flags: u16,
}

impl Greeting {
    const FIXED_NEWSTYLE: u16 = 1;
    const NO_ZEROES: u16 = 2;

    pub(super) fn parse(bytes: &[u8; GREETING_BYTES]) -> Result<Self, NbdFault> {
        let (magic, style) = (u64_at(bytes, 0).unwrap_or(0), u64_at(bytes, 8).unwrap_or(0));
        match (magic, style) {
            (GREETING_MAGIC, OPTION_MAGIC) => Ok(Self {
                flags: u16_at(bytes, 16).unwrap_or(0),
            }),
            (GREETING_MAGIC, OLD_STYLE_MAGIC) => Err(NbdFault::OldStyle),
            (GREETING_MAGIC, other) | (other, _) => Err(NbdFault::Greeting(other)),
        }
    }

    /// Whether unknown options are answered instead of ending the connection.
    pub(super) fn is_fixed(self) -> bool {
        self.flags & Self::FIXED_NEWSTYLE != 0
    }

    /// The client's flags: all that are known of those offered.
    pub(super) fn answer(self) -> [u8; 4] {
        u32::from(self.flags & (Self::FIXED_NEWSTYLE | Self::NO_ZEROES)).to_be_bytes()
    }

    /// Bytes of the answer to an export's bare name.
    pub(super) fn export_name_answer_bytes(self) -> usize {
        if self.flags & Self::NO_ZEROES != 0 {
            10
        } else {
            134
        }
    }
}

/// An option with its payload.
pub(super) fn option(number: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("payloads are names of at most 4096 bytes");
    [
        &OPTION_MAGIC.to_be_bytes(),
        &number.to_be_bytes()[..],
        &len.to_be_bytes(),
        payload,
    ]
    .concat()
}

/// Payload of `NBD_OPT_GO`: the name, and a request for the block sizes.
pub(super) fn go_payload(export: &str) -> Vec<u8> {
    let len = u32::try_from(export.len()).expect("names have at most 4096 bytes");
    [
        &len.to_be_bytes(),
        export.as_bytes(),
        &1_u16.to_be_bytes(),
        &Description::BLOCK_SIZES.to_be_bytes(),
    ]
    .concat()
}

/// Kind of an answer in the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Accepted,
    Description,
    Unsupported,
    /// Why, as a clause that follows "the server".
    Refused(&'static str),
}

/// Head of an answer: what follows is `bytes` long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OptionReply {
    pub(super) answer: Answer,
    pub(super) bytes: usize,
}

impl OptionReply {
    pub(super) fn parse(head: &[u8; OPTION_REPLY_BYTES], asked: u32) -> Result<Self, NbdFault> {
        let magic = u64_at(head, 0).unwrap_or(0);
        if magic != OPTION_REPLY_MAGIC {
            return Err(NbdFault::OptionMagic(magic));
        }
        let answered = u32_at(head, 8).unwrap_or(0);
        if answered != asked {
            return Err(NbdFault::OptionMismatch { asked, answered });
        }
        let (kind, bytes) = (u32_at(head, 12).unwrap_or(0), u32_at(head, 16).unwrap_or(0));
        let answer = match kind {
            1 => Answer::Accepted,
            3 => Answer::Description,
            0x8000_0001 => Answer::Unsupported,
            0x8000_0002 => Answer::Refused("forbids it by its policy"),
            0x8000_0003 => Answer::Refused("calls the request invalid"),
            0x8000_0004 => Answer::Refused("cannot do it on its platform"),
            0x8000_0005 => Answer::Refused("requires TLS; write nbds:// or nbds+unix://"),
            0x8000_0006 => Answer::Refused("has no such export"),
            0x8000_0007 => Answer::Refused("is shutting down"),
            0x8000_0008 => Answer::Refused("asks for block sizes to be negotiated"),
            0x8000_0009 => Answer::Refused("calls the request too big"),
            _ if kind & 0x8000_0000 != 0 => Answer::Refused("gives an unknown reason"),
            _ => return Err(NbdFault::OptionAnswer { kind }),
        };
        if bytes > LONGEST_ANSWER {
            return Err(NbdFault::Length {
                what: "an answer in the negotiation",
                bytes,
            });
        }
        Ok(Self {
            answer,
            bytes: bytes as usize,
        })
    }
}

/// Lengths of operations that a server takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of it.
    pub minimum: u32,
    pub preferred: u32,
    /// Longest payload.
    pub maximum: u32,
}

impl BlockSizes {
    /// What holds for servers that tell nothing: any alignment, 4 KiB preferred, 32 MiB at most.
    pub const UNTOLD: Self = Self {
        minimum: 1,
        preferred: 4096,
        maximum: 32 << 20,
    };

    fn new(minimum: u32, preferred: u32, maximum: u32) -> Result<Self, NbdFault> {
        if minimum.is_power_of_two()
            && preferred.is_power_of_two()
            && minimum <= preferred
            && minimum <= maximum
        {
            Ok(Self {
                minimum,
                preferred,
                maximum,
            })
        } else {
            Err(NbdFault::BlockSizes {
                minimum,
                preferred,
                maximum,
            })
        }
    }
}

/// One part of a server's description of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Description {
    Export { size: u64, flags: TransmissionFlags },
    BlockSizes(BlockSizes),
    Other,
}

impl Description {
    const EXPORT: u16 = 0;
    const BLOCK_SIZES: u16 = 3;

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, NbdFault> {
        let wrong = || NbdFault::Length {
            what: "a description of the export",
            bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        };
        match (u16_at(bytes, 0).ok_or_else(wrong)?, bytes.len()) {
            (Self::EXPORT, 12) => {
                export(&bytes[2..]).map(|(size, flags)| Self::Export { size, flags })
            }
            (Self::BLOCK_SIZES, 14) => {
                let size = |at| u32_at(bytes, at).ok_or_else(wrong);
                BlockSizes::new(size(2)?, size(6)?, size(10)?).map(Self::BlockSizes)
            }
            (Self::EXPORT | Self::BLOCK_SIZES, _) => Err(wrong()),
            (_, _) => Ok(Self::Other),
        }
    }
}

/// Size and flags of an export: ten bytes; what follows them is padding.
pub(super) fn export(bytes: &[u8]) -> Result<(u64, TransmissionFlags), NbdFault> {
    let wrong = || NbdFault::Length {
        what: "a description of the export",
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    };
    let size = u64_at(bytes, 0).ok_or_else(wrong)?;
    if i64::try_from(size).is_err() {
        return Err(NbdFault::Size(size));
    }
    Ok((size, TransmissionFlags(u16_at(bytes, 8).ok_or_else(wrong)?)))
}

/// What the export can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransmissionFlags(u16);

impl TransmissionFlags {
    pub(super) fn read_only(self) -> bool {
        self.0 & 2 != 0
    }

    pub(super) fn flush(self) -> bool {
        self.0 & 4 != 0
    }

    pub(super) fn fua(self) -> bool {
        self.0 & 8 != 0
    }

    pub(super) fn multi_conn(self) -> bool {
        self.0 & 256 != 0
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Read,
    Write,
    /// A write that is answered when its data is stable (`NBD_CMD_FLAG_FUA`).
    StableWrite,
    Disconnect,
    Flush,
}

/// The head of a request; the payload of a write follows it.
pub(super) fn request(command: Command, cookie: u64, offset: u64, len: u32) -> [u8; REQUEST_BYTES] {
    let (flags, kind) = match command {
        Command::Read => (0_u16, 0_u16),
        Command::Write => (0, 1),
        Command::StableWrite => (1, 1),
        Command::Disconnect => (0, 2),
        Command::Flush => (0, 3),
    };
    let mut bytes = [0; REQUEST_BYTES];
    bytes[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&flags.to_be_bytes());
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..24].copy_from_slice(&offset.to_be_bytes());
    bytes[24..28].copy_from_slice(&len.to_be_bytes());
    bytes
}

/// The head of a simple reply; the data of a successful read follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) cookie: u64,
    /// 0, or a positive errno of this machine.
    pub(super) errno: i32,
}

impl Reply {
    pub(super) fn parse(bytes: &[u8; REPLY_BYTES]) -> Result<Self, NbdFault> {
        let magic = u32_at(bytes, 0).unwrap_or(0);
        if magic != REPLY_MAGIC {
            return Err(NbdFault::ReplyMagic(magic));
        }
        Ok(Self {
            cookie: u64_at(bytes, 8).unwrap_or(0),
            errno: errno(u32_at(bytes, 4).unwrap_or(0)),
        })
    }
}

/// The protocol's error numbers on this machine; by its rule an unknown one counts as EINVAL.
fn errno(number: u32) -> i32 {
    match number {
        0 => 0,
        1 => libc::EPERM,
        5 => libc::EIO,
        12 => libc::ENOMEM,
        28 => libc::ENOSPC,
        75 => libc::EOVERFLOW,
        95 => libc::ENOTSUP,
        108 => libc::ESHUTDOWN,
        _ => libc::EINVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_the_layout_of_the_protocol_document() {
        let bytes = request(
            Command::StableWrite,
            0x0102_0304_0506_0708,
            0x1000,
            0x0002_0000,
        );
        assert_eq!(bytes, *b"\x25\x60\x95\x13\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\x10\0\0\x02\0\0");
        assert_eq!(go_payload("ab"), b"\0\0\0\x02ab\0\x01\0\x03");
        assert_eq!(option(OPTION_GO, b"x"), b"IHAVEOPT\0\0\0\x07\0\0\0\x01x");
    }

    #[test]
    fn a_greeting_tells_newstyle_from_oldstyle_and_from_strangers() {
        let greeting = Greeting::parse(b"NBDMAGICIHAVEOPT\0\x03").unwrap();
        assert!(greeting.is_fixed());
        assert_eq!(
            (greeting.answer(), greeting.export_name_answer_bytes()),
            ([0, 0, 0, 3], 10)
        );
        let plain = Greeting::parse(b"NBDMAGICIHAVEOPT\0\0").unwrap();
        assert_eq!(
            (
                plain.is_fixed(),
                plain.answer(),
                plain.export_name_answer_bytes()
            ),
            (false, [0; 4], 134)
        );
        assert_eq!(
            Greeting::parse(b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53\0\0"),
            Err(NbdFault::OldStyle)
        );
        assert!(matches!(
            Greeting::parse(b"SSH-2.0-OpenSSH_9."),
            Err(NbdFault::Greeting(_))
        ));
    }

    #[test]
    fn a_description_that_contradicts_itself_is_a_fault() {
        let sizes = |minimum: u32, preferred: u32, maximum: u32| {
            Description::parse(
                &[
                    &3_u16.to_be_bytes()[..],
                    &minimum.to_be_bytes(),
                    &preferred.to_be_bytes(),
                    &maximum.to_be_bytes(),
                ]
                .concat(),
            )
        };
        assert_eq!(
            sizes(512, 4096, 1 << 20),
            Ok(Description::BlockSizes(BlockSizes {
                minimum: 512,
                preferred: 4096,
                maximum: 1 << 20
            }))
        );
        for (minimum, preferred, maximum) in [
            (0, 4096, 1 << 20),
            (3, 4096, 1 << 20),
            (512, 256, 1 << 20),
            (512, 4096, 0),
        ] {
            assert_eq!(
                sizes(minimum, preferred, maximum),
                Err(NbdFault::BlockSizes {
                    minimum,
                    preferred,
                    maximum
                })
            );
        }
        let size = |bytes: u64| {
            Description::parse(
                &[&0_u16.to_be_bytes()[..], &bytes.to_be_bytes(), &[0, 0x0d]].concat(),
            )
        };
        assert_eq!(
            size(1 << 40),
            Ok(Description::Export {
                size: 1 << 40,
                flags: TransmissionFlags(0x0d)
            })
        );
        assert_eq!(size(u64::MAX), Err(NbdFault::Size(u64::MAX)));
        assert!(matches!(
            Description::parse(&[0, 0, 1]),
            Err(NbdFault::Length { bytes: 3, .. })
        ));
        assert_eq!(Description::parse(b"\0\x01name"), Ok(Description::Other));
    }

    #[test]
    fn an_unknown_error_number_counts_as_einval() {
        let reply = |number: u8| {
            Reply::parse(&[
                0x67, 0x44, 0x66, 0x98, 0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 9,
            ])
            .unwrap()
        };
        assert_eq!(
            reply(0),
            Reply {
                cookie: 9,
                errno: 0
            }
        );
        assert_eq!(
            (reply(28).errno, reply(5).errno, reply(77).errno),
            (libc::ENOSPC, libc::EIO, libc::EINVAL)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), asked in any::<u32>()) {
            let _any_outcome = (Description::parse(&bytes), export(&bytes));
            if let Some(head) = bytes.first_chunk() { let _any_outcome = Greeting::parse(head); }
            if let Some(head) = bytes.first_chunk() { let _any_outcome = Reply::parse(head); }
            if let Some(head) = bytes.first_chunk() { let _any_outcome = OptionReply::parse(head, asked); }
        }

        #[test]
        fn an_accepted_answer_is_never_longer_than_its_limit(option in any::<u32>(), kind in any::<u32>(), bytes in any::<u32>()) {
            let mut head = [0; OPTION_REPLY_BYTES];
            head[..8].copy_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
            head[8..12].copy_from_slice(&option.to_be_bytes());
            head[12..16].copy_from_slice(&kind.to_be_bytes());
            head[16..].copy_from_slice(&bytes.to_be_bytes());
            if let Ok(reply) = OptionReply::parse(&head, option) {
                prop_assert!(reply.bytes <= LONGEST_ANSWER as usize);
            }
        }
    }
}
