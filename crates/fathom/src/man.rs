//! Shell completions and manual pages, made from the same definition as the command line.

use crate::tell::tell_form;
use crate::written::{force, write_manual};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::path::PathBuf;

pub(crate) fn completions_command() -> Command {
    Command::new("completions")
        .about("Prints completions for a shell")
        .after_help("Examples:\n  fathom completions bash > ~/.local/share/bash-completion/completions/fathom\n  fathom completions zsh > ~/.zfunc/_fathom")
        .arg(
            Arg::new("shell")
                .required(true)
                .value_name("SHELL")
                .value_parser(value_parser!(Shell))
                .help("bash, zsh, fish, elvish or powershell"),
        )
}

pub(crate) fn man_command() -> Command {
    Command::new("man")
        .about("Writes manual pages into a directory")
        .after_help("Examples:\n  fathom man ~/.local/share/man/man1")
        .arg(
            Arg::new("directory")
                .required(true)
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Directory that exists"),
        )
        .arg(force())
}

pub(crate) fn completions(matches: &ArgMatches, command: &mut Command) -> Result<i32> {
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        let mut script = Vec::new();
        clap_complete::generate(*shell, command, "fathom", &mut script);
        tell_form(&String::from_utf8(script)?)?;
    }
    Ok(0)
}

pub(crate) fn man(matches: &ArgMatches, command: Command) -> Result<i32> {
    if let Some(directory) = matches.get_one::<PathBuf>("directory") {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        render(&command, &mut pages)?;
        write_manual(directory, pages, matches.get_flag("force"))?;
    }
    Ok(0)
}

/// The pages of a command and of all below it.
fn render(command: &Command, pages: &mut Vec<(PathBuf, String)>) -> Result<()> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| render(below, pages))?;
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push((page.get_filename().into(), String::from_utf8(text)?));
    Ok(())
}
