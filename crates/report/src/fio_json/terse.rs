//! fio's terse output, version 3: the numbers of its JSON document in one line a job, separated by
//! semicolons.

use super::{FioOptions, fio_json};
use record::Record;
use serde_json::Value;
use workload::fio::names::DISK_COUNTERS;

/// Places for percentiles in each line; fio fills those that are not asked for with zeros.
const PERCENTILES: usize = 20;

/// One line for each entry that the JSON document has.
#[must_use]
pub fn fio_terse(records: &[Record], options: &FioOptions) -> String {
    let document = fio_json(records, options);
    let version = text(&document["fio version"]);
    let disks: Vec<String> = list(&document["disk_util"]).iter().flat_map(disk).collect();
    let line = |job: &Value| {
        let head = [
            "3".to_owned(),
            version.clone(),
            text(&job["jobname"]),
            text(&job["groupid"]),
            text(&job["error"]),
        ];
        let fields = head
            .into_iter()
            .chain(transfers(&job["read"]))
            .chain(transfers(&job["write"]))
            .chain(around(job));
        fields
            .chain(disks.iter().cloned())
            .collect::<Vec<_>>()
            .join(";")
    };
    list(&document["jobs"])
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn real(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn whole(value: f64) -> String {
    super::whole(value.floor()).to_string()
}

fn transfers(group: &Value) -> Vec<String> {
    let mut out = vec![
        text(&group["io_kbytes"]),
        text(&group["bw"]),
        whole(real(&group["iops"])),
        text(&group["runtime"]),
    ];
    out.extend(latency(&group["slat_ns"]));
    out.extend(latency(&group["clat_ns"]));
    out.extend(percentiles(&group["clat_ns"]));
    out.extend(latency(&group["lat_ns"]));
    out.extend([
        text(&group["bw_min"]),
        text(&group["bw_max"]),
        format!("{:.6}%", real(&group["bw_agg"])),
    ]);
    out.extend(["bw_mean", "bw_dev"].map(|key| format!("{:.6}", real(&group[key]))));
    out
}

/// Bounds, mean and deviation in microseconds.
fn latency(summary: &Value) -> [String; 4] {
    let [min, max, mean, deviation] =
        ["min", "max", "mean", "stddev"].map(|key| real(&summary[key]) / 1000.0);
    [
        whole(min),
        whole(max),
        format!("{mean:.6}"),
        format!("{deviation:.6}"),
    ]
}

fn percentiles(summary: &Value) -> Vec<String> {
    let mut known: Vec<(f64, f64)> = summary["percentile"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(percent, ns)| Some((percent.parse().ok()?, real(ns))))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<String> = known
        .into_iter()
        .map(|(percent, ns)| format!("{percent:.6}%={}", whole(ns / 1000.0)))
        .collect();
    out.resize(PERCENTILES, "0%=0".to_owned());
    out
}

/// CPU, depths and the shares of latencies; what is below a microsecond belongs to the first of the
/// microseconds here.
fn around(job: &Value) -> Vec<String> {
    let mut out = ["usr_cpu", "sys_cpu"]
        .map(|key| format!("{:.6}%", real(&job[key])))
        .to_vec();
    out.extend(["ctx", "majf", "minf"].map(|key| text(&job[key])));
    let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
    out.extend(depths.map(|depth| format!("{:.1}%", real(&job["iodepth_level"][depth]))));
    let below_us: f64 = job["latency_ns"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, share)| real(share))
        .sum();
    let shares = |group: &str, bounds: &[&str], first: f64| -> Vec<String> {
        let with = |(place, bound): (usize, &&str)| {
            real(&job[group][*bound]) + if place == 0 { first } else { 0.0 }
        };
        bounds
            .iter()
            .enumerate()
            .map(|bound| format!("{:.2}%", with(bound)))
            .collect()
    };
    let bounds = [
        "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000",
    ];
    out.extend(shares("latency_us", &bounds[..10], below_us));
    out.extend(shares("latency_ms", &bounds, 0.0));
    out
}

fn disk(disk: &Value) -> Vec<String> {
    let mut out = vec![text(&disk["name"])];
    out.extend(DISK_COUNTERS.map(|key| text(&disk[key])));
    out.push(format!("{:.2}%", real(&disk["util"])));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn fields(record: Record) -> Vec<String> {
        fio_terse(&[record], &FioOptions::default())
            .split(';')
            .map(str::to_owned)
            .collect()
    }

    /// Places counted in a line of fio 3.33: 5 of the job, 41 a direction, 5 of the process, 7, 10
    /// and 12 shares, 9 a device.
    #[test]
    fn a_line_has_the_fields_of_version_3_in_their_order() {
        let found = fields(example::oltp());
        assert_eq!(found.len(), 5 + 2 * 41 + 5 + 7 + 10 + 12 + 9);
        assert_eq!(
            found[..9],
            [
                "3",
                "fio-3.0-fathom-0.1.0",
                "oltp",
                "0",
                "1",
                "56324",
                "28162",
                "7040",
                "2000"
            ]
        );
        assert_eq!(
            found[13..17],
            ["81", "9000", "96.845395", "336.519212"],
            "clat in microseconds"
        );
        assert_eq!(
            (found[17].as_str(), found[29].as_str(), found[36].as_str()),
            ("1.000000%=81", "99.000000%=112", "0%=0")
        );
        assert_eq!(
            found[46..50],
            ["30288", "15144", "3786", "2000"],
            "the writes"
        );
        assert_eq!(
            found[found.len() - 9..],
            [
                "nvme0n1", "14100", "7640", "3", "12", "9100", "5800", "14900", "86.00%"
            ]
        );
    }

    #[test]
    fn shares_add_to_a_hundred() {
        let found = fields(example::oltp());
        let start = found.len() - 9 - 22;
        let sum: f64 = found[start..start + 22]
            .iter()
            .map(|share| share.trim_end_matches('%').parse::<f64>().unwrap())
            .sum();
        assert!((sum - 100.0).abs() < 0.2, "{sum}");
    }

    #[test]
    fn nothing_measured_is_still_a_line() {
        assert_eq!(
            fields(Record::default()).len(),
            5 + 2 * 41 + 5 + 7 + 10 + 12
        );
    }
}
