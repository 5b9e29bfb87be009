//! What objects hold: slices of one pool of bytes, begun at a place that the object's identity
//! decides.
//!
//! No byte is generated while the clock runs, nothing is copied before the kernel does it, and any
//! part of any object can be checked without having been kept. Two objects of different identity
//! begin at different places (but for one chance in the length of the pool), so an exchanged object
//! is found as well as a flipped bit. A store that finds duplicates at any byte offset could still
//! compress the load: the pool is a few MiB.

use std::io::IoSlice;
use units::lossless::{to_u64, to_usize};
use units::random::{Random, split_mix};

/// Odd, so that no power of two divides its period.
const POOL_BYTES: usize = (4 << 20) + 61;

/// Bytes that objects are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectData {
    /// Incompressible.
    #[default]
    Random,
    /// Letters and digits, as the payloads of many load scripts: compresses to three quarters.
    Text,
    /// Zeros: compress to nothing, and cannot be told from a hole.
    Zeros,
}

impl ObjectData {
    pub(crate) const ALL: &[Self] = &[Self::Random, Self::Text, Self::Zeros];

    /// The word in scenarios, flags and records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Text => "text",
            Self::Zeros => "zeros",
        }
    }
}

/// Identity and size of one object of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// The user that makes it, or [`Object::SEED`].
    pub(crate) owner: u32,
    pub(crate) number: u64,
    pub(crate) size: u64,
    /// What it holds: by its own identity, or by that of the object of which it is a copy.
    content: u64,
    /// Where the server names objects.
    pub(crate) given: GivenName,
}

/// A name that a server gave an object; empty where ours stands or none is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenName([u8; 24]);

impl GivenName {
    /// A name that can stand in an address as it is; `None` of any other.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let mut out = Self::default();
        let room = out
            .0
            .get_mut(..name.len())
            .filter(|room| !room.is_empty())?;
        room.copy_from_slice(name.as_bytes());
        name.bytes().all(is_plain).then_some(out)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        &self.0[..end.unwrap_or(self.0.len())]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
}

impl Object {
    /// Owner of what is made before the load.
    pub(crate) const SEED: u32 = u32::MAX;

    /// An object with content of its own.
    pub(crate) fn new(owner: u32, number: u64, size: u64) -> Self {
        Self {
            owner,
            number,
            size,
            content: split_mix(number ^ split_mix(u64::from(owner))),
            given: GivenName::default(),
        }
    }

    /// An object that holds what this one does.
    pub(crate) fn copy(self, owner: u32, number: u64) -> Self {
        Self {
            owner,
            number,
            given: GivenName::default(),
            ..self
        }
    }

    /// The same object under the name that the server gave it.
    pub(crate) fn named(self, given: GivenName) -> Self {
        Self { given, ..self }
    }
}

/// A part of what an object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRange {
    pub(crate) object: Object,
    pub(crate) from: u64,
    pub(crate) length: u64,
}

impl ObjectRange {
    /// Nothing of any object.
    pub(crate) fn empty() -> Self {
        Self {
            object: Object::new(0, 0, 0),
            from: 0,
            length: 0,
        }
    }
}

/// The pool of a run.
pub(crate) struct Payload {
    pool: Vec<u8>,
    seed: u64,
}

impl Payload {
    pub(crate) fn new(data: ObjectData, seed: u64) -> Self {
        let mut random = Random::stream(seed, 0xda7a);
        let pool = match data {
            ObjectData::Zeros => vec![0; POOL_BYTES],
            ObjectData::Random => (0..POOL_BYTES / 8 + 1)
                .flat_map(|_| random.bits().to_le_bytes())
                .take(POOL_BYTES)
                .collect(),
            ObjectData::Text => {
                const LETTERS: &[u8] =
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
                (0..POOL_BYTES)
                    .map(|_| LETTERS[to_usize(random.below(to_u64(LETTERS.len())))])
                    .collect()
            }
        };
        Self { pool, seed }
    }

    /// Place in the pool of byte `from` of an object.
    fn place(&self, object: Object, from: u64) -> usize {
        let start = split_mix(self.seed ^ object.content);
        let length = to_u64(self.pool.len());
        to_usize((start % length + from % length) % length)
    }

