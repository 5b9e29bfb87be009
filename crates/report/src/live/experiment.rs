//! An experiment that is under way.

use super::{LiveState, NowTable, about};
use crate::comparison::{percent, shown};
use crate::plot::{IntervalLine, Reference, ValueUnit, intervals};
use crate::verdicts::{sign, told};
use analyze::{ArmStanding, ArmsComparison, Standing};
use record::{SlotPlace, Stopping};

/// What a look has judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// After how many passes.
    pub passes: u32,
    /// The arms with their verdicts in a word or two.
    pub verdicts: Vec<(String, String)>,
}

impl Looked {
    /// The verdicts of a look after so many passes.
    #[must_use]
    pub fn of(found: &ArmsComparison, passes: u32) -> Self {
        let verdict = |of: &analyze::ArmComparison| {
            let verdict = &of.pooled.verdict;
            let text = format!("{} {}", sign(verdict), told(verdict));
            (of.candidate.clone(), text)
        };
        Self {
            passes,
            verdicts: found.candidates.iter().map(verdict).collect(),
        }
    }
}

/// What is known of an experiment while it runs.
#[derive(Clone, Copy)]
pub struct ExperimentNow<'a> {
    pub standing: &'a Standing,
    /// The slot that runs; `None` before the first and after the last.
    pub place: Option<&'a SlotPlace<'a>>,
    /// The last look.
    pub looked: Option<&'a Looked>,
    /// Differences below this ratio do not matter.
    pub margin: f64,
}

