//! `fathom merge`: what the ranks of a group wrote, as one record.

use crate::exit::Usage;
use crate::records::{argument, counting, place, read_all, tell_damage};
use crate::run::time;
use crate::tell::{say, tell};
use crate::written::{self, RECORDS, RecordFile, force};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use record::{Joined, ReadRecords, Record, USUAL_MAX_SKEW, join};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};
use units::{Bytes, Nanos, on_one_line};

const AFTER_HELP: &str = "\
Examples:
  fathom run /mnt/x --file-distribution per-worker --rank 3/8 --start-at 2026-11-22T18:00:00Z --records part-3.jsonl
  fathom merge part-*.jsonl -o whole.jsonl
  fathom report whole.jsonl

A part that is missing, torn or of something else is named, and what belongs together is joined all the same, as an
incomplete record.

Exit codes: as the run's; 2 a part is of something else or given twice, 4 ranks began further apart than --max-skew, 5 a rank is missing, or a file holds no records or damaged ones";

/// A longer line is no record: what reads them refuses it, and so all of its file.
const LONGEST_RECORD: Bytes = Bytes(256 << 20);
/// Files that are named in one sentence.
const FEW: usize = 4;

pub(crate) fn command() -> Command {
    Command::new("merge")
        .about("Joins the records of ranks that did one workload together")
        .after_help(AFTER_HELP)
        .arg(argument())
        .arg(written::output("FILE.jsonl", "Append the record there").required(true))
        .arg(
            Arg::new("max-skew")
                .long("max-skew")
                .value_name("TIME")
                .help("Ranks that began further apart, each by its own clock, are exit code 4 [default: 10ms]"),
        )
        .arg(force())
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let max_skew = time(matches, "max-skew")?;
    let inputs: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let Some(output) = matches.get_one::<PathBuf>("output") else {
        return Err(Usage("-o FILE.jsonl names the file of the joined record".into()).into());
    };
    let paths: Vec<&Path> = inputs.iter().map(|path| path.as_path()).collect();
    written::check_is_no_input(output, paths.iter().copied(), "one of the parts")?;
    let form = OutputFile::new(output, RECORDS).forced(matches.get_flag("force"));
    let store = RecordFile::checked(form)?;
    let Parts { given, unread } = Parts::read(&paths)?;
    let Joined { record, faults } = join(given);
    faults
        .iter()
        .for_each(|fault| say(&format!("warning: {}", on_one_line(&fault.to_string()))));
    // What is wrong with the command is said before what is missing.
    let faulty = faults.iter().map(record::PartFault::exit_code).min();
    let Some(mut record) = record else {
        return Err(Usage("no two of these records are parts of one trial".into()).into());
    };
    let of_parts = record.group.as_ref().and_then(|group| group.max_skew_ns);
    let most = max_skew.or(of_parts.map(Nanos)).unwrap_or(USUAL_MAX_SKEW);
    record.hold_to_start(most);
    store.append(&record)?;
    let findings = analyze::self_check(&record);
    let options = report::TerminalOptions::default();
    tell(&report::terminal(&record, &findings, &options))?;
    Ok(concluded(&record, faulty, &unread))
}

/// The exit code. Where the record itself is sound and the code is not, the reason is said, for nothing
/// in the record shows it.
fn concluded(record: &Record, faulty: Option<i32>, unread: &[&Path]) -> i32 {
    let of_record = record.outcome.exit_code;
    let (code, why) = match (faulty, unread) {
        (Some(code), _) => (
            code,
            "of what was given some is no part of it, as warned above".to_owned(),
        ),
        (None, []) => return of_record,
        (None, unread) => (
            5,
            format!(
                "not all of {} could be read as records, and nobody knows what is missing there",
                named(unread)
            ),
        ),
    };
    if record.outcome.status.has_done_all() {
        say(&format!(
            "warning: the record is of all {} ranks, and the exit code is {code}: {why}",
            record.group.as_ref().map_or(0, |group| group.size)
        ));
    }
    code
}

/// The first of them, and how many there are beside them.
fn named(files: &[&Path]) -> String {
    let names = files.iter().map(|path| path.display().to_string());
    units::few(&names.collect::<Vec<_>>(), FEW)
}

/// What stands in the files.
struct Parts<'a> {
    /// Each record with where it stands.
    given: Vec<(String, Record)>,
    /// Files that hold no records, or something beside them, or could not be read to their end.
    unread: Vec<&'a Path>,
}

impl<'a> Parts<'a> {
    /// Reads all; what cannot be read of a file is told, and the others count.
    ///
    /// # Errors
    /// A file is not there or may not be read, which is a mistake of whoever named it.
    fn read(paths: &[&'a Path]) -> Result<Self> {
        let (mut read_of, mut unread) = (Vec::new(), Vec::new());
        for (path, read) in paths.iter().copied().zip(read_all(paths)) {
            let read = match read {
                Err(error) => torn(path, error)?,
                Ok(read) if read.records.is_empty() => {
                    tell_damage(path, &read);
                    say(&format!("warning: {} holds no records", path.display()));
                    ReadRecords::default()
                }
                Ok(read) => {
                    tell_damage(path, &read);
                    read
                }
            };
            if read.records.is_empty() || !read.damaged.is_empty() {
                unread.push(path);
            }
            read_of.push((path, read.records));
        }
        let given = paths.iter().zip(counting(read_of));
        let given = given.flat_map(|(path, records)| placed(path, records));
        Ok(Self {
            given: given.collect(),
            unread,
        })
    }
}

/// Tells of a file that was opened and could not be read to its end; none of it counts.
fn torn(path: &Path, error: anyhow::Error) -> Result<ReadRecords> {
    let file = std::fs::metadata(path).ok();
    let file = file.filter(|facts| facts.is_file() && std::fs::File::open(path).is_ok());
    let Some(facts) = file else {
        return Err(error);
    };
    let limit = match facts.len() > LONGEST_RECORD.0 {
        true => format!("; a line may have {LONGEST_RECORD} at most"),
        false => String::new(),
    };
    say(&format!(
        "warning: {}; nothing of it is joined{limit}",
        on_one_line(&error.to_string())
    ));
    Ok(ReadRecords::default())
}

/// Each record with where it stands.
fn placed(path: &Path, records: Vec<(usize, Record)>) -> Vec<(String, Record)> {
    let alone = records.len() == 1;
    let placed = records.into_iter().map(|(number, record)| {
        let place = match alone {
            true => path.display().to_string(),
            false => place(path, number),
        };
        (place, record)
    });
    placed.collect()
}
