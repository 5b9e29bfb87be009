//! The values of one place as text, in the shortest of four forms: tokens a line each (`=`), with
//! whole numbers as differences (`-`), and for whole numbers alone all of them on one line (`#`) or
//! their differences (`~`), without anything between them. In the first two a line `*3` means that
//! the token before it comes three times more.

use super::{BETWEEN_TOKENS, add};
use std::borrow::Cow;
use std::mem::replace;
use std::str::{Bytes, Split};

/// No JSON begins with it.
const AGAIN: char = '*';
/// A number on one line is digits to this base, the least first. Those before its last are other
/// characters than its last, so that its end is seen.
const BASE: u128 = 47;
const LAST_DIGIT: u8 = b'!';
const DIGIT_BEFORE: u8 = LAST_DIGIT + 47;
/// No number on one line has more digits, nor any that a column with differences adds up.
const MOST_DIGITS: u32 = 19;

/// A column: its path, its form, and its tokens.
pub(super) fn column_text(path: &str, tokens: &str) -> String {
    let forms = [
        ('=', Some(repeated(tokens.split(BETWEEN_TOKENS)))),
        ('-', differences(tokens)),
        ('#', on_one_line(tokens, |_last, number| Some(number))),
        (
            '~',
            on_one_line(tokens, |last, number| number.checked_sub(last)),
        ),
    ];
    let (form, text) = forms
        .into_iter()
        .filter_map(|(form, text)| Some((form, text?)))
        .min_by_key(|(_, text)| text.len())
        .expect("the first form is always there");
    format!("{path}{BETWEEN_TOKENS}{form}{BETWEEN_TOKENS}{text}")
}

/// The tokens, with those that are as the one before counted instead of written.
fn repeated<'a>(mut tokens: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut next = tokens.next();
    while let Some(token) = next {
        add(&mut text, token);
        let mut again = 0_usize;
        next = tokens.find(|other| {
            let is_alike = *other == token;
            again += usize::from(is_alike);
            !is_alike
        });
        if again > 0 {
            add(&mut text, &format!("{AGAIN}{again}"));
        }
    }
    text
}

/// `None` where a number is so large that it would be read as a difference.
fn differences(tokens: &str) -> Option<String> {
    let mut last = 0_i128;
    let mut differences = String::new();
    for token in tokens.split(BETWEEN_TOKENS) {
        match whole(token) {
            Some(_) => {
                let number = whole_to_write(token)?;
                let difference = number - replace(&mut last, number);
                add(&mut differences, &difference.to_string());
            }
            None => add(&mut differences, token),
        }
    }
    Some(repeated(differences.split(BETWEEN_TOKENS)))
}

/// Whole numbers without anything between them; `None` where a token is none.
fn on_one_line(tokens: &str, of: impl Fn(i128, i128) -> Option<i128>) -> Option<String> {
    let mut last = 0;
    let mut text = String::new();
    for token in tokens.split(BETWEEN_TOKENS) {
        let number = whole_to_write(token)?;
        write_number(of(replace(&mut last, number), number)?, &mut text);
    }
    Some(text)
}

/// Signs are the last bit, so that small numbers are short.
fn write_number(number: i128, text: &mut String) {
    let mut left = number.unsigned_abs() * 2 - u128::from(number < 0);
    let digit = |left: u128, first: u8| {
        char::from(first + u8::try_from(left % BASE).expect("a digit is small"))
    };
    while left >= BASE {
        text.push(digit(left, DIGIT_BEFORE));
        left /= BASE;
    }
    text.push(digit(left, LAST_DIGIT));
}

/// The next number of a line; `None` at its end, or where it is none.
fn read_number(bytes: &mut Bytes) -> Option<i128> {
    let mut number = 0_u128;
    for place in 0..MOST_DIGITS {
        let byte = bytes.next()?;
        let is_last = byte < DIGIT_BEFORE;
        let digit = byte.checked_sub(if is_last { LAST_DIGIT } else { DIGIT_BEFORE })?;
        let digit = Some(u128::from(digit)).filter(|digit| *digit < BASE)?;
        number += digit * BASE.pow(place);
        if is_last {
            let half = i128::try_from(number.div_ceil(2)).ok()?;
            return Some(if number.is_multiple_of(2) {
                half
            } else {
                -half
            });
        }
    }
    None
}

/// The tokens of one place, read one by one out of the text: held apart, short ones would take
/// many times its length.
pub(super) struct PackedColumn<'a> {
    tokens: Tokens<'a>,
    /// The last whole number, where they are differences.
    last: Option<i128>,
}