impl ExperimentNow<'_> {
    /// What is shown of it.
    #[must_use]
    pub fn now(&self) -> LiveState {
        let arms = self.standing.arms();
        LiveState {
            running: self.running(),
            course: self.course().join("; "),
            share: self.share(),
            left_out: self.left_out(),
            note: self.note(&arms),
            picture: self.picture(&arms),
            table: self.table(&arms),
        }
    }

    /// A line of a log at the end of a pass.
    #[must_use]
    pub fn line(&self) -> String {
        let plan = self.standing.plan();
        let arm = |of: &ArmStanding| {
            let change = of.effect.as_ref().map(shown);
            let change = change.map_or_else(String::new, |change| format!(" {change}"));
            let verdict = match of.is_control {
                true => "control".to_owned(),
                false => self.verdict(&of.arm),
            };
            format!("{}{change}, {verdict}", of.arm)
        };
        let arms: Vec<String> = self.standing.arms().iter().map(arm).collect();
        let passes = format!("pass {} of {}", self.standing.passes(), most(plan));
        let left_out = self.left_out().into_iter();
        let left_out = left_out.map(|cell| format!("left out: {cell}"));
        let parts = [passes].into_iter().chain(arms).chain(left_out);
        let parts = parts.chain(self.course());
        units::on_one_line(&parts.collect::<Vec<_>>().join("; "))
    }

    fn left_out(&self) -> Vec<String> {
        let cells = self.standing.lost().iter();
        cells
            .map(|cell| units::on_one_line(&cell.to_string()))
            .collect()
    }

    fn running(&self) -> String {
        let plan = self.standing.plan();
        let Some(place) = self.place else {
            let passes = self.standing.passes();
            return format!("{passes} of {} passes complete", most(plan));
        };
        let row = if plan.rows.len() > 1 {
            format!(", {}", place.row)
        } else {
            String::new()
        };
        let again = if place.attempt > 0 {
            format!(" (attempt {})", place.attempt + 1)
        } else {
            String::new()
        };
        format!(
            "pass {} of {}{again}, slot {}: {}{row}",
            place.pass + 1,
            most(plan),
            place.slot + 1,
            place.arm
        )
    }

    /// What has passed, what is left, and when it is judged.
    fn course(&self) -> Vec<String> {
        let Some(place) = self.place else {
            return Vec::new();
        };
        let left = match self.left_ns(place) {
            Some(left) => format!("at most {} left", about(left)),
            None => format!("at most {} by the budget", about(place.budget_ns)),
        };
        let mut out = vec![format!("{} so far", about(place.elapsed_ns)), left];
        out.extend(self.look(place));
        out
    }

    /// What the slots until then take at the pace of those before.
    fn until_ns(&self, place: &SlotPlace<'_>, slots: u32) -> Option<u64> {
        let pace = place.elapsed_ns.checked_div(place.slot.into())?;
        Some(pace.saturating_mul(slots.saturating_sub(place.slot).into()))
    }

    /// Until the budget is spent or the last slot has run, whichever comes first, but not before
    /// the least passes have.
    fn left_ns(&self, place: &SlotPlace<'_>) -> Option<u64> {
        let plan = self.standing.plan();
        let least = plan.least_passes.saturating_mul(place.slots_per_pass);
        let to_least = self.until_ns(place, least)?;
        let to_last = self.until_ns(place, place.planned_slots)?;
        let budget = place.budget_ns.saturating_sub(place.elapsed_ns);
        Some(to_last.min(budget.max(to_least)))
    }

    fn look(&self, place: &SlotPlace<'_>) -> Option<String> {
        let plan = self.standing.plan();
        plan.question.as_ref()?;
        let next = self.standing.next_look()?;
        let when = self
            .until_ns(place, next.saturating_mul(place.slots_per_pass))
            .map_or_else(String::new, |ns| format!(", in about {}", about(ns)));
        Some(match plan.stopping {
            Stopping::Fixed => format!("judged after all {next} passes{when}"),
            Stopping::Open | Stopping::EachPass => format!("next look after pass {next}{when}"),
        })
    }

    fn share(&self) -> Option<f64> {
        let place = self.place?;
        let slots = f64::from(place.slot) / f64::from(place.planned_slots.max(1));
        let plan = self.standing.plan();
        let is_least_done = place.pass >= plan.least_passes;
        let time = place.elapsed_ns as f64 / place.budget_ns.max(1) as f64;
        Some(if is_least_done {
            slots.max(time)
        } else {
            slots
        })
    }

    fn verdict(&self, arm: &str) -> String {
        let known = self.looked.and_then(|looked| {
            let (_, text) = looked.verdicts.iter().find(|(name, _)| name == arm)?;
            Some(format!("{text} (after {})", looked.passes))
        });
        // Where nothing is measured any more, the answer follows.
        let is_over = self.place.is_none() && self.standing.passes() > 0;
        let unknown = match is_over {
            true => "judged below",
            false => "not judged yet",
        };
        known.unwrap_or_else(|| unknown.to_owned())
    }

    fn table(&self, arms: &[ArmStanding]) -> NowTable {
        let head = |text: &str, priority| (text.to_owned(), priority);
        let metric = self.standing.metric().name();
        let line = |of: &ArmStanding| {
            let verdict = match of.is_control {
                true => "the baseline again".to_owned(),
                false => self.verdict(&of.arm),
            };
            let change = of.effect.as_ref().map_or_else(|| "-".into(), shown);
            vec![of.arm.clone(), change, of.pairs.to_string(), verdict]
        };
        NowTable {
            heads: vec![
                head("Arm", 9),
                (format!("Change of {metric} so far"), 6),
                head("Blocks", 2),
                head("Verdict", 8),
            ],
            lines: arms.iter().map(line).collect(),
            urgent: Vec::new(),
            current: self
                .place
                .and_then(|place| arms.iter().position(|of| of.arm == place.arm)),
        }
    }

    fn note(&self, arms: &[ArmStanding]) -> String {
        let plan = self.standing.plan();
        let base = plan
            .arms
            .iter()
            .find(|arm| arm.role == record::Role::Baseline);
        let (Some(base), false) = (base, arms.is_empty()) else {
            return String::new();
        };
        let rows = match plan.rows.len() {
            1 => String::new(),
            n => format!(" over all {n} rows"),
        };
        let wide = match plan.stopping {
            Stopping::Fixed => "",
            Stopping::Open | Stopping::EachPass => {
                ", each interval as wide as looking again and again demands"
            }
        };
        format!(
            "Against {}{rows}{wide}; below {} no difference matters.",
            base.name,
            percent(self.margin)
        )
    }

    fn picture(&self, arms: &[ArmStanding]) -> Option<String> {
        let line = |of: &ArmStanding| {
            let effect = of.effect.as_ref()?;
            let ends = (effect.low.exp_m1(), effect.high.exp_m1());
            let arm = self
                .standing
                .plan()
                .arms
                .iter()
                .position(|arm| arm.name == of.arm)?;
            Some(IntervalLine {
                arm,
                name: of.arm.clone(),
                point: effect.point.exp_m1(),
                interval: Some(ends).filter(|(low, high)| low.is_finite() && high.is_finite()),
                text: shown(effect),
            })
        };
        let lines: Vec<IntervalLine> = arms.iter().filter_map(line).collect();
        let reference = Reference {
            at: Some(0.0),
            band: Some((1.0 / (1.0 + self.margin) - 1.0, self.margin)),
        };
        let metric = self.standing.metric().title();
        intervals(
            &format!("Change of {metric} of each arm against the baseline so far"),
            "change against the baseline",
            ValueUnit::Change,
            &lines,
            &reference,
        )
    }
}

