//! Of a hundred comparisons at 5 %, five are wrong by chance.

use super::{Experiment, Located};
use crate::Severity;
use crate::audit::rule::{Check, Rule};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "many_comparisons",
    catalogue_number: Some(38),
    severity: Severity::Warning,
    title: "Many comparisons without a correction for their number",
    text: "\
In imported or entered tables: arms beside the first, summed over rows; from ten on it
is found. Our own comparisons are corrected (Holm for arms, Benjamini-Hochberg for
cells).
Each comparison at 5 % is wrong in one of 20 cases where nothing differs. Of 120, six
are expected to be wrong, and the chance of at least one is 99.8 %. The largest of them
becomes the headline.
What to do: correct for the number of comparisons, decide beforehand which one is
primary, and crown no winner of a single row.",
    checks: &[Check::Together(check)],
};

const MANY: usize = 10;
const ALPHA: f64 = 0.05;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    // Our own comparisons are corrected for their number.
    if !experiment
        .slots
        .iter()
        .all(|(_, record)| record.source.is_some())
    {
        return Vec::new();
    }
    let comparisons: usize = experiment
        .rows()
        .iter()
        .map(|(_, arms)| arms.len().saturating_sub(1))
        .sum();
    if comparisons < MANY {
        return Vec::new();
    }
    let chance = (1.0 - (1.0 - ALPHA).powf(comparisons as f64)) * 100.0;
    let message = format!(
        "{comparisons} comparisons: at 5% each expect {:.1} false ones, and at least one with {chance:.0}%",
        comparisons as f64 * ALPHA
    );
    let advice = "correct for their number (Holm for arms, Benjamini-Hochberg for cells), and crown no winner of a single row";
    vec![RULE.about(None, Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn matrix(rows: u32, record: &Record) -> Vec<Record> {
        let cell = |row: u32, arm: &str| {
            let mut record = placed(record.clone(), arm, 0, row);
            record.trial.as_mut().unwrap().row = format!("row {row}");
            record
        };
        (0..rows)
            .flat_map(|row| ["baseline", "a", "b"].map(|arm| cell(row, arm)))
            .collect()
    }

    #[test]
    fn a_published_matrix_is_found() {
        let quoted = quoted("put", Summary::default());
        assert_eq!(
            only(&run_on(check, &matrix(15, &quoted))),
            "30 comparisons: at 5% each expect 1.5 false ones, and at least one with 79%"
        );
        assert_eq!(run_on(check, &matrix(4, &quoted)), []);
    }

    #[test]
    fn our_own_matrix_is_corrected_elsewhere() {
        assert_eq!(run_on(check, &matrix(15, &sound())), []);
    }
}
