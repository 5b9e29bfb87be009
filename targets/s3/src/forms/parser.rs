//! `multipart/form-data` piece by piece: fields first, then one file, whatever follows. Pure: bytes
//! in, events out.

use bytes::{Bytes, BytesMut};

/// The most bytes of a form before its file, as AWS has it.
pub(crate) const MOST_FIELDS: usize = 20 << 10;
/// RFC 2046 5.1.1.
const MOST_BOUNDARY: usize = 70;

/// What is wrong with a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    #[error("the form is not well-formed")]
    Malformed,
    #[error("there is too much before the file of the form")]
    FieldsTooLong,
    #[error("the form has no file")]
    NoFile,
    #[error("the form ends before its file does")]
    Incomplete,
    #[error("the file is longer than the policy allows")]
    TooLong { most: u64 },
    #[error("the file is shorter than the policy demands")]
    TooShort { size: u64, least: u64 },
}

/// What comes next in a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Field {
        name: String,
        value: String,
    },
    FileBegins {
        name: String,
    },
    FileData(Bytes),
    FileEnds,
    /// Nothing before more bytes are fed.
    Starving,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before the first boundary.
    Start,
    /// Behind a boundary, before the headers of a part.
    Boundary,
    File,
    End,
}

/// Reads a form as its bytes come.
pub(crate) struct Parser {
    buffer: BytesMut,
    /// `CRLF--boundary`.
    delimiter: Vec<u8>,
    stage: Stage,
    /// Bytes before the file that were taken out of the buffer.
    taken: usize,
}

/// The boundary that a content type names, where it is that of a form.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    if !is_form_data(kind) {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    let sound = (1..=MOST_BOUNDARY).contains(&boundary.len())
        && boundary.bytes().all(plain)
        && !boundary.ends_with(' ');
    sound.then_some(boundary)
}

/// Whether a content type is that of a form, whatever its parameters.
pub(crate) fn is_form_data(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// One of `name=value; name="value"`. A backslash protects a quote or another one, and is itself
/// before anything else.
fn parameter(text: &str, wanted: &str) -> Option<String> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([';', ' ', '\t']);
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after;
    }
}