enum Tokens<'a> {
    Lines {
        lines: Split<'a, char>,
        /// The last that was read, and how often it comes again.
        token: &'a str,
        again: usize,
    },
    Numbers(Bytes<'a>),
}

impl<'a> PackedColumn<'a> {
    /// The path of a column, and what is read of it.
    pub(super) fn of(text: &'a str) -> Option<(&'a str, Self)> {
        let mut lines = text.split(BETWEEN_TOKENS);
        let path = lines.next()?;
        let (is_line, last) = match lines.next()? {
            "=" => (false, None),
            "-" => (false, Some(0)),
            "#" => (true, None),
            "~" => (true, Some(0)),
            _ => return None,
        };
        let tokens = if is_line {
            let numbers = lines.next()?;
            lines
                .next()
                .is_none()
                .then_some(Tokens::Numbers(numbers.bytes()))?
        } else {
            Tokens::Lines {
                lines,
                token: "",
                again: 0,
            }
        };
        Some((path, Self { tokens, last }))
    }

    pub(super) fn next(&mut self) -> Option<Cow<'a, str>> {
        let token = self.tokens.next()?;
        let Some((last, difference)) = self.last.as_mut().zip(whole(&token)) else {
            return Some(token);
        };
        *last = last.checked_add(difference)?;
        Some(last.to_string().into())
    }

    pub(super) fn is_used_up(&self) -> bool {
        match &self.tokens {
            Tokens::Lines { lines, again, .. } => *again == 0 && lines.clone().next().is_none(),
            Tokens::Numbers(bytes) => bytes.len() == 0,
        }
    }
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Cow<'a, str>> {
        let (lines, token, again) = match self {
            Self::Numbers(bytes) => return Some(read_number(bytes)?.to_string().into()),
            Self::Lines {
                lines,
                token,
                again,
            } => (lines, token, again),
        };
        if *again > 0 {
            *again -= 1;
            return Some((*token).into());
        }
        let next = lines.next()?;
        match next.strip_prefix(AGAIN) {
            Some(times) => *again = times.parse::<usize>().ok()?.checked_sub(1)?,
            None => *token = next,
        }
        Some((*token).into())
    }
}

/// Of two of these the difference is one that is read as a number.
fn whole_to_write(token: &str) -> Option<i128> {
    whole(token).filter(|number| number.unsigned_abs() < 1 << 99)
}

/// A token that is a whole number as `to_string` writes it.
fn whole(token: &str) -> Option<i128> {
    let number: i128 = token.parse().ok()?;
    (number.to_string() == token && number.unsigned_abs() < 1 << 100).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<Vec<String>> {
        let (_, mut column) = PackedColumn::of(text)?;
        let mut tokens = Vec::new();
        while !column.is_used_up() {
            tokens.push(column.next()?.into_owned());
        }
        Some(tokens)
    }

    #[test]
    fn a_column_has_the_form_that_is_shortest() {
        let text = |tokens: &[&str]| column_text("p", &tokens.join("\n"));
        assert_eq!(
            text(&["true", "true", "true", "null"]),
            "p\n=\ntrue\n*2\nnull"
        );
        assert_eq!(text(&["1000", "1001", "1002", "x"]), "p\n-\n1000\n1\n*1\nx");
        assert_eq!(text(&["3", "0", "-1", "23", "24"]), "p\n#\n'!\"OQ\"");
        assert_eq!(text(&["100000", "100001", "100003"]), "p\n~\n_i{\"#%");
    }

    #[test]
    fn what_is_no_column_is_read_as_none() {
        for text in [
            "p",
            "p\n?\n1",
            "p\n=\n1\n*0",
            "p\n=\n1\n*x",
            "p\n#",
            "p\n#\nQ",
            "p\n#\n \n",
            "p\n#\n!\n!",
            "p\n~\n\u{7f}",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        // Digits without an end.
        assert_eq!(read(&format!("p\n#\n{}!", "~".repeat(40))), None);
    }

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(
            numbers in prop::collection::vec(
                prop_oneof![Just(5), -100..100_i128, -(1_i128 << 100) + 1..1 << 100],
                1..20,
            ),
            word in prop::option::of("[a-z]"),
        ) {
            let mut tokens: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            tokens.extend(word);
            let text = column_text("p", &tokens.join("\n"));
            prop_assert_eq!(read(&text), Some(tokens), "{}", text);
        }
    }
}
