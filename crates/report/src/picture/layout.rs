//! Where things stand in the picture.

use super::canvas::{Anchor, Canvas, HEIGHT, Ink, Type, WIDTH};
use super::font::Weight;
use super::inlay::Inlay;
use super::sentences::{LARGE, MEDIUM, SMALL, sentences};
use crate::comparison::percent;
use crate::document::{
    Block, Breadth, Card, CardCell, Document, Plot, document, forest_lines, said_text,
};
use crate::plot::{IntervalLine, key};
use analyze::{Severity, Study};
use units::lossless::u64_to_f64;

const PAPER: Ink = [255, 255, 255];
pub(super) const INK: Ink = [22, 25, 31];
pub(super) const QUIET: Ink = [84, 91, 102];
const RULE: Ink = [213, 217, 224];
const TRACK: Ink = [231, 233, 238];
const BAR: Ink = [64, 149, 197];
const BAND: Ink = [226, 230, 236];
const BAD: Ink = [163, 32, 13];
const WARN: Ink = [122, 75, 0];
const GOOD: Ink = [10, 107, 61];

pub(super) const LEFT: f32 = 60.0;
const RIGHT: f32 = 1140.0;
/// Where the body begins and ends.
const TOP: f32 = 176.0;
pub(super) const BOTTOM: f32 = 536.0;
/// Lines that a body has room for.
const MOST: usize = 7;

/// A length of the picture.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no length of a picture needs more than seven digits"
)]
fn pixels(length: f64) -> f32 {
    length as f32
}

pub(super) const fn plain(size: f32, ink: Ink) -> Type {
    Type {
        size,
        weight: Weight::Regular,
        ink,
    }
}

pub(super) const fn bold(size: f32, ink: Ink) -> Type {
    Type {
        size,
        weight: Weight::SemiBold,
        ink,
    }
}

/// The answer of a study as shapes.
pub(super) fn layout(study: &Study) -> Canvas {
    let document = document(study, Breadth::Browser);
    let opening = opening(&document);
    let lines = forest_lines(study);
    let mut canvas = Canvas::new(PAPER, &words(&document, &opening));
    head(&mut canvas, &document);
    match opening {
        FirstPicture::Card(card) => grid(&mut canvas, card),
        _ if !lines.is_empty() => forest(&mut canvas, study, &lines),
        FirstPicture::Plot(plot, inlay) => with_plot(&mut canvas, &document, plot, &inlay),
        FirstPicture::Words(why) => {
            let said = said(&document);
            let mut y = sentences(&mut canvas, said, (TOP + 40.0, RIGHT - LEFT), LARGE);
            if let Some(why) = why {
                y += 6.0;
                sentences(&mut canvas, [why].into_iter(), (y, RIGHT - LEFT), SMALL);
            }
        }
    }
    foot(&mut canvas, &document);
    canvas
}

/// What the first screen of the page shows.
enum FirstPicture<'d> {
    Card(&'d Card),
    Plot(&'d Plot, Inlay<'d>),
    /// And why nothing is drawn.
    Words(Option<String>),
}

fn opening<'d>(document: &'d Document<'_>) -> FirstPicture<'d> {
    let answer = document.sections.iter().take(1);
    let mut why = None;
    for block in answer.flat_map(|section| &section.blocks).skip(1) {
        match block {
            Block::Card(card) => return FirstPicture::Card(card),
            Block::Plot(plot) => {
                if let Some(inlay) = Inlay::of(&plot.svg) {
                    return FirstPicture::Plot(plot, inlay);
                }
            }
            Block::Text(text) => why = Some(text.clone()),
            Block::Explanation(_)
            | Block::Items(_)
            | Block::Verdicts(_)
            | Block::Belief
            | Block::Table(_)
            | Block::Keys
            | Block::Scale
            | Block::Circumstances(_)
            | Block::Options(..)
            | Block::Findings => {}
        }
    }
    FirstPicture::Words(why)
}

/// What the picture says, for those who cannot see it.
fn words(document: &Document<'_>, opening: &FirstPicture<'_>) -> String {
    let (title, lead) = headline(document);
    let mut out = vec![title, lead];
    match opening {
        FirstPicture::Card(card) => {
            for line in &card.lines {
                for (side, cell) in ["read", "write"].iter().zip(&line.cells) {
                    let cell = cell
                        .as_ref()
                        .map(|cell| format!("{} {}", cell.number, cell.unit));
                    out.extend(cell.map(|text| format!("{} {side} {text}", line.name)));
                }
            }
        }
        FirstPicture::Plot(plot, _) => {
            out.extend(said(document));
            out.push(plot.caption.clone());
            out.extend(plot.legend.iter().map(|(_, name)| name.clone()));
        }
        FirstPicture::Words(why) => out.extend(said(document).chain(why.clone())),
    }
    out.push(document.answer.belief.text.clone());
    out.join("; ")
}

fn said(document: &Document<'_>) -> impl Iterator<Item = String> {
    let said = document.answer.said.iter();
    said.map(|said| said_text(document.study, said))
}

