//! One command with two results has a spread that no single result shows.

use super::{Experiment, Located, Slot, grouped, level, names, repetitions, same_place, settings};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::figures::figures;
use record::Record;
use units::ValueUnit;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "same_setup_two_numbers",
    catalogue_number: Some(43),
    severity: Severity::Warning,
    title: "One setup gave two results",
    text: "\
Records of one place and tool with the same settings (all effective options but the
seed), the same kinds of operations and fewer than six repetitions: a spread of more than
10 % between the highest and the lowest result is found.
5,960 and 4,000 a second from one command are a fact about the noise: 33 %. No
difference below it between other single runs of this setup means anything, whatever was
changed between them.
What to do: find out what changed between the runs (time of day, credits, free space),
and repeat in blocks until the interval is known.",
    checks: &[Check::Together(check)],
};

const MOST_SPREAD: f64 = 1.1;
/// From here on repetitions have an interval that says it better.
const ENOUGH: usize = 6;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let described: Vec<_> = experiment
        .slots
        .iter()
        .filter(|(_, r)| {
            ["block-size", "threads"]
                .iter()
                .all(|key| r.effective.contains_key(*key))
        })
        .copied()
        .collect();
    alike(&described)
        .into_iter()
        .filter(|slots| slots.len() > 1 && repetitions(slots) < ENOUGH)
        .filter_map(|slots| {
            let levels: Vec<(&str, f64)> = slots.iter().filter_map(|(_, record)| level(record)).collect();
            let unit = levels.first()?.0;
            let of = levels.iter().filter(|(other, _)| *other == unit).map(|(_, rate)| *rate);
            let (low, high) = of.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
            (high > low * MOST_SPREAD).then(|| {
                let shown = match unit {
                    "bytes" => ValueUnit::BytesPerSecond,
                    "stated" => ValueUnit::Ratio,
                    _ => ValueUnit::PerSecond,
                };
                let show = |rate: f64| shown.text(rate);
                let change = (1.0 - low / high) * 100.0;
                let message = format!("the same setup gave {} and {}, {change:.0}% less ({})", show(high), show(low), names(&slots));
                let advice = "no difference below this spread means anything: find out what changed between the runs, and repeat in blocks";
                RULE.about(None, Severity::Warning, message, advice)
            })
        })
        .collect()
}

/// Slots with the same setup, in the order of their first.
fn alike<'a>(slots: &[Slot<'a>]) -> Vec<Vec<Slot<'a>>> {
    let mut out: Vec<Vec<Slot<'a>>> = Vec::new();
    for (_, slots) in grouped(slots, setup) {
        let begun = out.len();
        for slot in slots {
            let same =
                |of: &&mut Vec<Slot<'a>>| of.iter().take(1).any(|of| same_place(of.1, slot.1));
            match out[begun..].iter_mut().find(same) {
                Some(of) => of.push(slot),
                None => out.push(vec![slot]),
            }
        }
    }
    out.sort_by_key(|slots| slots.first().map(|slot| slot.0));
    out
}

/// A record as far as it decides what is measured, but for the machine.
fn setup(record: &Record) -> impl Ord + Clone {
    let source = record.source.as_ref();
    let trial = record.trial.as_ref();
    let paths = record.targets.iter().map(|target| target.path.as_str());
    (
        trial.map(|trial| (trial.arm.as_str(), trial.row.as_str())),
        kinds(record),
        settings(record, &["seed"]),
        paths.collect::<Vec<_>>(),
        source.map(|source| (source.tool.as_str(), source.version.as_deref())),
    )
}

/// What was counted: phases of one run share every setting and are other work.
fn kinds(record: &Record) -> Vec<&str> {
    figures(record).map(|figures| figures.kind).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn run(per_second: f64) -> Record {
        let mut record = quoted(
            "write",
            Summary {
                per_second: Some(per_second),
                ..Summary::default()
            },
        );
        for (key, value) in [("block-size", "4k"), ("threads", "4"), ("direct", "true")] {
            set(&mut record, key, value);
        }
        record.name = "direct".into();
        record
    }

    #[test]
    fn two_results_of_one_command_are_found() {
        assert_eq!(
            only(&run_on(check, &[run(5960.0), run(4000.0)])),
            "the same setup gave 5.96 K/s and 4.00 K/s, 33% less (direct)"
        );
    }

    #[test]
    fn phases_of_one_run_are_not_held_against_each_other() {
        let mut made = run(5550.0);
        made.summaries = [(
            "mkdirs".to_owned(),
            Summary {
                per_second: Some(5550.0),
                ..Summary::default()
            },
        )]
        .into();
        assert_eq!(run_on(check, &[made, run(2790.0)]), []);
    }

    #[test]
    fn scatter_other_settings_and_many_repetitions_are_silent() {
        assert_eq!(run_on(check, &[run(5960.0), run(5700.0)]), []);
        let mut buffered = run(363_000.0);
        set(&mut buffered, "direct", "false");
        assert_eq!(run_on(check, &[run(5960.0), buffered]), []);
        let many: Vec<Record> = (0..6).map(|i| run(4000.0 + 400.0 * f64::from(i))).collect();
        assert_eq!(run_on(check, &many), []);
    }
}
