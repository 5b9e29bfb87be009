//! What can be wrong with a file, where, and what to do.

use crate::Format;
use std::fmt;
use units::Bytes;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The file as a whole.
    Whole,
    /// Offset in bytes, from 0.
    Byte(usize),
    /// Line and, where it is known, column; both from 1.
    Line { line: usize, column: Option<usize> },
    /// A value of a JSON document: `jobs[0].read.iops`.
    Value(String),
    /// A field of a table: line, from 1, and the name of the column.
    Field { line: usize, column: String },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the file"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line { line, column: None } => write!(f, "line {line}"),
            Self::Line {
                line,
                column: Some(column),
            } => write!(f, "line {line}, column {column}"),
            Self::Value(path) => f.write_str(path),
            Self::Field { line, column } => write!(f, "line {line}, {column:?}"),
        }
    }
}

/// Why a file cannot be imported.
#[derive(thiserror::Error, Debug)]
pub enum ImportError {
    /// Give a smaller file.
    #[error("{file}: {found}, more than the {most} that are read; {advice}")]
    TooLarge {
        file: String,
        found: String,
        most: String,
        advice: &'static str,
    },
    /// Decompress first.
    #[error("{file} is compressed with {with}: decompress it first: {command}")]
    Compressed {
        file: String,
        with: &'static str,
        command: String,
    },
    /// Copy it again.
    #[error(
        "{file}, {place}: not the {with} that it begins as: {reason}; copy it again, or repeat the run"
    )]
    Damaged {
        file: String,
        with: &'static str,
        place: Location,
        reason: String,
    },
    /// Give a text in UTF-8.
    #[error("{file}, {place}: not UTF-8 text; {advice}")]
    NotText {
        file: String,
        place: Location,
        advice: &'static str,
    },
    /// Give another file, or name the format.
    #[error("{file}: {why}; what is read: {}", Format::list())]
    Unrecognised { file: String, why: String },
    /// The file is known, and another one of the same tool is needed.
    #[error("{file}: {what}; {advice}")]
    Refused {
        file: String,
        what: String,
        advice: &'static str,
    },
    /// The file is damaged, or of a version with another shape.
    #[error("{file}, read as {format}: {place}: {reason}{}", advice(*.format, .place, *.cut))]
    Malformed {
        file: String,
        format: Format,
        place: Location,
        reason: String,
        cut: bool,
    },
}

fn advice(format: Format, place: &Location, cut: bool) -> String {
    if cut {
        return "; the file ends early: copy it again, or repeat the run".into();
    }
    match place {
        Location::Value(_) | Location::Field { .. } => {
            format!(
                "; if {} wrote it so, its version has a shape that is not known here: please report it",
                format.tool()
            )
        }
        Location::Whole | Location::Byte(_) | Location::Line { .. } => String::new(),
    }
}

/// What a reader of one format finds wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Location,
    pub(crate) reason: String,
    /// Whether the text ends inside a value.
    pub(crate) cut: bool,
}

impl Fault {
    pub(crate) fn new(place: Location, reason: impl Into<String>) -> Self {
        Self {
            place,
            reason: reason.into(),
            cut: false,
        }
    }

    pub(crate) fn whole(reason: impl Into<String>) -> Self {
        Self::new(Location::Whole, reason)
    }

    pub(crate) fn into_error(self, format: Format, file: &str) -> ImportError {
        ImportError::Malformed {
            file: file.to_owned(),
            format,
            place: self.place,
            reason: self.reason,
            cut: self.cut,
        }
    }
}

/// More than a limit allows.
pub(crate) fn too_long(file: &str, bytes: usize, most: usize, advice: &'static str) -> ImportError {
    let size = |n: usize| Bytes(units::lossless::to_u64(n)).to_string();
    ImportError::TooLarge {
        file: file.to_owned(),
        found: size(bytes),
        most: size(most),
        advice,
    }
}
