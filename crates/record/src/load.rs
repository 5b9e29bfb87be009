//! What a load on an object store or HTTP service has beside its operations.

use crate::{Histogram, Measurements, Outcome, Record, Status, ThresholdResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Account of one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadAccount {
    /// Name of the scenario. What is long or the same for all is left out of the part of a host.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    /// Users that were there at the end of each interval of the series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<u64>,
    /// Times of the parts of requests, by kind of operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, RequestPhases>,
    /// Whole turns of users, their sleeps included.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub iterations: Histogram,
    /// Turns in which the chosen operation had nothing to act on.
    pub skipped: u64,
    /// Requests sent again after a failure; the operation is counted once.
    pub retries: u64,
    /// What went to each server of the target, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointAccount>,
    pub connections_opened: u64,
    /// Attempts to connect that failed.
    pub connections_failed: u64,
    /// In an open loop: how much later than intended operations started for which a connection was
    /// free, in nanoseconds. It is the generator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Histogram>,
    /// In an open loop: operations that were due while every connection waited for an answer.
    pub queued: u64,
    /// In an open loop: how long operations that never started had been due at the end, in
    /// nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent_age: Option<Histogram>,
    pub signing: SigningCost,
    /// Requests that made what the load needs, and those that removed it; in none of the other
    /// counters.
    #[serde(skip_serializing_if = "Measurements::is_empty")]
    pub setup: Measurements,
    #[serde(skip_serializing_if = "Measurements::is_empty")]
    pub teardown: Measurements,
    /// Objects that the teardown could not remove, or was told to keep.
    pub left_behind: u64,
    /// Multipart uploads that the load began and that nobody could abort.
    pub uploads_left_behind: u64,
    /// As records had them before every record could have some: [`Record::thresholds`] has both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerAccount>,
    /// Of a step of a search for the highest rate: all steps until this one, this one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchAccount>,
}

/// What went to one server of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EndpointAccount {
    /// Host and port.
    pub address: String,
    /// Successful requests, and those that failed or were never answered; together they are all of
    /// the load's own.
    pub operations: u64,
    pub errors: u64,
    pub connections_opened: u64,
    pub connections_failed: u64,
}

/// Times of the parts of successful requests of one kind, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestPhases {
    /// Of requests that opened a connection, or waited for the one that they share to be opened:
    /// until it stood, TLS included.
    pub connecting: Histogram,
    /// Until the last byte of the request was handed to the kernel.
    pub sending: Histogram,
    /// From there to the first byte of the response.
    pub waiting: Histogram,
    /// From there to its last byte.
    pub receiving: Histogram,
}

/// What signing cost this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SigningCost {
    pub requests: u64,
    /// Signatures and digests of bodies, before the operation is issued.
    pub total_ns: u64,
}

/// How a step at an arrival rate went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepResult {
    pub rate_kept: bool,
    /// Whether operations failed and no threshold says how many may.
    pub fails: bool,
    pub verdict: StepVerdict,
}

/// What a step says of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    /// The rate was kept, nothing failed that may not, and all thresholds hold.
    Holds,
    Breaks,
    /// It had no operation that a threshold applies to, and nothing else broke.
    Undecided,
}

impl Record {
    /// Objects that held other bytes than were written.
    #[must_use]
    pub fn wrong_objects(&self) -> u64 {
        self.verification.as_ref().map_or(0, |of| of.failures)
    }

    /// The same for people; `None` where there are none.
    #[must_use]
    pub fn wrong_content(&self) -> Option<String> {
        let wrong = self.wrong_objects();
        let counted = (wrong > 0).then(|| units::counted(wrong, "object"))?;
        Some(format!("{counted} held other bytes than were written"))
    }

    /// The end of a load that nothing ended before its time: by its thresholds, and by what it did. Objects that held
    /// other bytes than were written are a failure, whatever else was tolerated.
    pub fn judge_load(&mut self) {
        if self.outcome.status == Status::Ok {
            let wrong = self.wrong_content();
            let failed = wrong.map(|what| Outcome::new(Status::Failed, 1, what));
            self.outcome = failed.unwrap_or_else(|| self.end_of_load());
        }
    }

    fn end_of_load(&self) -> Outcome {
        let results = self.thresholds();
        let missed = results.iter().filter(|result| !result.holds).count();
        let tolerates = results.iter().any(ThresholdResult::limits_failures);
        let (count, errors) = (self.operations.count(), self.operations.errors());
        let is_unchecked = self
            .verification
            .as_ref()
            .is_some_and(|of| of.operations == 0);
        if count == 0 && errors > 0 {
            Outcome::new(Status::Failed, 1, "every operation failed".into())
        } else if count == 0 {
            Outcome::new(Status::Failed, 1, "no operation was done".into())
        } else if is_unchecked {
            let what =
                "verification was asked for, and no object was read back: nothing was checked";
            Outcome::new(Status::Incomplete, 5, what.into())
        } else if missed > 0 {
            Outcome::missed(missed, results.len())
        } else if errors > 0 && !tolerates {
            let all = units::counted(count + errors, "operation");
            let what = format!(
                "{errors} of {all} failed; a threshold such as errors<1% says how many may"
            );
            Outcome::new(Status::Failed, 1, what)
        } else {
            Outcome::default()
        }
    }