fn most(plan: &record::PlanFacts) -> String {
    match plan.stopping {
        Stopping::Fixed => plan.most_passes.to_string(),
        Stopping::Open | Stopping::EachPass if plan.least_passes < plan.most_passes => {
            format!("at most {}", plan.most_passes)
        }
        Stopping::Open | Stopping::EachPass => plan.most_passes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{
        PlanFacts, PlannedArm, PlannedQuestion, PlannedRow, Quantity, Record, Role, Trial,
    };

    fn standing(stopping: Stopping, blocks: u32) -> Standing {
        let arm = |name: &str, role| PlannedArm {
            name: name.into(),
            role,
            ..PlannedArm::default()
        };
        let plan = PlanFacts {
            arms: vec![arm("a", Role::Baseline), arm("b", Role::Candidate)],
            rows: vec![PlannedRow {
                name: "run".into(),
                ..PlannedRow::default()
            }],
            stopping,
            least_passes: 8,
            most_passes: if stopping == Stopping::Fixed { 12 } else { 90 },
            question: Some(PlannedQuestion::default()),
            ..PlanFacts::default()
        };
        let mut out = Standing::new(&plan, &Quantity::named("time"));
        for block in 0..blocks {
            for arm in 0..2 {
                let trial = Trial {
                    arm_number: arm,
                    block,
                    slot: 2 * block + (arm + block) % 2,
                    ..Trial::default()
                };
                out.add(&Record {
                    elapsed_ns: 1_000_000_000
                        + u64::from(block) * 1_000_000
                        + 200_000_000 * u64::from(arm),
                    trial: Some(trial),
                    ..Record::default()
                });
            }
        }
        out
    }

    fn place(slot: u32, most_passes: u32) -> SlotPlace<'static> {
        SlotPlace {
            row: "run",
            arm: "b",
            pass: slot / 2,
            attempt: 0,
            slot,
            planned_slots: 2 * most_passes,
            slots_per_pass: 2,
            elapsed_ns: u64::from(slot) * 1_000_000_000,
            budget_ns: 60_000_000_000,
        }
    }

    #[test]
    fn before_the_first_look_nothing_is_judged() {
        let standing = standing(Stopping::Open, 3);
        let now = ExperimentNow {
            standing: &standing,
            place: Some(&place(6, 90)),
            looked: None,
            margin: 0.05,
        };
        insta::assert_snapshot!(now.now().text(80, 24), @r#"
        ░░░░░░░░░░░░░░░░░░░░░░░░ pass 4 of at most 90, slot 7: b
        6 s so far; at most 54 s left; next look after pass 8, in about 10 s
        Arm  Change of elapsed time so far  Blocks         Verdict
        b        +20.0 % [no interval yet]       3  not judged yet
        Against a, each interval as wide as looking again and again demands; below 5.0 %
        no difference matters.
        "#);
        insta::assert_snapshot!(now.line(), @"pass 3 of at most 90; b +20.0 % [no interval yet], not judged yet; 6 s so far; at most 54 s left; next look after pass 8, in about 10 s");
    }

    #[test]
    fn what_a_look_has_judged_is_said_with_its_pass_and_the_interval_goes_on() {
        let standing = standing(Stopping::Open, 9);
        let looked = Looked {
            passes: 8,
            verdicts: vec![("b".into(), "▼ slower".into())],
        };
        let now = ExperimentNow {
            standing: &standing,
            place: Some(&place(18, 90)),
            looked: Some(&looked),
            margin: 0.05,
        };
        insta::assert_snapshot!(now.now().text(80, 24), @r#"
        ███████░░░░░░░░░░░░░░░░░ pass 10 of at most 90, slot 19: b
        18 s so far; at most 42 s left; next look after pass 10, in about 2 s
        Arm  Change of elapsed time so far  Blocks             Verdict
        b           +19.9 % [+19.8, +20.0]       9  ▼ slower (after 8)
        Against a, each interval as wide as looking again and again demands; below 5.0 %
        no difference matters.
        "#);
    }

    #[test]
    fn a_fixed_length_is_judged_at_its_end_alone() {
        let standing = standing(Stopping::Fixed, 9);
        let now = ExperimentNow {
            standing: &standing,
            place: Some(&place(18, 12)),
            looked: None,
            margin: 0.05,
        };
        insta::assert_snapshot!(now.now().text(80, 24), @r#"
        ██████████████████░░░░░░ pass 10 of 12, slot 19: b
        18 s so far; at most 6 s left; judged after all 12 passes, in about 6 s
        Arm  Change of elapsed time so far  Blocks         Verdict
        b           +19.9 % [+19.9, +20.0]       9  not judged yet
        Against a; below 5.0 % no difference matters.
        "#);
    }
}
