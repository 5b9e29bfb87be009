//! `fathom report`: records as one study, for readers and for programs.

use crate::card::{self, CardFiles};
use crate::compare::factors;
use crate::exit::Usage;
use crate::metric::AskedOfRecords;
use crate::records;
use crate::tell::{findings_argument, layout, tell};
use crate::written::{self, STUDY, force};
use ::report::{study_markdown, study_text};
use analyze::{Study, StudyOptions, study};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use record::Record;
use run::safety::{OutputFile, check_apart};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use units::Percent;

const AFTER_HELP: &str = "\
Examples:
  fathom report profile.jsonl
  fathom report laptop.jsonl server.jsonl -o study.html -o study.md
  fathom report experiment.jsonl --baseline main --metric p99 -o study.json
  fathom report profile.jsonl --card card.png

An arm is what the plan of an experiment calls one; records of no plan are an arm a file. A file that exists is written
anew only if it is a report; --force overrides that.";

/// A form of the report, by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    Csv,
    Json,
}

pub(crate) fn command() -> Command {
    Command::new("report")
        .about("Sets records side by side: environments, tables with intervals, verdicts, findings, method")
        .after_help(AFTER_HELP)
        .arg(records::argument())
        .arg(
            written::output("FILE", "Write the report there: .html, .md, .csv or .json; may be repeated [default: text on a terminal, Markdown in a pipe]")
                .action(ArgAction::Append),
        )
        .arg(card::argument())
        .arg(Arg::new("baseline").long("baseline").value_name("NAME").help("The arm that the others are compared with"))
        .args(crate::metric::arguments())
        .arg(Arg::new("margin").long("margin").value_name("P").default_value("5").help("Differences below this many percent do not matter"))
        .arg(
            Arg::new("factor")
                .long("factor")
                .value_name("KEY")
                .action(ArgAction::Append)
                .help("An option that is meant to differ between arms"),
        )
        .arg(findings_argument())
        .arg(force())
}

/// What is written, each where nothing else stands.
fn files(
    matches: &ArgMatches,
    inputs: &[&PathBuf],
    outputs: &[(&PathBuf, Form)],
) -> Result<(Vec<OutputFile>, CardFiles)> {
    let inputs = inputs.iter().map(|input| input.as_path());
    let mut files = Vec::new();
    for (path, _) in outputs {
        written::check_is_no_input(path, inputs.clone(), "one of the records")?;
        files.push(OutputFile::new(path, STUDY).forced(matches.get_flag("force")));
    }
    let cards = CardFiles::new(matches, inputs)?;
    let paths = files.iter().map(OutputFile::path).chain(cards.paths());
    check_apart(&paths.collect::<Vec<_>>())?;
    files.iter().try_for_each(OutputFile::check)?;
    Ok((files, cards))
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let inputs: Vec<&PathBuf> = matches.get_many("records").into_iter().flatten().collect();
    let reports = matches.get_many::<PathBuf>("output").into_iter().flatten();
    let outputs: Vec<(&PathBuf, Form)> = reports
        .map(|file| Ok((file, form(file)?)))
        .collect::<Result<_>>()?;
    let (files, cards) = files(matches, &inputs, &outputs)?;
    let mut options = options(matches)?;
    let records = read(&inputs, &mut options.labels)?;
    let asked = AskedOfRecords {
        metric: options.metric,
        margin: options.margin,
        words: String::new(),
    }
    .or_as_registered(matches, &records)?;
    options.metric = asked.metric;
    options.margin = asked.margin;
    options.question = asked.words;
    check_factors(&options, &records)?;
    let found = study(&records, &options);
    check_baseline(&found, options.baseline.as_deref())?;
    for (file, (_, form)) in files.iter().zip(&outputs) {
        let bytes = match form {
            Form::Html => crate::check::page(&records, &options, file.path())?.into_bytes(),
            Form::Markdown => report::study_markdown(&found).into_bytes(),
            Form::Csv => report::study_csv(&found).into_bytes(),
            Form::Json => (report::study_json(&found) + "\n").into_bytes(),
        };
        crate::written::write_bytes(file, &bytes)?;
    }
    if files.is_empty() && cards.is_empty() {
        // Who reads it on a terminal reads text; a pipe gets a form.
        let is_read = crate::tell::is_on_terminal(&std::io::stdout());
        let text = match is_read {
            true => study_text(&found, layout(matches)),
            false => study_markdown(&found),
        };
        tell(&text)?;
    }
    cards.write(|| found)?;
    Ok(0)
}

