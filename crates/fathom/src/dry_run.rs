//! `--dry-run` of runs and loads alike: what would be done, and nothing is.

use crate::tell::tell;
use anyhow::Result;
use std::collections::BTreeMap;
use units::Nanos;

/// Says what would be measured and where its results would go; the exit code.
pub(crate) fn show(mut lines: Vec<String>, results: &[String]) -> Result<i32> {
    lines.extend(results.iter().cloned());
    lines.push("nothing was done: this is a dry run".to_owned());
    tell(&format!("{}\n", lines.join("\n")))?;
    Ok(0)
}

/// A line for every setting that was asked or is not as usual, and that all others are.
pub(crate) fn settings(
    usual: &BTreeMap<String, String>,
    is_asked: impl Fn(&str) -> bool,
    effective: impl IntoIterator<Item = (String, String)>,
) -> Vec<String> {
    let is_told = |key: &str, text: &String| is_asked(key) || usual.get(key) != Some(text);
    effective
        .into_iter()
        .filter(|(key, text)| is_told(key, text))
        .map(|(key, text)| format!("  {key} = {text}"))
        .collect()
}

/// When it ends, of all ways in which it can.
pub(crate) fn ends(warmup: Nanos, ends: &[String]) -> String {
    let ends = match ends {
        [] => "when all of it is done".to_owned(),
        ends => ends.join(", or "),
    };
    match warmup.0 {
        0 => format!("  ends {ends}"),
        _ => format!("  a warm-up of {warmup}; ends {ends}"),
    }
}
