//! What a reader would lose: the formats that can be recognised from the two ends of a device or
//! file.
//!
//! The magic numbers and their places are those of the on-disk formats' own documentation. Short
//! magics are confirmed by further fields, because Fathom's own random data must not be taken for a
//! file system.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes at the start that [`signature`] can make use of; the last magics sit at 2 MiB (VMFS,
/// LUKS2's second header).
pub const HEAD_BYTES: u64 = 2 * MIB + 4096;
/// Bytes at the end that [`signature`] can make use of; ZFS keeps its last labels within 768 KiB of
/// the end.
pub const TAIL_BYTES: u64 = MIB;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A kind of content that somebody would miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Bcache,
    Bcachefs,
    BitLocker,
    Btrfs,
    Erofs,
    Exfat,
    Ext2,
    Ext3,
    Ext4,
    F2fs,
    Fat,
    Gpt,
    Iso9660,
    Luks1,
    Luks2,
    Lvm2,
    Mbr,
    MdRaid,
    Ntfs,
    Qcow2,
    Sqlite,
    Squashfs,
    Swap,
    Vmfs,
    Xfs,
    Zfs,
    /// Bytes that are not zero and match no row of the table.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Bcache => "a bcache device",
            Kind::Bcachefs => "a bcachefs file system",
            Kind::BitLocker => "a BitLocker volume",
            Kind::Btrfs => "a btrfs file system",
            Kind::Erofs => "an erofs image",
            Kind::Exfat => "an exFAT file system",
            Kind::Ext2 => "an ext2 file system",
            Kind::Ext3 => "an ext3 file system",
            Kind::Ext4 => "an ext4 file system",
            Kind::F2fs => "an f2fs file system",
            Kind::Fat => "a FAT file system",
            Kind::Gpt => "a GPT partition table",
            Kind::Iso9660 => "an ISO 9660 image",
            Kind::Luks1 => "a LUKS1 encrypted volume",
            Kind::Luks2 => "a LUKS2 encrypted volume",
            Kind::Lvm2 => "an LVM2 physical volume",
            Kind::Mbr => "an MBR partition table",
            Kind::MdRaid => "a member of an md RAID array",
            Kind::Ntfs => "an NTFS file system",
            Kind::Qcow2 => "a qcow2 disk image",
            Kind::Sqlite => "an SQLite database",
            Kind::Squashfs => "a squashfs image",
            Kind::Swap => "a swap area",
            Kind::Vmfs => "a VMFS volume",
            Kind::Xfs => "an XFS file system",
            Kind::Zfs => "a member of a ZFS pool",
            Kind::Unknown => "data of an unknown kind",
        })
    }
}

/// Where a magic (or, for unknown data, the first non-zero byte) was seen, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    FromStart(u64),
    /// Distance of the first byte from the end: 512 is the last sector of 512 bytes.
    BeforeEnd(u64),
}

/// What was recognised and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    pub kind: Kind,
    pub place: Place,
}

impl Signature {
    /// True where a row of the table matched, false for bytes that are merely not zero.
    pub fn is_recognised(&self) -> bool {
        self.kind != Kind::Unknown
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_recognised() {
            "signature"
        } else {
            "first byte"
        };
        match self.place {
            Place::FromStart(offset) => write!(f, "{} ({mark} at offset {offset})", self.kind),
            Place::BeforeEnd(distance) => {
                write!(f, "{} ({mark} {distance} bytes before the end)", self.kind)
            }
        }
    }
}

/// Recognises the content from its first and last bytes; `None` means that all of them are zero.
///
/// `head` starts at offset 0 and `tail` ends at the last byte; either may be short or empty, and
/// they may overlap.
pub fn signature(head: &[u8], tail: &[u8]) -> Option<Signature> {
    MAGICS
        .iter()
        .find_map(|magic| magic.find(head, tail))
        .or_else(|| unknown_data(head, tail))
}

