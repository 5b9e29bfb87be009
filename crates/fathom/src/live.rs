//! Progress on a terminal; nothing in a pipe.

use crate::metrics::Metrics;
use crate::run::{switch, time};
use clap::{Arg, ArgMatches, Command};
use host::{Event, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Interval, Operations};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use units::{ByteRate, Nanos, Rate, lossless};

/// Shows what a run does while it runs.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    interval: Nanos,
    metrics: Option<Metrics>,
    /// Of each work that runs together with others, what it told last.
    last: BTreeMap<usize, Interval>,
}

impl Live {
    pub(crate) fn add(command: Command) -> Command {
        command
            .arg(
                Arg::new("live-interval")
                    .long("live-interval")
                    .value_name("TIME")
                    .help("Time between two lines of progress [default: 1s]"),
            )
            .arg(switch("no-live", "No progress, also on a terminal"))
    }

    pub(crate) fn new(matches: &ArgMatches, metrics: Option<Metrics>) -> Self {
        let shown = std::io::stderr().is_terminal() && !matches.get_flag("no-live");
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        let interval = time(matches, "live-interval")
            .ok()
            .flatten()
            .filter(|t| t.0 > 0)
            .unwrap_or(Nanos(1_000_000_000));
        Self {
            bar,
            interval,
            metrics,
            last: BTreeMap::new(),
        }
    }

    fn interval(&mut self, part: usize, interval: &Interval) {
        if let Some(metrics) = &self.metrics {
            metrics.add_interval(interval);
        }
        let Some(bar) = &self.bar else { return };
        self.last.insert(part, interval.clone());
        let mut text: Vec<String> = self.last.values().map(line).collect();
        if let [_, _, ..] = text.as_slice() {
            for (number, line) in (1..).zip(&mut text) {
                *line = format!("{number}: {line}");
            }
        }
        bar.set_message(text.join("\n"));
    }
}

impl Watch for Live {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Interval { part, interval } => self.interval(*part, interval),
            Event::Preparing { done, to_do } => {
                if let Some(bar) = &self.bar {
                    let share = 100 * u128::from(*done) / u128::from((*to_do).max(1));
                    bar.set_message(format!(
                        "preparing: {} of {} written ({share} %)",
                        units::Bytes(*done),
                        units::Bytes(*to_do)
                    ));
                }
            }
            Event::Rehearsing { .. } | Event::Slot(_) => {}
        }
    }

    fn every_ns(&self) -> Option<u64> {
        (self.bar.is_some() || self.metrics.is_some()).then_some(self.interval.0)
    }
}

/// What was done in an interval, by kind of operation.
fn line(interval: &Interval) -> String {
    let seconds = lossless::u64_to_f64(interval.end_ns - interval.start_ns).max(1.0) / 1e9;
    let mut line = format!("{:>6.1} s", lossless::u64_to_f64(interval.end_ns) / 1e9);
    for (
        kind,
        Operations {
            count,
            bytes,
            errors,
            latency,
            ..
        },
    ) in interval.operations.kinds()
    {
        let p99 = latency
            .quantile(0.99)
            .map_or(0, lossless::f64_to_u64_saturating);
        line.push_str(&format!(
            "  {kind} {} {} p99 {}",
            Rate(lossless::u64_to_f64(*count) / seconds),
            ByteRate(lossless::u64_to_f64(*bytes) / seconds),
            Nanos(p99)
        ));
        if *errors > 0 {
            line.push_str(&format!(" errors {errors}"));
        }
    }
    if interval.operations.is_empty() {
        line.push_str("  no operation ended");
    }
    line
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
