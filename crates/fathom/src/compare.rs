//! `fathom compare`: verdicts between records, or between settings that it measures itself.

mod cost;
mod experiment;
pub(crate) mod factors;
mod files;
pub(crate) mod kinds;
mod loads;
mod plan;
mod profile;
mod sides;
mod subject;
mod together;

use crate::exit::Usage;
use crate::metric::AskedOfRecords;
use crate::run::{path, switch};
use analyze::{Question, compare_arms, compare_audited};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use record::Record;
use std::collections::BTreeSet;
use std::path::Path;
use units::Percent;

pub(crate) use cost::{cost_of, effect_seen, seen as seen_by, sees_nothing};
pub(crate) use experiment::{is_decided, judged, of_lab, tell_lost, told, watched};
pub(crate) use files::{VerdictFiles, verdict_arguments};

const AFTER_HELP: &str = "\
Examples:
  fathom compare threads=1 threads=4 --run --target test.dat --set random=true --set direct=true --set file-size=64M
  fathom compare engine=sync engine=io_uring --run --target test.dat --set queue-depth=1 --records experiment.jsonl
  fathom compare experiment.jsonl
  fathom compare target=/mnt/a target=/mnt/b --run --profile
  fathom compare target=/mnt/a target=/mnt/b --run --set random=true --set direct=true --set file-size=4G
  fathom compare queue-depth=1 queue-depth=8 queue-depth=32 --run --target test.dat --set engine=io_uring --blocks 20
  fathom compare base.toml candidate.toml --run --metric p99 --records experiment.jsonl
  fathom compare queue-depth=1 queue-depth=16 --run --target /shared/x --set file-size=8G --hosts a,b,c --records experiment.jsonl
  fathom compare s3://bench@http://127.0.0.1:9000 s3://bench@http://127.0.0.1:9001 --run --load get --set users=8 --metric get.p99
  fathom compare experiment.jsonl --metric read.p99 --fail-on undecided -o verdict.json -o summary.md -o junit.xml --card card.png

Two files of records that are no experiment are shown side by side, without a verdict: only where the order of the runs
was drawn by lot is anything known of the error.

--profile makes a file of its own in each directory and removes it afterwards, also after Ctrl-C; a file or device that exists is only read.
Its rows run exactly --blocks times [default: 10].

-o writes the verdicts as data (.json), for the summary of a job (.md) or as JUnit (.xml), --annotate says them in the log of a job on
GitHub. Slower fails, --fail-on undecided lets \"cannot tell\" fail as well.

Exit codes: 0 equivalent, faster, or undecided without --fail-on undecided; 3 slower, undecided with it, or a threshold missed; 4 no verdict possible; 1 slots failed; 2 usage; 129, 130 or 143 stopped by a signal";

pub(crate) fn command() -> Command {
    let command = Command::new("compare")
        .about("Gives verdicts between records, or measures settings in randomised blocks until it knows")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("base")
                .required(true)
                .value_name("BASE")
                .value_hint(ValueHint::FilePath)
                .help("Records, or with --run a target (target=/mnt/a), a TOML workload or KEY=VALUE,KEY=VALUE"),
        )
        .arg(
            Arg::new("candidate")
                .value_name("CANDIDATE")
                .value_hint(ValueHint::FilePath)
                .num_args(0..)
                .help("As BASE; with --run several. Without any, BASE holds an experiment and its arms are compared"),
        )
        .arg(switch("run", "Measure BASE and every CANDIDATE; phases of the same name are compared"))
        .arg(
            switch("profile", "With --run: the sides are targets, measured by the rows of `fathom profile`, each target in every block")
                .conflicts_with_all(["set", "target", "slot", "settle", "lead-in"]),
        )
        .arg(
            Arg::new("load")
                .long("load")
                .value_name("SCENARIO")
                .requires("run")
                .conflicts_with("profile")
                .help("With --run: the sides are servers (s3://BUCKET@http://…, http://…) or options of `fathom load SCENARIO`, such as users=8"),
        )
        .arg(switch("quick", "With --profile: fewer rows and shorter slots").conflicts_with("thorough"))
        .arg(switch("thorough", "With --profile: longer slots and a larger file"))
        .arg(Arg::new("size").long("size").value_name("SIZE").help("With --profile: bytes of the file on every target"))
        .args(crate::metric::arguments());
    let command = verdict_arguments(command)
        .arg(
            Arg::new("margin")
                .long("margin")
                .value_name("P")
                .default_value("5")
                .help("Differences below this many percent do not matter"),
        )
        .arg(list(
            "factor",
            "KEY",
            "An option that is meant to differ; with --run, those that differ are",
        ))
        .arg(list(
            "set",
            "KEY=VALUE",
            "With --run: an option of all sides",
        ))
        .arg(path(
            "target",
            "PATH",
            "With --run: the target of all sides",
        ));
    experiment_arguments(command)
}

