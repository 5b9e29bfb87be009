//! A table that shows a part of what was planned may show the part that pleases.

use super::{Experiment, Located, about, claimed};
use crate::Severity;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let claims = experiment.claims.iter().filter_map(|(index, claim)| Some((*index, claimed(claim, "planned")?, claimed(claim, "shown")?)));
    claims
        .filter(|(_, planned, shown)| shown < planned)
        .map(|(index, planned, shown)| {
            let message = format!("{shown} of {planned} planned results are shown");
            let advice = "publish every cell, or say by which rule, written before the run, some were left out";
            about(Some(index), "cells_missing", Severity::Warning, message, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    #[test]
    fn a_part_is_found_and_the_whole_is_not() {
        let claim = |shown| {
            let figures = [("planned".to_owned(), 140.0), ("shown".to_owned(), shown)].into();
            Record { kind: "claim".into(), ..quoted("claim", Summary { figures, ..Summary::default() }) }
        };
        assert_eq!(only(&run_on(check, &[claim(35.0)])), "35 of 140 planned results are shown");
        assert_eq!(run_on(check, &[claim(140.0)]), []);
    }
}
