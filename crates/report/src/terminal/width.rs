//! How many columns text takes on a terminal: most letters one, those of East Asia and pictures two,
//! marks above and below other letters none.

/// Wide and fullwidth characters (Unicode Standard Annex 11), and pictures that terminals show as
/// wide.
const WIDE: [(u32, u32); 17] = [
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa000, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1f64f),
    (0x1f680, 0x1f6ff),
    (0x1f900, 0x1f9ff),
    (0x1fa70, 0x1faff),
    (0x2_0000, 0x3_fffd),
];
/// Marks that stand with the letter before them.
const NOTHING: [(u32, u32); 8] = [
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x064b, 0x065f),
    (0x1ab0, 0x1aff),
    (0x200b, 0x200d),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
];

fn columns(letter: char) -> usize {
    let code = u32::from(letter);
    // Nearly all text.
    if code < NOTHING[0].0 {
        return 1;
    }
    let is_of = |ranges: &[(u32, u32)]| {
        let mut ranges = ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&code))
    };
    match (is_of(&NOTHING), is_of(&WIDE)) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => 1,
    }
}

/// The columns of a text.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The text with blanks behind it, as wide as said.
pub(super) fn to_the_left(text: &str, wanted: usize) -> String {
    let blanks = " ".repeat(wanted.saturating_sub(width(text)));
    format!("{text}{blanks}")
}

/// The text with blanks before it, as wide as said.
pub(super) fn to_the_right(text: &str, wanted: usize) -> String {
    let blanks = " ".repeat(wanted.saturating_sub(width(text)));
    format!("{blanks}{text}")
}

/// As much of the beginning of a text as has room.
pub(super) fn beginning(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut letters = text.char_indices();
    let end = letters.find(|(_, letter)| {
        used += columns(*letter);
        used > room
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// As much of the end of a text as has room.
pub(super) fn end(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        used += columns(letter);
        if used > room {
            break;
        }
        start = at;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_east_asia_take_two_columns_and_marks_none() {
        for (text, columns) in [
            ("", 0),
            ("µs · …é", 7),
            ("e\u{301}", 1),
            ("日本語", 6),
            ("한글", 4),
            ("ｆ１", 4),
            ("a😀b", 4),
            ("שלום", 4),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
        assert_eq!(to_the_left("日", 4), "日  ");
        assert_eq!(to_the_right("日", 4), "  日");
        assert_eq!(to_the_right("日", 1), "日");
    }

    #[test]
    fn what_is_cut_has_no_half_of_a_letter() {
        assert_eq!((beginning("日本語", 5), end("日本語", 5)), ("日本", "本語"));
        assert_eq!((beginning("abc", 9), end("abc", 9)), ("abc", "abc"));
        assert_eq!((beginning("日", 1), end("日", 1)), ("", ""));
    }
}