    /// How a load at an arrival rate went; `None` of any other record, and of one that was cut short or whose ranks
    /// began too far apart, which says nothing of its rate.
    #[must_use]
    pub fn step_result(&self) -> Option<StepResult> {
        self.load.as_ref()?;
        if self.outcome.status.is_cut_short() || self.outcome.status == Status::Apart {
            return None;
        }
        let pace = self.pace.as_ref()?;
        let asked = pace.asked_per_second?;
        let rate_kept = pace.keeps(asked, self.begun_by_schedule(), self.chance_of_pace());
        let thresholds = self.thresholds();
        let tolerates = thresholds.iter().any(ThresholdResult::limits_failures);
        // Wrong bytes are no failure that a threshold of failures tolerates.
        let fails = self.wrong_objects() > 0 || self.operations.errors() > 0 && !tolerates;
        let missed: Vec<_> = thresholds.iter().filter(|result| !result.holds).collect();
        let is_missed = missed.iter().any(|result| self.bears_on(result));
        let verdict = match rate_kept && !fails && !is_missed {
            false => StepVerdict::Breaks,
            true if missed.is_empty() => StepVerdict::Holds,
            true => StepVerdict::Undecided,
        };
        Some(StepResult {
            rate_kept,
            fails,
            verdict,
        })
    }
}

/// A search for the highest rate at which a threshold holds, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchAccount {
    pub threshold: String,
    /// In the order in which they were tried.
    pub points: Vec<SearchPoint>,
    /// The highest rate at which it held, and the lowest at which it broke, a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds_at: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks_at: Option<f64>,
    /// Why neither is known, although there are points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<String>,
}

/// One step of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchPoint {
    pub asked_per_second: f64,
    pub achieved_per_second: f64,
    pub unsent: u64,
    pub errors: u64,
    /// From the intended start, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p50_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p99_ns: Option<f64>,
    /// Whether the threshold held, the rate was kept, and nothing failed that may not.
    pub holds: bool,
    /// It says nothing of its rate: it had no operation that a threshold applies to, and nothing else broke.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// What was measured, for people.
    pub measured: String,
    /// What broke where the threshold that is searched held, for people: failures, a rate that was not kept, another
    /// threshold; and the bytes of objects in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// What the server itself counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerAccount {
    /// Operations that it saw over the load, warm-up included and setup left out; `None` where it
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saw: Option<Measurements>,
    /// What else it counted meanwhile, by the names of its counters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn a_record_without_a_load_does_not_mention_it() {
        let text = serde_json::to_string(&Record::default()).unwrap();
        assert!(!text.contains("\"load\""), "{text}");
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap().load, None);
    }

    #[test]
    fn a_load_survives_its_record() {
        let mut load = LoadAccount {
            scenario: "mixed".into(),
            users: vec![25, 100],
            queued: 3,
            ..LoadAccount::default()
        };
        load.phases
            .entry("get".into())
            .or_default()
            .waiting
            .record(5_000_000);
        load.lateness.get_or_insert_default().record(70);
        load.server = Some(ServerAccount {
            counters: [("requests".to_owned(), 7.0)].into(),
            ..ServerAccount::default()
        });
        let record = Record {
            load: Some(load),
            ..Record::default()
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn a_step_that_was_cut_short_or_begun_too_far_apart_says_nothing_of_its_rate() {
        use crate::{GroupAccount, Outcome, PaceAccount, Status};
        let step = |status, skew_ns| {
            let mut record = Record {
                load: Some(LoadAccount::default()),
                pace: Some(PaceAccount {
                    asked_per_second: Some(0.0),
                    ..PaceAccount::default()
                }),
                outcome: Outcome {
                    status,
                    ..Outcome::default()
                },
                group: Some(GroupAccount {
                    skew_ns: Some(skew_ns),
                    ..GroupAccount::default()
                }),
                ..Record::default()
            };
            record.hold_to_start(units::Nanos(1));
            record.step_result().map(|step| step.verdict)
        };
        let cut = [Status::Interrupted, Status::Incomplete].map(|status| step(status, 0));
        assert_eq!(
            (step(Status::Ok, 1), cut),
            (Some(StepVerdict::Holds), [None, None])
        );
        assert_eq!(step(Status::Ok, 2), None);
    }

    #[test]
    fn a_step_is_judged_by_its_turns_and_by_the_bytes_of_its_objects() {
        use crate::{Operations, PaceAccount, Threshold, Verification};
        // 78 of 100 turns arrived, and each was of four requests.
        let mut record = Record {
            load: Some(LoadAccount::default()),
            pace: Some(PaceAccount {
                asked_per_second: Some(100.0),
                achieved_per_second: 78.0,
                over_ns: Some(1_000_000_000),
                ..PaceAccount::default()
            }),
            ..Record::default()
        };
        let requests = Operations {
            count: 312,
            ..Operations::default()
        };
        record.operations.insert("get", requests);
        record.effective.insert("arrival".into(), "poisson".into());
        assert_eq!(record.begun_by_schedule(), 78);
        let verdict = |record: &Record| record.step_result().unwrap().verdict;
        assert_eq!(verdict(&record), StepVerdict::Holds, "chance moves a third");
        let mut of_puts = record.clone();
        of_puts.hold_against(&[Threshold::parse("put.p95<1s").unwrap()]);
        assert_eq!(verdict(&of_puts), StepVerdict::Undecided, "there were none");
        // Two of 80 turns are more than one of a hundred.
        record.pace.as_mut().unwrap().unsent = 2;
        assert!(!record.step_result().unwrap().rate_kept);
        record.pace.as_mut().unwrap().unsent = 0;
        record.verification = Some(Verification {
            operations: 312,
            failures: 1,
            ..Verification::default()
        });
        record.hold_against(&[Threshold::parse("errors<5%").unwrap()]);
        let step = record.step_result().unwrap();
        assert!(step.fails, "wrong bytes are tolerated by nothing");
        assert_eq!(step.verdict, StepVerdict::Breaks);
    }
}
