//! `fathom serve`: the reference targets.

mod s3;

use anyhow::Result;
use clap::{ArgMatches, Command};

/// The verb's arguments.
pub(crate) fn command() -> Command {
    Command::new("serve")
        .about("Serves a reference target: storage that people measure against, with a known truth")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(s3::command())
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    match matches.subcommand() {
        Some(("s3", matches)) => s3::run(matches),
        Some(_) | None => unreachable!("clap requires one of the subcommands above"),
    }
}
