use crate::ranks::ranks;
use crate::sample::{mean, variance};
use units::random::Random;

/// Below this p, over both tests of [`serial`] together, runs are taken to depend on when they ran.
pub const SERIAL_ALPHA: f64 = 0.05;
/// Shorter rows say nothing: they keep their values out of the tests.
const SHORTEST_ROW: usize = 5;
const REDRAWS: u32 = 999;

/// How runs depend on when they ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// Runs that follow each other resemble each other.
    Neighbours,
    /// The level rises or falls.
    Trend,
}

/// What the order in time says about runs of several rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serial {
    /// The one-sided p of "a run does not resemble the one before it".
    pub neighbours_p: f64,
    /// The two-sided p of "the level neither rises nor falls".
    pub trend_p: f64,
}

impl Serial {
    /// The stronger of the two where it is significant at [`SERIAL_ALPHA`] over both (Bonferroni),
    /// with its p.
    #[must_use]
    pub fn dependence(&self) -> Option<(Dependence, f64)> {
        let (kind, p) = if self.trend_p <= self.neighbours_p {
            (Dependence::Trend, self.trend_p)
        } else {
            (Dependence::Neighbours, self.neighbours_p)
        };
        let p = (2.0 * p).min(1.0);
        (p <= SERIAL_ALPHA).then_some((kind, p))
    }
}

/// Tests whether runs are exchangeable in time: the lag-1 correlation and the trend of the
/// standardised ranks within each row.
///
/// `runs` are (row, value) in the order in time. Rows that were measured in turn share the time, so
/// that their evidence is pooled: six runs of one row can hardly be told from noise, forty-eight of
/// eight rows can. Both sums are held against 999 seeded redraws in which the values of each row
/// change places among themselves, which is what an interval over runs takes for granted. `None`
/// where no row has five values that differ.
#[must_use]
pub fn serial(runs: &[(usize, f64)]) -> Option<Serial> {
    let mut places: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, (row, _)) in runs.iter().enumerate() {
        match places.iter_mut().find(|(known, _)| known == row) {
            Some((_, of_row)) => of_row.push(place),
            None => places.push((*row, vec![place])),
        }
    }
    let mut scores: Vec<Option<f64>> = vec![None; runs.len()];
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (_, of_row) in places
        .into_iter()
        .filter(|(_, of_row)| of_row.len() >= SHORTEST_ROW)
    {
        let ranks = ranks(
            &of_row
                .iter()
                .map(|place| runs[*place].1)
                .collect::<Vec<_>>(),
        )
        .ranks;
        let (centre, spread) = (mean(&ranks), variance(&ranks).sqrt());
        if spread > 0.0 {
            of_row
                .iter()
                .zip(&ranks)
                .for_each(|(place, rank)| scores[*place] = Some((rank - centre) / spread));
            rows.push(of_row);
        }
    }
    // Places close ranks over runs that say nothing.
    let kept: Vec<usize> = (0..runs.len())
        .filter(|place| scores[*place].is_some())
        .collect();
    let mut series: Vec<f64> = kept.iter().filter_map(|place| scores[*place]).collect();
    for row in &mut rows {
        row.iter_mut()
            .for_each(|place| *place = kept.partition_point(|known| known < place));
    }
    (!rows.is_empty()).then(|| against_redraws(&mut series, &rows))
}

fn against_redraws(series: &mut [f64], rows: &[Vec<usize>]) -> Serial {
    // Sums of the same terms in another order differ in their last bits.
    const ROUNDING: f64 = 1e-9;
    let (neighbours, trend) = (lag_1(series), slope(series).abs());
    let mut rng = Random::new(u64::from(REDRAWS));
    let (mut as_alike, mut as_steep) = (1_u32, 1_u32);
    for _ in 0..REDRAWS {
        for row in rows {
            for last in (1..row.len()).rev() {
                series.swap(row[last], row[rng.index(last + 1)]);
            }
        }
        as_alike += u32::from(lag_1(series) >= neighbours - ROUNDING);
        as_steep += u32::from(slope(series).abs() >= trend - ROUNDING);
    }
    let share = |count: u32| f64::from(count) / f64::from(REDRAWS + 1);
    Serial {
        neighbours_p: share(as_alike),
        trend_p: share(as_steep),
    }
}