/// What is shown and where it is from: of a comparison what was asked and against what, so that a change
/// that is posted somewhere is one of something.
fn headline(document: &Document<'_>) -> (String, String) {
    let study = document.study;
    let Some(baseline) = study.baseline else {
        return (document.title.clone(), document.lead.clone());
    };
    let metric = study.metric.name();
    let (against, lead) = (&study.arms[baseline].name, &document.lead);
    if study.question.is_empty() {
        let title = format!("Change of {metric}");
        return (title, format!("Against {against}. {lead}"));
    }
    let lead = format!("Change of {metric} against {against}. {lead}");
    (study.question.clone(), lead)
}

fn head(canvas: &mut Canvas, document: &Document<'_>) {
    let most = RIGHT - LEFT - 170.0;
    let start = Anchor::Start;
    let (title, lead) = headline(document);
    canvas.text(&title, (LEFT, 78.0), start, most, bold(36.0, INK));
    canvas.text(
        &lead,
        (LEFT, 114.0),
        start,
        RIGHT - LEFT,
        plain(21.0, QUIET),
    );
    canvas.text("fathom", (RIGHT, 78.0), Anchor::End, 160.0, bold(30.0, BAR));
    canvas.rectangle([LEFT, 136.0, RIGHT - LEFT, 2.0], RULE);
}

fn foot(canvas: &mut Canvas, document: &Document<'_>) {
    let belief = &document.answer.belief;
    let ink = match belief.severity {
        Some(Severity::Invalid) => BAD,
        Some(Severity::Warning) => WARN,
        Some(Severity::Note) | None => GOOD,
    };
    let bottom = pixels(f64::from(HEIGHT));
    canvas.rectangle([0.0, bottom - 74.0, pixels(f64::from(WIDTH)), 74.0], TRACK);
    canvas.rectangle([0.0, bottom - 74.0, 10.0, 74.0], ink);
    // Nothing stands below a picture.
    let text = format!("Can it be believed? {}", belief.told_apart(""));
    let look = bold(20.0, ink);
    let (first, rest) = Canvas::wrapped(&text, RIGHT - LEFT, look);
    let y = bottom - if rest.is_empty() { 30.0 } else { 43.0 };
    canvas.text(first, (LEFT, y), Anchor::Start, RIGHT - LEFT, look);
    canvas.text(rest, (LEFT, y + 27.0), Anchor::Start, RIGHT - LEFT, look);
}

/// The numbers of a profile.
fn grid(canvas: &mut Canvas, card: &Card) {
    const COLUMNS: [f32; 2] = [390.0, 790.0];
    const WIDE: f32 = 350.0;
    let scope = if card.is_direct {
        "Direct I/O"
    } else {
        "Through the page cache"
    };
    let heads = [(LEFT, scope), (COLUMNS[0], "Read"), (COLUMNS[1], "Write")];
    for (x, head) in heads {
        canvas.text(
            head,
            (x, TOP - 4.0),
            Anchor::Start,
            WIDE,
            plain(20.0, QUIET),
        );
    }
    let step = (BOTTOM - TOP - 8.0) / pixels(u64_to_f64(card.lines.len().max(3) as u64));
    let mut top = TOP + 8.0;
    for line in &card.lines {
        let y = top + 40.0;
        canvas.text(&line.name, (LEFT, y), Anchor::Start, 310.0, bold(28.0, INK));
        canvas.text(
            &line.what,
            (LEFT, y + 26.0),
            Anchor::Start,
            310.0,
            plain(17.0, QUIET),
        );
        for (x, cell) in COLUMNS.into_iter().zip(&line.cells) {
            match cell {
                Some(cell) => number(canvas, cell, (x, y), WIDE),
                None => {
                    canvas.text(
                        "not measured",
                        (x, y),
                        Anchor::Start,
                        WIDE,
                        plain(20.0, QUIET),
                    );
                }
            }
        }
        top += step;
    }
}

fn number(canvas: &mut Canvas, cell: &CardCell, (x, y): (f32, f32), wide: f32) {
    let start = Anchor::Start;
    let mut end = x + canvas.text(&cell.number, (x, y), start, wide, bold(42.0, INK)) + 10.0;
    end += canvas.text(&cell.unit, (end, y), start, wide, plain(22.0, INK)) + 12.0;
    if let Some(severity) = cell.mark {
        let (sign, ink) = match severity {
            Severity::Invalid => ("×", BAD),
            Severity::Warning | Severity::Note => ("▲", WARN),
        };
        canvas.text(sign, (end, y), start, wide, bold(22.0, ink));
    }
    let below = [&cell.around, &cell.also];
    let below: Vec<&str> = below.into_iter().flatten().map(String::as_str).collect();
    let below = below.join(" · ");
    canvas.text(&below, (x, y + 42.0), start, wide, plain(17.0, QUIET));
    let (top, at) = (y + 12.0, |share: f64| wide * pixels(share.clamp(0.0, 1.0)));
    canvas.rectangle([x, top, wide, 12.0], TRACK);
    canvas.rectangle([x, top, at(cell.length), 12.0], BAR);
    if let Some((low, high)) = cell.whisker {
        let (low, high) = (x + at(low), x + at(high));
        canvas.rectangle([low, top + 5.0, (high - low).max(1.5), 2.0], INK);
        canvas.rectangle([low - 1.0, top + 1.0, 2.0, 10.0], INK);
        canvas.rectangle([high - 1.0, top + 1.0, 2.0, 10.0], INK);
    }
}

