//! Verdicts as JSON: every number as data, in the unit that stands beside it. What is not known is
//! null.

use super::{ArmEntries, Entry, Verdicts, differences, grouped, word};
use crate::comparison::{reason_kind, reason_text, sentence};
use crate::differing::with_differing;
use analyze::{Disagreement, RowComparison};
use record::{Preference, Quantity};
use serde_json::{Map, Value, json};
use stats::{Estimate, Method, Verdict};

/// The version of the form below.
pub(super) const FORM: u32 = 1;
pub(super) const MARK: &str = "fathom_verdicts";

/// The verdicts as one indented object; `fathom_verdicts` is the version of its form.
#[must_use]
pub fn verdicts_json(verdicts: &Verdicts<'_>) -> String {
    let metric = &verdicts.question.metric;
    let outcome = verdicts.outcome();
    let entries: Vec<Value> = verdicts
        .arms
        .iter()
        .flat_map(|arm| {
            arm.entries
                .iter()
                .map(move |entry| entry_value(verdicts, arm, entry))
        })
        .collect();
    let findings: Vec<Value> = grouped(verdicts.findings)
        .into_iter()
        .map(|(located, records)| {
            let found = &located.finding;
            let entry = json!({ "rule": found.rule, "severity": found.severity.to_string(), "message": found.message, "advice": found.advice, "records": records });
            with_differing(entry, &found.differing)
        })
        .collect();
    let whole = json!({
        MARK: FORM,
        "outcome": outcome.word(),
        "exit_code": outcome.exit_code(),
        "fail_on": verdicts.gate.words(),
        "baseline": verdicts.base,
        "metric": {
            "key": metric.key(), "name": metric.name(), "unit": metric.unit_name(),
            "better": match metric.better() {
                Preference::Higher => "higher",
                Preference::Lower => "lower",
                Preference::Unsaid => "unsaid",
            },
        },
        "margin_percent": 100.0 * verdicts.margin(),
        "verdicts": entries,
        "arms": verdicts.arms.iter().map(|arm| arm_value(verdicts, arm)).collect::<Vec<_>>(),
        "control": verdicts.control.map(|control| json!({ "arm": control.arm, "p": control.p, "n": control.blocks })),
        "thresholds": verdicts.thresholds.iter().map(|held| json!({ "arm": held.arm, "row": held.row, "n": held.runs, "result": held.result })).collect::<Vec<_>>(),
        "findings": findings,
        "left_out": verdicts.left_out,
        "records": verdicts.records.len(),
    });
    let text = serde_json::to_string_pretty(&whole).expect("the value was made of JSON");
    crate::json_without_commands(&text) + "\n"
}

/// Whether a text is what [`verdicts_json`] writes.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.get(MARK).is_some())
}

fn arm_value(verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>) -> Value {
    let listed = |found: &[Disagreement]| -> Vec<Value> {
        found
            .iter()
            .map(|d| json!({ "fact": d.key, "baseline": d.base, "arm": d.candidate }))
            .collect()
    };
    let differs: serde_json::Map<String, Value> = differences(arm.comparison)
        .into_iter()
        .map(|(title, found)| (title.replace(' ', "_"), listed(found).into()))
        .collect();
    let lone = &arm.comparison.lone_rows;
    json!({
        "name": arm.name,
        "outcome": verdicts.outcome_of(arm).word(),
        "differs": differs,
        "lone_rows": lone.iter().map(|lone| json!({ "row": lone.row, "only_in": verdicts.only_in(arm, lone) })).collect::<Vec<_>>(),
    })
}

fn entry_value(verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>, entry: &Entry<'_>) -> Value {
    let mut value = json!({
        "arm": arm.name,
        "is_over_all_rows": entry.is_over_all_rows,
        "outcome": verdicts.judge(entry).word(),
    });
    let found = verdict_fields(entry.found, &verdicts.question.metric, verdicts.margin());
    value
        .as_object_mut()
        .expect("the value was made an object")
        .extend(found);
    value
}

