//! The picture of the first screen, or in words why there is none.

use super::rows::leading_kind;
use super::{Block, Findings, Plot, card, distributions, intervals, matrix, plots};
use analyze::Study;
use record::Quantity;
use stats::{Reason, Verdict};

/// What was found out about the arms in one picture. A study without a row says that in its answer.
pub(super) fn picture<'s>(study: &'s Study, found: &Findings<'s>) -> Option<Block<'s>> {
    drawn(study, found).or_else(|| Some(Block::Text(why_none(study)?)))
}

fn drawn<'s>(study: &'s Study, found: &Findings<'s>) -> Option<Block<'s>> {
    if study.baseline.is_some() {
        let changes = matrix::changes(study).or_else(|| intervals::forest(study));
        return changes.map(Block::Plot);
    }
    if let Some(card) = card::card(study, found) {
        return Some(Block::Card(card));
    }
    // What is said of the knee stands beside it.
    let curve = || {
        let curve = plots::arrivals(study).into_iter().next()?;
        Some(Plot {
            notes: Vec::new(),
            ..curve
        })
    };
    let parts = || distributions::parts_of_requests(study);
    let latencies = || distributions::latencies_first(study);
    curve().or_else(parts).or_else(latencies).map(Block::Plot)
}

fn why_none(study: &Study) -> Option<String> {
    if study.rows.is_empty() || !study.io500.is_empty() {
        return None;
    }
    if study.baseline.is_some() {
        let comparisons = study.rows.iter().flat_map(|row| &row.comparisons);
        let mut verdicts = comparisons.flatten().map(|found| &found.verdict);
        if verdicts.any(|verdict| matches!(verdict, Verdict::Invalid(Reason::Underway { .. }))) {
            // It comes with the verdict; what is known so far stands above.
            return None;
        }
        return Some(
            "No picture: no arm has a number that another can be held against.".to_owned(),
        );
    }
    let median = Quantity::named("p50");
    let medians = study.figures().filter(|figure| figure.metric == median);
    let is_short = medians.into_iter().any(|figure| figure.point.is_none());
    let has_rate = |metric: &str| {
        let metric = Quantity::named(metric);
        let mut rows = study.rows.iter();
        rows.any(|row| leading_kind(row, &metric).is_some())
    };
    Some(
        match (is_short, has_rate("iops") || has_rate("throughput")) {
            (true, _) => {
                "No picture: of too few operations no percentile of their latency can be told; the numbers stand in the table."
            }
            (false, true) => "No picture: the records tell rates and no latencies; the numbers stand in the table.",
            (false, false) => "No picture: the records hold no number that one could show.",
        }
        .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::load;
    use analyze::{RowComparison, StudyOptions, study};
    use record::{LoadAccount, Operations, Record};

    fn opening(records: &[Record]) -> String {
        let study = study(records, &StudyOptions::default());
        match picture(&study, &Findings::of(&study)) {
            Some(Block::Text(text)) => text,
            Some(Block::Plot(plot)) => plot.caption,
            Some(_) => "another".to_owned(),
            None => String::new(),
        }
    }

    #[test]
    fn a_load_too_short_for_any_percentile_says_why_nothing_is_drawn() {
        let parts = "Where the time of a request goes, from the median to the p95";
        assert_eq!(opening(&[load("get", 400, 80_000_000, 0)]), parts);
        let medians = "Where the time of a request goes: medians, of too few requests for a p95";
        assert_eq!(opening(&[load("get", 60, 80_000_000, 0)]), medians);
        let short = opening(&[load("get", 12, 80_000_000, 0)]);
        assert!(short.starts_with("No picture: of too few"), "{short}");
    }

    #[test]
    fn what_is_not_judged_yet_has_its_picture_with_the_verdict() {
        let judged = |reason| RowComparison {
            row: "get".into(),
            blocks: 2,
            unused_blocks: 0,
            base: Some(100.0),
            candidate: Some(300.0),
            effect: None,
            verdict: Verdict::Invalid(reason),
            differences: vec![1.1, 1.0],
            place: None,
            sensitivity: None,
            interrupted: None,
        };
        let shown = |reason| {
            let mut study = study(&[load("get", 400, 1_000, 0)], &StudyOptions::default());
            study.baseline = Some(0);
            study.rows[0].comparisons = vec![Some(judged(reason))];
            why_none(&study)
        };
        let underway = Reason::Underway {
            passes: 2,
            judged_after: 6,
        };
        assert_eq!(shown(underway), None);
        assert!(shown(Reason::OrderAliasedWithArm).is_some());
    }

    #[test]
    fn a_load_that_lasts_has_no_parts_yet_and_is_a_load() {
        let mut record = load("get", 400, 80_000_000, 0);
        record.load = None;
        record.kind = "load".into();
        let study = study(&[record], &StudyOptions::default());
        let head = super::super::heading(&study, &Quantity::named("iops"));
        assert_eq!(head, "Ops/s");
    }

    #[test]
    fn a_load_whose_parts_nobody_knows_shows_its_latency() {
        let mut record = load("get", 400, 80_000_000, 0);
        record.load = Some(LoadAccount::default());
        assert_eq!(opening(&[record]), "Latency by percentile: get");
    }

    #[test]
    fn rates_alone_and_nothing_at_all_have_words_of_their_own() {
        let mut record = load("get", 400, 80_000_000, 0);
        record.load = None;
        record.operations = record::Measurements::default();
        record.operations.insert(
            "get",
            Operations {
                count: 400,
                bytes: 400,
                ..Operations::default()
            },
        );
        let rates = opening(std::slice::from_ref(&record));
        assert!(rates.starts_with("No picture: the records tell"), "{rates}");
        assert_eq!(opening(&[]), "");
    }
}
