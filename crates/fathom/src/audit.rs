//! `fathom audit`: what records say against themselves and against each other.

use crate::exit::Usage;
use crate::output::tell;
use crate::run::switch;
use analyze::{Finding, Located, Severity};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use record::{Record, read_records};
use std::io::Write;
use std::path::{Path, PathBuf};

const WIDTH: usize = 100;
/// The measurement is invalid.
const INVALID: i32 = 4;

pub(crate) fn command() -> Command {
    Command::new("audit")
        .about("Says what is wrong with records, alone and together")
        .arg(
            Arg::new("records")
                .required(true)
                .value_name("RECORDS")
                .action(ArgAction::Append)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("Files of records, as --records of a run writes them"),
        )
        .arg(switch("json", "One JSON array of findings"))
}

/// Runs the verb: 4 if anything is invalid.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let files: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let mut records: Vec<Record> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for file in files {
        let read = read_records(file)?;
        for damage in &read.damaged {
            let _nobody_reads_a_closed_terminal =
                writeln!(std::io::stderr(), "warning: {}, line {} is skipped: {}", file.display(), damage.line, damage.reason);
        }
        if read.records.is_empty() {
            return Err(Usage(format!("{} holds no records; `fathom run --records FILE` writes them", file.display())).into());
        }
        places.extend((1..=read.records.len()).map(|number| place(file, number)));
        records.extend(read.records);
    }
    let found = analyze::audit(&records);
    tell(&if matches.get_flag("json") { json(&found, &records, &places)? } else { text(&found, &records, &places) })?;
    let is_invalid = found.iter().any(|located| located.finding.severity == Severity::Invalid);
    Ok(if is_invalid { INVALID } else { 0 })
}

fn place(file: &Path, number: usize) -> String {
    format!("{}, record {number}", file.display())
}

fn json(found: &[Located], records: &[Record], places: &[String]) -> Result<String> {
    let entries: Vec<serde_json::Value> = found
        .iter()
        .map(|Located { record, finding }| {
            serde_json::json!({
                "record": record,
                "place": record.map(|index| &places[index]),
                "id": record.map(|index| &records[index].id),
                "rule": finding.rule,
                "severity": finding.severity.to_string(),
                "message": finding.message,
                "advice": finding.advice,
            })
        })
        .collect();
    Ok(serde_json::to_string_pretty(&entries)?)
}

/// Findings about several records first, then those of each record in order.
fn text(found: &[Located], records: &[Record], places: &[String]) -> String {
    let mut out = String::new();
    let groups = std::iter::once(None).chain((0..records.len()).map(Some));
    for group in groups {
        let findings: Vec<&Finding> = found.iter().filter(|located| located.record == group).map(|located| &located.finding).collect();
        if findings.is_empty() {
            continue;
        }
        let heading = match group {
            None => format!("{} records together", records.len()),
            Some(index) if records[index].name.is_empty() => places[index].clone(),
            Some(index) => format!("{} ({})", records[index].name, places[index]),
        };
        out.push_str(&heading);
        out.push('\n');
        for finding in findings {
            wrapped(&mut out, "  ", 4, &format!("{}[{}]: {}", finding.severity, finding.rule, finding.message));
            wrapped(&mut out, "    ", 10, &format!("help: {}", finding.advice));
        }
        out.push('\n');
    }
    out.push_str(&closing(found, records.len()));
    let visible = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    out.chars().map(visible).collect()
}

fn closing(found: &[Located], records: usize) -> String {
    let count = |severity| found.iter().filter(|located| located.finding.severity == severity).count();
    let counts: Vec<String> = [Severity::Invalid, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, count(severity)))
        .map(|(severity, n)| format!("{n} {severity}"))
        .collect();
    format!("{records} record{}: {}; `fathom explain RULE` says more\n", if records == 1 { "" } else { "s" }, counts.join(", "))
}

/// `text` after `start`, broken between words, further lines indented.
fn wrapped(out: &mut String, start: &str, indent: usize, text: &str) {
    let mut line = start.to_owned();
    let mut is_bare = true;
    for word in text.split_whitespace() {
        if !is_bare && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(indent);
            is_bare = true;
        }
        if !is_bare {
            line.push(' ');
        }
        line.push_str(word);
        is_bare = false;
    }
    out.push_str(&line);
    out.push('\n');
}
