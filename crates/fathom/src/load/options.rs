//! The command line of a load.

use super::keys::{credentials, secret};
use crate::exit::Usage;
use crate::output::Output;
use crate::run::switch;
use crate::target;
use crate::tell::{tell, tell_form};
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use object::{AskedLoad, LOAD_OPTIONS, LoadError, LoadKeys, LoadOption, LoadPlan, Scenario};
use std::collections::BTreeMap;

const AFTER_HELP: &str = "\
Examples:
  fathom load upload --target s3://bench@http://127.0.0.1:9000 --scale 0.1
  fathom load get --target s3://bench@http://127.0.0.1:9000 --object-size 128KiB --users 16 --duration 30s
  fathom load mixed --target s3://bench@http://127.0.0.1:9000 --rate 500 --threshold 'get.p99<50ms'
  fathom load get --target s3://bench@http://127.0.0.1:9000 --find-knee 'p99<50ms'
  fathom load fetch --target http://127.0.0.1:8080/index.html --users 8 --duration 10s
  fathom load --print-scenario mixed > mine.toml; fathom load mine.toml --target …

Keys of an S3 target: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION; of a
file share (share+http://HOST:PORT) PS_SHARED_SECRET; they are neither shown nor recorded.
A load makes its bucket and objects where they are missing, and removes at the end what it made.

Exit codes: 0 ok, 1 the load failed, 2 usage, 3 a threshold missed, 4 ranks began further apart than --max-skew, 5 incomplete, 129, 130 or 143 stopped by a signal";

/// Whose an option is where several ranks do the load: what names the target or the whole load is of
/// all of them, what names a generator of each.
const ON_RANKS: [(&str, &str); 12] = [
    ("threshold", "of all ranks together"),
    ("users", "of each rank"),
    (
        "stages",
        "users of each rank, arrivals of all ranks together",
    ),
    ("rate", "of all ranks together"),
    ("think-time", "of each rank"),
    ("iterations", "of all ranks together"),
    ("seeds", "of all ranks together"),
    ("keys", "each rank chooses among its part of them"),
    ("threads", "of each rank"),
    ("http2-connections", "of each rank"),
    ("find-knee", "of all ranks together"),
    ("most-rate", "of all ranks together"),
];

pub(super) fn command() -> Command {
    let command = Command::new("load")
        .about("Loads an object store or HTTP service with virtual users or an arrival rate")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("scenario")
                .value_name("SCENARIO")
                .value_hint(ValueHint::FilePath)
                .help("A built-in scenario (--list-scenarios) or a TOML file"),
        )
        .arg(switch("list-scenarios", "Show the built-in scenarios"))
        .arg(
            Arg::new("print-scenario")
                .long("print-scenario")
                .value_name("NAME")
                .help("Print a built-in scenario as TOML"),
        )
        .args(LOAD_OPTIONS.iter().map(argument))
        .arg(switch(
            "dry-run",
            "Check everything, show what would be done, and touch nothing; with --hosts print the launcher's line",
        ));
    let command = Output::add(command);
    crate::group::add_connected(target::add(crate::live::arguments_with_intervals(command)))
}

/// What help says of an option, before what it is when it is not given.
fn help(option: &LoadOption) -> String {
    let on_ranks = ON_RANKS.iter().find(|(name, _)| *name == option.name);
    let Some((_, whose)) = on_ranks else {
        return option.help.to_owned();
    };
    let usual = option.help.find(" [default").unwrap_or(option.help.len());
    let (what, usual) = option.help.split_at(usual);
    format!("{what}; {whose}{usual}")
}

fn argument(option: &LoadOption) -> Arg {
    let Some(value) = option.value() else {
        return switch(option.name, option.help);
    };
    let arg = Arg::new(option.name)
        .long(option.name)
        .value_name(value)
        .allow_hyphen_values(true)
        .help(help(option));
    match option.is_repeated {
        true => arg.action(ArgAction::Append),
        false => arg,
    }
}

