//! How help is laid out: every option in a group, on `-h` those that are used most, and below both
//! examples and exit codes.

mod paragraphs;

use clap::builder::Styles;
use clap::builder::styling::{AnsiColor, Effects};
use clap::{Arg, Command};
use std::ffi::OsString;

/// Lines of help that are longer are hard to read, however wide the terminal is.
const WIDEST: usize = 120;

pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Yellow.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().effects(Effects::BOLD))
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// The options of each verb that `-h` shows: those of most calls.
const USUAL: [(&str, &[&str]); 13] = [
    (
        "run",
        &[
            "target",
            "file-size",
            "block-size",
            "random",
            "read-percent",
            "write-percent",
            "threads",
            "queue-depth",
            "engine",
            "direct",
            "duration",
            "rate-iops",
            "verify",
            "threshold",
            "fio",
            "config",
            "output-format",
            "records",
            "serve",
            "dry-run",
            "fio-arguments",
        ],
    ),
    (
        "load",
        &[
            "scenario",
            "list-scenarios",
            "target",
            "users",
            "duration",
            "rate",
            "object-size",
            "seeds",
            "header",
            "threshold",
            "find-knee",
            "verify",
            "output-format",
            "records",
            "serve",
            "dry-run",
        ],
    ),
    (
        "profile",
        &[
            "path",
            "quick",
            "thorough",
            "records",
            "report",
            "card",
            "size",
            "allow-destroy",
            "serve",
        ],
    ),
    (
        "compare",
        &[
            "base",
            "candidate",
            "run",
            "profile",
            "load",
            "metric",
            "margin",
            "threshold",
            "fail-on",
            "output",
            "annotate",
            "set",
            "target",
            "blocks",
            "budget",
            "records",
            "serve",
        ],
    ),
    (
        "report",
        &["records", "output", "card", "baseline", "metric", "margin"],
    ),
    ("audit", &["records", "output", "annotate", "json"]),
    ("export", &["records", "output", "schema"]),
    ("quote", &["file", "records"]),
    ("import", &["file", "format", "records"]),
    ("check", &["page"]),
    ("lab plan", &["plan", "records"]),
    ("lab status", &["plan", "records"]),
    ("explain", &["rule"]),
];

/// Groups of what has none of its own.
const GROUPS: [(&str, &[&str]); 10] = [
    (
        "Target",
        &[
            "target",
            "header",
            "cacert",
            "insecure",
            "guest",
            "payload",
            "http2",
            "http2-connections",
            "new-connections",
            "timeout",
            "retries",
            "server-pid",
            "server-cgroup",
            "allow-destroy",
            "size",
            "name",
            "range",
        ],
    ),
    (
        "Load",
        &[
            "users",
            "rate",
            "arrival",
            "stages",
            "scale",
            "duration",
            "warmup",
            "think-time",
            "iterations",
            "find-knee",
            "step-duration",
            "most-rate",
            "threads",
            "seed",
        ],
    ),
    (
        "Objects",
        &["object-size", "seeds", "keys", "data", "verify", "keep"],
    ),
    (
        "Job",
        &[
            "config",
            "fio",
            "list-scenarios",
            "print-scenario",
            "dry-run",
            "rows",
            "schema",
        ],
    ),
    (
        "Experiment",
        &[
            "run",
            "profile",
            "load",
            "set",
            "quick",
            "thorough",
            "slot",
            "budget",
            "blocks",
            "passes",
            "settle",
            "lead-in",
            "order-seed",
            "aa",
            "no-aa",
            "resume",
            "engine",
        ],
    ),
    (
        "Several hosts",
        &[
            "mpi",
            "lead",
            "max-skew",
            "lost-after",
            "rank",
            "start-at",
            "clock",
            "target-is",
            "hosts",
            "hostfile",
            "launcher",
            "mode",
            "listen-port",
            "worker-port",
            "under-front",
        ],
    ),
    (
        "Judgement",
        &[
            "metric",
            "better",
            "margin",
            "factor",
            "baseline",
            "threshold",
            "no-thresholds",
            "fail-on",
        ],
    ),
    (
        "Results",
        &[
            "output",
            "output-format",
            "records",
            "save-every",
            "report",
            "card",
            "json-output",
            "csv-output",
            "json-histogram",
            "hdr-log",
            "series-interval",
            "format",
            "force",
            "ci",
            "annotate",
            "json",
        ],
    ),
    (
        "What is shown",
        &[
            "findings",
            "all",
            "per-worker-output",
            "show-latency",
            "show-histogram",
            "show-percentiles",
        ],
    ),
    (
        "While it runs",
        &[
            "no-live",
            "live-interval",
            "serve",
            "prometheus",
            "prometheus-port",
            "prometheus-address",
        ],
    ),
];

