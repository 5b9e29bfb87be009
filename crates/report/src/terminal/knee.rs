//! The curve of a search for the highest rate that holds, as text.

use super::TextLayout;
use super::page::{Page, time};
use record::{SearchAccount, SearchPoint, Status};
use units::{Rate, on_one_line};

/// The steps by their rates, and where the knee lies: between the highest rate
/// that held and the least that did not. A last step that says nothing of its rate is no point of the curve.
#[must_use]
pub fn knee_text(
    search: &SearchAccount,
    no_point: Option<(Rate, Status)>,
    layout: TextLayout,
) -> String {
    let mut page = Page::new(layout);
    page.table(&curve(search));
    page.line(&answer(search));
    if let Some((rate, status)) = no_point {
        let how = match status {
            Status::Apart => "was begun too far apart by its ranks",
            Status::Interrupted => "was interrupted",
            Status::Ok | Status::Failed | Status::Incomplete => "is incomplete",
        };
        page.line(&format!(
            "the step at {rate} {how}, and says nothing of the threshold"
        ));
    }
    page.finish()
}

fn curve(search: &SearchAccount) -> Vec<Vec<String>> {
    let threshold = search.threshold.as_str();
    let mut points: Vec<&SearchPoint> = search.points.iter().collect();
    points.sort_by(|a, b| a.asked_per_second.total_cmp(&b.asked_per_second));
    let head = [
        "rate", "achieved", "p50", "p99", "unsent", "errors", "", threshold,
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(points.into_iter().map(|point| {
        vec![
            Rate(point.asked_per_second).to_string(),
            Rate(point.achieved_per_second).to_string(),
            time(point.latency_p50_ns),
            time(point.latency_p99_ns),
            point.unsent.to_string(),
            point.errors.to_string(),
            word(point).to_owned(),
            point.measured.clone(),
        ]
    }));
    rows
}

fn word(point: &SearchPoint) -> &'static str {
    match (point.undecided, point.holds) {
        (true, _) => "undecided",
        (false, true) => "holds",
        (false, false) => "breaks",
    }
}

/// What broke at that rate, where it is not the threshold that was searched.
fn otherwise(search: &SearchAccount, rate: f64) -> String {
    let mut points = search.points.iter();
    let broke = |point: &&SearchPoint| !point.holds && !point.undecided;
    let point =
        points.find(|point| broke(point) && point.asked_per_second.total_cmp(&rate).is_eq());
    let why = point.and_then(|point| point.otherwise.as_ref());
    why.map_or_else(String::new, |why| format!(" ({})", on_one_line(why)))
}

fn answer(search: &SearchAccount) -> String {
    if let Some(why) = &search.no_answer {
        return format!("no knee: {}", on_one_line(why));
    }
    let threshold = search.threshold.as_str();
    match (search.holds_at, search.breaks_at) {
        (Some(best), Some(least)) => format!(
            "knee: {threshold} holds at {} and breaks at {}{}; single observations, one a rate",
            Rate(best),
            Rate(least),
            otherwise(search, least)
        ),
        (Some(best), None) => format!(
            "no knee: {threshold} still holds at {}, the highest rate of a completed step",
            Rate(best)
        ),
        (None, Some(least)) => format!(
            "no knee: {threshold} breaks at {}{}, the lowest rate of a completed step",
            Rate(least),
            otherwise(search, least)
        ),
        (None, None) if search.points.is_empty() => "no knee: no step counts".to_owned(),
        (None, None) => format!("no knee: nothing was measured that {threshold} applies to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_says_nothing_of_its_rate_is_named_and_that_is_not_the_highest() {
        let search = SearchAccount {
            threshold: "errors<1%".into(),
            points: vec![SearchPoint {
                asked_per_second: 100.0,
                holds: true,
                ..SearchPoint::default()
            }],
            holds_at: Some(100.0),
            ..SearchAccount::default()
        };
        let knee =
            "no knee: errors<1% still holds at 100 /s, the highest rate of a completed step\n";
        let of_part =
            |how| format!("{knee}the step at 200 /s {how}, and says nothing of the threshold\n");
        for (status, end) in [
            (None, knee.to_owned()),
            (Some(Status::Interrupted), of_part("was interrupted")),
            (Some(Status::Incomplete), of_part("is incomplete")),
            (
                Some(Status::Apart),
                of_part("was begun too far apart by its ranks"),
            ),
        ] {
            let no_point = status.map(|status| (Rate(200.0), status));
            let text = knee_text(&search, no_point, TextLayout::default());
            assert!(text.ends_with(&end), "{text}");
        }
    }

    #[test]
    fn a_step_that_decides_nothing_does_not_break() {
        let point = |holds, undecided| SearchPoint {
            asked_per_second: 100.0,
            holds,
            undecided,
            otherwise: Some("x".into()),
            ..SearchPoint::default()
        };
        let words = [(true, false), (false, false), (false, true)].map(|(a, b)| word(&point(a, b)));
        assert_eq!(words, ["holds", "breaks", "undecided"]);
        let search = SearchAccount {
            points: vec![point(false, true)],
            ..SearchAccount::default()
        };
        assert_eq!(otherwise(&search, 100.0), "");
    }

    #[test]
    fn what_broke_beside_the_searched_threshold_is_said_where_it_broke() {
        let knee = |otherwise: Option<&str>| {
            let search = SearchAccount {
                threshold: "errors<1%".into(),
                points: vec![SearchPoint {
                    asked_per_second: 148.0,
                    otherwise: otherwise.map(str::to_owned),
                    ..SearchPoint::default()
                }],
                breaks_at: Some(148.0),
                ..SearchAccount::default()
            };
            answer(&search)
        };
        assert_eq!(
            knee(Some("put.p95<50ms missed: 103 ms")),
            "no knee: errors<1% breaks at 148 /s (put.p95<50ms missed: 103 ms), the lowest rate of a completed step"
        );
        assert_eq!(
            knee(None),
            "no knee: errors<1% breaks at 148 /s, the lowest rate of a completed step"
        );
    }
}
