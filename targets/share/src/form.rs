//! Forms with files (RFC 7578), read as they come: at most one line and the head of a part are
//! held, whatever the length of a file.
//!
//! What is not exactly such a form is refused: bytes before the first boundary or after the last, a
//! part without a name, a form in a form.

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;

/// The most bytes of the head of a part.
const MOST_HEAD: usize = 16 << 10;
/// The most parts of a form.
const MOST_PARTS: u32 = 64;
/// The longest boundary (RFC 2046, 5.1.1).
const MOST_BOUNDARY: usize = 70;

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormFault {
    #[error("the Content-Type is not multipart/form-data with a boundary of 1 to 70 characters")]
    NoBoundary,
    #[error("the form does not begin with its boundary")]
    NoBeginning,
    #[error("the form ends before its last boundary")]
    Unfinished,
    #[error("a boundary is followed by what is neither a part nor the end")]
    Torn,
    #[error("there are bytes after the last boundary")]
    Rest,
    #[error("the head of a part is longer than 16 KiB or is none")]
    Head,
    #[error("a part has no name")]
    Nameless,
    #[error("a part is a form itself")]
    Nested,
    #[error("a part is encoded: send the bytes of the file as they are")]
    Encoded,
    #[error("a part says something of itself twice")]
    Twice,
    #[error("there are more than 64 parts")]
    Parts,
}

/// What a part says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PartHead {
    pub(crate) name: String,
    /// `None` where it is no file.
    pub(crate) filename: Option<String>,
    pub(crate) media: Option<String>,
}

/// What comes of a form, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FormPiece {
    Begins(PartHead),
    Bytes(Bytes),
    Ends,
    /// Nothing more may come.
    Complete,
}

/// The boundary that a `Content-Type` names.
///
/// # Errors
/// It is not of a form.
pub(crate) fn boundary_of(content_type: &str) -> Result<Vec<u8>, FormFault> {
    let (kind, parameters) = content_type.split_once(';').ok_or(FormFault::NoBoundary)?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return Err(FormFault::NoBoundary);
    }
    let boundary = parameter(parameters, "boundary").unwrap_or_default();
    let boundary = boundary.ok_or(FormFault::NoBoundary)?;
    let is_known = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let fits = (1..=MOST_BOUNDARY).contains(&boundary.len()) && !boundary.ends_with(' ');
    if fits && boundary.bytes().all(is_known) {
        Ok(boundary.into_bytes())
    } else {
        Err(FormFault::NoBoundary)
    }
}

/// The value of a parameter, in quotes or not.
///
/// Browsers write `%22` for a quote and leave backslashes alone; other clients write `\"` and `\\`.
///
/// # Errors
/// It is there twice: nobody knows which one is meant.
fn parameter(text: &str, wanted: &str) -> Result<Option<String>, FormFault> {
    let mut found = None;
    for (name, value) in parameters(text).unwrap_or_default() {
        if name.eq_ignore_ascii_case(wanted) && found.replace(value).is_some() {
            return Err(FormFault::Twice);
        }
    }
    Ok(found)
}

/// All parameters; `None` where the text is none.
fn parameters(text: &str) -> Option<Vec<(&str, String)>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_start_matches([';', ' ', '\t']).trim();
        let (value, left) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (value, left) = quoted_value(quoted)?;
                (value, left.trim_start())
            }
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if !left.is_empty() && !left.starts_with(';') {
            return None;
        }
        found.push((name, value));
        rest = left.trim_start_matches([';', ' ', '\t']);
    }
    Some(found)
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut places = text.char_indices().peekable();
    while let Some((at, c)) = places.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match places.peek() {
                Some((_, next)) if *next == '"' || *next == '\\' => {
                    value.push(*next);
                    places.next();
                }
                Some(_) | None => value.push('\\'),
            },
            other => value.push(other),
        }
    }
    None
}

/// Reads the head of a part, without the empty line after it.
fn head_of(bytes: &[u8]) -> Result<PartHead, FormFault> {
    let text = std::str::from_utf8(bytes).map_err(|_not_text| FormFault::Head)?;
    let (mut disposition, mut head) = (None, PartHead::default());
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or(FormFault::Head)?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-disposition") {
            if disposition.replace(value).is_some() {
                return Err(FormFault::Head);
            }
        } else if name.eq_ignore_ascii_case("content-type") {
            if head.media.replace(value.to_owned()).is_some() {
                return Err(FormFault::Head);
            }
        } else if name.eq_ignore_ascii_case("content-transfer-encoding") {
            let plain = ["binary", "8bit", "7bit"];
            if !plain.iter().any(|plain| value.eq_ignore_ascii_case(plain)) {
                return Err(FormFault::Encoded);
            }
        }
    }
    let media = head.media.as_deref().unwrap_or_default();
    if media
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("multipart/")
    {
        return Err(FormFault::Nested);
    }
    let (kind, parameters) = disposition
        .and_then(|value| value.split_once(';'))
        .ok_or(FormFault::Nameless)?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err(FormFault::Nameless);
    }
    head.name = parameter(parameters, "name")?.ok_or(FormFault::Nameless)?;
    let unescaped = |name: String| {
        name.replace("%22", "\"")
            .replace("%0D", "\r")
            .replace("%0A", "\n")
    };
    let plain = parameter(parameters, "filename")?.map(unescaped);
    head.filename = extended(parameters)?.or(plain);
    Ok(head)
}

