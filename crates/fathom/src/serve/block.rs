//! `fathom serve block`: a block device.

mod kept;
mod made;
mod nbd;
mod ublk;

use super::{file, histogram, of_tls, say, switch, text, value, wrong};
use anyhow::{Context as _, Result};
use block::{
    BlockBackend, CrashJournal, CrashStates, DeviceLog, Geometry, JournalFlaw, RoomKeeper,
    ServedDevice, VolatileBackend, control,
};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, value_parser};
use made::MadeFiles;
use std::path::{Path, PathBuf};
use units::{Bytes, counted};

const AFTER_HELP: &str = "\
Examples:
  fathom serve block --front nbd --unix /tmp/disk.sock --size 1g
  fathom run 'nbd+unix:///?socket=/tmp/disk.sock' --random --duration 10s
  fathom serve block --front nbd --tcp 127.0.0.1:10809 --file disk.img
  nbdinfo 'nbd+unix:///?socket=/tmp/disk.sock'

  fathom serve block --size 1g --unix /tmp/disk.sock --misbehave latency=lognormal:5ms:0.5 --control /tmp/disk.control --log disk.log
  fathom serve block --control /tmp/disk.control --tell 'misbehave read.errors=EIO@1MiB+4KiB:until-written'

Exit codes: 0 ended by a signal, 1 the device or its log failed, 2 usage, 5 a journal is cut or damaged";

/// Exit code of a journal of which states may be missing.
const INCOMPLETE: i32 = 5;

/// The target's arguments.
pub(super) fn command() -> Command {
    let command = Command::new("block")
        .about("Serves a block device from memory, a file or nothing")
        .after_help(AFTER_HELP)
        .arg(
            value("front", "HOW", "How the device is reached")
                .value_parser(["nbd", "ublk"])
                .default_value("nbd"),
        )
        .arg(file(
            "unix",
            "SOCKET",
            "A socket of the file system, which is made and removed",
        ))
        .arg(value(
            "tcp",
            "ADDR",
            "An address of the loopback and a port; port 0 takes a free one, which is printed",
        ))
        .arg(
            value(
                "export",
                "NAME",
                "The name of the export; the empty one is known too",
            )
            .default_value(""),
        )
        .arg(value(
            "size",
            "SIZE",
            "Bytes of the device; those of the file if not given",
        ))
        .arg(file(
            "file",
            "FILE",
            "Keep the bytes in FILE, or in another block device; made where there is none",
        ))
        .arg(switch("null", "Keep nothing: reads give zeros").conflicts_with("file"))
        .arg(
            switch("huge-pages", "Ask for huge pages for a device in memory")
                .conflicts_with_all(["file", "null"]),
        )
        .arg(
            value(
                "block-size",
                "SIZE",
                "Offsets and lengths are multiples of it; any are taken over NBD if not given, and 512 by the kernel",
            ),
        )
        .arg(switch("read-only", "Refuse what would change the device"))
        .arg(
            file(
                "tls-client-ca",
                "FILE",
                "Authorities as PEM: refuse clients over TLS that show no certificate of theirs",
            )
            .requires("tls-cert"),
        );
    ublk::arguments(of_truth(of_tls(command)))
}

/// What is done to requests on the way, and what is lost with the power.
fn of_truth(command: Command) -> Command {
    command
        .arg(value("misbehave", "SPEC", "Latency, limits and faults, such as latency=5ms,write.lost=0.1%,seed=7 or read.errors=EIO@1MiB+4KiB"))
        .arg(file("control", "SOCKET", "A socket at which the running device is told: misbehave SPEC, release, crash CHOICE, resize SIZE [discard], seen"))
        .arg(value("tell", "LINE", "Tell the device whose --control is given one such line, print its answer, and end").requires("control"))
        .arg(value("seed", "N", "Decides what lives through crashes of --volatile").value_parser(value_parser!(u64)).default_value("0"))
        .arg(switch("volatile", "Put a cache before the device, of which a crash loses what was not flushed"))
        .arg(file("journal", "FILE", "Write every change of a fresh device in memory down, for --crash-states").requires("volatile").conflicts_with_all(["file", "null", "crash-state"]))
        .arg(file("crash-states", "FILE", "List the states that a loss of power could have left by this journal, and end"))
        .arg(value("crash-state", "N", "Serve such a state of --crash-states in memory").value_parser(value_parser!(u64)).requires("crash-states").conflicts_with_all(["size", "file", "null"]))
        .arg(file("log", "FILE", "Write down every request there: what came when, and what was done to it"))
        .arg(value("log-requests", "N", "Requests that the log has room for; later ones are not written down").value_parser(value_parser!(u64)).default_value("4194304"))
}

