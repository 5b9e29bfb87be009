//! Writing the file of a profile, by which its device is also brought into a used state.

use super::ProfileError;
use super::ground::rung;
use host::{Context, Event, Watch};
use record::{Interval, Record};
use run::{RunError, execute};
use std::path::PathBuf;
use units::lossless::{f64_to_u64_saturating, u64_to_f64};
use units::{Bytes, Nanos, Percent};
use workload::{BlockSizes, Cache, EngineName, Phase, Workload};

const BLOCK: u64 = 1 << 20;
/// Enough to see how fast the target takes writes, and little enough for a slow one.
const FIRST_BYTES: u64 = 64 << 20;
/// A fill that is this much slower than the first bytes promised ends early.
const PATIENCE: u64 = 2;
/// A profile has nothing else to show before its first row is tried.
const TOLD_EVERY_NS: u64 = 250_000_000;

/// What is to be written.
pub(super) struct FillOrder {
    pub(super) target: PathBuf,
    pub(super) allow_destroy: Option<PathBuf>,
    /// `None`: through the page cache.
    pub(super) direct: Option<EngineName>,
    pub(super) bytes: u64,
    /// Less is written where the bytes would take longer; `None`: all of them, however long it
    /// takes.
    pub(super) within_ns: Option<u64>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    pub(super) bytes: u64,
    pub(super) bytes_per_second: f64,
    /// Rate of the last quarter of the intervals against the first.
    pub(super) end_against_start: Option<f64>,
}

/// Writes the file from its beginning with data that cannot be compressed.
pub(super) fn fill(
    order: &FillOrder,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Filled, ProfileError> {
    let first_end = FIRST_BYTES.min(order.bytes);
    let mut progress = FillWatch {
        watch,
        done: 0,
        seen: 0,
        to_do: order.bytes,
    };
    progress.tell(None);
    let first = part(order, 0, first_end, None, context, &mut progress)?;
    let rate = first.bytes_per_second().unwrap_or(f64::INFINITY);
    let end = order.within_ns.map_or(order.bytes, |ns| {
        let in_time = f64_to_u64_saturating(rate * u64_to_f64(ns) / 1e9);
        rung(in_time.clamp(first_end, order.bytes))
    });
    if end <= first_end {
        return Ok(Filled {
            bytes: first_end,
            bytes_per_second: rate,
            end_against_start: None,
        });
    }
    progress.to_do = end;
    let limit = order.within_ns.map(|ns| Nanos(ns.saturating_mul(PATIENCE)));
    let rest = part(order, first_end, end, limit, context, &mut progress)?;
    let elapsed_ns = first.elapsed_ns + rest.elapsed_ns;
    let written = first_end + rest.operations.bytes();
    Ok(Filled {
        // What was cut short by the time is used up to the next step below.
        bytes: if written < end { rung(written) } else { end },
        bytes_per_second: u64_to_f64(written) * 1e9 / u64_to_f64(elapsed_ns.max(1)),
        end_against_start: end_against_start(&rest.series),
    })
}

/// Writes from one offset to another, in order, so that what is written when the time is up is
/// whole.
fn part(
    order: &FillOrder,
    from: u64,
    to: u64,
    limit: Option<Nanos>,
    context: &Context,
    watch: &mut FillWatch<'_>,
) -> Result<Record, ProfileError> {
    let mut workload = Workload {
        targets: vec![order.target.clone()],
        engine: order.direct.unwrap_or(EngineName::Sync),
        queue_depth: if order.direct.is_some() { 8 } else { 1 },
        blocks: BlockSizes::one(Bytes(BLOCK.min(to - from))),
        cache: Cache::AsIs,
        ..Workload::default()
    };
    workload.files.size = Some(Bytes(to));
    workload.files.offset = Bytes(from);
    workload
        .files
        .allow_destroy
        .extend(order.allow_destroy.clone());
    workload.access.write_percent = Some(Percent(100.0));
    workload.durability.open.direct = order.direct.is_some();
    workload.durability.end_fsync = true;
    workload.stop.complete = true;
    workload.stop.duration = limit;
    let record = execute(
        &Phase {
            name: "fill".into(),
            workload,
        },
        context,
        watch,
    )?;
    watch.done += record.operations.bytes();
    watch.seen = watch.done;
    if let Some(caught) = sys::caught_signal() {
        return Err(RunError::Interrupted {
            signal: caught.signal,
        }
        .into());
    }
    if record.outcome.status.has_done_all() {
        Ok(record)
    } else {
        Err(failed(order, &record, watch.done))
    }
}

fn failed(order: &FillOrder, record: &Record, done: u64) -> ProfileError {
    let why = record
        .errors
        .first()
        .map(|error| error.error.clone())
        .or_else(|| record.outcome.message.clone())
        .unwrap_or_default();
    let remedy = if why.contains("No space left") || why.contains("quota") {
        "free space, or give a smaller --size"
    } else {
        "look for the device's errors with `dmesg`, or profile another target"
    };
    ProfileError::Failed(format!(
        "cannot fill {}: {why} after {}; {remedy}",
        order.target.display(),
        Bytes(done)
    ))
}

/// Whether a write cache or a credit ran out: `None` with too few intervals to tell.
fn end_against_start(series: &[Interval]) -> Option<f64> {
    let whole = series.len().checked_sub(1)?;
    let quarter = whole / 4;
    let rate = |part: &[Interval]| {
        let ns: u64 = part
            .iter()
            .map(|interval| interval.end_ns - interval.start_ns)
            .sum();
        let bytes: u64 = part
            .iter()
            .map(|interval| interval.operations.bytes())
            .sum();
        u64_to_f64(bytes) / u64_to_f64(ns.max(1))
    };
    let (start, end) = (series.get(..quarter)?, series.get(whole - quarter..whole)?);
    (quarter > 0 && rate(start) > 0.0).then(|| rate(end) / rate(start))
}

/// Tells the bytes written so far.
struct FillWatch<'a> {
    watch: &'a mut dyn Watch,
    /// By records of the parts that have ended.
    done: u64,
    /// By intervals as they end.
    seen: u64,
    to_do: u64,
}

