//! The header pattern: each unit of a block says what it is.
//!
//! A unit is 512 bytes, the smallest sector, so that whatever storage loses, swaps or repeats is
//! made of whole units. All integers are little-endian.
//!
//! | at | bytes | field |
//! |---:|---:|---|
//! | 0 | 4 | magic `FTHM` |
//! | 4 | 4 | format version, 1 |
//! | 8 | 8 | absolute offset of the unit in its file |
//! | 16 | 8 | absolute offset of the block that was written |
//! | 24 | 8 | length of that block in bytes |
//! | 32 | 4 | file id |
//! | 36 | 4 | zero |
//! | 40 | 8 | generation |
//! | 48 | 8 | run id |
//! | 56 | 8 | checksum of bytes 0 to 55 |
//! | 64 | 448 | payload: the words of the field whose key is the checksum |
//!
//! The payload is thus a function of all header fields, and comparing it checks every byte without
//! hashing it.

use super::{BlockAddress, Version};
use crate::data::WordField;

/// Bytes that carry one header.
pub(crate) const HEADER_UNIT: usize = 512;
pub(super) const HEADER: usize = 64;
pub(super) const FIELDS: usize = 7;
/// The number of the first field in which writes of one block differ.
pub(super) const GENERATION: usize = 5;
const CHECKSUM_START: u64 = 0x243f_6a88_85a3_08d3;
const MAGIC: u32 = u32::from_le_bytes(*b"FTHM");
const FORMAT_VERSION: u32 = 1;
const PAYLOAD_STREAM: u64 = 4 << 32;

pub(super) type Unit = [u8; HEADER_UNIT];

/// The fields of a unit that differ from unit to unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) place: BlockAddress,
    pub(super) block_start: u64,
    pub(super) block_len: u64,
    pub(super) version: Version,
}

impl Header {
    /// Writes the whole unit.
    pub(super) fn write(&self, unit: &mut Unit) {
        let fields = self.fields();
        let sum = checksum(&fields);
        let (header, payload) = unit.split_at_mut(HEADER);
        let (words, _) = header.as_chunks_mut::<8>();
        for (word, value) in words.iter_mut().zip(fields.into_iter().chain([sum])) {
            *word = value.to_le_bytes();
        }
        payload_words(sum).fill_words(payload, 0);
    }

    /// The header of a unit in which no byte is damaged.
    #[inline]
    pub(super) fn of_intact(unit: &Unit) -> Option<Self> {
        let (fields, sum) = read_fields(unit);
        let header = Self::from_fields(&fields);
        let sound = header.fields() == fields
            && checksum(&fields) == sum
            && payload_words(sum).matches_words(&unit[HEADER..], 0);
        sound.then_some(header)
    }

    /// The header of a unit whose fields are whole, whatever its payload is.
    pub(super) fn of_sound_fields(unit: &Unit) -> Option<Self> {
        let (fields, sum) = read_fields(unit);
        let header = Self::from_fields(&fields);
        (header.fields() == fields && checksum(&fields) == sum).then_some(header)
    }

    /// Whether nothing of a unit speaks of a header: neither the magic, within some changed bits,
    /// nor the place, nor the checksum, nor the payload. Damage leaves at least one of them.
    pub(super) fn is_foreign(unit: &Unit, place: BlockAddress) -> bool {
        const CHANGED_BITS: u32 = 8;
        let (fields, sum) = read_fields(unit);
        let begins = Self::from_fields(&fields).fields()[0];
        let is_near = (fields[0] ^ begins).count_ones() <= CHANGED_BITS;
        let is_placed = fields[1] == place.offset && place.offset != 0;
        !is_near
            && !is_placed
            && checksum(&fields) != sum
            && !payload_words(sum).matches_words(&unit[HEADER..], 0)
    }

    /// What the fields say, sound or not.
    pub(super) fn as_found(unit: &Unit) -> Self {
        Self::from_fields(&read_fields(unit).0)
    }