/// What verbs end with that say nothing more of it themselves.
const EXIT_CODES: &str = "Exit codes: 0 ok; 1 a file could not be read or written; 2 usage";

/// Below the verbs.
const START: &str = "\
Start here:
  fathom profile /mnt/data --quick          eight numbers of a disk, in half a minute
  fathom compare target=/mnt/a target=/mnt/b --run --profile
  fathom load get --target s3://bench@http://127.0.0.1:9000 --users 16
  fathom report records.jsonl               what was measured, and whether it can be believed
`fathom VERB -h` shows what is used most with examples, `fathom VERB --help` everything.

Exit codes: 0 ok; 1 what was measured failed; 2 usage, or this machine cannot; 3 a gate failed (a threshold, slower);
4 the numbers are invalid; 5 incomplete; 129, 130 or 143 stopped by a signal";

/// The command with its help laid out; `is_brief` as `-h` shows it.
pub(crate) fn laid_out(command: Command, is_brief: bool) -> Command {
    let command = command.styles(STYLES).max_term_width(WIDEST);
    let path = if command.get_name() == "iopulse" {
        "run"
    } else {
        ""
    };
    let command = verb(command, path, is_brief);
    match command.get_name() {
        "fathom" => {
            let parts: Vec<String> = START.split("\n\n").map(paragraphs::unbroken).collect();
            command.after_help(parts.join("\n\n"))
        }
        _ => command,
    }
}

/// Whether the arguments ask for what is used most, before those of a foreign command begin.
pub(crate) fn asks_for_little(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "-h")
}

/// A verb by its path, and all below it.
fn verb(command: Command, path: &str, is_brief: bool) -> Command {
    let usual = USUAL.iter().find(|(of, _)| *of == path);
    let is_usual = |arg: &Arg| usual.is_none_or(|(_, ids)| ids.contains(&arg.get_id().as_str()));
    let all = command.get_arguments().count();
    let command = command.mut_args(|arg| {
        let is_hidden = is_brief && !is_usual(&arg);
        let arg = grouped(arg);
        if is_hidden { arg.hide(true) } else { arg }
    });
    let shown = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .count();
    let more = (shown < all).then(|| format!("`--help` shows all {all} options."));
    let text = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let command = command.after_help(after(&text, is_brief, more));
    each_below(command, path, |below, path| verb(below, path, is_brief))
}

/// Changes each verb below a command, which is told the words that lead to it.
pub(crate) fn each_below(
    command: Command,
    path: &str,
    change: impl Fn(Command, &str) -> Command,
) -> Command {
    let below: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    below.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| change(below, path.trim_start()))
    })
}

