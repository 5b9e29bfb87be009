//! A study as one HTML file: opens from disk, asks nobody for anything, and shows everything
//! without its script.
//!
//! The order is that of the document, in which it is that of the study and never that of the
//! results. Style and script stand in the file, and its content security policy permits no other
//! source. All text of records is foreign text and is escaped. The script hides and shows what is
//! there; it formats no number, so that a number reads the same with and without it.

mod card;
mod facts;
mod findings;
mod live;
mod packed;
mod source;
mod tables;

pub use live::{LIVE_POLICY, LivePage, LivePart, live_file, live_now, live_study};
pub use source::{
    Packing, PageCheck, PageDifference, PageDifferences, PageSource, WrittenPage, check_page, page,
};

use crate::document::{
    Block, Breadth, Conclusion, Document, Plot, Section, Sentence, VerdictMark, document,
    missed_in, plotted,
};
use crate::plot::{LEVELS, key};
use crate::words::share;
use analyze::{Severity, Study};
use maud::{Markup, PreEscaped, html};
use record::{Quantity, Role};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// The sections that stand before everything else.
const FIRST: usize = 2;

/// The page of a study.
#[must_use]
pub fn html(study: &Study) -> String {
    let document = document(study, Breadth::Browser);
    let (first, others) = document.sections.split_at(FIRST);
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (document.title) } p class="quiet" { (document.lead) } }
                main class=[(study.arms.len() == 1).then_some("alone")] {
                    div class="first" { @for of in first { (section(&document, of)) } }
                    nav aria-label="Contents" { ul {
                        @for of in others { li { a href={ "#" (of.id) } { (of.title) } } }
                    } }
                    (tools(study))
                    @for of in others { (section(&document, of)) "\n" }
                }
                footer { "Written by Fathom from records alone." }
                div id="tip" role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
        "\n"
    };
    // Texts of records may hold characters that change the look of other text.
    units::visible(&page.into_string())
}

/// Foreign text in a direction of its own.
fn name(text: &str) -> Markup {
    html! {
        bdi {
            @if text.is_empty() { "(no name)" }
            @for (at, part) in parts_of(text).enumerate() { @if at > 0 { wbr; } (part) }
        }
    }
}

/// The parts between which a long name may break: an address breaks where it is read in parts.
fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    const SHORT: usize = 16;
    const SEPARATORS: [char; 3] = ['/', '@', ':'];
    let is_long = text.len() > SHORT;
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.find(SEPARATORS).filter(|_| is_long);
        let after = start.and_then(|start| {
            let run = rest[start..].find(|letter| !SEPARATORS.contains(&letter));
            run.map(|run| start + run)
        });
        let (part, others) = rest.split_at(after.unwrap_or(rest.len()));
        rest = others;
        Some(part)
    })
}

/// A name of a quantity for attributes.
fn id(quantity: &Quantity) -> String {
    quantity.of_any_kind().key()
}

/// What the script works with; hidden where there is none.
fn tools(study: &Study) -> Markup {
    let is_known = |metric: &Quantity| {
        let mut figures = study.figures();
        figures.any(|figure| figure.metric == *metric && figure.point.is_some())
    };
    let metrics: Vec<Quantity> = plotted(study).into_iter().filter(is_known).collect();
    let judged = study.metric.of_any_kind();
    let compared = metrics.iter().position(|metric| *metric == judged);
    let several = study.arms.len() > 1;
    html! {
        form id="tools" class="tools" aria-label="What to show" hidden {
            input type="search" id="filter" placeholder="Filter rows" aria-label="Show only rows whose name contains";
            @if several && metrics.len() > 1 {
                fieldset {
                    legend { "Quantity" }
                    @for (index, metric) in metrics.iter().enumerate() {
                        label {
                            input type="radio" name="metric" value=(id(metric)) checked[index == compared.unwrap_or(0)];
                            " " (crate::document::heading(study, metric))
                        }
                    }
                }
            }
            @if several {
                fieldset {
                    legend { "Arms" }
                    @for (index, arm) in study.arms.iter().enumerate() {
                        label {
                            input type="checkbox" name="arm" value=(index) checked;
                            " " (PreEscaped(key(index))) " " (name(&arm.name))
                        }
                    }
                }
            }
            button type="button" id="fold" { "Collapse plots" } "\n"
            button type="button" id="theme" { "Theme: auto" }
        }
    }
}

