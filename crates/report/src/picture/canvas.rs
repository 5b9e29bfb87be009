//! Shapes in a rectangle of fixed size, written as SVG or drawn as PNG.

use super::font::{PathStep, Weight, outlines, width};
use crate::plot::escape;
use std::fmt::Write as _;
use tiny_skia::{Color, FillRule, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform};

pub(super) const WIDTH: u32 = 1200;
pub(super) const HEIGHT: u32 = 630;

/// What a picture bears that was made here.
const MARK: &str = "fathom-card";

/// Red, green and blue.
pub(super) type Ink = [u8; 3];

/// Which point of a text its place names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub(super) size: f32,
    pub(super) weight: Weight,
    pub(super) ink: Ink,
}

/// How a line looks.
#[derive(Clone, Debug)]
pub(super) struct Stroke {
    pub(super) width: f32,
    /// Lengths of dashes and of what is between them; none of a whole line.
    pub(super) dashes: Vec<f32>,
}

/// An outline that is filled, or drawn with a pen.
struct Shape {
    pieces: Vec<PathStep>,
    ink: Ink,
    stroke: Option<Stroke>,
}

/// Shapes upon each other, and what they say in words.
pub(super) struct Canvas {
    paper: Ink,
    words: String,
    shapes: Vec<Shape>,
}

impl Canvas {
    pub(super) fn new(paper: Ink, words: &str) -> Self {
        Self {
            paper,
            words: words.to_owned(),
            shapes: Vec::new(),
        }
    }

    pub(super) fn rectangle(&mut self, [x, y, w, h]: [f32; 4], ink: Ink) {
        let pieces = vec![
            PathStep::Move(x, y),
            PathStep::Line(x + w, y),
            PathStep::Line(x + w, y + h),
            PathStep::Line(x, y + h),
            PathStep::Close,
        ];
        self.fill(pieces, ink);
    }

    pub(super) fn fill(&mut self, pieces: Vec<PathStep>, ink: Ink) {
        self.shapes.push(Shape {
            pieces,
            ink,
            stroke: None,
        });
    }

    pub(super) fn stroke(&mut self, pieces: Vec<PathStep>, ink: Ink, stroke: Stroke) {
        self.shapes.push(Shape {
            pieces,
            ink,
            stroke: Some(stroke),
        });
    }

    /// Paper around the letters of a line of text that stands on lines.
    pub(super) fn halo(
        &mut self,
        text: &str,
        at: (f32, f32),
        anchor: Anchor,
        look: Type,
        width: f32,
    ) {
        let (pieces, _) = letters(&units::on_one_line(text), at, anchor, look);
        let dashes = Vec::new();
        self.stroke(pieces, self.paper, Stroke { width, dashes });
    }

    /// A line of text, shortened to the room that it has; returns how wide it is.
    pub(super) fn text(
        &mut self,
        text: &str,
        at: (f32, f32),
        anchor: Anchor,
        most: f32,
        look: Type,
    ) -> f32 {
        let text = shortened(&units::on_one_line(text), most, look);
        let (pieces, wide) = letters(&text, at, anchor, look);
        self.fill(pieces, look.ink);
        wide
    }

