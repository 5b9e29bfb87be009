//! The command line of a load.

use super::keys::{credentials, secret};
use crate::exit::Usage;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::output::Output;
use crate::run::{path, switch};
use crate::target;
use crate::tell::tell;
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use object::{
    Adjustments, HttpVersion, KeyChoice, LoadError, LoadPlan, LoadTarget, ObjectData, ObjectSizes,
    PayloadMode, Scenario, Spacing, Trust, parse_stages,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use units::{Nanos, Rate};

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

Exit codes: 0 ok, 1 the load failed, 2 usage, 3 a threshold missed, 5 incomplete, 129, 130 or 143 stopped by a signal";

/// Flags with a value: name, what it is, and what it does.
const VALUES: [(&str, &str, &str); 23] = [
    (
        "scale",
        "FACTOR",
        "Multiply the length of every stage; users, rates and sleeps stay as they are",
    ),
    (
        "users",
        "N",
        "Most users: the ramp is raised or lowered as a whole. In an open loop, most connections",
    ),
    (
        "duration",
        "TIME",
        "In place of the stages: all users, or the whole rate, from the start, for this time",
    ),
    (
        "stages",
        "STAGES",
        "In place of the scenario's: from nothing to each level in turn, as 30s:50,2m:50,30s:0 (users; in an open loop arrivals a second)",
    ),
    (
        "warmup",
        "TIME",
        "Before the measured time, at the level that the load begins with, at least one user; counted apart [default: 0s]",
    ),
    (
        "rate",
        "RATE",
        "Open loop: so many arrivals a second, whatever the answers do; sleeps are left out",
    ),
    (
        "arrival",
        "SPACING",
        "Of an open loop: poisson or constant [default: poisson]",
    ),
    (
        "think-time",
        "TIME",
        "Sleep after every operation instead of the scenario's sleeps; 0s for none",
    ),
    ("iterations", "N", "End after so many turns of users"),
    (
        "object-size",
        "SIZES",
        "Of what is written, and of objects made before: 4KiB, 1KiB/50:1MiB/50, 4KiB-64KiB, lognormal(64KiB,1.5)",
    ),
    ("seeds", "N", "Objects made before the load"),
    (
        "guest",
        "LINK",
        "Of a file share: the guest link by which `post` puts files up",
    ),
    (
        "keys",
        "LAW",
        "Which of them are read: uniform, zipf or zipf:THETA",
    ),
    (
        "data",
        "KIND",
        "Content of objects: random (incompressible), text or zeros",
    ),
    (
        "payload",
        "MODE",
        "Whether signatures cover bodies: signed or unsigned",
    ),
    ("seed", "N", "Begins every stream of chance [default: 1]"),
    ("threads", "N", "Load threads [default: half of the CPUs]"),
    (
        "timeout",
        "TIME",
        "A request that takes longer has failed [default: 60s]",
    ),
    (
        "retries",
        "N",
        "Tries after a failure that may pass; counted apart [default: 0]",
    ),
    (
        "http2-connections",
        "N",
        "Of --http2: so many connections that users share [default: one a load thread and an endpoint]",
    ),
    (
        "find-knee",
        "THRESHOLD",
        "Raise the rate until this breaks, and report the highest that holds; --rate is the first [default: 100]",
    ),
    (
        "step-duration",
        "TIME",
        "Length of a step of --find-knee [default: 10s]",
    ),
    (
        "most-rate",
        "RATE",
        "Where --find-knee ends at the latest [default: 1M/s]",
    ),
];

const SWITCHES: [(&str, &str); 7] = [
    (
        "verify",
        "Compare every byte that is read with what was written",
    ),
    ("new-connections", "One connection a request"),
    (
        "http2",
        "HTTP/2: users are streams of shared connections; without TLS the server must take it without being asked",
    ),
    ("insecure", "Believe any TLS certificate"),
    ("keep", "Leave what was made"),
    ("no-thresholds", "Leave the scenario's own thresholds out"),
    (
        "dry-run",
        "Check everything, show what would be done, and touch nothing",
    ),
];

/// Names of the options of a load itself.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    let values = VALUES.iter().map(|(name, ..)| *name);
    values.chain(SWITCHES.iter().map(|(name, _)| *name))
}

pub(super) fn is_switch(name: &str) -> bool {
    SWITCHES.iter().any(|(switch, _)| *switch == name)
}