/// A text up to its closing quote, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, protected)) => out.push(protected),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    None
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = needle.first()?;
    let mut from = 0;
    while let Some(at) = haystack[from..].iter().position(|byte| byte == first) {
        if haystack[from + at..].starts_with(needle) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

impl Parser {
    pub(crate) fn new(boundary: &str) -> Self {
        let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
        Self {
            buffer: BytesMut::new(),
            delimiter,
            stage: Stage::Start,
            taken: 0,
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if self.stage != Stage::End {
            self.buffer.extend_from_slice(bytes);
        }
    }

    pub(crate) fn next(&mut self) -> Result<Event, FormError> {
        let event = match self.stage {
            Stage::Start => self.start(),
            Stage::Boundary => self.part(),
            Stage::File => return Ok(self.data()),
            Stage::End => return Ok(Event::FileEnds),
        }?;
        // What waits for its end counts as well.
        let before = if self.stage == Stage::File {
            self.taken
        } else {
            self.taken + self.buffer.len()
        };
        if before > MOST_FIELDS && !matches!(event, Event::Field { .. }) {
            return Err(FormError::FieldsTooLong);
        }
        Ok(event)
    }

    fn skip(&mut self, bytes: usize) {
        drop(self.buffer.split_to(bytes));
        self.taken += bytes;
    }

    /// The first boundary has no line before it, or an empty one.
    fn start(&mut self) -> Result<Event, FormError> {
        let line = if self.buffer.first() == Some(&b'\r') {
            self.delimiter.as_slice()
        } else {
            &self.delimiter[2..]
        };
        let seen = self.buffer.len().min(line.len());
        if self.buffer[..seen] != line[..seen] {
            return Err(FormError::Malformed);
        }
        if seen < line.len() {
            return Ok(Event::Starving);
        }
        self.skip(seen);
        self.stage = Stage::Boundary;
        self.part()
    }

    /// A part whose boundary was read.
    fn part(&mut self) -> Result<Event, FormError> {
        if self.buffer.starts_with(b"--") {
            return Err(FormError::NoFile);
        }
        // The end of the boundary's line, which may be padded, is the first line; headers end with
        // an empty one.
        let Some(end) = find(&self.buffer, b"\r\n\r\n") else {
            return Ok(Event::Starving);
        };
        let head = std::str::from_utf8(&self.buffer[..end]).or(Err(FormError::Malformed))?;
        let (padding, headers) = head.split_once("\r\n").ok_or(FormError::Malformed)?;
        if !padding.trim_matches([' ', '\t']).is_empty() {
            return Err(FormError::Malformed);
        }
        let (name, file) = disposition(headers).ok_or(FormError::Malformed)?;
        let begin = end + 4;
        if name.eq_ignore_ascii_case("file") {
            self.skip(begin);
            self.stage = Stage::File;
            return Ok(Event::FileBegins {
                name: file.unwrap_or_default(),
            });
        }
        let Some(len) = find(&self.buffer[begin..], &self.delimiter) else {
            return Ok(Event::Starving);
        };
        let value = std::str::from_utf8(&self.buffer[begin..begin + len])
            .or(Err(FormError::Malformed))?
            .to_owned();
        self.skip(begin + len + self.delimiter.len());
        Ok(Event::Field {
            name: name.to_ascii_lowercase(),
            value,
        })
    }

    fn data(&mut self) -> Event {
        let kept = match find(&self.buffer, &self.delimiter) {
            Some(0) => {
                self.buffer = BytesMut::new();
                self.stage = Stage::End;
                return Event::FileEnds;
            }
            Some(at) => at,
            // What could be the beginning of the delimiter waits for the rest.
            None => (self.buffer.len() + 1).saturating_sub(self.delimiter.len()),
        };
        if kept == 0 {
            Event::Starving
        } else {
            Event::FileData(self.buffer.split_to(kept).freeze())
        }
    }
}

/// The name of a part, and of its file where it has one, from its headers.
fn disposition(headers: &str) -> Option<(String, Option<String>)> {
    let header = |line: &'_ str| {
        let (name, value) = line.split_once(':')?;
        name.trim()
            .eq_ignore_ascii_case("content-disposition")
            .then(|| value.trim().to_owned())
    };
    let value = headers.split("\r\n").find_map(header)?;
    let (kind, parameters) = value.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    Some((
        parameter(parameters, "name")?,
        parameter(parameters, "filename"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"Key\"\r\n\r\na/${filename}\r\n\
        --b  \r\ncontent-type: text/plain\r\ncontent-disposition: form-data; name=empty\r\n\r\n\r\n\
        --b\r\nContent-Disposition: form-data; filename=\"C:\\x\\\"q\\\".txt\"; name=\"file\"\r\n\r\n\
        one\r\n--two\r\n-\r\n--b\r\nContent-Disposition: form-data; name=\"late\"\r\n\r\nx\r\n--b--\r\n";

    /// All events, with the file's bytes joined.
    fn read(
        form: &[u8],
        boundary: &str,
        cuts: &[usize],
    ) -> (Vec<Event>, Vec<u8>, Result<(), FormError>) {
        let mut parser = Parser::new(boundary);
        let (mut events, mut file) = (Vec::new(), Vec::new());
        let mut from = 0;
        for to in cuts.iter().copied().chain([form.len()]) {
            parser.feed(&form[from..to]);
            from = to;
            loop {
                match parser.next() {
                    Ok(Event::Starving) => break,
                    Ok(Event::FileData(bytes)) => file.extend_from_slice(&bytes),
                    Ok(Event::FileEnds) => {
                        events.push(Event::FileEnds);
                        return (events, file, Ok(()));
                    }
                    Ok(event) => events.push(event),
                    Err(error) => return (events, file, Err(error)),
                }
            }
        }
        (events, file, Err(FormError::Incomplete))
    }

    fn field(name: &str, value: &str) -> Event {
        Event::Field {
            name: name.into(),
            value: value.into(),
        }
    }

    #[test]
    fn fields_come_in_their_order_and_the_file_ends_at_its_boundary() {
        let (events, file, outcome) = read(FORM.as_bytes(), "b", &[]);
        let begins = Event::FileBegins {
            name: "C:\\x\"q\".txt".into(),
        };
        assert_eq!(
            events,
            [
                field("key", "a/${filename}"),
                field("empty", ""),
                begins,
                Event::FileEnds
            ]
        );
        assert_eq!(
            (file.as_slice(), outcome),
            (b"one\r\n--two\r\n-".as_slice(), Ok(()))
        );
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(mut cuts in proptest::collection::vec(0..FORM.len(), 0..40)) {
            cuts.sort_unstable();
            prop_assert_eq!(read(FORM.as_bytes(), "b", &cuts), read(FORM.as_bytes(), "b", &[]));
        }

        #[test]
        fn any_file_comes_out_as_it_went_in(file in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'B')], 0..200)) {
            let head = b"--BB-B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
            let form = [head.as_slice(), &file, b"\r\n--BB-B--\r\n"].concat();
            let boundary = b"\r\n--BB-B";
            let inside = [file.as_slice(), b"\r\n--BB-"].concat().windows(boundary.len()).any(|window| window == boundary);
            prop_assume!(!inside);
            prop_assert_eq!(read(&form, "BB-B", &[]).1, file);
        }

        #[test]
        fn arbitrary_bytes_are_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, "b", &[]);
            let _ = read(&[b"--b\r\n".as_slice(), &bytes].concat(), "b", &[]);
        }
    }

    #[test]
    fn what_is_no_form_is_refused_and_what_has_no_end_is_waited_for() {
        let part = |headers: &str| format!("--b\r\n{headers}\r\n\r\nvalue\r\n--b--");
        let wrong = [
            part("Content-Type: text/plain"),
            part("Content-Disposition: attachment; name=x"),
            part("Content-Disposition: form-data"),
        ];
        for form in wrong.iter().map(String::as_str).chain([
            "x--b\r\n",
            "--c\r\n",
            "\r\n\r\n--b",
            "--b\r\n\r\nvalue\r\n--b",
            "--bad\r\n\r\n",
        ]) {
            assert_eq!(
                read(form.as_bytes(), "b", &[]).2,
                Err(FormError::Malformed),
                "{form:?}"
            );
        }
        assert_eq!(read(b"\r\n--b--", "b", &[]).2, Err(FormError::NoFile));
        let whole = FORM
            .split("\r\n--b\r\nContent-Disposition: form-data; name=\"late\"")
            .next()
            .unwrap();
        for end in 0..=whole.len() {
            assert_eq!(
                read(&FORM.as_bytes()[..end], "b", &[]).2,
                Err(FormError::Incomplete),
                "{end}"
            );
        }
    }

    #[test]
    fn no_more_than_a_little_is_held_before_the_file() {
        let header = "Content-Disposition: form-data; name=";
        let long = "x".repeat(MOST_FIELDS);
        for form in [
            format!("--b\r\n{header}f\r\n\r\n{long}"),
            format!("--b\r\n{header}{long}"),
            format!("--b\r\n{header}f\r\n\r\n{long}\r\n--b\r\n{header}file\r\n\r\nx"),
        ] {
            assert_eq!(
                read(form.as_bytes(), "b", &[]).2,
                Err(FormError::FieldsTooLong)
            );
        }
        let mut parser = Parser::new("b");
        parser.feed(format!("--b\r\n{header}file\r\n\r\n").as_bytes());
        assert_eq!(
            parser.next(),
            Ok(Event::FileBegins {
                name: String::new()
            })
        );
        for _ in 0..100 {
            parser.feed(long.as_bytes());
            assert!(matches!(parser.next(), Ok(Event::FileData(_))));
            assert!(parser.buffer.len() < parser.delimiter.len());
        }
    }

    #[test]
    fn the_boundary_is_a_parameter_of_the_content_type() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            (
                "Multipart/Form-Data;charset=utf-8; Boundary=\"a;b\\\"c\"",
                Some("a;b\"c"),
            ),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"open", None),
            ("multipart/mixed; boundary=abc", None),
        ] {
            assert_eq!(
                boundary(content_type).as_deref(),
                expected,
                "{content_type}"
            );
        }
        assert_eq!(
            boundary(&format!("multipart/form-data; boundary={}", "x".repeat(71))),
            None
        );
        assert!(is_form_data(" Multipart/Form-Data ; x") && !is_form_data("application/xml"));
    }
}
