//! fio: `--output-format=terse` and `--minimal`, versions 3 to 5: one job a line, its values by
//! their places between semicolons.
//!
//! Amounts are KiB, rates KiB a second and operations a second, run times milliseconds, latencies
//! microseconds (HOWTO, "Terse output"). Operations are not counted and options not printed. After
//! the fixed places stand nine for each block device, and the description.

use crate::bins::percentile_key;
use crate::error::{Fault, Location};
use crate::input::Input;
use crate::node::sound;
use crate::origin::Origin;
use record::{ErrorCount, Outcome, Record, Status, Summary};
use units::{counted, time};
use workload::fio::names::DISK_COUNTERS;

const MICRO_NS: f64 = 1000.0;
/// Places before the first direction: version of the form, version of fio, name, group, error.
const BEFORE: usize = 5;
/// Amount, bandwidth, operations a second, run time.
const RATES: usize = 4;
/// Least, most, mean and deviation.
const MOMENTS: usize = 4;
const PERCENTILES: usize = 20;
/// Least, most, share, mean and deviation of the bandwidth; version 5 adds its samples, and five of
/// the operations a second.
const BANDWIDTH: usize = 5;
const MORE_IN_5: usize = 6;
/// CPU, context switches, faults; then distributions of depth and latency.
const CPU: usize = 5;
const DISTRIBUTIONS: usize = 7 + 10 + 12;
/// Name, reads, writes, merges of both, ticks of both, time in queue, use.
const DEVICE: usize = 9;

/// Whether a line is a job in a version that is read.
pub(crate) fn is_line(line: &str) -> bool {
    version(line).is_some_and(|version| (3..=5).contains(&version))
        && line
            .split(';')
            .nth(1)
            .is_some_and(|word| word.starts_with("fio-"))
}

/// The version of terse output that is not read.
pub(crate) fn other_version(line: &str) -> Option<u32> {
    let numbers = line
        .split(';')
        .skip(2)
        .take(6)
        .filter(|word| word.parse::<u64>().is_ok())
        .count();
    version(line).filter(|version| *version == 2 && numbers == 6)
}

fn version(line: &str) -> Option<u32> {
    line.split_once(';')?.0.trim().parse().ok()
}

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let mut records = Vec::new();
    let mut besides = 0;
    for (index, line) in input
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        if !is_line(line) {
            besides += 1;
            continue;
        }
        origin.admit(records.len() + 1)?;
        let record = Line {
            number: index + 1,
            values: line.trim_end_matches('\r').split(';').collect(),
        }
        .record(records.len(), origin)?;
        records.push(record);
    }
    if besides > 0
        && let Some(first) = records.first_mut()
    {
        first.notices.push(format!(
            "fio printed {} besides its results",
            counted(besides, "line")
        ));
    }
    Ok(records)
}

struct Line<'a> {
    /// From 1.
    number: usize,
    values: Vec<&'a str>,
}

