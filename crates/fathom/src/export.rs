//! `fathom export`: records as a table for data frames.

use crate::exit::Usage;
use crate::records;
use crate::tell::tell_form;
use crate::typing::typed;
use crate::written::{self, EXPORT, force};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use record::Record;
use report::export::{ExportColumn, csv, export, json_lines};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  fathom export runs.jsonl > runs.csv
  fathom export laptop.jsonl server.jsonl -o both.jsonl
  fathom export --schema > record.schema.json

One row a record and kind of operation, and one of kind `all` for all of them; names of columns end in their units, and an
empty cell is unknown. docs/record.md says what a record holds.";

/// A form of the table, by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Csv,
    JsonLines,
    #[cfg(feature = "parquet")]
    Parquet,
}

pub(crate) fn command() -> Command {
    Command::new("export")
        .about("Writes records as a table, a row a record and kind of operation, for data frames and spreadsheets")
        .after_help(AFTER_HELP)
        .arg(records::argument().required(false).required_unless_present("schema"))
        .arg(
            written::output("FILE", "Write the table there: .csv, .jsonl or, if built with it, .parquet [default: CSV on standard output]"),
        )
        .arg(
            Arg::new("schema")
                .long("schema")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["records", "output"])
                .help("Print the JSON Schema of a line of a file of records"),
        )
        .arg(force())
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    if matches.get_flag("schema") {
        tell_form(&format!("{:#}", record::schema().to_value()))?;
        return Ok(0);
    }
    let inputs: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let Some(file) = matches.get_one::<PathBuf>("output") else {
        tell_form(&csv(&export(&read(&inputs)?, typed)))?;
        return Ok(0);
    };
    let form = form(file)?;
    let paths = inputs.iter().map(|input| input.as_path());
    written::check_is_no_input(file, paths, "one of the records")?;
    let output = OutputFile::new(file, EXPORT).forced(matches.get_flag("force"));
    output.check()?;
    write(&output, form, &export(&read(&inputs)?, typed))?;
    Ok(0)
}

fn read(inputs: &[&PathBuf]) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    for file in inputs {
        let found = records::read(file)?;
        all.push((file.as_path(), records::whole(file, found)?));
    }
    let counting = records::counting(all).into_iter().flatten();
    Ok(counting.map(|(_, record)| record).collect())
}

fn write(output: &OutputFile, form: Form, table: &[ExportColumn]) -> Result<()> {
    match form {
        Form::Csv => written::write(output, &csv(table)),
        Form::JsonLines => written::write(output, &json_lines(table)),
        #[cfg(feature = "parquet")]
        Form::Parquet => Ok(report::export::parquet(table, output.open()?)?),
    }
}

fn form(file: &Path) -> Result<Form> {
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(Form::Csv),
        Some("jsonl" | "ndjson") => Ok(Form::JsonLines),
        #[cfg(feature = "parquet")]
        Some("parquet") => Ok(Form::Parquet),
        #[cfg(not(feature = "parquet"))]
        Some("parquet") => Err(Usage(format!(
            "{}: this build writes no Parquet; `cargo build --release --features parquet` makes one that does",
            file.display()
        ))
        .into()),
        Some(_) | None => Err(Usage(format!(
            "{}: the ending says the form: .csv, .jsonl or .parquet",
            file.display()
        ))
        .into()),
    }
}
