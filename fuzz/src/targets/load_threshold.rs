//! Thresholds: what is accepted reads back from its text, and judges any record.

use record::{Record, Threshold};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match Threshold::parse(text) {
        Ok(threshold) => {
            assert_eq!(
                Threshold::parse(threshold.text()).as_ref().ok(),
                Some(&threshold)
            );
            let judged = threshold.judge(&Record::default());
            assert!(!judged.measured.is_empty());
        }
        Err(error) => assert!(error.to_string().contains("examples: ")),
    }
}
