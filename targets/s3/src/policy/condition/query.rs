//! Parameters of a query as the protocol library takes them.

use std::borrow::Cow;

/// A parameter that is given once; twice is as if it were not there, as for the protocol.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let pairs = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut found = pairs
        .filter(|(given, _)| decoded(given) == name)
        .map(|(_, value)| decoded(value));
    found.next().filter(|_| found.next().is_none())
}

/// Without percent signs, and with `+` for a space, as forms have it.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let pair = (*byte == b'%')
            .then(|| digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))))
            .flatten();
        match pair {
            Some((high, low)) => out.push(high << 4 | low),
            None if *byte == b'+' => out.push(b' '),
            None => out.push(*byte),
        }
        at += if pair.is_some() { 3 } else { 1 };
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}
