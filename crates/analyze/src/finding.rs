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
}
