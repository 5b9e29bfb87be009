//! One number of a record, as data: what `--metric`, `--threshold`, `--find-knee`, plans and the
//! columns of reports name.
//!
//! `[KIND.][PART.]MEASURE`. KIND is a kind of operation, `iteration` (whole turns of users) or
//! `lateness` (of the generator itself), or nothing for all operations together; PART is a part of a
//! request, or nothing for the latency from the intended start. What a record has once, such as
//! `server.cpu/op`, stands alone. The measures are the rows of one table; everything that shows,
//! compares or limits a number takes its name, unit and better direction from there.

mod grammar;
mod measurable;
mod sources;
mod table;
mod value;
mod written;

use crate::Record;
use sources::{Counts, times};
use std::fmt;
use table::{Measure, Source, TABLE};
use units::ValueUnit;

pub use grammar::forms;
pub use measurable::{Measurable, NeverMeasured, NotMeasurable};
pub use sources::{Times, percentile_has_support};
pub use value::{NoQuantity, Preference, QuantityValue, RequestPart, Shown};

/// Whole turns of users.
const ITERATION: &str = "iteration";
/// How much later than intended the generator itself began.
const LATENESS: &str = "lateness";

/// One number of a record.
#[derive(Clone, Debug)]
pub struct Quantity {
    kind: Option<String>,
    part: Option<RequestPart>,
    measure: &'static Measure,
    /// The percentage of a percentile, the name of a stated number; else empty.
    parameter: String,
    preference: Preference,
    /// The unit that sources name for a number of theirs.
    stated: Option<String>,
}

/// In which unit sources state it makes no other quantity of it.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        let of = |all: &Self| (all.kind.clone(), all.parameter.clone());
        of(self) == of(other)
            && (self.part, self.measure, self.preference)
                == (other.part, other.measure, other.preference)
    }
}

impl Quantity {
    /// The percentiles that studies show of every kind of operation.
    const STUDIED_PERCENTILES: [&str; 4] = ["50", "95", "99", "99.9"];

    /// The quantity of a name that stands in the program.
    ///
    /// # Panics
    /// There is no such quantity.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What studies show of all operations together, in the order of the table.
    #[must_use]
    pub fn in_studies() -> Vec<Self> {
        let shown = TABLE
            .iter()
            .filter(|measure| measure.shown == Shown::InStudies);
        shown
            .flat_map(|measure| {
                let parameters: &[&str] = if measure.has_parameter() {
                    &Self::STUDIED_PERCENTILES
                } else {
                    &[""]
                };
                parameters.iter().map(|parameter| Self {
                    parameter: (*parameter).to_owned(),
                    ..Self::of_all(measure)
                })
            })
            .collect()
    }

    /// What is told of a load as a whole beside the figures of a study, in the order of the table.
    #[must_use]
    pub fn of_loads() -> Vec<Self> {
        let shown = TABLE
            .iter()
            .filter(|measure| measure.shown == Shown::OfLoads);
        shown.map(Self::of_all).collect()
    }

    /// What a record has once, in the order of the table.
    #[must_use]
    pub fn of_whole_records() -> Vec<Self> {
        let once = TABLE.iter().filter(|measure| measure.is_of_record());
        once.map(Self::of_all).collect()
    }

    fn of_all(measure: &'static Measure) -> Self {
        Self {
            kind: None,
            part: None,
            measure,
            parameter: String::new(),
            preference: measure.better,
            stated: None,
        }
    }

