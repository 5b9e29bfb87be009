//! What a profile says when it has ended.

use crate::words::counted;
use crate::{Page, TextLayout, closing_answer, study_text};
use analyze::Study;
use record::Record;
use std::path::Path;
use units::Nanos;

/// A profile as its text needs it.
#[derive(Clone, Copy, Debug)]
pub struct ProfileAccount<'a> {
    /// What was profiled.
    pub path: &'a Path,
    pub records: &'a [Record],
    /// By name, in the order of the plan.
    pub rows: &'a [&'a str],
    pub passes: u32,
    /// Passes that are complete in every row.
    pub complete_passes: u32,
    pub order_seed: u64,
    /// Measured time of one slot.
    pub slot: Nanos,
    pub elapsed: Nanos,
    pub end: ProfileEnd<'a>,
    pub notes: &'a [String],
    /// Rows that were not measured, and why.
    pub left_out: &'a [(&'a [String], &'a str)],
    /// The file that keeps the records.
    pub kept: Option<&'a Path>,
    pub layout: TextLayout,
}

/// How a profile ended.
#[derive(Clone, Copy, Debug)]
pub enum ProfileEnd<'a> {
    Complete,
    OutOfTime,
    Stopped,
    Failed(&'a str),
}

/// The whole result as text.
#[must_use]
pub fn profile_text(profile: &ProfileAccount<'_>, study: &Study) -> String {
    let mut page = Page::new(profile.layout);
    page.wrapped(
        "",
        2,
        &format!(
            "Profile of {}{}: {}.",
            profile.path.display(),
            under(profile.records),
            course(profile)
        ),
    );
    page.gap();
    for note in profile.notes.iter().chain(&engines(profile)) {
        page.wrapped("- ", 2, note);
    }
    for (rows, reason) in profile.left_out {
        page.wrapped(
            "- ",
            2,
            &format!("not measured: {reason} ({})", some_of(rows)),
        );
    }
    page.gap();
    let mut out = page.finish();
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&study_text(study, profile.layout));
    out.push('\n');
    // On a terminal the last lines are what is seen.
    if profile.layout.columns.is_some() {
        out.push_str(&closing_answer(study, profile.layout));
    }
    out.push_str(&match profile.kept {
        Some(file) => format!(
            "The records are in {0}; `fathom report {0} -o FILE.html` shows them.\n",
            file.display()
        ),
        None => {
            "The records are not kept; -o FILE.jsonl keeps them for report, compare and audit.\n"
                .to_owned()
        }
    });
    out
}

/// File system and device.
fn under(records: &[Record]) -> String {
    let Some(storage) = records
        .iter()
        .find_map(|record| record.generator().environment.storage.as_ref())
    else {
        return String::new();
    };
    let file_system = storage.file_system.as_ref().map(|found| found.kind.clone());
    let device = storage.device.as_ref().map(|device| {
        let name = device
            .name
            .clone()
            .unwrap_or_else(|| format!("{}:{}", device.major, device.minor));
        device
            .model
            .as_ref()
            .map_or(name.clone(), |model| format!("{name} ({model})"))
    });
    let parts: Vec<String> = file_system.into_iter().chain(device).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(" on "))
    }
}

/// How the profile went and ended.
fn course(profile: &ProfileAccount<'_>) -> String {
    let (planned, complete) = (profile.passes, profile.complete_passes);
    let slot = shown(profile.slot, 1_000_000);
    let elapsed = shown(profile.elapsed, 100_000_000);
    let (rows, seed) = (profile.rows.len(), profile.order_seed);
    let plan = format!(
        "{} in {} of random order (--order-seed {seed}), {slot} measured each time",
        counted(rows, "row"),
        passes(planned)
    );
    let fewest = stats::FEWEST_BLOCKS;
    let few = if (complete as usize) < fewest {
        format!("; an interval needs {fewest} passes")
    } else {
        String::new()
    };
    match profile.end {
        ProfileEnd::Complete => format!("{plan}; took {elapsed}{few}"),
        ProfileEnd::OutOfTime => {
            format!(
                "{plan} were planned; the time was up after {} and {elapsed}{few}: give more with --budget",
                passes(complete)
            )
        }
        ProfileEnd::Stopped => format!(
            "{plan} were planned; stopped by a signal after {} and {elapsed}{few}",
            counted(complete, "complete pass")
        ),
        ProfileEnd::Failed(why) => {
            let complete = counted(complete, "complete pass");
            format!("{plan} were planned; ended after {complete} because {why}")
        }
    }
}

fn passes(count: u32) -> String {
    counted(count, "pass")
}

/// A time cut to a multiple of `unit_ns`.
fn shown(time: Nanos, unit_ns: u64) -> Nanos {
    Nanos(time.0 / unit_ns * unit_ns)
}

/// Which engine measured which rows.
fn engines(profile: &ProfileAccount<'_>) -> Option<String> {
    let mut by_engine: Vec<(String, Vec<String>)> = Vec::new();
    for row in profile.rows {
        let of_row = |record: &&Record| record.name == *row;
        let Some(engine) = profile
            .records
            .iter()
            .find(of_row)
            .and_then(|record| record.effective.get("engine"))
        else {
            continue;
        };
        match by_engine.iter_mut().find(|(known, _)| known == engine) {
            Some((_, rows)) => rows.push((*row).to_owned()),
            None => by_engine.push((engine.clone(), vec![(*row).to_owned()])),
        }
    }
    let texts: Vec<String> = by_engine
        .iter()
        .map(|(engine, rows)| format!("{engine} ({})", some_of(rows)))
        .collect();
    (!texts.is_empty()).then(|| format!("engines: {}", texts.join(", ")))
}

/// Rows by name, a few of many.
fn some_of(rows: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = rows[..rows.len().min(SHOWN)].join(", ");
    if rows.len() > SHOWN {
        format!("{} rows: {shown}, …", rows.len())
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_rows_a_few_are_named() {
        let rows = |n: usize| (0..n).map(|i| format!("r{i}")).collect::<Vec<_>>();
        assert_eq!(some_of(&rows(2)), "r0, r1");
        assert_eq!(some_of(&rows(7)), "7 rows: r0, r1, r2, …");
    }
}