pub(super) fn command() -> Command {
    let command = Command::new("load")
        .about("Loads an object store or HTTP service with virtual users or an arrival rate")
        .after_help(AFTER_HELP)
        .arg(Arg::new("scenario").value_name("SCENARIO").help("A built-in scenario (--list-scenarios) or a TOML file"))
        .arg(
            Arg::new("target")
                .long("target")
                .value_name("URL")
                .help("s3://BUCKET@http://HOST:PORT, several endpoints separated by commas, or http://HOST:PORT/path"),
        )
        .arg(
            Arg::new("threshold")
                .long("threshold")
                .value_name("CONDITION")
                .action(ArgAction::Append)
                .help("get.p95<50ms, errors<1%, put.count>=100, …; a miss is exit code 3"),
        )
        .arg(path("cacert", "FILE.pem", "Believe these certificate authorities too"))
        .arg(switch("list-scenarios", "Show the built-in scenarios"))
        .arg(Arg::new("print-scenario").long("print-scenario").value_name("NAME").help("Print a built-in scenario as TOML"));
    let command = VALUES.iter().fold(command, |command, (name, value, help)| {
        command.arg(
            Arg::new(*name)
                .long(*name)
                .value_name(*value)
                .allow_hyphen_values(true)
                .help(*help),
        )
    });
    let command = SWITCHES.iter().fold(command, |command, (name, help)| {
        command.arg(switch(name, help))
    });
    target::add(Metrics::add(Live::add(Output::add(command))))
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
        tell(text)?;
        return Ok(Some(0));
    }
    Ok(None)
}

/// What was given, by the names of flags.
pub(super) fn asked(matches: &ArgMatches) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for name in ["scenario", "target"]
        .into_iter()
        .chain(target::NAMES)
        .chain(VALUES.iter().map(|(name, ..)| *name))
    {
        if let Some(text) = matches.get_one::<String>(name) {
            out.insert(name.to_owned(), text.clone());
        }
    }
    for (name, _) in SWITCHES
        .iter()
        .filter(|(name, _)| matches.value_source(name) == Some(ValueSource::CommandLine))
    {
        out.insert((*name).to_owned(), "true".to_owned());
    }
    let thresholds: Vec<&str> = matches
        .get_many::<String>("threshold")
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !thresholds.is_empty() {
        out.insert("threshold".into(), thresholds.join(", "));
    }
    out
}

/// The whole plan.
pub(super) fn plan(matches: &ArgMatches) -> Result<LoadPlan, LoadError> {
    let name = matches.get_one::<String>("scenario");
    let name = name.ok_or_else(|| {
        LoadError::Asked(format!(
            "no scenario; name a TOML file or one of {}",
            names()
        ))
    })?;
    let target = matches.get_one::<String>("target");
    let target = target.ok_or_else(|| {
        LoadError::Asked("no --target; example: --target s3://bucket@http://127.0.0.1:9000".into())
    })?;
    let scenario = scenario(name)?.adjusted(&adjustments(matches)?)?;
    let target = LoadTarget::parse(target)?;
    let trust = match (
        matches.get_flag("insecure"),
        matches.get_one::<PathBuf>("cacert"),
    ) {
        (true, Some(_)) => {
            return Err(LoadError::Asked(
                "--insecure believes anybody, --cacert only some; give one of them".into(),
            ));
        }
        (true, None) => Trust::Anybody,
        (false, Some(file)) => Trust::File(file.clone()),
        (false, None) => Trust::Public,
    };
    let cpus =
        std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let threads = number(matches, "threads")?.unwrap_or_else(|| (cpus / 2).max(1));
    let has_counters = target.is_s3() || target.is_share();
    let version = version(matches, &scenario, &target, threads)?;
    Ok(LoadPlan {
        scenario,
        target,
        credentials: credentials()?,
        secret: secret(),
        guest: matches.get_one::<String>("guest").cloned(),
        trust,
        threads,
        timeout_ns: time(matches, "timeout")?.unwrap_or(60_000_000_000),
        retries: number(matches, "retries")?.unwrap_or(0),
        new_connections: matches.get_flag("new-connections"),
        version,
        seed: number(matches, "seed")?.unwrap_or(1),
        keep: matches.get_flag("keep"),
        iterations: number(matches, "iterations")?,
        warmup_ns: time(matches, "warmup")?.unwrap_or(0),
        server_counters: has_counters,
    })
}