    /// The same of one kind of operation.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            ..self.clone()
        }
    }

    /// The same whatever the kind of operation.
    #[must_use]
    pub fn of_any_kind(&self) -> Self {
        Self {
            kind: None,
            ..self.clone()
        }
    }

    /// The kind of operation that it is of; `None`: all together.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The kind of operation that must be in a record; turns of users are none.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.kind()
            .filter(|kind| ![ITERATION, LATENESS].contains(kind))
    }

    /// Whether it is this quantity of all operations or of one kind of them.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.part.is_none() && self.measure_name() == name
    }

    fn measure_name(&self) -> String {
        self.measure.name.replace("{}", &self.parameter)
    }

    /// The text that [`Quantity::parse`] reads as this.
    #[must_use]
    pub fn key(&self) -> String {
        let part = self.part.map(|part| part.name().to_owned());
        let words = self.kind.clone().into_iter().chain(part);
        words
            .chain([self.measure_name()])
            .collect::<Vec<_>>()
            .join(".")
    }

    fn filled(&self, text: &str) -> String {
        let text = text.replace("{}", &self.parameter.replace('_', " "));
        match (self.part, self.kind.as_deref()) {
            (Some(part), _) => format!("{} {}", part.name(), self.measure_name()),
            (None, Some(ITERATION)) => format!("iteration time {}", self.measure_name()),
            (None, Some(LATENESS)) => format!("own lateness {}", self.measure_name()),
            (None, _) => text,
        }
    }

    /// Its heading.
    #[must_use]
    pub fn title(&self) -> String {
        let title = self.filled(self.measure.title);
        match self.operation() {
            Some(kind) => format!("{title} of {kind}"),
            None => title,
        }
    }

    /// Its name in files for other programs.
    #[must_use]
    pub fn column(&self) -> String {
        let column = self.filled(self.measure.column);
        match self.operation() {
            Some(kind) => format!("{kind} {column}"),
            None => column,
        }
    }

    /// What a sentence calls it.
    #[must_use]
    pub fn name(&self) -> String {
        let words = self.filled(self.measure.words);
        match self.operation() {
            Some(kind) => format!("{kind}: {words}"),
            None => words,
        }
    }

    #[must_use]
    pub fn unit(&self) -> ValueUnit {
        self.measure.unit
    }

    #[must_use]
    pub fn better(&self) -> Preference {
        self.preference
    }

    /// The same where somebody says what is better of a number that only its source knows.
    #[must_use]
    pub fn preferring(self, preference: Preference) -> Self {
        Self { preference, ..self }
    }

    /// Whether it is a time of operations, which kinds of operations have apart.
    #[must_use]
    pub fn is_of_times(&self) -> bool {
        self.measure.is_of_times()
    }

    /// Whether operations have it, and not the record as a whole.
    #[must_use]
    pub fn is_of_operations(&self) -> bool {
        !self.measure.is_of_record()
    }

    /// Whether loads over a network have it, and nothing else.
    #[must_use]
    pub fn is_of_loads(&self) -> bool {
        self.measure.shown == Shown::OfLoads
    }

    /// Whether it counts the bytes of operations.
    #[must_use]
    pub fn is_of_bytes(&self) -> bool {
        let is_counted = matches!(self.measure.source, Source::Counts(_));
        is_counted
            && matches!(
                self.measure.unit,
                ValueUnit::Bytes | ValueUnit::BytesPerSecond
            )
    }

    /// The part of requests that it is of.
    #[must_use]
    pub fn part(&self) -> Option<RequestPart> {
        self.part
    }

    /// The name of a number that somebody else states.
    #[must_use]
    pub fn stated(&self) -> Option<&str> {
        matches!(self.measure.source, Source::Stated(_)).then_some(self.parameter.as_str())
    }

    /// Whether it limits failures, so that a threshold on it says which are tolerable.
    #[must_use]
    pub fn is_of_failures(&self) -> bool {
        self.measure.is_of_failures
    }

    /// Whether it is a number of operations, of which there are none where there was nothing.
    #[must_use]
    pub fn counts(&self) -> bool {
        matches!(self.measure.source, Source::Counts(_)) && self.measure.unit != ValueUnit::Percent
    }

    /// The same as a share of all operations, where there is such a measure.
    #[must_use]
    pub fn as_share(&self) -> Option<Self> {
        let name = format!("{}/op", self.measure.name);
        let measure = TABLE.iter().find(|measure| measure.name == name)?;
        (measure.unit == ValueUnit::Percent).then(|| Self {
            measure,
            preference: measure.better,
            ..self.clone()
        })
    }

    /// Where it stands among others in a table.
    #[must_use]
    pub fn place(&self) -> (usize, f64) {
        let at = TABLE.iter().position(|measure| measure == self.measure);
        (
            at.unwrap_or(TABLE.len()),
            self.parameter.parse().unwrap_or(0.0),
        )
    }

    /// Whether a record has operations that it is of.
    #[must_use]
    pub fn concerns(&self, record: &Record) -> bool {
        let is_counted = |kind: &str| {
            record
                .operations
                .kind(kind)
                .is_some_and(|operations| operations.count + operations.errors > 0)
        };
        self.operation()
            .is_none_or(|kind| is_counted(kind) || record.summaries.contains_key(kind))
    }

    /// Its value in a record, in its unit.
    #[must_use]
    pub fn of(&self, record: &Record) -> QuantityValue {
        let kind = self.kind.as_deref();
        let value = match self.measure.source {
            Source::Counts(of) => QuantityValue::of(of(&Counts::of(record, kind))),
            Source::Times(of) => of(&times(record, kind, self.part), &self.parameter),
            Source::Record(of) => QuantityValue::of(of(record)),
            Source::Stated(of) => QuantityValue::of(of(record, kind, &self.parameter)),
        };
        match value {
            QuantityValue::Known(number) | QuantityValue::TooFew(number)
                if !number.is_finite() || number < 0.0 =>
            {
                QuantityValue::Unknown
            }
            value @ (QuantityValue::Known(_)
            | QuantityValue::TooFew(_)
            | QuantityValue::Unknown) => value,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Histogram, HostAccount, HostRole, LoadAccount, Operations, ProcessAccount, Summary,
    };

    #[test]
    fn a_key_reads_back_as_its_quantity() {
        for measure in TABLE {
            let name = measure
                .name
                .replace("p{}", "p99.9")
                .replace("{}", "db_bytes");
            let mut names = vec![name.clone()];
            if !measure.is_of_record() {
                names.push(format!("get.{name}"));
            }
            if measure.is_of_times() {
                names.extend([format!("put.waiting.{name}"), format!("iteration.{name}")]);
            }
            for name in names {
                let read = Quantity::parse(&name).unwrap();
                assert_eq!(read.key(), name);
                assert_eq!(Quantity::parse(&read.key()), Ok(read));
            }
            for alias in measure.aliases {
                assert_eq!(Quantity::parse(alias), Quantity::parse(&name), "{alias}");
            }
        }
        assert_eq!(Quantity::parse("median"), Quantity::parse("p50"));
        assert_eq!(Quantity::parse("get.med"), Quantity::parse("get.p50.0"));
        assert_eq!(Quantity::parse("read.p100"), Quantity::parse("read.max"));
    }

    #[test]
    fn nonsense_is_no_quantity_and_says_why() {
        for (text, why) in [
            ("", "is no metric; metrics are throughput, iops or rate"),
            ("p", "\"p\" is no metric"),
            ("p101", "\"p101\" is no metric"),
            ("p99.", "is no metric"),
            ("p1e1", "\"p1e1\" is no metric"),
            ("p+50", "\"p+50\" is no metric"),
            ("speed", "\"speed\" is no metric"),
            ("get.", "is no metric"),
            (".p99", "\"\" is no kind of operation"),
            ("get.cpu", "\"cpu\" is no metric"),
            ("get.put.p99", "too many dots"),
            ("GET.p99", "\"GET\" is no kind of operation"),
            (
                "get.waiting.errors",
                "phases and iterations have times only",
            ),
            ("iteration.rate", "phases and iterations have times only"),
            ("value:", "is no metric"),
        ] {
            let refused = Quantity::parse(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_quantity_has_a_heading_a_column_and_a_name_in_a_sentence() {
        let texts = |name: &str| {
            let quantity = Quantity::named(name);
            [quantity.title(), quantity.column(), quantity.name()]
        };
        for (name, expected) in [
            ("rate", ["IOPS", "operations", "operations a second"]),
            (
                "read.p99",
                [
                    "p99 latency of read",
                    "read latency p99",
                    "read: p99 latency",
                ],
            ),
            ("max", ["Max latency", "latency max", "maximum latency"]),
            ("waiting.p95", ["waiting p95", "waiting p95", "waiting p95"]),
            (
                "iteration.p95",
                [
                    "iteration time p95",
                    "iteration time p95",
                    "iteration time p95",
                ],
            ),
            ("value:db_bytes", ["db bytes", "db bytes", "db bytes"]),
        ] {
            assert_eq!(texts(name), expected);
        }
    }

    #[test]
    fn one_kind_is_measured_apart_from_the_others() {
        let mut record = Record {
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        for (kind, count, ns) in [("get", 4000_u64, 1_000_000), ("put", 2000, 9_000_000)] {
            let mut operations = Operations {
                count,
                bytes: count * 10,
                ..Operations::default()
            };
            operations.latency.record_many(ns, count);
            record.operations.insert(kind, operations);
        }
        let of = |key: &str| Quantity::named(key).of(&record).known();
        assert_eq!(
            (of("iops"), of("get.rate"), of("put.rate")),
            (Some(3000.0), Some(2000.0), Some(1000.0))
        );
        assert_eq!(
            (of("get.throughput"), of("delete.rate"), of("delete.p99")),
            (Some(20_000.0), None, None)
        );
        let near = |key: &str, ns: f64| {
            assert!(
                (of(key).unwrap() / ns - 1.0).abs() < 0.02,
                "{key}: {:?}",
                of(key)
            );
        };
        near("get.p99", 1e6);
        near("put.p99", 9e6);
        near("p99", 9e6);
        assert!(
            matches!(Quantity::named("put.p99.9").of(&record), QuantityValue::TooFew(ns) if ns > 8e6),
            "too few above it"
        );
    }

    #[test]
    fn parts_of_requests_turns_and_servers_are_quantities() {
        let mut record = Record {
            elapsed_ns: 1_000_000_000,
            ..Record::default()
        };
        let many = |ns: u64| {
            let mut times = Histogram::default();
            times.record_many(ns, 2000);
            times
        };
        let mut load = LoadAccount::default();
        load.phases.entry("put".into()).or_default().waiting = many(3_000_000);
        load.iterations = many(50_000_000);
        record.load = Some(load);
        record.hosts.push(HostAccount {
            role: HostRole::Target,
            process: ProcessAccount {
                user_ns: 30_000_000,
                system_ns: 10_000_000,
                ..ProcessAccount::default()
            },
            ..HostAccount::default()
        });
        let operations = Operations {
            count: 2000,
            bytes: 4000,
            latency: many(9_000_000),
            service: Some(many(4_000_000)),
            ..Operations::default()
        };
        record.operations.insert("put", operations);
        let of = |key: &str| Quantity::named(key).of(&record).known();
        for (key, ns) in [
            ("put.waiting.p99", 3e6),
            ("waiting.mean", 3e6),
            ("put.duration.p50", 4e6),
            ("put.p50", 9e6),
            ("iteration.p99", 50e6),
            ("server.cpu/op", 20_000.0),
        ] {
            assert!(
                (of(key).unwrap() / ns - 1.0).abs() < 0.02,
                "{key}: {:?}",
                of(key)
            );
        }
        assert_eq!(
            (of("get.waiting.p99"), of("cpu/op"), of("disk.bytes/byte")),
            (None, None, None)
        );
        record.generator_mut().devices = vec![crate::DeviceAccount {
            written_bytes: 6000,
            ..crate::DeviceAccount::default()
        }];
        record.generator_mut().process.user_ns = 2_000_000;
        let of = |key: &str| Quantity::named(key).of(&record).known();
        assert_eq!(
            (of("disk.bytes/byte"), of("cpu/op")),
            (Some(1.5), Some(1000.0))
        );
    }

    #[test]
    fn what_another_tool_says_counts_with_the_samples_behind_it() {
        let summary = Summary {
            count: Some(5000),
            per_second: Some(100.0),
            percentiles_ns: [("99".to_owned(), 7e6), ("99.9".to_owned(), 8e6)].into(),
            figures: [("tokens".to_owned(), 12.0)].into(),
            ..Summary::default()
        };
        let record = Record {
            summaries: [("get".to_owned(), summary)].into(),
            ..Record::default()
        };
        let of = |key: &str| Quantity::named(key).of(&record);
        assert_eq!(
            [
                of("get.p99"),
                of("get.rate"),
                of("get.p95"),
                of("get.p99.9"),
                of("value:tokens")
            ],
            [
                QuantityValue::Known(7e6),
                QuantityValue::Known(100.0),
                QuantityValue::Unknown,
                QuantityValue::TooFew(8e6),
                QuantityValue::Known(12.0),
            ]
        );
        assert_eq!(Quantity::named("value:tokens").better(), Preference::Unsaid);
    }
}
