//! The command line: one file a verb, and nothing that could not be done with the libraries alone.
#![forbid(unsafe_code)]

mod audit;
mod calibrate;
mod card;
mod check;
mod compare;
mod context;
mod dry_run;
mod exit;
mod explain;
mod export;
mod fio;
mod flags;
mod foreign;
mod gate;
mod group;
mod help;
mod import;
mod keeper;
mod lab;
mod live;
mod load;
mod man;
mod merge;
mod metric;
mod output;
mod profile;
mod quote;
mod records;
mod report;
mod run;
mod serve;
mod target;
mod tell;
mod typing;
mod values;
mod written;

#[cfg(feature = "fuzzing")]
pub use group::fuzzing;

use clap::Command;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line of `fathom`; arguments begin with the program's name.
#[must_use]
pub fn main(args: Vec<OsString>) -> ExitCode {
    if let Some(name) = args
        .first()
        .and_then(|arg| std::path::Path::new(arg).file_name())
        && name == "iopulse"
    {
        return main_iopulse(args);
    }
    let run = args.get(1).is_some_and(|verb| verb == "run");
    let args = if run {
        fio::options_of_the_call_first(args, &run::command("run"))
    } else {
        args
    };
    let command = help::laid_out(verbs(), help::asks_for_little(&args));
    let typed = foreign::typed(&args);
    match command.try_get_matches_from(args) {
        Ok(matches) => exit::code(dispatch(&matches)),
        Err(error) => {
            let all = verbs();
            let names: Vec<&str> = all.get_subcommands().map(Command::get_name).collect();
            exit::usage(foreign::answered(error, typed.as_deref(), &names))
        }
    }
}

/// Runs the command line of `iopulse`: `fathom run` without the verb.
#[must_use]
pub fn main_iopulse(args: Vec<OsString>) -> ExitCode {
    let command = run::command("iopulse").version(env!("CARGO_PKG_VERSION"));
    let command = help::laid_out(command, help::asks_for_little(&args));
    match command
        .clone()
        .try_get_matches_from(fio::options_of_the_call_first(args, &command))
    {
        Ok(matches) => exit::code(run::run(&matches)),
        Err(error) => exit::usage(foreign::answered(error, Some("run"), &[])),
    }
}

/// The command line with all its help.
fn command() -> Command {
    help::laid_out(verbs(), false)
}

fn verbs() -> Command {
    Command::new("fathom")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Measures storage and says whether the number can be believed")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(profile::command())
        .subcommand(run::command("run"))
        .subcommand(load::command())
        .subcommand(compare::command())
        .subcommand(lab::command())
        .subcommand(import::command())
        .subcommand(quote::command())
        .subcommand(merge::command())
        .subcommand(export::command())
        .subcommand(report::command())
        .subcommand(audit::command())
        .subcommand(check::command())
        .subcommand(explain::command())
        .subcommand(calibrate::command())
        .subcommand(serve::command())
        .subcommand(man::completions_command())
        .subcommand(man::man_command())
}

/// What is measured by one process alone.
fn of_one_process(matches: &clap::ArgMatches) -> Option<&'static str> {
    let (verb, matches) = matches.subcommand()?;
    match verb {
        "calibrate" => Some("calibrate"),
        // Each of them would write the same results.
        "merge" => Some("merge"),
        "import" => Some("import"),
        "export" => Some("export"),
        "report" => Some("report"),
        "lab" => (matches.subcommand_name() == Some("run")).then_some("lab run"),
        _ => None,
    }
}

fn dispatch(matches: &clap::ArgMatches) -> anyhow::Result<i32> {
    if let Some(verb) = of_one_process(matches)
        && let Some(code) = group::refuse_several(verb)?
    {
        return Ok(code);
    }
    match matches.subcommand() {
        Some(("profile", matches)) => profile::run(matches),
        Some(("run", matches)) => run::run(matches),
        Some(("load", matches)) => load::run(matches),
        Some(("compare", matches)) => compare::run(matches),
        Some(("lab", matches)) => lab::run(matches),
        Some(("import", matches)) => import::run(matches),
        Some(("quote", matches)) => quote::run(matches),
        Some(("merge", matches)) => merge::run(matches),
        Some(("export", matches)) => export::run(matches),
        Some(("report", matches)) => report::run(matches),
        Some(("audit", matches)) => audit::run(matches),
        Some(("check", matches)) => check::run(matches),
        Some(("explain", matches)) => explain::run(matches),
        Some(("calibrate", matches)) => calibrate::run(matches),
        Some(("serve", matches)) => serve::run(matches),
        Some(("completions", matches)) => man::completions(matches, values::with_values(command())),
        Some(("man", matches)) => man::man(matches, command()),
        Some(_) | None => unreachable!("clap requires one of the subcommands above"),
    }
}