/// `filename*=UTF-8''…` (RFC 8187), which some clients send beside the other.
fn extended(parameters: &str) -> Result<Option<String>, FormFault> {
    let Some(value) = parameter(parameters, "filename*")? else {
        return Ok(None);
    };
    let escaped = value.split_once('\'').and_then(|(charset, rest)| {
        let (_language, escaped) = rest.split_once('\'')?;
        charset.eq_ignore_ascii_case("utf-8").then_some(escaped)
    });
    let decode = |escaped| percent_encoding::percent_decode_str(escaped).decode_utf8();
    let text = escaped.and_then(|escaped| decode(escaped).ok());
    Ok(text.map(std::borrow::Cow::into_owned))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the first boundary, which begins like one within the form but for its line break.
    Beginning,
    /// Right behind a boundary.
    Boundary,
    Head,
    Body,
    /// Behind the last boundary.
    End,
}

/// A form that is being read.
pub(crate) struct FormReader {
    /// A boundary with the line break and the hyphens before it.
    mark: Vec<u8>,
    finder: Finder<'static>,
    at: At,
    held: BytesMut,
    parts: u32,
}

impl FormReader {
    pub(crate) fn new(boundary: &[u8]) -> Self {
        let mark = [b"\r\n--", boundary].concat();
        Self {
            finder: Finder::new(&mark).into_owned(),
            mark,
            at: At::Beginning,
            // The line break that the first boundary lacks.
            held: BytesMut::from(&b"\r\n"[..]),
            parts: 0,
        }
    }

    /// Takes the next bytes and gives the pieces that they complete.
    ///
    /// # Errors
    /// It is no form; nothing may be given to the reader afterwards.
    pub(crate) fn push(&mut self, bytes: Bytes, out: &mut Vec<FormPiece>) -> Result<(), FormFault> {
        // Bytes of a file are not copied where nothing was held of them.
        let mut rest = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(&bytes);
            // Memory of its own for what is held next: a few bytes would keep all of these.
            std::mem::take(&mut self.held).freeze()
        };
        loop {
            let left = match self.at {
                At::Beginning => self.beginning(&mut rest)?,
                At::Boundary => self.boundary(&mut rest, out)?,
                At::Head => self.head(&mut rest, out)?,
                At::Body => self.body(&mut rest, out),
                At::End => self.end(&mut rest)?,
            };
            if let Some(held) = left {
                self.held.extend_from_slice(&held);
                return Ok(());
            }
        }
    }

    /// Errors: `Unfinished` where the last boundary did not come.
    pub(crate) fn finish(&self) -> Result<(), FormFault> {
        if self.at == At::End {
            Ok(())
        } else {
            Err(FormFault::Unfinished)
        }
    }

    // Each of these takes what it understands off `rest`, and gives back what is to be held until
    // more comes; `None` where another place was reached.

    fn beginning(&mut self, rest: &mut Bytes) -> Result<Option<Bytes>, FormFault> {
        let known = rest.len().min(self.mark.len());
        if rest[..known] != self.mark[..known] {
            return Err(FormFault::NoBeginning);
        }
        if known < self.mark.len() {
            return Ok(Some(rest.split_off(0)));
        }
        let _mark = rest.split_to(known);
        self.at = At::Boundary;
        Ok(None)
    }

    fn boundary(
        &mut self,
        rest: &mut Bytes,
        out: &mut Vec<FormPiece>,
    ) -> Result<Option<Bytes>, FormFault> {
        if rest.len() < 2 {
            return Ok(Some(rest.split_off(0)));
        }
        match &rest.split_to(2)[..] {
            b"\r\n" => {
                self.parts += 1;
                if self.parts > MOST_PARTS {
                    return Err(FormFault::Parts);
                }
                self.at = At::Head;
            }
            b"--" => {
                self.at = At::End;
                out.push(FormPiece::Complete);
            }
            _ => return Err(FormFault::Torn),
        }
        Ok(None)
    }

    fn head(
        &mut self,
        rest: &mut Bytes,
        out: &mut Vec<FormPiece>,
    ) -> Result<Option<Bytes>, FormFault> {
        if rest.starts_with(b"\r\n") {
            return Err(FormFault::Nameless);
        }
        match memchr::memmem::find(rest, b"\r\n\r\n") {
            Some(at) if at <= MOST_HEAD => {
                let head = rest.split_to(at + 4);
                out.push(FormPiece::Begins(head_of(&head[..at])?));
                self.at = At::Body;
                Ok(None)
            }
            None if rest.len() <= MOST_HEAD => Ok(Some(rest.split_off(0))),
            Some(_) | None => Err(FormFault::Head),
        }
    }

    fn body(&mut self, rest: &mut Bytes, out: &mut Vec<FormPiece>) -> Option<Bytes> {
        let mut give = |bytes: Bytes| {
            if !bytes.is_empty() {
                out.push(FormPiece::Bytes(bytes));
            }
        };
        if let Some(at) = self.finder.find(rest) {
            give(rest.split_to(at));
            let _mark = rest.split_to(self.mark.len());
            out.push(FormPiece::Ends);
            self.at = At::Boundary;
            return None;
        }
        let keep = begun(rest, &self.mark);
        give(rest.split_to(rest.len() - keep));
        Some(rest.split_off(0))
    }

    fn end(&self, rest: &mut Bytes) -> Result<Option<Bytes>, FormFault> {
        // A line break after the last boundary is usual.
        if b"\r\n".starts_with(rest) {
            Ok(Some(rest.split_off(0)))
        } else {
            Err(FormFault::Rest)
        }
    }
}

