//! Shell completions and manual pages, made from the same definition as the command line.

use crate::tell::tell_form;
use crate::values::OR_FILES;
use crate::written::{force, write_manual};
use anyhow::Result;
use clap::builder::Resettable;
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

pub(crate) fn completions(matches: &ArgMatches, mut command: Command) -> Result<i32> {
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut command, "fathom", &mut script);
        let script = String::from_utf8(script)?;
        let script = if *shell == Shell::Fish {
            script + &fish_positionals(&command)
        } else if *shell == Shell::Zsh {
            zsh_with_files(zsh_with_names(script, &command), &command)
        } else {
            script
        };
        tell_form(&script)?;
    }
    Ok(0)
}

/// Values of what stands without an option before it: each with its verb and name.
fn positionals(command: &Command) -> Vec<(&str, &str, Vec<String>)> {
    let mut out = Vec::new();
    for verb in command.get_subcommands() {
        for arg in verb.get_positionals() {
            let values = arg.get_value_parser().possible_values();
            let values: Vec<String> = values
                .into_iter()
                .flatten()
                .map(|value| value.get_name().to_owned())
                .collect();
            if !values.is_empty() {
                out.push((verb.get_name(), arg.get_id().as_str(), values));
            }
        }
    }
    out
}

/// What fish completes where no option stands before it, which its generator leaves out.
fn fish_positionals(command: &Command) -> String {
    let line = |(verb, id, values): (&str, &str, Vec<String>)| {
        let no_files = match OR_FILES.contains(&(verb, id)) {
            true => "",
            false => " -f",
        };
        let values = values.join(" ");
        format!(
            "complete -c fathom -n \"__fish_fathom_using_subcommand {verb}\"{no_files} -a \"{values}\"\n"
        )
    };
    positionals(command).into_iter().map(line).collect()
}

/// The script with names of values as zsh reads them: its generator escapes neither the colon, which
/// separates, nor the quote.
fn zsh_with_names(mut script: String, command: &Command) -> String {
    for name in command
        .get_arguments()
        .filter_map(clap::Arg::get_value_names)
        .flatten()
    {
        let escaped = name.replace(':', "\\:").replace('\'', "'\\''");
        if escaped != name.as_str() {
            script = script.replace(&format!("]:{name}:"), &format!("]:{escaped}:"));
        }
    }
    command.get_subcommands().fold(script, zsh_with_names)
}

/// Files as well where they may stand in the place of a value, which zsh's generator leaves out.
fn zsh_with_files(mut script: String, command: &Command) -> String {
    for (verb, id, values) in positionals(command) {
        let values = values.join(" ");
        let list = format!(":({values})'");
        let argument = script.find(&format!(":{id} -- "));
        let place = argument.and_then(|at| Some(at + script[at..].find(&list)?));
        if let Some(at) = place.filter(|_| OR_FILES.contains(&(verb, id))) {
            let either = format!(":{{compadd -- {values}; _files}}'");
            script.replace_range(at..at + list.len(), &either);
        }
    }
    script
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
    let below = command.get_after_help().map(ToString::to_string);
    // A verb of fifty options has no line that names them all.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let bare = command
        .clone()
        .after_help(Resettable::Reset)
        .override_usage(usage);
    let page = clap_mangen::Man::new(bare)
        // An empty one would lose its place.
        .date(" ")
        .source(concat!("fathom ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8(text)? + &sections(&below.unwrap_or_default());
    pages.push((page.get_filename().into(), in_ascii(&text)));
    Ok(())
}

/// What stands below the options as sections of a manual page: what is indented under a title keeps
/// its lines, and exit codes stand where readers of manuals look for them.
fn sections(text: &str) -> String {
    let mut out = String::new();
    let mut notes = String::new();
    for paragraph in text.trim().split("\n\n") {
        let (title, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if let Some(codes) = paragraph.strip_prefix("Exit codes: ") {
            out.push_str(&format!(".SH \"EXIT STATUS\"\n{}", lines(codes)));
        } else if title.ends_with(':') && rest.starts_with("  ") {
            let title = title.trim_end_matches(':').to_uppercase();
            out.push_str(&format!(".SH \"{title}\"\n.nf\n{}.fi\n", lines(rest)));
        } else if !paragraph.is_empty() {
            let start = if notes.is_empty() { "" } else { ".PP\n" };
            notes.push_str(&format!("{start}{}", lines(paragraph)));
        }
    }
    let notes = match notes.as_str() {
        "" => String::new(),
        notes => format!(".SH NOTES\n{notes}"),
    };
    notes + &out
}

/// Text of several lines.
fn lines(text: &str) -> String {
    text.lines()
        .map(|line| roff(line.trim_start()) + "\n")
        .collect()
}

/// A page that every formatter reads, whatever it takes bytes beyond ASCII for.
fn in_ascii(text: &str) -> String {
    let named = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => format!("\\[u{:04X}]", u32::from(c)),
    };
    text.chars().map(named).collect()
}

/// A line in which nothing is a command of the formatter.
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    let line = line.replace('\'', "\\(aq");
    match line.starts_with('.') {
        true => format!("\\&{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_options_is_sections_and_no_line_of_it_a_command() {
        let text = "Some say:\nmore\n\nExamples:\n  fathom run 'x' -- \\a\n  .x\n\nExit codes: 0 ok; 2 usage";
        assert_eq!(
            sections(text),
            ".SH NOTES\nSome say:\nmore\n.SH \"EXAMPLES\"\n.nf\nfathom run \\(aqx\\(aq \\-\\- \\ea\n\\&.x\n.fi\n.SH \"EXIT STATUS\"\n0 ok; 2 usage\n"
        );
    }

    #[test]
    fn a_page_is_ascii() {
        assert_eq!(in_ascii("1200 × 630…"), "1200 \\[u00D7] 630\\[u2026]");
    }

    #[test]
    fn fish_and_zsh_complete_what_stands_without_an_option_and_files_where_they_may() {
        let mut command = crate::values::with_values(crate::verbs());
        command.build();
        let fish = fish_positionals(&command);
        let line = |verb: &str| {
            let of = format!("complete -c fathom -n \"__fish_fathom_using_subcommand {verb}\"");
            let found = fish.lines().find(|line| line.starts_with(&of));
            found.map(|line| line[of.len()..].to_owned()).unwrap()
        };
        assert!(line("explain").starts_with(" -f -a \"") && line("explain").contains(" starved "));
        assert!(line("load").starts_with(" -a \"") && line("load").contains(" put-get-verify"));
        assert!(line("completions").contains("zsh"));
        let mut script = Vec::new();
        clap_complete::generate(Shell::Zsh, &mut command, "fathom", &mut script);
        let zsh = zsh_with_names(String::from_utf8(script).unwrap(), &command);
        assert!(!zsh.contains(":'NAME: VALUE':"), "{zsh}");
        assert!(zsh.contains(r"]:'\''NAME\: VALUE'\'':_default'"), "{zsh}");
        let zsh = zsh_with_files(zsh, &command);
        assert_eq!(zsh.matches("; _files}'").count(), 1, "{zsh}");
        assert!(zsh.contains(":{compadd -- upload download "), "{zsh}");
    }
}
