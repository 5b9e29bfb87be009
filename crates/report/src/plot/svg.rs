//! The text of SVG: escaping, coordinates, markers.

use std::fmt::{self, Display, Write as _};
use units::on_one_line;

const COLOURS: usize = 7;
const MARKERS: usize = 8;
const DASHES: usize = 7;

/// Text on one line for element content and quoted attributes of HTML and SVG.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in on_one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Escaped text of at most `most` characters; what is cut ends in an ellipsis.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = on_one_line(text);
    if text.chars().count() <= most {
        return escape(&text);
    }
    let head: String = text.chars().take(most.saturating_sub(1)).collect();
    escape(&format!("{}…", head.trim_end()))
}

/// A coordinate, to a tenth of a pixel.
pub(super) struct At(pub(super) f64);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        // A negative zero would be another text for the same place.
        if tenths.fract() == 0.0 {
            write!(f, "{:.0}", tenths + 0.0)
        } else {
            write!(f, "{tenths:.1}")
        }
    }
}

/// Classes that give the `arm`-th arm its colour and dashes.
pub(super) fn look(arm: usize) -> String {
    format!("c{} d{}", arm % COLOURS, arm % DASHES)
}

/// Pixels that `text` takes at the usual size in an average face, rather too many than too few.
pub(super) fn width_of(text: &str) -> f64 {
    let letter = |c: char| match c {
        'M' | 'W' | 'm' | 'w' | '%' | '—' | '≠' => 10.0,
        '+' | 'G' | 'K' | 'N' | '<' | '>' | '=' => 8.2,
        ' ' | '.' | ',' | ':' | 'i' | 'l' | '[' | ']' | '|' => 4.2,
        _ => 7.0,
    };
    text.chars().map(letter).sum()
}

/// The path of the marker of the `arm`-th arm around a point.
pub(super) fn marker(arm: usize, x: f64, y: f64, radius: f64) -> String {
    let r = radius;
    let from = |points: &[(f64, f64)]| {
        let mut out = String::new();
        for (index, (dx, dy)) in points.iter().enumerate() {
            let _infallible = write!(
                out,
                "{}{} {}",
                if index == 0 { 'M' } else { 'L' },
                At(x + dx * r),
                At(y + dy * r)
            );
        }
        out + "z"
    };
    match arm % MARKERS {
        0 => format!(
            "M{} {}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0z",
            At(x - r),
            At(y),
            At(2.0 * r),
            At(-2.0 * r)
        ),
        1 => from(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => from(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
        3 => from(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => from(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        5 => from(&[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ]),
        6 => from(&[(-1.2, 0.0), (0.8, -1.1), (0.8, 1.1)]),
        _ => from(&[
            (0.0, -1.3),
            (0.35, -0.35),
            (1.3, 0.0),
            (0.35, 0.35),
            (0.0, 1.3),
            (-0.35, 0.35),
            (-1.3, 0.0),
            (-0.35, -0.35),
        ]),
    }
}

/// The sign of an arm in a legend: a piece of its line with its marker.
pub(crate) fn key(arm: usize) -> String {
    format!(
        r#"<svg class="key {}" viewBox="0 0 30 12" aria-hidden="true"><path class="line" d="M1 6H29"/><path class="dot" d="{}"/></svg>"#,
        look(arm),
        marker(arm, 15.0, 6.0, 4.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_in_a_text_can_end_an_element_or_an_attribute() {
        let text = escape("a\"b'c<script>&\u{0}\u{202e}\n");
        assert_eq!(text, "a&quot;b&#39;c&lt;script&gt;&amp;\u{fffd}\u{fffd} ");
    }

    #[test]
    fn a_cut_text_says_that_it_is_cut_and_is_never_cut_inside_an_escape() {
        assert_eq!(shortened("<<<<", 3), "&lt;&lt;…");
        assert_eq!(shortened("<<<", 3), "&lt;&lt;&lt;");
    }

    #[test]
    fn coordinates_are_short() {
        let shown: Vec<String> = [0.0, -0.01, 12.0, 12.34, -3.06]
            .map(|x| At(x).to_string())
            .into();
        assert_eq!(shown, ["0", "0", "12", "12.3", "-3.1"]);
    }

    #[test]
    fn no_two_of_many_arms_look_alike_even_in_grey() {
        let looks: BTreeSet<_> = (0..40)
            .map(|arm| (marker(arm, 0.0, 0.0, 4.0), arm % DASHES))
            .collect();
        assert_eq!(looks.len(), 40);
    }
}