/// How many bytes at the end of a text may be the beginning of a mark.
fn begun(text: &[u8], mark: &[u8]) -> usize {
    let from = text.len().saturating_sub(mark.len() - 1);
    (from..text.len())
        .find(|at| mark.starts_with(&text[*at..]))
        .map_or(0, |at| text.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORM: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b\r\n\
        content-disposition: form-data; name=\"file\"; filename=\"a;b.txt\"\r\nContent-Type: text/plain\r\n\r\n\
        one\r\n--\r\n-two\r\r\n--b--\r\n";

    /// What a form gives when it comes in pieces that end at these places, bytes in a row joined.
    fn read(form: &[u8], cuts: &[usize]) -> Result<Vec<FormPiece>, FormFault> {
        let mut reader = FormReader::new(b"b");
        let mut out = Vec::new();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (form.len() + 1)).collect();
        cuts.extend([0, form.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            reader.push(Bytes::copy_from_slice(&form[pair[0]..pair[1]]), &mut out)?;
        }
        reader.finish()?;
        let mut joined: Vec<FormPiece> = Vec::new();
        for piece in out {
            match (joined.last_mut(), piece) {
                (Some(FormPiece::Bytes(before)), FormPiece::Bytes(more)) => {
                    *before = [&before[..], &more[..]].concat().into();
                }
                (_, piece) => joined.push(piece),
            }
        }
        Ok(joined)
    }

    fn part(head: &str) -> Result<PartHead, FormFault> {
        let form = format!("--b\r\n{head}\r\n\r\nx\r\n--b--");
        let first = read(form.as_bytes(), &[])?.swap_remove(0);
        let FormPiece::Begins(head) = first else {
            panic!("{first:?}")
        };
        Ok(head)
    }

    #[test]
    fn parts_are_read_with_their_names_and_bytes() {
        let head = |name: &str, filename: Option<&str>, media: Option<&str>| {
            FormPiece::Begins(PartHead {
                name: name.into(),
                filename: filename.map(str::to_owned),
                media: media.map(str::to_owned),
            })
        };
        let expected = vec![
            head("note", None, None),
            FormPiece::Bytes("hello".into()),
            FormPiece::Ends,
            head("file", Some("a;b.txt"), Some("text/plain")),
            FormPiece::Bytes("one\r\n--\r\n-two\r".into()),
            FormPiece::Ends,
            FormPiece::Complete,
        ];
        assert_eq!(read(FORM, &[]), Ok(expected));
        let empty = b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\r\n--b--";
        assert_eq!(
            read(empty, &[]),
            Ok(vec![
                head("file", None, None),
                FormPiece::Ends,
                FormPiece::Complete
            ])
        );
    }

    proptest! {
        #[test]
        fn where_a_form_is_cut_does_not_matter(cuts in proptest::collection::vec(0usize..1000, 0..40)) {
            prop_assert_eq!(read(FORM, &cuts), read(FORM, &[]));
        }

        #[test]
        fn any_bytes_come_back_and_any_end_before_the_last_is_refused(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), any::<u8>()], 0..300),
            cuts in proptest::collection::vec(0usize..1000, 0..20),
            end in 0usize..1000,
        ) {
            prop_assume!(memchr::memmem::find(&[b"\r\n", &bytes[..], b"\r\n--b"].concat(), b"\r\n--b") == Some(bytes.len() + 2));
            let form = [b"--b\r\nContent-Disposition: form-data; name=f\r\n\r\n", &bytes[..], b"\r\n--b--"].concat();
            let mut whole = Vec::new();
            for piece in read(&form, &cuts).unwrap() {
                if let FormPiece::Bytes(bytes) = piece { whole.extend_from_slice(&bytes) }
            }
            prop_assert_eq!(&whole, &bytes);
            prop_assert_eq!(read(&form[..end % form.len()], &cuts), Err(FormFault::Unfinished));
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), cuts in proptest::collection::vec(0usize..1000, 0..9)) {
            let _ = read(&bytes, &cuts);
            let _ = read(&[b"--b\r\n", &bytes[..]].concat(), &cuts);
        }
    }

    #[test]
    fn names_are_unquoted_as_browsers_and_others_quote_them() {
        let name = |text: &str| {
            let head = format!("Content-Disposition: form-data; name=file; {text}");
            part(&head).map(|head| head.filename)
        };
        for (text, expected) in [
            (r#"filename="a\"b\\c\d.txt""#, r#"a"b\c\d.txt"#),
            ("filename=\"a%22b%41\"", "a\"b%41"),
            ("filename=plain.txt ; x=y", "plain.txt"),
            (
                "filename=\"x\"; filename*=UTF-8''na%C3%AFve%20.txt",
                "na\u{ef}ve .txt",
            ),
            ("FILENAME=\"\u{e4}\u{f6}\"", "\u{e4}\u{f6}"),
        ] {
            assert_eq!(name(text), Ok(Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_such_form_is_refused() {
        use FormFault::*;
        let head = "Content-Disposition: form-data; name=f";
        for (form, error) in [
            ("x--b\r\n".to_owned(), NoBeginning),
            ("\r\n--b\r\n".to_owned(), NoBeginning),
            ("--b".to_owned(), Unfinished),
            ("--bcd".to_owned(), Torn),
            (format!("--b\r\n{head}\r\n\r\nx\r\n--bxy"), Torn),
            (format!("--b\r\n{head}\r\n\r\nx\r\n--b--\r\nmore"), Rest),
            (format!("--b\r\n{head}\r\n\r\nx\r\n--b--\r\n\r\n"), Rest),
            ("--b\r\n\r\nx\r\n--b--".to_owned(), Nameless),
            (
                "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--".to_owned(),
                Nameless,
            ),
            (
                "--b\r\nContent-Disposition: form-data; filename=x\r\n\r\n".to_owned(),
                Nameless,
            ),
            (
                "--b\r\nContent-Disposition: attachment; name=x\r\n\r\n".to_owned(),
                Nameless,
            ),
            (
                format!("--b\r\n{head}\r\nContent-Type: Multipart/mixed; boundary=c\r\n\r\n"),
                Nested,
            ),
            (format!("--b\r\n{head}\r\n{head}\r\n\r\n"), Head),
            (
                format!("--b\r\n{head}\r\nContent-Type: a/b\r\ncontent-type: a/b\r\n\r\n"),
                Head,
            ),
            (format!("--b\r\n{head}; name=g\r\n\r\n"), Twice),
            (
                format!("--b\r\n{head}; filename=a; FileName=b\r\n\r\n"),
                Twice,
            ),
            (
                format!("--b\r\n{head}\r\nContent-Transfer-Encoding: base64\r\n\r\n"),
                Encoded,
            ),
            (format!("--b\r\n{}", "x".repeat(20_000)), Head),
            (format!("--b\r\n{head}\r\n\r\n\r\n").repeat(65), Parts),
        ] {
            let found = read(form.as_bytes(), &[]);
            assert_eq!(found, Err(error), "{:.60}", form);
        }
    }

    #[test]
    fn boundaries_are_those_of_forms() {
        let boundary =
            |text: &str| boundary_of(text).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(
            boundary("multipart/form-data; boundary=--x").unwrap(),
            "--x"
        );
        assert_eq!(
            boundary("Multipart/Form-Data; charset=a; boundary=\"a b\"").unwrap(),
            "a b"
        );
        for wrong in [
            "multipart/form-data",
            "multipart/mixed; boundary=x",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=\"x",
            "multipart/form-data; boundary=\u{e4}",
            "multipart/form-data; boundary=a; boundary=b",
        ] {
            assert_eq!(boundary(wrong), Err(FormFault::NoBoundary), "{wrong}");
        }
        assert!(boundary(&format!("multipart/form-data; boundary={}", "x".repeat(71))).is_err());
    }
}
