//! What an audit says.

use std::fmt;

/// How much a finding takes away from a number; the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The number does not mean what it is called.
    Invalid,
    /// The number must not be quoted without this.
    Warning,
    /// Good to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Invalid => "invalid",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// One thing that is wrong with a record, or that its reader must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule: `served_from_cache`.
    pub rule: &'static str,
    pub severity: Severity,
    /// What is the case, with the figures that show it.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// Of hosts that are not alike: what differs, and who has what of it.
    pub differing: Vec<DifferingFact>,
}

/// Something that is not the same on all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingFact {
    pub what: String,
    /// Each value with those who have it: `6.8 on a, b and c`; what most have first.
    pub values: Vec<String>,
}

impl fmt::Display for DifferingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.values.join("; "))
    }
}

impl Finding {
    /// The message and everything that belongs to it, on one line.
    #[must_use]
    pub fn in_full(&self) -> String {
        let facts = self.differing.iter().map(|fact| format!(" | {fact}"));
        format!("{}{}", self.message, facts.collect::<String>())
    }
}
