//! `fathom calibrate`: the instrument's own cost on this machine.

use crate::context;
use crate::run::switch;
use crate::tell::{tell, tell_form};
use anyhow::Result;
use clap::{ArgMatches, Command};
use host::Machine;
use std::path::Path;
use std::time::Duration;

pub(crate) fn command() -> Command {
    Command::new("calibrate")
        .about("Measures the instrument's own cost on this machine")
        .after_help("Examples:\n  fathom calibrate\n  fathom calibrate --json")
        .arg(switch("json", "One JSON object"))
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let clock = context::clock(&Machine::at(Path::new("/")), Duration::from_millis(100));
    let rounds = (0..5)
        .map(|_| run::calibrate(&clock, 50_000_000))
        .collect::<Result<Vec<_>, _>>()?;
    if matches.get_flag("json") {
        let json = serde_json::to_string_pretty(&rounds)?;
        tell_form(&report::json_without_commands(&json))?;
        return Ok(0);
    }
    let line = |name: &str, values: Vec<f64>| {
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
                (low.min(*v), high.max(*v))
            });
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        format!(
            "{name:<34} {:>9.1} ns   [{low:.1} to {high:.1}, {} rounds]",
            sorted[sorted.len() / 2],
            sorted.len()
        )
    };
    let mut lines = vec![format!("clock: {}", clock.source())];
    lines.push(line(
        "one clock reading",
        rounds.iter().map(|r| r.clock_read_ns).collect(),
    ));
    for depth in rounds[0].null_operation_ns.keys() {
        lines.push(line(
            &format!("null operation, {depth}"),
            rounds
                .iter()
                .filter_map(|r| r.null_operation_ns.get(depth).copied())
                .collect(),
        ));
    }
    lines.push(line(
        "a 100 us sleep ends late by",
        rounds
            .iter()
            .filter_map(|r| r.sleep_overshoot_ns)
            .map(|ns| ns as f64)
            .collect(),
    ));
    lines.push(format!(
        "clock drift since its calibration {:>9} ns",
        clock.drift_ns()
    ));
    tell(&lines.join("\n"))?;
    Ok(0)
}