/// What only the NBD front knows.
const OF_NBD: [&str; 6] = [
    "unix",
    "tcp",
    "export",
    "tls-cert",
    "tls-key",
    "tls-client-ca",
];

/// The states of a journal that was given.
fn states(matches: &ArgMatches) -> Result<Option<CrashStates>> {
    matches
        .get_one::<PathBuf>("crash-states")
        .map(|path| {
            CrashStates::open(path).with_context(|| format!("--crash-states {}", path.display()))
        })
        .transpose()
}

fn list(states: &CrashStates) -> i32 {
    let listed = states.listed();
    say(&format!(
        "{}\n{}\n",
        listed.join("\n"),
        counted(states.count(), "state")
    ));
    tell_flaw(states)
}

/// Says why states may be missing; the exit code of incomplete results where they may.
fn tell_flaw(states: &CrashStates) -> i32 {
    let Some(flaw) = states.flaw() else {
        return 0;
    };
    say(&format!("notice: {flaw}\n"));
    match flaw {
        // All that a killed server had acknowledged is there.
        JournalFlaw::Unended => 0,
        JournalFlaw::Torn { .. } | JournalFlaw::Damaged { .. } => INCOMPLETE,
    }
}

/// The bytes, with a cache before them if that was asked for.
fn cached(
    matches: &ArgMatches,
    backend: Box<dyn BlockBackend>,
    journal: Option<CrashJournal>,
    room: RoomKeeper,
) -> Box<dyn BlockBackend> {
    if !matches.get_flag("volatile") {
        return backend;
    }
    let seed = *matches.get_one::<u64>("seed").expect("it has a default");
    let cached = VolatileBackend::new(backend, seed).with_room(room);
    let shown = matches.get_one::<PathBuf>("journal");
    let shown = shown.map_or_else(String::new, |path| path.display().to_string());
    Box::new(match journal {
        Some(journal) => cached.with_journal(journal.with_refusal(Box::new(move |error| {
            crate::tell::say(&format!(
                "the journal {shown} takes nothing more ({error}): what changes the device is refused until it does; make room there"
            ));
        }))),
        None => cached,
    })
}

/// The journal of a device of so many bytes, if one was asked for.
fn journal(matches: &ArgMatches, bytes: u64, made: &mut MadeFiles) -> Result<Option<CrashJournal>> {
    let Some(path) = matches.get_one::<PathBuf>("journal") else {
        return Ok(None);
    };
    let created = CrashJournal::create(path, bytes)
        .and_then(|journal| made.note(path, journal.file()).map(|()| journal));
    Ok(Some(created.with_context(|| {
        format!("--journal {}", path.display())
    })?))
}

/// The log of such a device, if one was asked for.
fn log(matches: &ArgMatches, bytes: u64, made: &mut MadeFiles) -> Result<Option<DeviceLog>> {
    let requests = *matches
        .get_one::<u64>("log-requests")
        .expect("it has a default");
    let Some(path) = matches.get_one::<PathBuf>("log") else {
        return Ok(None);
    };
    let created = DeviceLog::create(path, requests, bytes)
        .and_then(|log| made.note(path, log.file()).map(|()| log));
    Ok(Some(
        created.with_context(|| format!("--log {}", path.display()))?,
    ))
}

