//! Workload options as flags, generated from the one table of options.

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;
use workload::settings::{SETTINGS, Setting};
use workload::{SpecError, Workload, settings};

/// What is said of an option, which not every verb has.
pub(crate) fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    let known = matches.try_get_one::<String>(name).ok().flatten();
    known.map(String::as_str)
}

/// Whether an option, which not every verb has, has a value: its own usual one, too. Nothing else tells whether a
/// verb has an option, for only a build with debug assertions looks for that.
pub(crate) fn is_set(matches: &ArgMatches, name: &str) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "whether it is an error is not asked"
    )]
    matches.try_contains_id(name).is_ok_and(|is_set| is_set)
}

/// Adds the target and one flag for each option.
pub(crate) fn add(command: Command) -> Command {
    let target = Arg::new("target")
        .value_name("TARGET")
        .num_args(0..)
        .value_parser(value_parser!(PathBuf))
        .help("Files, block devices, one directory or one nbd:// URL");
    SETTINGS
        .iter()
        .fold(command.arg(target), |command, setting| {
            command.arg(flag(setting))
        })
}

fn flag(setting: &'static Setting) -> Arg {
    let default = setting.show(&Workload::default());
    let mut arg = Arg::new(setting.key)
        .long(setting.key)
        .help_heading(setting.heading.title());
    if let Some(short) = setting.short {
        arg = arg.short(short);
    }
    match setting.value {
        None => arg.action(ArgAction::SetTrue).help(setting.help),
        Some(value) => {
            if settings::repeats(setting.key) {
                arg = arg.action(ArgAction::Append);
            }
            let help = match default {
                Some(default) if !setting.help.contains("Default") => {
                    format!("{} [default: {default}]", setting.help)
                }
                Some(_) | None => setting.help.to_owned(),
            };
            arg.value_name(value).allow_hyphen_values(true).help(help)
        }
    }
}

/// The options that were given, as key and text, in the table's order.
pub(crate) fn given(matches: &ArgMatches) -> Vec<(String, String)> {
    let from_command_line =
        |setting: &&Setting| matches.value_source(setting.key) == Some(ValueSource::CommandLine);
    SETTINGS
        .iter()
        .filter(from_command_line)
        .flat_map(|setting| {
            let texts: Vec<String> = match setting.value {
                None => vec!["true".to_owned()],
                Some(_) => matches
                    .get_many::<String>(setting.key)
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect(),
            };
            texts.into_iter().map(|text| (setting.key.to_owned(), text))
        })
        .collect()
}

/// The workload that the flags describe.
///
/// # Errors
/// A value that an option does not take.
pub(crate) fn workload(matches: &ArgMatches) -> Result<Workload, SpecError> {
    let mut workload = Workload {
        targets: targets(matches),
        ..Workload::default()
    };
    for (key, text) in given(matches) {
        settings::apply(&mut workload, &key, &text)?;
    }
    Ok(workload)
}

/// The targets given.
pub(crate) fn targets(matches: &ArgMatches) -> Vec<PathBuf> {
    matches
        .get_many::<PathBuf>("target")
        .map(|paths| paths.cloned().collect())
        .unwrap_or_default()
}
