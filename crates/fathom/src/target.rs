//! The process or control group that serves what is measured, where it runs on this machine.

use crate::exit::Usage;
use crate::flags::text;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use host::{Machine, Observed};
use record::{Measurable, NeverMeasured};
use std::path::{Path, PathBuf};

/// Names of the options that name it.
pub(crate) const NAMES: [&str; 2] = ["server-pid", "server-cgroup"];

/// Adds these options.
pub(crate) fn add(command: Command) -> Command {
    command
        .arg(
            Arg::new("server-pid")
                .long("server-pid")
                .value_name("PID")
                .help("A local process, the server's: its CPU time, memory and bytes, with its children's, are reported beside ours"),
        )
        .arg(
            Arg::new("server-cgroup")
                .long("server-cgroup")
                .value_name("DIR")
                .conflicts_with("server-pid")
                .help("The same of a control group, by its directory below /sys/fs/cgroup"),
        )
}

/// What was named, if it is there; not every verb asks for it.
///
/// # Errors
/// It is not.
pub(crate) fn observed(matches: &ArgMatches) -> Result<Option<Observed>> {
    if let Some(group) = text(matches, "server-cgroup").map(PathBuf::from) {
        let group = Observed::Group(group);
        return match here().sees(&group) {
            true => Ok(Some(group)),
            false => Err(Usage(format!(
                "--server-cgroup: {} is none of version 2, whose cpu.stat tells user_usec; where the system has version 1, name a process by --server-pid",
                group.text()
            ))
            .into()),
        };
    }
    let Some(pid) = text(matches, "server-pid") else {
        return Ok(None);
    };
    let Ok(pid) = pid.parse() else {
        let what = format!("--server-pid {pid}: a process is named by its number");
        return Err(Usage(what).into());
    };
    let process = Observed::Process(pid);
    if !here().sees(&process) {
        return Err(Usage(format!(
            "--server-pid {pid}: no such process on this machine"
        ))
        .into());
    }
    Ok(Some(process))
}

/// What can be measured where this server is observed.
pub(crate) fn beside(given: Measurable, server: Option<&Observed>) -> Measurable {
    match server {
        Some(_) => given,
        None => given.without(NeverMeasured::Server),
    }
}

fn here() -> Machine {
    Machine::at(Path::new("/"))
}