fn version(
    matches: &ArgMatches,
    scenario: &Scenario,
    target: &LoadTarget,
    threads: u32,
) -> Result<HttpVersion, LoadError> {
    let connections = number(matches, "http2-connections")?;
    match (matches.get_flag("http2"), connections) {
        (false, None) => Ok(HttpVersion::One),
        (false, Some(_)) => Err(LoadError::Asked(
            "--http2-connections belongs to --http2".into(),
        )),
        (true, connections) => {
            let usual = || {
                threads
                    .max(target.endpoint_count())
                    .min(scenario.most_users())
            };
            Ok(HttpVersion::Two {
                connections: connections.unwrap_or_else(usual),
            })
        }
    }
}

fn scenario(name: &str) -> Result<Scenario, LoadError> {
    if let Some(preset) = Scenario::preset(name) {
        return Ok(preset);
    }
    let is_file = std::path::Path::new(name).extension().is_some() || name.contains('/');
    if !is_file {
        return Err(LoadError::Asked(unknown(name)));
    }
    let text = std::fs::read_to_string(name)
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

fn adjustments(matches: &ArgMatches) -> Result<Adjustments, LoadError> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let word = |name: &str, allowed: &str| {
        LoadError::Asked(format!(
            "--{name} {:?} is not one of {allowed}",
            text(name).unwrap_or_default()
        ))
    };
    let thresholds: Result<Vec<record::Threshold>, LoadError> = matches
        .get_many::<String>("threshold")
        .into_iter()
        .flatten()
        .map(|text| object::threshold(text))
        .collect();
    Ok(Adjustments {
        scale: number(matches, "scale")?,
        users: number(matches, "users")?,
        duration_ns: time(matches, "duration")?,
        stages: text("stages").map(parse_stages).transpose()?,
        rate: rate(matches, "rate")?.filter(|_| text("find-knee").is_none()),
        spacing: spacing(matches)?.filter(|_| text("find-knee").is_none()),
        think_ns: time(matches, "think-time")?,
        sizes: text("object-size").map(ObjectSizes::parse).transpose()?,
        seeds: number(matches, "seeds")?,
        keys: text("keys").map(KeyChoice::parse).transpose()?,
        data: match text("data") {
            None => None,
            Some("random") => Some(ObjectData::Random),
            Some("text") => Some(ObjectData::Text),
            Some("zeros") => Some(ObjectData::Zeros),
            Some(_) => return Err(word("data", "random, text, zeros")),
        },
        payload: match text("payload") {
            None => None,
            Some("signed") => Some(PayloadMode::Signed),
            Some("unsigned") => Some(PayloadMode::Unsigned),
            Some(_) => return Err(word("payload", "signed, unsigned")),
        },
        verify: matches.get_flag("verify"),
        thresholds: thresholds?,
        no_thresholds: matches.get_flag("no-thresholds"),
    })
}

pub(super) fn spacing(matches: &ArgMatches) -> Result<Option<Spacing>, LoadError> {
    match matches.get_one::<String>("arrival").map(String::as_str) {
        None => Ok(None),
        Some("poisson") => Ok(Some(Spacing::Poisson)),
        Some("constant") => Ok(Some(Spacing::Constant)),
        Some(other) => Err(LoadError::Asked(format!(
            "--arrival {other:?} is not one of poisson, constant"
        ))),
    }
}

pub(super) fn number<N: FromStr>(matches: &ArgMatches, name: &str) -> Result<Option<N>, LoadError> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_no_number| {
        LoadError::Asked(format!(
            "--{name} {text:?} is no number that fits; example: --{name} 16"
        ))
    })
}

pub(super) fn time(matches: &ArgMatches, name: &str) -> Result<Option<u64>, LoadError> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    Nanos::parse(text)
        .map(|time| Some(time.0))
        .map_err(|e| LoadError::Asked(format!("--{name}: {e}")))
}

pub(super) fn rate(matches: &ArgMatches, name: &str) -> Result<Option<f64>, LoadError> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    Rate::parse(text)
        .map(|rate| Some(rate.0))
        .map_err(|e| LoadError::Asked(format!("--{name}: {e}")))
}