/// The changes of a comparison, below what is said of them.
fn forest(canvas: &mut Canvas, study: &Study, lines: &[IntervalLine]) {
    let document = document(study, Breadth::Screen);
    let answer = said(&document).next().unwrap_or_default();
    let look = bold(23.0, INK);
    let (first, rest) = Canvas::wrapped(&answer, RIGHT - LEFT, look);
    for (text, y) in [(first, TOP - 2.0), (rest, TOP + 27.0)] {
        canvas.text(text, (LEFT, y), Anchor::Start, RIGHT - LEFT, look);
    }
    let (from, to) = (LEFT + 420.0, RIGHT);
    let shown = &lines[..lines.len().min(MOST)];
    let ends = |line: &IntervalLine| line.interval.unwrap_or((line.point, line.point));
    // Twice as much is as far from no change as half as much.
    let ratio = |change: f64| change.max(-0.999).ln_1p();
    let reach = shown.iter().flat_map(|line| {
        let (low, high) = ends(line);
        [low, high, line.point].map(|change| ratio(change).abs())
    });
    let reach = reach.fold(ratio(study.margin), f64::max) * 1.1;
    let at = |change: f64| {
        let share = (ratio(change) / reach + 1.0) / 2.0;
        from + (to - from) * pixels(share.clamp(0.0, 1.0))
    };
    let top = TOP + 52.0;
    let count = pixels(u64_to_f64(shown.len() as u64));
    let step = ((BOTTOM - 24.0 - top) / count).min(76.0);
    let tall = step * count;
    let band = (at(1.0 / (1.0 + study.margin) - 1.0), at(study.margin));
    canvas.rectangle([band.0, top, band.1 - band.0, tall], BAND);
    canvas.rectangle([at(0.0) - 1.0, top, 2.0, tall], INK);
    for (index, line) in shown.iter().enumerate() {
        let y = top + step * (pixels(u64_to_f64(index as u64)) + 0.5) - 3.0;
        canvas.text(&line.name, (LEFT, y), Anchor::Start, 400.0, bold(20.0, INK));
        canvas.text(
            &line.text,
            (LEFT, y + 19.0),
            Anchor::Start,
            400.0,
            plain(16.0, QUIET),
        );
        let (low, high) = ends(line);
        canvas.rectangle([at(low), y + 1.5, (at(high) - at(low)).max(1.5), 3.0], BAR);
        canvas.rectangle([at(line.point) - 6.0, y - 3.0, 12.0, 12.0], BAR);
    }
    let (edge, y) = (percent(study.margin), top + tall + 20.0);
    let margin = format!("Shaded: differences below {edge} do not matter");
    canvas.text(&margin, (RIGHT, y), Anchor::End, 600.0, plain(16.0, QUIET));
}

/// The plot of the page: below what is said where it is flat, else on the right of it.
fn with_plot(canvas: &mut Canvas, document: &Document<'_>, plot: &Plot, inlay: &Inlay<'_>) {
    const FROM: f32 = 480.0;
    const SIDE: f32 = FROM - LEFT - 40.0;
    /// What stands in a plot is no larger than what is said of it.
    const LARGEST: f32 = 2.0;
    let scale = |(x, top): (f32, f32)| {
        let (wide, tall) = (RIGHT - x, BOTTOM + 8.0 - top);
        (wide / inlay.width).min(tall / inlay.height).min(LARGEST)
    };
    let all = || said(document).chain(plot.notes.iter().map(|(_, note)| note.clone()));
    let mut aside = Canvas::new(PAPER, "");
    let end = sentences(&mut aside, all(), (TOP, RIGHT - LEFT), MEDIUM);
    let (below, right) = ((LEFT, end + 12.0), (FROM, TOP + 10.0));
    let is_below = plot.legend.is_empty() && scale(below) > scale(right);
    let (wide, corner) = match is_below {
        true => (RIGHT - LEFT, below),
        false => (SIDE, right),
    };
    let mut y = sentences(canvas, all(), (TOP, wide), MEDIUM);
    for (sign, name) in &plot.legend {
        if y > BOTTOM {
            break;
        }
        let svg = key(*sign);
        if let Some(key) = Inlay::of(&svg) {
            key.draw(canvas, (LEFT, y - 15.0), 1.5);
        }
        let look = plain(18.0, INK);
        canvas.text(name, (LEFT + 58.0, y), Anchor::Start, wide - 58.0, look);
        y += 26.0;
    }
    let caption = (corner.0, corner.1 - 10.0);
    let (room, look) = (RIGHT - corner.0, plain(18.0, QUIET));
    canvas.text(&plot.caption, caption, Anchor::Start, room, look);
    inlay.draw(canvas, corner, scale(corner));
}
