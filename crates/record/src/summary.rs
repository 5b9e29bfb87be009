//! Figures as another tool, or a document, gives them where it gives no histogram of ours.

use crate::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a foreign source says of one kind of operation. What it does not say is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Summary {
    /// Operations that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Operations that failed; they are not in `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// Operations a second, as the source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Bytes a second, by the unit that the source names, even where its other figures contradict
    /// that unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev_ns: Option<f64>,
    /// By the shortest decimal text of the percentage: `50`, `99.9`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles_ns: BTreeMap<String, f64>,
    /// Latencies behind these figures, where the source counts them apart from operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Every latency, where the source has them and they do not stand in the record's operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Histogram>,
    /// Counts of latencies in ranges as wide as the source made them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LatencyRange>,
    /// Parts of the latency that the source measures apart, by its own name: they are of the same
    /// operations and are none of their own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Summary>,
    /// Other numbers, by the source's own name and in its own unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Numbers as the source prints them, by the name of the field above: where rounding or the
    /// unit is part of the evidence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub as_written: BTreeMap<String, String>,
}

/// How many latencies lie from `from_ns` to below `to_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRange {
    pub from_ns: f64,
    pub to_ns: f64,
    pub count: u64,
}

/// Who made the numbers of a record that Fathom did not measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Source {
    /// `fio`, `k6`, …; `document` for figures read off a page.
    pub tool: String,
    pub version: Option<String>,
    /// The file it was read from, as named by the user.
    pub file: Option<String>,
    /// `fio`, `k6-summary`, `k6-json`, …
    pub format: String,
    /// The unit of which the source gives a whole number as the measured time, rounded down;
    /// `None` where its time is as exact as ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_step_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use proptest::prelude::*;

    #[test]
    fn a_record_of_our_own_is_stored_without_them() {
        let text = serde_json::to_string(&Record::default()).unwrap();
        assert!(
            !text.contains("summaries") && !text.contains("\"source\""),
            "{text}"
        );
    }

    #[test]
    fn a_record_from_before_them_is_read() {
        let text = serde_json::to_string(&Record {
            name: "old".into(),
            ..Record::default()
        })
        .unwrap();
        let record: Record = serde_json::from_str(&text).unwrap();
        assert!(record.summaries.is_empty() && record.source.is_none());
        assert_eq!(record.name, "old");
    }

    #[test]
    fn what_the_source_does_not_say_is_not_written() {
        let text = serde_json::to_string(&Summary {
            count: Some(0),
            ..Summary::default()
        })
        .unwrap();
        assert_eq!(text, r#"{"count":0}"#);
    }

    proptest! {
        #[test]
        fn a_summary_survives_its_record(count in any::<Option<u64>>(), mean in any::<Option<u32>>(), p in any::<u32>(), ranges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..4)) {
            let summary = Summary {
                count,
                mean_ns: mean.map(f64::from),
                percentiles_ns: [("99.9".to_owned(), f64::from(p))].into(),
                ranges: ranges.into_iter().map(|(from, n)| LatencyRange { from_ns: from.into(), to_ns: f64::from(from) * 2.0, count: n.into() }).collect(),
                ..Summary::default()
            };
            let source = Source { tool: "fio".into(), version: Some("3.42".into()), file: None, format: "fio".into(), elapsed_step_ns: Some(1_000_000) };
            let record = Record { summaries: [("read".to_owned(), summary)].into(), source: Some(source), ..Record::default() };
            let text = serde_json::to_string(&record).unwrap();
            prop_assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        }
    }
}
