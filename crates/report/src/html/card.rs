//! The card of a profile on a page: numbers with bars, which stand still without a script.

use super::mark_of;
use super::tables::unbroken;
use crate::document::{Card, CardCell};
use maud::{Markup, PreEscaped, html};

pub(super) fn card(card: &Card) -> Markup {
    let scope = if card.is_direct {
        "Direct I/O"
    } else {
        "Through the page cache"
    };
    html! {
        div class="card" {
            table {
                thead { tr {
                    th scope="col" { (scope) }
                    th scope="col" { "Read" }
                    th scope="col" { "Write" }
                } }
                tbody {
                    @for line in &card.lines {
                        tr {
                            th scope="row" { (line.name) small { (line.what) } }
                            @for of in &line.cells { td { (cell(of.as_ref())) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(of: Option<&CardCell>) -> Markup {
    let Some(of) = of else {
        return html! { span class="quiet" { "not measured" } };
    };
    html! {
        a class="big" href={ "#row-" (of.row) } { b { (of.number) } " " (of.unit) }
        @if let Some(severity) = of.mark { " " (mark_of(severity)) }
        (PreEscaped(bar(of)))
        small {
            @if let Some(around) = &of.around { (unbroken(around)) }
            @if let (Some(_), Some(_)) = (&of.around, &of.also) { br; }
            @if let Some(also) = &of.also { (also) }
        }
    }
}

/// The length of the number, with its interval.
fn bar(of: &CardCell) -> String {
    let at = |share: f64| (1000.0 * share.clamp(0.0, 1.0)).round() / 10.0;
    let whisker = of.whisker.map(|(low, high)| {
        let (low, high) = (at(low), at(high));
        format!(r#"<path class="whisker" d="M{low} 5H{high}M{low} 2v6M{high} 2v6"/>"#)
    });
    format!(
        r#"<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="fill" width="{}" height="10"/>{}</svg>"#,
        at(of.length),
        whisker.unwrap_or_default()
    )
}
