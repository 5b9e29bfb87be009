//! What the sections of a plan file say, once everything is filled in.

use super::Wrong;
use super::node::{NodeValue, PlanNode};
use super::reading::NodeTable;
use std::collections::BTreeMap;

/// A git ref and how it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSpec {
    pub repository: String,
    pub git_ref: String,
    pub command: Vec<String>,
    /// Inside the clone.
    pub directory: String,
    pub env: BTreeMap<String, String>,
    pub within_ns: u64,
    /// Prints what identifies the arm beyond its commit.
    pub identity: Option<Vec<String>>,
}

/// A server around a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub directory: String,
    pub ready: ReadyWhen,
    pub ready_within_ns: u64,
    pub stop_signal: String,
    pub stop_within_ns: u64,
    pub prepare: Option<Vec<String>>,
    pub reset: Reset,
    pub limits: Limits,
}

/// How a server says that it takes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyWhen {
    /// This address answers with this status.
    Http { url: String, status: u16 },
    /// This address takes connections.
    Tcp(String),
    /// It prints a line that matches.
    Line(String),
}

/// What is done after a server has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Its directory goes, as that of every slot.
    Scratch,
    Command(Vec<String>),
}

/// What a server may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    pub memory_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    pub cpus: Option<f64>,
    pub cpu_list: Option<String>,
    pub processes: Option<u64>,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkSpec {
    /// Options of `fathom run`.
    Run {
        target: Option<String>,
        options: BTreeMap<String, String>,
    },
    /// A scenario and options of `fathom load`.
    Load {
        scenario: String,
        target: Option<String>,
        options: BTreeMap<String, String>,
    },
    Command(Box<CommandSpec>),
}

/// A foreign command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandSpec {
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub prepare: Option<Vec<String>>,
    pub cleanup: Option<Vec<String>>,
    pub warmup: u32,
    pub repeat: RepeatFor,
    pub timeout_ns: u64,
    pub exit_codes: Vec<i32>,
    pub input: Option<String>,
    pub read: Vec<StatedValue>,
}

/// How often a command runs in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatFor {
    Times(u32),
    /// Until so much time has gone, and at least once.
    Nanos(u64),
}

/// A number that a command states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedValue {
    /// Empty of an import, which has names of its own.
    pub name: String,
    pub unit: Option<String>,
    pub source: ValueSource,
    /// The file that holds it; `None`: standard output.
    pub file: Option<String>,
    pub is_standard_error: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// The one group of the last match.
    Regex(String),
    /// RFC 6901.
    Pointer(String),
    /// A format of `fathom import`.
    Import(String),
}

pub(super) fn build_spec(node: &PlanNode) -> Result<BuildSpec, Wrong> {
    NodeTable::read(node, "build", |table| {
        let (repository, git_ref) = (table.text("repository")?, table.text("ref")?);
        let command = table.words("command")?;
        let directory = table.text("directory")?.unwrap_or_else(|| ".".into());
        let (env, identity) = (table.pairs("env")?, table.words("identity")?);
        let within_ns = table.some_time("within")?.unwrap_or(1_800_000_000_000);
        Ok(BuildSpec {
            repository: table.needed("repository", repository)?,
            git_ref: table.needed("ref", git_ref)?,
            command: table.needed("command", command)?,
            directory,
            env,
            within_ns,
            identity,
        })
    })
}

const SIGNALS: [&str; 7] = ["TERM", "INT", "QUIT", "HUP", "KILL", "USR1", "USR2"];

