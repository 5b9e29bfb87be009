//! A plot of the page within the picture: the same SVG, read again as shapes.
//!
//! What a plot draws is decided in one place, `crate::plot`. Its classes get the colours and widths
//! that the style sheet gives them on a light page.

use super::canvas::{Anchor, Canvas, Ink, Stroke, Type};
use super::font::{PathStep, Weight};

const PAPER: Ink = [255, 255, 255];
const INK: Ink = [0x16, 0x19, 0x1f];
const QUIET: Ink = [0x54, 0x5b, 0x66];
const GRID: Ink = [0xe7, 0xe9, 0xee];
const ARMS: [Ink; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xb4, 0x57, 0x8f],
    [0xb5, 0x7d, 0x00],
    [0x3a, 0x93, 0xcf],
    INK,
];
const DASHES: [&[f32]; 7] = [
    &[],
    &[6.0, 3.0],
    &[2.0, 2.5],
    &[9.0, 3.0, 2.0, 3.0],
    &[14.0, 4.0],
    &[5.0, 2.0, 1.0, 2.0, 1.0, 2.0],
    &[1.0, 3.0],
];
/// How much of its ink a faint line has, in hundredths.
const FAINT: u16 = 55;

/// A plot that waits for its place.
pub(super) struct Inlay<'p> {
    svg: &'p str,
    pub(super) width: f32,
    pub(super) height: f32,
}

impl<'p> Inlay<'p> {
    /// `None` where a text has no view box, and so is no plot.
    pub(super) fn of(svg: &'p str) -> Option<Self> {
        let tag = svg.split('>').next()?;
        let mut sides = attribute(tag, "viewBox")?.split(' ').skip(2);
        let mut side = || sides.next()?.parse::<f32>().ok();
        let (width, height) = (side()?, side()?);
        Some(Self { svg, width, height })
    }

    /// Draws it with its upper left corner there.
    pub(super) fn draw(&self, canvas: &mut Canvas, corner: (f32, f32), scale: f32) {
        let mut open = vec![Style {
            corner,
            scale,
            shift: (0.0, 0.0),
            anchor: Anchor::Start,
            arm: 0,
            dashes: 0,
            is_faint: false,
            place: Within::Plot,
        }];
        for part in self.svg.split('<').skip(1) {
            let Some((tag, text)) = part.split_once('>') else {
                continue;
            };
            if tag.starts_with('/') {
                open.pop();
                continue;
            }
            let Some(style) = open.last().map(|around| around.within(tag)) else {
                return;
            };
            match tag.split(' ').next() {
                Some("path") => style.path(canvas, tag),
                Some("text") => style.text(canvas, tag, text),
                _ => {}
            }
            if !tag.ends_with('/') {
                open.push(style);
            }
        }
    }
}

/// The group that something stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Plot,
    Grid,
    Ticks,
    Arm,
}

/// What an element has from those around it.
#[derive(Clone, Copy, Debug)]
struct Style {
    corner: (f32, f32),
    scale: f32,
    shift: (f32, f32),
    anchor: Anchor,
    arm: usize,
    dashes: usize,
    is_faint: bool,
    place: Within,
}

impl Style {
    fn within(self, tag: &str) -> Self {
        let mut out = self;
        for class in classes(tag) {
            match class {
                "grid" => out.place = Within::Grid,
                "ticks" => out.place = Within::Ticks,
                "arm" => out.place = Within::Arm,
                "faint" => out.is_faint = true,
                _ => {
                    let number = |letter: char| class.strip_prefix(letter)?.parse::<usize>().ok();
                    out.arm = number('c').map_or(out.arm, |arm| arm % ARMS.len());
                    out.dashes = number('d').map_or(out.dashes, |at| at % DASHES.len());
                }
            }
        }
        match attribute(tag, "text-anchor") {
            Some("end") => out.anchor = Anchor::End,
            Some("middle") => out.anchor = Anchor::Middle,
            _ => {}
        }
        let shift = attribute(tag, "transform").and_then(|text| text.strip_prefix("translate("));
        if let Some(shift) = shift {
            let mut by = Numbers(shift);
            out.shift.0 += by.next().unwrap_or(0.0);
            out.shift.1 += by.next().unwrap_or(0.0);
        }
        out
    }

