//! Small phrases that several forms share.

use std::fmt::Display;
use units::Percent;

/// Shown where nothing is known.
pub(crate) const NOTHING: &str = "-";

/// A whole number with its digits in groups of three.
pub(crate) fn grouped(n: impl Display) -> String {
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

/// `n` and the noun, with an s where it is not one.
pub(crate) fn counted(n: impl Display, noun: &str) -> String {
    let n = grouped(n);
    let s = if n == "1" { "" } else { "s" };
    format!("{n} {noun}{s}")
}

/// A share as a percentage with at most one decimal.
pub(crate) fn share(part: f64) -> String {
    Percent((part * 1000.0).round() / 10.0).to_string()
}

/// Up to four names, and how many more.
pub(crate) fn some(names: &[String]) -> String {
    const MOST: usize = 4;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn of_many_names_four_are_told() {
        let names = |n: usize| (0..n).map(|i| format!("r{i}")).collect::<Vec<_>>();
        assert_eq!(some(&names(2)), "r0, r1");
        assert_eq!(some(&names(7)), "r0, r1, r2, r3 and 3 more");
    }
}
