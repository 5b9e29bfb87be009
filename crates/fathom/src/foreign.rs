//! What other tools call our options: a word that is typed out of habit is answered with ours.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use workload::settings;

/// Words of fio, elbencho, warp, k6 and others, by the verb that they are typed with, and what is
/// ours.
const WORDS: [(&str, &str, &str); 81] = [
    (
        "run",
        "--write",
        "elbencho's --write is --write-percent 100",
    ),
    (
        "run",
        "--read",
        "elbencho's --read is --read-percent 100, which is what a run does anyway",
    ),
    (
        "run",
        "--norandommap",
        "--random draws every place anew; nothing keeps a map",
    ),
    ("load", "--objects", "warp's --objects is --seeds"),
    ("load", "--concurrency", "--users"),
    ("load", "--noclear", "warp's --noclear is --keep"),
    (
        "compare",
        "--runs",
        "hyperfine's --runs is --blocks beside --run, commands are timed by fathom lab run PLAN.toml",
    ),
    (
        "compare",
        "--min-runs",
        "it runs until it knows; exactly so many with --run --blocks",
    ),
    (
        "compare",
        "--prepare",
        "commands and what comes before each stand in a plan: fathom lab run PLAN.toml",
    ),
    (
        "compare",
        "--export-json",
        "hyperfine's --export-json is -o FILE.json",
    ),
    (
        "compare",
        "--export-markdown",
        "hyperfine's --export-markdown is -o FILE.md",
    ),
    ("run", "--bs", "fio's --bs is --block-size (-b)"),
    ("run", "--blocksize", "--block-size (-b)"),
    (
        "run",
        "--rw",
        "fio's --rw is --random, and --read-percent or --write-percent for the mix",
    ),
    (
        "run",
        "--readwrite",
        "--random, and --read-percent or --write-percent for the mix",
    ),
    ("run", "--runtime", "fio's --runtime is --duration (-d)"),
    ("run", "--time_based", "a run ends after --duration anyway"),
    ("run", "--timelimit", "--duration (-d)"),
    ("run", "--iodepth", "fio's --iodepth is --queue-depth (-q)"),
    ("run", "--numjobs", "fio's --numjobs is --threads (-t)"),
    ("run", "--ioengine", "fio's --ioengine is --engine"),
    (
        "run",
        "--filename",
        "the target stands alone: fathom run /path/of/file",
    ),
    (
        "run",
        "--directory",
        "the target stands alone: fathom run /path/of/directory",
    ),
    (
        "run",
        "--size",
        "--file-size of what is made, --total-bytes of what is moved",
    ),
    ("run", "--rwmixread", "--read-percent"),
    ("run", "--rwmixwrite", "--write-percent"),
    ("run", "--rate_iops", "--rate-iops"),
    ("run", "--ramp_time", "--warmup"),
    (
        "run",
        "--group_reporting",
        "workers are reported together unless --per-worker-output",
    ),
    (
        "run",
        "--name",
        "the name of a phase is that of its [[phase]] in --config",
    ),
    ("run", "-w", "elbencho's -w is --write-percent 100"),
    (
        "run",
        "-r",
        "elbencho's -r is --read-percent 100, which is what a run does anyway",
    ),
    (
        "run",
        "-o",
        "records are kept with --records FILE.jsonl, the result goes to --output FILE",
    ),
    ("run", "--iodirect", "--direct"),
    ("run", "--rand", "--random"),
    ("run", "--zones", "NUMA nodes of workers are --numa-zones"),
    ("run", "--host", "mpirun's --host is --hosts a,b:2"),
    ("run", "--hostsfile", "elbencho's --hostsfile is --hostfile"),
    (
        "run",
        "--client",
        "fio's --client is --hosts, which needs no server there",
    ),
    (
        "run",
        "--server",
        "no host needs a server: --hosts starts what is needed",
    ),
    (
        "run",
        "--service",
        "no host needs a service: --hosts starts what is needed",
    ),
    (
        "profile",
        "--runtime",
        "the time for everything is --budget",
    ),
    (
        "profile",
        "--duration",
        "the time for everything is --budget",
    ),
    ("profile", "--ioengine", "fio's --ioengine is --engine"),
    (
        "profile",
        "--filename",
        "the target stands alone: fathom profile /path/of/file",
    ),
    (
        "profile",
        "--directory",
        "the target stands alone: fathom profile /path/of/directory",
    ),
    ("profile", "-w", ROWS_ARE_GIVEN),
    ("profile", "-r", ROWS_ARE_GIVEN),
    (
        "profile",
        "--output",
        "records go to -o RECORDS.jsonl, the page to --report FILE.html",
    ),
    ("load", "--concurrent", "warp's --concurrent is --users"),
    ("load", "--vus", "k6's --vus is --users"),
    ("load", "--obj.size", "warp's --obj.size is --object-size"),
    (
        "load",
        "--host",
        "the server stands in the target: --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "load",
        "--endpoint",
        "the server stands in the target: --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "load",
        "--bucket",
        "the bucket stands in the target: --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "load",
        "--access-key",
        "keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        "load",
        "--secret-key",
        "keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    ("load", "-H", "curl's -H is --header 'NAME: VALUE'"),
    ("load", "-c", "wrk's -c is --users"),
    ("load", "-u", "--users"),
    ("load", "--connections", "wrk's --connections is --users"),
    ("load", "--runtime", "--duration"),
    ("load", "--time", "--duration"),
    ("load", "-n", "hey's -n is --iterations"),
    ("load", "--rps", "--rate"),
    ("load", "--requests", "--iterations"),
    (
        "load",
        "-w",
        "elbencho's -w is a scenario: fathom load put --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "load",
        "-r",
        "elbencho's -r is a scenario: fathom load get --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "compare",
        "--runtime",
        "the time of a slot is --slot, that of everything --budget",
    ),
    (
        "compare",
        "--duration",
        "the time of a slot is --slot, that of everything --budget",
    ),
    ("report", "--html", "-o FILE.html"),
    (
        "report",
        "--format",
        "the ending says it: --output FILE.html, .md, .csv or .json",
    ),
    (
        "export",
        "--format",
        "the ending says it: --output FILE.csv or .jsonl",
    ),
    (
        "load",
        "-o",
        "records are kept with --records FILE.jsonl, the result goes to --output FILE",
    ),
    (
        "serve block",
        "--listen",
        "--tcp ADDR:PORT, or --unix SOCKET",
    ),
    ("serve block", "--socket", "qemu's --socket is --unix"),
    ("serve block", "-U", "nbdkit's -U is --unix"),
    (
        "serve block",
        "--port",
        "nbdkit's --port is --tcp ADDR:PORT",
    ),
    ("serve s3", "--port", "--listen ADDR:PORT"),
    ("serve s3", "--address", "minio's --address is --listen"),
    ("serve share", "--port", "--listen ADDR:PORT"),
];

/// Of the profile.
const ROWS_ARE_GIVEN: &str =
    "every row is given; those of your own stand in --rows FILE.toml, one workload is fathom run";

/// Verbs of other tools, by ours below which they are typed.
const VERBS: [(&str, &str, &str); 23] = [
    (
        "",
        "hyperfine",
        "fathom lab run PLAN.toml, whose arms may be commands",
    ),
    (
        "",
        "warp",
        "fathom load SCENARIO --target s3://BUCKET@http://HOST:PORT",
    ),
    ("", "k6", "fathom load SCENARIO --target http://HOST:PORT/"),
    (
        "",
        "get",
        "fathom load get --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "",
        "put",
        "fathom load put --target s3://BUCKET@http://HOST:PORT",
    ),
    (
        "",
        "mixed",
        "fathom load mixed --target s3://BUCKET@http://HOST:PORT",
    ),
    ("", "elbencho", "fathom run, or fathom load for S3"),
    (
        "",
        "ior",
        "fathom run, on several hosts with --hosts or under mpirun",
    ),
    ("", "io500", "fathom profile --io500-like DIRECTORY"),
    ("", "experiment", "fathom lab"),
    ("", "version", "fathom --version"),
    ("", "bench", "fathom profile PATH, or fathom run TARGET"),
    ("", "benchmark", "fathom profile PATH, or fathom run TARGET"),
    ("serve", "minio", "fathom serve s3"),
    ("serve", "nbd", "fathom serve block"),
    ("serve", "ublk", "fathom serve block --front ublk"),
    ("serve", "http", "fathom serve share"),
    ("lab", "start", "fathom lab run PLAN.toml"),
    (
        "",
        "fio",
        "fathom run -- FIO OPTIONS, or fathom run --fio JOBFILE",
    ),
    ("", "analyze", "fathom audit RECORDS"),
    ("", "cmp", "fathom compare BASE CANDIDATE"),
    ("", "diff", "fathom compare BASE CANDIDATE"),
    ("", "server", "fathom serve s3, share or block"),
];

/// What was typed behind the program's name, as far as it says which options there are.
pub(crate) fn typed(args: &[std::ffi::OsString]) -> Option<String> {
    let mut words = args.iter().skip(1).map(|word| word.to_str());
    let verb = words.next()??;
    let has_verbs = ["serve", "lab"].contains(&verb);
    let below = words.next().flatten().filter(|_| has_verbs);
    Some(below.map_or_else(|| verb.to_owned(), |below| format!("{verb} {below}")))
}

/// Answers a word of another tool, or one that is nearly a verb of ours, with what it is here;
/// `verb` is what was typed behind the program's name.
pub(crate) fn answered(mut error: clap::Error, verb: Option<&str>, verbs: &[&str]) -> clap::Error {
    // What clap suggests beside a similar option is to put the word behind `--`, where options of
    // fio stand.
    error.remove(ContextKind::Suggested);
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(_) | None => None,
    };
    let told = if let Some(word) = text(&error, ContextKind::InvalidArg) {
        let name = word.split([' ', '=']).next().unwrap_or_default();
        ours(verb.unwrap_or_default(), name)
    } else if let Some(word) = text(&error, ContextKind::InvalidSubcommand) {
        let parent = verb
            .and_then(|verb| verb.split_once(' '))
            .map_or("", |(parent, _)| parent);
        let known = VERBS
            .iter()
            .find(|(below, foreign, _)| *below == parent && *foreign == word);
        let near = || units::nearest(&word, verbs.iter().copied().filter(|_| parent.is_empty()));
        known
            .map(|(.., ours)| (*ours).to_owned())
            .or_else(|| Some(format!("fathom {}", near()?)))
    } else {
        None
    };
    if let Some(told) = told {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        // It shows the option that is written most alike.
        error.remove(ContextKind::Usage);
        let told = StyledStr::from(told);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![told]));
    }
    error
}