    fn at(self, (x, y): (f32, f32)) -> (f32, f32) {
        let (x, y) = (x + self.shift.0, y + self.shift.1);
        (
            self.corner.0 + x * self.scale,
            self.corner.1 + y * self.scale,
        )
    }

    /// An ink as it looks on the paper.
    fn ink(self, ink: Ink) -> Ink {
        let share = if self.is_faint { FAINT } else { 100 };
        let mixed = |part: u8| (u16::from(part) * share + 255 * (100 - share)) / 100;
        ink.map(|part| u8::try_from(mixed(part)).unwrap_or(u8::MAX))
    }

    fn path(self, canvas: &mut Canvas, tag: &str) {
        let outline = || outline(attribute(tag, "d").unwrap_or_default(), self);
        let has = |class: &str| classes(tag).any(|of| of == class);
        let own = ARMS[self.arm];
        let mut stroke = |ink: Ink, width: f32, dashes: &[f32]| {
            let stroke = Stroke {
                width: width * self.scale,
                dashes: dashes.iter().map(|length| length * self.scale).collect(),
            };
            canvas.stroke(outline(), self.ink(ink), stroke);
        };
        if self.place == Within::Grid {
            stroke(GRID, 1.0, &[]);
        } else if has("axis") {
            stroke(QUIET, 1.0, &[]);
        } else if has("line") {
            stroke(own, 1.7, DASHES[self.dashes]);
        } else if has("whisker") {
            stroke(own, 2.0, &[]);
        } else if has("regime") {
            stroke(own, 1.5, &[3.0, 3.0]);
        } else if has("dot") {
            stroke(own, 1.4, &[]);
            let inside = if has("hollow") { PAPER } else { own };
            canvas.fill(outline(), self.ink(inside));
        }
    }

    fn text(self, canvas: &mut Canvas, tag: &str, text: &str) {
        let has = |class: &str| classes(tag).any(|of| of == class);
        let number = |name: &str| attribute(tag, name).and_then(|of| of.parse().ok());
        let at = self.at((number("x").unwrap_or(0.0), number("y").unwrap_or(0.0)));
        let is_quiet = self.place == Within::Ticks || has("title");
        let (size, ink) = match (has("note"), is_quiet) {
            (true, _) if has("tint") => (11.0, ARMS[self.arm]),
            (true, _) => (11.0, INK),
            (false, true) => (11.5, QUIET),
            (false, false) if has("value") => (12.0, QUIET),
            (false, false) => (12.0, INK),
        };
        let look = Type {
            size: size * self.scale,
            weight: Weight::Regular,
            ink: self.ink(ink),
        };
        let text = plain(text);
        if has("note") || self.place == Within::Arm {
            canvas.halo(&text, at, self.anchor, look, 3.0 * self.scale);
        }
        canvas.text(&text, at, self.anchor, f32::MAX, look);
    }
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn classes(tag: &str) -> impl Iterator<Item = &str> {
    attribute(tag, "class").unwrap_or_default().split(' ')
}

/// What `crate::plot::escape` was given.
fn plain(text: &str) -> String {
    let marks = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
    ];
    let mut out = text.to_owned();
    for (mark, letter) in marks {
        out = out.replace(mark, letter);
    }
    out.replace("&amp;", "&")
}

/// The numbers that a text begins with.
struct Numbers<'t>(&'t str);

impl Iterator for Numbers<'_> {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        let text = self.0.trim_start_matches([' ', ',']);
        let is_part =
            |(at, c): &(usize, char)| c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-');
        let end = text.char_indices().take_while(is_part).count();
        let number = text[..end].parse().ok()?;
        self.0 = &text[end..];
        Some(number)
    }
}

