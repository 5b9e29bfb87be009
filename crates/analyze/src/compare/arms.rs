//! An experiment of several arms: every candidate against the baseline, as one family.
//!
//! The verdict on a candidate is that over all rows together, decided by Holm's step over the
//! candidates at the permitted looks. Single rows are a second family, by Benjamini and Hochberg;
//! one that it does not find different has an interval and no verdict of difference.

mod able;
mod levels;
mod machine;

use super::accused::{accused, bar, findings, within};
use super::cast::{Cast, ControlCheck, NoExperiment, with_rows_in_order};
use super::lost::{Lost, unable};
use super::pairs::{Block, Slots, Turns, complete, differences};
use super::unplaced::{cannot_be_placed, in_windows, seen_carry_over};
use super::{
    Comparison, Ground, Judgement, PermittedLooks, Question, RowComparison, aliased, judged,
    row_of, said_of_aside, set_aside, unlike_units,
};
use crate::{Located, audit};
use record::{LostCell, Record};
use stats::{Drift, Reason, Verdict, benjamini_hochberg, holm, kruskal_wallis, mde, signed_rank};
use std::collections::{BTreeMap, BTreeSet};
use units::counted;

/// The chance of any false difference among the candidates, and the share of false ones among the
/// rows found different.
pub(super) const ALPHA: f64 = 0.05;
/// The name of the comparison over all rows.
const ALL_ROWS: &str = "all rows";
/// All candidates of one experiment against its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmsComparison {
    pub question: Question,
    pub base: String,
    /// In the order of their names.
    pub candidates: Vec<ArmComparison>,
    pub control: Option<ControlCheck>,
    /// What the machine did over the judged blocks; `None` below eight.
    pub drift: Option<Drift>,
    /// What the audit says that the comparison does not answer itself: of severity "invalid" and
    /// "warning", the gravest first.
    pub findings: Vec<Located>,
    /// What could not run, and was left out while the others went on.
    pub lost: Vec<LostCell>,
    /// How many records the experiment has.
    pub records: usize,
    /// Records that were left out, and why.
    pub left_out: Vec<String>,
}

/// One candidate against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmComparison {
    pub candidate: String,
    /// Over all rows together; with one row, that row.
    pub pooled: RowComparison,
    /// Row by row.
    pub comparison: Comparison,
    /// The p of "the effect is the same in all rows" (Kruskal-Wallis, Holm over candidates);
    /// `None` with one row.
    pub depends_on_row: Option<f64>,
}

/// Compares the arms of one experiment by their roles.
///
/// # Errors
/// The records are not those of one experiment with one baseline and a candidate.
pub fn compare_arms(
    records: &[Record],
    question: &Question,
) -> Result<ArmsComparison, NoExperiment> {
    compare_arms_audited(records, question, audit(records))
}

/// As [`compare_arms`], with what [`audit`] said of these records.
pub(crate) fn compare_arms_audited(
    records: &[Record],
    question: &Question,
    found: Vec<Located>,
) -> Result<ArmsComparison, NoExperiment> {
    let question = &question.in_units_of(records);
    let cast = Cast::of(records)?;
    let lost = Lost::of(records, &cast);
    let all = || {
        records
            .iter()
            .filter(|record| lost.counts(record))
            .filter_map(|record| Some((record.trial.as_ref()?.arm.as_str(), record)))
            .filter(|(arm, _)| cast.is_usable(arm))
    };
    let blocks = cast.arms().map_or_else(Vec::new, |arms| {
        complete(all(), |row| lost.arms_in(row, arms))
    });
    let course = Course::of(records, &cast, &lost, blocks, question);
    let findings = findings(found, question);
    let control = course.control();
    let drift = course
        .drift()
        .filter(|_| cannot_be_placed(records).is_none());
    let common = accused(&findings, |_| false)
        .or_else(|| control.as_ref().and_then(ControlCheck::failure))
        .or_else(|| unlike_units(&question.metric, records))
        .or_else(|| course.too_early())
        .or_else(|| seen_carry_over(drift.as_ref()));
    let mut candidates = course.candidates(common.as_ref());
    course.bar_accused_rows(&mut candidates, &findings);
    let mut left_out: Vec<String> = course.left_out.clone();
    left_out.extend(
        candidates
            .iter()
            .flat_map(|of| of.comparison.left_out.iter().cloned()),
    );
    left_out.sort();
    left_out.dedup();
    Ok(ArmsComparison {
        question: question.clone(),
        base: cast.base.to_owned(),
        candidates: with_rows_in_order(records, candidates),
        control,
        drift,
        findings,
        lost: lost.cells().to_vec(),
        records: records.len(),
        left_out,
    })
}

