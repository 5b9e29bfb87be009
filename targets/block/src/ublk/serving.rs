//! What is asked of the kernel for a device that was asked for here.

use super::control::too_old;
use super::error::UblkError;
use super::wire::{DeviceFacts, MOST_DEPTH, Parameters, SECTOR, attribute, feature, kind};
use crate::device::Geometry;
use std::io;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct UblkServing {
    /// The number of the device; the first free one if not given.
    pub number: Option<u32>,
    pub queues: u16,
    pub depth: u16,
    /// Longest request that the kernel passes on whole.
    pub most_bytes: u32,
    /// A killed server is started again; without, the device goes with its server.
    pub recovery: bool,
    pub unprivileged: bool,
    pub data: UblkData,
}

/// How the data of requests come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkData {
    /// The kernel copies them into a buffer for each tag and out of it.
    Copied,
    /// Calls fetch and give them, which saves a buffer for each tag.
    Calls,
    /// The kernel registers the pages of each request with the ring, which reads into them and writes
    /// from them in the file of the device; where that cannot be, calls do.
    Registered,
}

impl UblkData {
    /// What the driver has to know for it.
    fn features(self) -> u64 {
        match self {
            Self::Copied => 0,
            Self::Calls => feature::USER_COPY,
            Self::Registered => feature::USER_COPY | feature::AUTO_BUF_REG,
        }
    }

    fn is_known(self, features: u64) -> Result<(), UblkError> {
        if features & self.features() == self.features() {
            return Ok(());
        }
        let (needs, version) = match self {
            Self::Copied => return Ok(()),
            Self::Calls => ("fetching data by calls (--user-copy)", "6.5"),
            Self::Registered => ("registering the pages of requests (--auto-buffers)", "6.16"),
        };
        Err(too_old(needs, version))
    }

    /// As a device has it.
    pub(super) fn of(flags: u64) -> Self {
        let ways = [Self::Registered, Self::Calls];
        let known = ways
            .into_iter()
            .find(|way| flags & way.features() == way.features());
        known.unwrap_or(Self::Copied)
    }
}

/// Before whom the queues run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkPriority {
    /// As every thread.
    Ordinary,
    /// Before every ordinary thread.
    RealTime,
}

impl UblkPriority {
    /// Whether this process may have it.
    ///
    /// # Errors
    /// The right to it is missing.
    pub fn is_permitted(self) -> Result<(), UblkError> {
        if self == Self::Ordinary {
            return Ok(());
        }
        let tries = std::thread::Builder::new().spawn(move || self.take());
        let tries = tries.map_err(UblkError::system("start a thread"))?;
        let taken = tries.join().unwrap_or(Ok(()));
        taken.map_err(UblkError::NoRealTime)
    }

