//! `fathom import`: results of other tools as records.

use crate::exit::Usage;
use crate::run::path;
use crate::tell::tell;
use crate::written::{self, RECORDS, RecordFile, force};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use import::{Format, import, import_as};
use record::Record;
use run::safety::OutputFile;
use std::path::PathBuf;

pub(crate) fn command() -> Command {
    let formats = Format::ALL
        .iter()
        .map(|format| format.name())
        .collect::<Vec<_>>()
        .join(", ");
    Command::new("import")
        .about("Turns results of fio, k6, warp, IOPulse, hyperfine and elbencho into records; what they lack stays unknown")
        .arg(
            Arg::new("file")
                .required(true)
                .num_args(1..)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Results of another tool"),
        )
        .arg(Arg::new("format").long("format").value_name("NAME").help(format!("Instead of recognising it: {formats}")))
        .arg(
            Arg::new("repeats")
                .long("repeats")
                .action(ArgAction::SetTrue)
                .help("The files are repetitions of the same work, in this order; else each file is a thing of its own"),
        )
        .arg(path("records", "FILE.jsonl", "Append the records there instead of printing them"))
        .arg(force())
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let format = matches
        .get_one::<String>("format")
        .map(|name| {
            name.parse::<Format>()
                .map_err(|e| Usage(format!("--format: {e}")))
        })
        .transpose()?;
    let mut records: Vec<Record> = Vec::new();
    for file in matches.get_many::<PathBuf>("file").into_iter().flatten() {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|e| Usage(format!("cannot read {name}: {e}")))?;
        let found = match format {
            Some(format) => import_as(format, &bytes, &name),
            None => import(&bytes, &name),
        };
        records.extend(found.map_err(|e| Usage(e.to_string()))?);
    }
    if matches.get_flag("repeats") {
        import::declare_repetitions(&mut records);
    }
    match matches.get_one::<PathBuf>("records") {
        Some(file) => {
            let inputs = matches
                .get_many::<PathBuf>("file")
                .into_iter()
                .flatten()
                .map(PathBuf::as_path);
            written::check_is_no_input(file, inputs, "one of the files that are imported")?;
            let store = RecordFile::checked(
                OutputFile::new(file, RECORDS).forced(matches.get_flag("force")),
            )?;
            records.iter().try_for_each(|record| store.append(record))?;
        }
        None => tell(
            &records
                .iter()
                .map(serde_json::to_string)
                .collect::<Result<Vec<_>, _>>()?
                .join("\n"),
        )?,
    }
    Ok(0)
}
