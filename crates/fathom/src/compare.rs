//! `fathom compare`: a verdict between two sets of records, or between two settings that it measures itself.

use crate::context;
use crate::exit::Usage;
use crate::run::{path, switch, time};
use analyze::{Comparison, Metric, Question, compare};
use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use engine::Clock;
use record::{Record, Role, Status, Stopping, Store, Trial};
use run::{NoWatch, execute};
use stats::{LOOKS, Thresholds, Verdict, rng::Rng};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use units::{Nanos, Percent};
use workload::{Phase, Workload, parse_config, settings};

const AFTER_HELP: &str = "\
Examples:
  fathom compare monday.jsonl tuesday.jsonl
  fathom compare engine=sync engine=mmap --run --target test.dat --set random=true --set file-size=1G
  fathom compare base.toml candidate.toml --run --metric p99

Exit codes: 0 equivalent, faster or undecided; 3 slower; 4 no verdict possible; 2 usage";

pub(crate) fn command() -> Command {
    Command::new("compare")
        .about("Gives a verdict between two sets of records, or measures two settings in randomised blocks until it knows")
        .after_help(AFTER_HELP)
        .arg(Arg::new("base").required(true).value_name("BASE").help("Records, or with --run a TOML workload or KEY=VALUE,KEY=VALUE"))
        .arg(Arg::new("candidate").required(true).value_name("CANDIDATE").help("As BASE"))
        .arg(switch("run", "Measure BASE and CANDIDATE"))
        .arg(
            Arg::new("metric").long("metric").value_name("NAME").default_value("iops").help("iops, throughput, mean, p50, p99, p99.9, cpu"),
        )
        .arg(Arg::new("margin").long("margin").value_name("P").default_value("5").help("Differences below this many percent do not matter"))
        .arg(list("factor", "KEY", "An option that is meant to differ; with --run, those that differ are"))
        .arg(list("set", "KEY=VALUE", "With --run: an option of both sides"))
        .arg(path("target", "PATH", "With --run: the target of both sides"))
        .arg(
            Arg::new("slot")
                .long("slot")
                .value_name("TIME")
                .default_value("1s")
                .help("With --run: measured time of one slot, where the workload gives no end"),
        )
        .arg(Arg::new("budget").long("budget").value_name("TIME").default_value("3m").help("With --run: start no block after this time"))
        .arg(
            Arg::new("order-seed")
                .long("order-seed")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .default_value("1")
                .help("With --run: seed of the order"),
        )
        .arg(path("records", "FILE.jsonl", "With --run: append the records there"))
}

fn list(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let name = |key: &str| matches.get_one::<String>(key).cloned().unwrap_or_default();
    let (base, candidate) = (name("base"), name("candidate"));
    let metric = name("metric");
    let metric = Metric::parse(&metric)
        .ok_or_else(|| Usage(format!("--metric {metric:?} is not iops, throughput, mean, cpu, or pNN such as p99")))?;
    let margin = Percent::parse(&name("margin")).map_err(|e| Usage(format!("--margin: {e}")))?.0 / 100.0;
    let factors: BTreeSet<String> = matches.get_many::<String>("factor").map(|keys| keys.cloned().collect()).unwrap_or_default();
    let mut question = Question { metric, margin, factors };
    let found = if matches.get_flag("run") {
        let sides = [workload(matches, &base)?, workload(matches, &candidate)?];
        question.factors.extend(differing(&sides));
        Experiment::new(matches, sides)?.run(&question)?
    } else {
        compare(&read(&base)?, &read(&candidate)?, &question)
    };
    std::io::stdout().write_all(report::comparison_text(&base, &candidate, &found).as_bytes())?;
    Ok(exit_code(&found))
}

fn exit_code(found: &Comparison) -> i32 {
    let code = |verdict: &Verdict| match verdict {
        Verdict::Slower { .. } => 3,
        Verdict::Invalid(_) => 4,
        Verdict::Equivalent { .. } | Verdict::Faster { .. } | Verdict::Inconclusive { .. } => 0,
    };
    found.rows.iter().map(|row| code(&row.verdict)).max().unwrap_or(4)
}

#[allow(clippy::print_stderr, reason = "damaged lines are told beside the result")]
fn read(file: &str) -> Result<Vec<Record>> {
    let found = record::read_records(Path::new(file)).map_err(|e| Usage(e.to_string()))?;
    for damage in &found.damaged {
        eprintln!("warning: {file}:{}: {}", damage.line, damage.reason);
    }
    if found.records.is_empty() {
        return Err(Usage(format!("{file} holds no record; write some with `fathom run … --records {file}`")).into());
    }
    Ok(found.records)
}

/// One side of an experiment: common settings, then those of the side.
fn workload(matches: &ArgMatches, side: &str) -> Result<Workload> {
    let mut common = Workload::default();
    common.targets.extend(matches.get_one::<PathBuf>("target").cloned());
    for pair in matches.get_many::<String>("set").into_iter().flatten() {
        set(&mut common, pair)?;
    }
    if Path::new(side).is_file() {
        let text = std::fs::read_to_string(side).with_context(|| side.to_owned())?;
        let mut phases = parse_config(&text, &common, &[]).with_context(|| side.to_owned())?;
        let only = phases.pop().and_then(|mut stage| stage.0.pop()).filter(|_| phases.is_empty());
        return only.map(|phase| phase.workload).ok_or_else(|| Usage(format!("{side} has several phases; compare one at a time")).into());
    }
    for pair in pairs(side) {
        set(&mut common, &pair)?;
    }
    Ok(common)
}

