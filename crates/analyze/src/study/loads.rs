//! The quantities that only loads have: amounts by kind, the parts of requests, and what is told of
//! a load as a whole.

use super::Figure;
use super::cells::{ALL, figure};
use super::rows::Slot;
use record::{Quantity, QuantityValue, Record};

/// What a source counts of all its requests.
pub const REQUESTS: &str = "request";
/// The percentiles of parts of requests and of turns of users.
pub const PART_PERCENTILES: [&str; 3] = ["p50", "p95", "p99"];
/// The parts of a request in the order of its life, and the whole.
pub const REQUEST_PARTS: [&str; 5] = ["connecting", "sending", "waiting", "receiving", "duration"];

/// What k6 calls a whole turn of a user.
const ITERATIONS_TOLD: &str = "iteration_duration";
/// Of each kind of operation, and of all together.
const AMOUNTS: [&str; 3] = ["count", "errors", "bytes"];

/// Whether a kind of a source is the part of requests that k6 measures under this name.
fn is_part(kind: &str) -> bool {
    kind.strip_prefix("http_req_")
        .is_some_and(|name| REQUEST_PARTS.contains(&name))
}

/// Whether a record is a load: one of ours, also while it lasts and has no account yet, or one of
/// which a source tells the parts of requests.
pub(super) fn is_load(record: &Record) -> bool {
    let is_ours = record.source.is_none() && record.kind == "load";
    is_ours || record.load.is_some() || record.summaries.keys().any(|kind| is_part(kind))
}

/// Whether a kind of a foreign record has a table of its own, and none of operations.
#[must_use]
pub fn is_told_apart(kind: &str) -> bool {
    is_part(kind) || kind == ITERATIONS_TOLD
}

/// Whether a kind of a foreign record is neither an operation nor counted with them.
#[must_use]
pub fn is_aside(kind: &str) -> bool {
    kind.starts_with("http_req") || kind.starts_with("iteration") || kind == REQUESTS
}

/// What the loads among the records of a cell say, each with the kind of operation that it is of:
/// `all`, or nothing for a load as a whole. A level over runs has no interval here, as nothing
/// judges whether these runs depend on when they ran.
pub(super) fn figures_of_loads(slots: &[Slot<'_>]) -> Vec<Figure> {
    let mut asked: Vec<(String, Quantity)> = Vec::new();
    for slot in slots.iter().filter(|slot| is_load(slot.record)) {
        for of in quantities(slot.record) {
            if !asked.contains(&of) {
                asked.push(of);
            }
        }
    }
    let of = |(kind, quantity): (String, Quantity)| {
        let values = slots
            .iter()
            .map(|slot| (slot.block, of(slot.record, &kind, &quantity)));
        let metric = quantity
            .clone()
            .measured_in(slots.iter().map(|slot| slot.record));
        let found = figure(&kind, metric, &values.collect::<Vec<_>>())?;
        (!found.values.is_empty()).then_some(Figure {
            bounds: None,
            ..found
        })
    };
    asked.into_iter().filter_map(of).collect()
}

fn of(record: &Record, kind: &str, quantity: &Quantity) -> QuantityValue {
    let quantity = match kind {
        "" | ALL => quantity.clone(),
        kind => quantity.of_kind(kind),
    };
    match quantity.of(record) {
        // Operations that move no bytes have no amount of them.
        QuantityValue::Known(0.0) if quantity.is("bytes") => QuantityValue::Unknown,
        value @ (QuantityValue::Known(_) | QuantityValue::TooFew(_) | QuantityValue::Unknown) => {
            value
        }
    }
}

/// What may be asked of a load, in the order in which it is told.
fn quantities(record: &Record) -> Vec<(String, Quantity)> {
    let mut out = Vec::new();
    let mut ask = |kinds: &[&str], names: &[&str], part: &str| {
        for kind in kinds {
            let named = |name: &&str| Quantity::named(&format!("{part}{name}"));
            out.extend(names.iter().map(|name| ((*kind).to_owned(), named(name))));
        }
    };
    let kinds = kinds(record);
    ask(&kinds, &AMOUNTS, "");
    for kind in parted(record) {
        for part in REQUEST_PARTS {
            ask(&[kind], &["n"], &format!("{part}."));
            ask(&[kind], &PART_PERCENTILES, &format!("{part}."));
        }
    }
    out.extend(kinds.into_iter().flat_map(|kind| stated(record, kind)));
    let whole = Quantity::of_loads().into_iter();
    out.extend(whole.map(|quantity| (String::new(), quantity)));
    for part in ["iteration", "lateness"] {
        let times = PART_PERCENTILES.map(|name| Quantity::named(&format!("{part}.{name}")));
        out.extend(times.map(|quantity| (String::new(), quantity)));
    }
    out
}

/// The kinds of operations, and all of them where they are counted together.
fn kinds(record: &Record) -> Vec<&str> {
    if record.load.is_some() {
        return with_all(record.operations.kinds().map(|(kind, _)| kind));
    }
    let told = record.summaries.keys().map(String::as_str);
    let all = record.summaries.contains_key(REQUESTS).then_some(ALL);
    told.filter(|kind| !is_aside(kind)).chain(all).collect()
}

/// The kinds of requests of which parts are known.
fn parted(record: &Record) -> Vec<&str> {
    match &record.load {
        Some(load) => with_all(load.phases.keys().map(String::as_str)),
        None => vec![ALL],
    }
}

fn with_all<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = kinds.collect();
    if out.len() > 1 {
        out.push(ALL);
    }
    out
}

