//! What a job of continuous integration shows beside its log, in the form that GitHub reads: a line
//! that begins with `::` is a command to its runner, and `##[` anywhere in a line is one too, as
//! `##vso[` is to that of Azure.

use units::visible;

/// What is shown of a title and of a text; the runner cuts both somewhere.
const MOST_TITLE: usize = 200;
const MOST_TEXT: usize = 3000;

/// How grave an annotation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Error,
}

/// One line of a log that becomes an annotation; no text of it ends the line or begins another.
#[must_use]
pub fn annotation(level: AnnotationLevel, title: &str, text: &str) -> String {
    let level = match level {
        AnnotationLevel::Notice => "notice",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Error => "error",
    };
    let title = escaped(&cut(&units::on_one_line(title), MOST_TITLE));
    let title = title.replace(':', "%3A").replace(',', "%2C");
    let text = escaped(&cut(visible(text).trim(), MOST_TEXT));
    format!("::{level} title={title}::{text}\n")
}

/// Text for people without what the runner of a job would take for a command to it. A title of
/// somebody's record must not hide words from a log or set what later steps read.
#[must_use]
pub fn without_commands(text: &str) -> String {
    let is_command = |line: &str| line.trim_start().starts_with("::");
    if !text.contains("##") && !text.lines().any(is_command) {
        return text.to_owned();
    }
    let inert = |line: &str| {
        let line = line.replace("##[", "# #[").replace("##vso[", "# #vso[");
        match is_command(&line) {
            true => line.replacen("::", ": :", 1),
            false => line,
        }
    };
    text.split('\n').map(inert).collect::<Vec<_>>().join("\n")
}

/// JSON of the same data in which no text is a command: `##` stands within texts alone, where it has
/// an escape, and no line begins with `::`, as a text begins with a quotation mark and has no line
/// breaks. Neither is one a terminal's command, or turns the direction of what stands beside it.
#[must_use]
pub fn json_without_commands(json: &str) -> String {
    units::visible_json(json.to_owned()).replace("##", "\\u0023\\u0023")
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_annotation_is_one_line_whatever_its_text_says() {
        let line = annotation(AnnotationLevel::Error, "a, b: c", "50 %\n::error::x");
        assert_eq!(line, "::error title=a%2C b%3A c::50 %25%0A::error::x\n");
        let line = annotation(
            AnnotationLevel::Notice,
            "x::set-output name=a::b\n::stop-commands::",
            "a\r\u{1b}[2K::add-mask::b",
        );
        assert_eq!(
            line,
            "::notice title=x%3A%3Aset-output name=a%3A%3Ab %3A%3Astop-commands%3A%3A::a\u{fffd}\u{fffd}[2K::add-mask::b\n"
        );
    }

    #[test]
    fn a_huge_name_is_cut() {
        let huge = "é".repeat(1 << 20);
        let line = annotation(AnnotationLevel::Warning, &huge, &huge);
        assert!(line.chars().count() < 3300, "{}", line.chars().count());
    }

    #[test]
    fn json_says_the_same_without_a_command_to_a_terminal() {
        let names = vec!["a\u{9b}2J\u{7f}\u{202e}b\u{2028}\u{1b}[31m ## é\n\t"];
        let json = serde_json::to_string_pretty(&names).unwrap();
        let escaped = json_without_commands(&json);
        assert!(
            !escaped.contains(|c| c != '\n' && units::disturbs(c)),
            "{escaped}"
        );
        let read: Vec<String> = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, names);
    }

    #[test]
    fn text_for_people_holds_no_command() {
        assert_eq!(without_commands("a::b\nc: d"), "a::b\nc: d");
        assert_eq!(
            without_commands("x\n  ::set-output name=a::b\n##[add-mask]c\n"),
            "x\n  : :set-output name=a::b\n# #[add-mask]c\n"
        );
        assert_eq!(
            without_commands("arm ##vso[task.setvariable variable=x]B"),
            "arm # #vso[task.setvariable variable=x]B"
        );
    }

    proptest! {
        /// As the runner reads a line: the command ends where the next `::` begins, its properties
        /// lie between commas, and what follows is text.
        #[test]
        fn what_the_runner_reads_is_the_level_the_title_and_the_text(
            title in "[a-z%:,=\n\r# ]{0,20}", text in "[a-z%:,=\n\r#\\[\\] ]{0,20}"
        ) {
            let line = annotation(AnnotationLevel::Error, &title, &text);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let (command, data) = line.trim_end_matches('\n').strip_prefix("::").unwrap().split_once("::").unwrap();
            let (name, properties) = command.split_once(' ').unwrap();
            prop_assert_eq!(name, "error");
            prop_assert!(!properties.contains([',', ':']));
            let read = |text: &str| text.replace("%3A", ":").replace("%2C", ",").replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
            prop_assert_eq!(read(properties), format!("title={}", units::on_one_line(&title)));
            prop_assert_eq!(read(data), visible(&text).trim().to_owned());
        }

        #[test]
        fn no_line_of_inert_text_is_a_command(text in "[ :#\\[a\n]{0,40}") {
            let inert = without_commands(&text);
            prop_assert!(!inert.contains("##["), "{inert}");
            prop_assert!(inert.lines().all(|line| !line.trim_start().starts_with("::")), "{inert}");
        }
    }
}