/// `KEY=VALUE,KEY=VALUE`; a comma inside a value is one that no option follows.
fn pairs(side: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in side.split(',') {
        let begins_an_option = part.split_once('=').is_some_and(|(key, _)| settings::find(key.trim()).is_some());
        match out.last_mut() {
            Some(last) if !begins_an_option => {
                last.push(',');
                last.push_str(part);
            }
            Some(_) | None => out.push(part.to_owned()),
        }
    }
    out
}

fn set(workload: &mut Workload, pair: &str) -> Result<()> {
    let (key, value) =
        pair.split_once('=').ok_or_else(|| Usage(format!("{pair:?} is neither a file nor KEY=VALUE; example: engine=io_uring")))?;
    Ok(settings::apply(workload, key.trim(), value.trim())?)
}

/// Options in which the two sides differ: what is compared.
fn differing(sides: &[Workload; 2]) -> Vec<String> {
    let [a, b] = [settings::shown(&sides[0]), settings::shown(&sides[1])];
    let mut keys: Vec<String> = a
        .iter()
        .filter(|pair| !b.contains(pair))
        .chain(b.iter().filter(|pair| !a.contains(pair)))
        .map(|(key, _)| (*key).to_owned())
        .collect();
    // What follows from the engine is part of it.
    if keys.iter().any(|key| key == "engine" || key == "queue-depth") {
        keys.extend(
            ["engine", "fixed-buffers", "fixed-files", "no-fixed-buffers", "no-fixed-files", "submit-batch", "reap-batch"]
                .map(String::from),
        );
    }
    keys
}

/// Two settings measured in blocks of random order until the interval decides or the budget ends.
struct Experiment {
    sides: [Workload; 2],
    budget: Nanos,
    seed: u64,
    store: Option<Store>,
}

impl Experiment {
    fn new(matches: &ArgMatches, mut sides: [Workload; 2]) -> Result<Self> {
        let slot = time(matches, "slot")?.unwrap_or(Nanos(1_000_000_000));
        for side in &mut sides {
            if side.stop.duration.is_none() && !side.stop.complete && side.stop.total_bytes.is_none() {
                side.stop.duration = Some(slot);
            }
        }
        let store = matches.get_one::<PathBuf>("records").map(|file| Store::open(file)).transpose()?;
        let seed = matches.get_one::<u64>("order-seed").copied().unwrap_or(1);
        Ok(Self { sides, budget: time(matches, "budget")?.unwrap_or(Nanos(180_000_000_000)), seed, store })
    }

    /// Runs blocks; looks at the numbers only where the thresholds allow it.
    fn run(mut self, question: &Question) -> Result<Comparison> {
        engine::sys::catch_signals();
        let context = context::context(1_000_000_000)?;
        let start = context.clock.now();
        let mut rng = Rng::new(self.seed);
        let mut records: [Vec<Record>; 2] = [Vec::new(), Vec::new()];
        let last = *LOOKS.last().unwrap_or(&90);
        for block in 0..last {
            let order = if rng.coin() { [0, 1] } else { [1, 0] };
            let mut complete = [None, None];
            for (position, arm) in (0..).zip(order) {
                let mut workload = self.sides[arm].clone();
                if !workload.verify.on {
                    // Both sides of a block draw the same operations, every block others.
                    workload.seed = workload.seed.wrapping_add(u64::from(block));
                }
                let phase = Phase { name: "run".into(), workload };
                let mut record = execute(&phase, &context, &mut NoWatch)?;
                let arm_name = ["base", "candidate"][arm].to_owned();
                record.trial = Some(Trial {
                    plan: format!("open/{}", self.seed),
                    arm: arm_name,
                    row: "run".into(),
                    block,
                    slot: 2 * block + position,
                    role: [Role::Baseline, Role::Candidate][arm],
                    stopping: Stopping::Open,
                });
                if let Some(store) = &mut self.store {
                    store.append(&record)?;
                }
                complete[arm] = Some(record);
            }
            for (side, record) in records.iter_mut().zip(complete) {
                side.extend(record);
            }
            if engine::sys::caught_signal().is_some() || records.iter().flatten().any(|record| record.outcome.status != Status::Ok) {
                break;
            }
            let may_look = LOOKS.contains(&(block + 1));
            if may_look && decided(&compare(&records[0], &records[1], question)) {
                break;
            }
            if context.clock.now() - start > self.budget.0 && block + 1 >= 8 {
                break;
            }
        }
        // Beyond the last permitted look nothing may be looked at: the thresholds hold at the looks alone.
        let measured = records[0].len().min(records[1].len());
        let looked = Thresholds::open().last_look(measured).unwrap_or(measured);
        Ok(compare(&records[0][..looked], &records[1][..looked], question))
    }
}

fn decided(found: &Comparison) -> bool {
    found.rows.iter().all(|row| !matches!(row.verdict, Verdict::Inconclusive { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_inside_a_value_belongs_to_it() {
        assert_eq!(
            pairs("engine=sim,sim-model=latency=1us,servers=4,queue-depth=2"),
            ["engine=sim", "sim-model=latency=1us,servers=4", "queue-depth=2"]
        );
    }
}
