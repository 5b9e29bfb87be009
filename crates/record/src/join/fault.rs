//! What is wrong with parts that were given.

use crate::NotOneWorkload;

/// Options that are named in one sentence.
const FEW: usize = 3;

/// Why parts are not the whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartFault {
    #[error("{place} {why}")]
    NoPart { place: String, why: &'static str },
    #[error("{place} has another {what} than {}{}", .chosen.words(), told(.options))]
    Other {
        place: String,
        what: &'static str,
        chosen: ChosenTrial,
        /// The options that differ, with what they are in either.
        options: Vec<String>,
    },
    #[error("rank {rank} stands in {places}: nobody knows which of them counts; neither is used")]
    Twice { rank: u32, places: String },
    #[error(
        "{places} hold one record ({id}), and each says that it is of another rank: nobody knows whose it is; none is used"
    )]
    Copied { id: String, places: String },
    #[error("{ranks} of {size} {}: the record is of the others", if *.several { "are missing" } else { "is missing" })]
    Missing {
        /// As many as are named, and how many more.
        ranks: String,
        size: u32,
        several: bool,
    },
    #[error("rank {rank} ({place}) is incomplete: {why}")]
    Incomplete {
        rank: u32,
        place: String,
        why: String,
    },
    #[error("the parts cannot be joined: {0}")]
    NotOne(#[from] NotOneWorkload),
}

impl PartFault {
    /// 5 where ranks or what they did is missing, 2 where what was given is wrong.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Missing { .. } | Self::Incomplete { .. } => 5,
            Self::NoPart { .. }
            | Self::Other { .. }
            | Self::Twice { .. }
            | Self::Copied { .. }
            | Self::NotOne(_) => 2,
        }
    }
}

/// Options that are named, as the end of a sentence.
fn told(options: &[String]) -> String {
    match options {
        [] => String::new(),
        options => format!(": {}", units::few(options, FEW)),
    }
}

/// The parts of several trials that are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenTrial {
    /// Where the first of them stands.
    pub(super) first: String,
    pub(super) parts: usize,
    /// As many parts are of another trial, and these were given first.
    pub(super) is_tie: bool,
}

impl ChosenTrial {
    fn words(&self) -> String {
        let parts = match self.parts {
            1 => self.first.clone(),
            n => format!("the {n} parts that belong together"),
        };
        match self.is_tie {
            true => format!(
                "{parts}; no trial has more of these parts, and the first counts; lines of another trial, given alone, are merged"
            ),
            false => parts,
        }
    }
}
