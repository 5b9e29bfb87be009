//! `fathom serve share`: a file share.

use super::{
    duration, duration_or_zero, file, listen, log, misbehaviour, now_ms, of_house, say, switch,
    text, threads, tls, value, wrong,
};
use crate::exit::Usage;
use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use share::{
    JournalMode, OPERATION_KINDS, Serving, Settled, ShareLayout, ShareOptions, ShareStore,
    Synchronous,
};
use std::path::PathBuf;
use std::sync::Arc;
use units::Bytes;

const AFTER_HELP: &str = "\
Secret: PS_SHARED_SECRET, or --secret-file; who knows it may do everything. PS_BEHIND_PROXY is --behind-proxy

Layouts: file-per-share keeps each upload in a SQLite file of its own in FILE.shares and their index in FILE; one-database
keeps all in FILE. A database keeps the layout and the page size that it was made with; where each upload is a file, the pages
of those that are there stay, and --page-size is of those that come

Pages: / for people; /fathom/health for all; /fathom/metrics, /fathom/profile and /fathom/seen (what was done, by kind, as
JSON) for who is logged in or sends `Authorization: Bearer SECRET`; POST /fathom/misbehave with that header and a SPEC of --misbehave, or
`none`, as its body changes what is done to requests from then on

Examples:
  PS_SHARED_SECRET=s fathom serve share --listen 127.0.0.1:4001 --db /srv/share.db
  curl -c jar -H 'Content-Type: application/json' -d '{\"sharedSecretKey\":\"s\"}' http://127.0.0.1:4001/api/auth
  curl -b jar -F file=@photo.jpg http://127.0.0.1:4001/api/entry

Exit codes: 0 ended by a signal, 1 the store failed, 2 usage";

/// An option of the store that is one of some words.
fn word(name: &'static str, words: &'static [&'static str], help: &'static str) -> Arg {
    value(name, "WORD", help).value_parser(words.to_vec())
}

/// The target's arguments.
pub(super) fn command() -> Command {
    let command = Command::new("share")
        .about("Serves a file share: uploads by browser and curl, kept in SQLite")
        .after_help(AFTER_HELP)
        .arg(value("listen", "ADDR", "Address and port; port 0 takes a free one, which is printed").default_value("127.0.0.1:4001"))
        .arg(file("db", "FILE", "The database; made where there is none").required(true))
        .arg(file("secret-file", "FILE", "The secret is the first line of FILE, instead of PS_SHARED_SECRET"))
        .arg(switch("behind-proxy", "Take the client's address from X-Forwarded-For; also PS_BEHIND_PROXY"))
        .arg(value("reserve", "SIZE", "Bytes of the file system that uploads leave free; 5 % of it if not given, at most 256MiB"))
        .arg(value("keep-deleted", "DURATION", "How long bytes outlive their upload, for a copy of the index that names them").default_value("10m"));
    of_house(with_store(command))
}

/// What an experiment varies.
fn with_store(command: Command) -> Command {
    let switches = share::Switch::WORDS;
    command
        .arg(word("layout", ShareLayout::WORDS, "Where uploads lie").default_value("file-per-share"))
        .arg(value("page-size", "SIZE", "Page of the database that uploads lie in: 4KiB to 64KiB").default_value("64KiB"))
        .arg(value("chunk-size", "SIZE", "About as much of an upload is one row; made to fill its pages").default_value("256KiB"))
        .arg(word("journal", JournalMode::WORDS, "Journal of what uploads are written to; off for a file of its own, wal for one database"))
        .arg(word("synchronous", Synchronous::WORDS, "What is on the disk before an upload is answered").default_value("full"))
        .arg(value("checkpoint", "SIZE", "The write-ahead log is moved into the database at this size").default_value("16MiB"))
        .arg(value("read-batch", "N", "Rows that one query of a download reads; with 0 the kernel sends the files of file-per-share where it can").value_parser(value_parser!(u32).range(0..=1024)).default_value("0"))
        .arg(value("connections", "N", "Connections to the database that read").value_parser(value_parser!(u16).range(1..=256)).default_value("4"))
        .arg(word("stored-size", switches, "Whether the size of an upload is kept, or added up when it is asked for").default_value("on"))
        .arg(word("downloads-index", switches, "Whether the history of downloads has an index").default_value("on"))
}

fn size(matches: &ArgMatches, flag: &str) -> Result<Bytes> {
    Bytes::parse(text(matches, flag)).map_err(|e| wrong(flag, e))
}

fn options(matches: &ArgMatches) -> Result<ShareOptions> {
    let known = "clap knows the words";
    let switch = |flag| share::Switch::parse(text(matches, flag)).expect(known);
    let reserve = matches.contains_id("reserve");
    let options = ShareOptions {
        layout: ShareLayout::parse(text(matches, "layout")).expect(known),
        page_size: size(matches, "page-size")?,
        chunk_size: size(matches, "chunk-size")?,
        journal: JournalMode::parse(text(matches, "journal")),
        synchronous: Synchronous::parse(text(matches, "synchronous")).expect(known),
        checkpoint: size(matches, "checkpoint")?,
        read_batch: *matches.get_one("read-batch").expect("it has a default"),
        connections: usize::from(
            *matches
                .get_one::<u16>("connections")
                .expect("it has a default"),
        ),
        stored_size: switch("stored-size"),
        downloads_index: switch("downloads-index"),
        keep_deleted: duration_or_zero(matches, "keep-deleted")?,
        reserve: reserve.then(|| size(matches, "reserve")).transpose()?,
    };
    options.check().map_err(Usage)?;
    Ok(options)
}

fn secret(matches: &ArgMatches) -> Result<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let path = matches.get_one::<PathBuf>("secret-file").cloned();
    let path = path.or_else(|| variable("PS_SHARED_SECRET_FILE").map(PathBuf::from));
    let secret = match path {
        Some(path) => {
            let text = sys::text_at_most(&path, sys::MOST_OF_A_TEXT)
                .with_context(|| format!("--secret-file: {}", path.display()))?;
            text.lines().next().map(|line| line.trim_end().to_owned())
        }
        None => variable("PS_SHARED_SECRET"),
    };
    match secret.filter(|secret| !secret.trim().is_empty()) {
        Some(secret) => Ok(secret),
        None => Err(Usage(
            "no secret: set PS_SHARED_SECRET, or give --secret-file FILE with one in its first line"
                .to_owned(),
        )
        .into()),
    }
}