    /// Bytes `from..from + length` of an object, in pieces.
    pub(crate) fn pieces(
        &self,
        object: Object,
        from: u64,
        length: u64,
    ) -> impl Iterator<Item = &[u8]> {
        let mut at = self.place(object, from);
        let mut left = length;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let piece = &self.pool[at..];
            let piece = &piece[..piece.len().min(to_usize(left))];
            left -= to_u64(piece.len());
            at = 0;
            Some(piece)
        })
    }

    /// As many pieces as `room` takes; the count that was filled.
    pub(crate) fn fill<'a>(
        &'a self,
        object: Object,
        from: u64,
        length: u64,
        room: &mut [IoSlice<'a>],
    ) -> usize {
        room.iter_mut()
            .zip(self.pieces(object, from, length))
            .map(|(slot, piece)| *slot = IoSlice::new(piece))
            .count()
    }

    /// Offset in the object of the first byte of `got` (which begins at `from`) that is not the
    /// object's.
    pub(crate) fn first_wrong(&self, object: Object, from: u64, got: &[u8]) -> Option<u64> {
        let mut rest = got;
        for piece in self.pieces(object, from, to_u64(got.len())) {
            let (head, tail) = rest.split_at(piece.len());
            if head != piece {
                let inside = head.iter().zip(piece).position(|(a, b)| a != b)?;
                return Some(from + to_u64(got.len() - rest.len() + inside));
            }
            rest = tail;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static POOL: std::sync::OnceLock<Payload> = std::sync::OnceLock::new();

    fn bytes(payload: &Payload, object: Object, from: u64, length: u64) -> Vec<u8> {
        payload
            .pieces(object, from, length)
            .flatten()
            .copied()
            .collect()
    }

    #[test]
    fn a_flipped_bit_is_found_where_it_is() {
        let payload = Payload::new(ObjectData::Random, 5);
        let object = Object::new(1, 9, 10_000);
        let mut got = bytes(&payload, object, 0, 10_000);
        assert_eq!(payload.first_wrong(object, 0, &got), None);
        got[7777] ^= 1;
        assert_eq!(payload.first_wrong(object, 0, &got), Some(7777));
        assert_eq!(payload.first_wrong(object, 7000, &got[7000..]), Some(7777));
    }

    #[test]
    fn a_given_name_is_one_that_an_address_can_hold() {
        let longest = "x".repeat(24);
        for name in ["a", "abcDEF2345", "a-b_c", &longest] {
            assert_eq!(GivenName::parse(name).unwrap().bytes(), name.as_bytes());
        }
        for name in ["", "a/b", "a b", "\u{e4}", "a\0", &"x".repeat(25)] {
            assert_eq!(GivenName::parse(name), None, "{name:?}");
        }
        assert!(GivenName::default().is_empty());
    }

    #[test]
    fn another_object_is_not_this_one() {
        let payload = Payload::new(ObjectData::Text, 5);
        let [mine, other] = [1, 2].map(|number| Object::new(1, number, 64));
        assert!(
            payload
                .first_wrong(mine, 0, &bytes(&payload, other, 0, 64))
                .is_some()
        );
    }

    #[test]
    fn a_copy_holds_what_its_source_does() {
        let payload = Payload::new(ObjectData::Random, 5);
        let source = Object::new(Object::SEED, 3, 500);
        let copy = source.copy(1, 4);
        assert_eq!((copy.owner, copy.number, copy.size), (1, 4, 500));
        let got = bytes(&payload, source, 0, 500);
        assert_eq!(payload.first_wrong(copy, 0, &got), None);
    }

    #[test]
    fn text_is_letters_and_digits_and_zeros_are_zeros() {
        let object = Object::new(0, 0, 5000);
        assert!(
            bytes(&Payload::new(ObjectData::Text, 1), object, 0, 5000)
                .iter()
                .all(u8::is_ascii_alphanumeric)
        );
        assert!(
            bytes(&Payload::new(ObjectData::Zeros, 1), object, 0, 5000)
                .iter()
                .all(|byte| *byte == 0)
        );
    }

    proptest! {
        #[test]
        fn any_part_is_the_same_part_of_the_whole(number in any::<u64>(), from in 0_u64..10_000_000, length in 0_u64..100_000) {
            let payload = POOL.get_or_init(|| Payload::new(ObjectData::Random, 3));
            let object = Object::new(2, number, from + length);
            let part = bytes(payload, object, from, length);
            prop_assert_eq!(part.len(), usize::try_from(length).unwrap());
            let half = length / 2;
            let joined = [bytes(payload, object, from, half), bytes(payload, object, from + half, length - half)].concat();
            prop_assert_eq!(&part, &joined);
            prop_assert_eq!(payload.first_wrong(object, from, &part), None);
        }
    }
}
