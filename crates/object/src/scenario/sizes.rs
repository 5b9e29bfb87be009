//! Sizes of objects: `4KiB`, `1KiB/50:10KiB/30:1MiB/20` (weights), `4KiB-64KiB` (uniform),
//! `lognormal(64KiB,1.5)` (median, sigma).

use crate::LoadError;
use crate::weighted::Weighted;
use units::Bytes;
use units::lossless::f64_to_u64_saturating;
use units::random::Random;

/// The largest object of S3.
const MOST_BYTES: u64 = 5 << 40;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SizeLaw {
    /// Least and greatest size, and weight.
    Ranges(Vec<(u64, u64, f64)>),
    LogNormal {
        median: u64,
        sigma: f64,
    },
}

/// A law of sizes, with the text it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSizes {
    pub(crate) text: String,
    pub(crate) law: SizeLaw,
}

impl ObjectSizes {
    /// Reads a law.
    ///
    /// # Errors
    /// The text is none; the error says what one looks like.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let refused = |why: &str| {
            LoadError::asked(format!(
                "size {text:?}: {why}; examples: 4KiB, 1KiB/50:10KiB/30:1MiB/20 (weights), 4KiB-64KiB (range), lognormal(64KiB,1.5) (median, sigma)"
            ))
        };
        let size = |text: &str| -> Result<u64, String> {
            let bytes = Bytes::parse(text).map_err(|e| e.to_string())?.0;
            if bytes > MOST_BYTES {
                Err(format!("{text} is more than 5 TiB, the largest object"))
            } else {
                Ok(bytes)
            }
        };
        let trimmed = text.trim();
        if let Some(inside) = trimmed
            .strip_prefix("lognormal(")
            .and_then(|rest| rest.strip_suffix(')'))
        {
            let (median, sigma) = inside
                .split_once(',')
                .ok_or_else(|| refused("a log-normal law has a median and a sigma"))?;
            let median = size(median.trim()).map_err(|why| refused(&why))?;
            let sigma: f64 = sigma
                .trim()
                .parse()
                .map_err(|_not_a_number| refused("sigma is no number"))?;
            if median == 0 || !(0.0..=5.0).contains(&sigma) {
                return Err(refused("the median is above 0, and sigma from 0 to 5"));
            }
            return Ok(Self {
                text: trimmed.to_owned(),
                law: SizeLaw::LogNormal { median, sigma },
            });
        }
        let mut ranges = Vec::new();
        for part in trimmed.split(':') {
            let (sizes, weight) = part.split_once('/').map_or((part, 1.0), |(sizes, weight)| {
                (sizes, weight.trim().parse().unwrap_or(-1.0))
            });
            let (low, high) = sizes.split_once('-').unwrap_or((sizes, sizes));
            let (low, high) = (
                size(low.trim()).map_err(|why| refused(&why))?,
                size(high.trim()).map_err(|why| refused(&why))?,
            );
            if !(weight > 0.0 && f64::is_finite(weight)) {
                return Err(refused("a weight is a number above 0"));
            }
            if low > high {
                return Err(refused("a range begins with its least size"));
            }
            ranges.push((low, high, weight));
        }
        Ok(Self {
            text: trimmed.to_owned(),
            law: SizeLaw::Ranges(ranges),
        })
    }

    /// The one size, where there is one.
    #[must_use]
    pub fn only(&self) -> Option<u64> {
        match &self.law {
            SizeLaw::Ranges(ranges) => match ranges.as_slice() {
                [(low, high, _)] if low == high => Some(*low),
                _ => None,
            },
            SizeLaw::LogNormal { .. } => None,
        }
    }

    /// The mean size in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.law {
            SizeLaw::Ranges(ranges) => {
                let total: f64 = ranges.iter().map(|(_, _, weight)| weight).sum();
                ranges
                    .iter()
                    .map(|(low, high, weight)| (*low as f64 + *high as f64) / 2.0 * weight)
                    .sum::<f64>()
                    / total
            }
            SizeLaw::LogNormal { median, sigma } => *median as f64 * (sigma * sigma / 2.0).exp(),
        }
    }
}

/// A law ready to draw from.
#[derive(Clone, Debug)]
pub(crate) struct SizeDraw {
    law: SizeLaw,
    parts: Option<Weighted>,
}

impl SizeDraw {
    pub(crate) fn new(sizes: &ObjectSizes) -> Self {
        let parts = match &sizes.law {
            SizeLaw::Ranges(ranges) if ranges.len() > 1 => {
                Weighted::new(ranges.iter().map(|(_, _, weight)| *weight))
            }
            SizeLaw::Ranges(_) | SizeLaw::LogNormal { .. } => None,
        };
        Self {
            law: sizes.law.clone(),
            parts,
        }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        match &self.law {
            SizeLaw::Ranges(ranges) => {
                let (low, high, _) =
                    ranges[self.parts.as_ref().map_or(0, |parts| parts.draw(random))];
                if low == high {
                    low
                } else {
                    low + random.below(high - low + 1)
                }
            }
            SizeLaw::LogNormal { median, sigma } => {
                f64_to_u64_saturating((*median as f64 * (sigma * random.normal()).exp()).round())
                    .clamp(1, MOST_BYTES)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draws(text: &str, n: usize) -> Vec<u64> {
        let draw = SizeDraw::new(&ObjectSizes::parse(text).unwrap());
        let mut random = Random::stream(9, 9);
        (0..n).map(|_| draw.draw(&mut random)).collect()
    }

    #[test]
    fn every_law_draws_what_it_says() {
        assert!(draws("4KiB", 10).iter().all(|size| *size == 4096));
        let listed = draws("1KiB/75:1MiB/25", 10_000);
        let small = listed.iter().filter(|size| **size == 1024).count();
        assert!(
            (7250..7750).contains(&small)
                && listed.iter().all(|size| [1024, 1 << 20].contains(size))
        );
        let ranged = draws("10-20", 10_000);
        assert!(
            (10..=20).all(|size| ranged.contains(&size))
                && ranged.iter().all(|size| (10..=20).contains(size))
        );
        let mut normal = draws("lognormal(64KiB,1.5)", 10_001);
        normal.sort_unstable();
        assert!((0.9..1.1).contains(&(normal[5000] as f64 / 65_536.0)));
    }

    #[test]
    fn means_are_exact() {
        assert_eq!(
            ObjectSizes::parse("1000/50:3000/50").unwrap().mean(),
            2000.0
        );
        assert_eq!(ObjectSizes::parse("0-10").unwrap().mean(), 5.0);
        assert_eq!(ObjectSizes::parse("4KiB").unwrap().only(), Some(4096));
        assert_eq!(ObjectSizes::parse("4KiB-8KiB").unwrap().only(), None);
    }

    #[test]
    fn what_is_no_law_is_refused_with_examples() {
        for text in [
            "",
            "4KB",
            "x",
            "4KiB/0",
            "4KiB/x",
            "8KiB-4KiB",
            "6TiB",
            "lognormal(4KiB)",
            "lognormal(0,1)",
            "lognormal(4KiB,9)",
        ] {
            let error = ObjectSizes::parse(text).unwrap_err();
            assert!(
                error.to_string().contains("examples: 4KiB"),
                "{text}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _any = ObjectSizes::parse(&text);
        }
    }
}
