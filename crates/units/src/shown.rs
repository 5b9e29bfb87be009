//! Text from elsewhere, made fit to be shown to people.

/// Whether a character changes the look of other text: control characters, marks that reverse the
/// direction of writing, and the separators of lines and paragraphs.
#[must_use]
pub fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of several lines without what [`disturbs`].
#[must_use]
pub fn visible(text: &str) -> String {
    let plain = |c: char| match c {
        '\n' => c,
        c if disturbs(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(plain).collect()
}

/// [`visible`] text on one line.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    visible(text).replace('\n', " ")
}

/// A text as one word that a POSIX shell reads back.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// JSON of the same data in which nothing [`disturbs`] but line breaks: the writer of JSON escapes
/// the control characters below a space and no others. Outside of texts JSON has only ASCII, so
/// that whatever disturbs stands in one, where it has an escape.
#[must_use]
pub fn visible_json(json: String) -> String {
    let is_to_escape = |c: char| c != '\n' && disturbs(c);
    // Nearly all of it is plain; a character is looked at where one begins that is not.
    let begins = |(_, byte): &(usize, u8)| !matches!(byte, b'\n' | b' '..=b'~' | 0x80..=0xbf);
    let mut others = json.bytes().enumerate().filter(begins);
    let at = |place| json.get(place..).and_then(|rest| rest.chars().next());
    if !others.any(|(place, _)| at(place).is_some_and(is_to_escape)) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_to_escape(c) {
            let mut halves = [0; 2];
            let halves = c.encode_utf16(&mut halves);
            out.extend(halves.iter().map(|half| format!("\\u{half:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_look_of_other_text_is_replaced_and_what_is_text_stays() {
        let hostile = "a\u{1b}[31m\r\u{9b}\u{202e}b\u{2028}c\u{61c}\nשלום é \u{1f600}";
        assert_eq!(
            visible(hostile),
            "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}b\u{fffd}c\u{fffd}\nשלום é \u{1f600}"
        );
        assert_eq!(on_one_line("a\n# b"), "a # b");
    }

    #[test]
    fn a_shell_reads_back_as_one_word_what_it_would_take_apart_or_replace() {
        for (text, word) in [
            ("/mnt/a-1_b.c,d=e:9@x%+", "/mnt/a-1_b.c,d=e:9@x%+"),
            ("", "''"),
            ("my ca.pem", "'my ca.pem'"),
            ("https://[::1]:9000", "'https://[::1]:9000'"),
            ("a*", "'a*'"),
            ("it's $1", r"'it'\''s $1'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn json_escapes_what_disturbs_and_nothing_else() {
        let json = "{\"a\u{9b}2J\":\"\u{7f}\u{202e}\\u001b é \u{1f600}\"}\n[]";
        assert_eq!(
            visible_json(json.to_owned()),
            "{\"a\\u009b2J\":\"\\u007f\\u202e\\u001b é \u{1f600}\"}\n[]"
        );
    }
}