impl Line<'_> {
    fn record(&self, index: usize, origin: &Origin<'_>) -> Result<Record, Fault> {
        let text = |place: usize| self.values.get(place).copied().unwrap_or_default();
        let is_5 = text(0) == "5";
        let kinds: &[&str] = if text(0) == "3" {
            &["read", "write"]
        } else {
            &["read", "write", "trim"]
        };
        let width =
            RATES + 3 * MOMENTS + PERCENTILES + BANDWIDTH + if is_5 { MORE_IN_5 } else { 0 };
        let after = BEFORE + kinds.len() * width;
        if self.values.len() < after + CPU + DISTRIBUTIONS {
            let reason = format!(
                "{} values are fewer than the {} of a job",
                self.values.len(),
                after + CPU + DISTRIBUTIONS
            );
            return Err(Fault {
                cut: true,
                ..Fault::new(
                    Location::Line {
                        line: self.number,
                        column: None,
                    },
                    reason,
                )
            });
        }
        let mut record = origin.record(index, text(2), Some(text(1).trim_start_matches("fio-")));
        let mut longest_ms = 0.0_f64;
        for (nth, kind) in kinds.iter().enumerate() {
            let place = BEFORE + nth * width;
            let (summary, runtime_ms) = self.direction(kind, place)?;
            longest_ms = longest_ms.max(runtime_ms);
            record
                .summaries
                .extend(summary.map(|summary| ((*kind).to_owned(), summary)));
        }
        record.elapsed_ns = time::nanos(longest_ms, 1e6).unwrap_or_default();
        self.cpu(after, &mut record)?;
        self.devices(after + CPU + DISTRIBUTIONS, &mut record)?;
        let errno = self.number(4, "error")?;
        if errno != 0.0 {
            let error = format!("errno {errno}");
            record.errors.push(ErrorCount {
                error,
                count: 1,
                ..ErrorCount::default()
            });
            let message = Some(format!("fio reports errno {errno} for this job"));
            record.outcome = Outcome {
                status: Status::Failed,
                exit_code: 1,
                message,
            };
        }
        record.notices.push("percentiles are of fio's completion latency, which starts after the submission returned".into());
        record.notices.push(
            "fio's terse output counts no operations and prints no options: both are unknown"
                .into(),
        );
        Ok(record)
    }

    /// One direction and its run time in milliseconds; `None` for one that was not used.
    fn direction(&self, kind: &str, place: usize) -> Result<(Option<Summary>, f64), Fault> {
        let at = |offset: usize, name: &str| self.number(place + offset, &format!("{kind} {name}"));
        let (kib, rate, per_second, runtime_ms) = (
            at(0, "KiB")?,
            at(1, "KiB/s")?,
            at(2, "iops")?,
            at(3, "runtime")?,
        );
        if kib == 0.0 && runtime_ms == 0.0 {
            return Ok((None, 0.0));
        }
        let mut summary = Summary {
            bytes: time::nanos(kib, 1024.0),
            per_second: Some(per_second),
            bytes_per_second: Some(rate * 1024.0),
            ..Summary::default()
        };
        summary
            .as_written
            .insert("bytes_per_second".into(), format!("{rate} KiB/s"));
        summary
            .as_written
            .insert("per_second".into(), per_second.to_string());
        let percentiles = place + RATES + 2 * MOMENTS;
        self.moments(percentiles + PERCENTILES, kind, &mut summary)?;
        for (name, offset) in [("slat", 0), ("clat", MOMENTS)] {
            let mut part = Summary::default();
            self.moments(place + RATES + offset, kind, &mut part)?;
            if name == "clat" {
                self.percentiles(percentiles, kind, &mut part)?;
            }
            if name == "clat" {
                summary.percentiles_ns.clone_from(&part.percentiles_ns);
            }
            if part != Summary::default() {
                summary.parts.insert(name.to_owned(), part);
            }
        }
        Ok((Some(summary), runtime_ms))
    }

    /// Least, most, mean and deviation in microseconds; fio prints zeros of what it did not
    /// measure.
    fn moments(&self, place: usize, kind: &str, summary: &mut Summary) -> Result<(), Fault> {
        let known = |offset: usize| {
            Ok(
                Some(self.number(place + offset, &format!("{kind} latency"))? * MICRO_NS)
                    .filter(|ns| *ns > 0.0),
            )
        };
        (
            summary.min_ns,
            summary.max_ns,
            summary.mean_ns,
            summary.stddev_ns,
        ) = (known(0)?, known(1)?, known(2)?, known(3)?);
        Ok(())
    }

    /// `99.000000%=123`; places without one are `0%=0`.
    fn percentiles(&self, place: usize, kind: &str, part: &mut Summary) -> Result<(), Fault> {
        for at in place..place + PERCENTILES {
            let text = self.values.get(at).copied().unwrap_or_default();
            let read = || {
                let (percent, micros) = text.split_once("%=")?;
                Some((
                    percentile_key(percent)?,
                    micros.trim().parse::<f64>().ok().filter(sound)?,
                ))
            };
            let (percent, micros) =
                read().ok_or_else(|| self.fault(at, &format!("{kind} percentile"), text))?;
            if micros > 0.0 {
                part.percentiles_ns.insert(percent, micros * MICRO_NS);
            }
        }
        Ok(())
    }

    fn cpu(&self, place: usize, record: &mut Record) -> Result<(), Fault> {
        let mut figures = Summary::default();
        for (offset, name) in ["usr_cpu", "sys_cpu", "ctx", "majf", "minf"]
            .iter()
            .enumerate()
        {
            figures
                .figures
                .insert((*name).to_owned(), self.number(place + offset, name)?);
        }
        let of = |name: &str| {
            time::nanos(
                record.elapsed_ns as f64 * figures.figures[name] / 100.0,
                1.0,
            )
            .unwrap_or_default()
        };
        let (user_ns, system_ns) = (of("usr_cpu"), of("sys_cpu"));
        let process = &mut record.generator_mut().process;
        (process.user_ns, process.system_ns) = (user_ns, system_ns);
        record.summaries.insert("job".into(), figures);
        Ok(())
    }

    /// As many devices as follow each other: a name, seven counts and a percentage. What is left is
    /// the description.
    fn devices(&self, mut place: usize, record: &mut Record) -> Result<(), Fault> {
        while let Some(values) = self
            .values
            .get(place..place + DEVICE)
            .filter(|values| values[DEVICE - 1].ends_with('%'))
        {
            let mut device = Summary::default();
            for (offset, name) in DISK_COUNTERS.iter().chain(&["util"]).enumerate() {
                device
                    .figures
                    .insert((*name).to_owned(), self.number(place + 1 + offset, name)?);
            }
            record
                .summaries
                .insert(format!("device {}", values[0]), device);
            place += DEVICE;
        }
        Ok(())
    }

    /// A number, which may have a `%` behind it.
    fn number(&self, place: usize, name: &str) -> Result<f64, Fault> {
        let text = self.values.get(place).copied().unwrap_or_default();
        let number = text
            .trim()
            .trim_end_matches('%')
            .parse::<f64>()
            .ok()
            .filter(sound)
            .filter(|number| *number >= 0.0);
        number.ok_or_else(|| self.fault(place, name, text))
    }

    fn fault(&self, place: usize, name: &str, text: &str) -> Fault {
        let shown: String = text.chars().take(40).collect();
        let column = format!("value {} ({name})", place + 1);
        Fault::new(
            Location::Field {
                line: self.number,
                column,
            },
            format!("{shown:?} is not what stands there"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_by_their_version() {
        assert!(
            is_line("3;fio-3.33;a;0;0;")
                && is_line("5;fio-3.33;a")
                && !is_line("2;a;0;0;1")
                && !is_line("3;4;5")
        );
        assert_eq!(other_version("2;a;0;0;17260;17242;4310;1001;0"), Some(2));
        assert_eq!(other_version("2;3;x"), None);
    }
}
