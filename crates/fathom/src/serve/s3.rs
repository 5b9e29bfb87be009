//! `fathom serve s3`: an object server.

use super::{
    duration, duration_or_zero, file, listen, log, misbehaviour, now_ms, of_house, say, switch,
    text, threads, tls, value, wrong,
};
use crate::exit::Usage;
use anyhow::{Context as _, Result};
use clap::{ArgMatches, Command};
use s3::{
    Keyring, LogLine, OPERATION_KINDS, ObjectStore, Ownership, ServerOptions, Space,
    StorageOptions, SyncPolicy,
};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use units::{Bytes, Nanos};

const AFTER_HELP: &str = "\
Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are one key that may do everything; `--keys` has several:
  [[key]]
  access = \"reader\"
  secret = \"…\"
  [key.buckets]
  \"logs-*\" = [\"read\", \"list\"]        # or admin = true

Pages: /fathom/health for all; /fathom/metrics, /fathom/profile and /fathom/seen (what was done, by kind, as JSON) for an admin key (SigV4, or `Authorization: Bearer SECRET`);
  POST /fathom/misbehave with that header and a SPEC of --misbehave, or `none`, as its body changes what is done to requests from then on

Examples:
  fathom serve s3 --listen 127.0.0.1:9000 --data /srv/objects
  fathom serve s3 --listen 127.0.0.1:0 --memory --misbehave get.latency=lognormal:5ms:0.5,errors=1%:503
  fathom serve s3 --data /srv/objects --scrub

Exit codes: 0 ended by a signal after all was kept, 1 the store or the scrub failed, 2 usage";

/// The target's arguments.
pub(super) fn command() -> Command {
    let command = Command::new("s3")
        .about("Serves objects as S3 does, from a directory or from memory")
        .after_help(AFTER_HELP)
        .arg(value("listen", "ADDR", "Address and port; port 0 takes a free one, which is printed").default_value("127.0.0.1:9000"))
        .arg(file("data", "DIR", "Where objects are kept").required_unless_present("memory").conflicts_with("memory"))
        .arg(switch("memory", "Keep objects in memory: they end with the server"))
        .arg(value("sync", "POLICY", "When a write is durable: always, interval[=100ms] or never").default_value("always"))
        .arg(
            value(
                "verify-every",
                "DURATION",
                "For how long a block that was compared with its checksum may be sent again without; 0s for none",
            )
            .default_value("5s"),
        )
        .arg(value("reserve", "SIZE", "Bytes of DIR's file system that objects leave free; 5 % of it if not given, at most 256MiB"))
        .arg(file("keys", "FILE", "Keys as TOML, instead of those of the environment"))
        .arg(value("region", "NAME", "The region that buckets are in").default_value("us-east-1"))
        .arg(
            value("log", "WHAT", "What is written to the standard error besides errors: requests, a line for each")
                .value_parser(["requests"]),
        )
        .arg(
            value(
                "object-ownership",
                "NAME",
                "Of buckets that are made without: BucketOwnerEnforced has no access control lists, the others have",
            )
            .value_parser(["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"])
            .default_value("BucketOwnerEnforced"),
        )
        .arg(value("lifecycle-day", "DURATION", "What a day of lifecycle rules is, to try them out").default_value("24h"))
        .arg(switch("scrub", "Read every object against its checksums, print what is corrupt, and end").conflicts_with("memory"));
    of_house(command)
}

fn sync_policy(spec: &str) -> Result<SyncPolicy> {
    match spec.split_once('=').unwrap_or((spec, "")) {
        ("always", "") => Ok(SyncPolicy::Always),
        ("never", "") => Ok(SyncPolicy::Never),
        ("interval", "") => Ok(SyncPolicy::Interval(100)),
        ("interval", span) => {
            let Nanos(nanos) = Nanos::parse(span).map_err(|e| wrong("sync", e))?;
            let ms = nanos / 1_000_000;
            if ms == 0 {
                Err(wrong("sync", "an interval is at least 1ms"))
            } else {
                Ok(SyncPolicy::Interval(ms))
            }
        }
        _ => Err(wrong(
            "sync",
            format!("`{spec}` is none of always, interval, interval=100ms and never"),
        )),
    }
}

fn ownership(name: &str) -> Result<Ownership> {
    Ownership::parse(name).ok_or_else(|| wrong("object-ownership", format!("`{name}` is none")))
}

