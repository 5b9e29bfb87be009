//! `fathom lab plan`: what an experiment will do, before it does anything.

use crate::compare::{cost_of, seen_by};
use crate::tell::tell;
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::PlanExperiment;
use record::{Role, Stopping};
use stats::LOOKS;
use std::fmt::Write as _;
use units::Nanos;

pub(super) fn command() -> Command {
    let about =
        "Says what an experiment will do and what it could see; builds, starts and leaves nothing";
    let command = Command::new("plan").about(about).after_help(
        "Examples:\n  fathom lab plan experiments/unpack.toml\n\nExit codes: 0 it can be measured; 2 it cannot",
    );
    super::which(command)
}

pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    // A repository that does not answer is waited for, and nothing of that is left.
    sys::catch_signals();
    sys::adopt_orphans();
    let (experiment, records) = super::experiment(matches, None)?;
    tell(text(&experiment, &records.display().to_string()).trim_end())?;
    Ok(0)
}

/// Everything that is known before the first slot.
pub(super) fn text(experiment: &PlanExperiment, records: &str) -> String {
    let facts = &experiment.facts;
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _infallible = writeln!(out, "{name:<12}{value}");
    };
    line(
        "experiment",
        format!("{} (plan {})", facts.name, facts.hash()),
    );
    if !experiment.file.question.is_empty() {
        line("question", experiment.file.question.clone());
    }
    line(
        "metric",
        format!(
            "{}, margin {:.1} %",
            experiment.metric.name(),
            100.0 * experiment.file.margin
        ),
    );
    for arm in &facts.arms {
        let role = match arm.role {
            Role::Baseline => "baseline",
            Role::Candidate => "candidate",
            Role::Control => "the baseline a second time, as control",
        };
        let identity: Vec<String> = arm
            .identity
            .iter()
            .map(|(key, value)| format!("{key} {value}"))
            .collect();
        line(
            "arm",
            format!(
                "{} ({role}){}{}",
                arm.name,
                if identity.is_empty() { "" } else { ": " },
                identity.join(", ")
            ),
        );
    }
    for same in analyze::same_arms(facts) {
        line("note", same);
    }
    line("rows", rows(experiment));
    line("order", order(experiment));
    line("length", length(experiment));
    line(
        "time",
        format!(
            "{}; no pass begins after {}",
            cost_of(experiment),
            Nanos(facts.budget_ns)
        ),
    );
    line("sees", seen_by(facts));
    if let Some(limits) = experiment.limits() {
        line("limits", limits.to_owned());
    }
    line("records", records.to_owned());
    for (name, row) in facts.rows.iter().zip(0..) {
        let _infallible = writeln!(out, "\n{}", name.name);
        for (arm, options) in experiment.shown(row) {
            let _infallible = writeln!(out, "  {arm}");
            for (key, value) in options {
                let _infallible = writeln!(out, "    {key} = {value}");
            }
        }
    }
    out
}

/// The most rows that are named.
const MOST_NAMED: usize = 24;

fn rows(experiment: &PlanExperiment) -> String {
    let names: Vec<&str> = experiment
        .facts
        .rows
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    let shown = names[..names.len().min(MOST_NAMED)].join("; ");
    format!(
        "{}: {shown}{}",
        names.len(),
        if names.len() > MOST_NAMED {
            "; …"
        } else {
            ""
        }
    )
}

fn order(experiment: &PlanExperiment) -> String {
    let facts = &experiment.facts;
    let turns = lab::first_pass(facts);
    let named = turns.iter().take(MOST_NAMED).map(|turn| {
        let (row, arm) = (&facts.rows[turn.row].name, &facts.arms[turn.arm].name);
        if facts.rows.len() == 1 {
            arm.clone()
        } else {
            format!("{arm} [{row}]")
        }
    });
    let more = if turns.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    format!(
        "seed {}; first pass: {}{more}",
        facts.seed,
        named.collect::<Vec<_>>().join(", ")
    )
}

/// The passes after which it is looked at, of at most so many.
fn looks(most: u32) -> String {
    let looks = LOOKS.iter().filter(|look| **look <= most);
    let mut looks: Vec<String> = looks.map(u32::to_string).collect();
    let is_more = looks.len() > 4;
    looks.truncate(4);
    match (looks.is_empty(), is_more) {
        (true, _) => "none of them".to_owned(),
        (false, true) => format!("{} and so on", looks.join(", ")),
        (false, false) => looks.join(", "),
    }
}

fn length(experiment: &PlanExperiment) -> String {
    let facts = &experiment.facts;
    let (least, most) = (facts.least_passes, facts.most_passes);
    let slots = units::counted(lab::slots_per_pass(facts), "slot");
    match facts.stopping {
        Stopping::Fixed if most == 1 => format!("1 pass of {slots}, looked at once"),
        Stopping::Fixed => format!("{most} passes of {slots}, looked at once"),
        Stopping::Open => {
            let looks = looks(most);
            format!("{least} to {most} passes of {slots}, looked at after {looks}")
        }
        Stopping::EachPass => {
            format!("{least} to {most} passes of {slots}, looked at after every pass")
        }
    }
}