pub(super) fn server_spec(node: &PlanNode) -> Result<ServerSpec, Wrong> {
    NodeTable::read(node, "server", |table| {
        let command = table.words("command")?;
        let ready = table.table("ready", readiness)?;
        let stop = table.table("stop", |stop| {
            Ok((stop.one_of("signal", &SIGNALS)?, stop.time("within")?))
        })?;
        let (stop_signal, stop_within_ns) = stop.unwrap_or_default();
        let reset = match table.get("reset").map(PlanNode::as_text) {
            None => Reset::Scratch,
            Some(Some(word)) if word == "scratch" => Reset::Scratch,
            Some(_) => Reset::Command(table.words("reset")?.unwrap_or_default()),
        };
        let (env, prepare) = (table.pairs("env")?, table.words("prepare")?);
        let directory = table.text("directory")?.unwrap_or_default();
        let limits = table.table("limits", limits)?.unwrap_or_default();
        let command = table.needed("command", command)?;
        let (ready, ready_within_ns) = ready.ok_or_else(|| {
            table.wrong(
                "ready",
                "is needed in [server]: { http = URL }, { tcp = \"HOST:PORT\" } or { line = REGEX }",
            )
        })?;
        Ok(ServerSpec {
            command,
            env,
            directory,
            ready,
            ready_within_ns,
            stop_signal: stop_signal.unwrap_or_else(|| "TERM".into()),
            stop_within_ns: stop_within_ns.unwrap_or(10_000_000_000),
            prepare,
            reset,
            limits,
        })
    })
}

/// What says that a server is ready, and within which time.
fn readiness(ready: &NodeTable<'_>) -> Result<(ReadyWhen, u64), Wrong> {
    let within_ns = ready.some_time("within")?.unwrap_or(30_000_000_000);
    let status: Option<u16> = ready.whole("status")?;
    let ways = (ready.text("http")?, ready.text("tcp")?, ready.text("line")?);
    ready.check_known()?;
    let when = match ways {
        (Some(url), None, None) => ReadyWhen::Http {
            url,
            status: status.unwrap_or(200),
        },
        (None, Some(_), None) | (None, None, Some(_)) if status.is_some() => {
            return Err(ready.wrong("status", "belongs to http"));
        }
        (None, Some(address), None) => ReadyWhen::Tcp(address),
        (None, None, Some(line)) => ReadyWhen::Line(line),
        _ => return Err(ready.wrong("http", "ready has one of http, tcp and line")),
    };
    Ok((when, within_ns))
}

fn limits(table: &NodeTable<'_>) -> Result<Limits, Wrong> {
    let cpus: Option<f64> = table.whole("cpus")?;
    if cpus.is_some_and(|cpus| !(cpus > 0.0 && cpus.is_finite())) {
        return Err(table.wrong("cpus", "is a number above 0"));
    }
    let memory_bytes = table.size("memory")?;
    if memory_bytes == Some(0) {
        return Err(table.wrong("memory", "is a size above 0"));
    }
    let processes: Option<u64> = table.whole("processes")?;
    if processes == Some(0) {
        return Err(table.wrong("processes", "is a number above 0"));
    }
    let swap = table.size("swap")?;
    if swap.is_some() && memory_bytes.is_none() {
        return Err(table.wrong("swap", "is a limit beside memory; give both"));
    }
    Ok(Limits {
        memory_bytes,
        swap_bytes: swap,
        cpus,
        cpu_list: table.text("cpu-list")?,
        processes,
    })
}

