//! `--dry-run`: what would be done, and nothing is.

use crate::{context, dry_run as told};
use anyhow::Result;
use record::Difference;
use run::{Resolved, TargetKind, dry_run};
use std::collections::BTreeMap;
use units::Bytes;
use workload::{Phase, Stage, Workload, settings};

/// Says it of all phases; the exit code.
pub(super) fn show(stages: &[Stage], results: &[String]) -> Result<i32> {
    let context = context::bare_context();
    let mut lines = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        for phase in &stage.0 {
            // Later stages may use what earlier ones make.
            let (resolved, fill) = if number == 0 {
                let planned = dry_run(phase, &context)?;
                (planned.resolved, Some(planned.fill_bytes))
            } else {
                (run::resolve(&phase.workload, &context.machine)?, None)
            };
            lines.extend(of_phase(phase, &resolved, fill));
        }
    }
    told::show(lines, results)
}

/// What is asked or is not as usual, what would be written, and how long it takes.
fn of_phase(phase: &Phase, resolved: &Resolved, fill: Option<u64>) -> Vec<String> {
    let targets: Vec<String> = phase
        .workload
        .targets
        .iter()
        .map(|target| target.display().to_string())
        .collect();
    let on = match targets.is_empty() {
        true => String::new(),
        false => format!(" {}", targets.join(", ")),
    };
    let mut lines = vec![format!("{}:{on} ({})", phase.name, resolved.kind.word())];
    let shown = |workload: &Workload| -> BTreeMap<String, String> {
        let all = settings::shown(workload).into_iter();
        all.map(|(key, text)| (key.to_owned(), text)).collect()
    };
    let (usual, asked) = (shown(&Workload::default()), shown(&phase.workload));
    let is_asked = |key: &str| asked.get(key) != usual.get(key);
    let effective = settings::shown(&resolved.effective);
    let known = effective
        .into_iter()
        .filter(|(key, _)| usual.contains_key(*key) || is_asked(key))
        .map(|(key, text)| (key.to_owned(), text));
    lines.extend(told::settings(&usual, is_asked, known));
    lines.push("  all other options as usual".to_owned());
    lines.extend(resolved.differences.iter().map(difference));
    lines.extend(
        resolved
            .notices
            .iter()
            .map(|note| format!("  note: {note}")),
    );
    lines.extend(files(resolved));
    lines.push(format!("  {}", writes(resolved, fill)));
    lines.push(ends(&resolved.effective));
    lines
}

fn difference(of: &Difference) -> String {
    let show = |text: &Option<String>| text.clone().unwrap_or_else(|| "unset".into());
    format!(
        "  asked {} {}, effective {}: {}",
        of.key,
        show(&of.asked),
        show(&of.effective),
        of.reason
    )
}

/// So many files are named.
const MOST_NAMED: usize = 4;

fn files(resolved: &Resolved) -> Option<String> {
    let layout = &resolved.layout;
    let (files, dirs) = (layout.files.len(), layout.dirs.len());
    let names: Vec<String> = layout
        .files
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    let dirs = match dirs {
        0 => String::new(),
        _ => format!("; directories: {dirs}"),
    };
    (files > 0).then(|| format!("  files: {files}, {}{dirs}", units::few(&names, MOST_NAMED)))
}

/// What would be written to the targets, and when.
fn writes(resolved: &Resolved, fill: Option<u64>) -> String {
    if resolved.kind == TargetKind::Nothing {
        return "no target is touched".to_owned();
    }
    let effective = &resolved.effective;
    let before = match fill {
        Some(0) => "nothing is written before the measured time",
        Some(bytes) => return with_fill(effective, bytes),
        None => "what is written before the measured time depends on the phases before",
    };
    format!("{before}; {}", during(effective))
}

fn with_fill(effective: &Workload, bytes: u64) -> String {
    format!(
        "{} are written before the measured time, into files that are new or shorter than asked; {}",
        Bytes(bytes),
        during(effective)
    )
}

fn during(effective: &Workload) -> &'static str {
    if !effective.files.meta.is_empty() {
        "then names are made, looked at and removed as --meta says"
    } else if effective.read_percent().is_ok_and(|read| read >= 100.0) {
        "then it only reads"
    } else {
        "then it writes over what is there"
    }
}

/// When it ends, as far as that is known before.
fn ends(effective: &Workload) -> String {
    let stop = &effective.stop;
    let time = stop.duration.filter(|time| time.0 > 0);
    let ends: Vec<String> = [
        time.map(|time| format!("after {time} of measured time")),
        stop.total_bytes
            .map(|bytes| format!("when {bytes} have been moved")),
        stop.complete
            .then(|| "when everything has been taken once".to_owned()),
        stop.stonewall
            .at
            .map(|at| format!("at the stonewall after {at}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    told::ends(stop.warmup, &ends)
}
