//! What a run keeps while it goes on: written by a thread of its own, so that a slow disk holds up
//! nobody who measures.

use crate::exit::Usage;
use crate::flags::is_set;
use crate::run::time;
use crate::tell::say;
use crate::written::RECORDS;
use anyhow::Result;
use clap::{Arg, ArgMatches};
use host::{Context, SnapshotRule};
use record::{Record, Store};
use run::safety::OutputFile;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// The argument for tests, which cannot wait for the usual time: what a process that is killed loses at most.
pub(crate) fn argument() -> Arg {
    Arg::new("save-every")
        .long("save-every")
        .value_name("TIME")
        .default_value("10s")
        .hide(true)
        .help("How often what was measured so far is written to --records")
}

/// Whether a verb keeps what there is while it goes on.
pub(crate) fn is_of(matches: &ArgMatches) -> bool {
    is_set(matches, "save-every")
}

/// The file of records, for what is written there while a run goes on.
pub(crate) struct SnapshotFile {
    output: OutputFile,
    store: Option<Store>,
}

impl SnapshotFile {
    /// `None` where there is to be none, or what it is reads every line, as what reads a pipe does.
    pub(crate) fn of(matches: &ArgMatches, targets: &[PathBuf]) -> Option<Self> {
        let path = matches.get_one::<PathBuf>("records")?;
        if std::fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return None;
        }
        let output = OutputFile::new(path, RECORDS).forced(matches.get_flag("force"));
        Some(Self {
            output: output.apart_from(targets),
            store: None,
        })
    }

    /// Writes what there is so far; what cannot be written is told, and `false`.
    pub(crate) fn keep(&mut self, record: &Record) -> bool {
        let written = match &mut self.store {
            Some(store) => Store::append(store, record).map_err(anyhow::Error::from),
            None => {
                open(&self.output).and_then(|open| Ok(self.store.insert(open).append(record)?))
            }
        };
        if let Err(error) = &written {
            // The record at the end says whether it can be kept; the run goes on.
            say(&format!(
                "warning: what was measured so far is not kept: {}",
                crate::exit::told(error)
            ));
        }
        written.is_ok()
    }
}

/// The thread that writes.
struct Keeper {
    rule: SnapshotRule,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Begins to write to the file of records, where there is one to be and it is a file.
    fn begin(
        matches: &ArgMatches,
        targets: &[PathBuf],
        one: Option<BTreeMap<String, String>>,
    ) -> Result<Option<Self>> {
        let Some(mut file) = SnapshotFile::of(matches, targets) else {
            return Ok(None);
        };
        let every_ns = every_ns(matches)?;
        let (to, receive) = channel();
        let rule = SnapshotRule::new(every_ns, to);
        let rule = match one {
            Some(asked) => rule.of_one(asked),
            None => rule,
        };
        let thread = std::thread::Builder::new()
            .name("fathom-keeper".into())
            .spawn(move || keep(&mut file, &receive))?;
        Ok(Some(Self { rule, thread }))
    }

    /// Waits until everything that was handed over is written: what comes later takes its place.
    fn end(self) {
        drop(self.rule);
        let _what_it_could_not_write_it_has_told = self.thread.join();
    }
}

/// Does `work`, which hands over what it has so far; where it is `one`, of which there is one record, with
/// what was asked of it.
pub(crate) fn kept<T>(
    matches: &ArgMatches,
    targets: &[PathBuf],
    one: Option<BTreeMap<String, String>>,
    context: &Context,
    work: impl FnOnce(&Context) -> T,
) -> Result<T> {
    let Some(keeper) = Keeper::begin(matches, targets, one)? else {
        return Ok(work(context));
    };
    let telling = Context {
        snapshots: Some(keeper.rule.clone()),
        ..context.clone()
    };
    let done = work(&telling);
    drop(telling);
    keeper.end();
    Ok(done)
}

/// How often, as the command line says.
pub(crate) fn every_ns(matches: &ArgMatches) -> Result<u64> {
    let every_ns = time(matches, "save-every")?.map_or(0, |time| time.0);
    if every_ns < 10_000_000 {
        return Err(Usage("--save-every must be at least 10ms".into()).into());
    }
    Ok(every_ns)
}

fn keep(file: &mut SnapshotFile, receive: &Receiver<Record>) {
    let _all_or_until_it_cannot_be_written = receive.iter().all(|record| file.keep(&record));
}

fn open(output: &OutputFile) -> Result<Store> {
    let file = output.open_to_append()?;
    Ok(Store::on(file, output.path()).with_options(crate::typing::typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_nothing_loses_ten_seconds_at_most() {
        let every = |line: &str| {
            let command = clap::Command::new("run").arg(argument());
            every_ns(&command.get_matches_from(line.split(' ')))
        };
        assert_eq!(every("run").unwrap(), 10_000_000_000);
        assert_eq!(every("run --save-every 2s").unwrap(), 2_000_000_000);
        assert!(every("run --save-every 1ms").is_err());
    }
}
