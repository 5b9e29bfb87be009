//! Small phrases that several forms share.

use units::Percent;
pub(crate) use units::{counted, grouped};

/// Shown where nothing is known.
pub(crate) const NOTHING: &str = "-";

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
    fn of_many_names_four_are_told() {
        let names = |n: usize| (0..n).map(|i| format!("r{i}")).collect::<Vec<_>>();
        assert_eq!(some(&names(2)), "r0, r1");
        assert_eq!(some(&names(7)), "r0, r1, r2, r3 and 3 more");
    }
}