fn lag_1(series: &[f64]) -> f64 {
    series.windows(2).map(|pair| pair[0] * pair[1]).sum()
}

/// The sum of scores times their distance from the middle in time: proportional to their
/// correlation with it.
fn slope(series: &[f64]) -> f64 {
    let middle = 0.5 * (series.len() as f64 - 1.0);
    series
        .iter()
        .enumerate()
        .map(|(place, score)| score * (place as f64 - middle))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, effect};

    const PASSES: usize = 6;
    /// Every slot multiplies the level of the machine at its time.
    const SHAPES: [&str; 5] = [
        "lognormal",
        "bimodal 20 %",
        "bimodal 50:50",
        "AR(1) 0.9",
        "sticky throttle",
    ];

    /// The logarithm of the level of the machine in each of `n` slots, and of the mean level of
    /// this shape over a long time.
    fn levels(shape: &str, n: usize, rng: &mut Random) -> (Vec<f64>, f64) {
        const HALF: f64 = -std::f64::consts::LN_2;
        let slow = |share: f64, rng: &mut Random| if rng.unit() < share { HALF } else { 0.0 };
        match shape {
            "lognormal" => (
                (0..n).map(|_| 0.05 * rng.normal()).collect(),
                0.5 * 0.05_f64.powi(2),
            ),
            "bimodal 20 %" => (
                (0..n)
                    .map(|_| slow(0.2, rng) + 0.02 * rng.normal())
                    .collect(),
                0.9_f64.ln(),
            ),
            "bimodal 50:50" => (
                (0..n)
                    .map(|_| slow(0.5, rng) + 0.02 * rng.normal())
                    .collect(),
                0.75_f64.ln(),
            ),
            "AR(1) 0.9" => {
                const SIGMA: f64 = 0.05;
                let mut at = SIGMA * rng.normal();
                let step = |_| {
                    at = 0.9 * at + SIGMA * (1.0 - 0.81_f64).sqrt() * rng.normal();
                    at
                };
                ((0..n).map(step).collect(), 0.5 * SIGMA.powi(2))
            }
            "sticky throttle" => {
                let mut throttled = rng.unit() < 0.3;
                // A state is left about every twentieth (throttled: every ninth) slot: minutes of a
                // profile.
                let step = |_| {
                    throttled = if throttled {
                        rng.unit() > 1.0 / 9.0
                    } else {
                        rng.unit() < 1.0 / 21.0
                    };
                    if throttled {
                        HALF + 0.02 * rng.normal()
                    } else {
                        0.02 * rng.normal()
                    }
                };
                ((0..n).map(step).collect(), (0.7_f64 + 0.3 * 0.5).ln())
            }
            other => unreachable!("no shape is called {other}"),
        }
    }

    /// A profile of `rows` rows in passes of random order, its slots in time.
    fn profile(shape: &str, rows: usize, rng: &mut Random) -> (Vec<(usize, f64)>, f64) {
        let (machine, truth) = levels(shape, rows * PASSES, rng);
        let mut order: Vec<usize> = (0..rows).collect();
        let mut out = Vec::new();
        for pass in machine.chunks(rows) {
            rng.shuffle(&mut order);
            out.extend(order.iter().copied().zip(pass.iter().copied()));
        }
        (out, truth)
    }

    fn interval(runs: &[(usize, f64)]) -> Estimate {
        let of_first: Vec<f64> = runs
            .iter()
            .filter(|(row, _)| *row == 0)
            .map(|(_, value)| *value)
            .collect();
        effect(&of_first, 0.95).unwrap()
    }

    #[test]
    fn a_level_that_falls_has_a_trend_and_noise_has_none() {
        let falling: Vec<(usize, f64)> = (0..48_usize)
            .map(|slot| (slot % 8, -0.01 * slot as f64))
            .collect();
        assert_eq!(
            serial(&falling).unwrap().dependence(),
            Some((Dependence::Trend, 0.002))
        );
        let mut rng = Random::new(3);
        let noise: Vec<(usize, f64)> = (0..48_usize).map(|slot| (slot % 8, rng.normal())).collect();
        assert_eq!(serial(&noise).unwrap().dependence(), None);
    }

    #[test]
    fn rows_of_other_levels_are_no_dependence() {
        // Each row stands at a level of its own, and rows follow each other in the same order.
        let mut rng = Random::new(4);
        let runs: Vec<(usize, f64)> = (0..48_usize)
            .map(|slot| (slot % 8, 10.0 * (slot % 8) as f64 + rng.normal()))
            .collect();
        assert_eq!(serial(&runs).unwrap().dependence(), None);
    }

    #[test]
    fn a_disturbance_that_stays_is_seen_over_rows_where_one_row_cannot_show_it() {
        let mut rng = Random::new(5);
        let mut seen = |rows: usize| {
            let is_seen = |_: &i32| {
                serial(&profile("AR(1) 0.9", rows, &mut rng).0)
                    .unwrap()
                    .dependence()
                    .is_some()
            };
            (0..200).filter(is_seen).count()
        };
        let (alone, pooled) = (seen(1), seen(8));
        assert!(
            pooled > 190 && alone < 100,
            "{alone} alone, {pooled} pooled, of 200"
        );
    }

    #[test]
    fn independent_runs_are_called_dependent_in_one_of_twenty_at_most() {
        let mut rng = Random::new(6);
        for shape in ["lognormal", "bimodal 20 %", "bimodal 50:50"] {
            let found = (0..400)
                .filter_map(|_| serial(&profile(shape, 4, &mut rng).0))
                .filter(|tests| tests.dependence().is_some())
                .count();
            // Four standard deviations above 5 %.
            assert!(found <= 38, "{shape}: {found} of 400");
        }
    }

    #[test]
    fn equal_and_few_values_say_nothing() {
        assert_eq!(serial(&[]), None);
        assert_eq!(serial(&[(0, 1.0); 9]), None);
        assert_eq!(serial(&[(0, 1.0), (0, 2.0), (0, 3.0), (0, 4.0)]), None);
    }

    /// The table of METHODOLOGY.md: per mille of profiles in which 95 % would stand, and stands, on
    /// an interval that misses the mean of a long time, for one row and for eight.
    #[test]
    #[ignore = "simulates 20,000 profiles"]
    fn how_often_a_label_of_95_percent_stands_on_an_interval_that_misses() {
        const DRAWS: usize = 2000;
        const EXPECTED: [[usize; 4]; 5] = [
            [29, 28, 28, 28],
            [256, 249, 259, 248],
            [27, 26, 30, 29],
            [548, 445, 131, 1],
            [705, 685, 221, 178],
        ];
        let found = SHAPES.map(|shape| {
            let [alone, pooled] = [1, 8].map(|rows| {
                let mut rng = Random::new(7);
                let mut missed = [0, 0];
                for _ in 0..DRAWS {
                    let (runs, truth) = profile(shape, rows, &mut rng);
                    let misses = !interval(&runs).contains(truth);
                    let is_labelled =
                        serial(&runs).is_none_or(|tests| tests.dependence().is_none());
                    missed[0] += usize::from(misses);
                    missed[1] += usize::from(misses && is_labelled);
                }
                missed.map(|count| (1000 * count + DRAWS / 2) / DRAWS)
            });
            [alone[0], alone[1], pooled[0], pooled[1]]
        });
        for (shape, (found, expected)) in SHAPES.iter().zip(found.iter().zip(EXPECTED)) {
            for (found, expected) in found.iter().zip(expected) {
                // The last bit of a logarithm may tip a draw on another machine.
                assert!(
                    found.abs_diff(expected) <= 2,
                    "{shape}: {found} per mille, not {expected}"
                );
            }
        }
    }
}
