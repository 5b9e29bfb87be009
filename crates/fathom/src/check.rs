//! `fathom check`: whether a page follows from the records in it.

use crate::exit::Usage;
use crate::run::path;
use crate::tell::{layout, say, tell};
use crate::written::{RECORDS, RecordFile, force};
use analyze::{Severity, StudyOptions};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use lab::Kept;
use record::Record;
use report::{Packing, Page, PageCheck, PageDifferences, PageSource, check_page};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};
use units::on_one_line;

/// The page does not follow from its records.
const DIFFERS: i32 = 3;
/// Nobody can say it here.
const UNKNOWN: i32 = 4;
/// No page is longer.
const MOST_BYTES: u64 = 512 << 20;
/// Characters of what a page says of its version.
const MOST_SHOWN: usize = 60;

const AFTER_HELP: &str = "\
Examples:
  fathom check page.html
  fathom check page.html --records taken-out.jsonl

`fathom report RECORDS -o page.html` puts the records into the page. The check takes them out, audits them, makes the page again and
compares it byte by byte. It finds what was changed in the page or in its records alone; it is no signature: whoever invents
records and makes a page of them has a page that is whole.

Exit codes: 0 the page follows from its records; 2 usage, or a file that cannot be read or is no page; 3 it does not
follow, or holds no whole records;
4 another version made it, so that this one cannot say whether it follows";

pub(crate) fn command() -> Command {
    Command::new("check")
        .about("Makes a page again from the records in it, and says what was changed")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("page")
                .required(true)
                .value_name("PAGE.html")
                .value_parser(value_parser!(PathBuf))
                .help("A page of `fathom report` or `profile --report`"),
        )
        .arg(path(
            "records",
            "FILE.jsonl",
            "Append the records of the page there",
        ))
        .arg(force())
}