fn section(document: &Document<'_>, section: &Section<'_>) -> Markup {
    let is_plots = matches!(section.blocks.first(), Some(Block::Explanation(_)));
    html! {
        section id=(section.id) class=[is_plots.then_some("plots")] {
            @if is_plots || section.is_folded {
                details open[!section.is_folded] {
                    summary { h2 { (section.title) } }
                    (blocks(document, &section.blocks))
                }
            } @else {
                h2 { (section.title) }
                (blocks(document, &section.blocks))
            }
            @if !section.parts.is_empty() { p id="none" hidden { "No row has such a name." } }
            @for part in &section.parts {
                @let is_bare = part.blocks.iter().all(|block| matches!(block, Block::Options(..)));
                article id=(part.id) class=[is_bare.then_some("bare")] data-row=[part.row] data-name=(part.title) {
                    @let heading = html! { h3 { (name(&part.title)) @if let Some(row) = part.row { (mark(document, row)) (missed(document.study, row, None)) } } };
                    @if part.is_folded {
                        details { summary { (heading) } (blocks(document, &part.blocks)) }
                    } @else {
                        (heading)
                        (blocks(document, &part.blocks))
                    }
                }
            }
        }
    }
}

/// Blocks in their order; plots that follow each other stand side by side, and so do tables.
fn blocks(document: &Document<'_>, blocks: &[Block<'_>]) -> Markup {
    let kind = |block: &Block<'_>| match block {
        Block::Plot(_) => Some("figures"),
        Block::Table(table) => Some("tables").filter(|_| !table.title.is_empty()),
        Block::Text(_)
        | Block::Explanation(_)
        | Block::Items(_)
        | Block::Verdicts(_)
        | Block::Belief
        | Block::Keys
        | Block::Scale
        | Block::Circumstances(_)
        | Block::Options(..)
        | Block::Card(_)
        | Block::Findings => None,
    };
    html! {
        @for group in blocks.chunk_by(|a, b| kind(a).is_some() && kind(a) == kind(b)) {
            @match group.first().and_then(kind) {
                Some(class) => div class=(class) { @for of in group { (block(document, of)) } },
                None => @for of in group { (block(document, of)) },
            }
        }
    }
}

fn block(document: &Document<'_>, block: &Block<'_>) -> Markup {
    let study = document.study;
    match block {
        Block::Text(text) => html! { p { (text) } },
        Block::Explanation(text) => html! { p { (text) } },
        Block::Items(items) => html! { ul { @for text in items { li { (text) } } } },
        Block::Verdicts(said) => verdicts(study, said),
        Block::Belief => belief(&document.answer),
        Block::Table(of) => tables::titled(document, of),
        Block::Plot(of) => plot(study, of),
        Block::Keys => keys(study),
        Block::Scale => scale(),
        Block::Circumstances(facts) => facts::circumstances(study, facts),
        Block::Options(row, _) => facts::options(study, &study.rows[*row].workload),
        Block::Card(of) => card::card(of),
        Block::Findings => findings::findings(&document.findings),
    }
}

fn verdicts(study: &Study, said: &[Sentence]) -> Markup {
    html! {
        ul class="verdicts" {
            @for said in said {
                @let only = match said.arms.as_slice() { [arm] => Some(*arm), _ => None };
                li data-arm=[only] {
                    @if let Some(mark) = said.verdict { (pill(mark)) " " }
                    @for (index, arm) in said.arms.iter().enumerate() {
                        @if index > 0 { ", " }
                        (name(&study.arms[*arm].name))
                    }
                    @if !said.arms.is_empty() { (said.scope) ": " }
                    (said.text)
                }
            }
        }
    }
}

/// A verdict at a glance: colour, sign and word, so that none of them is needed.
fn pill(mark: VerdictMark) -> Markup {
    html! { span class={ "pill " (verdict_class(mark)) } { (mark.sign) " " (mark.word) } }
}

/// The class that has the colour of a verdict.
fn verdict_class(mark: VerdictMark) -> &'static str {
    match mark.word {
        "faster" => "better",
        "slower" => "worse",
        "equivalent" => "same",
        "no verdict" => "none",
        _ => "open",
    }
}

fn belief(answer: &Conclusion) -> Markup {
    let severity = answer.belief.severity;
    let class = severity.map_or_else(|| "sound".to_owned(), |severity| severity.to_string());
    html! {
        p class={ "belief " (class) } {
            b { (severity.map_or("✓", severity_sign)) } " " (answer.belief.text)
            @if severity.is_some() { " " a href="#findings" { "All findings" } }
        }
    }
}