    /// Gives it to the calling thread.
    pub(super) fn take(self) -> io::Result<()> {
        match self {
            Self::Ordinary => Ok(()),
            Self::RealTime => sys::run_before_others(),
        }
    }
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct UblkStarted {
    pub node: String,
    pub number: u32,
    pub queues: u16,
    pub depth: u16,
    pub recovery: bool,
    pub data: UblkData,
    pub server: u32,
}

pub(super) fn wanted(serving: &UblkServing, features: u64) -> Result<DeviceFacts, UblkError> {
    let mut flags = feature::IOCTL_ENCODE;
    if serving.unprivileged {
        flags |= feature::UNPRIVILEGED;
    } else {
        if serving.recovery {
            flags |= feature::USER_RECOVERY | feature::RECOVERY_REISSUE;
        }
        serving.data.is_known(features)?;
        flags |= serving.data.features();
    }
    flags |= features & feature::UPDATE_SIZE;
    Ok(DeviceFacts {
        queues: serving.queues.max(1),
        depth: serving.depth.clamp(1, MOST_DEPTH),
        most_io_bytes: serving.most_bytes,
        device: serving.number.unwrap_or(u32::MAX),
        flags,
        ..DeviceFacts::default()
    })
}

pub(super) fn parameters(size: u64, geometry: Geometry, most_bytes: u32) -> Parameters {
    let shift = u8::try_from(geometry.block.trailing_zeros()).unwrap_or(9);
    let sectors_of = |bytes: u32| bytes / u32::try_from(SECTOR).unwrap_or(512);
    // The kernel counts bytes of one request in 32 bits.
    let most_at_once = sectors_of(1 << 30);
    let mut attributes = attribute::VOLATILE_CACHE | attribute::FUA;
    if geometry.read_only {
        attributes |= attribute::READ_ONLY;
    }
    Parameters {
        bytes: u32::try_from(size_of::<Parameters>()).unwrap_or(0),
        kinds: kind::BASIC | kind::DISCARD,
        attributes,
        logical_shift: shift,
        physical_shift: shift.max(12),
        least_io_shift: shift,
        best_io_shift: shift.max(12),
        most_sectors: sectors_of(most_bytes),
        sectors: size / SECTOR,
        discard_granularity: geometry.block.max(4096),
        most_discard_sectors: most_at_once,
        most_zero_sectors: most_at_once,
        discard_segments: 1,
        ..Parameters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVING: UblkServing = UblkServing {
        number: None,
        queues: 2,
        depth: 128,
        most_bytes: 512 << 10,
        recovery: true,
        unprivileged: false,
        data: UblkData::Registered,
    };

    #[test]
    fn a_device_of_large_blocks_is_as_long_as_one_of_small_ones() {
        for block in [512, 4096] {
            let geometry = Geometry {
                block,
                read_only: false,
            };
            let parameters = parameters(64 << 20, geometry, 512 << 10);
            assert_eq!(parameters.sectors, (64 << 20) / 512);
            assert_eq!(1 << parameters.logical_shift, block);
            assert_eq!(parameters.most_sectors, 1024);
        }
    }

    #[test]
    fn flushes_forced_writes_discards_and_a_read_only_device_are_announced() {
        let geometry = Geometry {
            block: 512,
            read_only: true,
        };
        let parameters = parameters(1 << 20, geometry, 512 << 10);
        let announced = attribute::VOLATILE_CACHE | attribute::FUA | attribute::READ_ONLY;
        assert_eq!(parameters.attributes, announced);
        assert_eq!(parameters.discard_segments, 1);
        assert!(parameters.discard_granularity > 0 && parameters.most_discard_sectors > 0);
    }

    #[test]
    fn only_what_the_kernel_knows_is_asked_and_users_get_neither_recovery_nor_user_copy() {
        let with = |serving: &UblkServing, features| wanted(serving, features).unwrap().flags;
        let plain = UblkServing {
            data: UblkData::Copied,
            ..SERVING
        };
        let old = with(&plain, 0);
        assert_eq!(old & (feature::USER_COPY | feature::UPDATE_SIZE), 0);
        assert_ne!(old & feature::USER_RECOVERY, 0);
        assert_eq!(UblkData::of(old), UblkData::Copied);
        let all = with(&SERVING, u64::MAX);
        assert_ne!(all & feature::USER_COPY, 0);
        assert_ne!(all & feature::UPDATE_SIZE, 0);
        assert_eq!(UblkData::of(all), UblkData::Registered);
        for (data, missing, version) in [
            (UblkData::Registered, feature::AUTO_BUF_REG, "6.16"),
            (UblkData::Calls, feature::USER_COPY, "6.5"),
        ] {
            let refused = wanted(&UblkServing { data, ..SERVING }, !missing).unwrap_err();
            assert!(refused.to_string().contains(version), "{refused}");
        }
        let of_a_user = UblkServing {
            unprivileged: true,
            ..SERVING
        };
        let flags = with(&of_a_user, u64::MAX);
        assert_eq!(flags & (feature::USER_RECOVERY | feature::USER_COPY), 0);
        assert_ne!(flags & feature::UNPRIVILEGED, 0);
    }
}
