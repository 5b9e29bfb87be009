//! `fathom serve`: the reference targets.

mod block;
mod s3;
mod share;

use crate::exit::Usage;
use crate::tell::say as log;
use ::s3::{Buckets, Misbehaviour, TlsFiles, Vocabulary};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};
use units::Nanos;

/// The verb's arguments.
pub(crate) fn command() -> Command {
    Command::new("serve")
        .about("Serves a reference target: storage that people measure against, with a known truth")
        .after_help("Examples:\n  fathom serve s3 --memory\n  PS_SHARED_SECRET=s fathom serve share --db share.db\n  fathom serve block --front nbd --unix /tmp/disk.sock --size 1g")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(s3::command())
        .subcommand(share::command())
        .subcommand(block::command())
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    match matches.subcommand() {
        Some(("s3", matches)) => s3::run(matches),
        Some(("share", matches)) => share::run(matches),
        Some(("block", matches)) => block::run(matches),
        Some(_) | None => unreachable!("clap requires one of the subcommands above"),
    }
}

fn value(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help)
}

fn file(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    value(name, shown, help).value_parser(value_parser!(PathBuf))
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// As whom a target shows itself.
fn of_tls(command: Command) -> Command {
    command
        .arg(file("tls-cert", "FILE", "Certificate chain as PEM: serve TLS").requires("tls-key"))
        .arg(file("tls-key", "FILE", "Key of the certificate as PEM").requires("tls-cert"))
}

/// What every target over HTTP has.
fn of_house(command: Command) -> Command {
    of_tls(command)
        .arg(value("misbehave", "SPEC", "Latency, limits and faults, such as latency=5ms,get.errors=1%:503,truncate=0.1%,seed=7"))
        .arg(value("threads", "N", "Threads that serve; one for each CPU if not given").value_parser(value_parser!(u16).range(1..=1024)))
        .arg(value("idle", "DURATION", "How long a head, and each 16 KiB of a body or an answer, may be waited for").default_value("60s"))
}

fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches
        .get_one::<String>(name)
        .map(String::as_str)
        .unwrap_or_default()
}

/// A mistake in one flag.
fn wrong(flag: &str, why: impl std::fmt::Display) -> anyhow::Error {
    Usage(format!("--{flag}: {why}")).into()
}

fn duration_or_zero(matches: &ArgMatches, flag: &str) -> Result<Duration> {
    Nanos::parse(text(matches, flag))
        .map(|Nanos(nanos)| Duration::from_nanos(nanos))
        .map_err(|e| wrong(flag, e))
}

fn duration(matches: &ArgMatches, flag: &str) -> Result<Duration> {
    let duration = duration_or_zero(matches, flag)?;
    if duration.is_zero() {
        Err(wrong(flag, "0 is too short"))
    } else {
        Ok(duration)
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = sys::clock::wall_time()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Tells whoever started the server something in one piece: who reads the address may read no
/// further.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _nobody_reads_a_closed_terminal = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn listen(matches: &ArgMatches) -> Result<SocketAddr> {
    text(matches, "listen")
        .parse()
        .map_err(|e| wrong("listen", format!("{e}; write for example 127.0.0.1:9000")))
}

fn tls(matches: &ArgMatches) -> Option<TlsFiles> {
    let certificate = matches.get_one::<PathBuf>("tls-cert")?.clone();
    let key = matches.get_one::<PathBuf>("tls-key")?.clone();
    Some(TlsFiles {
        certificate,
        key,
        clients: None,
    })
}

fn misbehaviour(matches: &ArgMatches, kinds: &[&'static str]) -> Result<Option<Misbehaviour>> {
    matches
        .get_one::<String>("misbehave")
        .map(|spec| {
            let vocabulary = Vocabulary::http(kinds).with_histograms(histogram);
            Misbehaviour::parse(spec, &vocabulary).map_err(|e| wrong("misbehave", e))
        })
        .transpose()
}

/// The latencies of one kind of operation in the first record of a file: `FILE`, or `FILE#KIND`.
fn histogram(name: &str) -> Result<Buckets, String> {
    let (path, kind) = match name.rsplit_once('#') {
        Some((path, kind)) => (path, Some(kind)),
        None => (name, None),
    };
    let told = |why: &dyn std::fmt::Display| format!("{path}: {why}");
    let read = record::read_records(path.as_ref()).map_err(|e| e.to_string())?;
    let Some(record) = read.records.first() else {
        return Err(told(&match read.damaged.first() {
            Some(damage) => format!("line {}: {}", damage.line, damage.reason),
            None => "it holds no records".into(),
        }));
    };
    let measurements = &record.operations;
    let operations = match kind {
        Some(kind) => measurements.kind(kind),
        None => measurements
            .kinds()
            .next()
            .map(|(_, operations)| operations),
    };
    let Some(operations) = operations else {
        let kinds: Vec<&str> = measurements.kinds().map(|(kind, _)| kind).collect();
        return Err(told(&format!("it has only {}", kinds.join(", "))));
    };
    Ok(operations.latency.buckets().collect())
}

fn threads(matches: &ArgMatches) -> Option<usize> {
    let threads = matches.get_one::<u16>("threads")?;
    Some(usize::from(*threads))
}