/// Runs the target until a signal ends it and returns the exit code.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let options = options(matches)?;
    let path = matches.get_one::<PathBuf>("db").expect("clap requires it");
    let tls = tls(matches);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let serving = Serving {
        listen: listen(matches)?,
        secret: secret(matches)?,
        tls,
        misbehaviour: misbehaviour(matches, &OPERATION_KINDS)?,
        threads: threads(matches),
        now: Arc::new(now_ms),
        log: Arc::new(log),
        idle: duration(matches, "idle")?,
        proxied: matches.get_flag("behind-proxy") || std::env::var_os("PS_BEHIND_PROXY").is_some(),
    };
    // A connection takes a file, and so does each upload that is under way.
    let _whatever_it_is = sys::raise_file_limit();
    let described = options.described();
    share::check_listening(serving.listen, serving.tls.as_ref())?;
    let (store, settled) =
        ShareStore::attach(path, options).with_context(|| format!("--db {}", path.display()))?;
    let found = found(&store, &settled)?;
    let told: Vec<String> = described
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    let told = told.concat();
    let shown = path.display().to_string();
    share::serve(serving, store, move |address| {
        let url = format!("{scheme}://{address}");
        say(&format!(
            "listening on {url}\ndatabase: {shown}{found}\n{told}open {url} in a browser\n"
        ));
    })?;
    Ok(0)
}

/// What was found of the time before, for operators.
fn found(store: &ShareStore, settled: &Settled) -> Result<String> {
    for upload in store.damaged(settled)? {
        log(&format!("the bytes of {upload} are missing"));
    }
    Ok(match (settled.removed, settled.missing.len()) {
        (0, 0) => String::new(),
        (removed, missing) => {
            format!(" (unfinished uploads: {removed} removed, the bytes of {missing} missing)")
        }
    })
}
