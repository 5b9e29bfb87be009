//! What a command line changes of a scenario.

use super::{Arrivals, KeyChoice, ObjectSizes, PayloadMode, Scenario, Sleep};
use crate::LoadError;
use crate::payload::ObjectData;
use crate::ramp::{Leg, Ramp, Spacing};
use record::Threshold;

/// Changes; what is `None` or empty stays as the scenario has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjustments {
    /// Multiplies the length of every stage; users, rates and sleeps stay, so that the load is the
    /// same for a shorter time.
    pub scale: Option<f64>,
    /// The most users: alone, the ramp is raised or lowered as a whole; with a duration, all of
    /// them from the start.
    pub users: Option<u32>,
    /// In place of all stages: the peak from the start, for this time.
    pub duration_ns: Option<u64>,
    /// In place of all stages: from nothing to each of these.
    pub stages: Option<Vec<Leg>>,
    /// In place of users that wait: arrivals a second, over the users as connections.
    pub rate: Option<f64>,
    pub spacing: Option<Spacing>,
    pub think_ns: Option<u64>,
    /// Of everything that is written, seeds included.
    pub sizes: Option<ObjectSizes>,
    /// Objects of the setup, each size in its proportion.
    pub seeds: Option<u64>,
    pub keys: Option<KeyChoice>,
    pub data: Option<ObjectData>,
    pub payload: Option<PayloadMode>,
    pub verify: bool,
    /// Parts of objects are read, of so many bytes.
    pub range: Option<u64>,
    /// In addition to the scenario's own.
    pub thresholds: Vec<Threshold>,
    /// Leaves the scenario's own thresholds out.
    pub no_thresholds: bool,
}

impl Scenario {
    /// The scenario with these changes.
    ///
    /// # Errors
    /// What comes out cannot be run.
    pub fn adjusted(mut self, changes: &Adjustments) -> Result<Self, LoadError> {
        self.arrivals = arrivals(self.arrivals, changes)?;
        if let Some(think_ns) = changes.think_ns {
            let sleeps = if think_ns == 0 {
                Vec::new()
            } else {
                vec![Sleep {
                    under: None,
                    for_ns: think_ns,
                }]
            };
            self.steps
                .iter_mut()
                .for_each(|step| step.sleeps.clone_from(&sleeps));
        }
        if let Some(sizes) = &changes.sizes {
            self.steps
                .iter_mut()
                .filter(|step| step.kind.verb().uses.has_size())
                .for_each(|step| step.sizes = sizes.clone());
            if !self.seeds.is_empty() {
                let size = sizes.only().ok_or_else(|| {
                    LoadError::asked("--object-size: objects that are made before the load have one size; for several, write them as [[seed]] of a scenario file")
                });
                // A scenario that uploads keeps its own seeds where the new law has no one size.
                if let Ok(size) = size.as_ref() {
                    self.seeds.iter_mut().for_each(|seed| seed.size = *size);
                } else if !self
                    .steps
                    .iter()
                    .any(|step| step.kind.verb().uses.has_size())
                {
                    size?;
                }
            }
        }
        if let Some(seeds) = changes.seeds {
            let before = self.seed_count().max(1);
            if self.seeds.is_empty() || seeds == 0 {
                return Err(LoadError::asked(format!(
                    "--seeds {seeds}: this scenario makes no objects before the load, or needs at least one"
                )));
            }
            let share = |count: u64| {
                u64::try_from(u128::from(count) * u128::from(seeds) / u128::from(before))
                    .unwrap_or(u64::MAX)
                    .max(1)
            };
            self.seeds
                .iter_mut()
                .for_each(|seed| seed.count = share(seed.count));
        }
        self.keys = changes.keys.unwrap_or(self.keys);
        self.data = changes.data.unwrap_or(self.data);
        self.payload = changes.payload.unwrap_or(self.payload);
        self.verify |= changes.verify;
        self.range = changes.range.or(self.range);
        if changes.no_thresholds {
            self.thresholds.clear();
        }
        self.thresholds.extend(changes.thresholds.iter().cloned());
        self.check()?;
        Ok(self)
    }
}

