//! The layout of what the kernel and a server tell each other: `linux/ublk_cmd.h`.
//!
//! Integers are in the machine's own order. Everything is counted in sectors of 512 bytes, whatever
//! the logical block of the device.

use std::mem::offset_of;

pub(super) const SECTOR: u64 = 512;
/// Greatest depth that the kernel has; the descriptors of a queue lie this far behind those of the
/// queue before it.
pub(super) const MOST_DEPTH: u16 = 4096;
/// Where the data of requests begins in the char device, for `pread` and `pwrite`.
const DATA: u64 = 0x8000_0000;
const TAG_SHIFT: u32 = 25;
const QUEUE_SHIFT: u32 = 41;

/// What the kernel can do, by bit; a kernel that does not know a bit clears it in its answer.
pub(super) mod feature {
    pub(in super::super) const USER_RECOVERY: u64 = 1 << 3;
    pub(in super::super) const RECOVERY_REISSUE: u64 = 1 << 4;
    pub(in super::super) const UNPRIVILEGED: u64 = 1 << 5;
    pub(in super::super) const IOCTL_ENCODE: u64 = 1 << 6;
    pub(in super::super) const USER_COPY: u64 = 1 << 7;
    pub(in super::super) const UPDATE_SIZE: u64 = 1 << 10;
    pub(in super::super) const AUTO_BUF_REG: u64 = 1 << 11;
    /// The names of all, from bit 0 on.
    pub(in super::super) const NAMES: [&str; 20] = [
        "zero_copy",
        "comp_in_task",
        "need_get_data",
        "user_recovery",
        "recovery_reissue",
        "unprivileged",
        "ioctl_encode",
        "user_copy",
        "zoned",
        "recovery_fail_io",
        "update_size",
        "auto_buf_reg",
        "quiesce",
        "per_io_daemon",
        "buf_reg_off_daemon",
        "batch_io",
        "integrity",
        "safe_stop",
        "no_auto_part_scan",
        "shmem_zc",
    ];
}

/// Commands to `/dev/ublk-control`: number, and whether the kernel only answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UblkCommand {
    Add,
    Delete,
    Start,
    Stop,
    SetParameters,
    Parameters,
    Affinity,
    StartRecovery,
    EndRecovery,
    FactsOfAnybody,
    Features,
    UpdateSize,
}

impl UblkCommand {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "ADD_DEV",
            Self::Delete => "DEL_DEV",
            Self::Start => "START_DEV",
            Self::Stop => "STOP_DEV",
            Self::SetParameters => "SET_PARAMS",
            Self::Parameters => "GET_PARAMS",
            Self::Affinity => "GET_QUEUE_AFFINITY",
            Self::StartRecovery => "START_USER_RECOVERY",
            Self::EndRecovery => "END_USER_RECOVERY",
            Self::FactsOfAnybody => "GET_DEV_INFO2",
            Self::Features => "GET_FEATURES",
            Self::UpdateSize => "UPDATE_SIZE",
        }
    }

    pub(super) fn code(self) -> u32 {
        let (number, only_answers) = match self {
            Self::Affinity => (0x01, true),
            Self::Add => (0x04, false),
            Self::Delete => (0x05, false),
            Self::Start => (0x06, false),
            Self::Stop => (0x07, false),
            Self::SetParameters => (0x08, false),
            Self::Parameters => (0x09, true),
            Self::StartRecovery => (0x10, false),
            Self::EndRecovery => (0x11, false),
            Self::FactsOfAnybody => (0x12, true),
            Self::Features => (0x13, true),
            Self::UpdateSize => (0x15, false),
        };
        if only_answers {
            ioctl(READS, number, size_of::<ControlCommand>())
        } else {
            ioctl(READS | WRITES, number, size_of::<ControlCommand>())
        }
    }
}

const WRITES: u32 = 1;
const READS: u32 = 2;

/// The number of a command as `_IOC` of `linux/ioctl.h` makes it.
const fn ioctl(direction: u32, number: u32, bytes: usize) -> u32 {
    assert!(bytes < 1 << 14, "the size has fourteen bits");
    #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
    let bytes = bytes as u32;
    direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

/// Gives a request back and waits for the next of the same tag.
pub(super) const COMMIT_AND_FETCH: u32 = ioctl(READS | WRITES, 0x21, size_of::<IoCommand>());
/// Waits for the first request of a tag.
pub(super) const FETCH: u32 = ioctl(READS | WRITES, 0x20, size_of::<IoCommand>());

/// `struct ublksrv_ctrl_cmd`: lies in the 80 bytes of a long submission entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ControlCommand {
    pub(super) device: u32,
    pub(super) queue: u16,
    pub(super) bytes: u16,
    pub(super) address: u64,
    pub(super) value: u64,
    pub(super) path_bytes: u16,
    pub(super) pad: u16,
    pub(super) reserved: u32,
}