    /// The same write's header at another place of its file.
    pub(super) fn moved_to(self, place: BlockAddress) -> Self {
        Self { place, ..self }
    }

    /// Whether the block of this header's write has a unit at this place.
    pub(super) fn covers(&self, place: BlockAddress) -> bool {
        place.offset >= self.block_start && place.offset - self.block_start < self.block_len
    }

    /// The write of a block as long as this header's that has a unit at this place, where blocks of
    /// this length follow each other.
    pub(super) fn in_row(self, place: BlockAddress) -> Option<Self> {
        let (len, unit) = (self.block_len, HEADER_UNIT as u64);
        if len == 0 || !len.is_multiple_of(unit) || self.place.file != place.file {
            return None;
        }
        let block_start = match place.offset.checked_sub(self.block_start) {
            Some(behind) => place.offset - behind % len,
            None => {
                let before = self.block_start - place.offset;
                self.block_start
                    .checked_sub(before.checked_next_multiple_of(len)?)?
            }
        };
        let is_whole = (place.offset - block_start).is_multiple_of(unit);
        is_whole.then_some(Self {
            place,
            block_start,
            ..self
        })
    }

    pub(super) fn same_block(&self, other: &Self) -> bool {
        (self.block_start, self.block_len) == (other.block_start, other.block_len)
    }

    fn fields(&self) -> [u64; FIELDS] {
        [
            u64::from(MAGIC) | (u64::from(FORMAT_VERSION) << 32),
            self.place.offset,
            self.block_start,
            self.block_len,
            u64::from(self.place.file),
            self.version.generation,
            self.version.run_id,
        ]
    }

    fn from_fields(fields: &[u64; FIELDS]) -> Self {
        let [_, offset, block_start, block_len, file, generation, run_id] = *fields;
        let file = u32::try_from(file & u64::from(u32::MAX)).expect("masked to 32 bits");
        let place = BlockAddress { file, offset };
        Self {
            place,
            block_start,
            block_len,
            version: Version { run_id, generation },
        }
    }
}

/// The writes of one block by one run, as they leave one of its units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    of: Header,
    /// The checksum over the fields in which they do not differ.
    begun: u64,
}

impl Writes {
    /// Those of the block and the run of this header.
    pub(super) fn like(header: Header) -> Self {
        let fields = header.fields();
        Self {
            of: header,
            begun: checksum_on(CHECKSUM_START, &fields[..GENERATION]),
        }
    }

    pub(super) fn header(&self, generation: u64) -> Header {
        let version = Version {
            generation,
            ..self.of.version
        };
        Header { version, ..self.of }
    }

    /// Some of the words of the unit, by their numbers.
    #[inline]
    pub(super) fn words<const N: usize>(&self, generation: u64, numbers: [usize; N]) -> [u64; N] {
        let sum = checksum_on(self.begun, &[generation, self.of.version.run_id]);
        let payload = payload_words(sum);
        numbers.map(|number| match number.checked_sub(FIELDS + 1) {
            Some(of_payload) => payload.word(of_payload as u64),
            None if number == FIELDS => sum,
            None => self.header(generation).fields()[number],
        })
    }
}

/// Fills `buf` with the units of one write at `at`; a tail shorter than a unit becomes zeros.
pub(crate) fn fill_header(buf: &mut [u8], at: BlockAddress, generation: u64, run_id: u64) {
    let block_len = buf.len() as u64;
    let version = Version { run_id, generation };
    let mut header = Header {
        place: at,
        block_start: at.offset,
        block_len,
        version,
    };
    let (units, tail) = buf.as_chunks_mut::<HEADER_UNIT>();
    for unit in units {
        header.write(unit);
        header.place.offset = header.place.offset.wrapping_add(HEADER_UNIT as u64);
    }
    tail.fill(0);
}

