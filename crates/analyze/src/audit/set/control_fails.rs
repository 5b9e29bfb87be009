//! Two arms that are the same must not differ.

use super::{Experiment, Located, about, differences};
use stats::{CONTROL_ALPHA, signed_rank};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out = Vec::new();
    for (row, arms) in experiment.rows() {
        for (control, slots) in &arms {
            let Some(twin) = twin(control) else { continue };
            let Some((_, of_twin)) = arms.iter().find(|(arm, _)| *arm == twin) else { continue };
            let d: Vec<f64> = differences(of_twin, slots).into_iter().filter(|d| d.is_finite()).collect();
            let p = signed_rank(&d).p;
            if p < CONTROL_ALPHA {
                let message = format!("{row}: {control} and {twin} are the same and differ (p = {p:.1e} over {} blocks)", d.len());
                let advice = "the harness favours a position or a name: find out which before believing any difference of this experiment";
                out.push(about(None, "control_fails", experiment.severity(), message, advice));
            }
        }
    }
    out
}

/// The arm that a control repeats, by its name.
fn twin(arm: &str) -> Option<&str> {
    [" (control)", " control", "-control", " (again)"].iter().find_map(|end| arm.strip_suffix(end))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::Record;

    fn blocks(control: &str, slower: u64) -> Vec<Record> {
        (0..12_u32)
            .flat_map(|block| {
                let mut second = sound();
                second.elapsed_ns += slower * u64::from(block + 1) * if slower == 1 && block % 2 == 0 { 0 } else { 10_000_000 };
                [placed(sound(), "baseline", block, 2 * block), placed(second, control, block, 2 * block + 1)]
            })
            .collect()
    }

    #[test]
    fn a_control_that_differs_in_every_block_invalidates() {
        let found = run_on(check, &blocks("baseline (control)", 2));
        assert!(only(&found).starts_with("row: baseline (control) and baseline are the same and differ"));
        assert_eq!(found[0].severity, crate::Severity::Invalid);
    }

    #[test]
    fn another_arm_may_differ_and_a_control_may_scatter() {
        assert_eq!(run_on(check, &blocks("candidate", 2)), []);
        assert_eq!(run_on(check, &blocks("baseline (control)", 0)), []);
    }
}