fn grouped(arg: Arg) -> Arg {
    if arg.is_positional() || arg.get_help_heading().is_some() {
        return arg;
    }
    let of = GROUPS
        .iter()
        .find(|(_, ids)| ids.contains(&arg.get_id().as_str()));
    match of {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

/// What stands below the options: briefly, of the paragraphs those that are of use at once.
fn after(text: &str, is_brief: bool, more: Option<String>) -> String {
    let is_of_use =
        |of: &&str| !is_brief || of.starts_with("Examples:") || of.starts_with("Exit codes:");
    let parts = text.trim().split("\n\n").filter(is_of_use);
    let mut parts: Vec<String> = parts.map(paragraphs::laid).collect();
    if !parts.iter().any(|part| part.starts_with("Exit codes:")) {
        parts.push(EXIT_CODES.to_owned());
    }
    parts.extend(more);
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every verb with its path, as help shows it.
    fn verbs(is_brief: bool) -> Vec<(String, Command)> {
        fn all(command: &Command, path: &str, out: &mut Vec<(String, Command)>) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name());
                all(below, &path, out);
                out.push((path, below.clone()));
            }
        }
        let mut out = Vec::new();
        all(&laid_out(crate::verbs(), is_brief), "fathom", &mut out);
        out
    }

    fn shown(command: &Command) -> String {
        command.clone().render_help().to_string()
    }

    #[test]
    fn no_example_is_broken_by_a_usual_terminal() {
        for (path, command) in verbs(true).into_iter().chain(verbs(false)) {
            let text = command.get_after_help().unwrap().to_string();
            let examples = text
                .split("\n\n")
                .filter(|part| part.starts_with("Examples:"));
            for line in examples.flat_map(str::lines) {
                let is_short = line.chars().count() <= paragraphs::LONGEST_EXAMPLE;
                assert!(is_short, "{path}: {line}");
            }
        }
    }

    #[test]
    fn every_verb_says_its_exit_codes_and_those_that_do_something_have_an_example() {
        for (path, command) in verbs(true).into_iter().chain(verbs(false)) {
            let help = shown(&command);
            assert!(help.contains("Exit codes:"), "{path}\n{help}");
            assert!(
                help.contains("Examples:\n") || command.has_subcommands(),
                "{path}\n{help}"
            );
        }
    }

    #[test]
    fn every_option_has_a_group_and_every_option_of_the_tables_exists() {
        let mut known: Vec<String> = Vec::new();
        for (path, command) in verbs(false) {
            let several = command.get_arguments().count() > 12;
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str().to_owned();
                let is_grouped = arg.is_positional() || arg.get_help_heading().is_some();
                let is_of_serve = path.starts_with("fathom serve");
                assert!(
                    is_grouped || !several || is_of_serve || id == "help",
                    "{path}: {id}"
                );
                known.push(id);
            }
        }
        let listed = USUAL.iter().chain(&GROUPS).flat_map(|(_, ids)| ids.iter());
        let unknown: Vec<&&str> = listed
            .filter(|id| !known.iter().any(|of| of == **id))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// What names the target or the whole load is of all ranks, what names a generator of each.
    const ON_RANKS: [(&str, &[&str], &str); 6] = [
        (
            "fathom run",
            &[
                "file-size",
                "num-files",
                "total-files",
                "total-bytes",
                "rate-iops",
                "rate-bytes",
                "threshold",
            ],
            "all ranks",
        ),
        (
            "fathom run",
            &[
                "threads",
                "queue-depth",
                "think-time",
                "cpu-cores",
                "numa-zones",
                "max-errors",
            ],
            "each rank",
        ),
        (
            "fathom load",
            &[
                "rate",
                "stages",
                "iterations",
                "seeds",
                "threshold",
                "find-knee",
                "most-rate",
            ],
            "all ranks",
        ),
        (
            "fathom load",
            &[
                "users",
                "stages",
                "think-time",
                "threads",
                "keys",
                "http2-connections",
            ],
            "each rank",
        ),
        ("fathom profile", &["size"], "all ranks"),
        ("fathom profile", &["threads", "files"], "each rank"),
    ];

    #[test]
    fn every_quantity_says_whether_it_is_of_all_ranks_or_of_each() {
        let verbs = verbs(false);
        for (path, options, whose) in ON_RANKS {
            let (_, command) = verbs.iter().find(|(of, _)| of == path).unwrap();
            for option in options {
                let mut args = command.get_arguments();
                let arg = args.find(|arg| arg.get_id() == option).unwrap();
                let help = arg.get_help().unwrap().to_string();
                assert!(help.contains(whose), "{path} --{option}: {help}");
            }
        }
    }

    #[test]
    fn verbs_of_ranks_tell_the_exit_code_of_a_start_too_far_apart() {
        for (path, command) in verbs(true).into_iter().chain(verbs(false)) {
            let has_limit = command
                .get_arguments()
                .any(|arg| arg.get_id() == "max-skew");
            let help = shown(&command);
            let told = help.split("Exit codes:").nth(1).unwrap();
            assert!(!has_limit || told.contains(" 4 "), "{path}: {told}");
        }
    }

    #[test]
    fn a_paragraph_breaks_where_the_terminal_does_and_examples_stay_lines() {
        assert_eq!(
            paragraphs::unbroken("a\nb\n  c\n  d\ne\nf"),
            "a b\n  c\n  d\ne f"
        );
    }

    #[test]
    fn little_help_is_short_and_leaves_no_option_out_of_the_command() {
        for (path, command) in verbs(true) {
            let lines = shown(&command).lines().count();
            assert!(lines <= 80, "{path}: {lines} lines");
        }
        let args = ["fathom", "run", "-h", "--", "-x"].map(OsString::from);
        assert!(asks_for_little(&args) && !asks_for_little(&args[3..]));
        let matches =
            laid_out(crate::verbs(), true).try_get_matches_from(["fathom", "run", "x", "--iopoll"]);
        assert!(matches.is_ok());
    }
}
