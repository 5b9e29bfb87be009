//! What of several hosts is not alike, below the finding that says so.

use crate::study::escaped;
use analyze::DifferingFact;
use serde_json::{Value, json};

/// An item each, below that of the finding.
pub(crate) fn differing_items(facts: &[DifferingFact]) -> String {
    let facts = facts.iter();
    let items = facts.map(|fact| format!("  - {}\n", escaped(&fact.to_string())));
    items.collect()
}

/// Adds it to the object of the finding, where there is something.
pub(crate) fn with_differing(mut finding: Value, facts: &[DifferingFact]) -> Value {
    if !facts.is_empty() {
        let facts = facts.iter();
        let facts = facts.map(|fact| json!({ "what": fact.what, "values": fact.values }));
        finding["differing"] = facts.collect();
    }
    finding
}

#[cfg(test)]
mod tests {
    use crate::terminal::{TerminalOptions, terminal};
    use crate::{AuditAccount, audit_json, audit_markdown, html, study_markdown};
    use analyze::{StudyOptions, audit, self_check, study};
    use record::{GroupAccount, Record};

    fn joined() -> Record {
        let parts = (0..3).map(|rank| {
            let mut part = crate::example::oltp();
            part.id = rank.to_string();
            part.group = Some(GroupAccount::default());
            let host = part.generator_mut();
            host.rank = Some(rank);
            host.environment.system.hostname = Some(format!("n{rank}"));
            let kernel = if rank == 1 { "6.<6>" } else { "6.1" };
            host.environment.system.kernel_release = Some(kernel.into());
            part
        });
        Record::merge_all(parts).unwrap()
    }

    #[test]
    fn every_form_tells_of_each_host_what_the_audit_tells_of_it() {
        let mut record = joined();
        record.workers.clear();
        for (host, share) in record.hosts.iter_mut().zip([0.111, 0.955, 0.222]) {
            host.machine.steal_share = Some(share);
            host.machine.throttled_ns = (share > 0.5).then_some(1_500_000_000);
        }
        let records = [record];
        let found = audit(&records);
        let starved: Vec<&str> = found
            .iter()
            .filter(|of| of.finding.rule == "starved")
            .map(|of| of.finding.message.as_str())
            .collect();
        assert_eq!(starved.len(), 4, "{starved:?}");
        let mut of_study = study(&records, &StudyOptions::default());
        of_study.findings.retain(|of| of.rule == "starved");
        let (page, text) = (html(&of_study), study_markdown(&of_study));
        let layout = crate::TextLayout::default();
        let on_screen = crate::study_text(&of_study, layout);
        let on_screen = on_screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let value: serde_json::Value = serde_json::from_str(&crate::study_json(&of_study)).unwrap();
        let others = value["findings"][0]["others"].as_array().unwrap();
        assert_eq!(others.len(), 3);
        for message in starved {
            let what = message.strip_prefix("on ").unwrap();
            assert!(page.contains(what), "{what}: {page}");
            assert!(
                text.contains(&format!("`starved` (oltp): {message}\n")),
                "{text}"
            );
            assert!(on_screen.contains(message), "{on_screen}");
        }
        assert!(page.contains("0 invalid, 4 warnings, 0 notes."), "{page}");
        assert!(text.contains(" 3 findings more below."), "{text}");
        let places = ["c.jsonl".to_owned()];
        let account = AuditAccount {
            found: &found,
            records: &records,
            places: &places,
        };
        let forms = [
            audit_markdown(&account),
            crate::audit_annotations(&account),
            crate::audit_junit(&account),
        ];
        for form in &forms {
            for share in ["took 11.1%", "took 95.5%", "took 22.2%", "process for 75%"] {
                assert!(form.contains(share), "{share}: {form}");
            }
        }
        let advice = "repeat when the host is quiet";
        assert_eq!(
            text.matches(advice).count(),
            1,
            "once below those that it is for: {text}"
        );
    }

    #[test]
    fn what_differs_stands_in_every_form() {
        let records = [joined()];
        let found = self_check(&records[0]);
        let line = "kernel: 6.1 on n0 (rank 0), n2 (rank 2); 6.<6> on n1 (rank 1)";
        let text = terminal(&records[0], &found, &TerminalOptions::default());
        assert!(text.contains(&format!("\n  {line}\n  help: ")), "{text}");
        let of_study = study(&records, &StudyOptions::default());
        let page = html(&of_study);
        assert!(page.contains("<th>kernel</th><td><div>6.1 on n0"), "{page}");
        assert!(page.contains("<div>6.&lt;6&gt; on n1 (rank 1)</div>"));
        let items = "\n  - kernel: 6.1 on n0 (rank 0), n2 (rank 2); 6.";
        assert!(study_markdown(&of_study).contains(items));
        let account = AuditAccount {
            found: &audit(&records),
            records: &records,
            places: &["r.jsonl".to_owned()],
        };
        assert!(audit_markdown(&account).contains(items));
        let json: serde_json::Value = serde_json::from_str(&audit_json(&account)).unwrap();
        let entries = json.as_array().unwrap().iter();
        let told: Vec<_> = entries.filter_map(|of| of.get("differing")).collect();
        assert_eq!(told.len(), 1, "of the rule that has it alone");
        assert_eq!(told[0][0]["values"][1], "6.<6> on n1 (rank 1)");
    }
}