/// The complete blocks of an experiment, cut at its last permitted look.
struct Course<'a> {
    cast: &'a Cast<'a>,
    lost: &'a Lost<'a>,
    question: &'a Question,
    records: &'a [Record],
    /// By open row, in the order of their numbers.
    rows: BTreeMap<&'a str, Vec<Slots<'a>>>,
    /// Complete passes.
    measured: usize,
    /// Passes that are judged.
    looked: usize,
    ending: PermittedLooks,
    left_out: Vec<String>,
}

impl<'a> Course<'a> {
    fn of(
        records: &'a [Record],
        cast: &'a Cast<'a>,
        lost: &'a Lost<'a>,
        blocks: Vec<Slots<'a>>,
        question: &'a Question,
    ) -> Self {
        let mut rows: BTreeMap<&str, Vec<Slots<'_>>> = records
            .iter()
            .map(|record| (row_of(record), Vec::new()))
            .collect();
        rows.retain(|row, _| !lost.is_closed(row));
        let aside = set_aside(
            rows.keys().copied(),
            &records.iter().collect::<Vec<_>>(),
            &question.metric,
        );
        let in_blocks = blocks.iter().map(Slots::len).sum::<usize>();
        for slots in blocks {
            let row = slots.values().next().map_or("", |record| row_of(record));
            rows.entry(row).or_default().push(slots);
        }
        rows.retain(|row, _| !aside.contains(row));
        let measured = rows.values().map(Vec::len).min().unwrap_or(0);
        let ending = PermittedLooks::of(records.iter(), measured);
        let looked = if ending.at_looks {
            let last = ending.looks(rows.len(), measured).last().copied();
            last.unwrap_or(0) as usize
        } else {
            measured
        };
        let ok = records
            .iter()
            .filter(|record| record.outcome.status == record::Status::Ok && lost.counts(record))
            .count();
        let incomplete = (ok > in_blocks).then(|| {
            format!(
                "{} of blocks that were not completed",
                counted(ok - in_blocks, "good record")
            )
        });
        let left_out = aside
            .iter()
            .map(|row| said_of_aside(row, &question.metric))
            .chain(incomplete)
            .chain(lost.said_of_slots())
            .collect();
        Self {
            cast,
            lost,
            question,
            records,
            rows,
            measured,
            looked,
            ending,
            left_out,
        }
    }

    fn judged_blocks(&self) -> impl Iterator<Item = (usize, &Slots<'a>)> {
        self.rows
            .values()
            .enumerate()
            .flat_map(|(row, blocks)| blocks[..self.looked].iter().map(move |slots| (row, slots)))
    }

    fn too_early(&self) -> Option<Reason> {
        (self.ending.at_looks && self.looked == 0).then(|| self.ending.too_early(self.measured))
    }

    /// A severe finding about a judged record leaves its row without a verdict, and all rows
    /// together, but not the others: they are of other records.
    fn bar_accused_rows(&self, candidates: &mut [ArmComparison], findings: &[Located]) {
        for (row, blocks) in &self.rows {
            let judged: BTreeSet<*const Record> = blocks[..self.looked]
                .iter()
                .flat_map(|slots| slots.values().map(|record| std::ptr::from_ref(*record)))
                .collect();
            let Some(reason) = accused(findings, |index| {
                judged.contains(&std::ptr::from_ref(&self.records[index]))
            }) else {
                continue;
            };
            for of in &mut *candidates {
                let of_all = if self.rows.len() > 1 {
                    within(row, &reason)
                } else {
                    reason.clone()
                };
                bar(&mut of.pooled, of_all);
                of.comparison
                    .rows
                    .iter_mut()
                    .filter(|found| found.row == *row)
                    .for_each(|found| bar(found, reason.clone()));
            }
        }
    }

