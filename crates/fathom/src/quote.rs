//! `fathom quote`: published figures as records.

use crate::exit::Usage;
use crate::import::keep;
use crate::run::path;
use crate::written::force;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use import::{quote_csv, quote_toml};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  fathom quote study.csv --records study.jsonl && fathom audit study.jsonl
  fathom quote article.toml | fathom audit /dev/stdin

A CSV has a line of headings, a TOML file [[result]] and [[claim]] tables and, above them, what holds for all. Keys:
  name, or arm and row   what the figure is of
  read.iops, write.p99   a figure by its quantity (count, errors, bytes, iops, throughput, mean, min, max, pN); without a kind, operation says it
  block-size, direct …   an option of `fathom run`; any other circumstance is option.NAME
  cpu, cpus, memory, os, host, target, elapsed, started, note
Numbers are written as published, with their units: 482,000 or 482K, 1974 MB/s, 2.07 us.";

pub(crate) fn command() -> Command {
    Command::new("quote")
        .about("Turns published figures, copied into a table, into records, so that a claim can be audited")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("file")
                .required(true)
                .num_args(1..)
                .value_name("TABLE")
                .value_parser(value_parser!(PathBuf))
                .help("Figures as .csv or .toml"),
        )
        .arg(path("records", "FILE.jsonl", "Append the records there instead of printing them"))
        .arg(force())
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let mut records = Vec::new();
    for file in matches.get_many::<PathBuf>("file").into_iter().flatten() {
        let name = file.display();
        let read = form(file)?;
        let text = sys::text_at_most(file, sys::MOST_OF_A_TEXT)
            .map_err(|e| Usage(format!("cannot read {name}: {e}")))?;
        records.extend(read(&text, &name.to_string()).map_err(|e| Usage(format!("{name}: {e}")))?);
    }
    keep(matches, &records)?;
    Ok(0)
}

type Reader = fn(&str, &str) -> Result<Vec<record::Record>, String>;

fn form(file: &Path) -> Result<Reader> {
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(quote_csv),
        Some("toml") => Ok(quote_toml),
        Some(_) | None => Err(Usage(format!(
            "{}: the ending says the form: .csv or .toml",
            file.display()
        ))
        .into()),
    }
}
