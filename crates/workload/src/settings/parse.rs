//! Readers of single option values.

use crate::{BlockSizes, Regions, SpecError};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use units::Bytes;

/// A value that may be unset, as it is written.
pub(super) fn option_text<T: Display>(value: &Option<T>) -> Option<String> {
    value.as_ref().map(ToString::to_string)
}

/// The same of a path.
pub(super) fn path_text(value: &Option<PathBuf>) -> Option<String> {
    value.as_ref().map(|path| path.display().to_string())
}

/// A whole number within [low, high].
pub(super) fn number<T: TryFrom<u64>>(
    key: &str,
    text: &str,
    low: u64,
    high: u64,
) -> Result<T, SpecError> {
    text.trim()
        .replace('_', "")
        .parse::<u64>()
        .ok()
        .filter(|n| (low..=high).contains(n))
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| SpecError::Value {
            key: key.into(),
            reason: format!("{text:?} is not a whole number from {low} to {high}"),
        })
}

/// A number within [low, high].
pub(super) fn real(key: &str, value: &str, low: f64, high: f64) -> Result<f64, SpecError> {
    match f64::from_str(value.trim()) {
        Ok(x) if (low..=high).contains(&x) => Ok(x),
        Ok(_) | Err(_) => Err(SpecError::Value {
            key: key.into(),
            reason: format!("{value:?} is not a number from {low} to {high}"),
        }),
    }
}

/// `true` or `false`.
pub(super) fn switch(key: &str, text: &str) -> Result<bool, SpecError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(SpecError::NotOneOf {
            key: key.into(),
            value: text.into(),
            allowed: "true, false".into(),
        }),
    }
}

/// A comma-separated list of words.
pub(super) fn words_list<T>(
    key: &str,
    text: &str,
    word: fn(&str, &str) -> Result<T, SpecError>,
) -> Result<Vec<T>, SpecError> {
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| word(key, part))
        .collect()
}

pub(super) fn show_words<T: Copy>(words: &[T], word: fn(T) -> &'static str) -> Option<String> {
    (!words.is_empty()).then(|| words.iter().map(|w| word(*w)).collect::<Vec<_>>().join(","))
}

/// Adds paths, one a line; a comma or colon is a part of a path.
pub(super) fn add_paths(paths: &mut Vec<PathBuf>, text: &str) {
    for path in text.split('\n').map(PathBuf::from) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}

pub(super) fn show_paths(paths: &[PathBuf]) -> Option<String> {
    (!paths.is_empty()).then(|| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// `STEP/LENGTH`.
pub(super) fn regions(key: &str, text: &str) -> Result<Regions, SpecError> {
    let bytes = |part: &str| {
        Bytes::parse(part).map_err(|source| SpecError::Expected {
            key: key.into(),
            source,
        })
    };
    match text.split_once('/') {
        Some((step, length)) => Ok(Regions {
            step: bytes(step)?,
            length: bytes(length)?,
        }),
        None => Err(SpecError::Value {
            key: key.into(),
            reason: format!("{text:?} is not STEP/LENGTH; write for example 500M/2G"),
        }),
    }
}

/// Text that stands for a number in a name: without a slash, so that no number makes a directory.
pub(super) fn placeholder(key: &str, text: &str) -> Result<String, SpecError> {
    if text.is_empty() || text.contains('/') {
        return Err(SpecError::Value {
            key: key.into(),
            reason: format!("{text:?} is empty or has a slash; write for example {{}}"),
        });
    }
    Ok(text.to_owned())
}

/// `4k`, or `4k/60:64k/40`.
pub(super) fn block_sizes(key: &str, text: &str) -> Result<BlockSizes, SpecError> {
    let bad = |reason: String| SpecError::Value {
        key: key.into(),
        reason,
    };
    let mut sizes = Vec::new();
    for part in text.split(':') {
        let (size, weight) = part.split_once('/').unwrap_or((part, "100"));
        let size = Bytes::parse(size).map_err(|source| SpecError::Expected {
            key: key.into(),
            source,
        })?;
        if size.0 == 0 || size.0 > 1 << 30 {
            return Err(bad(format!("a block of {size} is outside 1 byte to 1 GiB")));
        }
        sizes.push((size, number::<u32>(key, weight, 1, 100)?));
    }
    let total: u32 = sizes.iter().map(|(_, weight)| weight).sum();
    if total != 100 {
        return Err(bad(format!(
            "the weights of {text:?} add to {total}, not 100"
        )));
    }
    let blocks = BlockSizes(sizes);
    let unit = blocks.smallest();
    if let Some((size, _)) = blocks.0.iter().find(|(size, _)| size.0 % unit.0 != 0) {
        return Err(bad(format!(
            "{size} is not a multiple of the smallest block, {unit}"
        )));
    }
    Ok(blocks)
}

pub(super) fn show_blocks(blocks: &BlockSizes) -> String {
    match blocks.0.as_slice() {
        [(size, _)] => size.exact(),
        many => many
            .iter()
            .map(|(size, weight)| format!("{}/{weight}", size.exact()))
            .collect::<Vec<_>>()
            .join(":"),
    }
}
