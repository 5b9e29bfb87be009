//! What an arm changes in all rows together, each row with the same weight.

use super::Study;
use crate::RowComparison;
use stats::{Estimate, Verdict, effect};

impl Study {
    /// The geometric mean over rows of the ratios of an arm to the baseline, as a logarithm: the only
    /// mean of normalised numbers that does not depend on what they are normalised by (Fleming and
    /// Wallace, CACM 29(3), 1986). In every pass it is the mean over rows of `ln(arm / baseline)`;
    /// the estimate is over passes, at the level that the look at the whole allows. `None` unless
    /// the arms are of one experiment of several rows, every row has a verdict on this arm, and all
    /// rows have the same passes.
    #[must_use]
    pub fn geometric_mean(&self, arm: usize) -> Option<Estimate> {
        let whole = self.overall.get(arm)?.as_ref()?;
        let rows: Option<Vec<&RowComparison>> = self
            .rows
            .iter()
            .map(|row| row.comparisons.get(arm)?.as_ref())
            .collect();
        let rows = rows.filter(|rows| rows.len() > 1)?;
        let passes = rows.first()?.differences.len();
        let is_judged = |of: &RowComparison| !matches!(of.verdict, Verdict::Invalid(_));
        let is_whole = |of: &&RowComparison| is_judged(of) && of.differences.len() == passes;
        if !is_judged(whole) || !rows.iter().all(is_whole) {
            return None;
        }
        let mean = |pass: usize| {
            let logs = rows.iter().map(|row| row.differences[pass]);
            logs.sum::<f64>() / rows.len() as f64
        };
        let means: Vec<f64> = (0..passes).map(mean).collect();
        effect(&means, whole.effect.as_ref()?.level)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Study, StudyOptions, StudyRow, study};
    use crate::RowComparison;
    use record::Quantity;
    use stats::{Verdict, effect};

    fn found(logs: &[f64]) -> RowComparison {
        RowComparison {
            row: String::new(),
            blocks: logs.len(),
            unused_blocks: 0,
            base: None,
            candidate: None,
            effect: effect(logs, 0.95),
            verdict: Verdict::Equivalent { different: false },
            differences: logs.to_vec(),
            place: None,
            sensitivity: None,
            interrupted: None,
        }
    }

    /// An arm that takes ln 2 in one row and nothing in the other, with a wave over the passes.
    fn two_rows() -> Study {
        let wave = [0.01, -0.01, 0.02, -0.02, 0.0, 0.0, 0.01, -0.01];
        let row = |level: f64| {
            let logs: Vec<f64> = wave.iter().map(|d| level + d).collect();
            StudyRow {
                name: "r".into(),
                operations: Vec::new(),
                cells: Vec::new(),
                comparisons: vec![None, Some(found(&logs))],
                drift: None,
                workload: Vec::new(),
                rate: Quantity::named("iops"),
                is_load: false,
                is_step: false,
            }
        };
        let mut out = study(&[], &StudyOptions::default());
        out.rows = vec![row(2.0_f64.ln()), row(0.0)];
        out.overall = vec![None, Some(found(&wave))];
        out
    }

    #[test]
    fn twice_in_one_row_and_the_same_in_another_is_the_root_of_two() {
        let mean = two_rows().geometric_mean(1).unwrap();
        assert!((mean.point.exp() - 2.0_f64.sqrt()).abs() < 1e-9, "{mean:?}");
        assert!(mean.low < mean.point && mean.point < mean.high);
        assert_eq!(two_rows().geometric_mean(0), None);
    }

    #[test]
    fn rows_of_other_passes_and_arms_without_a_verdict_have_none() {
        let mut study = two_rows();
        study.rows[1].comparisons[1]
            .as_mut()
            .unwrap()
            .differences
            .pop();
        assert_eq!(study.geometric_mean(1), None);
        let mut study = two_rows();
        study.rows[0].comparisons[1].as_mut().unwrap().verdict =
            Verdict::Invalid(stats::Reason::OrderAliasedWithArm);
        assert_eq!(study.geometric_mean(1), None);
        let mut study = two_rows();
        study.overall = vec![None, None];
        assert_eq!(study.geometric_mean(1), None);
    }
}
