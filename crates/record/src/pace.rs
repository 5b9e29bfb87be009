//! What open loops were asked for, and what they kept.

use crate::{HostAccount, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::lossless::{f64_to_u64_saturating, u64_to_f64};
use units::{Bytes, Nanos};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaceAccount {
    pub asked_per_second: Option<f64>,
    pub asked_bytes_per_second: Option<f64>,
    pub achieved_per_second: f64,
    /// Over which time that rate is: of ranks from the common start, of a load to the moment from which nothing more
    /// was asked of it, which is the arrival for which no turn was left or the end of its course; in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ns: Option<u64>,
    /// How long a worker's schedule had nothing for it before that time was over, as it waited for others between kinds
    /// of operations, passes, or at a stonewall; of all workers the mean, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ns: u64,
    /// Intended to start before the end and never started.
    pub unsent: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

impl PaceAccount {
    /// A rate is kept if so much of it was achieved, and no more of what was due than this was
    /// never begun.
    const LEAST_KEPT: f64 = 0.95;
    const MOST_UNSENT: f64 = 0.01;

    /// Whether `asked` operations a second were kept where so many were begun, of which chance alone
    /// moves so large a share.
    #[must_use]
    pub fn keeps(&self, asked: f64, begun: u64, chance: f64) -> bool {
        let [unsent, due] = [self.unsent, begun.saturating_add(self.unsent).max(1)].map(u64_to_f64);
        let least = Self::LEAST_KEPT.min(1.0 - chance);
        self.achieved_per_second >= least * asked && unsent <= Self::MOST_UNSENT * due
    }
}

impl Record {
    /// How many a schedule began: of a load its turns, of which each may be of several operations, else operations.
    #[must_use]
    pub fn begun_by_schedule(&self) -> u64 {
        let pace = self.pace.as_ref().filter(|_| self.load.is_some());
        // Older records do not say over which time their rate is.
        match pace.and_then(|pace| Some((pace.achieved_per_second, pace.over_ns?))) {
            Some((per_second, over_ns)) => {
                let begun = per_second * u64_to_f64(over_ns) / 1e9;
                f64_to_u64_saturating(begun.round())
            }
            None => (self.operations.but_flushes())
                .map(|(_, of)| of.count.saturating_add(of.errors))
                .sum(),
        }
    }

    /// The share by which chance alone moves the number of operations that a schedule starts: a
    /// Poisson count varies by the root of how many are due, of which this is three; a constant one by the operation at
    /// each end.
    #[must_use]
    pub fn chance_of_pace(&self) -> f64 {
        let asked = self.pace.as_ref().and_then(|pace| pace.asked_per_second);
        let due = asked.map(|asked| asked * u64_to_f64(self.paced_ns()) / 1e9);
        let due = due.filter(|due| due.is_finite() && *due > 0.0);
        let due = due.unwrap_or_else(|| u64_to_f64(self.begun_by_schedule()));
        // A rate of bytes moves by sizes, of which the largest are rare.
        let of_bytes = asked.is_none().then(|| self.largest_drawn()).flatten();
        let mean = u64_to_f64(self.operations.bytes()) / u64_to_f64(self.operations.count());
        let spread = of_bytes.map(|largest| u64_to_f64(largest) / mean);
        let spread = spread.filter(|spread| spread.is_finite());
        let due = due.max(1.0) / spread.unwrap_or(1.0);
        match self.has_poisson_arrivals() {
            true => 3.0 / due.sqrt(),
            false => 2.0 / due,
        }
    }

    /// Whether a time that is not measured came before.
    #[must_use]
    pub fn has_warmup(&self) -> bool {
        let warmup = self.effective.get("warmup");
        warmup.is_some_and(|time| Nanos::parse(time).is_ok_and(|time| time.0 > 0))
    }

    /// The largest size of blocks, in bytes, where chance draws among several.
    pub(crate) fn largest_drawn(&self) -> Option<u64> {
        let sizes = self.effective.get("block-size")?.split(':');
        let sizes = sizes.map(|size| Bytes::parse(size.split('/').next()?).ok());
        let sizes: Option<Vec<Bytes>> = sizes.collect();
        let sizes = sizes.filter(|sizes| sizes.len() > 1)?;
        sizes.into_iter().map(|size| size.0).max()
    }

    /// Whether chance draws the gaps of its schedule.
    #[must_use]
    pub fn has_poisson_arrivals(&self) -> bool {
        self.effective
            .get("arrival")
            .is_some_and(|arrival| arrival == "poisson")
    }

    /// The rate by which it is judged whether the pace was kept. Of two the longer gap of each operation holds, so
    /// that one of them alone is reached where all are of one size; where they are not, less than both may have
    /// been due, and nothing is known of what came to more than half of each.
    #[must_use]
    pub fn judged_rate(&self) -> Option<JudgedRate> {
        let pace = self.pace.as_ref()?;
        let operations = pace.asked_per_second.map(|asked| JudgedRate {
            is_of_bytes: false,
            asked,
            achieved: pace.achieved_per_second,
        });
        let moved = self.paced_bytes_per_second();
        let bytes = pace.asked_bytes_per_second.zip(moved);
        let bytes = bytes.map(|(asked, achieved)| JudgedRate {
            is_of_bytes: true,
            asked,
            achieved,
        });
        let (Some(operations), Some(bytes)) = (operations, bytes) else {
            return operations.or(bytes);
        };
        let size = self.effective.get("block-size");
        let is_of_one_size = size.is_some_and(|size| Bytes::parse(size).is_ok());
        let [of_operations, of_bytes] = [operations, bytes].map(|rate| rate.achieved / rate.asked);
        let nearer = if of_operations < of_bytes {
            bytes
        } else {
            operations
        };
        (is_of_one_size || of_operations + of_bytes < 1.0).then_some(nearer)
    }
}

/// A rate that was asked, a second, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedRate {
    pub is_of_bytes: bool,
    pub asked: f64,
    pub achieved: f64,
}

impl PaceAccount {
    /// The pace of all hosts, together; what one of them was not asked for, all were not, and of
    /// hosts of which one does not say its pace nothing is known.
    pub(crate) fn of_all<'a>(hosts: impl Iterator<Item = &'a HostAccount>) -> Option<Self> {
        let plus = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        let parts = hosts.filter_map(|host| Some((host.part.as_deref()?, host.late_ns)));
        // Who measured nothing kept no pace, and no other host had to keep it instead.
        let measured: Vec<(&Record, u64)> = parts
            .filter(|(part, _)| part.elapsed_ns > 0 || part.pace.is_some())
            .map(|(part, late_ns)| (part, part.scheduled_after(late_ns)))
            .collect();
        let worked = measured.iter().filter(|(part, _)| part.had_work());
        let longest = worked.max_by_key(|(_, over_ns)| *over_ns);
        let paces = measured.iter().map(|(part, over_ns)| {
            let pace = part.pace.as_ref()?.clone();
            let longer = longest.filter(|(_, longest)| longest > over_ns);
            let Some((last, longest)) = longer else {
                return Some(pace);
            };
            // What ended early, for it failed or had done its part, was no rate of the whole time. All ranks
            // of a load have the same share of one course, and only the last was asked for it until then.
            let course = last.pace.as_ref().filter(|_| part.load.is_some());
            let share = u64_to_f64(*over_ns) / u64_to_f64(*longest);
            Some(Self {
                asked_per_second: course.map_or(pace.asked_per_second, |of| of.asked_per_second),
                achieved_per_second: pace.achieved_per_second * share,
                ..pace
            })
        });
        let paces: Option<Vec<Self>> = paces.collect();
        paces?.into_iter().reduce(|all, part| Self {
            asked_per_second: plus(all.asked_per_second, part.asked_per_second),
            asked_bytes_per_second: plus(all.asked_bytes_per_second, part.asked_bytes_per_second),
            achieved_per_second: all.achieved_per_second + part.achieved_per_second,
            over_ns: all.over_ns.max(part.over_ns),
            waited_ns: all.waited_ns.max(part.waited_ns),
            unsent: all.unsent.saturating_add(part.unsent),
        })
    }
}
