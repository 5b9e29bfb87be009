//! `fathom audit`: what records say against themselves and against each other.

use crate::gate::{Form, form, output_argument};
use crate::records;
use crate::run::switch;
use crate::tell::{annotate, annotate_argument, layout, tell, tell_form};
use crate::written::{self, AUDIT};
use analyze::{Finding, Located, Severity, is_always};
use anyhow::Result;
use clap::{ArgMatches, Command};
use record::Record;
use report::{AuditAccount, Page, TextLayout};
use run::safety::{OutputFile, check_apart};
use std::collections::BTreeSet;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  fathom audit records.jsonl
  fathom audit *.jsonl --json
  fathom audit records.jsonl --annotate -o summary.md -o junit.xml

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
            "Every finding in full, also what is always so and what many records have",
        ))
        .arg(switch("json", "One JSON array of findings, all of them"))
        .arg(output_argument(
            "Write the findings there: .json, .md or .xml (JUnit); may be repeated",
        ))
        .arg(annotate_argument())
        .arg(written::force())
}

/// Runs the verb: 4 if anything is invalid.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let files: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let outputs = outputs(matches, &files)?;
    let mut read = Vec::new();
    for file in &files {
        read.push((file.as_path(), records::whole(file, records::read(file)?)?));
    }
    let mut records: Vec<Record> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for (file, counting) in files.iter().zip(records::counting(read)) {
        for (number, record) in counting {
            places.push(records::place(file, number));
            records.push(record);
        }
    }
    let found = analyze::audit(&records);
    let account = AuditAccount {
        found: &found,
        records: &records,
        places: &places,
    };
    if matches.get_flag("json") {
        tell_form(&report::audit_json(&account))?;
    } else {
        tell(&text(&account, matches.get_flag("all"), layout(matches)))?;
    }
    if matches.get_flag("annotate") {
        annotate(&report::audit_annotations(&account));
    }
    for (file, form) in &outputs {
        let text = match form {
            Form::Json => report::audit_json(&account),
            Form::Markdown => report::audit_markdown(&account),
            Form::JUnit => report::audit_junit(&account),
        };
        written::write(file, &text)?;
    }
    Ok(if account.is_invalid() { INVALID } else { 0 })
}

/// Where the findings go, each checked: they take no place of anything else.
fn outputs(matches: &ArgMatches, records: &[&PathBuf]) -> Result<Vec<(OutputFile, Form)>> {
    let mut out = Vec::new();
    for file in matches.get_many::<PathBuf>("output").into_iter().flatten() {
        let form = form(file)?;
        let inputs = records.iter().map(|input| input.as_path());
        written::check_is_no_input(file, inputs, "one of the records")?;
        let output = OutputFile::new(file, AUDIT).forced(matches.get_flag("force"));
        output.check()?;
        out.push((output, form));
    }
    check_apart(&out.iter().map(|(file, _)| file.path()).collect::<Vec<_>>())?;
    Ok(out)
}

/// What many records say once, unless every finding is asked for; then findings about several
/// records, then those of each record in order, and what is always so in one line.
fn text(account: &AuditAccount<'_>, shows_all: bool, layout: TextLayout) -> String {
    let AuditAccount {
        records, places, ..
    } = *account;
    let mut page = Page::new(layout);
    let is_folded = |located: &&Located| !shows_all && is_always(&located.finding, located.record);
    let (always, found): (Vec<&Located>, Vec<&Located>) = account.found.iter().partition(is_folded);
    let repeated: Vec<(Severity, &str)> = if shows_all {
        Vec::new()
    } else {
        repeated(&found)
    };
    let is_repeated = |located: &Located| repeated.contains(&key(located));
    for kind in &repeated {
        let of: Vec<&Located> = of_kind(&found, *kind).collect();
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
        let here = found.iter().copied();
        let findings: Vec<&Located> = here
            .filter(|located| located.record == group && !is_repeated(located))
            .collect();
        let ended = group.and_then(|index| analyze::ended_badly(&records[index]));
        if findings.is_empty() && ended.is_none() {
            continue;
        }
        page.line(&match group {
            None => format!("{} records together", records.len()),
            Some(index) if records[index].name.is_empty() => places[index].clone(),
            Some(index) => format!("{} ({})", records[index].name, places[index]),
        });
        if let Some(ended) = ended {
            page.wrapped("  ", 4, &format!("it counts beside no other: {ended}"));
        }
        findings
            .iter()
            .for_each(|located| show(&mut page, "  ", &located.finding, ""));
        page.gap();
    }
    if let Some(line) = as_always(&always, records.len()) {
        page.wrapped("", 2, &line);
        page.gap();
    }
    page.line(&format!(
        "{} record{}: {}; `fathom explain RULE` says more",
        records.len(),
        if records.len() == 1 { "" } else { "s" },
        account.counts()
    ));
    page.finish()
}

/// What holds of this way of measuring and says nothing of these records, once each.
fn as_always(found: &[&Located], records: usize) -> Option<String> {
    let kinds: BTreeSet<(Severity, &str)> = found.iter().map(|located| key(located)).collect();
    let text = |kind| {
        let of: Vec<&Located> = of_kind(found, kind).collect();
        let message = of.first().map_or("", |located| &located.finding.message);
        match with_record(&of) {
            0 | 1 => message.to_owned(),
            n => format!("{message} ({n} of {records} records, so or alike)"),
        }
    };
    let texts: Vec<String> = kinds.into_iter().map(text).collect();
    (!texts.is_empty())
        .then(|| format!("As always: {} (--all shows each in full)", texts.join("; ")))
}

fn of_kind<'f>(found: &[&'f Located], kind: (Severity, &str)) -> impl Iterator<Item = &'f Located> {
    let found = found.iter().copied();
    found.filter(move |located| key(located) == kind)
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
    for fact in &finding.differing {
        page.wrapped(&format!("{margin}  "), indent + 6, &fact.to_string());
    }
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
fn repeated(found: &[&Located]) -> Vec<(Severity, &'static str)> {
    let keys: BTreeSet<(Severity, &'static str)> =
        found.iter().map(|located| key(located)).collect();
    let records = |kind: &(Severity, &str)| with_record(&of_kind(found, *kind).collect::<Vec<_>>());
    keys.into_iter()
        .filter(|kind| records(kind) > MOST_ALIKE)
        .collect()
}
