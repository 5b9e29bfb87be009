//! What is asked of a study.

use record::Quantity;
use std::collections::BTreeSet;

/// What is asked of records that are looked at together.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyOptions {
    /// Where each record comes from, such as the name of its file; empty: nobody says.
    pub labels: Vec<String>,
    /// The arm that the others are compared with; else the one whose role it is, else the first.
    pub baseline: Option<String>,
    /// What is compared.
    pub metric: Quantity,
    /// Differences below this ratio do not matter, 0.05 for 5 %.
    pub margin: f64,
    /// What is to be found out, in the words of who planned it; empty: nobody said.
    pub question: String,
    /// Options that are meant to differ between arms, beyond those in which arms of one plan
    /// differ.
    pub factors: BTreeSet<String>,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            baseline: None,
            metric: Quantity::named("iops"),
            margin: 0.05,
            question: String::new(),
            factors: BTreeSet::new(),
        }
    }
}
