//! Colours of what is grave or good, for terminals that have them.

/// What begins a line, behind its margin and the name of whom it is about, and the number of its
/// colour. The words are those that findings, verdicts and answers begin with.
const STARTS: [(&str, u8); 15] = [
    ("invalid[", RED),
    ("warning[", YELLOW),
    ("note[", BLUE),
    ("error:", RED),
    ("warning:", YELLOW),
    ("Can it be believed? No", RED),
    ("Can it be believed? With reservations", YELLOW),
    ("Can it be believed?", GREEN),
    ("No verdict", YELLOW),
    ("Cannot tell", YELLOW),
    ("Slower by", RED),
    ("Faster by", GREEN),
    ("Slower:", RED),
    ("Faster:", GREEN),
    ("Within ", GREEN),
];
const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;
const BLUE: u8 = 34;

/// The text with colours. Escapes that it holds already are made harmless first, so that none but
/// those of colours are in what it gives.
#[must_use]
pub fn coloured(text: &str) -> String {
    units::visible(text)
        .split('\n')
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn line(line: &str) -> String {
    let bare = line.trim_start();
    // A verdict may stand behind the name of its arm.
    let behind = bare.match_indices(": ").map(|(at, _)| &bare[at + 2..]);
    for part in std::iter::once(bare).chain(behind) {
        let start = STARTS.iter().find(|(words, _)| part.starts_with(words));
        if let Some((words, colour)) = start {
            let (before, part) = line.split_at(line.len() - part.len());
            let (words, rest) = part.split_at(words.trim_end_matches('[').len());
            return format!("{before}\u{1b}[{colour}m{words}\u{1b}[0m{rest}");
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_grave_or_good_has_its_colour_and_all_else_is_as_it_was() {
        assert_eq!(coloured("a\n  b: c\n"), "a\n  b: c\n");
        assert_eq!(
            coloured("invalid[no_io] (x): y"),
            "\u{1b}[31minvalid\u{1b}[0m[no_io] (x): y"
        );
        assert_eq!(
            coloured("  after: Faster by 9 %"),
            "  after: \u{1b}[32mFaster by\u{1b}[0m 9 %"
        );
    }

    #[test]
    fn an_escape_of_the_text_does_not_get_through() {
        assert_eq!(
            coloured("error: \u{1b}[2J\nx\u{1b}]0;title\u{7}"),
            "\u{1b}[31merror:\u{1b}[0m \u{fffd}[2J\nx\u{fffd}]0;title\u{fffd}"
        );
    }
}