const _: () = assert!(size_of::<ControlCommand>() == 32);
const _: () = assert!(offset_of!(ControlCommand, queue) == 4);
const _: () = assert!(offset_of!(ControlCommand, bytes) == 6);
const _: () = assert!(offset_of!(ControlCommand, address) == 8);
const _: () = assert!(offset_of!(ControlCommand, value) == 16);
const _: () = assert!(offset_of!(ControlCommand, path_bytes) == 24);

/// `struct ublksrv_ctrl_dev_info`: what a device is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceFacts {
    pub(super) queues: u16,
    pub(super) depth: u16,
    pub(super) state: u16,
    pub(super) pad0: u16,
    pub(super) most_io_bytes: u32,
    pub(super) device: u32,
    pub(super) server: i32,
    pub(super) pad1: u32,
    pub(super) flags: u64,
    pub(super) own_flags: u64,
    pub(super) owner_uid: u32,
    pub(super) owner_gid: u32,
    pub(super) reserved: [u64; 2],
}

const _: () = assert!(size_of::<DeviceFacts>() == 64);
const _: () = assert!(offset_of!(DeviceFacts, state) == 4);
const _: () = assert!(offset_of!(DeviceFacts, most_io_bytes) == 8);
const _: () = assert!(offset_of!(DeviceFacts, device) == 12);
const _: () = assert!(offset_of!(DeviceFacts, server) == 16);
const _: () = assert!(offset_of!(DeviceFacts, flags) == 24);
const _: () = assert!(offset_of!(DeviceFacts, owner_uid) == 40);
const _: () = assert!(offset_of!(DeviceFacts, reserved) == 48);

/// Values of [`DeviceFacts::state`].
pub(super) mod state {
    pub(in super::super) const DEAD: u16 = 0;
    pub(in super::super) const LIVE: u16 = 1;
    pub(in super::super) const NAMES: [&str; 4] =
        ["not started", "live", "without server", "failing"];
}

/// The head of `struct ublk_params`, as far as it is used here.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) bytes: u32,
    pub(super) kinds: u32,
    // struct ublk_param_basic
    pub(super) attributes: u32,
    pub(super) logical_shift: u8,
    pub(super) physical_shift: u8,
    pub(super) best_io_shift: u8,
    pub(super) least_io_shift: u8,
    pub(super) most_sectors: u32,
    pub(super) chunk_sectors: u32,
    pub(super) sectors: u64,
    pub(super) boundary: u64,
    // struct ublk_param_discard
    pub(super) discard_alignment: u32,
    pub(super) discard_granularity: u32,
    pub(super) most_discard_sectors: u32,
    pub(super) most_zero_sectors: u32,
    pub(super) discard_segments: u16,
    pub(super) reserved: u16,
    // struct ublk_param_devt
    pub(super) char_major: u32,
    pub(super) char_minor: u32,
    pub(super) disk_major: u32,
    pub(super) disk_minor: u32,
    // struct ublk_param_zoned begins here; its first field is never set.
    pub(super) rest: u32,
}

const _: () = assert!(size_of::<Parameters>() == 80);
const _: () = assert!(offset_of!(Parameters, attributes) == 8);
const _: () = assert!(offset_of!(Parameters, logical_shift) == 12);
const _: () = assert!(offset_of!(Parameters, most_sectors) == 16);
const _: () = assert!(offset_of!(Parameters, sectors) == 24);
const _: () = assert!(offset_of!(Parameters, discard_alignment) == 40);
const _: () = assert!(offset_of!(Parameters, discard_segments) == 56);
const _: () = assert!(offset_of!(Parameters, char_major) == 60);
const _: () = assert!(offset_of!(Parameters, disk_minor) == 72);

/// Values of [`Parameters::kinds`].
pub(super) mod kind {
    pub(in super::super) const BASIC: u32 = 1;
    pub(in super::super) const DISCARD: u32 = 2;
}

/// Values of [`Parameters::attributes`].
pub(super) mod attribute {
    pub(in super::super) const READ_ONLY: u32 = 1;
    pub(in super::super) const VOLATILE_CACHE: u32 = 4;
    pub(in super::super) const FUA: u32 = 8;
}

/// `struct ublksrv_io_cmd`: lies in the 16 bytes of a submission entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IoCommand {
    pub(super) queue: u16,
    pub(super) tag: u16,
    pub(super) result: i32,
    pub(super) address: u64,
}