fn form(file: &Path) -> Result<Form> {
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("html" | "htm") => Ok(Form::Html),
        Some("md" | "markdown") => Ok(Form::Markdown),
        Some("csv") => Ok(Form::Csv),
        Some("json") => Ok(Form::Json),
        Some(_) | None => Err(Usage(format!(
            "{}: the ending says the form: .html, .md, .csv or .json",
            file.display()
        ))
        .into()),
    }
}

fn options(matches: &ArgMatches) -> Result<StudyOptions> {
    let text = |key: &str| matches.get_one::<String>(key).cloned().unwrap_or_default();
    let metric = crate::metric::named(matches)?;
    let margin = Percent::parse(&text("margin"))
        .map_err(|e| Usage(format!("--margin: {e}")))?
        .0
        / 100.0;
    let factors: BTreeSet<String> = matches
        .get_many::<String>("factor")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    Ok(StudyOptions {
        labels: Vec::new(),
        baseline: matches.get_one::<String>("baseline").cloned(),
        metric,
        margin,
        question: String::new(),
        factors,
    })
}

/// All records, and for each the name of its file.
fn read(files: &[&PathBuf], labels: &mut Vec<String>) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    for file in files {
        let read = records::read(file)?;
        all.push((file.as_path(), records::whole(file, read)?));
    }
    let mut out: Vec<Record> = Vec::new();
    for (label, counting) in labels_of(files).into_iter().zip(records::counting(all)) {
        labels.extend(counting.iter().map(|_| label.clone()));
        out.extend(counting.into_iter().map(|(_, record)| record));
    }
    Ok(out)
}

/// Names of files without directory and ending, as far as that tells them apart.
fn labels_of(files: &[&PathBuf]) -> Vec<String> {
    let short = |file: &Path| {
        file.file_stem().map_or_else(
            || file.display().to_string(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    };
    let shorts: Vec<String> = files.iter().map(|file| short(file)).collect();
    let is_alone = |name: &String| shorts.iter().filter(|other| *other == name).count() == 1;
    files
        .iter()
        .zip(&shorts)
        .map(|(file, name)| {
            if is_alone(name) {
                name.clone()
            } else {
                file.display().to_string()
            }
        })
        .collect()
}

/// Refuses a factor that is no option, or that all records have alike.
fn check_factors(options: &StudyOptions, records: &[Record]) -> Result<()> {
    let all: Vec<&Record> = records.iter().collect();
    let values = |key: &String| {
        all.iter()
            .map(|record| record.effective.get(key))
            .collect::<BTreeSet<_>>()
            .len()
    };
    let targets = all
        .iter()
        .map(|record| {
            record
                .targets
                .iter()
                .map(|target| &target.path)
                .collect::<Vec<_>>()
        })
        .collect::<BTreeSet<_>>();
    let differing = options
        .factors
        .iter()
        .filter(|key| values(key) > 1 || *key == "target" && targets.len() > 1)
        .cloned()
        .collect();
    Ok(factors::check(&options.factors, &differing, &all)?)
}

fn check_baseline(study: &Study, asked: Option<&str>) -> Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    if study.arms.iter().any(|arm| arm.name == asked) {
        return Ok(());
    }
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    Err(Usage(format!(
        "--baseline {asked:?} is none of the arms: {}",
        names.join(", ")
    ))
    .into())
}