fn ours(verb: &str, word: &str) -> Option<String> {
    let known = |verb: &str| {
        let found = WORDS
            .iter()
            .find(|(of, foreign, _)| *of == verb && *foreign == word);
        found.map(|(_, _, ours)| (*ours).to_owned())
    };
    known(verb).or_else(|| {
        let key = word.strip_prefix("--");
        let setting = key.and_then(settings::find).map(|of| of.key);
        match (verb, setting, known("run")) {
            ("compare", Some(key), _) => Some(format!(
                "of all sides --set {key}=VALUE, of one alone {key}=VALUE in its place"
            )),
            ("compare", None, Some(of_run)) => Some(format!(
                "{of_run}; options of a workload are given here as --set KEY=VALUE"
            )),
            ("profile", Some(_), _) | ("profile", _, Some(_)) => Some(ROWS_ARE_GIVEN.to_owned()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the command says of a call.
    fn said(args: &[&str]) -> String {
        let command = crate::verbs();
        let names: Vec<String> = command
            .get_subcommands()
            .map(|below| below.get_name().to_owned())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all: Vec<std::ffi::OsString> = ["fathom"]
            .iter()
            .chain(args)
            .map(|arg| arg.into())
            .collect();
        let verb = typed(&all);
        let error = command.try_get_matches_from(all).unwrap_err();
        answered(error, verb.as_deref(), &names).to_string()
    }

    #[test]
    fn every_foreign_word_is_none_of_ours_and_is_answered_with_one_that_is() {
        for (verb, foreign, ours) in WORDS {
            let path: Vec<&str> = verb.split(' ').collect();
            let text = said(&[&path[..], &[foreign, "1"]].concat());
            assert!(
                text.contains(&format!("tip: {ours}")) && !text.contains("Usage:"),
                "{verb} {foreign}: {text}"
            );
            let command = path.iter().fold(crate::verbs(), |command, name| {
                command.find_subcommand(name).unwrap().clone()
            });
            let help = command.clone().render_help().to_string();
            let options = ours.split([' ', ',']).filter(|word| word.starts_with("--"));
            for option in options.filter(|option| *option != foreign) {
                assert!(help.contains(option), "{verb} {foreign}: {option}");
            }
        }
        for (parent, foreign, ours) in VERBS {
            let path = [parent, foreign]
                .into_iter()
                .filter(|word| !word.is_empty());
            let text = said(&path.collect::<Vec<_>>());
            assert!(text.contains(&format!("tip: {ours}")), "{foreign}: {text}");
        }
    }

    #[test]
    fn an_option_of_run_is_answered_where_it_is_typed_with_another_verb() {
        for (args, ours) in [
            (
                &["compare", "a", "b", "--run", "--direct"][..],
                "tip: of all sides --set direct=VALUE",
            ),
            (
                &["compare", "a", "b", "--bs", "4k"],
                "tip: fio's --bs is --block-size (-b); options of a workload are given here as --set KEY=VALUE",
            ),
            (&["profile", ".", "--iodepth", "4"], ROWS_ARE_GIVEN),
            (&["profile", ".", "--direct"], ROWS_ARE_GIVEN),
        ] {
            assert!(said(args).contains(ours), "{args:?}: {}", said(args));
        }
        assert!(!said(&["compare", "a", "b", "--zzzz"]).contains("--set"));
    }

    #[test]
    fn a_verb_that_is_nearly_right_is_answered_with_ours() {
        assert!(said(&["rn", "x"]).contains("tip: fathom run"));
        assert!(!said(&["zzzzzz"]).contains("tip:"));
    }
}