const _: () = assert!(size_of::<IoCommand>() == 16);
const _: () = assert!(offset_of!(IoCommand, result) == 4);
const _: () = assert!(offset_of!(IoCommand, address) == 8);

/// `struct ublksrv_io_desc`: a request, as the driver writes it into the shared page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoDescriptor {
    pub(super) operation: u8,
    pub(super) fua: bool,
    pub(super) keep_room: bool,
    /// Its pages could not be registered with the ring.
    pub(super) unregistered: bool,
    pub(super) sectors: u32,
    pub(super) start_sector: u64,
}

impl IoDescriptor {
    pub(super) const BYTES: usize = 24;

    pub(super) fn parse(words: [u32; 4]) -> Self {
        const FUA: u32 = 1 << 13;
        const NO_UNMAP: u32 = 1 << 15;
        const NEED_REG_BUF: u32 = 1 << 17;
        let [word, sectors, first, second] = words;
        let mut start = [0; 8];
        start[..4].copy_from_slice(&first.to_ne_bytes());
        start[4..].copy_from_slice(&second.to_ne_bytes());
        Self {
            operation: word.to_le_bytes()[0],
            fua: word & FUA != 0,
            keep_room: word & NO_UNMAP != 0,
            unregistered: word & NEED_REG_BUF != 0,
            sectors,
            start_sector: u64::from_ne_bytes(start),
        }
    }
}

/// Values of [`IoDescriptor::operation`].
pub(super) mod operation {
    pub(in super::super) const READ: u8 = 0;
    pub(in super::super) const WRITE: u8 = 1;
    pub(in super::super) const FLUSH: u8 = 2;
    pub(in super::super) const DISCARD: u8 = 3;
    pub(in super::super) const WRITE_ZEROES: u8 = 5;
}

/// What a command says in the address of its entry: `struct ublk_auto_buf_reg`, the index under which
/// the pages of the tag's next request are registered, and that it comes also where they cannot be.
pub(super) fn registered_as(tag: u16) -> u64 {
    const FALLBACK: u64 = 1;
    u64::from(tag) | FALLBACK << 16
}

/// Bytes of the descriptors of a queue of this depth.
pub(super) fn descriptors_bytes(depth: u16) -> usize {
    (usize::from(depth) * IoDescriptor::BYTES).next_multiple_of(sys::page_size())
}

/// Where the descriptors of a queue lie in the char device: at the kernel's greatest depth, not at
/// the queue's own.
pub(super) fn descriptors_offset(queue: u16) -> u64 {
    u64::from(queue) * descriptors_bytes(MOST_DEPTH) as u64
}

/// Where the data of a request lies in the char device.
pub(super) fn data_offset(queue: u16, tag: u16) -> u64 {
    DATA + (u64::from(queue) << QUEUE_SHIFT | u64::from(tag) << TAG_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as the kernel's header yields them, computed by a C compiler.
    #[test]
    fn commands_have_the_numbers_of_the_header() {
        assert_eq!(UblkCommand::Features.code(), 0x8020_7513);
        assert_eq!(UblkCommand::Add.code(), 0xC020_7504);
        assert_eq!(UblkCommand::Delete.code(), 0xC020_7505);
        assert_eq!(FETCH, 0xC010_7520);
        assert_eq!(COMMIT_AND_FETCH, 0xC010_7521);
    }

    #[test]
    fn a_second_queue_s_descriptors_lie_behind_the_greatest_depth() {
        assert_eq!(descriptors_offset(0), 0);
        assert_eq!(descriptors_offset(1), 4096 * 24);
        assert_eq!(descriptors_bytes(128), 4096);
        assert_eq!(descriptors_bytes(4096), 4096 * 24);
    }

    #[test]
    fn the_data_of_a_request_has_a_place_of_its_own() {
        assert_eq!(data_offset(0, 0), 0x8000_0000);
        assert_eq!(data_offset(0, 1) - data_offset(0, 0), 32 << 20);
        assert_eq!(data_offset(1, 0) - data_offset(0, 0), 1 << 41);
    }

    #[test]
    fn a_descriptor_is_read_as_the_driver_writes_it() {
        let fua_write = IoDescriptor::parse([1 | 1 << 13, 8, 2, 1]);
        assert_eq!(
            fua_write,
            IoDescriptor {
                operation: operation::WRITE,
                fua: true,
                keep_room: false,
                unregistered: false,
                sectors: 8,
                start_sector: (1 << 32) + 2,
            }
        );
    }
}
