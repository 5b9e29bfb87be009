//! Files of records as several verbs take them.

use crate::exit::Usage;
use crate::tell::say;
use anyhow::Result;
use clap::{Arg, ArgAction, value_parser};
use record::{ReadRecords, Record, read_records};
use std::collections::BTreeMap;
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

/// What a file holds. Errors: it cannot be read, which is a mistake of whoever named it.
pub(crate) fn read(file: &Path) -> Result<ReadRecords> {
    read_records(file).map_err(|error| {
        Usage(format!(
            "cannot read {error}; files of records are what `fathom run --records FILE` writes"
        ))
        .into()
    })
}

/// What several files hold, in their order; as many are read at once as there are CPUs.
pub(crate) fn read_all(files: &[&Path]) -> Vec<Result<ReadRecords>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let each = files.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let read = |files: &[&Path]| -> Vec<_> { files.iter().map(|file| read(file)).collect() };
        let readers = files
            .chunks(each)
            .map(|files| scope.spawn(move || read(files)))
            .collect::<Vec<_>>();
        let read = readers.into_iter().flat_map(|reader| {
            let done = reader.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        read.collect()
    })
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

/// Where a record stands.
pub(crate) fn place(file: &Path, number: usize) -> String {
    format!("{}, record {number}", file.display())
}

/// The records of each file with their numbers in it, without what a run had kept while it went on
/// where another file has more of that run; each of those is told.
pub(crate) fn counting(files: Vec<(&Path, Vec<Record>)>) -> Vec<Vec<(usize, Record)>> {
    let of_file = |(file, records): &(&Path, Vec<Record>)| -> Vec<String> {
        let numbers = 1..=records.len();
        numbers.map(|number| place(file, number)).collect()
    };
    let places: Vec<String> = files.iter().flat_map(of_file).collect();
    let all = files.iter().flat_map(|(_, records)| records);
    let superseded = record::superseded(all).into_iter();
    let superseded: BTreeMap<usize, usize> = superseded.map(|of| (of.record, of.by)).collect();
    for (record, by) in &superseded {
        say(&format!(
            "warning: {} does not count: {} has more of the same run",
            places[*record], places[*by]
        ));
    }
    let mut index = 0..;
    let mut counts = |_: &(usize, Record)| {
        let place = index.next();
        place.is_none_or(|place| !superseded.contains_key(&place))
    };
    let files = files.into_iter();
    files
        .map(|(_, records)| (1..).zip(records).filter(&mut counts).collect())
        .collect()
}

/// Damaged lines of a file that are told one by one; of a file that holds something else, all are.
const MOST_TOLD: usize = 20;

/// Says on standard error which lines of a file are skipped.
pub(crate) fn tell_damage(file: &Path, read: &ReadRecords) {
    // The last one says whether it was read to its end.
    let first = read.damaged.len().min(MOST_TOLD - 1);
    let (told, rest) = read.damaged.split_at(first);
    let last = rest.last();
    if let 2.. = rest.len() {
        say(&format!(
            "warning: {}: {} damaged lines, of which the first {first} and the last are told",
            file.display(),
            read.damaged.len()
        ));
    }
    for damage in told.iter().chain(last) {
        say(&format!(
            "warning: {}, line {} is skipped: {}",
            file.display(),
            damage.line,
            damage.reason
        ));
    }
}