/// The steps of a path, each at its place in the picture.
fn outline(path: &str, style: Style) -> Vec<PathStep> {
    let mut out = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = path;
    while let Some(letter) = rest.chars().next() {
        let mut numbers = Numbers(&rest[letter.len_utf8()..]);
        let mut next = || numbers.next().unwrap_or(0.0);
        let from = (x, y);
        match letter {
            'M' | 'L' => (x, y) = (next(), next()),
            'm' | 'l' => (x, y) = (x + next(), y + next()),
            'H' => x = next(),
            'V' => y = next(),
            'v' => y += next(),
            'a' => {
                let [_, _, _, _, _, by_x, by_y] = std::array::from_fn(|_| next());
                (x, y) = (x + by_x, y + by_y);
            }
            _ => {}
        }
        let (to_x, to_y) = style.at((x, y));
        match letter {
            'M' | 'm' => out.push(PathStep::Move(to_x, to_y)),
            'a' => out.extend(half_circle(style.at(from), (to_x, to_y))),
            'z' => out.push(PathStep::Close),
            _ => out.push(PathStep::Line(to_x, to_y)),
        }
        rest = numbers.0.trim_start();
    }
    out
}

/// Markers have no other arcs.
fn half_circle(from: (f32, f32), to: (f32, f32)) -> [PathStep; 2] {
    // How far the handles of a quarter of a circle reach.
    const HANDLE: f32 = 0.552_28;
    let half = ((to.0 - from.0) / 2.0, (to.1 - from.1) / 2.0);
    let out = (half.1, -half.0);
    let middle = (from.0 + half.0, from.1 + half.1);
    let top = (middle.0 + out.0, middle.1 + out.1);
    let near = |at: (f32, f32), way: (f32, f32), sign: f32| {
        (at.0 + sign * HANDLE * way.0, at.1 + sign * HANDLE * way.1)
    };
    let (a, b) = (near(from, out, 1.0), near(top, half, -1.0));
    let (c, d) = (near(top, half, 1.0), near(to, out, 1.0));
    [
        PathStep::Cubic([a.0, a.1, b.0, b.1, top.0, top.1]),
        PathStep::Cubic([c.0, c.1, d.0, d.1, to.0, to.1]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_have_the_colours_of_the_light_page() {
        let css = include_str!("../html/page.css");
        for (arm, [r, g, b]) in ARMS.iter().enumerate() {
            let said = format!("--k{arm}: light-dark(#{r:02x}{g:02x}{b:02x},");
            assert!(css.contains(&said), "{said}");
        }
        for (arm, dashes) in DASHES.iter().enumerate().skip(1) {
            let lengths: Vec<String> = dashes.iter().map(f32::to_string).collect();
            let said = format!(".d{arm} {{ --d: {}; }}", lengths.join(" "));
            assert!(css.contains(&said), "{said}");
        }
    }

    #[test]
    fn paths_of_plots_are_read_as_they_are_written() {
        let style = Style {
            corner: (100.0, 0.0),
            scale: 2.0,
            shift: (0.0, 0.0),
            anchor: Anchor::Start,
            arm: 0,
            dashes: 0,
            is_faint: false,
            place: Within::Plot,
        };
        let steps = outline("M1 2V-3.5l8 8m0-8H4v4z", style);
        assert_eq!(
            steps,
            [
                PathStep::Move(102.0, 4.0),
                PathStep::Line(102.0, -7.0),
                PathStep::Line(118.0, 9.0),
                PathStep::Move(118.0, -7.0),
                PathStep::Line(108.0, -7.0),
                PathStep::Line(108.0, 1.0),
                PathStep::Close,
            ]
        );
    }

    #[test]
    fn a_text_is_what_it_was_before_it_was_escaped() {
        let text = "a\"b'c<&lt;>";
        assert_eq!(plain(&crate::plot::escape(text)), text);
    }
}