    /// The text divided between words, so that its first part has room in a line.
    pub(super) fn wrapped(text: &str, most: f32, look: Type) -> (&str, &str) {
        let fits = |text: &str| width(text, look.weight, look.size) <= most;
        if fits(text) {
            return (text, "");
        }
        let mut spaces = text.rmatch_indices(' ');
        let end = spaces.find(|(at, _)| fits(&text[..*at]));
        let (first, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
        (first, rest.trim_start())
    }

    /// The picture as a file that any browser shows.
    pub(super) fn svg(&self) -> String {
        let mut out = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><!-- {MARK} --><title>{}</title><path fill="{}" d="M0 0H{WIDTH}V{HEIGHT}H0z"/>"#,
            escape(&self.words),
            hex(self.paper)
        );
        for shape in self.shapes.iter().filter(|shape| !shape.pieces.is_empty()) {
            let (ink, path) = (hex(shape.ink), path(&shape.pieces));
            let look = match &shape.stroke {
                None => format!(r#"fill="{ink}""#),
                Some(stroke) => pen(&ink, stroke),
            };
            let _infallible = write!(out, r#"<path {look} d="{path}"/>"#);
        }
        out.push_str("</svg>\n");
        out
    }

    /// The picture in pixels.
    pub(super) fn png(&self) -> Vec<u8> {
        let mut pixels = Pixmap::new(WIDTH, HEIGHT).expect("the size is fixed and is no zero");
        let [r, g, b] = self.paper;
        pixels.fill(Color::from_rgba8(r, g, b, 255));
        for shape in &self.shapes {
            let mut paint = Paint::default();
            let [r, g, b] = shape.ink;
            paint.set_color_rgba8(r, g, b, 255);
            let as_it_is = Transform::identity();
            match (drawn(&shape.pieces), &shape.stroke) {
                (Some(path), None) => {
                    pixels.fill_path(&path, &paint, FillRule::Winding, as_it_is, None);
                }
                (Some(path), Some(stroke)) => {
                    let stroke = tiny_skia::Stroke {
                        width: stroke.width,
                        line_join: LineJoin::Round,
                        dash: StrokeDash::new(stroke.dashes.clone(), 0.0),
                        ..tiny_skia::Stroke::default()
                    };
                    pixels.stroke_path(&path, &paint, &stroke, as_it_is, None);
                }
                (None, _) => {}
            }
        }
        written(&pixels).expect("pixels in memory can be written to memory")
    }
}

/// Pixels without transparency, with the mark by which they are known again.
fn written(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.add_text_chunk("Software".to_owned(), MARK.to_owned())?;
    let rgb = |pixel: &[u8]| [pixel[0], pixel[1], pixel[2]];
    let bytes: Vec<u8> = pixels.data().chunks_exact(4).flat_map(rgb).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&bytes)?;
    writer.finish()?;
    Ok(out)
}

/// Whether a file that begins so is a picture that [`Canvas`] made.
pub(super) fn is_own(head: &[u8]) -> bool {
    let is_picture = head.starts_with(b"\x89PNG") || head.starts_with(b"<svg ");
    let mark = MARK.as_bytes();
    is_picture
        && head
            .windows(mark.len())
            .take(400)
            .any(|found| found == mark)
}

/// The text, with an ellipsis where it has no more room.
fn shortened(text: &str, most: f32, look: Type) -> String {
    let fits = |text: &str| width(text, look.weight, look.size) <= most;
    if fits(text) {
        return text.to_owned();
    }
    let mut letters: Vec<char> = text.chars().collect();
    while letters.pop().is_some() {
        let head: String = letters.iter().collect();
        let cut = format!("{}…", head.trim_end());
        if fits(&cut) {
            return cut;
        }
    }
    String::new()
}

/// The outlines of a line of text, and how wide it is.
fn letters(text: &str, (x, y): (f32, f32), anchor: Anchor, look: Type) -> (Vec<PathStep>, f32) {
    let wide = width(text, look.weight, look.size);
    let x = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - wide / 2.0,
        Anchor::End => x - wide,
    };
    (outlines(text, look.weight, look.size, (x, y)).0, wide)
}

/// The attributes of a line.
fn pen(ink: &str, stroke: &Stroke) -> String {
    let lengths: Vec<String> = stroke.dashes.iter().map(|of| format!("{of:.1}")).collect();
    let dashes = match lengths.is_empty() {
        true => String::new(),
        false => format!(r#" stroke-dasharray="{}""#, lengths.join(" ")),
    };
    format!(
        r#"fill="none" stroke="{ink}" stroke-width="{:.1}" stroke-linejoin="round"{dashes}"#,
        stroke.width
    )
}

fn hex([r, g, b]: Ink) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn path(pieces: &[PathStep]) -> String {
    let mut out = String::new();
    let mut put = |letter: char, numbers: &[f32]| {
        out.push(letter);
        for (index, number) in numbers.iter().enumerate() {
            let tenths = (f64::from(*number) * 10.0).round() / 10.0;
            let space = if index > 0 && tenths >= 0.0 { " " } else { "" };
            let _infallible = write!(out, "{space}{tenths}");
        }
    };
    for piece in pieces {
        match piece {
            PathStep::Move(x, y) => put('M', &[*x, *y]),
            PathStep::Line(x, y) => put('L', &[*x, *y]),
            PathStep::Quad(at) => put('Q', at),
            PathStep::Cubic(at) => put('C', at),
            PathStep::Close => put('z', &[]),
        }
    }
    out
}

fn drawn(pieces: &[PathStep]) -> Option<tiny_skia::Path> {
    let mut out = PathBuilder::new();
    for piece in pieces {
        match *piece {
            PathStep::Move(x, y) => out.move_to(x, y),
            PathStep::Line(x, y) => out.line_to(x, y),
            PathStep::Quad([x1, y1, x, y]) => out.quad_to(x1, y1, x, y),
            PathStep::Cubic([x1, y1, x2, y2, x, y]) => out.cubic_to(x1, y1, x2, y2, x, y),
            PathStep::Close => out.close(),
        }
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_room_ends_in_an_ellipsis_inside_it() {
        let look = Type {
            size: 20.0,
            weight: Weight::Regular,
            ink: [0; 3],
        };
        let cut = shortened("a name that is far too long", 90.0, look);
        assert!(cut.ends_with('…') && cut.len() > 4, "{cut}");
        assert!(width(&cut, look.weight, look.size) <= 90.0);
        assert_eq!(shortened("short", 90.0, look), "short");
    }
}
