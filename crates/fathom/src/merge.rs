//! `fathom merge`: what the ranks of a group wrote, as one record.

use crate::exit::Usage;
use crate::records::{argument, counting, place, read_all, tell_damage};
use crate::tell::{say, tell};
use crate::written::{self, RECORDS, RecordFile, force};
use anyhow::Result;
use clap::{ArgMatches, Command};
use record::{Joined, Record, join};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};
use units::on_one_line;

const AFTER_HELP: &str = "\
Examples:
  fathom run /mnt/x --file-distribution per-worker --rank 3/8 --start-at 2026-11-22T18:00:00Z --records part-3.jsonl
  fathom merge part-*.jsonl -o whole.jsonl
  fathom report whole.jsonl

Exit codes: as the run's; 2 where a part is of something else or given twice, 5 where a rank is missing. What belongs
together is joined all the same, as an incomplete record.";

pub(crate) fn command() -> Command {
    Command::new("merge")
        .about("Joins the records of ranks that did one workload together")
        .after_help(AFTER_HELP)
        .arg(argument())
        .arg(written::output("FILE.jsonl", "Append the record there").required(true))
        .arg(force())
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let inputs: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let Some(output) = matches.get_one::<PathBuf>("output") else {
        return Err(Usage("-o FILE.jsonl names the file of the joined record".into()).into());
    };
    let paths = || inputs.iter().map(|path| path.as_path());
    written::check_is_no_input(output, paths(), "one of the parts")?;
    let form = OutputFile::new(output, RECORDS).forced(matches.get_flag("force"));
    let store = RecordFile::checked(form)?;
    let mut read_of = Vec::new();
    let mut is_damaged = false;
    let files: Vec<&Path> = paths().collect();
    for (path, read) in files.iter().copied().zip(read_all(&files)) {
        let read = read?;
        tell_damage(path, &read);
        is_damaged |= !read.damaged.is_empty() || read.records.is_empty();
        if read.records.is_empty() {
            say(&format!("warning: {} holds no records", path.display()));
        }
        read_of.push((path, read.records));
    }
    let parts: Vec<(String, Record)> = paths()
        .zip(counting(read_of))
        .flat_map(|(path, records)| placed(path, records))
        .collect();
    let Joined { record, faults } = join(parts);
    faults
        .iter()
        .for_each(|fault| say(&format!("warning: {}", on_one_line(&fault.to_string()))));
    let faulty = faults.iter().map(record::PartFault::exit_code);
    // What is wrong with the command is said before what is missing.
    let faulty = faulty.min();
    let Some(record) = record else {
        return Err(Usage("no two of these records are parts of one trial".into()).into());
    };
    store.append(&record)?;
    let findings = analyze::self_check(&record);
    let options = report::TerminalOptions::default();
    tell(&report::terminal(&record, &findings, &options))?;
    let unread = is_damaged.then_some(5);
    Ok(faulty.or(unread).unwrap_or(record.outcome.exit_code))
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
