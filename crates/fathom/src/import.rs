//! `fathom import`: results of other tools as records.

use crate::exit::Usage;
use crate::run::path;
use crate::tell::tell_form;
use crate::written::{self, RECORDS, RecordFile, force};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use import::{Format, TrialColumns, TrialRoles, import, import_as};
use record::{Preference, Record};
use run::safety::OutputFile;
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub(crate) fn command() -> Command {
    let formats = Format::ALL
        .iter()
        .map(|format| format.name())
        .collect::<Vec<_>>()
        .join(", ");
    Command::new("import")
        .about("Turns results of fio, k6, warp, IOPulse, hyperfine and elbencho into records; what they lack stays unknown")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("file")
                .required(true)
                .num_args(1..)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Results of another tool"),
        )
        .arg(Arg::new("format").long("format").value_name("NAME").help(format!("Instead of recognising it: {formats}; or trials, a CSV of an experiment")))
        .arg(
            Arg::new("repeats")
                .long("repeats")
                .action(ArgAction::SetTrue)
                .help("The files are repetitions of the same work, in this order; else each file is a thing of its own"),
        )
        .args(trial_arguments())
        .arg(path("records", "FILE.jsonl", "Append the records there instead of printing them"))
        .arg(force())
}

const AFTER_HELP: &str = "\
Examples:
  fathom import results.json --records fio.jsonl
  fathom import trials.csv --format trials --columns arm=branch,row=size,block=n,order=i,value=speed --baseline main --unit MB/s --better higher --records t.jsonl
  fathom compare t.jsonl

A table of trials is a CSV with a line of headings; each line is one slot of an experiment. `block` says which slots were
measured beside each other, one of every arm; `order` in which order they ran, of all slots or within each block, from any
number; `start` the time at which each began (2026-01-30T17:08:00Z), which is an order too. Where slots ran in blocks, the
order shows them, and `block` may be left out. A table that says neither, or whose arms ran one after the other, has no
verdict: its order is aliased with the arms. `fathom compare` judges the value by what --better says.";

/// What says how a table of trials is to be read.
const OF_TRIALS: [(&str, &str, &str); 5] = [
    (
        "columns",
        "COLUMNS",
        "Of trials: which columns say what, a list with commas of arm=A, row=B+C, block=D, order=E, value=F, start=G and ok=H:TEXT; arm and value are needed, and for a verdict block and order or start",
    ),
    ("unit", "UNIT", "Of trials: what the values are in"),
    (
        "better",
        "WHICH",
        "Of trials: which values are better, higher or lower",
    ),
    (
        "baseline",
        "ARM",
        "Of trials: what the other arms are compared with",
    ),
    ("control", "ARM", "Of trials: the baseline a second time"),
];

fn trial_arguments() -> Vec<Arg> {
    let argument = |(name, value, help): (&'static str, &'static str, &'static str)| {
        let argument = Arg::new(name).long(name).value_name(value).help(help);
        if name == "better" {
            return argument.value_parser(["higher", "lower"]);
        }
        argument
    };
    OF_TRIALS.map(argument).into()
}

/// A table of another harness as the records of an experiment.
fn trials(matches: &ArgMatches, text: &str, name: &str) -> Result<Vec<Record>> {
    let given = |key: &str| matches.get_one::<String>(key).cloned();
    let needed =
        |key: &str| given(key).ok_or_else(|| Usage(format!("--format trials needs --{key}")));
    let columns =
        TrialColumns::parse(&needed("columns")?).map_err(|e| Usage(format!("--columns: {e}")))?;
    let roles = TrialRoles {
        unit: given("unit"),
        better: match given("better").as_deref() {
            Some("higher") => Preference::Higher,
            Some(_) => Preference::Lower,
            None => Preference::Unsaid,
        },
        baseline: needed("baseline")?,
        control: given("control"),
    };
    Ok(import::trials(text, name, &columns, &roles).map_err(|e| Usage(format!("{name}: {e}")))?)
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let is_of_trials = matches
        .get_one::<String>("format")
        .is_some_and(|format| format == "trials");
    if let Some((key, ..)) = OF_TRIALS
        .iter()
        .find(|(key, ..)| matches.contains_id(key) && !is_of_trials)
    {
        return Err(Usage(format!("--{key} belongs to --format trials")).into());
    }
    let format = matches
        .get_one::<String>("format")
        .filter(|_| !is_of_trials)
        .map(|name| {
            name.parse::<Format>()
                .map_err(|e| Usage(format!("--format: {e}")))
        })
        .transpose()?;
    let mut records: Vec<Record> = Vec::new();
    for file in matches.get_many::<PathBuf>("file").into_iter().flatten() {
        let name = file.display().to_string();
        let bytes = bytes_of(file).map_err(|e| Usage(format!("cannot read {name}: {e}")))?;
        if is_of_trials {
            let text = import::text_of(&bytes, &name).map_err(|e| Usage(e.to_string()))?;
            records.extend(trials(matches, text, &name)?);
            continue;
        }
        let found = match format {
            Some(format) => import_as(format, &bytes, &name),
            None => import(&bytes, &name),
        };
        records.extend(found.map_err(|e| Usage(e.to_string()))?);
    }
    if matches.get_flag("repeats") {
        import::declare_repetitions(&mut records);
    }
    keep(matches, &records)?;
    Ok(0)
}

/// What a file or pipe holds, of one that is too long or never ends so much that it shows.
fn bytes_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let most = units::lossless::to_u64(import::MOST_BYTES).saturating_add(1);
    let mut bytes = Vec::new();
    std::fs::File::open(file)?
        .take(most)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Appends records that were made of files to the file of `--records`, or prints them.
pub(crate) fn keep(matches: &ArgMatches, records: &[Record]) -> Result<()> {
    let Some(file) = matches.get_one::<PathBuf>("records") else {
        let lines = records.iter().map(serde_json::to_string);
        let lines = lines.collect::<Result<Vec<_>, _>>()?.join("\n");
        return tell_form(&report::json_without_commands(&lines));
    };
    let inputs = matches.get_many::<PathBuf>("file").into_iter().flatten();
    let what = "one of the files that are read";
    written::check_is_no_input(file, inputs.map(PathBuf::as_path), what)?;
    let output = OutputFile::new(file, RECORDS).forced(matches.get_flag("force"));
    let store = RecordFile::checked(output)?;
    store.append_all(records)
}