/// The arms with their signs, for those who read a print or have no script.
fn keys(study: &Study) -> Markup {
    html! {
        @if study.arms.len() > 1 {
            ul class="keys" {
                @for (index, arm) in study.arms.iter().enumerate() {
                    li data-arm=(index) {
                        (PreEscaped(key(index))) " " (name(&arm.name)) (role(study, index))
                    }
                }
            }
        }
    }
}

/// What an arm is compared as, where that is not the usual.
fn role(study: &Study, arm: usize) -> Markup {
    let is_control = study.arms[arm].role == Some(Role::Control);
    let word = match study.baseline == Some(arm) {
        true => Some("baseline"),
        false => is_control.then_some("control"),
    };
    let word = word.filter(|_| study.arms.len() > 1);
    html! { @if let Some(word) = word { " " span class="badge" { (word) } } }
}

fn scale() -> Markup {
    html! {
        p class="scales" {
            "Share of the operations of a column: "
            @for (level, least) in LEVELS.iter().enumerate() {
                span class="scale" {
                    svg viewBox="0 0 1 1" { g class="heat" { path class={ "h" (level) } d="M.5 0V1" {} } }
                    @if level == 0 { "some" } @else { "over " (share(*least)) }
                }
            }
        }
    }
}

fn plot(study: &Study, plot: &Plot) -> Markup {
    let several = study.arms.len() > 1;
    let notes = html! {
        @for (arm, text) in &plot.notes {
            p data-arm=[*arm] {
                @if let Some(arm) = arm.filter(|_| several) { (name(&study.arms[arm].name)) ": " }
                (text)
            }
        }
    };
    html! {
        figure data-row=[plot.row] data-arm=[plot.arm] data-metric=[plot.quantity.as_ref().map(id)] {
            figcaption { (name(&plot.caption)) }
            @if !plot.legend.is_empty() {
                ul class="keys" {
                    @for (sign, text) in &plot.legend { li { (PreEscaped(key(*sign))) " " (name(text)) } }
                }
            }
            (PreEscaped(&plot.svg))
            @if plot.notes.len() > 2 {
                details { summary { (plot.notes.len()) " notes" } (notes) }
            } @else { (notes) }
        }
    }
}

fn severity_sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "✕",
        Severity::Warning => "▲",
        Severity::Note => "●",
    }
}

/// The mark of what must be known of a row before its numbers are quoted.
fn mark(document: &Document<'_>, row: usize) -> Markup {
    html! {
        @if let Some(severity) = document.findings.mark(row) {
            " " (mark_of(severity))
        }
    }
}

/// The mark of a threshold that was missed: of a kind of operation, or of any.
fn missed(study: &Study, row: usize, kind: Option<&str>) -> Markup {
    let of = missed_in(&study.rows[row], kind);
    html! {
        @if !of.is_empty() {
            " " a class="mark invalid" href={ "#row-" (row) } title={ "missed: " (of.join(", ")) } { "missed" }
        }
    }
}

/// The sign of a severity as a link to the findings.
fn mark_of(severity: Severity) -> Markup {
    html! {
        a class={ "mark " (severity) } href="#findings" title={ (severity) ": see the findings" } {
            (severity_sign(severity))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_element() {
        assert_eq!(
            name("</bdi><script>").into_string(),
            "<bdi>&lt;/bdi&gt;&lt;script&gt;</bdi>"
        );
    }

    #[test]
    fn a_kind_of_operation_that_missed_its_threshold_bears_a_mark() {
        let load = crate::document::example::load("mixed", 400, 80_000_000, 0);
        let page = html(&analyze::study(&[load], &analyze::StudyOptions::default()));
        let marked =
            r##"<a class="mark invalid" href="#row-0" title="missed: put.p95&lt;10ms">missed</a>"##;
        assert_eq!(
            page.matches(marked).count(),
            2,
            "its line and the heading of its row"
        );
        let line = page.split("<tr").find(|line| line.contains(marked));
        assert!(line.is_some_and(|line| line.contains(">put<")), "{line:?}");
        assert!(page.contains("✕ put: waiting") && page.contains("✕ missed put.p95&lt;10ms."));
        assert!(!page.contains("✕ get: waiting"));
    }
}
