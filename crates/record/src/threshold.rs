//! Thresholds: a quantity, a comparator and a limit, such as `get.p95<50ms`, `errors<1%`,
//! `put.count>=100`, `get.waiting.p99<20ms`.

use crate::{Measurable, NotMeasurable, Outcome, Quantity, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::ValueUnit;

/// A condition on a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    quantity: Quantity,
    comparator: Comparator,
    /// In the unit of the quantity.
    limit: f64,
}

/// How a number is held against a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparator {
    #[serde(rename = "<")]
    Below,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">")]
    Above,
    #[serde(rename = ">=")]
    AtLeast,
}

/// A text that is no threshold; it says what one looks like.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "threshold {text:?}: {why}; examples: get.p95<50ms, errors<1%, put.count>=100, get.waiting.p99<20ms, throughput>100MiB/s"
)]
pub struct NoThreshold {
    text: String,
    why: String,
}

/// A threshold and what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThresholdResult {
    /// The condition as it was written.
    pub threshold: String,
    /// The condition as data: the key of the quantity, how it is compared, and the limit in its
    /// unit. Older records have the text alone, from which it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Comparator>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// What was measured, in the same unit; `None`: nothing that it applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    pub holds: bool,
    /// What was measured, and by how much it missed, for people.
    pub measured: String,
}

const COMPARATORS: [(&str, Comparator); 4] = [
    ("<=", Comparator::AtMost),
    (">=", Comparator::AtLeast),
    ("<", Comparator::Below),
    (">", Comparator::Above),
];

impl ThresholdResult {
    /// Whether it limits failures, so that it says which are tolerable: those on `errors` and on
    /// `success` do.
    #[must_use]
    pub fn limits_failures(&self) -> bool {
        Threshold::parse(&self.threshold).is_ok_and(|threshold| threshold.quantity.is_of_failures())
    }
}

/// What is said to be measured where nothing was.
const NOTHING_MEASURED: &str = "nothing was measured that it applies to";

impl Record {
    /// Whether what was done, or failed, says anything of a threshold. Where a few operations are dealt out
    /// by chance, a kind may have had none of them, and its threshold neither holds nor breaks.
    #[must_use]
    pub fn bears_on(&self, result: &ThresholdResult) -> bool {
        if result.holds || result.measured != NOTHING_MEASURED {
            return true;
        }
        let threshold = Threshold::parse(&result.threshold).ok();
        let kind = threshold.as_ref().and_then(|of| of.quantity.kind());
        let failed = match kind {
            Some(kind) => self.operations.kind(kind).map_or(0, |of| of.errors),
            None => self.operations.errors(),
        };
        failed > 0
    }

    /// Holds the record against thresholds and keeps the results. One that is missed makes exit code
    /// 3 of an end without any other.
    pub fn hold_against(&mut self, thresholds: &[Threshold]) {
        let results: Vec<ThresholdResult> = thresholds
            .iter()
            .map(|threshold| threshold.judge(self))
            .collect();
        self.keep_judged(results);
    }

    pub(crate) fn keep_judged(&mut self, results: Vec<ThresholdResult>) {
        let missed = results.iter().filter(|result| !result.holds).count();
        if missed > 0 && self.outcome == Outcome::default() {
            self.outcome = Outcome::missed(missed, results.len());
        }
        self.thresholds.extend(results);
    }

    /// The thresholds that the record was held against, judged again from its numbers. One that
    /// cannot be read, because a later version wrote it, stands as it was judged.
    #[must_use]
    pub fn thresholds(&self) -> Vec<ThresholdResult> {
        let of_load = self.load.iter().flat_map(|load| &load.thresholds);
        let judged = |result: &ThresholdResult| {
            Threshold::parse(&result.threshold)
                .map_or_else(|_unknown| result.clone(), |threshold| threshold.judge(self))
        };
        self.thresholds.iter().chain(of_load).map(judged).collect()
    }
}