/// What is only shown; the exit code if that was all.
pub(super) fn shown(matches: &ArgMatches) -> Result<Option<i32>> {
    if matches.get_flag("list-scenarios") {
        let lines: Vec<String> = Scenario::presets()
            .map(|(name, about)| format!("{name:<16}{about}"))
            .collect();
        tell(&lines.join("\n"))?;
        return Ok(Some(0));
    }
    if let Some(name) = matches.get_one::<String>("print-scenario") {
        let text = Scenario::preset_text(name).ok_or_else(|| Usage(unknown(name)))?;
        tell_form(text)?;
        return Ok(Some(0));
    }
    Ok(None)
}

/// Options as they were given.
fn given(matches: &ArgMatches) -> impl Iterator<Item = (&'static LoadOption, String)> {
    LOAD_OPTIONS.iter().flat_map(|option| {
        let is_given = matches.value_source(option.name) == Some(ValueSource::CommandLine);
        let texts: Vec<String> = match option.value() {
            None => is_given.then(|| "true".to_owned()).into_iter().collect(),
            Some(_) => {
                let texts = matches.get_many::<String>(option.name);
                texts.into_iter().flatten().cloned().collect()
            }
        };
        texts.into_iter().map(move |text| (option, text))
    })
}

/// What was given, by the names of flags.
pub(super) fn shown_as_asked(matches: &ArgMatches) -> BTreeMap<String, String> {
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for name in ["scenario"].into_iter().chain(target::NAMES) {
        let text = matches.get_one::<String>(name).cloned();
        out.extend(text.map(|text| (name.to_owned(), text)));
    }
    for (option, text) in given(matches) {
        let all = out.entry(option.name.to_owned()).or_default();
        let text = option.recorded(&text);
        *all = match all.is_empty() {
            true => text,
            false => format!("{all}, {text}"),
        };
    }
    out
}

/// What was asked.
pub(super) fn asked(matches: &ArgMatches) -> Result<AskedLoad, LoadError> {
    let mut out = AskedLoad::default();
    given(matches).try_for_each(|(option, text)| option.read(&mut out, &text))?;
    Ok(out)
}

/// The whole plan of what was asked, on a scenario.
pub(super) fn plan(name: Option<&str>, asked: AskedLoad) -> Result<LoadPlan, LoadError> {
    let name = name.ok_or_else(|| {
        LoadError::Asked(format!(
            "no scenario; name a TOML file or one of {}",
            names()
        ))
    })?;
    let keys = LoadKeys {
        credentials: credentials()?,
        secret: secret(),
    };
    let cpus =
        std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    asked.plan(scenario(name)?, keys, (cpus / 2).max(1))
}

/// The same scenario at the same target with nothing else asked.
pub(super) fn usual_plan(matches: &ArgMatches, of: &LoadPlan) -> Result<LoadPlan, LoadError> {
    let name = matches.get_one::<String>("scenario").map(String::as_str);
    let asked = AskedLoad {
        target: Some(of.target.clone()),
        ..AskedLoad::default()
    };
    plan(name, asked)
}

fn scenario(name: &str) -> Result<Scenario, LoadError> {
    if let Some(preset) = Scenario::preset(name) {
        return Ok(preset);
    }
    let is_file = std::path::Path::new(name).extension().is_some() || name.contains('/');
    if !is_file {
        return Err(LoadError::Asked(unknown(name)));
    }
    let text = sys::text_at_most(name.as_ref(), sys::MOST_OF_A_TEXT)
        .map_err(|e| LoadError::Asked(format!("cannot read {name}: {e}")))?;
    Scenario::parse(&text, name)
}

fn unknown(name: &str) -> String {
    format!(
        "{name:?} is no built-in scenario; there are {}, or name a TOML file",
        names()
    )
}

fn names() -> String {
    Scenario::presets()
        .map(|(name, _)| name)
        .collect::<Vec<_>>()
        .join(", ")
}