fn read_fields(unit: &Unit) -> ([u64; FIELDS], u64) {
    let (words, _) = unit.as_chunks::<8>();
    (
        std::array::from_fn(|i| u64::from_le_bytes(words[i])),
        u64::from_le_bytes(words[FIELDS]),
    )
}

fn payload_words(sum: u64) -> WordField {
    WordField::new(sum, PAYLOAD_STREAM)
}

/// Each step is a bijection of its field and of the state: damage within one field always changes
/// the sum.
fn checksum(fields: &[u64; FIELDS]) -> u64 {
    checksum_on(CHECKSUM_START, fields)
}

fn checksum_on(state: u64, fields: &[u64]) -> u64 {
    fields.iter().fold(state, |state, field| {
        let product = (state ^ field).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            place: BlockAddress {
                file: 0x0102_0304,
                offset: 0x1112_1314_1516_1718,
            },
            block_start: 0x2122_2324_2526_2728,
            block_len: 0x3132_3334_3536_3738,
            version: Version {
                run_id: 0x5152_5354_5556_5758,
                generation: 0x4142_4344_4546_4748,
            },
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let mut unit = [0xee; HEADER_UNIT];
        header().write(&mut unit);
        assert_eq!(&unit[..8], b"FTHM\x01\0\0\0");
        let field = |at: usize| u64::from_le_bytes(unit[at..at + 8].try_into().unwrap());
        assert_eq!(field(8), 0x1112_1314_1516_1718);
        assert_eq!(field(16), 0x2122_2324_2526_2728);
        assert_eq!(field(24), 0x3132_3334_3536_3738);
        assert_eq!(field(32), 0x0102_0304);
        assert_eq!(field(40), 0x4142_4344_4546_4748);
        assert_eq!(field(48), 0x5152_5354_5556_5758);
        let fields: [u64; FIELDS] = std::array::from_fn(|i| field(8 * i));
        assert_eq!(field(56), checksum(&fields));
        assert_ne!(unit[64..], [0xee; 448]);
    }

    #[test]
    fn units_of_one_write_differ_in_their_payload() {
        let mut buf = vec![0; 1024];
        fill_header(&mut buf, BlockAddress { file: 0, offset: 0 }, 1, 1);
        assert_ne!(buf[64..512], buf[512 + 64..]);
    }

    #[test]
    fn a_tail_shorter_than_a_unit_is_zeros() {
        let mut buf = vec![0xee; 700];
        fill_header(&mut buf, BlockAddress { file: 0, offset: 0 }, 1, 1);
        assert_eq!(buf[512..], [0; 188]);
    }

    #[test]
    fn an_intact_unit_of_another_format_version_is_not_ours() {
        let mut unit = [0; HEADER_UNIT];
        header().write(&mut unit);
        unit[4] = 2;
        let (fields, _) = read_fields(&unit);
        let sum = checksum(&fields);
        unit[56..64].copy_from_slice(&sum.to_le_bytes());
        payload_words(sum).fill_words(&mut unit[64..], 0);
        assert_eq!(Header::of_intact(&unit), None);
    }

    proptest! {
        #[test]
        fn a_written_unit_reads_back(
            file in any::<u32>(), offset in any::<u64>(), block_start in any::<u64>(),
            block_len in any::<u64>(), generation in any::<u64>(), run_id in any::<u64>(),
        ) {
            let version = Version { run_id, generation };
            let header = Header { place: BlockAddress { file, offset }, block_start, block_len, version };
            let mut unit = [0; HEADER_UNIT];
            header.write(&mut unit);
            prop_assert_eq!(Header::of_intact(&unit), Some(header));
            prop_assert_eq!(Header::as_found(&unit), header);
        }

        #[test]
        fn damage_within_one_field_always_changes_the_checksum(
            fields in any::<[u64; FIELDS]>(), at in 0..FIELDS, other in any::<u64>(),
        ) {
            let mut damaged = fields;
            damaged[at] = other;
            prop_assert_eq!(checksum(&damaged) == checksum(&fields), damaged == fields);
        }
    }
}