    fn candidates(&self, common: Option<&Reason>) -> Vec<ArmComparison> {
        let blocks: Vec<Vec<Vec<Block<'_>>>> = self
            .cast
            .candidates
            .iter()
            .map(|arm| self.blocks_of(arm))
            .collect();
        let levels = self.levels(&blocks);
        let of_cell = self.ending.of_cell(self.looked);
        let heterogeneity = self.heterogeneity(&blocks);
        let mut out: Vec<ArmComparison> = Vec::new();
        for (index, arm) in self.cast.candidates.iter().enumerate() {
            let mut found = self.candidate(
                arm,
                &blocks[index],
                [levels[index], 1.0 - of_cell.unwrap_or(0.0)],
                common,
            );
            found.depends_on_row = heterogeneity.get(index).copied();
            out.push(found);
        }
        if self.rows_of_plan() > 1 {
            self.decide_cells(&mut out, of_cell.unwrap_or(ALPHA));
        } else {
            for found in &mut out {
                found.comparison.rows = vec![found.pooled.clone()];
            }
        }
        out
    }

    fn of_arm(&self, name: &str) -> impl Iterator<Item = &'a Record> {
        self.records
            .iter()
            .filter(move |record| record.trial.as_ref().is_some_and(|trial| trial.arm == name))
    }

    /// Judged blocks of a candidate, row by row.
    fn blocks_of(&self, arm: &str) -> Vec<Vec<Block<'a>>> {
        if !self.cast.is_usable(arm) {
            return vec![Vec::new(); self.rows.len()];
        }
        let turns = Turns::of(self.of_arm(self.cast.base), self.of_arm(arm));
        let block = |slots: &Slots<'a>| Block {
            base: slots[self.cast.base],
            control: self.cast.control.map(|control| slots[control]),
            candidate: slots[arm],
            after: turns.before(slots[self.cast.base], slots[arm]),
        };
        let of_row = |(row, blocks): (&&str, &Vec<Slots<'a>>)| match self.lost.cell(row, arm) {
            Some(_) => Vec::new(),
            None => blocks[..self.looked].iter().map(block).collect(),
        };
        self.rows.iter().map(of_row).collect()
    }

    fn looks(&self) -> Vec<u32> {
        self.ending.looks(self.rows.len(), self.looked)
    }

    fn differences(&self, blocks: &[Block<'_>]) -> Vec<f64> {
        differences(blocks, &self.question.metric).values
    }

    fn heterogeneity(&self, blocks: &[Vec<Vec<Block<'_>>>]) -> Vec<f64> {
        if self.rows.len() < 2 {
            return Vec::new();
        }
        let by_row = |of_rows: &Vec<Vec<Block<'_>>>| {
            kruskal_wallis(
                &of_rows
                    .iter()
                    .map(|row| self.differences(row))
                    .collect::<Vec<_>>(),
            )
        };
        holm(
            &blocks
                .iter()
                .map(|of_rows| by_row(of_rows).unwrap_or(1.0))
                .collect::<Vec<_>>(),
        )
    }

    fn candidate(
        &self,
        arm: &str,
        blocks: &[Vec<Block<'_>>],
        [level, of_cell]: [f64; 2],
        common: Option<&Reason>,
    ) -> ArmComparison {
        let beside = |of: &str| -> Vec<&'a Record> {
            let is_row_of_both = |record: &&Record| !self.lost.leaves_out(row_of(record), arm);
            self.of_arm(of).filter(is_row_of_both).collect()
        };
        let ground = Ground::of(
            &[beside(self.cast.base), beside(arm)],
            [self.cast.base, arm],
            self.question,
        );
        let side = |index: usize| ground.usable[index].as_slice();
        let invalid = self
            .able_nowhere(arm)
            .or_else(|| ground.invalid.clone())
            .or_else(|| cannot_be_placed(self.records))
            .or_else(|| Some(in_windows(aliased(&[side(0), side(1)])?, self.measured)))
            .or_else(|| common.cloned());
        let unused = self.measured - self.looked;
        let interrupted = self.ending.interrupted;
        let of_pool = Judgement {
            level,
            unused_blocks: unused * self.rows_with(arm),
            interrupted,
            invalid: invalid.clone(),
        };
        let name = self.name_of_all(arm);
        let mut pooled = judged(&name, &blocks.concat(), &of_pool, self.question);
        if self.rows.len() > 1 {
            // Levels of different rows have no common middle.
            (pooled.base, pooled.candidate) = (None, None);
        }
        let of_cell = Judgement {
            level: of_cell,
            unused_blocks: unused,
            interrupted,
            invalid,
        };
        let rows =
            self.rows
                .keys()
                .zip(blocks)
                .map(|(row, blocks)| match self.lost.cell(row, arm) {
                    Some(cell) => unable(row, cell, self.question),
                    None => judged(row, blocks, &of_cell, self.question),
                });
        let rows = self.lost.with_closed(rows, self.question);
        let comparison = Comparison {
            question: self.question.clone(),
            rows,
            lone_rows: Vec::new(),
            with_subject: ground.with_subject,
            environment: ground.environment,
            workload: ground.workload,
            left_out: ground.left_out,
        };
        ArmComparison {
            candidate: arm.to_owned(),
            pooled,
            comparison,
            depends_on_row: None,
        }
    }

    /// Takes back the verdicts of difference on rows that the second family does not find
    /// different. At a look p stands to its threshold as it would to 5 % in an experiment of
    /// fixed length.
    fn decide_cells(&self, candidates: &mut [ArmComparison], threshold: f64) {
        let mut cells: Vec<&mut RowComparison> = candidates
            .iter_mut()
            .flat_map(|of| &mut of.comparison.rows)
            .collect();
        let scaled = |cell: &&mut RowComparison| {
            (signed_rank(&cell.differences).p * ALPHA / threshold).min(1.0)
        };
        let adjusted = benjamini_hochberg(&cells.iter().map(scaled).collect::<Vec<_>>());
        for (cell, q) in cells.iter_mut().zip(adjusted) {
            let differs = matches!(
                cell.verdict,
                Verdict::Faster { .. } | Verdict::Slower { .. }
            );
            if let (true, Some(effect)) = (differs && q > ALPHA, &cell.effect) {
                let target = effect.point.abs().max(self.question.margin.ln_1p());
                cell.verdict = Verdict::Inconclusive {
                    mde: mde::after(effect.half_width()),
                    more: mde::more_blocks(effect.n, effect.half_width(), target),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Interrupted;
    use super::*;
    use record::{Measurements, Operations, Quantity, Role, SCHEMA, Status, Stopping, Trial};
    use stats::CONTROL_ALPHA;
    use units::random::Random;

    fn question() -> Question {
        Question {
            metric: Quantity::named("iops"),
            margin: 0.05,
            factors: BTreeSet::from(["engine".to_owned()]),
        }
    }

    fn slot(arm: &str, role: Role, row: &str, block: u32, slot: u32, per_second: f64) -> Record {
        let count = units::lossless::f64_to_u64_saturating(per_second);
        let mut operations = Measurements::default();
        let mut read = Operations {
            count,
            bytes: count * 4096,
            smallest_bytes: Some(4096),
            largest_bytes: Some(4096),
            ..Operations::default()
        };
        (0..count).for_each(|_| read.latency.record(1_000_000));
        operations.insert("read", read);
        Record {
            schema: SCHEMA,
            name: row.into(),
            started_at: format!(
                "2026-01-01T{:02}:{:02}:{:02}.000Z",
                slot / 3600,
                slot / 60 % 60,
                slot % 60
            ),
            elapsed_ns: 1_000_000_000,
            operations,
            trial: Some(Trial {
                plan: "p".into(),
                arm: arm.into(),
                row: row.into(),
                block,
                slot,
                role,
                ..Trial::default()
            }),
            ..Record::default()
        }
    }

    /// Arms with their role and true ratio, measured in randomised blocks with 2 % noise.
    fn experiment(arms: &[(&str, Role, f64)], rows: &[&str], passes: u32) -> Vec<Record> {
        let mut rng = Random::new(11);
        let mut out = Vec::new();
        for block in 0..passes {
            for row in rows {
                let mut order: Vec<usize> = (0..arms.len()).collect();
                rng.shuffle(&mut order);
                for arm in order {
                    let (name, role, ratio) = arms[arm];
                    let number = u32::try_from(out.len()).unwrap();
                    out.push(slot(
                        name,
                        role,
                        row,
                        block,
                        number,
                        2000.0 * ratio * (0.02 * rng.normal()).exp(),
                    ));
                }
            }
        }
        out
    }

    const THREE: [(&str, Role, f64); 4] = [
        ("a", Role::Baseline, 1.0),
        ("a (control)", Role::Control, 1.0),
        ("same", Role::Candidate, 1.0),
        ("slow", Role::Candidate, 0.9),
    ];

    fn verdicts(found: &ArmsComparison) -> Vec<(&str, &Verdict)> {
        found
            .candidates
            .iter()
            .map(|of| (of.candidate.as_str(), &of.pooled.verdict))
            .collect()
    }

    #[test]
    fn each_candidate_has_its_verdict_against_both_baselines() {
        let found = compare_arms(&experiment(&THREE, &["r"], 20), &question()).unwrap();
        assert_eq!(
            verdicts(&found),
            [
                ("same", &Verdict::Equivalent { different: false }),
                ("slow", &Verdict::Slower { by_margin: true })
            ]
        );
        let control = found.control.as_ref().unwrap();
        assert!(
            control.p > CONTROL_ALPHA && control.blocks == 20,
            "{control:?}"
        );
        assert_eq!(
            found.candidates[0].comparison.rows,
            [found.candidates[0].pooled.clone()]
        );
        assert!(found.drift.is_some() && found.base == "a");
        // The baseline of a block is the mean of both.
        let mut moved = experiment(&THREE, &["r"], 20);
        let first = moved
            .iter_mut()
            .find(|r| r.trial.as_ref().unwrap().role == Role::Control)
            .unwrap();
        *first = Record {
            elapsed_ns: first.elapsed_ns / 2,
            ..first.clone()
        };
        let again = compare_arms(&moved, &question()).unwrap();
        let change =
            found.candidates[0].pooled.differences[0] - again.candidates[0].pooled.differences[0];
        assert!((change - 0.5 * 2.0_f64.ln()).abs() < 1e-12, "{change}");
    }

    #[test]
    fn a_baseline_that_differs_from_itself_leaves_no_verdict() {
        let mut arms = THREE;
        arms[1].2 = 1.2;
        let found = compare_arms(&experiment(&arms, &["r"], 15), &question()).unwrap();
        assert!(
            matches!(verdicts(&found)[1].1, Verdict::Invalid(Reason::ControlFailed { p }) if *p < CONTROL_ALPHA)
        );
    }

    #[test]
    fn rows_are_pooled_first_and_decided_as_a_second_family() {
        let found = compare_arms(&experiment(&THREE, &["r", "s", "t"], 6), &question()).unwrap();
        let [same, slow] = &found.candidates[..] else {
            panic!("two candidates")
        };
        assert_eq!(
            (
                slow.pooled.blocks,
                slow.pooled.row.as_str(),
                &slow.pooled.verdict
            ),
            (18, ALL_ROWS, &Verdict::Slower { by_margin: true })
        );
        assert_eq!(
            same.pooled.verdict,
            Verdict::Equivalent { different: false }
        );
        assert_eq!(
            slow.comparison
                .rows
                .iter()
                .map(|row| (row.row.as_str(), row.blocks))
                .collect::<Vec<_>>(),
            [("r", 6), ("s", 6), ("t", 6)]
        );
        assert!(slow.depends_on_row.is_some_and(|p| p > 0.05));
    }

    #[test]
    fn rows_stand_in_the_order_of_the_plan() {
        let mut records = experiment(&THREE, &["small", "large"], 6);
        for trial in records
            .iter_mut()
            .filter_map(|record| record.trial.as_mut())
        {
            trial.row_number = u32::from(trial.row == "large");
        }
        let found = compare_arms(&records, &question()).unwrap();
        for of in &found.candidates {
            let rows = of.comparison.rows.iter().map(|row| row.row.as_str());
            assert_eq!(rows.collect::<Vec<_>>(), ["small", "large"]);
        }
    }

    #[test]
    fn an_effect_in_one_row_alone_is_said_to_depend_on_the_row() {
        let mut records = experiment(&THREE, &["r", "s"], 12);
        for record in records.iter_mut().filter(|r| {
            r.trial
                .as_ref()
                .is_some_and(|t| t.row == "s" && t.arm == "slow")
        }) {
            record.elapsed_ns *= 2;
        }
        let found = compare_arms(&records, &question()).unwrap();
        let slow = &found.candidates[1];
        assert!(
            slow.depends_on_row.is_some_and(|p| p < 0.05),
            "{:?}",
            slow.depends_on_row
        );
        assert!(found.candidates[0].depends_on_row.is_some_and(|p| p > 0.05));
    }

    #[test]
    fn an_open_experiment_of_several_rows_is_cut_at_its_look_with_a_level_of_its_own() {
        let mut records = experiment(&THREE, &["r", "s"], 9);
        for record in &mut records {
            record.trial.as_mut().unwrap().stopping = Stopping::Open;
        }
        let found = compare_arms(&records, &question()).unwrap();
        let slow = &found.candidates[1];
        assert_eq!((slow.pooled.blocks, slow.pooled.unused_blocks), (16, 2));
        assert!(
            slow.pooled.effect.is_some_and(|effect| effect.level > 0.95),
            "{:?}",
            slow.pooled.effect
        );
        assert_eq!(slow.pooled.verdict, Verdict::Slower { by_margin: true });
        records.retain(|record| record.trial.as_ref().unwrap().block < 7);
        let early = compare_arms(&records, &question()).unwrap();
        assert!(
            matches!(&verdicts(&early)[1].1, Verdict::Invalid(Reason::Audit(text)) if text.contains("first look"))
        );
    }

    #[test]
    fn a_fixed_length_that_was_not_reached_is_judged_as_what_may_stop_at_a_look() {
        let planned = |passes: u32, planned: u32| -> ArmsComparison {
            let mut records = experiment(&THREE, &["r"], passes);
            records
                .iter_mut()
                .for_each(|record| record.trial.as_mut().unwrap().planned_blocks = Some(planned));
            compare_arms(&records, &question()).unwrap()
        };
        let whole = &planned(9, 9).candidates[1].pooled;
        assert_eq!((whole.blocks, whole.interrupted), (9, None));
        let broken = &planned(9, 40).candidates[1].pooled;
        assert_eq!((broken.blocks, broken.unused_blocks), (8, 1));
        assert_eq!(
            broken.interrupted,
            Some(Interrupted {
                complete: 9,
                planned: 40
            })
        );
        assert!(broken.effect.unwrap().level > whole.effect.unwrap().level);
        let early = planned(7, 40);
        assert!(
            matches!(verdicts(&early)[1].1, Verdict::Invalid(Reason::Audit(text)) if text.starts_with("interrupted after 7 of 40")),
            "{:?}",
            verdicts(&early)
        );
    }

    #[test]
    fn many_candidates_cannot_be_decided_at_a_look_that_is_too_early_for_them() {
        let mut arms = vec![("a", Role::Baseline, 1.0)];
        arms.extend(["b", "c", "d", "e"].map(|name| (name, Role::Candidate, 0.5)));
        let mut records = experiment(&arms, &["r"], 8);
        for record in &mut records {
            record.trial.as_mut().unwrap().stopping = Stopping::Open;
        }
        let found = compare_arms(&records, &question()).unwrap();
        assert!(
            verdicts(&found)
                .iter()
                .all(|(_, verdict)| matches!(verdict, Verdict::Inconclusive { .. })),
            "{:?}",
            verdicts(&found)
        );
    }

    #[test]
    fn a_block_that_lacks_an_arm_counts_for_none() {
        let mut records = experiment(&THREE, &["r"], 7);
        let failed = records
            .iter_mut()
            .rfind(|r| r.trial.as_ref().unwrap().arm == "slow")
            .unwrap();
        failed.outcome.status = Status::Failed;
        let found = compare_arms(&records, &question()).unwrap();
        assert_eq!(
            found.candidates[0].pooled.blocks, 6,
            "the pair of the other candidate is of no complete block"
        );
        assert!(
            found
                .left_out
                .iter()
                .any(|text| text.contains("not completed")),
            "{:?}",
            found.left_out
        );
    }

    #[test]
    fn severe_findings_leave_no_verdict_but_those_that_blocks_answer() {
        let mut records = experiment(&THREE, &["r"], 10);
        records[3].operations.insert(
            "read",
            Operations {
                count: 10,
                bytes: 1 << 40,
                ..Operations::default()
            },
        );
        let found = compare_arms(&records, &question()).unwrap();
        assert!(
            matches!(&verdicts(&found)[0].1, Verdict::Invalid(Reason::Audit(text)) if text.contains("Fix: "))
        );
        let few = compare_arms(&experiment(&THREE, &["r"], 4), &question()).unwrap();
        assert_eq!(
            verdicts(&few)[0].1,
            &Verdict::Invalid(Reason::TooFewBlocks { n: 4 }),
            "not the rule no_repetition"
        );
    }

    #[test]
    fn a_severe_finding_in_one_row_leaves_the_verdicts_of_the_others() {
        let mut records = experiment(&THREE, &["r", "s"], 20);
        let accused = records
            .iter_mut()
            .find(|record| row_of(record) == "s")
            .unwrap();
        accused.operations.insert(
            "read",
            Operations {
                count: 10,
                bytes: 1 << 40,
                ..Operations::default()
            },
        );
        let found = compare_arms(&records, &question()).unwrap();
        let slow = &found.candidates[1];
        assert!(
            matches!(&slow.pooled.verdict, Verdict::Invalid(Reason::Audit(text)) if text.starts_with("in s: ")),
            "{:?}",
            slow.pooled
        );
        let [r, s] = &slow.comparison.rows[..] else {
            panic!("two rows")
        };
        assert_eq!(r.verdict, Verdict::Slower { by_margin: true });
        assert!(matches!(s.verdict, Verdict::Invalid(_)) && s.sensitivity.is_none());
    }

    /// The same experiment in which an arm failed three times at a block of a row and was left out.
    fn without(mut records: Vec<Record>, arm: &str, row: &str, block: u32) -> Vec<Record> {
        let is_it = |record: &Record| {
            let trial = record.trial.as_ref().unwrap();
            trial.arm == arm && trial.row == row && trial.block >= block
        };
        records.retain(|record| !is_it(record));
        let role = THREE.iter().find(|(name, ..)| *name == arm).unwrap().1;
        for attempt in 0..3 {
            let number = u32::try_from(records.len()).unwrap();
            let mut failed = slot(arm, role, row, block, number, 1.0);
            failed.outcome.status = Status::Failed;
            failed.outcome.message = Some("killed for memory".into());
            let trial = failed.trial.as_mut().unwrap();
            (trial.attempt, trial.left_out_after) = (attempt, 3 * u32::from(attempt == 2));
            records.push(failed);
        }
        // As they are numbered where nothing is missing.
        for (record, number) in records.iter_mut().zip(0..) {
            record.trial.as_mut().unwrap().slot = number;
        }
        records
    }

    #[test]
    fn an_arm_that_could_not_run_in_a_row_is_judged_by_the_others_and_takes_nothing_from_the_rest()
    {
        let whole = experiment(&THREE, &["r", "s", "t"], 8);
        for block in [0, 3] {
            let records = without(whole.clone(), "slow", "s", block);
            let found = compare_arms(&records, &question()).unwrap();
            let [same, slow] = &found.candidates[..] else {
                panic!("two candidates")
            };
            assert_eq!(
                (same.pooled.row.as_str(), same.pooled.blocks),
                (ALL_ROWS, 24)
            );
            assert_eq!(
                same.pooled.verdict,
                Verdict::Equivalent { different: false }
            );
            let pooled = (slow.pooled.row.as_str(), slow.pooled.blocks);
            assert_eq!(pooled, ("2 of 3 rows", 16));
            assert_eq!(slow.pooled.verdict, Verdict::Slower { by_margin: true });
            let [r, s, t] = &slow.comparison.rows[..] else {
                panic!("three rows")
            };
            assert_eq!([r.blocks, s.blocks, t.blocks], [8, 0, 8]);
            assert!(
                matches!(&s.verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("killed for memory (3 of 3")),
                "{s:?}"
            );
            assert_eq!(found.lost.len(), 1);
            assert_eq!(found.control.unwrap().blocks, 24);
            assert!(found.drift.is_some());
            let left_out = found.left_out.join("; ");
            assert_eq!(
                left_out.contains("3 good records of arms"),
                block == 3,
                "{left_out}"
            );
        }
    }

    #[test]
    fn where_nothing_is_left_to_compare_the_reason_is_the_failure() {
        // Its baseline, or every candidate, fails after blocks that were complete.
        for (lost, rows) in [
            (&["a"][..], &["r"][..]),
            (&["a"], &["r", "s"]),
            (&["same", "slow"], &["r"]),
            (&["same", "slow"], &["r", "s"]),
        ] {
            let mut records = experiment(&THREE, rows, 12);
            for row in rows {
                for arm in lost {
                    records = without(records, arm, row, 10);
                }
            }
            let found = compare_arms(&records, &question()).unwrap();
            for of in &found.candidates {
                let of_rows = of.comparison.rows.iter();
                for row in of_rows.chain([&of.pooled]) {
                    let Verdict::Invalid(Reason::Audit(text)) = &row.verdict else {
                        panic!("{lost:?} {rows:?} {row:?}")
                    };
                    assert!(
                        text.contains("killed for memory (3 of 3 attempts at block 11)"),
                        "{text}"
                    );
                }
                assert_eq!(of.comparison.rows.len(), rows.len());
                assert_eq!(of.pooled.row == "r", rows.len() == 1, "{}", of.pooled.row);
            }
        }
    }

    #[test]
    fn failures_that_left_an_arm_out_of_many_rows_do_not_bar_it_in_the_rest() {
        let rows: Vec<String> = (0..8).map(|row| format!("r{row}")).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let mut records = experiment(&THREE, &rows, 6);
        for row in &rows[2..] {
            records = without(records, "slow", row, 0);
        }
        let found = compare_arms(&records, &question()).unwrap();
        let slow = &found.candidates[1].pooled;
        assert_eq!((slow.row.as_str(), slow.blocks), ("2 of 8 rows", 12));
        assert_eq!(slow.verdict, Verdict::Slower { by_margin: true });
    }

    #[test]
    fn a_row_without_its_baseline_is_no_row_of_anything() {
        for arm in ["a", "a (control)"] {
            let records = without(experiment(&THREE, &["r", "s"], 8), arm, "s", 2);
            let found = compare_arms(&records, &question()).unwrap();
            for of in &found.candidates {
                let pooled = (of.pooled.row.as_str(), of.pooled.blocks);
                assert_eq!(pooled, ("1 of 2 rows", 8));
                let [r, s] = &of.comparison.rows[..] else {
                    panic!("two rows")
                };
                assert_eq!((r.row.as_str(), s.row.as_str(), s.blocks), ("r", "s", 0));
                assert!(!matches!(r.verdict, Verdict::Invalid(_)), "{r:?}");
                assert!(matches!(s.verdict, Verdict::Invalid(_)), "{s:?}");
            }
        }
    }

    #[test]
    fn an_arm_with_fewer_rows_has_looks_and_levels_of_its_own_and_frees_none_for_the_others() {
        let mut records = experiment(&THREE, &["r", "s", "t"], 6);
        for record in &mut records {
            record.trial.as_mut().unwrap().stopping = Stopping::EachPass;
        }
        let level = |records: &[Record], arm: usize| {
            let found = compare_arms(records, &question()).unwrap();
            found.candidates[arm].pooled.effect.unwrap().level
        };
        let mut without = without(records.clone(), "slow", "s", 0);
        for record in &mut without {
            record.trial.as_mut().unwrap().stopping = Stopping::EachPass;
        }
        // Once slow is found different, same is held against 5 %; where slow lacks a row, never.
        assert!(level(&without, 0) > level(&records, 0));
        assert!(level(&without, 1) > 0.95);
        let found = compare_arms(&without, &question()).unwrap();
        assert_eq!(found.candidates[1].pooled.blocks, 12);
        assert_eq!(
            found.candidates[1].pooled.verdict,
            Verdict::Slower { by_margin: true }
        );
    }

    #[test]
    fn records_that_are_no_experiment_say_why() {
        let refusal =
            |records: &[Record]| compare_arms(records, &question()).unwrap_err().to_string();
        let good = experiment(&THREE, &["r"], 6);
        assert!(refusal(&[]).contains("0 of 0 records"));
        assert!(
            refusal(&[vec![Record::default()], good.clone()].concat())
                .starts_with("1 of 25 records have no place")
        );
        let mut two = good.clone();
        two[0].trial.as_mut().unwrap().plan = "q".into();
        assert!(refusal(&two).contains("2 experiments are in one place (plans p, q)"));
        let only = experiment(&THREE[..2], &["r"], 6);
        assert!(refusal(&only).contains("no arm beside its baseline \"a\""));
        let none = experiment(&THREE[2..], &["r"], 6);
        assert!(refusal(&none).contains("0 arms with the role of the baseline"));
    }
}
