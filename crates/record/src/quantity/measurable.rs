//! What a piece of work can give numbers of, as far as that is known before it begins: a quantity
//! that it never gives is refused before anything is measured.

use super::{LATENESS, Quantity, Source, percentile_has_support};
use std::collections::BTreeSet;
use units::lossless::f64_to_u64_saturating;

/// What the table calls every percentile.
const PERCENTILE: &str = "p{}";

/// What work will be able to give numbers of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurable {
    /// The kinds of operations that it does.
    pub kinds: BTreeSet<String>,
    /// The names under which it states numbers; `None`: that is not known before.
    pub stated: Option<BTreeSet<String>>,
    /// What else it never gives.
    pub lacks: BTreeSet<NeverMeasured>,
    /// The most operations that it does; `None`: that is not known before.
    pub most_operations: Option<u64>,
}

/// What some work gives no numbers of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeverMeasured {
    /// Parts of requests, and turns of users.
    Requests,
    /// How late the generator itself was: nothing has a time at which it is due.
    Schedule,
    /// A server's own process.
    Server,
}

/// Why work never gives a quantity: the rest of a sentence about the work that begins with "has".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotMeasurable {
    why: String,
}

impl Measurable {
    /// Work that does operations of these kinds, states nothing, and of which nothing else is known.
    #[must_use]
    pub fn of_kinds<K: Into<String>>(kinds: impl IntoIterator<Item = K>) -> Self {
        Self {
            kinds: kinds.into_iter().map(Into::into).collect(),
            stated: Some(BTreeSet::new()),
            lacks: BTreeSet::new(),
            most_operations: None,
        }
    }

    /// The same work, which never gives this.
    #[must_use]
    pub fn without(mut self, lacked: NeverMeasured) -> Self {
        self.lacks.insert(lacked);
        self
    }

    /// What at least one of several works can give.
    #[must_use]
    pub fn of_any(works: impl IntoIterator<Item = Self>) -> Self {
        let either = |mut all: Self, work: Self| {
            all.kinds.extend(work.kinds);
            all.stated = all.stated.zip(work.stated).map(|(mut all, own)| {
                all.extend(own);
                all
            });
            all.lacks.retain(|lacked| work.lacks.contains(lacked));
            let most = all.most_operations.zip(work.most_operations);
            all.most_operations = most.map(|(all, own)| all.max(own));
            all
        };
        works.into_iter().reduce(either).unwrap_or_default()
    }
}

impl Quantity {
    /// Whether work that can give this much can give this quantity.
    ///
    /// # Errors
    /// What the work has not, and what there is instead.
    pub fn check_given(&self, by: &Measurable) -> Result<(), NotMeasurable> {
        let lacks = |what: NeverMeasured| by.lacks.contains(&what);
        let named = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
        let why = if let Some(kind) = self.operation().filter(|kind| !by.kinds.contains(*kind)) {
            let known = named(&by.kinds);
            format!("no operations of the kind {kind:?}; the kinds there are {known}")
        } else if self.kind() == Some(LATENESS) && lacks(NeverMeasured::Schedule) {
            "no schedule that it could be late for; give it a rate".to_owned()
        } else if (self.part.is_some() || self.kind() != self.operation())
            && lacks(NeverMeasured::Requests)
        {
            "no requests of users, of which there are parts and turns".to_owned()
        } else if self.measure.name.starts_with("server.") && lacks(NeverMeasured::Server) {
            "no server whose process is observed; give --server-pid or --server-cgroup".to_owned()
        } else if let (Source::Stated(_), Some(stated)) = (self.measure.source, &by.stated)
            && !stated.contains(&self.parameter)
        {
            match stated.is_empty() {
                true => format!("no number {:?}: it states none", self.parameter),
                false => format!(
                    "no number {:?}; it states {}",
                    self.parameter,
                    named(stated)
                ),
            }
        } else if let (Some((percent, needed)), Some(most)) = (self.support(), by.most_operations)
            && !percentile_has_support(most, percent)
        {
            let noun = if most == 1 { "operation" } else { "operations" };
            format!("at most {most} {noun} a slot, and p{percent} needs {needed}")
        } else {
            return Ok(());
        };
        Err(NotMeasurable { why })
    }