fn arrivals(mut arrivals: Arrivals, changes: &Adjustments) -> Result<Arrivals, LoadError> {
    if let Some(scale) = changes
        .scale
        .filter(|scale| !(*scale > 0.0 && *scale <= 1000.0))
    {
        return Err(LoadError::asked(format!(
            "--scale {scale} is not above 0 and at most 1000; example: --scale 0.1"
        )));
    }
    let scale = changes.scale.unwrap_or(1.0);
    if changes.users == Some(0) {
        return Err(LoadError::asked("--users must be 1 or more"));
    }
    if let Some(legs) = &changes.stages {
        arrivals = staged(arrivals, legs, changes)?;
    }
    match &mut arrivals {
        Arrivals::Closed { users } => {
            let peak = users.peak();
            if let Some(wanted) = changes.users {
                *users = users.raised(f64::from(wanted) / peak, f64::round);
                let least = f64::from(u32::from(users.peak() < 1.0));
                users.start += least;
            }
            if let Some(rate) = changes.rate {
                let connections = changes.users.unwrap_or_else(|| whole(peak));
                let total = changes.duration_ns.unwrap_or_else(|| users.total_ns());
                arrivals = Arrivals::Open {
                    rate: steady(rate, total)?,
                    spacing: Spacing::default(),
                    connections,
                };
            } else if let Some(duration) = changes.duration_ns {
                *users = Ramp::constant(users.peak(), duration);
            }
        }
        Arrivals::Open {
            rate, connections, ..
        } => {
            *connections = changes.users.unwrap_or(*connections);
            if changes.rate.is_some() || changes.duration_ns.is_some() {
                let total = changes.duration_ns.unwrap_or_else(|| rate.total_ns());
                *rate = steady(changes.rate.unwrap_or_else(|| rate.peak()), total)?;
            }
        }
    }
    match &mut arrivals {
        Arrivals::Closed { users } => {
            if changes.spacing.is_some() {
                return Err(LoadError::asked(
                    "--arrival belongs to an open loop: give --rate as well",
                ));
            }
            *users = users.stretched(scale);
        }
        Arrivals::Open { rate, spacing, .. } => {
            *spacing = changes.spacing.unwrap_or(*spacing);
            *rate = rate.stretched(scale);
        }
    }
    Ok(arrivals)
}

/// The same loop with other stages.
fn staged(
    mut arrivals: Arrivals,
    legs: &[Leg],
    changes: &Adjustments,
) -> Result<Arrivals, LoadError> {
    let refuse = |why: &str| {
        Err(LoadError::Asked(format!(
            "--stages: {why}; example: --stages 30s:50,2m:50,30s:0"
        )))
    };
    if changes.duration_ns.is_some() || changes.rate.is_some() {
        return refuse(
            "stages have times and levels of their own, so --duration and --rate cannot be given with them",
        );
    }
    let stages = Ramp {
        start: 0.0,
        legs: legs.to_vec(),
    };
    if legs.len() > 1000 || stages.peak() <= 0.0 {
        return refuse("at most 1000, and one of them must be above 0 and have a length");
    }
    match &mut arrivals {
        Arrivals::Closed { users } => {
            if changes.users.is_some() {
                return refuse(
                    "stages say how many users there are, so --users cannot be given with them",
                );
            }
            if legs
                .iter()
                .any(|leg| leg.to.fract() != 0.0 || leg.to > 65_536.0)
            {
                return refuse("a number of users is whole, and at most 65536");
            }
            *users = stages;
        }
        Arrivals::Open { rate, .. } => *rate = stages,
    }
    Ok(arrivals)
}

/// Stages as a command line has them: each a time and the level that is reached at its end.
///
/// # Errors
/// The text is not of this form.
pub fn parse_stages(text: &str) -> Result<Vec<Leg>, LoadError> {
    let refused = |part: &str, why: String| {
        LoadError::Asked(format!(
            "--stages {part:?}: {why}; example: --stages 30s:50,2m:50,30s:0"
        ))
    };
    let leg = |part: &str| {
        let (time, level) = part
            .split_once(':')
            .ok_or_else(|| refused(part, "no colon between a time and a level".into()))?;
        let for_ns = units::Nanos::parse(time.trim())
            .map_err(|e| refused(part, e.to_string()))?
            .0;
        let to = units::Rate::parse(level.trim())
            .map_err(|e| refused(part, e.to_string()))?
            .0;
        if to.is_finite() && to >= 0.0 {
            Ok(Leg { for_ns, to })
        } else {
            Err(refused(part, "a level is 0 or more".into()))
        }
    };
    text.split(',').map(leg).collect()
}

fn steady(rate: f64, total_ns: u64) -> Result<Ramp, LoadError> {
    if !(rate > 0.0 && rate <= 1e7) {
        return Err(LoadError::asked(format!(
            "--rate {rate} is not above 0 and at most 10M a second"
        )));
    }
    Ok(Ramp {
        start: rate,
        legs: vec![Leg {
            for_ns: total_ns,
            to: rate,
        }],
    })
}

