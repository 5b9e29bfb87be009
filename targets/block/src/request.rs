//! What a front end asks of a device, and how the device says no.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// What a block device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    Read,
    Write,
    Flush,
    /// What was there need not be kept; it reads as zeros afterwards.
    Trim,
    /// Reads as zeros afterwards.
    Zero,
}

impl BlockOperation {
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Trim, Self::Zero];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; 5] = ["read", "write", "flush", "trim", "zero"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the device is another one afterwards.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Trim | Self::Zero)
    }
}

/// One request of a front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    pub operation: BlockOperation,
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub length: u64,
    /// It ends only when it is stable.
    pub fua: bool,
    /// Zeros take their room, so that a later write cannot find none.
    pub keep_room: bool,
}

impl BlockRequest {
    /// What stands where there is none.
    pub(crate) const NOTHING: Self = Self {
        operation: BlockOperation::Flush,
        offset: 0,
        length: 0,
        fua: false,
        keep_room: false,
    };

    pub fn new(operation: BlockOperation, offset: u64, length: u64) -> Self {
        Self {
            operation,
            offset,
            length,
            fua: false,
            keep_room: false,
        }
    }

    /// The bytes that it is about; nothing beyond the last possible byte.
    pub fn extent(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.length)
    }
}

/// Why a device does not do what was asked: a number of Linux, above 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub u16);

impl Errno {
    pub const EPERM: Self = Self(1);
    pub const EIO: Self = Self(5);
    pub const ENOMEM: Self = Self(12);
    pub const EINVAL: Self = Self(22);
    pub const ENOSPC: Self = Self(28);
    pub const EOVERFLOW: Self = Self(75);
    pub const EOPNOTSUPP: Self = Self(95);
    pub const ESHUTDOWN: Self = Self(108);
    /// The errors that a device can be told to answer, by their names.
    pub const NAMES: [(&'static str, u16); 12] = [
        ("EPERM", 1),
        ("EIO", 5),
        ("ENOMEM", 12),
        ("EINVAL", 22),
        ("ENOSPC", 28),
        ("EROFS", 30),
        ("ENODATA", 61),
        ("EOVERFLOW", 75),
        ("EILSEQ", 84),
        ("EOPNOTSUPP", 95),
        ("ESHUTDOWN", 108),
        ("ETIMEDOUT", 110),
    ];

    /// Of a call of the kernel; whatever has no number is an error of the device.
    pub fn of(error: &io::Error) -> Self {
        let number = error.raw_os_error().and_then(|raw| u16::try_from(raw).ok());
        number.filter(|raw| *raw > 0).map_or(Self::EIO, Self)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(i32::from(self.0));
        write!(f, "{error}")
    }
}

/// The bytes of a request.
#[derive(Debug)]
pub enum Buffer<'a> {
    Nothing,
    /// What a write brings.
    Brings(&'a [u8]),
    /// What a read fills.
    Takes(&'a mut [u8]),
}

/// Where the data of a request come from or go to, in an open file: the kernel copies them by calls.
#[derive(Clone, Copy, Debug)]
pub struct DataPlace<'a> {
    pub file: BorrowedFd<'a>,
    pub offset: u64,
}

/// So many zeros.
///
/// # Errors
/// There is no memory for them: whoever asks for much is refused, and ends nobody's server.
pub(crate) fn zeros(bytes: usize) -> Result<Vec<u8>, Errno> {
    let mut out = Vec::new();
    out.try_reserve_exact(bytes).or(Err(Errno::ENOMEM))?;
    out.resize(bytes, 0);
    Ok(out)
}

/// A copy of bytes.
///
/// # Errors
/// As of [`zeros`].
pub(crate) fn copy_of(bytes: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut out = Vec::new();
    out.try_reserve_exact(bytes.len()).or(Err(Errno::ENOMEM))?;
    out.extend_from_slice(bytes);
    Ok(out)
}

/// What came of a request.
pub type DeviceResult = Result<(), Errno>;