fn experiment_arguments(command: Command) -> Command {
    let time = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("TIME")
            .default_value(default)
            .help(help)
    };
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").help(help)
    };
    crate::group::add_connected(crate::live::arguments(command))
        .arg(time("slot", "1s", "With --run: measured time of one slot, where the workload gives no end"))
        .arg(time(
            "budget",
            "3m",
            "With --run: start no block after this time, but for the first 8; with --profile the time for everything, by shorter slots",
        ))
        .arg(
            number("blocks", "With --run: exactly so many blocks of every phase, looked at once, instead of stopping when it knows")
                .value_parser(value_parser!(u32)),
        )
        .arg(time("settle", "2s", "With --run: longest wait after a slot that wrote, until its data are on the device"))
        .arg(
            Arg::new("lead-in")
                .long("lead-in")
                .value_name("TIME")
                .help("With --run: longest unmeasured run of a side right before each of its slots, so that it inherits from nobody else; 0: none [default: half a slot, at most 10s]"),
        )
        .arg(
            number("order-seed", "With --run: run in the order of an earlier experiment [default: drawn]").value_parser(value_parser!(u64)),
        )
        .arg(switch(
            "aa",
            "With --run: run BASE twice in every block, to see what differs without a cause; the default with several CANDIDATEs",
        ))
        .arg(switch("no-aa", "With --run: run BASE once in every block").conflicts_with("aa"))
        .arg(path("records", "FILE.jsonl", "With --run: append the records there"))
        .arg(crate::written::force())
}

fn list(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .action(ArgAction::Append)
        .help(help)
}

/// Options that only a measurement has.
const OF_A_RUN: [&str; 22] = [
    "profile",
    "quick",
    "thorough",
    "size",
    "set",
    "target",
    "slot",
    "budget",
    "blocks",
    "settle",
    "lead-in",
    "order-seed",
    "aa",
    "no-aa",
    "records",
    "mpi",
    "lead",
    "max-skew",
    "lost-after",
    "hosts",
    "hostfile",
    "launcher",
];

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let base = matches
        .get_one::<String>("base")
        .cloned()
        .unwrap_or_default();
    let candidates: Vec<String> = matches
        .get_many::<String>("candidate")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let mut question = question(matches)?;
    if matches.get_flag("run") {
        crate::flags::check_mode(matches, "profile", &["quick", "thorough", "size"])?;
        question.metric = crate::metric::asked(matches)?;
        return experiment::run(matches, &base, &candidates, question);
    }
    let given =
        |key: &&str| matches.value_source(key) == Some(clap::parser::ValueSource::CommandLine);
    if let Some(key) = OF_A_RUN.iter().find(|key| given(key)) {
        return Err(Usage(format!(
            "--{key} is about a measurement; add --run, or leave it out to compare records"
        ))
        .into());
    }
    let inputs: Vec<&str> = std::iter::once(&base)
        .chain(&candidates)
        .map(String::as_str)
        .collect();
    let files = VerdictFiles::new(matches, &inputs)?;
    match candidates.as_slice() {
        [] => {
            let records = read(&base)?;
            let asked = of_plan(registered(matches, question, &records)?, &records)?;
            let all: Vec<&Record> = records.iter().collect();
            let mut asked_of = files.quantities(&asked);
            asked_of.try_for_each(|of| kinds::check_records(of, &all))?;
            let found = compare_arms(&records, &asked).map_err(|e| Usage(format!("{base}: {e}")))?;
            files.conclude_arms(&found, &records)
        }
        [candidate] => {
            question.metric = crate::metric::asked(matches)?;
            let sides = read_sides([&base, candidate])?;
            let [a, b] = sides.each_ref().map(|side| side.iter().collect::<Vec<&Record>>());
            let all = [a.as_slice(), &b].concat();
            factors::check(&question.factors, &analyze::factors_between(&a, &b), &all)?;
            let mut asked_of = files.quantities(&question);
            asked_of.try_for_each(|of| kinds::check_records(of, &all))?;
            let (found, findings) = compare_audited(&sides[0], &sides[1], &question);
            let sides = [(base.as_str(), sides[0].as_slice()), (candidate, &sides[1])];
            files.conclude_sides(sides, &found, &findings)
        }
        [_, _, ..] => Err(Usage(
            "records are compared two files at a time, or one file that holds an experiment; with --run there may be several candidates"
                .into(),
        )
        .into()),
    }
}