fn whole(users: f64) -> u32 {
    u32::try_from(units::lossless::f64_to_u64_saturating(users))
        .unwrap_or(u32::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn adjusted(preset: &str, changes: Adjustments) -> Result<Scenario, LoadError> {
        Scenario::preset(preset).unwrap().adjusted(&changes)
    }

    #[test]
    fn a_scale_changes_times_and_nothing_else() {
        let before = Scenario::preset("upload").unwrap();
        let after = adjusted(
            "upload",
            Adjustments {
                scale: Some(0.1),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert_eq!(
            (after.course().total_ns(), after.most_users()),
            (30 * SECOND, 50)
        );
        assert_eq!(
            (&after.steps, &after.thresholds),
            (&before.steps, &before.thresholds)
        );
    }

    #[test]
    fn users_alone_raise_the_ramp_and_with_a_duration_are_constant() {
        let raised = adjusted(
            "mixed",
            Adjustments {
                users: Some(200),
                ..Adjustments::default()
            },
        )
        .unwrap();
        let Arrivals::Closed { users } = &raised.arrivals else {
            panic!("closed")
        };
        assert_eq!(
            (users.start, users.peak(), users.legs.len()),
            (50.0, 200.0, 5)
        );
        let constant = adjusted(
            "mixed",
            Adjustments {
                users: Some(8),
                duration_ns: Some(SECOND),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert_eq!(
            constant.arrivals,
            Arrivals::Closed {
                users: Ramp::constant(8.0, SECOND)
            }
        );
        let one = adjusted(
            "mixed",
            Adjustments {
                users: Some(1),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert_eq!(one.most_users(), 1);
    }

    #[test]
    fn a_rate_opens_the_loop() {
        let changes = Adjustments {
            rate: Some(500.0),
            users: Some(9),
            duration_ns: Some(SECOND),
            ..Adjustments::default()
        };
        let open = adjusted("download", changes).unwrap();
        let expected = Arrivals::Open {
            rate: Ramp::constant(500.0, SECOND),
            spacing: Spacing::Poisson,
            connections: 9,
        };
        assert_eq!(open.arrivals, expected);
        assert_eq!(open.most_users(), 9);
    }

    #[test]
    fn sleeps_sizes_and_seeds_are_replaced() {
        let sizes = Some(ObjectSizes::parse("4KiB").unwrap());
        let changed = adjusted(
            "mixed",
            Adjustments {
                think_ns: Some(0),
                sizes,
                seeds: Some(40),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert!(changed.steps.iter().all(|step| step.sleeps.is_empty()));
        assert_eq!(
            (
                changed.seeds[0].count,
                changed.seeds[0].size,
                changed.steps[0].sizes.only()
            ),
            (40, 4096, Some(4096))
        );
        let paused = adjusted(
            "mixed",
            Adjustments {
                think_ns: Some(7),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert!(paused.steps.iter().all(|step| step.sleep_ns(1 << 30) == 7));
    }

    #[test]
    fn thresholds_are_added_or_replaced() {
        let extra = vec![Threshold::parse("get.p50<1ms").unwrap()];
        let added = adjusted(
            "download",
            Adjustments {
                thresholds: extra.clone(),
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert_eq!(added.thresholds.len(), 4);
        let alone = adjusted(
            "download",
            Adjustments {
                thresholds: extra.clone(),
                no_thresholds: true,
                ..Adjustments::default()
            },
        )
        .unwrap();
        assert_eq!(alone.thresholds, extra);
    }

    #[test]
    fn stages_replace_the_ramp_of_any_scenario_and_can_be_scaled() {
        let stages = parse_stages("30s:50,2m:50, 30s:0").unwrap();
        for preset in ["get", "upload", "mixed"] {
            let after = adjusted(
                preset,
                Adjustments {
                    stages: Some(stages.clone()),
                    scale: Some(0.5),
                    ..Adjustments::default()
                },
            )
            .unwrap();
            let legs = [(15, 50.0), (60, 50.0), (15, 0.0)].map(|(seconds, to)| Leg {
                for_ns: seconds * SECOND,
                to,
            });
            assert_eq!(
                after.course(),
                &Ramp {
                    start: 0.0,
                    legs: legs.to_vec()
                },
                "{preset}"
            );
        }
    }

    #[test]
    fn stages_that_are_none_are_refused() {
        for text in [
            "",
            "30s",
            "30s:",
            ":5",
            "30x:5",
            "30s:-1",
            "30s:many",
            "30s:5,",
            "30s:5;1m:6",
        ] {
            assert!(
                matches!(parse_stages(text), Err(LoadError::Asked(said)) if said.contains("example: --stages")),
                "{text}"
            );
        }
        let of = |text: &str| Adjustments {
            stages: parse_stages(text).ok(),
            ..Adjustments::default()
        };
        for changes in [
            of("30s:0"),
            of("0s:5"),
            of("30s:1.5"),
            of("30s:70000"),
            Adjustments {
                users: Some(5),
                ..of("30s:5")
            },
            Adjustments {
                duration_ns: Some(5),
                ..of("30s:5")
            },
            Adjustments {
                rate: Some(5.0),
                ..of("30s:5")
            },
        ] {
            assert!(
                matches!(
                    adjusted("upload", changes.clone()),
                    Err(LoadError::Asked(_))
                ),
                "{changes:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (preset, changes) in [
            (
                "upload",
                Adjustments {
                    scale: Some(0.0),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    scale: Some(f64::NAN),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    users: Some(0),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    rate: Some(0.0),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    duration_ns: Some(0),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    seeds: Some(5),
                    ..Adjustments::default()
                },
            ),
            (
                "upload",
                Adjustments {
                    spacing: Some(Spacing::Constant),
                    ..Adjustments::default()
                },
            ),
            (
                "get",
                Adjustments {
                    sizes: ObjectSizes::parse("1KiB-2KiB").ok(),
                    ..Adjustments::default()
                },
            ),
        ] {
            assert!(
                matches!(adjusted(preset, changes.clone()), Err(LoadError::Asked(_))),
                "{preset} {changes:?}"
            );
        }
    }
}
