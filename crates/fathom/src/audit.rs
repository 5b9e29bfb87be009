//! `fathom audit`: what records say against themselves and against each other.

use crate::records;
use crate::run::switch;
use crate::tell::{layout, tell, tell_form};
use analyze::{Finding, Located, Severity};
use anyhow::Result;
use clap::{ArgMatches, Command};
use record::{Record, read_records};
use report::{Page, TextLayout};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  fathom audit records.jsonl
  fathom audit *.jsonl --json

Exit codes: 0 nothing is invalid; 1 a file could not be read; 2 usage; 4 a record is invalid";

/// So many records may say the same before it is said once for all.
const MOST_ALIKE: usize = 3;
/// The measurement is invalid.
const INVALID: i32 = 4;

pub(crate) fn command() -> Command {
    Command::new("audit")
        .about("Says what is wrong with records, alone and together")
        .after_help(AFTER_HELP)
        .arg(records::argument())
        .arg(switch(
            "all",
            "Every finding, also where many records have the same",
        ))
        .arg(switch("json", "One JSON array of findings, all of them"))
}

/// Runs the verb: 4 if anything is invalid.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let files: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let mut records: Vec<Record> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for file in files {
        let read = records::whole(file, read_records(file)?)?;
        places.extend((1..=read.len()).map(|number| place(file, number)));
        records.extend(read);
    }
    let found = analyze::audit(&records);
    let shows_all = matches.get_flag("all");
    if matches.get_flag("json") {
        tell_form(&json(&found, &records, &places)?)?;
    } else {
        let layout = layout(matches);
        tell(&text(&found, &records, &places, shows_all, layout))?;
    }
    let is_invalid = found
        .iter()
        .any(|located| located.finding.severity == Severity::Invalid);
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

/// What many records say once, unless every finding is asked for; then findings about several
/// records, then those of each record in order.
fn text(
    found: &[Located],
    records: &[Record],
    places: &[String],
    shows_all: bool,
    layout: TextLayout,
) -> String {
    let mut page = Page::new(layout);
    let repeated: Vec<(Severity, &str)> = if shows_all {
        Vec::new()
    } else {
        repeated(found)
    };
    let is_repeated = |located: &&Located| repeated.contains(&key(located));
    for kind in &repeated {
        let of: Vec<&Located> = found
            .iter()
            .filter(|located| key(located) == *kind)
            .collect();
        let share = format!(
            " ({} of {} records, so or alike; --all shows each)",
            with_record(&of),
            records.len()
        );
        of.iter()
            .take(1)
            .for_each(|located| show(&mut page, "", &located.finding, &share));
    }
    page.gap();
    for group in std::iter::once(None).chain((0..records.len()).map(Some)) {
        let findings: Vec<&Located> = found
            .iter()
            .filter(|located| located.record == group && !is_repeated(located))
            .collect();
        if findings.is_empty() {
            continue;
        }
        page.line(&match group {
            None => format!("{} records together", records.len()),
            Some(index) if records[index].name.is_empty() => places[index].clone(),
            Some(index) => format!("{} ({})", records[index].name, places[index]),
        });
        findings
            .iter()
            .for_each(|located| show(&mut page, "  ", &located.finding, ""));
        page.gap();
    }
    page.line(&closing(found, records.len()));
    page.finish()
}

fn show(page: &mut Page, margin: &str, finding: &Finding, end: &str) {
    let indent = margin.len();
    page.wrapped(
        margin,
        indent + 2,
        &format!(
            "{}[{}]: {}{end}",
            finding.severity, finding.rule, finding.message
        ),
    );
    page.wrapped(
        &format!("{margin}  "),
        indent + 8,
        &format!("help: {}", finding.advice),
    );
}

fn key(located: &Located) -> (Severity, &'static str) {
    (located.finding.severity, located.finding.rule)
}

fn with_record(found: &[&Located]) -> usize {
    found
        .iter()
        .filter_map(|located| located.record)
        .collect::<BTreeSet<usize>>()
        .len()
}

/// What more records than can be read one by one say, the gravest first.
fn repeated(found: &[Located]) -> Vec<(Severity, &'static str)> {
    let keys: BTreeSet<(Severity, &'static str)> = found.iter().map(key).collect();
    let records = |kind: &(Severity, &str)| {
        with_record(
            &found
                .iter()
                .filter(|located| key(located) == *kind)
                .collect::<Vec<_>>(),
        )
    };
    keys.into_iter()
        .filter(|kind| records(kind) > MOST_ALIKE)
        .collect()
}

fn closing(found: &[Located], records: usize) -> String {
    let count = |severity| {
        found
            .iter()
            .filter(|located| located.finding.severity == severity)
            .count()
    };
    let counts: Vec<String> = [Severity::Invalid, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, count(severity)))
        .map(|(severity, n)| format!("{n} {severity}"))
        .collect();
    format!(
        "{records} record{}: {}; `fathom explain RULE` says more",
        if records == 1 { "" } else { "s" },
        counts.join(", ")
    )
}