/// Reads both ends of an open file or block device (at most [`HEAD_BYTES`] + [`TAIL_BYTES`],
/// through the page cache) and recognises them; the file's position moves.
pub fn signature_of(file: &mut File) -> io::Result<Option<Signature>> {
    let size = file.seek(SeekFrom::End(0))?;
    let head = read_range(file, 0, size.min(HEAD_BYTES))?;
    let tail_length = size.min(TAIL_BYTES);
    let tail = read_range(file, size - tail_length, tail_length)?;
    Ok(signature(&head, &tail))
}

fn read_range(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unknown_data(head: &[u8], tail: &[u8]) -> Option<Signature> {
    let place = match head.iter().position(|byte| *byte != 0) {
        Some(offset) => Place::FromStart(length(offset)),
        None => {
            let index = tail.iter().position(|byte| *byte != 0)?;
            Place::BeforeEnd(length(tail.len() - index))
        }
    };
    Some(Signature {
        kind: Kind::Unknown,
        place,
    })
}

/// Where a magic may stand.
enum At {
    /// At these offsets from the start.
    Start(&'static [usize]),
    /// At these distances before the end.
    End(&'static [usize]),
    /// Every `step` bytes, from the first to before the second, from the start.
    StartRange(usize, usize, usize),
    /// Every 512 bytes, from the first distance to before the second, before the end: formats that
    /// align to a larger unit than the device's size land on any sector there.
    EndRange(usize, usize),
}

struct Magic {
    kind: Kind,
    at: At,
    bytes: &'static [u8],
    /// How far the structure that `confirm` reads begins before the magic.
    base: usize,
    /// Further fields that must make sense; it gets the structure from its first byte on.
    confirm: fn(&[u8]) -> bool,
}

impl Magic {
    fn find(&self, head: &[u8], tail: &[u8]) -> Option<Signature> {
        let place = match self.at {
            At::Start(offsets) => self.first_from_start(head, offsets.iter().copied()),
            At::StartRange(from, to, step) => self.first_from_start(head, (from..to).step_by(step)),
            At::End(distances) => self.first_before_end(tail, distances.iter().copied()),
            At::EndRange(from, to) => self.first_before_end(tail, (from..to).step_by(512)),
        }?;
        Some(Signature {
            kind: self.kind,
            place,
        })
    }

    fn first_from_start(
        &self,
        head: &[u8],
        mut offsets: impl Iterator<Item = usize>,
    ) -> Option<Place> {
        let offset = offsets.find(|offset| self.stands_at(head, *offset))?;
        Some(Place::FromStart(length(offset)))
    }

    fn first_before_end(
        &self,
        tail: &[u8],
        distances: impl Iterator<Item = usize>,
    ) -> Option<Place> {
        let mut reachable = distances.filter(|distance| *distance <= tail.len());
        let distance = reachable.find(|distance| self.stands_at(tail, tail.len() - distance))?;
        Some(Place::BeforeEnd(length(distance)))
    }

    fn stands_at(&self, bytes: &[u8], offset: usize) -> bool {
        let structure = offset
            .checked_sub(self.base)
            .and_then(|start| bytes.get(start..));
        bytes
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(self.bytes))
            && structure.is_some_and(self.confirm)
    }
}

fn length(value: usize) -> u64 {
    u64::try_from(value).expect("an index into a slice fits in 64 bits")
}

const fn row(kind: Kind, at: At, bytes: &'static [u8]) -> Magic {
    Magic {
        kind,
        at,
        bytes,
        base: 0,
        confirm: always,
    }
}

const fn confirmed(
    kind: Kind,
    at: At,
    bytes: &'static [u8],
    base: usize,
    confirm: fn(&[u8]) -> bool,
) -> Magic {
    Magic {
        kind,
        at,
        bytes,
        base,
        confirm,
    }
}

/// The order decides where several match: what encrypts or stacks comes before what it contains,
/// and a boot sector's file system before the MBR whose end mark it shares.
const MAGICS: &[Magic] = &[
    confirmed(Kind::Luks1, At::Start(&[0]), b"LUKS\xba\xbe", 0, |s| {
        be16(s, 6) == Some(1)
    }),
    confirmed(Kind::Luks2, At::Start(&[0]), b"LUKS\xba\xbe", 0, |s| {
        be16(s, 6) == Some(2)
    }),
    // The second header follows the first one's area, whose size is one of these.
    confirmed(Kind::Luks2, LUKS2_SECOND, b"SKUL\xba\xbe", 0, |s| {
        be16(s, 6) == Some(2)
    }),
    row(Kind::BitLocker, At::Start(&[3]), b"-FVE-FS-"),
    // A label sits in one of the first four sectors, with its type 24 bytes on.
    confirmed(
        Kind::Lvm2,
        At::Start(&[0, 512, 1024, 1536]),
        b"LABELONE",
        0,
        lvm2_label,
    ),
    // 1.1 at the start, 1.2 at 4 KiB, 1.0 at 8 to 12 KiB before the end, 0.90 in the last whole 64
    // KiB but one.
    confirmed(
        Kind::MdRaid,
        At::Start(&[0, 4096]),
        b"\xfc\x4e\x2b\xa9",
        0,
        |s| le32(s, 4) == Some(1),
    ),
    confirmed(
        Kind::MdRaid,
        At::EndRange(8192, 12 * 1024),
        b"\xfc\x4e\x2b\xa9",
        0,
        |s| le32(s, 4) == Some(1),
    ),
    confirmed(Kind::MdRaid, MD_0_90, b"\xfc\x4e\x2b\xa9", 0, |s| {
        le32(s, 4) == Some(0)
    }),
    confirmed(Kind::MdRaid, MD_0_90, b"\xa9\x2b\x4e\xfc", 0, |s| {
        be32(s, 4) == Some(0)
    }),
    row(
        Kind::Bcachefs,
        At::Start(&[4096 + 24]),
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    row(
        Kind::Bcache,
        At::Start(&[4096 + 24]),
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    // Uberblocks fill the second half of a 256 KiB label, in either byte order; two labels at each
    // end.
    confirmed(
        Kind::Zfs,
        ZFS_START,
        b"\x0c\xb1\xba\x00\x00\x00\x00\x00",
        0,
        zfs_little_endian,
    ),
    confirmed(
        Kind::Zfs,
        ZFS_START,
        b"\x00\x00\x00\x00\x00\xba\xb1\x0c",
        0,
        zfs_big_endian,
    ),
    confirmed(
        Kind::Zfs,
        ZFS_END,
        b"\x0c\xb1\xba\x00\x00\x00\x00\x00",
        0,
        zfs_little_endian,
    ),
    confirmed(
        Kind::Zfs,
        ZFS_END,
        b"\x00\x00\x00\x00\x00\xba\xb1\x0c",
        0,
        zfs_big_endian,
    ),
    row(Kind::Btrfs, At::Start(&[64 * 1024 + 64]), b"_BHRfS_M"),
    confirmed(Kind::Xfs, At::Start(&[0]), b"XFSB", 0, xfs_superblock),
    // The superblock is at 1024, its magic 56 bytes on.
    confirmed(Kind::Ext4, At::Start(&[1024 + 56]), b"\x53\xef", 56, |s| {
        ext(s) == Some(Kind::Ext4)
    }),
    confirmed(Kind::Ext3, At::Start(&[1024 + 56]), b"\x53\xef", 56, |s| {
        ext(s) == Some(Kind::Ext3)
    }),
    confirmed(Kind::Ext2, At::Start(&[1024 + 56]), b"\x53\xef", 56, |s| {
        ext(s) == Some(Kind::Ext2)
    }),
    row(
        Kind::F2fs,
        At::Start(&[1024, 4096 + 1024]),
        b"\x10\x20\xf5\xf2",
    ),
    row(Kind::Erofs, At::Start(&[1024]), b"\xe2\xe1\xf5\xe0"),
    confirmed(Kind::Squashfs, At::Start(&[0]), b"hsqs", 0, |s| {
        le16(s, 28) == Some(4)
    }),
    confirmed(Kind::Squashfs, At::Start(&[0]), b"sqsh", 0, |s| {
        be16(s, 28).is_some_and(|v| v <= 4)
    }),
    row(Kind::Ntfs, At::Start(&[3]), b"NTFS    "),
    row(Kind::Exfat, At::Start(&[3]), b"EXFAT   "),
    confirmed(Kind::Fat, At::Start(&[0x36]), b"FAT", 0x36, fat_boot_sector),
    confirmed(
        Kind::Fat,
        At::Start(&[0x52]),
        b"FAT32",
        0x52,
        fat_boot_sector,
    ),
    row(Kind::Iso9660, At::Start(&[32 * 1024 + 1]), b"CD001"),
    // The magic ends the first page, whatever the page size of the machine that made it.
    row(Kind::Swap, SWAP, b"SWAPSPACE2"),
    row(Kind::Swap, SWAP, b"SWAP-SPACE"),
    row(Kind::Swap, SWAP, b"S1SUSPEND\0"),
    row(Kind::Swap, SWAP, b"S2SUSPEND\0"),
    row(Kind::Swap, SWAP, b"LINHIB0001"),
    // The volume's header at 1 MiB, the file system's at 2 MiB.
    row(Kind::Vmfs, At::Start(&[1024 * 1024]), b"\x0d\xd0\x01\xc0"),
    row(
        Kind::Vmfs,
        At::Start(&[2 * 1024 * 1024]),
        b"\x5e\xf1\xab\x2f",
    ),
    row(Kind::Sqlite, At::Start(&[0]), b"SQLite format 3\0"),
    confirmed(Kind::Qcow2, At::Start(&[0]), b"QFI\xfb", 0, |s| {
        matches!(be32(s, 4), Some(2 | 3))
    }),
    // The second and the last sector, of 512 or 4096 bytes.
    row(Kind::Gpt, At::Start(&[512, 4096]), b"EFI PART"),
    row(Kind::Gpt, At::End(&[512, 4096]), b"EFI PART"),
    confirmed(
        Kind::Mbr,
        At::Start(&[510]),
        b"\x55\xaa",
        510,
        mbr_has_partitions,
    ),
];

const LUKS2_SECOND: At = At::Start(&[
    0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000,
]);
const MD_0_90: At = At::EndRange(64 * 1024, 128 * 1024);
const ZFS_START: At = At::StartRange(128 * 1024, 512 * 1024, 1024);
const ZFS_END: At = At::EndRange(512, 768 * 1024);
const SWAP: At = At::Start(&[4096 - 10, 8192 - 10, 16384 - 10, 32768 - 10, 65536 - 10]);

fn always(_: &[u8]) -> bool {
    true
}

fn lvm2_label(label: &[u8]) -> bool {
    label.get(24..32) == Some(b"LVM2 001")
}

/// The pool version follows the magic: 1 to 28, or 5000 for feature flags.
fn zfs_little_endian(uberblock: &[u8]) -> bool {
    le32(uberblock, 12) == Some(0) && le32(uberblock, 8).is_some_and(zfs_version)
}

fn zfs_big_endian(uberblock: &[u8]) -> bool {
    be32(uberblock, 8) == Some(0) && be32(uberblock, 12).is_some_and(zfs_version)
}

fn zfs_version(version: u32) -> bool {
    (1..=28).contains(&version) || version == 5000
}

fn xfs_superblock(superblock: &[u8]) -> bool {
    be32(superblock, 4)
        .is_some_and(|block| block.is_power_of_two() && (512..=65536).contains(&block))
}

/// Tells the three apart as their tools do: by the journal, and by features that ext3 never had.
fn ext(superblock: &[u8]) -> Option<Kind> {
    const HAS_JOURNAL: u32 = 0x4;
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    let plausible =
        le32(superblock, 4)? != 0 && le32(superblock, 24)? <= 6 && le32(superblock, 76)? <= 1;
    let (compatible, incompatible, read_only) = (
        le32(superblock, 92)?,
        le32(superblock, 96)?,
        le32(superblock, 100)?,
    );
    let beyond_ext3 = incompatible & !(EXT3_INCOMPATIBLE | JOURNAL_DEVICE) != 0
        || read_only & !EXT3_READ_ONLY != 0;
    let journal = compatible & HAS_JOURNAL != 0 || incompatible & JOURNAL_DEVICE != 0;
    plausible.then_some(match (beyond_ext3, journal) {
        (true, _) => Kind::Ext4,
        (false, true) => Kind::Ext3,
        (false, false) => Kind::Ext2,
    })
}

fn fat_boot_sector(sector: &[u8]) -> bool {
    let sector_bytes = le16(sector, 11);
    let cluster = sector.get(13).copied().unwrap_or(0);
    let copies = sector.get(16).copied().unwrap_or(0);
    matches!(sector_bytes, Some(512 | 1024 | 2048 | 4096))
        && cluster.is_power_of_two()
        && matches!(copies, 1 | 2)
}

/// A boot record counts where at least one of its four entries has a type and a length, and all
/// have a lawful flag.
fn mbr_has_partitions(sector: &[u8]) -> bool {
    let Some(entries) = sector.get(446..510) else {
        return false;
    };
    let lawful = entries
        .chunks_exact(16)
        .all(|entry| matches!(entry[0], 0 | 0x80));
    let used = entries
        .chunks_exact(16)
        .any(|entry| entry[4] != 0 && le32(entry, 12) != Some(0));
    lawful && used
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

fn le16(bytes: &[u8], offset: usize) -> Option<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

fn le32(bytes: &[u8], offset: usize) -> Option<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

fn be16(bytes: &[u8], offset: usize) -> Option<u16> {
    array(bytes, offset).map(u16::from_be_bytes)
}

fn be32(bytes: &[u8], offset: usize) -> Option<u32> {
    array(bytes, offset).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::io::Write;

    const SIZE: usize = 2 * 1024 * 1024 + 4096;

    /// Both ends, zero but for the given pieces; a negative offset counts from the end.
    fn ends(pieces: &[(i64, &[u8])]) -> (Vec<u8>, Vec<u8>) {
        let (mut head, mut tail) = (vec![0; SIZE], vec![0; 1024 * 1024]);
        for (offset, bytes) in pieces {
            let (end, start) = match usize::try_from(*offset) {
                Ok(start) => (&mut head, start),
                Err(_) => {
                    let start = tail.len() - usize::try_from(-offset).unwrap();
                    (&mut tail, start)
                }
            };
            end[start..start + bytes.len()].copy_from_slice(bytes);
        }
        (head, tail)
    }

    /// The fields of an ext superblock that are looked at: inodes, blocks, block size, magic,
    /// revision, features.
    fn ext_superblock(features: [u32; 3]) -> Vec<u8> {
        let mut superblock = vec![0; 104];
        superblock[0] = 16;
        superblock[4] = 64;
        superblock[24] = 2;
        superblock[56..58].copy_from_slice(&[0x53, 0xef]);
        superblock[76] = 1;
        for (index, feature) in features.iter().enumerate() {
            superblock[92 + 4 * index..96 + 4 * index].copy_from_slice(&feature.to_le_bytes());
        }
        superblock
    }

    fn boot_sector(offset: usize, name: &[u8]) -> Vec<u8> {
        let mut sector = vec![0; 512];
        sector[11..13].copy_from_slice(&512u16.to_le_bytes());
        sector[13] = 8;
        sector[16] = 2;
        sector[offset..offset + name.len()].copy_from_slice(name);
        sector[510..512].copy_from_slice(&[0x55, 0xaa]);
        sector
    }

    fn mbr(kind: u8) -> Vec<u8> {
        let mut sector = vec![0; 512];
        sector[446] = 0x80;
        sector[446 + 4] = kind;
        sector[446 + 8] = 1;
        sector[446 + 12] = 200;
        sector[510..512].copy_from_slice(&[0x55, 0xaa]);
        sector
    }

    fn squashfs() -> Vec<u8> {
        let mut superblock = b"hsqs".to_vec();
        superblock.resize(28, 0);
        superblock.extend([4, 0]);
        superblock
    }

    fn lvm2() -> Vec<u8> {
        let mut label = b"LABELONE".to_vec();
        label.resize(24, 0);
        label.extend(b"LVM2 001");
        label
    }

    fn zfs_little() -> Vec<u8> {
        [0x00ba_b10c_u64.to_le_bytes(), 5000_u64.to_le_bytes()].concat()
    }

    fn zfs_big() -> Vec<u8> {
        [0x00ba_b10c_u64.to_be_bytes(), 28_u64.to_be_bytes()].concat()
    }

    const MD_1: &[u8] = b"\xfc\x4e\x2b\xa9\x01\0\0\0";
    const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";

    /// (kind, offset of the structure, structure, offset of the magic in it)
    fn examples() -> Vec<(Kind, i64, Vec<u8>, i64)> {
        vec![
            (Kind::Luks1, 0, b"LUKS\xba\xbe\x00\x01".to_vec(), 0),
            (Kind::Luks2, 0, b"LUKS\xba\xbe\x00\x02".to_vec(), 0),
            (Kind::Luks2, 0x4000, b"SKUL\xba\xbe\x00\x02".to_vec(), 0),
            (Kind::Luks2, 0x20_0000, b"SKUL\xba\xbe\x00\x02".to_vec(), 0),
            (Kind::BitLocker, 0, boot_sector(3, b"-FVE-FS-"), 3),
            (Kind::Lvm2, 512, lvm2(), 0),
            (Kind::Lvm2, 1536, lvm2(), 0),
            (Kind::MdRaid, 0, MD_1.to_vec(), 0),
            (Kind::MdRaid, 4096, MD_1.to_vec(), 0),
            (Kind::MdRaid, -8192, MD_1.to_vec(), 0),
            (Kind::MdRaid, -(8192 + 3 * 512), MD_1.to_vec(), 0),
            (
                Kind::MdRaid,
                -65536,
                b"\xfc\x4e\x2b\xa9\0\0\0\0".to_vec(),
                0,
            ),
            (
                Kind::MdRaid,
                -(131_072 - 512),
                b"\xa9\x2b\x4e\xfc\0\0\0\0".to_vec(),
                0,
            ),
            (Kind::Bcachefs, 4096 + 24, BCACHEFS.to_vec(), 0),
            (Kind::Bcache, 4096 + 24, BCACHE.to_vec(), 0),
            (Kind::Zfs, 128 * 1024, zfs_little(), 0),
            (Kind::Zfs, (256 + 128 + 5) * 1024, zfs_big(), 0),
            (Kind::Zfs, -128 * 1024, zfs_little(), 0),
            (Kind::Zfs, -(600 * 1024 + 512), zfs_big(), 0),
            (Kind::Btrfs, 0x1_0040, b"_BHRfS_M".to_vec(), 0),
            (Kind::Xfs, 0, b"XFSB\x00\x00\x10\x00".to_vec(), 0),
            (Kind::Ext2, 1024, ext_superblock([0, 2, 1]), 56),
            (Kind::Ext3, 1024, ext_superblock([4, 2, 1]), 56),
            (Kind::Ext4, 1024, ext_superblock([4, 0x42, 1]), 56),
            (Kind::Ext4, 1024, ext_superblock([0, 0x2, 0x8]), 56),
            (Kind::F2fs, 1024, b"\x10\x20\xf5\xf2".to_vec(), 0),
            (Kind::F2fs, 5120, b"\x10\x20\xf5\xf2".to_vec(), 0),
            (Kind::Erofs, 1024, b"\xe2\xe1\xf5\xe0".to_vec(), 0),
            (Kind::Squashfs, 0, squashfs(), 0),
            (Kind::Ntfs, 0, boot_sector(3, b"NTFS    "), 3),
            (Kind::Exfat, 0, boot_sector(3, b"EXFAT   "), 3),
            (Kind::Fat, 0, boot_sector(0x36, b"FAT12   "), 0x36),
            (Kind::Fat, 0, boot_sector(0x36, b"FAT16   "), 0x36),
            (Kind::Fat, 0, boot_sector(0x52, b"FAT32   "), 0x52),
            (Kind::Iso9660, 0x8000, b"\x01CD001\x01".to_vec(), 1),
            (Kind::Swap, 4086, b"SWAPSPACE2".to_vec(), 0),
            (Kind::Swap, 65526, b"SWAPSPACE2".to_vec(), 0),
            (Kind::Swap, 4086, b"SWAP-SPACE".to_vec(), 0),
            (Kind::Swap, 4086, b"S1SUSPEND\0".to_vec(), 0),
            (Kind::Vmfs, 0x10_0000, b"\x0d\xd0\x01\xc0".to_vec(), 0),
            (Kind::Vmfs, 0x20_0000, b"\x5e\xf1\xab\x2f".to_vec(), 0),
            (Kind::Sqlite, 0, b"SQLite format 3\0".to_vec(), 0),
            (Kind::Qcow2, 0, b"QFI\xfb\0\0\0\x03".to_vec(), 0),
            (Kind::Gpt, 512, b"EFI PART".to_vec(), 0),
            (Kind::Gpt, 4096, b"EFI PART".to_vec(), 0),
            (Kind::Gpt, -512, b"EFI PART".to_vec(), 0),
            (Kind::Gpt, -4096, b"EFI PART".to_vec(), 0),
            (Kind::Mbr, 0, mbr(0x83), 510),
        ]
    }

    fn place(offset: i64) -> Place {
        match u64::try_from(offset) {
            Ok(offset) => Place::FromStart(offset),
            Err(_) => Place::BeforeEnd(offset.unsigned_abs()),
        }
    }

    #[test]
    fn each_format_is_recognised_at_each_of_its_places() {
        for (kind, offset, structure, magic) in examples() {
            let (head, tail) = ends(&[(offset, &structure)]);
            let expected = Signature {
                kind,
                place: place(offset + magic),
            };
            assert_eq!(
                signature(&head, &tail),
                Some(expected),
                "{kind:?} at {offset}"
            );
        }
    }

    #[test]
    fn every_kind_of_the_table_has_an_example() {
        let with_example: BTreeSet<Kind> = examples().iter().map(|example| example.0).collect();
        let in_table: BTreeSet<Kind> = MAGICS.iter().map(|magic| magic.kind).collect();
        assert_eq!(with_example, in_table);
    }

    #[test]
    fn the_probed_ends_reach_every_magic_of_the_table() {
        for magic in MAGICS {
            let (furthest, limit) = match magic.at {
                At::Start(offsets) => (
                    offsets.iter().max().unwrap() + magic.bytes.len(),
                    HEAD_BYTES,
                ),
                At::StartRange(_, to, _) => (to, HEAD_BYTES),
                At::End(distances) => (*distances.iter().max().unwrap(), TAIL_BYTES),
                At::EndRange(_, to) => (to, TAIL_BYTES),
            };
            assert!(
                u64::try_from(furthest).unwrap() <= limit,
                "{:?}",
                magic.kind
            );
        }
    }

    #[test]
    fn all_zero_ends_hold_nothing() {
        let (head, tail) = ends(&[]);
        assert_eq!(signature(&head, &tail), None);
        assert_eq!(signature(&[], &[]), None);
    }

    #[test]
    fn any_other_byte_is_data_of_an_unknown_kind() {
        let (head, tail) = ends(&[(777, b"x")]);
        let found = signature(&head, &tail).unwrap();
        assert_eq!(
            found,
            Signature {
                kind: Kind::Unknown,
                place: Place::FromStart(777)
            }
        );
        assert!(!found.is_recognised());
        let (head, tail) = ends(&[(-3, b"x")]);
        let found = signature(&head, &tail).unwrap();
        assert_eq!(
            found,
            Signature {
                kind: Kind::Unknown,
                place: Place::BeforeEnd(3)
            }
        );
    }

    #[test]
    fn a_magic_whose_further_fields_make_no_sense_is_only_data() {
        let lone: [(i64, &[u8]); 8] = [
            (1080, b"\x53\xef"),
            (510, b"\x55\xaa"),
            (0, b"XFSB"),
            (0, b"LUKS\xba\xbe\x00\x09"),
            (0x36, b"FAT"),
            (0, b"QFI\xfb\0\0\0\x09"),
            (512, b"LABELONE"),
            (4096, b"\xfc\x4e\x2b\xa9\x07\0\0\0"),
        ];
        for piece in lone {
            let (head, tail) = ends(&[piece]);
            assert_eq!(
                signature(&head, &tail).unwrap().kind,
                Kind::Unknown,
                "{piece:?}"
            );
        }
    }

    #[test]
    fn an_mbr_without_partitions_or_with_an_unlawful_flag_is_only_data() {
        let (head, tail) = ends(&[(0, &mbr(0))]);
        assert_eq!(signature(&head, &tail).unwrap().kind, Kind::Unknown);
        let mut unlawful = mbr(0x83);
        unlawful[446 + 16] = 0x42;
        let (head, tail) = ends(&[(0, &unlawful)]);
        assert_eq!(signature(&head, &tail).unwrap().kind, Kind::Unknown);
    }

    #[test]
    fn a_partition_table_with_its_protective_mbr_is_named_gpt() {
        let (head, tail) = ends(&[(0, &mbr(0xee)), (512, b"EFI PART")]);
        assert_eq!(signature(&head, &tail).unwrap().kind, Kind::Gpt);
    }

    #[test]
    fn the_member_of_a_mirror_is_named_before_the_file_system_that_it_mirrors() {
        let (head, tail) = ends(&[(1024, &ext_superblock([4, 0x42, 1])), (-8192, MD_1)]);
        assert_eq!(signature(&head, &tail).unwrap().kind, Kind::MdRaid);
    }

    #[test]
    fn a_file_is_probed_at_both_ends() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(5 * 1024 * 1024).unwrap();
        assert_eq!(signature_of(&mut file).unwrap(), None);
        file.seek(SeekFrom::End(-512)).unwrap();
        file.write_all(b"EFI PART").unwrap();
        let expected = Signature {
            kind: Kind::Gpt,
            place: Place::BeforeEnd(512),
        };
        assert_eq!(signature_of(&mut file).unwrap(), Some(expected));
    }

    proptest! {
        #[test]
        fn random_ends_of_any_length_never_panic_and_are_never_taken_for_a_format(
            head in proptest::collection::vec(any::<u8>(), 0..9000),
            tail in proptest::collection::vec(any::<u8>(), 0..9000),
        ) {
            let all_zero = head.iter().chain(&tail).all(|byte| *byte == 0);
            match signature(&head, &tail) {
                None => prop_assert!(all_zero),
                Some(found) => prop_assert_eq!(found.kind, Kind::Unknown),
            }
        }

        #[test]
        fn a_truncated_or_damaged_example_never_panics(
            index in 0usize..48,
            cut in 0usize..9000,
            at in 0usize..9000,
            byte in any::<u8>(),
        ) {
            let (_, offset, structure, _) = examples()[index].clone();
            let (mut head, tail) = ends(&[(offset, &structure)]);
            head[at] = byte;
            let _ = signature(&head[..cut], &tail[tail.len() - cut..]);
        }
    }
}
