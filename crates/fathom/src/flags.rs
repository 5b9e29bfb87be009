//! Workload options as flags, generated from the one table of options.

use crate::exit::Usage;
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

/// Refuses what belongs to `mode` where that was not asked for. clap's own `requires` says nothing where the required one
/// conflicts with something else that is given.
///
/// # Errors
/// An option of `of_mode` that is given without it.
pub(crate) fn check_mode(matches: &ArgMatches, mode: &str, of_mode: &[&str]) -> Result<(), Usage> {
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let stray = of_mode.iter().find(|name| is_given(name));
    match stray.filter(|_| !is_given(mode)) {
        Some(name) => Err(Usage(format!(
            "--{name} belongs to --{mode}; add that, or leave --{name} out"
        ))),
        None => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};
    use std::collections::BTreeSet;

    /// Names in one list of an argument as it shows itself.
    fn names(arg: &Arg, list: &str) -> BTreeSet<String> {
        let shown = format!("{arg:?}");
        let (_, rest) = shown.split_once(&format!(" {list}: [")).expect(list);
        let (names, _) = rest.split_once(']').expect("a list ends");
        let names = names.split('"').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    }

    fn check(command: &Command) {
        let all: Vec<&Arg> = command.get_arguments().collect();
        let required: BTreeSet<String> =
            all.iter().flat_map(|arg| names(arg, "requires")).collect();
        let named = |name: &str| all.iter().find(|arg| arg.get_id() == name).copied();
        for name in &required {
            let mut conflicts = names(named(name).expect("it is an option"), "conflicts");
            let others = all
                .iter()
                .filter(|arg| names(arg, "conflicts").contains(name));
            conflicts.extend(others.map(|arg| arg.get_id().to_string()));
            // What is refused beside both is refused in any case.
            for arg in all
                .iter()
                .filter(|arg| names(arg, "requires").contains(name))
            {
                let refused = names(arg, "conflicts");
                let forgotten: Vec<_> = conflicts.difference(&refused).collect();
                assert!(
                    forgotten.is_empty(),
                    "{}: --{} requires --{name}, and nothing says so beside {forgotten:?}; use check_mode",
                    command.get_name(),
                    arg.get_id(),
                );
            }
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn what_an_option_requires_conflicts_with_nothing_that_would_hide_that() {
        check(&crate::command());
    }
}
