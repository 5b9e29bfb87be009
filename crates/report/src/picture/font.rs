//! Letters as paths: two weights of Inter (fonts/LICENSE), cut to the letters of European languages.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// How heavy letters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    SemiBold,
}

/// A piece of an outline, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PathStep {
    Move(f32, f32),
    Line(f32, f32),
    Quad([f32; 4]),
    Cubic([f32; 6]),
    Close,
}

/// What a letter that the font lacks is drawn as.
const MISSING: char = '\u{25a1}';

fn face(weight: Weight) -> Face<'static> {
    let bytes: &'static [u8] = match weight {
        Weight::Regular => include_bytes!("../../fonts/Inter-Regular.otf"),
        Weight::SemiBold => include_bytes!("../../fonts/Inter-SemiBold.otf"),
    };
    Face::parse(bytes, 0).expect("the fonts of this crate are fonts: a test draws with each")
}

/// The outlines of a line of text that begins at a point of its baseline, and how wide it is.
pub(super) fn outlines(
    text: &str,
    weight: Weight,
    size: f32,
    at: (f32, f32),
) -> (Vec<PathStep>, f32) {
    let face = face(weight);
    let scale = size / f32::from(face.units_per_em());
    let mut pen = Pen {
        pieces: Vec::new(),
        x: at.0,
        y: at.1,
        scale,
    };
    for letter in text.chars() {
        let Some(glyph) = glyph(&face, letter) else {
            continue;
        };
        // A space has no outline.
        let _bounds = face.outline_glyph(glyph, &mut pen);
        pen.x += advance(&face, glyph) * scale;
    }
    (pen.pieces, pen.x - at.0)
}

/// How wide a line of text is.
pub(super) fn width(text: &str, weight: Weight, size: f32) -> f32 {
    let face = face(weight);
    let scale = size / f32::from(face.units_per_em());
    let glyphs = text.chars().filter_map(|letter| glyph(&face, letter));
    glyphs.map(|glyph| advance(&face, glyph) * scale).sum()
}

fn glyph(face: &Face<'_>, letter: char) -> Option<GlyphId> {
    face.glyph_index(letter)
        .or_else(|| face.glyph_index(MISSING))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f32 {
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}

struct Pen {
    pieces: Vec<PathStep>,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    /// Letters are drawn upwards, pictures downwards.
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pieces.push(PathStep::Move(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pieces.push(PathStep::Line(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.pieces.push(PathStep::Quad([x1, y1, x, y]));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.pieces.push(PathStep::Cubic([x1, y1, x2, y2, x, y]));
    }

    fn close(&mut self) {
        self.pieces.push(PathStep::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_weights_have_the_letters_that_reports_use() {
        for weight in [Weight::Regular, Weight::SemiBold] {
            let face = face(weight);
            for letter in "0123456789 ±×µ–…%[],.KMGiB/s·≈ÄéЯΩ".chars() {
                assert!(face.glyph_index(letter).is_some(), "{letter}");
            }
        }
    }

    #[test]
    fn a_text_is_as_wide_as_its_letters_and_an_unknown_one_is_a_box() {
        let (pieces, width) = outlines("MiB/s", Weight::SemiBold, 20.0, (10.0, 30.0));
        assert!(
            !pieces.is_empty() && (40.0..80.0).contains(&width),
            "{width}"
        );
        let same = super::width("MiB/s", Weight::SemiBold, 20.0);
        assert!((width - same).abs() < 0.01, "{width} {same}");
        assert!(
            !outlines("漢", Weight::Regular, 20.0, (0.0, 0.0))
                .0
                .is_empty()
        );
    }
}
