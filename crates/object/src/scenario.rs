//! What a load does, as plain data. The built-in scenarios are TOML files beside this one, read by
//! the same reader as a user's own.
//!
//! A virtual user repeats: choose an operation by weight, do it, do what follows it, sleep. In a
//! closed loop users come and go with a ramp; in an open loop arrivals come by a rate, and
//! whichever connection is free takes the next.

mod adjust;
mod check;
mod describe;
mod keys;
mod read;
mod sizes;

pub use adjust::{Adjustments, parse_stages};
pub use sizes::ObjectSizes;
pub(crate) use sizes::SizeDraw;

use crate::payload::ObjectData;
use crate::ramp::{Ramp, Spacing};
use crate::verbs::{Call, StepKind};
use record::Threshold;

/// A whole load.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub name: String,
    pub about: String,
    pub arrivals: Arrivals,
    /// Objects made before the clock starts.
    pub seeds: Vec<Seed>,
    pub keys: KeyChoice,
    /// Over how many prefixes keys are spread.
    pub prefixes: u32,
    pub steps: Vec<UserStep>,
    pub thresholds: Vec<Threshold>,
    pub payload: PayloadMode,
    pub data: ObjectData,
    /// Whether every byte of every GET is compared.
    pub verify: bool,
    /// Every GET asks for a part of its object of so many bytes; `None`: for the whole.
    pub range: Option<u64>,
}

/// Who starts operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Users that each wait for their answer.
    Closed { users: Ramp },
    /// Arrivals a second, whatever the answers do, over at most `connections`.
    Open {
        rate: Ramp,
        spacing: Spacing,
        connections: u32,
    },
}

/// Equal objects of the setup.
#[derive(Clone, Debug, PartialEq)]
pub struct Seed {
    pub count: u64,
    pub size: u64,
    /// How often one of them is chosen, in relation to the others.
    pub weight: f64,
}

/// How a seed object is chosen for GET and HEAD.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum KeyChoice {
    /// By the weights of the seeds alone.
    #[default]
    Uniform,
    /// The weights multiplied by 1 / rank^theta, the first object the hottest.
    Zipf(f64),
}

/// Whether the signature of a request covers its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadMode {
    #[default]
    Signed,
    Unsigned,
}

/// One kind of operation of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct UserStep {
    pub kind: StepKind,
    pub weight: f64,
    /// Of what is written.
    pub sizes: ObjectSizes,
    /// Of a multipart upload.
    pub part_bytes: u64,
    /// Name of the file's field in a form.
    pub field: String,
    /// Which object is used; without any, a seed.
    pub from: Vec<ObjectSource>,
    /// By the size of the object, the first that fits.
    pub sleeps: Vec<Sleep>,
    pub then: Vec<Follow>,
}

/// Where the object comes from that a step uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectSource {
    pub set: ObjectSet,
    pub weight: f64,
    /// Of own objects, only this many of the newest.
    pub last: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectSet {
    /// What the same user has uploaded; a DELETE takes the oldest.
    Own,
    /// What the setup made; a DELETE takes each once.
    Seed,
}

/// A pause after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// After objects smaller than this.
    pub under: Option<u64>,
    pub for_ns: u64,
}

/// What follows an upload, on the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    /// One that uses an object.
    pub kind: StepKind,
    /// Once in so many times, at random.
    pub one_in: u32,
    /// Only after objects of at most this many bytes.
    pub at_most: Option<u64>,
}

/// Names and texts of the built-in scenarios.
const PRESETS: [(&str, &str); 15] = [
    ("upload", include_str!("presets/upload.toml")),
    ("download", include_str!("presets/download.toml")),
    ("mixed", include_str!("presets/mixed.toml")),
    ("upload-suite", include_str!("presets/upload-suite.toml")),
    ("mixed-suite", include_str!("presets/mixed-suite.toml")),
    ("get", include_str!("presets/get.toml")),
    ("put", include_str!("presets/put.toml")),
    ("list", include_str!("presets/list.toml")),
    ("delete", include_str!("presets/delete.toml")),
    ("stat", include_str!("presets/stat.toml")),
    ("multipart", include_str!("presets/multipart.toml")),
    (
        "put-get-verify",
        include_str!("presets/put-get-verify.toml"),
    ),
    ("copy", include_str!("presets/copy.toml")),
    ("post", include_str!("presets/post.toml")),
    ("fetch", include_str!("presets/fetch.toml")),
];

