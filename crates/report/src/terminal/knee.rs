//! The curve of a search for the highest rate that holds, as text.

use super::TextLayout;
use super::page::{Page, time};
use record::{SearchAccount, SearchPoint};
use units::{Rate, on_one_line};

/// The steps by their rates, and where the knee lies: between the highest rate
/// that held and the least that did not.
#[must_use]
pub fn knee_text(search: &SearchAccount, layout: TextLayout) -> String {
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
            if point.holds { "holds" } else { "breaks" }.to_owned(),
            point.measured.clone(),
        ]
    }));
    let mut page = Page::new(layout);
    page.table(&rows);
    if let Some(why) = &search.no_answer {
        page.line(&format!("no knee: {}", on_one_line(why)));
        return page.finish();
    }
    page.line(&match (search.holds_at, search.breaks_at) {
        (Some(best), Some(least)) => format!(
            "knee: {threshold} holds at {} and breaks at {}; single observations, one a rate",
            Rate(best),
            Rate(least)
        ),
        (Some(best), None) => format!(
            "no knee: {threshold} still holds at {}, the highest rate tried",
            Rate(best)
        ),
        (None, Some(least)) => format!(
            "no knee: {threshold} breaks at {}, the lowest rate tried",
            Rate(least)
        ),
        (None, None) if search.points.is_empty() => "no knee: no step was completed".to_owned(),
        (None, None) => format!("no knee: nothing was measured that {threshold} applies to"),
    });
    page.finish()
}
