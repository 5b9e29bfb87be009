//! The mark by which ranks know that a process with `--hosts` started their launcher.

use crate::exit::FrontWord;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// What this process says to those that it starts: its launcher's end is heard by it alone, and how
/// many there are to be.
pub(in crate::group) const MARK: &str = "under-front";

/// What stands there: the number of ranks, the word by which they are heard, and whether somebody looks on
/// at a terminal. A line that was only shown has no more than the first: whoever types it hears the
/// launcher alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct FrontMark {
    pub(in crate::group) ranks: u64,
    pub(in crate::group) word: Option<FrontWord>,
    pub(in crate::group) is_watched: bool,
}

/// What stands behind the word where somebody looks on.
const WATCHED: &str = "watched";

impl FromStr for FrontMark {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut parts = text.split(':');
        let ranks = parts.next().unwrap_or_default();
        Ok(Self {
            ranks: ranks.parse()?,
            word: parts.next().map(|word| FrontWord(word.to_owned())),
            is_watched: parts.next() == Some(WATCHED),
        })
    }
}

impl fmt::Display for FrontMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ranks)?;
        let Some(word) = &self.word else {
            return Ok(());
        };
        write!(f, ":{}", word.0)?;
        match self.is_watched {
            true => write!(f, ":{WATCHED}"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back() {
        for text in ["3", "2:word", "2:word:watched"] {
            let mark: FrontMark = text.parse().unwrap();
            assert_eq!(mark.to_string(), text);
            assert_eq!(mark.word.is_some(), text.contains(':'));
            assert_eq!(mark.is_watched, text.ends_with("watched"));
        }
        assert!("x:3".parse::<FrontMark>().is_err());
    }
}
