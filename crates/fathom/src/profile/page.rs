//! What a profile says when it has ended.

use analyze::Study;
use lab::WhyEnded;
use lab::profile::{ProfileRequest, Profiled};
use report::{Page, study_text};
use std::path::Path;
use units::Nanos;

/// The whole result as text.
pub(super) fn page(
    request: &ProfileRequest,
    profiled: &Profiled,
    study: &Study,
    kept: Option<&Path>,
) -> String {
    let mut page = Page::default();
    page.wrapped(
        "",
        2,
        &format!(
            "Profile of {}{}: {}.",
            request.path.display(),
            under(profiled),
            course(profiled)
        ),
    );
    page.gap();
    for note in profiled.notes.iter().chain(&engines(profiled)) {
        page.wrapped("- ", 2, note);
    }
    for left in &profiled.left_out {
        page.wrapped(
            "- ",
            2,
            &format!("not measured: {} ({})", left.reason, some_of(&left.rows)),
        );
    }
    page.gap();
    let mut out = page.finish();
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&study_text(study));
    out.push('\n');
    out.push_str(&match kept {
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
fn under(profiled: &Profiled) -> String {
    let Some(storage) = profiled
        .records
        .iter()
        .find_map(|record| record.environment.storage.as_ref())
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
fn course(profiled: &Profiled) -> String {
    let (planned, complete) = (profiled.plan.most_passes, profiled.complete_passes());
    let slot = shown(profiled.slot, 1_000_000);
    let elapsed = shown(profiled.elapsed, 100_000_000);
    let (rows, seed) = (profiled.plan.rows.len(), profiled.plan.seed);
    let plan = format!(
        "{rows} rows in {planned} passes of random order (--order-seed {seed}), {slot} measured each time"
    );
    let fewest = stats::FEWEST_BLOCKS;
    let few = if (complete as usize) < fewest {
        format!("; an interval needs {fewest} passes")
    } else {
        String::new()
    };
    match &profiled.why {
        WhyEnded::Passes | WhyEnded::Decided => format!("{plan}; took {elapsed}{few}"),
        WhyEnded::Budget => {
            format!(
                "{plan} were planned; the time was up after {complete} passes and {elapsed}{few}: give more with --budget"
            )
        }
        WhyEnded::Signal => format!(
            "{plan} were planned; stopped by a signal after {complete} complete passes and {elapsed}{few}"
        ),
        WhyEnded::Failed(why) => {
            format!("{plan} were planned; ended after {complete} complete passes because {why}")
        }
    }
}

/// A time cut to a multiple of `unit_ns`.
fn shown(time: Nanos, unit_ns: u64) -> Nanos {
    Nanos(time.0 / unit_ns * unit_ns)
}

/// Which engine measured which rows.
fn engines(profiled: &Profiled) -> Option<String> {
    let mut by_engine: Vec<(String, Vec<String>)> = Vec::new();
    for row in &profiled.plan.rows {
        let of_row = |record: &&record::Record| record.name == row.name;
        let Some(engine) = profiled
            .records
            .iter()
            .find(of_row)
            .and_then(|record| record.effective.get("engine"))
        else {
            continue;
        };
        match by_engine.iter_mut().find(|(known, _)| known == engine) {
            Some((_, rows)) => rows.push(row.name.clone()),
            None => by_engine.push((engine.clone(), vec![row.name.clone()])),
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
