//! What goes wrong with a library, in its own words.

use libc::{c_char, c_int};
use std::path::PathBuf;

/// Why there are no messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    #[error("no MPI library opens ({tried})")]
    NoLibrary { tried: String },
    #[error("{} is no MPI library: it has no {symbol}", library.display())]
    NoSymbol {
        library: PathBuf,
        symbol: &'static str,
    },
    #[error("{} ({version}) knows no PMIx, by which processes of Open MPI's launcher find each other: it belongs to another launcher", library.display())]
    Foreign {
        library: PathBuf,
        /// What it calls itself.
        version: String,
    },
    #[error("{} ({version}) is not of the launcher's Open MPI {launcher}, which has named its own directory for the parts of the library (OPAL_PREFIX={}): there are none of this version, and without them it ends the process", library.display(), prefix.display())]
    OtherVersion {
        library: PathBuf,
        /// What it calls itself.
        version: String,
        /// The version that the launcher says of itself.
        launcher: String,
        prefix: PathBuf,
    },
    #[error("{call} failed with {code}: {says}")]
    Call {
        call: &'static str,
        code: i32,
        /// What the library says of it.
        says: String,
    },
    #[error("{0}")]
    Message(&'static str),
}

/// More than any library writes (its text of a version has 8192 letters at most, of an error 1024).
const MOST_TEXT: usize = 16_384;

/// What a library writes, its lines.
pub(crate) fn text_of(write: impl FnOnce(*mut c_char, *mut c_int)) -> Vec<String> {
    let mut text = vec![0_u8; MOST_TEXT];
    let mut length = 0;
    write(text.as_mut_ptr().cast(), &raw mut length);
    let text = String::from_utf8_lossy(&text);
    let text = text.split('\0').next().unwrap_or_default();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}