impl Scenario {
    /// The built-in scenario of this name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        let (file, text) = PRESETS.into_iter().find(|(preset, _)| *preset == name)?;
        Some(Self::parse(text, file).expect("a test reads every built-in scenario"))
    }

    /// Names and descriptions of the built-in scenarios.
    pub fn presets() -> impl Iterator<Item = (&'static str, String)> {
        PRESETS
            .into_iter()
            .filter_map(|(name, _)| Some((name, Self::preset(name)?.about)))
    }

    /// The text of a built-in scenario, to begin an own one with.
    #[must_use]
    pub fn preset_text(name: &str) -> Option<&'static str> {
        PRESETS
            .into_iter()
            .find(|(preset, _)| *preset == name)
            .map(|(_, text)| text)
    }

    /// Objects that the setup makes.
    #[must_use]
    pub fn seed_count(&self) -> u64 {
        self.seeds
            .iter()
            .fold(0, |sum, seed| sum.saturating_add(seed.count))
    }

    /// The most users, or connections.
    #[must_use]
    pub fn most_users(&self) -> u32 {
        match &self.arrivals {
            Arrivals::Closed { users } => {
                u32::try_from(units::lossless::f64_to_u64_saturating(users.peak()))
                    .unwrap_or(u32::MAX)
            }
            Arrivals::Open { connections, .. } => *connections,
        }
    }

    /// Kinds of requests that it makes.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let kinds = self.steps.iter().flat_map(|step| {
            std::iter::once(step.kind).chain(step.then.iter().map(|follow| follow.kind))
        });
        kinds.flat_map(|kind| kind.verb().calls).copied().collect()
    }

    /// The same load after some time at the level that it begins with, but at least one user.
    pub(crate) fn after_warmup(&self, for_ns: u64) -> Self {
        let mut out = self.clone();
        match &mut out.arrivals {
            Arrivals::Closed { users: course } => {
                *course = course.after(course.start.max(1.0), for_ns)
            }
            Arrivals::Open { rate: course, .. } => *course = course.after(course.start, for_ns),
        }
        out
    }

    /// The course of users or of the rate.
    #[must_use]
    pub fn course(&self) -> &Ramp {
        match &self.arrivals {
            Arrivals::Closed { users } => users,
            Arrivals::Open { rate, .. } => rate,
        }
    }
}