    /// Of a percentile: which, and how many operations it takes to support it.
    fn support(&self) -> Option<(f64, u64)> {
        let percent: f64 =
            (self.measure.name == PERCENTILE).then(|| self.parameter.parse().ok())??;
        // Ten of so many lie above it; 100 - 99.9 is not exact in binary.
        let near = f64_to_u64_saturating(10.0 / (1.0 - percent / 100.0)).max(1);
        let mut counts = near - 1..near.saturating_add(2);
        let needed = counts.find(|count| percentile_has_support(*count, percent));
        needed.map(|count| (percent, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(quantity: &str, by: &Measurable) -> Option<String> {
        let checked = Quantity::named(quantity).check_given(by);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn a_percentile_is_refused_to_work_that_does_too_few_operations_to_support_it() {
        let most = |count| Measurable {
            most_operations: Some(count),
            ..Measurable::of_kinds(["run"])
        };
        let told = why("p99", &most(1));
        assert_eq!(
            told.unwrap(),
            "at most 1 operation a slot, and p99 needs 1000"
        );
        let told = why("run.p99.9", &most(9_999)).unwrap();
        assert_eq!(
            told,
            "at most 9999 operations a slot, and p99.9 needs 10000"
        );
        assert!(why("p50", &most(19)).is_some());
        for (quantity, count) in [("p50", 20), ("p99", 1000), ("p99.9", 10_000), ("mean", 1)] {
            assert_eq!(why(quantity, &most(count)), None);
        }
        let either = Measurable::of_any([most(1), most(1000)]);
        assert_eq!(why("p99", &either), None);
        assert_eq!(
            why(
                "p99",
                &Measurable::of_any([most(1), Measurable::of_kinds(["run"])])
            ),
            None
        );
    }

    #[test]
    fn work_is_refused_what_it_never_gives() {
        let run = Measurable::of_kinds(["read", "write"])
            .without(NeverMeasured::Requests)
            .without(NeverMeasured::Schedule)
            .without(NeverMeasured::Server);
        for (quantity, told) in [
            (
                "put.p99",
                "no operations of the kind \"put\"; the kinds there are read, write",
            ),
            ("waiting.p99", "no requests of users"),
            ("read.waiting.p99", "no requests of users"),
            ("iteration.p99", "no requests of users"),
            ("lateness.p99", "no schedule"),
            ("server.cpu/op", "no server"),
            ("value:tokens", "no number \"tokens\": it states none"),
        ] {
            let why = why(quantity, &run).unwrap_or_default();
            assert!(why.starts_with(told), "{quantity}: {why:?}");
        }
        for quantity in ["iops", "read.p99", "write.errors", "cpu/op", "time"] {
            assert_eq!(why(quantity, &run), None);
        }
    }

    #[test]
    fn what_is_not_known_before_is_not_refused() {
        let command = Measurable {
            stated: None,
            ..Measurable::of_kinds(["run"])
        };
        assert_eq!(why("value:tokens", &command), None);
        let stating = Measurable {
            stated: Some(["a".to_owned(), "b".to_owned()].into()),
            ..command.clone()
        };
        assert_eq!(why("value:b", &stating), None);
        let told = "no number \"c\"; it states a, b".to_owned();
        assert_eq!(why("value:c", &stating), Some(told));
        assert_eq!(why("server.cpu/op", &command), None);
    }

    #[test]
    fn several_works_can_give_what_one_of_them_can() {
        let get = Measurable::of_kinds(["get"]);
        let put = Measurable::of_kinds(["put"]).without(NeverMeasured::Schedule);
        let both = Measurable::of_any([get, put]);
        for quantity in ["get.p99", "put.p99", "lateness.p99"] {
            assert_eq!(why(quantity, &both), None);
        }
        assert!(why("list.p99", &both).is_some());
    }
}