impl FillWatch<'_> {
    fn tell(&mut self, bytes_per_second: Option<f64>) {
        self.watch.on(&Event::Preparing {
            done: self.seen.min(self.to_do),
            to_do: self.to_do,
            bytes_per_second,
        });
    }
}

impl Watch for FillWatch<'_> {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Interval { interval, .. } => {
                let bytes = interval.operations.bytes();
                let ns = interval.end_ns.saturating_sub(interval.start_ns);
                self.seen += bytes;
                self.tell(Some(u64_to_f64(bytes) * 1e9 / u64_to_f64(ns.max(1))));
            }
            Event::Preparing { .. }
            | Event::WarmingUp { .. }
            | Event::Rehearsing { .. }
            | Event::Rehearsed { .. }
            | Event::Slot(_) => {}
        }
    }

    fn every_ns(&self) -> Option<u64> {
        self.watch.every_ns().map(|ns| ns.min(TOLD_EVERY_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations};

    fn series(rates: &[u64]) -> Vec<Interval> {
        (0..)
            .zip(rates)
            .map(|(index, bytes)| {
                let mut operations = Measurements::default();
                operations.insert(
                    "write",
                    Operations {
                        count: 1,
                        bytes: *bytes,
                        ..Operations::default()
                    },
                );
                Interval {
                    start_ns: index * 100,
                    end_ns: (index + 1) * 100,
                    operations,
                    ..Interval::default()
                }
            })
            .collect()
    }

    #[test]
    fn a_fill_tells_what_is_written_and_how_fast_at_this_moment() {
        struct Told(Vec<(u64, Option<f64>)>);
        impl Watch for Told {
            fn on(&mut self, event: &Event<'_>) {
                if let Event::Preparing {
                    done,
                    bytes_per_second,
                    ..
                } = event
                {
                    self.0.push((*done, *bytes_per_second));
                }
            }
            fn every_ns(&self) -> Option<u64> {
                Some(1_000_000_000)
            }
        }
        let mut told = Told(Vec::new());
        let mut watch = FillWatch {
            watch: &mut told,
            done: 0,
            seen: 0,
            to_do: 150,
        };
        watch.tell(None);
        for interval in &series(&[100, 40]) {
            watch.on(&Event::Interval { part: 0, interval });
        }
        assert_eq!(watch.every_ns(), Some(TOLD_EVERY_NS));
        assert_eq!(told.0, [(0, None), (100, Some(1e9)), (140, Some(4e8))]);
    }

    #[test]
    fn a_fill_that_becomes_slow_is_seen_and_its_cut_last_interval_is_not_counted() {
        assert_eq!(
            end_against_start(&series(&[100, 100, 100, 100, 50, 40, 40, 40, 1])),
            Some(0.4)
        );
        assert_eq!(end_against_start(&series(&[100, 40, 1])), None);
        assert_eq!(end_against_start(&[]), None);
    }
}