fn keyring(matches: &ArgMatches) -> Result<Keyring> {
    if let Some(path) = matches.get_one::<PathBuf>("keys") {
        let text = sys::text_at_most(path, sys::MOST_OF_A_TEXT)
            .with_context(|| format!("--keys: {}", path.display()))?;
        return Keyring::parse(&text)
            .map_err(|e| wrong("keys", format!("{}: {e}", path.display())));
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (
        variable("AWS_ACCESS_KEY_ID"),
        variable("AWS_SECRET_ACCESS_KEY"),
    ) {
        (Some(access), Some(secret)) => Keyring::single(&access, &secret)
            .map_err(|e| Usage(format!("AWS_ACCESS_KEY_ID: {e}")).into()),
        _ => Err(Usage(
            "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --keys FILE"
                .to_owned(),
        )
        .into()),
    }
}

fn store(matches: &ArgMatches) -> Result<Arc<dyn ObjectStore>> {
    let mut options = StorageOptions::new(Arc::new(now_ms));
    options.sync = sync_policy(text(matches, "sync"))?;
    options.verify_every = duration_or_zero(matches, "verify-every")?;
    let reserve = matches
        .get_one::<String>("reserve")
        .map(|size| Bytes::parse(size).map_err(|e| wrong("reserve", e)))
        .transpose()?;
    options.reserve = reserve.map(|Bytes(bytes)| bytes);
    match matches.get_one::<PathBuf>("data") {
        Some(dir) => {
            s3::open_disk(dir, options).with_context(|| format!("--data {}", dir.display()))
        }
        None => Ok(s3::open_memory(options)?),
    }
}

/// Runs the target until a signal ends it and returns the exit code.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    if matches.get_flag("scrub") {
        return scrub(&*store(matches)?);
    }
    let tls = tls(matches);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let log: LogLine = Arc::new(log);
    let keyring = keyring(matches)?;
    let keys = keyring.described().join("; ");
    let options = ServerOptions {
        listen: listen(matches)?,
        keyring,
        region: text(matches, "region").to_owned(),
        tls,
        misbehaviour: misbehaviour(matches, &OPERATION_KINDS)?,
        threads: threads(matches),
        clock: Arc::new(now_ms),
        requests: matches.contains_id("log").then(|| Arc::clone(&log)),
        log,
        idle: duration(matches, "idle")?,
        lifecycle_day: duration(matches, "lifecycle-day")?,
        ownership: ownership(text(matches, "object-ownership"))?,
    };
    // A connection takes a file, and 256 objects stay open.
    let _whatever_it_is = sys::raise_file_limit();
    s3::check_listening(options.listen, options.tls.as_ref())?;
    let store = store(matches)?;
    let about = about(matches, &*store, &keys)?;
    let region = text(matches, "region").to_owned();
    s3::serve(options, store, move |address| {
        let url = format!("{scheme}://{address}");
        say(&format!(
            "listening on {url}\n{about}try: AWS_REGION={region} aws --endpoint-url {url} s3 ls\n"
        ));
    })?;
    Ok(0)
}

/// What a newcomer asks first of a server.
fn about(matches: &ArgMatches, store: &dyn ObjectStore, keys: &str) -> Result<String> {
    let kept = match (matches.get_one::<PathBuf>("data"), store.space()?) {
        (Some(dir), Some(Space { free, reserve })) => {
            let refused = if free > reserve {
                ""
            } else {
                ": NO ROOM, objects are refused; see --reserve"
            };
            format!(
                "{}, {} free, of which objects leave {}{refused}",
                dir.display(),
                Bytes(free),
                Bytes(reserve)
            )
        }
        (_, _) => "in memory: it ends with the server".to_owned(),
    };
    let durable = match (
        matches.get_flag("memory"),
        sync_policy(text(matches, "sync"))?,
    ) {
        (true, _) => "none",
        (false, SyncPolicy::Always) => "each write before it is answered (--sync always)",
        (false, SyncPolicy::Interval(_)) => {
            "what was written until the last interval (--sync interval)"
        }
        (false, SyncPolicy::Never) => "when the system likes (--sync never)",
    };
    let region = text(matches, "region");
    Ok(format!(
        "data: {kept}\ndurable: {durable}\nkeys: {keys}\nregion: {region}\n"
    ))
}

fn scrub(store: &dyn ObjectStore) -> Result<i32> {
    let mut out = std::io::stdout();
    let scrubbed = store.scrub(&mut |finding| {
        let version = finding
            .version
            .map_or_else(|| "part".to_owned(), |version| version.to_string());
        let _nobody_reads_a_closed_terminal = writeln!(
            out,
            "corrupt: {}/{} ({version}): {}",
            finding.bucket, finding.key, finding.what
        );
    })?;
    let s3::Scrubbed {
        objects,
        parts,
        bytes,
        corrupt,
    } = scrubbed;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{} and {} with {} read, {corrupt} corrupt",
        units::counted(objects, "object"),
        units::counted(parts, "part"),
        units::Bytes(bytes)
    )?;
    Ok(i32::from(corrupt > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_policies_are_the_three_words() {
        assert_eq!(sync_policy("always").unwrap(), SyncPolicy::Always);
        assert_eq!(sync_policy("never").unwrap(), SyncPolicy::Never);
        assert_eq!(sync_policy("interval").unwrap(), SyncPolicy::Interval(100));
        assert_eq!(
            sync_policy("interval=2s").unwrap(),
            SyncPolicy::Interval(2000)
        );
        for spec in ["", "sometimes", "interval=0", "interval=1us", "always=1s"] {
            assert!(sync_policy(spec).is_err(), "{spec}");
        }
    }
}