/// What a verdict says, as data: the same in every form that is JSON.
pub(crate) fn verdict_fields(
    found: &RowComparison,
    metric: &Quantity,
    margin: f64,
) -> Map<String, Value> {
    let (mut beyond, mut reason, mut seen, mut more) =
        (Value::Null, Value::Null, Value::Null, Value::Null);
    match &found.verdict {
        Verdict::Invalid(why) => {
            reason = json!({ "kind": reason_kind(why), "text": reason_text(why) })
        }
        Verdict::Faster { by_margin } | Verdict::Slower { by_margin } => {
            beyond = (*by_margin).into()
        }
        Verdict::Equivalent { .. } => {}
        Verdict::Inconclusive { mde, more: blocks } => {
            seen = json!(100.0 * mde.exp_m1());
            more = blocks.as_ref().map_or(
                Value::Null,
                |more| json!({ "fewest": more.fewest, "most": more.most }),
            );
        }
    }
    let fields = [
        ("row", json!(found.row)),
        ("verdict", word(&found.verdict).into()),
        ("is_beyond_margin", beyond),
        ("estimate", json!(found.effect.as_ref().map(estimate))),
        (
            "second_slot_percent",
            json!(found.place.map(|gain| 100.0 * gain.exp_m1())),
        ),
        ("n", found.blocks.into()),
        ("unused_blocks", found.unused_blocks.into()),
        (
            "medians",
            json!({ "baseline": found.base, "arm": found.candidate }),
        ),
        ("reason", reason),
        ("would_have_seen_percent", seen),
        ("more_blocks", more),
        ("sentence", sentence(found, metric, margin).into()),
    ];
    fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// The change of the arm against the baseline, as a percentage and as a factor: sentences say the
/// factor where the percentage would be one of hundreds.
fn estimate(effect: &Estimate) -> Value {
    let percent = |log: f64| 100.0 * log.exp_m1();
    json!({
        "percent": percent(effect.point), "low_percent": percent(effect.low), "high_percent": percent(effect.high),
        "ratio": effect.point.exp(), "low_ratio": effect.low.exp(), "high_ratio": effect.high.exp(),
        "level": effect.level, "n": effect.n, "method": method(effect.method),
    })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::HodgesLehmann => "hodges-lehmann",
        Method::OfKinds => "means by order",
        Method::PairedT => "paired t",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, record, rows, sides};
    use super::super::{Gate, Verdicts};
    use super::*;

    #[test]
    fn verdicts_are_typed_data() {
        let (found, records, findings) = (sides(rows()), [record()], [finding()]);
        let text = verdicts_json(&Verdicts::of_sides(
            ["base", "new"],
            &found,
            &findings,
            records.iter().collect(),
            Gate::Slower,
        ));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&value["outcome"], &value["exit_code"], &value["fail_on"]),
            (&json!("no verdict"), &json!(4), &json!(["slower"]))
        );
        assert_eq!(
            value["metric"],
            json!({ "key": "get.p99", "name": "get: p99 latency", "unit": "ns", "better": "lower" })
        );
        let words: Vec<&str> = value["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(words, ["slower", "equivalent", "undecided", "none"]);
        let slower = &value["verdicts"][0];
        assert_eq!(
            (&slower["arm"], &slower["row"], &slower["n"]),
            (&json!("new"), &json!("RND4K <Q1>"), &json!(10))
        );
        assert_eq!(
            (&slower["is_beyond_margin"], &slower["outcome"]),
            (&json!(true), &json!("failed"))
        );
        assert!(
            (slower["estimate"]["percent"].as_f64().unwrap() + 24.4).abs() < 0.05,
            "{slower}"
        );
        assert_eq!(slower["estimate"]["method"], "hodges-lehmann");
        for end in ["", "low_", "high_"] {
            let of = |unit: &str| slower["estimate"][format!("{end}{unit}")].as_f64().unwrap();
            assert!(
                (100.0 * (of("ratio") - 1.0) - of("percent")).abs() < 1e-9,
                "{slower}"
            );
        }
        assert!(
            value["verdicts"][2]["would_have_seen_percent"]
                .as_f64()
                .is_some_and(|percent| (percent - 10.0).abs() < 1e-9)
        );
        assert_eq!(value["verdicts"][3]["reason"]["kind"], "too_few_blocks");
        assert_eq!(value["verdicts"][3]["estimate"], Value::Null);
        assert_eq!(
            value["arms"][0]["differs"]["with_what_is_compared"][0]["arm"],
            "xfs"
        );
        assert_eq!(value["findings"][0]["records"], json!([1]));
    }
}