/// What made a page, or makes it again.
fn version() -> String {
    match option_env!("FATHOM_COMMIT") {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The page of records, to be written to a file; where it cannot hold them, that is told.
pub(crate) fn page(records: &[Record], options: &StudyOptions, file: &Path) -> Result<String> {
    let page = report::page(records, options, &version())?;
    if let Some(why) = page.lacks_records {
        say(&format!(
            "warning: {} lacks the records that it is made of, so that nobody can check it: {why}",
            file.display()
        ));
    }
    Ok(page.html)
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let file = matches.get_one::<PathBuf>("page").expect("it is required");
    let store = matches.get_one::<PathBuf>("records").map(|path| {
        let output = OutputFile::new(path, RECORDS)
            .forced(matches.get_flag("force"))
            .apart_from(std::slice::from_ref(file));
        RecordFile::checked(output)
    });
    let store = store.transpose()?;
    let found = check_page(&text_of(file)?, &version());
    let (PageCheck::Whole(source)
    | PageCheck::OtherVersion(source, _)
    | PageCheck::Differs(source, _)) = &found
    else {
        tell(&said(file, &found, matches))?;
        return Ok(code(&found));
    };
    if let Some(store) = &store {
        source
            .plans
            .iter()
            .try_for_each(|plan| store.keep(Kept::Plan(plan)))?;
        source
            .records
            .iter()
            .try_for_each(|record| store.keep(Kept::Record(record)))?;
    }
    tell(&said(file, &found, matches))?;
    Ok(code(&found))
}

fn code(found: &PageCheck) -> i32 {
    match found {
        PageCheck::Whole(_) => 0,
        PageCheck::Differs(..) | PageCheck::Unreadable(_) => DIFFERS,
        PageCheck::OtherVersion(..) | PageCheck::OtherVersionUnread(..) => UNKNOWN,
    }
}

/// A page as it stands in a file. Errors: it cannot be read, or is no page.
fn text_of(file: &Path) -> Result<String> {
    const PAGES: &str = "a page is what `fathom report RECORDS -o PAGE.html` writes";
    let name = file.display();
    let unread =
        |error: &dyn std::fmt::Display| Usage(format!("cannot read {name}: {error}; {PAGES}"));
    // As it is: a byte order mark in front is a byte that does not follow from the records.
    let bytes = sys::read_at_most(file, MOST_BYTES).map_err(|error| unread(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| unread(&error.utf8_error()))?;
    let mut tags = text
        .match_indices('<')
        .map(|(at, _)| &text.as_bytes()[at..]);
    let begins = |tag: &[u8]| {
        let is = |word: &[u8]| {
            tag.get(..word.len())
                .is_some_and(|of| of.eq_ignore_ascii_case(word))
        };
        is(b"<html") || is(b"<!doctype") || is(b"<body")
    };
    if !tags.any(begins) {
        return Err(Usage(format!("{name} is no page; {PAGES}")).into());
    }
    Ok(text)
}

fn said(file: &Path, found: &PageCheck, matches: &ArgMatches) -> String {
    let mut page = Page::new(layout(matches));
    let name = file.display();
    match found {
        PageCheck::Whole(source) => {
            let text = format!(
                "{name}: every byte follows from its {} (fathom {})",
                records(source),
                source.version
            );
            page.wrapped("", 2, &text);
            audited(&mut page, source);
        }
        PageCheck::Differs(source, differences) => {
            let text = format!(
                "error: {name} does not follow from its {}: {}",
                records(source),
                differ(differences)
            );
            page.wrapped("", 2, &text);
            told(&mut page, differences);
            audited(&mut page, source);
        }
        PageCheck::OtherVersion(source, packing) => {
            page.wrapped(
                "",
                2,
                &of_other_version(&name.to_string(), source, *packing),
            );
            audited(&mut page, source);
        }
        PageCheck::OtherVersionUnread(made_by, why) => {
            let text = format!(
                "error: {name} was made by fathom {}, and this is {}: it says nothing of the page, because {why} as far as it can read them",
                made_by_words(made_by),
                version()
            );
            page.wrapped("", 2, &text);
        }
        PageCheck::Unreadable(why) => page.wrapped("", 2, &format!("error: {name}: {why}")),
    }
    page.finish()
}

/// What was looked at, and what was not.
fn of_other_version(name: &str, source: &PageSource, packing: Packing) -> String {
    let packed = match packing {
        Packing::Same => "they are all that is packed in the page",
        Packing::Other => {
            "they pack to another text than stands in the page, so that somebody may have changed them, or the versions read or pack them differently"
        }
    };
    format!(
        "{name} was made by fathom {}, and this is {}: whether the page follows from its {} is not known here, and only that version can say it. What is known of the records: this version can read them, and {packed}. `--records FILE` takes them out",
        made_by_words(&source.version),
        version(),
        records(source)
    )
}

/// A version as a page says it, who may say anything.
fn made_by_words(version: &str) -> String {
    let line = on_one_line(version);
    match line.chars().count() > MOST_SHOWN {
        true => line.chars().take(MOST_SHOWN).chain(['…']).collect(),
        false => line,
    }
}

fn records(source: &PageSource) -> String {
    match source.records.len() {
        1 => "1 record".to_owned(),
        n => format!("{n} records"),
    }
}

fn places(count: usize) -> String {
    match count {
        1 => "1 place".to_owned(),
        n => format!("{n} places"),
    }
}

fn differ(differences: &PageDifferences) -> String {
    let differ = match differences.count {
        1 => "1 place differs".to_owned(),
        n => format!("{n} places differ"),
    };
    match differences.ends_there {
        true => format!("{differ}, behind which its parts are others and were not compared"),
        false => differ,
    }
}

fn told(page: &mut Page, differences: &PageDifferences) {
    for of in &differences.told {
        let text = format!(
            "{}: the page says {:?}, its records give {:?}",
            of.section, of.page, of.records
        );
        page.wrapped("  ", 4, &text);
    }
    if let more @ 1.. = differences.count.saturating_sub(differences.told.len()) {
        page.line(&format!("  and {} more", places(more)));
    }
}

fn audited(page: &mut Page, source: &PageSource) {
    let found = analyze::audit(&source.records);
    let count = |severity| {
        let of = found.iter().filter(|of| of.finding.severity == severity);
        format!("{} {severity}", of.count())
    };
    let counts = [Severity::Invalid, Severity::Warning, Severity::Note].map(count);
    page.line(&format!("audit of its records: {}", counts.join(", ")));
}
