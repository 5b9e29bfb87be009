//! Whether a word was drawn by a machine, as keys are, or is made of words, numbers and dates, as names of
//! objects are. A name that is taken for a key is only not recorded, so doubt counts as drawn.

/// A word with so many letters and digits may be a key.
const LONG: usize = 20;
/// So many of them, in parts that are neither words nor numbers, are drawn in a long word.
const DRAWN_OF_LONG: usize = 8;
/// So many are drawn in any word.
const DRAWN: usize = 16;
/// Digits of a date with its time. What is longer is no number that somebody wrote.
const MOST_DIGITS: usize = 14;
/// No word of a language has more consonants in a row, but for a few.
const MOST_CONSONANTS: usize = 5;
/// Lengths of the parts of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Whether a word, with whatever parts it in itself (`-`, `_`, `:`, `~`, `.`), was drawn.
pub(crate) fn is_drawn(word: &str) -> bool {
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let all: usize = parts.iter().map(|part| part.len()).sum();
    let drawn = parts.iter().filter(|part| !is_plain(part));
    let drawn: usize = drawn.map(|part| part.len()).sum();
    drawn >= DRAWN || all >= LONG && drawn >= DRAWN_OF_LONG || has_uuid(&parts)
}

/// Whether a value is made of short words and numbers alone, none of which has both letters and digits.
pub(crate) fn is_of_words_and_numbers(value: &str) -> bool {
    let may = |c: char| c.is_ascii_alphanumeric() || "-_./+%".contains(c);
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    value.chars().all(may)
        && parts.all(|part| is_short_number(part) || is_of_letters(part) && is_words(part))
}

/// As identifiers are that count.
pub(crate) fn is_short_number(text: &str) -> bool {
    text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_uuid(parts: &[&str]) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut fives = parts.windows(UUID.len());
    fives.any(|five| {
        let mut both = five.iter().zip(UUID);
        both.all(|(part, length)| part.len() == length && is_hex(part))
    })
}

fn is_of_letters(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a part without a separator is a word, a number, or a word with its number: `v2`, `10GiB`,
/// `sha256sum`, `20261127T120000Z`.
fn is_plain(part: &str) -> bool {
    let runs = runs(part);
    let is_time = matches!(runs.as_slice(), [_, "T", _] | [_, "T", _, "Z"]);
    let is_between = |run: &&str| match is_of_letters(run) {
        true => run.len() > 2 && run.bytes().all(|byte| byte.is_ascii_lowercase()),
        false => run.len() < 5,
    };
    let has_few = runs.len() < 3 || runs.len() == 3 && runs.iter().all(is_between);
    let is_run = |run: &&str| match is_of_letters(run) {
        true => is_words(run),
        false => run.len() <= MOST_DIGITS,
    };
    let is_short = part.len() < LONG || runs.len() == 1;
    is_short && (has_few || is_time) && runs.iter().all(is_run)
}

/// Its longest parts of letters alone or digits alone.
fn runs(part: &str) -> Vec<&str> {
    let bytes = part.as_bytes();
    let alike = |a: u8, b: u8| a.is_ascii_digit() == b.is_ascii_digit();
    let mut out = Vec::new();
    let mut from = 0;
    for at in 1..=bytes.len() {
        if at == bytes.len() || !alike(bytes[at - 1], bytes[at]) {
            out.push(&part[from..at]);
            from = at;
        }
    }
    out
}

/// Whether letters are a word, or several as `ReportOfMay` has them.
fn is_words(letters: &str) -> bool {
    if letters.len() < 5 {
        return true;
    }
    let is_upper = |byte: &u8| byte.is_ascii_uppercase();
    let bytes = letters.as_bytes();
    let words = 1 + bytes[1..].iter().filter(|byte| is_upper(byte)).count();
    let is_one = bytes.iter().all(is_upper) || words == 1;
    let is_several =
        bytes.windows(2).all(|two| !two.iter().all(is_upper)) && letters.len() >= 3 * words;
    let vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let consonants = letters.split(vowel).map(str::len).max().unwrap_or(0);
    consonants <= MOST_CONSONANTS && (is_one && letters.len() < LONG || is_several && words > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_drew_is_known_with_and_without_separators() {
        for word in [
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "report-12345678-1234-1234-1234-123456789012.pdf",
            "bot110201543:AAHdqTcvCH1vGWJx-eSeofSAs0K5PALDsaw",
            "ABC_DEF1234ghIkl_zyx57W2v1u12_3ew1",
            "qzjwkxhvbnmtrplkdsgfycaeio",
            "aeiouaeiouaeiouaeiou",
            "qWeRtYuIoPaSdFgHjKlZxCvBnM",
            "01234567890123456789",
            "0123456789abcdef0123",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp~16C7e42F292c6912E7.710c838347Ae178B4a",
        ] {
            assert!(is_drawn(word), "{word}");
        }
    }

    #[test]
    fn names_of_objects_are_words_numbers_and_dates() {
        for word in [
            "my-bucket-2026-11-27",
            "benchmark-2026-11-27-objects",
            "report_final_v2",
            "build-artifacts",
            "FinalReportOfTheBenchmark.pdf",
            "part-00000-c000.snappy.parquet",
            "IMG_20261127_120000.jpg",
            "20261127T120000Z-backup-of-volume",
            "x86_64-unknown-linux-gnu",
            "ubuntu-24.04.1-live-server-amd64.iso",
            "sha256sum-of-all-files-v1.txt",
            "bench-10GiB-object-000017",
            "events-1764201600000-0001.json",
            "application/vnd.github.v3+json",
            "Mozilla/5.0",
            "",
        ] {
            assert!(!is_drawn(word), "{word}");
        }
    }

    #[test]
    fn words_and_numbers_are_no_mix_of_both() {
        for value in [
            "",
            "5",
            "logs/2026/11/",
            "two+words",
            "my-bucket",
            "May_2026",
        ] {
            assert!(is_of_words_and_numbers(value), "{value}");
        }
        for value in ["hunter2", "1234567890", "a:b", "a@b", "x=y", "qzjwkxhv"] {
            assert!(!is_of_words_and_numbers(value), "{value}");
        }
    }
}
