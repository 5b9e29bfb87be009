//! The bytes of the NBD protocol on the server's side.
//!
//! Source: the protocol document of the NBD project (`doc/proto.md`). Integers are big-endian.

use crate::request::Errno;

pub(super) const GREETING: [u8; 18] = *b"NBDMAGICIHAVEOPT\0\x03";
pub(super) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const CHUNK_MAGIC: u32 = 0x668e_33ef;

pub(super) const OPTION_BYTES: usize = 16;
pub(super) const REQUEST_BYTES: usize = 28;
/// Longest payload of a request, and of a reply to one.
pub(super) const MOST_PAYLOAD: u32 = 32 << 20;

/// Flags of the client in the negotiation.
pub(super) const CLIENT_FIXED: u32 = 1;
pub(super) const CLIENT_NO_ZEROES: u32 = 2;

/// What a client asks in the negotiation.
pub(super) mod option {
    pub(in super::super) const EXPORT_NAME: u32 = 1;
    pub(in super::super) const ABORT: u32 = 2;
    pub(in super::super) const LIST: u32 = 3;
    pub(in super::super) const START_TLS: u32 = 5;
    pub(in super::super) const INFO: u32 = 6;
    pub(in super::super) const GO: u32 = 7;
    pub(in super::super) const STRUCTURED_REPLY: u32 = 8;
    pub(in super::super) const LIST_META_CONTEXT: u32 = 9;
    pub(in super::super) const SET_META_CONTEXT: u32 = 10;
}

/// What is answered to it.
pub(super) mod answer {
    pub(in super::super) const ACK: u32 = 1;
    pub(in super::super) const SERVER: u32 = 2;
    pub(in super::super) const INFO: u32 = 3;
    pub(in super::super) const META_CONTEXT: u32 = 4;
    pub(in super::super) const UNSUPPORTED: u32 = 0x8000_0001;
    pub(in super::super) const INVALID: u32 = 0x8000_0003;
    pub(in super::super) const TLS_REQUIRED: u32 = 0x8000_0005;
    pub(in super::super) const UNKNOWN: u32 = 0x8000_0006;
}

/// Parts of the description of an export.
pub(super) mod part {
    pub(in super::super) const EXPORT: u16 = 0;
    pub(in super::super) const NAME: u16 = 1;
    pub(in super::super) const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub(super) mod can {
    pub(in super::super) const HAS_FLAGS: u16 = 1;
    pub(in super::super) const READ_ONLY: u16 = 2;
    pub(in super::super) const FLUSH: u16 = 4;
    pub(in super::super) const FUA: u16 = 8;
    pub(in super::super) const TRIM: u16 = 32;
    pub(in super::super) const WRITE_ZEROES: u16 = 64;
    pub(in super::super) const DONT_FRAGMENT: u16 = 128;
    pub(in super::super) const MULTI_CONN: u16 = 256;
}

/// Kinds of requests.
pub(super) mod command {
    pub(in super::super) const READ: u16 = 0;
    pub(in super::super) const WRITE: u16 = 1;
    pub(in super::super) const DISCONNECT: u16 = 2;
    pub(in super::super) const FLUSH: u16 = 3;
    pub(in super::super) const TRIM: u16 = 4;
    pub(in super::super) const WRITE_ZEROES: u16 = 6;
    pub(in super::super) const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub(super) mod flag {
    pub(in super::super) const FUA: u16 = 1;
    pub(in super::super) const NO_HOLE: u16 = 2;
    pub(in super::super) const DONT_FRAGMENT: u16 = 4;
    pub(in super::super) const ONE_EXTENT: u16 = 8;
}

/// Kinds of chunks of a structured reply.
pub(super) mod chunk {
    pub(in super::super) const NONE: u16 = 0;
    pub(in super::super) const DATA: u16 = 1;
    pub(in super::super) const BLOCK_STATUS: u16 = 5;
    pub(in super::super) const ERROR: u16 = 0x8001;
}

/// Big-endian fields that have been checked to be there.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length and so many bytes.
    pub(super) fn counted(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// A request as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireRequest {
    pub(super) flags: u16,
    pub(super) command: u16,
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl WireRequest {
    /// `None` where it does not begin as a request does.
    pub(super) fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let magic = fields.u32()?;
        let request = Self {
            flags: fields.u16()?,
            command: fields.u16()?,
            cookie: fields.u64()?,
            offset: fields.u64()?,
            length: fields.u32()?,
        };
        (magic == REQUEST_MAGIC).then_some(request)
    }
}

/// The head of an answer in the negotiation, which `bytes` follow.
pub(super) fn option_reply(option: u32, kind: u32, bytes: usize) -> [u8; 20] {
    let length = u32::try_from(bytes).expect("answers are a name and a few numbers");
    let mut out = [0; 20];
    out[..8].copy_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    out[8..12].copy_from_slice(&option.to_be_bytes());
    out[12..16].copy_from_slice(&kind.to_be_bytes());
    out[16..].copy_from_slice(&length.to_be_bytes());
    out
}

pub(super) const SIMPLE_REPLY_BYTES: usize = 16;

pub(super) fn simple_reply(error: u32, cookie: u64) -> [u8; SIMPLE_REPLY_BYTES] {
    let mut out = [0; SIMPLE_REPLY_BYTES];
    out[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..].copy_from_slice(&cookie.to_be_bytes());
    out
}

pub(super) const CHUNK_BYTES: usize = 20;

/// The head of the one chunk of a structured reply, which `bytes` follow.
pub(super) fn last_chunk(kind: u16, cookie: u64, bytes: u32) -> [u8; CHUNK_BYTES] {
    const DONE: u16 = 1;
    let mut out = [0; CHUNK_BYTES];
    out[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
    out[4..6].copy_from_slice(&DONE.to_be_bytes());
    out[6..8].copy_from_slice(&kind.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    out[16..].copy_from_slice(&bytes.to_be_bytes());
    out
}

/// The number that stands for an error on the wire; those that the protocol lacks are errors of the
/// device.
pub(super) fn error_number(error: Errno) -> u32 {
    const KNOWN: [Errno; 8] = [
        Errno::EPERM,
        Errno::EIO,
        Errno::ENOMEM,
        Errno::EINVAL,
        Errno::ENOSPC,
        Errno::EOVERFLOW,
        Errno::EOPNOTSUPP,
        Errno::ESHUTDOWN,
    ];
    let told = if KNOWN.contains(&error) {
        error
    } else {
        Errno::EIO
    };
    u32::from(told.0)
}