impl Threshold {
    /// Reads a threshold.
    ///
    /// # Errors
    /// The text is none; the error says what one looks like.
    pub fn parse(text: &str) -> Result<Self, NoThreshold> {
        let refused = |why: String| NoThreshold {
            text: text.to_owned(),
            why,
        };
        let (at, sign, comparator) = COMPARATORS
            .iter()
            .filter_map(|(sign, comparator)| Some((text.find(sign)?, *sign, *comparator)))
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))
            .ok_or_else(|| refused("no <, <=, > or >=".to_owned()))?;
        let (subject, limit) = (text[..at].trim(), text[at + sign.len()..].trim());
        let quantity = Quantity::parse(subject).map_err(|error| refused(error.to_string()))?;
        let quantity = quantity
            .as_share()
            .filter(|_| limit.ends_with('%'))
            .unwrap_or(quantity);
        Ok(Self {
            limit: quantity.unit().parse(limit).map_err(refused)?,
            text: text.trim().to_owned(),
            quantity,
            comparator,
        })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it limits.
    #[must_use]
    pub fn quantity(&self) -> &Quantity {
        &self.quantity
    }

    /// Whether work that can give this much can be held against it.
    ///
    /// # Errors
    /// What the work has not, and what there is instead.
    pub fn check_given(&self, by: &Measurable) -> Result<(), NotMeasurable> {
        self.quantity.check_given(by)
    }

    /// Whether a value in the unit of the quantity is within the limit.
    #[must_use]
    pub fn holds_for(&self, value: f64) -> bool {
        match self.comparator {
            Comparator::Below => value < self.limit,
            Comparator::AtMost => value <= self.limit,
            Comparator::Above => value > self.limit,
            Comparator::AtLeast => value >= self.limit,
        }
    }

    /// A value for people, and by how much it misses.
    #[must_use]
    pub fn shown(&self, value: f64) -> String {
        let unit = self.quantity.unit();
        if self.holds_for(value) {
            return unit.text(value);
        }
        let over = if value > self.limit { "above" } else { "below" };
        let by = match (value - self.limit).abs() {
            by if by > 0.0 => format!("{} {over} the limit", unit.text(by)),
            _ => "exactly the limit".to_owned(),
        };
        format!("{}, {by}", unit.text(value))
    }

    /// Holds the record against the threshold, however few operations a percentile is of. What
    /// cannot be computed, for want of any operation, misses.
    #[must_use]
    pub fn judge(&self, record: &Record) -> ThresholdResult {
        // A kind that we count and did not see was seen no times.
        let is_counted = record.summaries.is_empty()
            && self.quantity.counts()
            && self.quantity.operation().is_some();
        let has_rates = record.elapsed_ns > 0
            || matches!(self.quantity.unit(), ValueUnit::Whole | ValueUnit::Bytes);
        let none = (is_counted && has_rates).then_some(0.0);
        self.judge_value(self.quantity.of(record).of_any_support().or(none))
    }

    /// Holds a value in the unit of the quantity against the threshold; none misses.
    #[must_use]
    pub fn judge_value(&self, value: Option<f64>) -> ThresholdResult {
        ThresholdResult {
            threshold: self.text.clone(),
            quantity: Some(self.quantity.key()),
            comparator: Some(self.comparator),
            limit: Some(self.limit),
            value,
            holds: value.is_some_and(|value| self.holds_for(value)),
            measured: value.map_or_else(|| NOTHING_MEASURED.to_owned(), |value| self.shown(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadAccount, Operations};
    use proptest::prelude::*;
    use units::Rate;

    fn record() -> Record {
        let mut record = Record {
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        let mut get = Operations {
            count: 99,
            bytes: 99 * 4096,
            errors: 1,
            ..Operations::default()
        };
        (1..=99).for_each(|ms: u64| get.latency.record(ms * 1_000_000));
        record.operations.insert("get", get);
        let mut put = Operations {
            count: 1,
            bytes: 4096,
            ..Operations::default()
        };
        put.latency.record(500_000_000);
        record.operations.insert("put", put);
        let mut load = LoadAccount::default();
        load.phases
            .entry("get".into())
            .or_default()
            .waiting
            .record(3_000_000);
        load.iterations.record(700_000_000);
        record.load = Some(load);
        record
    }

    fn judged(text: &str) -> ThresholdResult {
        Threshold::parse(text).unwrap().judge(&record())
    }

    #[test]
    fn each_metric_is_held_against_what_was_measured() {
        for (text, holds) in [
            ("get.p50<55ms", true),
            ("get.p99.9 < 10ms", false),
            ("p100<=500ms", true),
            ("max<500ms", false),
            ("min>0ns", true),
            ("get.mean<=50ms", true),
            ("get.waiting.p95<5ms", true),
            ("waiting.p95>5ms", false),
            ("iteration.median<1s", true),
            ("errors<1%", true),
            ("get.errors<1%", false),
            ("get.errors<=1%", true),
            ("get.errors<2", true),
            ("success>99%", true),
            ("put.count>=1", true),
            ("put.count>1", false),
            ("bytes>=409600", true),
            ("rate>=50", true),
            ("rate>50", false),
            ("throughput>100KiB/s", true),
            ("list.p95<1s", false),
        ] {
            assert_eq!(judged(text).holds, holds, "{text}: {:?}", judged(text));
        }
    }

    #[test]
    fn a_miss_says_by_how_much() {
        assert_eq!(
            judged("put.p95<50ms").measured,
            "500 ms, 450 ms above the limit"
        );
        assert_eq!(
            judged("get.success>=99.5%").measured,
            "99%, 0.5% below the limit"
        );
        assert_eq!(
            judged("rate>50").measured,
            "50, exactly the limit".replace("50,", &format!("{},", Rate(50.0)))
        );
        assert_eq!(
            judged("list.p95<1s").measured,
            "nothing was measured that it applies to"
        );
        assert_eq!(judged("put.count>=1").measured, "1");
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_examples() {
        for text in [
            "",
            "p95",
            "<5ms",
            "get<5ms",
            "p95<5",
            "p95<x",
            "p101<5ms",
            "a.b.c.p95<1s",
            "errors<x%",
            "count>1.5",
            "get.waiting.count>1",
            "iteration.errors<1%",
            "bytes>1KB",
        ] {
            let error = Threshold::parse(text).unwrap_err();
            assert!(
                error.to_string().contains("examples: get.p95<50ms"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_kind_of_which_nothing_was_done_says_nothing_of_its_threshold() {
        let mut record = record();
        let lists = |record: &Record| {
            let result = Threshold::parse("list.p95<1s").unwrap().judge(record);
            (result.holds, record.bears_on(&result))
        };
        assert_eq!(lists(&record), (false, false));
        let failed = Operations {
            errors: 1,
            ..Operations::default()
        };
        record.operations.insert("list", failed);
        assert_eq!(lists(&record), (false, true));
        for text in ["get.p99<1ms", "get.p99<1h", "put.count>=7"] {
            let result = Threshold::parse(text).unwrap().judge(&record);
            assert!(record.bears_on(&result), "{text}");
        }
    }

    #[test]
    fn those_that_limit_failures_are_known() {
        let judges = |text: &str| judged(text).limits_failures();
        assert!(
            judges("errors<1%")
                && judges("success>98%")
                && judges("get.errors<5")
                && !judges("count>1")
                && !judges("p95<1s")
        );
    }

    #[test]
    fn a_record_keeps_its_conditions_and_is_judged_again_from_its_numbers() {
        let mut measured = record();
        let thresholds =
            ["get.p50<1ms", "put.waiting.p99<1s"].map(|text| Threshold::parse(text).unwrap());
        measured.hold_against(&thresholds);
        assert_eq!(measured.outcome.exit_code, 3);
        assert_eq!(
            measured.outcome.message.as_deref(),
            Some("2 of 2 thresholds missed")
        );
        let text = serde_json::to_string(&measured).unwrap();
        assert!(
            text.contains(r#""quantity":"get.p50","comparator":"<","limit":1000000.0"#),
            "{text}"
        );
        let mut again: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(again.thresholds(), measured.thresholds);
        again.thresholds[0].holds = true;
        assert!(!again.thresholds()[0].holds, "the numbers decide");
    }

    #[test]
    fn an_old_record_has_its_conditions_as_text_among_the_facts_of_its_load() {
        let old = r#"{"threshold":"get.p50<1ms","holds":true,"measured":"x"}"#;
        let later = r#"{"threshold":"get.joy>1","holds":true,"measured":"2"}"#;
        let mut record = record();
        record.load.as_mut().unwrap().thresholds = [old, later]
            .map(|text| serde_json::from_str(text).unwrap())
            .into();
        let found = record.thresholds();
        assert_eq!(
            (found[0].holds, found[0].value.map(f64::round)),
            (false, Some(49_938_432.0))
        );
        assert_eq!((found[1].holds, found[1].measured.as_str()), (true, "2"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z0-9.<>=% ]{0,30}|.{0,30}") {
            if let Ok(threshold) = Threshold::parse(&text) {
                let _any = threshold.judge(&record());
            }
        }
    }
}
