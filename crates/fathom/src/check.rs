//! `fathom check`: whether a page follows from the records in it.

use crate::exit::Usage;
use crate::run::path;
use crate::tell::{layout, tell};
use crate::written::{RECORDS, RecordFile, force};
use analyze::Severity;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use lab::Kept;
use report::{Page, PageCheck, PageDifferences, PageSource, check_page};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};

/// The page does not follow from its records.
const DIFFERS: i32 = 3;
/// Nobody can say it here.
const UNKNOWN: i32 = 4;

const AFTER_HELP: &str = "\
Examples:
  fathom check page.html
  fathom check page.html --records taken-out.jsonl

`fathom report RECORDS -o page.html` puts the records into the page. The check takes them out, audits them, makes the page again and
compares it byte by byte. It finds what was changed in the page or in its records alone; it is no signature: whoever invents
records and makes a page of them has a page that is whole.

Exit codes: 0 the page follows from its records; 1 it cannot be read; 2 usage; 3 it does not follow, or holds no whole records;
4 another version made it";

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
pub(crate) fn version() -> String {
    match option_env!("FATHOM_COMMIT") {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
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
    let text = std::fs::read_to_string(file)
        .map_err(|e| Usage(format!("cannot read {}: {e}", file.display())))?;
    let found = check_page(&text, &version());
    let (PageCheck::Whole(source)
    | PageCheck::OtherVersion(source)
    | PageCheck::Differs(source, _)) = &found
    else {
        tell(&said(file, &found, matches))?;
        return Ok(DIFFERS);
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
    Ok(match found {
        PageCheck::Whole(_) => 0,
        PageCheck::Differs(..) | PageCheck::Unreadable(_) => DIFFERS,
        PageCheck::OtherVersion(_) => UNKNOWN,
    })
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
                "error: {name} does not follow from its {}: {} differ",
                records(source),
                places(differences.count)
            );
            page.wrapped("", 2, &text);
            told(&mut page, differences);
            audited(&mut page, source);
        }
        PageCheck::OtherVersion(source) => {
            let text = format!(
                "{name} was made by fathom {}, and this is {}: only that one can say whether the page follows from its {}, which are whole; `--records FILE` takes them out",
                source.version,
                version(),
                records(source)
            );
            page.wrapped("", 2, &text);
            audited(&mut page, source);
        }
        PageCheck::Unreadable(why) => page.wrapped("", 2, &format!("error: {name}: {why}")),
    }
    page.finish()
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
