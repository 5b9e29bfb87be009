//! How figures, metrics and verdicts are put into words.

use crate::plot::ValueUnit;
use analyze::{Bounds, Figure};
use maud::{Markup, html};
use record::Quantity;
use stats::{Estimate, Verdict};

/// A name of a metric for attributes.
pub(super) fn id(metric: &Quantity) -> String {
    metric.of_any_kind().key()
}

/// The value of a fact.
pub(super) fn value(text: &str) -> Markup {
    html! {
        @if text.is_empty() { span class="quiet" { "(empty)" } } @else { (name(text)) }
    }
}

/// A p for people.
pub(super) fn probability(p: f64) -> String {
    if p < 0.0001 {
        "p < 0.0001".to_owned()
    } else {
        format!("p = {p:.4}")
    }
}

/// Foreign text in a direction of its own.
pub(super) fn name(text: &str) -> Markup {
    html! {
        bdi { @if text.is_empty() { "(no name)" } @else { (text) } }
    }
}
/// `1 record`, `7 records`.
pub(super) fn counted(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    units::Percent((share * 1000.0).round() / 10.0).to_string()
}

/// The ends of the interval or range of a figure, where they are finite.
pub(super) fn ends(figure: &Figure) -> Option<(f64, f64)> {
    figure
        .bounds
        .as_ref()
        .map(Bounds::ends)
        .filter(|(low, high)| low.is_finite() && high.is_finite())
}

pub(super) fn bounded(estimate: &Estimate) -> Option<(f64, f64)> {
    (estimate.low.is_finite() && estimate.high.is_finite()).then_some((estimate.low, estimate.high))
}

/// Interval or range of a figure as text; a range says that it is one.
pub(super) fn around(figure: &Figure) -> Option<String> {
    let text = between(figure.metric.unit(), figure.point?, ends(figure)?);
    Some(if figure.range().is_some() {
        format!("range {text}")
    } else {
        text
    })
}

/// An interval as text; a unit that the point already names is not said again.
pub(super) fn between(unit: ValueUnit, point: f64, (low, high): (f64, f64)) -> String {
    let texts = [point, low, high].map(|value| unit.text(value));
    let [(_, unit_of_point), (low, unit_of_low), (high, unit_of_high)] = texts
        .each_ref()
        .map(|text| text.rsplit_once(' ').unwrap_or((text, "")));
    if unit_of_low == unit_of_point && unit_of_high == unit_of_point {
        format!("[{low}, {high}]")
    } else {
        format!("[{}, {}]", texts[1], texts[2])
    }
}

/// An effect, given as the logarithm of a ratio, as a change.
pub(super) fn change(effect: &Estimate) -> (f64, Option<(f64, f64)>) {
    (
        effect.point.exp_m1(),
        bounded(effect).map(|(low, high)| (low.exp_m1(), high.exp_m1())),
    )
}

/// A change with its interval: `+8.3 % [+5.6, +11.2]`.
pub(super) fn change_text(effect: &Estimate) -> String {
    let (point, interval) = change(effect);
    let text = ValueUnit::Change.text(point);
    interval.map_or_else(
        || text.clone(),
        |bounds| format!("{text} {}", between(ValueUnit::Change, point, bounds)),
    )
}

/// A sign and a word for a verdict.
pub(super) fn verdict(verdict: &Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Faster { .. } => ("▲", "faster"),
        Verdict::Slower { .. } => ("▼", "slower"),
        Verdict::Equivalent { .. } => ("≈", "equivalent"),
        Verdict::Inconclusive { .. } => ("?", "cannot tell"),
        Verdict::Invalid(_) => ("✕", "no verdict"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_names_its_unit_only_where_the_point_does_not() {
        let mib = 1024.0 * 1024.0;
        assert_eq!(
            between(
                ValueUnit::BytesPerSecond,
                100.0 * mib,
                (90.0 * mib, 110.0 * mib)
            ),
            "[90.0, 110]"
        );
        assert_eq!(
            between(ValueUnit::Time, 1_000_000.0, (900_000.0, 1_100_000.0)),
            "[900 µs, 1.1 ms]"
        );
    }

    #[test]
    fn a_name_cannot_leave_its_element() {
        assert_eq!(
            name("</bdi><script>").into_string(),
            "<bdi>&lt;/bdi&gt;&lt;script&gt;</bdi>"
        );
    }
}
