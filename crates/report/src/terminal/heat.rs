//! Which parts of the target were used, as a line of shares.

use super::page::{Page, share};
use record::Coverage;
use units::Bytes;

/// Columns of the heat map.
const COLUMNS: usize = 64;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What an even share of the uses looks like.
const EVEN: char = '▄';

/// The line, where anything was counted.
pub(super) fn write(page: &mut Page, coverage: &Coverage) {
    if coverage.buckets.iter().all(|uses| *uses == 0) {
        return;
    }
    let map = heat(
        &coverage.buckets,
        page.width().saturating_sub(18).min(COLUMNS),
    );
    let end = Bytes(coverage.block_bytes.saturating_mul(coverage.blocks)).to_string();
    page.fact("heat map", &format!("|{map}|").replace(' ', "·"));
    let width = map.chars().count().saturating_sub(1);
    page.line(&format!("{:14} 0{end:>width$}", ""));
    let columns = map.chars().count();
    let shares = shares_of(&coverage.buckets, columns);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let even = 1.0 / shares.len().max(1) as f64;
    let text = format!(
        "{EVEN} is an even share of the uses ({}), and each step twice the one below; the most that a column has is {}",
        share(even),
        share(most)
    );
    page.wrapped(&" ".repeat(15), 15, &text);
}

/// The shares of the uses that fall into so many equal parts of the range.
fn shares_of(buckets: &[u64], columns: usize) -> Vec<f64> {
    let parts = (0..columns).map(|column| {
        &buckets[column * buckets.len() / columns..(column + 1) * buckets.len() / columns]
    });
    // Parts of one bucket more than others have no more for that.
    let means: Vec<f64> = parts
        .map(|part| part.iter().map(|uses| *uses as f64).sum::<f64>() / part.len() as f64)
        .collect();
    let all: f64 = means.iter().sum();
    means.iter().map(|mean| mean / all).collect()
}

/// One character for each part of the range: blank where nothing was used, else by its share of the
/// uses. Against the most used part all others would look alike where access is skewed, so each
/// step is twice the one below, and the middle is an even share.
fn heat(buckets: &[u64], columns: usize) -> String {
    let shares = shares_of(buckets, buckets.len().min(columns));
    let middle = LEVELS.iter().position(|level| *level == EVEN).unwrap_or(0);
    let level = |of: f64| {
        let step = (of * shares.len() as f64).log2().round() + middle as f64;
        let rank = units::lossless::f64_to_u64_saturating(step.max(0.0));
        LEVELS[units::lossless::to_usize(rank).min(LEVELS.len() - 1)]
    };
    shares
        .iter()
        .map(|of| if *of > 0.0 { level(*of) } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_is_blank_where_nothing_was_used_and_else_a_share_in_doubling_steps() {
        assert_eq!(heat(&[0, 1, 80, 40], COLUMNS), " ▁▅▄");
        assert_eq!(heat(&[100, 104, 97, 99], COLUMNS), "▄▄▄▄");
        let mut skewed = vec![1; 64];
        (skewed[0], skewed[1], skewed[2]) = (400, 100, 25);
        assert_eq!(&heat(&skewed, COLUMNS)[..12], "█▇▅▁");
        let many: Vec<u64> = (0..1000).map(|i| u64::from(i < 500)).collect();
        let map = heat(&many, COLUMNS);
        assert_eq!(
            (map.chars().count(), map.matches('▅').count()),
            (COLUMNS, COLUMNS / 2)
        );
        assert_eq!(heat(&many, 24).chars().count(), 24);
        assert_eq!(heat(&[], COLUMNS), "");
    }
}
