//! `--dry-run`: what would be done, and nothing is.

use crate::context;
use crate::tell::tell;
use anyhow::Result;
use record::Difference;
use run::{Resolved, TargetKind, dry_run};
use std::collections::BTreeMap;
use units::Bytes;
use workload::{Phase, Stage, Workload, settings};

/// Says it of all phases; the exit code.
pub(super) fn show(stages: &[Stage]) -> Result<i32> {
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
    lines.push("nothing was done: this is a dry run".to_owned());
    tell(&format!("{}\n", lines.join("\n")))?;
    Ok(0)
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
    let usual: BTreeMap<_, _> = settings::shown(&Workload::default()).into_iter().collect();
    let asked: BTreeMap<_, _> = settings::shown(&phase.workload).into_iter().collect();
    let all = settings::shown(&resolved.effective);
    let is_asked = |key: &str| asked.get(key) != usual.get(key);
    let is_other = |key: &str, text: &String| usual.get(key).is_some_and(|usual| usual != text);
    let told = all
        .into_iter()
        .filter(|(key, text)| is_asked(key) || is_other(key, text))
        .map(|(key, text)| format!("  {key} = {text}"));
    lines.extend(told);
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
    lines.push(format!("  {}", ends(&resolved.effective)));
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

fn files(resolved: &Resolved) -> Option<String> {
    let (files, dirs) = (resolved.layout.files.len(), resolved.layout.dirs.len());
    (files + dirs > 0).then(|| format!("  files: {files}, directories: {dirs}"))
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
    let ends = if ends.is_empty() {
        "when all of it is done".to_owned()
    } else {
        ends.join(", or ")
    };
    if stop.warmup.0 > 0 {
        format!("a warm-up of {}; ends {ends}", stop.warmup)
    } else {
        format!("ends {ends}")
    }
}
