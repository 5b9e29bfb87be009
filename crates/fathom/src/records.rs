//! Files of records as several verbs take them.

use crate::exit::Usage;
use crate::tell::say;
use anyhow::Result;
use clap::{Arg, ArgAction, value_parser};
use record::{ReadRecords, Record};
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The files that a verb is about.
pub(crate) fn argument() -> Arg {
    Arg::new("records")
        .required(true)
        .value_name("RECORDS")
        .action(ArgAction::Append)
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
        .help("Files of records, as --records of a run writes them")
}

/// Whether a path is a directory or device, or a file whose beginning is no text: something that
/// can be long and holds no records.
pub(crate) fn is_other_data(path: &Path) -> bool {
    const BEGINNING: u64 = 4096;
    let Ok(facts) = std::fs::metadata(path) else {
        return false;
    };
    if facts.is_dir() || facts.file_type().is_block_device() {
        return true;
    }
    let mut bytes = Vec::new();
    let read = facts.is_file().then(|| {
        std::fs::File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes))
    });
    matches!(read, Some(Ok(_))) && bytes.contains(&0)
}

/// The whole records of a file; its damaged lines are told. Errors: it has none.
pub(crate) fn whole(file: &Path, read: ReadRecords) -> Result<Vec<Record>> {
    tell_damage(file, &read);
    if read.records.is_empty() {
        return Err(Usage(format!(
            "{} holds no records; `fathom run --records FILE` writes them",
            file.display()
        ))
        .into());
    }
    Ok(read.records)
}

/// Says on standard error which lines of a file are skipped.
pub(crate) fn tell_damage(file: &Path, read: &ReadRecords) {
    for damage in &read.damaged {
        say(&format!(
            "warning: {}, line {} is skipped: {}",
            file.display(),
            damage.line,
            damage.reason
        ));
    }
}
