//! The baseline against itself.

use crate::signed_rank::signed_rank;
use crate::spending::share_of_look;
use crate::verdict::CONTROL_ALPHA;

/// The p of "the two runs of the baseline do not differ" from their block differences, row by row,
/// to be held against [`CONTROL_ALPHA`].
///
/// All tests together err with that chance: with several rows one half of it is for all of them
/// together and the other is shared by the single rows, and an experiment that looks spends at each
/// of its `looks` (blocks a row, up to the present one) what the open rule adds to its budget. The
/// test that comes nearest to its part decides, and its p is scaled from the part to the whole. 1
/// before the first look.
#[must_use]
pub fn control_p(rows: &[Vec<f64>], looks: Option<&[u32]>) -> f64 {
    let shares = |units: u32, part: f64| match looks {
        None => part * CONTROL_ALPHA,
        Some(looks) => share_of_look(looks, units, part * CONTROL_ALPHA).max(f64::MIN_POSITIVE),
    };
    p_of_shares(rows, &shares)
}

/// As [`control_p`] for a matrix that is looked at after each of so many passes, where the looks
/// count the blocks of all rows together; single rows are tested from their eighth block on.
#[must_use]
pub fn control_p_by_pass(rows: &[Vec<f64>], passes: u32) -> f64 {
    let shares = |units: u32, part: f64| {
        let looks: Vec<u32> = (1..=passes)
            .map(|pass| pass.saturating_mul(units))
            .collect();
        share_of_look(&looks, 1, part * CONTROL_ALPHA).max(f64::MIN_POSITIVE)
    };
    p_of_shares(rows, &shares)
}

fn p_of_shares(rows: &[Vec<f64>], share: &dyn Fn(u32, f64) -> f64) -> f64 {
    let several = u32::try_from(rows.len()).unwrap_or(u32::MAX).max(1);
    let [of_all, of_each] = if several == 1 {
        [1.0, 1.0]
    } else {
        [0.5, 0.5 / f64::from(several)]
    };
    let all = signed_rank(&rows.concat()).p / share(several, of_all);
    let each = share(1, of_each);
    (rows
        .iter()
        .map(|row| signed_rank(row).p / each)
        .fold(all, f64::min)
        * CONTROL_ALPHA)
        .min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LOOKS;
    use units::random::Random;

    /// How many of so many experiments with identical baselines fail their control at any look up
    /// to 30 blocks.
    fn failures(rows: usize, experiments: u32, p: impl Fn(&[Vec<f64>], &[u32]) -> f64) -> usize {
        let looks: Vec<u32> = LOOKS.into_iter().take_while(|look| *look <= 30).collect();
        let fails = |number: &u32| {
            let mut rng = Random::of(&[41, rows as u64, u64::from(*number)]);
            let d: Vec<Vec<f64>> = (0..rows)
                .map(|_| (0..30).map(|_| rng.normal()).collect())
                .collect();
            (1..=looks.len()).any(|count| {
                let until: Vec<Vec<f64>> = d
                    .iter()
                    .map(|row| row[..looks[count - 1] as usize].to_vec())
                    .collect();
                p(&until, &looks[..count]) < CONTROL_ALPHA
            })
        };
        (0..experiments).filter(fails).count()
    }

    fn at_most_a_thousandth(experiments: u32, limit: usize) {
        for rows in [1, 5, 10, 20] {
            let failed = failures(rows, experiments, |rows, looks| {
                control_p(rows, Some(looks))
            });
            assert!(failed <= limit, "{rows} rows: {failed} of {experiments}");
        }
    }

    #[test]
    fn a_matrix_sees_a_control_that_fails_before_its_eighth_pass() {
        let differing = vec![vec![0.1, 0.11, 0.12]; 20];
        assert!(control_p_by_pass(&differing, 3) < CONTROL_ALPHA);
        assert_eq!(control_p(&differing, Some(&[])), 1.0);
        let by_pass =
            |rows: &[Vec<f64>], looks: &[u32]| control_p_by_pass(rows, *looks.last().unwrap());
        let failed = failures(10, 1000, by_pass);
        assert!(failed <= 4, "{failed}");
    }

    #[test]
    fn identical_baselines_fail_their_control_in_at_most_a_thousandth() {
        at_most_a_thousandth(1000, 4);
    }

    #[test]
    #[ignore = "40,000 experiments in each of four cells"]
    fn identical_baselines_fail_their_control_in_at_most_a_thousandth_in_full() {
        at_most_a_thousandth(40_000, 56);
    }

    #[test]
    #[ignore = "20,000 experiments in each of four cells"]
    fn without_sharing_three_in_a_hundred_fail_from_ten_rows_on() {
        for (rows, least) in [(1, 20), (5, 120), (10, 240), (20, 480)] {
            let alone = |rows: &[Vec<f64>], _: &[u32]| {
                rows.iter()
                    .map(|row| signed_rank(row).p)
                    .fold(signed_rank(&rows.concat()).p, f64::min)
            };
            let failed = failures(rows, 20_000, alone);
            assert!(failed >= least, "{rows} rows: {failed} of 20,000");
        }
    }

    #[test]
    fn a_baseline_that_differs_from_itself_is_found_in_one_row_or_in_all() {
        let mut rng = Random::new(5);
        let mut shifted = |by: f64| -> Vec<f64> { (0..30).map(|_| by + rng.normal()).collect() };
        let all: Vec<Vec<f64>> = (0..10).map(|_| shifted(0.7)).collect();
        let mut one: Vec<Vec<f64>> = (0..10).map(|_| shifted(0.0)).collect();
        assert!(control_p(&one, Some(&LOOKS[..7])) > CONTROL_ALPHA);
        one[3] = shifted(4.0);
        for rows in [all, one] {
            assert!(
                control_p(&rows, Some(&LOOKS[..7])) < CONTROL_ALPHA
                    && control_p(&rows, None) < CONTROL_ALPHA
            );
        }
        assert_eq!(
            control_p(&[vec![1.0; 7]], Some(&[])),
            1.0,
            "nothing is said before the first look"
        );
    }
}
