//! Sentences below each other, in lines of a width.

use super::canvas::{Anchor, Canvas, Type};
use super::layout::{BOTTOM, INK, LEFT, QUIET, bold, plain};

/// How sentences are set.
#[derive(Clone, Copy)]
pub(super) struct Typesetting {
    look: Type,
    /// From one line to the next, and how much more from a sentence to the next.
    line: f32,
    between: f32,
}

pub(super) const LARGE: Typesetting = Typesetting {
    look: bold(26.0, INK),
    line: 36.0,
    between: 14.0,
};
pub(super) const MEDIUM: Typesetting = Typesetting {
    look: bold(22.0, INK),
    line: 30.0,
    between: 14.0,
};
pub(super) const SMALL: Typesetting = Typesetting {
    look: plain(18.0, QUIET),
    line: 26.0,
    between: 6.0,
};

/// Sentences from a baseline on in lines of a width, until the body ends; returns where the next
/// would stand.
pub(super) fn sentences(
    canvas: &mut Canvas,
    said: impl Iterator<Item = String>,
    (from, most): (f32, f32),
    set: Typesetting,
) -> f32 {
    let mut y = from;
    for text in said {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            if y > BOTTOM {
                return y;
            }
            // What follows the last line that has room is cut off in it.
            let is_last = y + 2.0 * set.line > BOTTOM;
            let (first, after) = match is_last {
                true => (rest, ""),
                false => Canvas::wrapped(rest, most, set.look),
            };
            canvas.text(first, (LEFT, y), Anchor::Start, most, set.look);
            if is_last {
                return BOTTOM + set.line;
            }
            (rest, y) = (after, y + set.line);
        }
        y += set.between;
    }
    y
}
