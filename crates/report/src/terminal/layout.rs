//! How text is laid out for who reads it.

use super::width::{beginning, width};

/// How wide lines are, and how much is told of each finding. The default is that of text which no
/// terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextLayout {
    /// Columns of the terminal. `None`: none shows the text, whose lines are of at most 100 columns
    /// and whose tables have all of theirs.
    pub columns: Option<usize>,
    /// A finding is one line, which is cut where it is too long, and its advice is left out.
    pub folds_findings: bool,
}

/// Below folded findings.
pub(crate) const UNFOLD: &str =
    "--findings shows each in full; `fathom explain RULE` says why and what to do";

impl TextLayout {
    /// As many words of a text as one line holds.
    pub(crate) fn one_line(self, text: &str) -> String {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let most = self.columns.unwrap_or(super::page::WIDTH);
        if width(&text) <= most {
            return text;
        }
        let start = beginning(&text, most.saturating_sub(2));
        let end = start.rfind(' ').unwrap_or(start.len());
        format!("{} …", start[..end].trim_end())
    }
}

/// Text of which other hands have written parts, for a terminal: lines that are longer than it is
/// wide break between words, below their own margin, and hashes are told by their first digits,
/// because they have no words and are wider than some terminals. Whoever computes on them has them
/// whole in records, and where the text goes into a pipe or a file.
#[must_use]
pub fn broken(text: &str, columns: usize) -> String {
    let mut page = super::Page::of_width(columns);
    for line in text.lines() {
        let line = &with_short_hashes(line);
        let bare = line.trim_start();
        let margin = line.len() - bare.len();
        if width(line) <= columns {
            page.line(line);
        } else if let Some(label) = label(line) {
            page.wrapped(label, width(label), &line[label.len()..]);
        } else {
            page.wrapped(&" ".repeat(margin), margin + 2, bare);
        }
    }
    page.finish()
}

/// The line with the first digits of each hash: of SHA-1, as of commits, or longer.
fn with_short_hashes(line: &str) -> String {
    const DIGITS_OF_A_HASH: usize = 40;
    const TOLD: usize = 12;
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(is_digit) {
        let (before, digits) = rest.split_at(start);
        let end = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
        let (digits, after) = digits.split_at(end);
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let stands_alone = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
        out.push_str(before);
        if digits.len() >= DIGITS_OF_A_HASH && stands_alone {
            out.push_str(&digits[..TOLD]);
            out.push('…');
        } else {
            out.push_str(digits);
        }
        rest = after;
    }
    out + rest
}

/// The first column of a line that has one, with the gap behind it.
fn label(line: &str) -> Option<&str> {
    const WIDEST: usize = 24;
    let name = line.trim_start().split("  ").next().unwrap_or_default();
    let end = line.len() - line.trim_start().len() + name.len();
    let gap = line[end..].len() - line[end..].trim_start().len();
    let label = &line[..end + gap];
    (gap > 0 && !name.is_empty() && width(label) <= WIDEST).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_told_by_its_first_digits_and_other_words_are_whole() {
        let hash = "0123456789abcdef".repeat(4);
        let text = format!(
            "sha256:{hash}, 5 bytes\n({})\nx{hash} {}",
            &hash[..40],
            &hash[..39]
        );
        assert_eq!(
            broken(&text, 200),
            format!(
                "sha256:0123456789ab…, 5 bytes\n(0123456789ab…)\nx{hash} {}\n",
                &hash[..39]
            )
        );
    }

    #[test]
    fn a_finding_that_is_too_long_for_a_line_ends_at_a_word() {
        let of = |columns| TextLayout {
            columns: Some(columns),
            folds_findings: true,
        };
        assert_eq!(
            of(30).one_line("note[x]: short\n enough"),
            "note[x]: short enough"
        );
        let cut = of(20).one_line("note[x]: too long for one line");
        assert_eq!(cut, "note[x]: too long …");
        assert_eq!(of(10).one_line(&"x".repeat(40)), "xxxxxxxx …");
    }

    #[test]
    fn only_lines_that_are_too_long_break() {
        let text = "a  table\n  a margin and words that go on\n";
        assert_eq!(
            broken(text, 20),
            "a  table\n  a margin and words\n    that go on\n"
        );
        assert_eq!(broken(text, 100), text);
        assert_eq!(
            broken("sees      where runs vary by 5 %\n", 25),
            "sees      where runs vary\n          by 5 %\n"
        );
    }
}
