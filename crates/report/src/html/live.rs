//! The page of what is under way: the page of a report in parts that are exchanged one by one.
//!
//! Style and scripts come as files of their own, so that the policy of the page permits nothing
//! that stands in it: whatever a name in a record does, it runs nothing.

use super::{FIRST, SCRIPT, STYLE, section, tools};
use crate::document::{Breadth, Document, document};
use crate::live::LiveState;
use analyze::Study;
use maud::{Markup, html};

/// What a browser may do with the page.
pub const LIVE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const LIVE_SCRIPT: &str = include_str!("live.js");

/// The page as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LivePage {
    pub title: String,
    /// In their order.
    pub parts: Vec<LivePart>,
}

/// One element of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePart {
    pub id: String,
    pub html: String,
}

impl LivePart {
    fn new(id: &str, markup: Markup) -> Self {
        Self {
            id: id.to_owned(),
            // Texts of records may hold characters that change the look of other text.
            html: units::visible(&markup.into_string()),
        }
    }
}

/// The part that is said at every edge, under a title; without results yet it is all.
#[must_use]
pub fn live_now(title: &str, now: &LiveState) -> Vec<LivePart> {
    let study = analyze::study(&[], &analyze::StudyOptions::default());
    let of = document(&study, Breadth::Screen);
    let head = html! { header id="head" { h1 { (title) } } };
    vec![
        LivePart::new("head", head),
        LivePart::new("now", section(&of, &now.section())),
    ]
}

/// What a study of the records so far adds to that.
#[must_use]
pub fn live_study(study: &Study) -> Vec<LivePart> {
    let of = document(study, Breadth::Browser);
    let (first, others) = of.sections.split_at(FIRST);
    let lead = html! { p id="lead" class="quiet" { (of.lead) } };
    let answer =
        html! { div id="first" class="first" { @for part in first { (section(&of, part)) } } };
    let mut out = vec![
        LivePart::new("lead", lead),
        LivePart::new("first", answer),
        LivePart::new("contents", contents(&of)),
        LivePart::new("tools", tools(study)),
    ];
    out.extend(
        others
            .iter()
            .map(|part| LivePart::new(&part.id, section(&of, part))),
    );
    out
}

fn contents(of: &Document<'_>) -> Markup {
    html! {
        nav id="contents" aria-label="Contents" { ul {
            @for part in &of.sections[FIRST..] { li { a href={ "#" (part.id) } { (part.title) } } }
        } }
    }
}

impl LivePage {
    /// The whole page as a browser gets it first.
    #[must_use]
    pub fn html(&self) -> String {
        let page = html! {
            (maud::PreEscaped("<!doctype html>\n"))
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href="/page.css";
                    title { (self.title) }
                }
                body {
                    p id="state" role="status" { "Without its script this page stands still: reload it for what is known by then." }
                    main id="parts" { (maud::PreEscaped(self.inside())) }
                    footer { "Served by Fathom while it measures. " a href="/metrics" { "Metrics" } }
                    div id="tip" role="status" hidden {}
                    script src="/page.js" {}
                    script src="/live.js" {}
                }
            }
            "\n"
        };
        page.into_string()
    }

    /// All parts.
    #[must_use]
    pub fn inside(&self) -> String {
        self.parts.iter().map(|part| part.html.as_str()).collect()
    }
}

/// A file that the page asks for: its type and what it holds.
#[must_use]
pub fn live_file(path: &str) -> Option<(&'static str, &'static str)> {
    match path {
        "/page.css" => Some(("text/css; charset=utf-8", STYLE)),
        "/page.js" => Some(("text/javascript; charset=utf-8", SCRIPT)),
        "/live.js" => Some(("text/javascript; charset=utf-8", LIVE_SCRIPT)),
        _ => None,
    }
}
