//! The part of a file in which every block holds the pattern that its mark names.

use serde::{Deserialize, Serialize};

/// Bytes of a file; as they are by default, all of it. Versions before knew no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRange {
    /// The first.
    #[serde(default)]
    pub from: u64,
    /// Where it ends; absent: with the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

impl HeldRange {
    /// What work leaves that uses all whole blocks behind `offset` in so many bytes of a file.
    #[must_use]
    pub fn of_blocks(offset: u64, block: u64, bytes: u64, file_bytes: u64) -> Self {
        let left_over = bytes.saturating_sub(offset) % block.max(1);
        let to = bytes.saturating_sub(left_over);
        Self {
            from: offset,
            to: Some(to).filter(|to| *to < file_bytes),
        }
    }

    fn end(self) -> u64 {
        self.to.unwrap_or(u64::MAX)
    }

    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the other one lies in this one.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.from <= other.from && other.end() <= self.end()
    }

    /// Both, where nothing is between them.
    #[must_use]
    pub fn with(self, other: Self) -> Option<Self> {
        let is_one = self.from.max(other.from) <= self.end().min(other.end());
        is_one.then(|| Self {
            from: self.from.min(other.from),
            to: self.to.zip(other.to).map(|(own, other)| own.max(other)),
        })
    }

    /// What it has behind the end of the other one, in a file of so many bytes.
    #[must_use]
    pub fn bytes_behind(self, other: Self, bytes: u64) -> u64 {
        let end = self.end().min(bytes);
        end.saturating_sub(other.end())
    }

    /// The same of a file that ended at `bytes` and is to have more, or ends there.
    #[must_use]
    pub fn until(self, bytes: u64) -> Self {
        Self {
            to: Some(self.end().min(bytes)),
            ..self
        }
    }

    /// The same of a file of so many bytes: what goes to its end goes with it.
    #[must_use]
    pub fn in_file(self, bytes: u64) -> Self {
        Self {
            to: self.to.filter(|to| *to < bytes),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(from: u64, to: Option<u64>) -> HeldRange {
        HeldRange { from, to }
    }

    #[test]
    fn ranges_of_one_file_are_joined_where_they_touch() {
        let (front, back) = (held(0, Some(8)), held(8, None));
        assert_eq!(front.with(back), Some(HeldRange::default()));
        assert_eq!(back.with(front), Some(HeldRange::default()));
        assert_eq!(front.with(held(9, None)), None);
        assert_eq!(held(9, Some(12)).with(front), None);
        assert_eq!(front.with(held(4, Some(6))), Some(front));
        assert!(HeldRange::default().has(back) && !front.has(back) && front.has(held(2, Some(8))));
    }

    #[test]
    fn the_end_of_a_file_is_one_until_it_is_longer() {
        assert_eq!(HeldRange::of_blocks(4, 8, 20, 20), held(4, None));
        assert_eq!(HeldRange::of_blocks(4, 8, 23, 23), held(4, Some(20)));
        assert_eq!(HeldRange::of_blocks(0, 8, 16, 20), held(0, Some(16)));
        assert_eq!(held(0, Some(16)).in_file(16), HeldRange::default());
        assert_eq!(held(0, Some(16)).in_file(17), held(0, Some(16)));
        assert_eq!(HeldRange::default().until(16), held(0, Some(16)));
        assert_eq!(held(0, Some(8)).until(16), held(0, Some(8)));
    }
}
