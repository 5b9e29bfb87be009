//! What is asked of the kernel for a device that was asked for here.

use super::wire::{DeviceFacts, MOST_DEPTH, Parameters, SECTOR, attribute, feature, kind};
use crate::device::Geometry;

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
    /// The data of requests is fetched by calls, which saves a buffer for each tag.
    pub user_copy: bool,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct UblkStarted {
    pub node: String,
    pub number: u32,
    pub queues: u16,
    pub depth: u16,
    pub recovery: bool,
    pub user_copy: bool,
    pub server: u32,
}

pub(super) fn wanted(serving: &UblkServing, features: u64) -> DeviceFacts {
    let mut flags = feature::IOCTL_ENCODE;
    if serving.unprivileged {
        flags |= feature::UNPRIVILEGED;
    } else {
        if serving.recovery {
            flags |= feature::USER_RECOVERY | feature::RECOVERY_REISSUE;
        }
        if serving.user_copy {
            flags |= features & feature::USER_COPY;
        }
    }
    flags |= features & feature::UPDATE_SIZE;
    DeviceFacts {
        queues: serving.queues.max(1),
        depth: serving.depth.clamp(1, MOST_DEPTH),
        most_io_bytes: serving.most_bytes,
        device: serving.number.unwrap_or(u32::MAX),
        flags,
        ..DeviceFacts::default()
    }
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
        user_copy: true,
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
        let with = |serving: &UblkServing, features| wanted(serving, features).flags;
        let old = with(&SERVING, 0);
        assert_eq!(old & (feature::USER_COPY | feature::UPDATE_SIZE), 0);
        assert_ne!(old & feature::USER_RECOVERY, 0);
        let all = with(&SERVING, u64::MAX);
        assert_ne!(all & feature::USER_COPY, 0);
        assert_ne!(all & feature::UPDATE_SIZE, 0);
        let of_a_user = UblkServing {
            unprivileged: true,
            ..SERVING
        };
        let flags = with(&of_a_user, u64::MAX);
        assert_eq!(flags & (feature::USER_RECOVERY | feature::USER_COPY), 0);
        assert_ne!(flags & feature::UNPRIVILEGED, 0);
    }
}
