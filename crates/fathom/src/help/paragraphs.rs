//! Paragraphs of help for a terminal of any width, and examples that can be copied from it.

/// Columns of a line of an example, which no usual terminal breaks.
pub(super) const LONGEST_EXAMPLE: usize = 79;

/// A paragraph below the options.
pub(super) fn laid(paragraph: &str) -> String {
    match paragraph.starts_with("Examples:") {
        true => paragraph.lines().map(folded).collect::<Vec<_>>().join("\n"),
        false => unbroken(paragraph),
    }
}

/// A paragraph on one line, which the terminal's width breaks; lines that are indented stay.
pub(super) fn unbroken(paragraph: &str) -> String {
    let mut out = String::new();
    let mut may_join = false;
    for line in paragraph.lines() {
        let is_own = line.starts_with(' ') || line.is_empty();
        out.push_str(match (out.is_empty(), may_join && !is_own) {
            (true, _) => "",
            (false, true) => " ",
            (false, false) => "\n",
        });
        out.push_str(line);
        may_join = !is_own;
    }
    out
}

/// A command that is too long for a line of a usual terminal as lines that can be copied: each but the
/// last ends with a backslash.
fn folded(line: &str) -> String {
    let command = line.trim_start();
    let is_short = line.chars().count() <= LONGEST_EXAMPLE;
    if is_short || command.contains("  ") {
        return line.to_owned();
    }
    let indent = &line[..line.len() - command.len()];
    let (mut out, mut width) = (indent.to_owned(), indent.len());
    for piece in pieces(command) {
        // A blank before it, and a blank and a backslash behind.
        let needs = piece.chars().count() + 3;
        if width > indent.len() {
            if width + needs > LONGEST_EXAMPLE {
                out.push_str(" \\\n");
                out.push_str(indent);
                out.push_str("    ");
                width = indent.len() + 4;
            } else {
                out.push(' ');
                width += 1;
            }
        }
        out.push_str(&piece);
        width += piece.chars().count();
    }
    out
}

/// The words of a command, an option with its value and what is quoted as one.
fn pieces(command: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut is_quoted = false;
    for word in command.split(' ') {
        let is_value = !word.starts_with('-')
            && out
                .last()
                .is_some_and(|last| last.starts_with('-') && !last.contains(' ') && last != "--");
        match out.last_mut().filter(|_| is_quoted || is_value) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => out.push(word.to_owned()),
        }
        let quotes = word.chars().filter(|c| matches!(c, '\'' | '"')).count();
        is_quoted ^= quotes % 2 == 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_example_can_be_copied_from_a_narrow_terminal() {
        assert_eq!(folded("  fathom run x"), "  fathom run x");
        let long = "  fathom load get --target s3://bench@http://127.0.0.1:9000 --object-size 128KiB --header 'X-A: b c' --users 16";
        let lines = "  fathom load get --target s3://bench@http://127.0.0.1:9000 \\\n      --object-size 128KiB --header 'X-A: b c' --users 16";
        assert_eq!(folded(long), lines);
    }
}
