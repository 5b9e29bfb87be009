//! The process or control group that serves what is measured, where it runs on this machine.

use crate::exit::Usage;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use host::Observed;
use std::path::PathBuf;

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

/// What was named, if it is there.
///
/// # Errors
/// It is not.
pub(crate) fn observed(matches: &ArgMatches) -> Result<Option<Observed>> {
    if let Some(group) = matches
        .get_one::<String>("server-cgroup")
        .map(PathBuf::from)
    {
        if !group.join("cpu.stat").exists() {
            return Err(Usage(format!(
                "--server-cgroup {}: no control group of version 2 with a cpu.stat",
                group.display()
            ))
            .into());
        }
        return Ok(Some(Observed::Group(group)));
    }
    let Some(text) = matches.get_one::<String>("server-pid") else {
        return Ok(None);
    };
    let Ok(pid) = text.parse() else {
        let what = format!("--server-pid {text}: a process is named by its number");
        return Err(Usage(what).into());
    };
    if !PathBuf::from(format!("/proc/{pid}/stat")).exists() {
        return Err(Usage(format!(
            "--server-pid {pid}: no such process on this machine"
        ))
        .into());
    }
    Ok(Some(Observed::Process(pid)))
}