/// Tells the device what it was told on the command line, or before.
fn told(device: &ServedDevice, spec: Option<&str>) -> Result<()> {
    if let Some(spec) = spec {
        control::obey(device, &format!("misbehave {spec}"), histogram)
            .map_err(|why| wrong("misbehave", why))?;
    }
    Ok(())
}

fn spec(matches: &ArgMatches) -> Option<&str> {
    matches.get_one::<String>("misbehave").map(String::as_str)
}

/// Bytes of the device as asked for.
fn size(matches: &ArgMatches, block: u32) -> Result<Option<u64>> {
    let size = matches
        .get_one::<String>("size")
        .map(|size| Bytes::parse(size).map_err(|e| wrong("size", e)))
        .transpose()?;
    if let Some(Bytes(size)) = size {
        let why = if i64::try_from(size).is_err() {
            "is more than a device can have, 8EiB less one byte"
        } else if size == 0 || !size.is_multiple_of(u64::from(block)) {
            "is not a multiple of the block size above 0"
        } else {
            return Ok(Some(size));
        };
        return Err(wrong("size", format!("{} {why}", Bytes(size))));
    }
    Ok(None)
}

fn geometry(matches: &ArgMatches) -> Result<Geometry> {
    let block = matches.get_one::<String>("block-size");
    let block = block.map(|size| Bytes::parse(size).map_err(|e| wrong("block-size", e)));
    let Bytes(block) = block.transpose()?.unwrap_or(Bytes(1));
    let block = u32::try_from(block)
        .ok()
        .filter(|block| block.is_power_of_two() && *block <= 64 << 10);
    Ok(Geometry {
        block: block.ok_or_else(|| wrong("block-size", "a power of two up to 64KiB"))?,
        read_only: matches.get_flag("read-only"),
    })
}

/// Tells a running device one line and prints what it answers.
fn tell(socket: &Path, line: &str) -> Result<i32> {
    let shown = socket.display();
    let answer = control::tell(socket, line).with_context(|| format!("--control {shown}"))?;
    match answer.split_once(' ') {
        Some(("ok", told)) => {
            say(told);
            Ok(0)
        }
        Some((_, why)) => Err(wrong("tell", why.trim_end())),
        None => Err(wrong("tell", format!("{shown} does not answer"))),
    }
}

/// Refuses words that give one place in the file system to two things.
fn one_place_each(matches: &ArgMatches) -> Result<()> {
    let flags = ["unix", "control", "log", "journal", "file", "crash-states"];
    let given = flags
        .iter()
        .filter_map(|flag| Some((*flag, matches.get_one::<PathBuf>(flag)?)));
    let mut places: Vec<(&str, &PathBuf)> = Vec::new();
    for (flag, path) in given {
        if let Some((other, _)) = places.iter().find(|(_, place)| *place == path) {
            let why = format!("{} is also that of --{other}", path.display());
            return Err(wrong(flag, why));
        }
        places.push((flag, path));
    }
    Ok(())
}

fn is_given(matches: &ArgMatches, flag: &str) -> bool {
    matches.value_source(flag) == Some(ValueSource::CommandLine)
}

/// Runs the target until a signal ends it and returns the exit code.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    if let Some(done) = ublk::about_devices(matches) {
        return done;
    }
    let socket = matches.get_one::<PathBuf>("control");
    if let (Some(line), Some(socket)) = (matches.get_one::<String>("tell"), socket) {
        return tell(socket, line);
    }
    if let (Some(states), None) = (states(matches)?, matches.get_one::<u64>("crash-state")) {
        return Ok(list(&states));
    }
    let is_ublk = text(matches, "front") == "ublk";
    let (other, others) = if is_ublk {
        ("nbd", &OF_NBD[..])
    } else {
        ("ublk", &ublk::ARGUMENTS[..])
    };
    if let Some(flag) = others.iter().find(|flag| is_given(matches, flag)) {
        return Err(wrong(flag, format!("only --front {other} has it")));
    }
    one_place_each(matches)?;
    if is_ublk {
        ublk::run(matches)
    } else {
        nbd::run(matches)
    }
}