/// How what is measured is read.
type ReadWork = fn(&NodeTable<'_>) -> Result<WorkSpec, Wrong>;

/// Kinds of what is measured, by the key that each of them alone has.
const KINDS: [(&str, ReadWork); 3] = [
    ("run", run_spec),
    ("load", load_spec),
    ("command", command_spec),
];

pub(super) fn work_spec(node: &PlanNode) -> Result<WorkSpec, Wrong> {
    let nothing = PlanNode {
        line: node.line,
        value: NodeValue::Table(Vec::new()),
    };
    let of_any = NodeTable::of(node, "workload");
    let mut given = Vec::new();
    for (kind, read) in KINDS {
        let keys = NodeTable::of(&nothing, "workload");
        let _absent = read(&keys);
        of_any.also(&keys);
        let table = NodeTable::of(node, "workload");
        if node.get(kind).is_some() {
            given.push((kind, read(&table)?, table.stranger()));
        }
    }
    of_any.check_known()?;
    match (given.pop(), given.is_empty()) {
        (Some((_, spec, None)), true) => Ok(spec),
        (Some((kind, _, Some((key, line)))), true) => Err(Wrong::new(
            line,
            format!("{key}: does not belong to {kind}"),
        )),
        _ => Err(Wrong::new(
            node.line,
            "[workload] has one of run, load and command",
        )),
    }
}

fn run_spec(table: &NodeTable<'_>) -> Result<WorkSpec, Wrong> {
    Ok(WorkSpec::Run {
        target: table.text("target")?,
        options: table.pairs("run")?,
    })
}

fn load_spec(table: &NodeTable<'_>) -> Result<WorkSpec, Wrong> {
    let header = table.get("set").and_then(|set| set.get("header"));
    if header.is_some_and(|header| header.items().is_some()) {
        // A comma, by which lists are joined, is part of many headers.
        return Err(table.wrong("set", "header is a text; of several each is a line of it"));
    }
    Ok(WorkSpec::Load {
        scenario: table.text("load")?.unwrap_or_default(),
        target: table.text("target")?,
        options: table.pairs("set")?,
    })
}

fn command_spec(table: &NodeTable<'_>) -> Result<WorkSpec, Wrong> {
    let repeat = match (table.whole("repeat")?, table.some_time("for")?) {
        (Some(_), Some(_)) => {
            return Err(table.wrong(
                "for",
                "and repeat both say how often it runs; give one of them",
            ));
        }
        (Some(0), None) => return Err(table.wrong("repeat", "is a number above 0")),
        (times, None) => RepeatFor::Times(times.unwrap_or(1)),
        (None, Some(ns)) => RepeatFor::Nanos(ns),
    };
    let codes = table
        .texts("exit-codes")?
        .unwrap_or_else(|| vec!["0".into()]);
    let codes: Result<Vec<i32>, _> = codes.iter().map(|code| code.parse()).collect();
    let read = table.tables("read", stated)?;
    let mut names: Vec<&str> = read.iter().map(|value| value.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(table.wrong("read", format!("two values have the name {:?}", twice[0])));
    }
    // Words are made of a text before it is read here.
    table.switch("shell")?;
    Ok(WorkSpec::Command(Box::new(CommandSpec {
        command: table.words("command")?.unwrap_or_default(),
        env: table.pairs("env")?,
        prepare: table.words("prepare")?,
        cleanup: table.words("cleanup")?,
        warmup: table.whole("warmup")?.unwrap_or(1),
        repeat,
        timeout_ns: table.some_time("timeout")?.unwrap_or(600_000_000_000),
        exit_codes: codes
            .map_err(|_no_number| table.wrong("exit-codes", "is a list of numbers"))?,
        input: table.text("input")?,
        read,
    })))
}

fn stated(table: &NodeTable<'_>) -> Result<StatedValue, Wrong> {
    let sources = [
        table.text("regex")?.map(ValueSource::Regex),
        table.text("json")?.map(ValueSource::Pointer),
        table.text("import")?.map(ValueSource::Import),
    ];
    let (name, unit, file) = (
        table.text("name")?,
        table.text("unit")?,
        table.text("file")?,
    );
    let from = table.one_of("from", &["stdout", "stderr"])?;
    table.check_known()?;
    let mut sources = sources.into_iter().flatten();
    let (Some(source), None) = (sources.next(), sources.next()) else {
        return Err(table.wrong("regex", "read has one of regex, json and import"));
    };
    let is_import = matches!(source, ValueSource::Import(_));
    if name.is_some() == is_import {
        return Err(table.wrong(
            "name",
            if is_import {
                "an import has names of its own"
            } else {
                "is needed"
            },
        ));
    }
    Ok(StatedValue {
        name: name.unwrap_or_default(),
        unit,
        source,
        file,
        is_standard_error: from.as_deref() == Some("stderr"),
    })
}