impl UserStep {
    /// The pause after an object of `size` bytes, in nanoseconds.
    #[must_use]
    pub fn sleep_ns(&self, size: u64) -> u64 {
        self.sleeps
            .iter()
            .find(|sleep| sleep.under.is_none_or(|under| size < under))
            .map_or(0, |sleep| sleep.for_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ramp::Leg;

    const KIB: u64 = 1024;
    const SECOND: u64 = 1_000_000_000;

    fn legs(pairs: &[(u64, f64)]) -> Vec<Leg> {
        pairs
            .iter()
            .map(|(seconds, to)| Leg {
                for_ns: seconds * SECOND,
                to: *to,
            })
            .collect()
    }

    fn preset(name: &str) -> Scenario {
        Scenario::preset(name).unwrap()
    }

    fn sizes(step: &UserStep) -> Vec<(u64, f64)> {
        match &step.sizes.law {
            sizes::SizeLaw::Ranges(ranges) => ranges
                .iter()
                .map(|(low, _, weight)| (*low, *weight))
                .collect(),
            sizes::SizeLaw::LogNormal { .. } => Vec::new(),
        }
    }

    #[test]
    fn every_preset_is_read_under_its_own_name() {
        for (name, about) in Scenario::presets() {
            assert_eq!(preset(name).name, name);
            assert!(!about.is_empty() && preset(name).course().total_ns() > 0);
        }
        assert_eq!(Scenario::presets().count(), PRESETS.len());
        assert_eq!(Scenario::preset("nothing"), None);
    }

    #[test]
    fn upload_is_the_documents() {
        let upload = preset("upload");
        assert_eq!(
            upload.course(),
            &Ramp {
                start: 1.0,
                legs: legs(&[(90, 50.0), (180, 50.0), (30, 0.0)])
            }
        );
        assert_eq!(
            preset("upload-suite").course().legs,
            legs(&[(120, 50.0), (120, 50.0), (30, 0.0)])
        );
        let [put] = upload.steps.as_slice() else {
            panic!("one operation")
        };
        assert_eq!(
            sizes(put),
            [
                (KIB, 50.0),
                (10 * KIB, 30.0),
                (100 * KIB, 15.0),
                (KIB * KIB, 4.0),
                (5 * KIB * KIB, 1.0)
            ]
        );
        assert_eq!(
            put.then,
            [Follow {
                kind: StepKind::Delete,
                one_in: 10,
                at_most: Some(10 * KIB)
            }]
        );
        assert_eq!(
            [1023, 10 * KIB - 1, 10 * KIB].map(|size| put.sleep_ns(size)),
            [SECOND / 2, SECOND / 2, SECOND]
        );
        // The document gives the mean as about 113 KB.
        assert_eq!((put.sizes.mean() / 1000.0).round(), 113.0);
        let shown: Vec<_> = upload.thresholds.iter().map(Threshold::text).collect();
        assert_eq!(
            shown,
            [
                "success>95%",
                "put.p95<2s",
                "put.p99<5s",
                "put.count>=100",
                "put.bytes>=1MiB"
            ]
        );
    }

    #[test]
    fn download_is_the_documents() {
        let download = preset("download");
        assert_eq!(
            download.course(),
            &Ramp {
                start: 1.0,
                legs: legs(&[(30, 100.0), (180, 100.0)])
            }
        );
        let seeds: Vec<_> = download
            .seeds
            .iter()
            .map(|seed| (seed.count, seed.size, seed.weight))
            .collect();
        let expected = [
            (512, 50.0),
            (KIB, 50.0),
            (2 * KIB, 50.0),
            (4 * KIB, 50.0),
            (10 * KIB, 30.0),
            (50 * KIB, 30.0),
            (100 * KIB, 20.0),
        ];
        let large = [
            (500 * KIB, 20.0),
            (KIB * KIB, 20.0),
            (2 * KIB * KIB, 20.0),
            (5 * KIB * KIB, 20.0),
        ];
        assert_eq!(
            seeds,
            expected
                .into_iter()
                .chain(large)
                .map(|(size, weight)| (1, size, weight))
                .collect::<Vec<_>>()
        );
        let get = &download.steps[0];
        assert_eq!(
            [4 * KIB, 10 * KIB, 50 * KIB, 100 * KIB].map(|size| get.sleep_ns(size)),
            [SECOND / 10, 3 * SECOND / 10, 3 * SECOND / 10, SECOND / 2]
        );
        // 36.0 GB in 71,730 iterations are 502 KB each; the weights give 506 KB.
        let total: f64 = seeds.iter().map(|(_, _, weight)| weight).sum();
        let mean = seeds
            .iter()
            .map(|(_, size, weight)| *size as f64 * weight)
            .sum::<f64>()
            / total;
        assert!((mean / 502_000.0 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    fn mixed_is_the_documents_and_the_suites() {
        for (name, weights) in [
            ("mixed", [40.0, 50.0, 7.0, 3.0]),
            ("mixed-suite", [30.0, 50.0, 15.0, 5.0]),
        ] {
            let mixed = preset(name);
            assert_eq!(
                mixed.course(),
                &Ramp {
                    start: 25.0,
                    legs: legs(&[(30, 25.0), (10, 100.0), (30, 100.0), (10, 25.0), (30, 0.0)])
                }
            );
            let kinds: Vec<_> = mixed
                .steps
                .iter()
                .map(|step| (step.kind, step.weight))
                .collect();
            let order = [
                StepKind::Put,
                StepKind::Get,
                StepKind::List,
                StepKind::Delete,
            ];
            assert_eq!(kinds, order.into_iter().zip(weights).collect::<Vec<_>>());
            assert_eq!(
                mixed.seeds,
                [Seed {
                    count: 20,
                    size: 10 * KIB,
                    weight: 1.0
                }]
            );
            let expected = [
                (KIB, 40.0),
                (10 * KIB, 30.0),
                (50 * KIB, 20.0),
                (100 * KIB, 7.0),
                (512 * KIB, 2.0),
                (KIB * KIB, 1.0),
            ];
            assert_eq!(sizes(&mixed.steps[0]), expected);
            let own = ObjectSource {
                set: ObjectSet::Own,
                weight: 70.0,
                last: Some(50),
            };
            assert_eq!(
                mixed.steps[1].from,
                [
                    own,
                    ObjectSource {
                        set: ObjectSet::Seed,
                        weight: 30.0,
                        last: None
                    }
                ]
            );
            assert_eq!(
                mixed.steps[3].from,
                [ObjectSource {
                    set: ObjectSet::Own,
                    weight: 1.0,
                    last: None
                }]
            );
            assert_eq!(
                mixed
                    .steps
                    .iter()
                    .map(|step| step.sleep_ns(0) / 1_000_000)
                    .collect::<Vec<_>>(),
                [500, 200, 300, 100]
            );
            assert_eq!(mixed.prefixes, 4);
            let shown: Vec<_> = mixed.thresholds.iter().map(Threshold::text).collect();
            assert_eq!(
                shown,
                [
                    "put.p95<3s",
                    "get.p95<1s",
                    "list.p95<500ms",
                    "delete.p95<200ms",
                    "errors<10%"
                ]
            );
        }
    }

    #[test]
    fn calls_of_a_scenario_include_what_follows() {
        assert_eq!(preset("upload").calls(), [Call::Put, Call::Delete]);
    }

    #[test]
    fn all_document_scenarios_sign_their_payloads() {
        for name in ["upload", "download", "mixed", "mixed-suite"] {
            assert_eq!(preset(name).payload, PayloadMode::Signed);
        }
    }
}