/// What a source counts of an operation beyond its amounts. Shares are of something else.
fn stated(record: &Record, kind: &str) -> Vec<(String, Quantity)> {
    let figures = record.summaries.get(kind).map(|summary| &summary.figures);
    let names = figures.into_iter().flatten().map(|(name, _)| name);
    names
        .filter(|name| !name.ends_with("percent"))
        .filter_map(|name| {
            let quantity = Quantity::parse(&format!("value:{name}")).ok()?;
            Some((kind.to_owned(), quantity))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Histogram, LoadAccount, Operations, RequestPhases, Source, Summary};

    fn told(record: &Record) -> Vec<(String, String, f64)> {
        let slot = Slot {
            index: 0,
            record,
            block: 0,
            repeat: 0,
            part: 0,
        };
        figures_of_loads(&[slot])
            .into_iter()
            .map(|figure| (figure.kind, figure.metric.column(), figure.point.unwrap()))
            .collect()
    }

    fn of(ns: u64, count: u64) -> Histogram {
        let mut out = Histogram::default();
        out.record_many(ns, count);
        out
    }

    #[test]
    fn a_load_tells_amounts_parts_and_turns_each_under_one_name() {
        let mut record = Record {
            elapsed_ns: 1_000_000_000,
            load: Some(LoadAccount {
                phases: [(
                    "get".to_owned(),
                    RequestPhases {
                        waiting: of(4_000_000, 300),
                        ..RequestPhases::default()
                    },
                )]
                .into(),
                iterations: of(9_000_000, 300),
                retries: 3,
                ..LoadAccount::default()
            }),
            ..Record::default()
        };
        let operations = Operations {
            count: 300,
            errors: 2,
            latency: of(5_000_000, 300),
            ..Operations::default()
        };
        record.operations.insert("get", operations);
        let found = told(&record);
        let value = |kind: &str, name: &str| {
            found
                .iter()
                .find(|(of, known, _)| of == kind && known == name)
                .map(|(.., value)| *value)
        };
        assert_eq!(value("get", "succeeded"), Some(300.0));
        assert_eq!(value("get", "failed"), Some(2.0));
        assert_eq!(value("get", "data"), None);
        assert_eq!(value("get", "waiting n"), Some(300.0));
        assert!((value("get", "waiting p95").unwrap() / 4e6 - 1.0).abs() < 0.01);
        assert_eq!(
            value("get", "waiting p99"),
            None,
            "three requests lie above it"
        );
        assert!((value("", "iteration time p50").unwrap() / 9e6 - 1.0).abs() < 0.01);
        assert_eq!(value("", "retries"), Some(3.0));
        assert_eq!(value("all", "succeeded"), None, "there is one kind");
    }

    #[test]
    fn a_source_of_parts_is_a_load_under_the_names_of_our_own() {
        let p95 = |ns: f64| Summary {
            percentiles_ns: [("95".to_owned(), ns)].into(),
            ..Summary::default()
        };
        let request = Summary {
            count: Some(2604),
            errors: Some(1),
            ..Summary::default()
        };
        let upload = Summary {
            figures: [
                ("objects_created".to_owned(), 3014.0),
                ("share_percent".to_owned(), 40.0),
            ]
            .into(),
            ..Summary::default()
        };
        let record = Record {
            source: Some(Source::default()),
            summaries: [
                ("http_req_waiting".to_owned(), p95(191e6)),
                ("iteration_duration".to_owned(), p95(5024e6)),
                ("request".to_owned(), request),
                ("upload".to_owned(), upload),
            ]
            .into(),
            ..Record::default()
        };
        let found = told(&record);
        let texts: Vec<String> = found
            .iter()
            .map(|(kind, name, value)| format!("{kind}: {name} {value}"))
            .collect();
        assert_eq!(
            texts,
            [
                "upload: succeeded 1042",
                "all: succeeded 2604",
                "all: failed 1",
                "all: waiting p95 191000000",
                "upload: objects created 3014",
                ": iteration time p95 5024000000",
            ]
        );
    }

    #[test]
    fn what_is_no_load_tells_nothing() {
        assert_eq!(told(&Record::default()), []);
    }
}
