//! What a walk looks for.

use std::fs::DirEntry;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

/// What an entry must be to be counted as a match; what is not given is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// `*` is any bytes, `?` any one.
    pub name: Option<Vec<u8>>,
    pub bytes: Option<u64>,
    /// Changed later than this time, in seconds and nanoseconds.
    pub newer: Option<(i64, i64)>,
}

impl Sought {
    /// The file system is asked about an entry only where its name is not reason enough.
    pub(super) fn is_met_by(&self, entry: &DirEntry) -> io::Result<bool> {
        let name = entry.file_name();
        if self
            .name
            .as_ref()
            .is_some_and(|name_wanted| !matches_name(name_wanted, name.as_bytes()))
        {
            return Ok(false);
        }
        if self.bytes.is_none() && self.newer.is_none() {
            return Ok(true);
        }
        let facts = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        let has_length = self.bytes.is_none_or(|bytes| facts.len() == bytes);
        let changed = (facts.mtime(), facts.mtime_nsec());
        Ok(has_length && self.newer.is_none_or(|newer| changed > newer))
    }
}

/// Whether a name has the form of a pattern. Goes back to the last `*` alone, so that the time is at
/// most the product of the lengths.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            Some(_) | None => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_of_a_pattern_or_not() {
        for (pattern, name, is_match) in [
            ("*01*", "file.000101", true),
            ("*01*", "01", true),
            ("*01*", "0", false),
            ("", "", true),
            ("", "a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
        ] {
            assert_eq!(
                matches_name(pattern.as_bytes(), name.as_bytes()),
                is_match,
                "{pattern} {name}"
            );
        }
        assert!(!matches_name(b"*a*a*a*a*a*b", &[b'a'; 4000]));
    }
}
