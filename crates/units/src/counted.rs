//! How many of something there are, for people.

use std::fmt::Display;

/// A whole number with its digits in groups of three.
#[must_use]
pub fn grouped(n: impl Display) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `n` and the noun, which is that of several where it is not one.
#[must_use]
pub fn counted(n: impl Display, noun: &str) -> String {
    let n = grouped(n);
    if n == "1" {
        return format!("{n} {noun}");
    }
    let stem = noun.strip_suffix('y');
    match stem.filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{n} {stem}ies"),
        None if noun.ends_with('s') || noun.ends_with("sh") => format!("{n} {noun}es"),
        None => format!("{n} {noun}s"),
    }
}

/// The first of several names, and how many there are beside them.
#[must_use]
pub fn few(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {} more", grouped(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_a_few_are_told() {
        let names = ["a", "b", "c", "d"];
        for (most, told) in [
            (5, "a, b, c, d"),
            (4, "a, b, c, d"),
            (3, "a, b, c and 1 more"),
            (1, "a and 3 more"),
        ] {
            assert_eq!(few(&names, most), told);
        }
        assert_eq!(few(&[""; 0], 3), "");
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (126_547, "126,547"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(n), text);
        }
        assert_eq!([counted(1, "row"), counted(0, "row")], ["1 row", "0 rows"]);
        for (noun, several) in [
            ("entry", "entries"),
            ("pass", "passes"),
            ("flush", "flushes"),
            ("key", "keys"),
        ] {
            assert_eq!(counted(1, noun), format!("1 {noun}"));
            assert_eq!(counted(2, noun), format!("2 {several}"));
        }
    }
}
