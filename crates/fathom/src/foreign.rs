//! What other tools call our options: a word that is typed out of habit is answered with ours.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// Words of fio, elbencho, warp, k6 and others, by the verb that they are typed with, and what is
/// ours.
const WORDS: [(&str, &str, &str); 52] = [
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

/// Verbs of other tools.
const VERBS: [(&str, &str); 8] = [
    ("version", "fathom --version"),
    ("bench", "fathom profile PATH, or fathom run TARGET"),
    ("benchmark", "fathom profile PATH, or fathom run TARGET"),
    (
        "fio",
        "fathom run -- FIO OPTIONS, or fathom run --fio JOBFILE",
    ),
    ("analyze", "fathom audit RECORDS"),
    ("cmp", "fathom compare BASE CANDIDATE"),
    ("diff", "fathom compare BASE CANDIDATE"),
    ("server", "fathom serve s3, share or block"),
];

/// What was typed behind the program's name, as far as it says which options there are.
pub(crate) fn typed(args: &[std::ffi::OsString]) -> Option<String> {
    let mut words = args.iter().skip(1).map(|word| word.to_str());
    let verb = words.next()??;
    let below = words.next().flatten().filter(|_| verb == "serve");
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
        ours(verb.unwrap_or_default(), name).map(str::to_owned)
    } else if let Some(word) = text(&error, ContextKind::InvalidSubcommand) {
        let known = VERBS.iter().find(|(foreign, _)| *foreign == word);
        known.map(|(_, ours)| (*ours).to_owned()).or_else(|| {
            let near = units::nearest(&word, verbs.iter().copied())?;
            Some(format!("fathom {near}"))
        })
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

fn ours(verb: &str, word: &str) -> Option<&'static str> {
    let known = WORDS
        .iter()
        .find(|(of, foreign, _)| *of == verb && *foreign == word);
    known.map(|(_, _, ours)| *ours)
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
        for (foreign, ours) in VERBS {
            assert!(said(&[foreign]).contains(ours), "{foreign}");
        }
    }

    #[test]
    fn a_verb_that_is_nearly_right_is_answered_with_ours() {
        assert!(said(&["rn", "x"]).contains("tip: fathom run"));
        assert!(!said(&["zzzzzz"]).contains("tip:"));
    }
}