fn question(matches: &ArgMatches) -> Result<Question> {
    let text = |key: &str| matches.get_one::<String>(key).cloned().unwrap_or_default();
    let metric = crate::metric::named(matches)?;
    let margin = Percent::parse(&text("margin"))
        .map_err(|e| Usage(format!("--margin: {e}")))?
        .0
        / 100.0;
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(Usage(
            "--margin must be above 0: no experiment shows that two things are exactly equal"
                .into(),
        )
        .into());
    }
    let factors: BTreeSet<String> = matches
        .get_many::<String>("factor")
        .map(|keys| keys.cloned().collect())
        .unwrap_or_default();
    Ok(Question {
        metric,
        margin,
        factors,
    })
}

/// What the plan of an experiment asks, unless the command line asks something else, which is said.
fn registered(matches: &ArgMatches, question: Question, records: &[Record]) -> Result<Question> {
    let asked = AskedOfRecords {
        metric: question.metric,
        margin: question.margin,
        words: String::new(),
    };
    let AskedOfRecords { metric, margin, .. } = asked.or_as_registered(matches, records)?;
    Ok(Question {
        metric,
        margin,
        ..question
    })
}

/// In an experiment the options in which arms differ are what its plan compares; those that were
/// asked for must be among them.
pub(crate) fn of_plan(mut question: Question, records: &[Record]) -> Result<Question> {
    let refs: Vec<&Record> = records.iter().collect();
    let arms: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.trial.as_ref().map(|trial| trial.arm.as_str()))
        .collect();
    let mut differing = BTreeSet::new();
    for arm in arms {
        let (of, others): (Vec<&Record>, Vec<&Record>) = refs
            .iter()
            .copied()
            .partition(|record| record.trial.as_ref().is_some_and(|trial| trial.arm == arm));
        differing.extend(analyze::factors_between(&of, &others));
    }
    factors::check(&question.factors, &differing, &refs)?;
    question.factors.extend(differing);
    Ok(question)
}

fn read(file: &str) -> Result<Vec<Record>> {
    if Path::new(file).exists() && crate::records::is_other_data(Path::new(file)) {
        return Err(Usage(format!("{file} holds no records; to measure it, add --run: fathom compare target=A target=B --run")).into());
    }
    let found = record::read_records(Path::new(file)).map_err(|e| {
        Usage(format!(
            "cannot read {e}; settings are measured with --run, records are written by --records"
        ))
    })?;
    crate::records::tell_damage(Path::new(file), &found);
    if found.records.is_empty() {
        return Err(Usage(format!(
            "{file} holds no record; write some with `fathom run … --records {file}`"
        ))
        .into());
    }
    Ok(found.records)
}

/// Two sides, in neither of which stands what a run had kept whose record is in the other.
fn read_sides(files: [&str; 2]) -> Result<[Vec<Record>; 2]> {
    let [base, candidate] = files;
    let read = vec![
        (Path::new(base), read_side(base)?),
        (Path::new(candidate), read_side(candidate)?),
    ];
    let mut sides = crate::records::counting(read).into_iter();
    let mut side = |file: &str| -> Result<Vec<Record>> {
        let records: Vec<(usize, Record)> = sides.next().unwrap_or_default();
        if records.is_empty() {
            return Err(Usage(format!(
                "{file} holds nothing of its own: the records of its runs are on the other side"
            ))
            .into());
        }
        Ok(records.into_iter().map(|(_, record)| record).collect())
    };
    Ok([side(base)?, side(candidate)?])
}

/// One side of two: the records of one arm.
fn read_side(file: &str) -> Result<Vec<Record>> {
    let records = read(file)?;
    let arms: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.trial.as_ref().map(|trial| trial.arm.as_str()))
        .collect();
    if arms.len() > 1 {
        let names: Vec<&str> = arms.into_iter().collect();
        return Err(Usage(format!(
            "{file} holds several arms of an experiment ({}), so it is no side of a comparison; compare its arms with `fathom compare {file}`",
            names.join(", ")
        ))
        .into());
    }
    Ok(records)
}
