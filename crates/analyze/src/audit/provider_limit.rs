//! A rate that stands still like a wall is a limit that somebody set, not what the storage can do.

use super::percent;
use super::series::seconds;
use crate::audit::rule::{Check, Rule};
use crate::figures::sum_of_transfers;
use crate::{Effective, Finding, Severity};
use record::{IoLimit, Limit, Record};
use units::{Nanos, Rate, lossless::f64_to_u64_saturating};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "provider_limit",
    catalogue_number: Some(12),
    severity: Severity::Warning,
    title: "A quota was measured",
    text: "\
The limits of the own control group, within 5 %. On disks of virtual machines: a rate
that varies by less than 1 % from second to second with at least 8 in flight of 1 ms.
Where only a rate is known, operations on a volume of a provider that take 10 ms in a
queue of their own, by Little's law.
Volumes are sold by operations a second, with credit for bursts. 128 in flight at 5.96 K/s
are 21 ms each, where flash needs 0.1 and a network 0.5: they queue before the limit. An
hour later, with the credit spent, the same command gives 4.00 K/s.
What to do: look up the limits of volume and machine, quote them with the result, and
measure for longer than the credit lasts.",
    checks: &[Check::OfHost(check)],
};

/// A queue of real flash varies from second to second by more.
const MOST_SCATTER: f64 = 0.01;
/// With this much in flight a volume is never idle.
const FULL: f64 = 8.0;
/// What a volume of flash across a network needs for one operation, several times over: beyond it
/// the operations queued.
const LEAST_QUEUED_NS: f64 = 10e6;
/// A plateau at shorter latencies may be that of a controller.
const LEAST_PLATEAU_NS: f64 = 1e6;
/// How near a known limit a rate must be.
const NEAR: std::ops::RangeInclusive<f64> = 0.95..=1.05;
const ADVICE: &str = "look up the limits of volume and machine, and their burst credit; call the result by the limit, and measure longer than the credit lasts";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if !effective.uses_local_storage() || effective.is_open_loop() || effective.thinks() {
        return Vec::new();
    }
    let found = control_group(record).or_else(|| {
        effective
            .is_on("direct")
            .then(|| plateau(record).or_else(|| queued(record)))?
    });
    found
        .map(|message| RULE.finding(Severity::Warning, message, ADVICE))
        .into_iter()
        .collect()
}

/// The limit of our own control group.
fn control_group(record: &Record) -> Option<String> {
    let device = record
        .generator()
        .environment
        .storage
        .as_ref()?
        .device
        .as_ref()?;
    let limits = record
        .generator()
        .environment
        .cgroup
        .as_ref()?
        .io
        .as_ref()?;
    let limit = limits
        .iter()
        .find(|limit| (limit.major, limit.minor) == (device.major, device.minor))?;
    let rates = |kind: &str| {
        crate::figures::of_kind(record, kind).map(|f| (f.per_second(), f.bytes_per_second()))
    };
    let IoLimit {
        reads_per_second,
        writes_per_second,
        read_bytes_per_second,
        write_bytes_per_second,
        ..
    } = *limit;
    let pairs = [
        ("read", reads_per_second, read_bytes_per_second),
        ("write", writes_per_second, write_bytes_per_second),
    ];
    pairs.into_iter().find_map(|(kind, operations, bytes)| {
        let (rate, throughput) = rates(kind)?;
        let near = |rate: Option<f64>, limit: Limit| match limit {
            Limit::AtMost(most) if most > 0 => {
                rate.is_some_and(|rate| NEAR.contains(&(rate / most as f64)))
            }
            Limit::AtMost(_) | Limit::Unlimited => false,
        };
        (near(rate, operations) || near(throughput, bytes)).then(|| {
            format!("the rate of {kind}s is the limit of the control group: the quota was measured")
        })
    })
}

/// A rate without scatter while operations waited in a queue, on a disk that is lent.
fn plateau(record: &Record) -> Option<String> {
    let series = seconds(record).filter(|_| is_lent(record))?;
    let mean = stats::sample::mean(&series);
    let scatter = stats::sample::variance(&series).sqrt() / mean;
    let latency = sum_of_transfers(record, |f| f.mean_ns())?;
    let flat = scatter < MOST_SCATTER && in_flight(record)? >= FULL && latency >= LEAST_PLATEAU_NS;
    flat.then(|| {
        format!(
            "{} for {} s within {}: the rate of a quota, not of a device",
            Rate(mean),
            series.len(),
            percent(scatter)
        )
    })
}

/// Operations that wait far longer than a volume needs, by Little's law, where only the rate is
/// known.
fn queued(record: &Record) -> Option<String> {
    let in_flight = in_flight(record).filter(|_| is_cloud(record) && record.series.is_empty())?;
    let each = in_flight / sum_of_transfers(record, |f| f.per_second())? * 1e9;
    let rotates = record
        .generator()
        .environment
        .storage
        .as_ref()
        .and_then(|s| s.device.as_ref()?.rotational)
        == Some(true);
    (in_flight >= FULL && each >= LEAST_QUEUED_NS && each.is_finite() && !rotates).then(|| {
        let each = Nanos(f64_to_u64_saturating(each.round()));
        format!("{in_flight} in flight on a volume of a provider take {each} each: they queue before its quota or burst credit")
    })
}

fn in_flight(record: &Record) -> Option<f64> {
    let effective = Effective::of(record);
    Some(effective.real("queue-depth")? * effective.real("threads")?)
}

/// Whether the disk belongs to somebody who sells it in parts.
fn is_lent(record: &Record) -> bool {
    record.generator().environment.system.hypervisor == Some(true) || is_cloud(record)
}

/// A provider, by its name in the firmware or in the model of the disk.
pub(super) fn is_cloud(record: &Record) -> bool {
    const NAMES: [&str; 10] = [
        "amazon",
        "ebs",
        "google",
        "persistentdisk",
        "microsoft",
        "azure",
        "alibaba",
        "oracle",
        "digitalocean",
        "hetzner",
    ];
    let system = &record.generator().environment.system;
    let model = record
        .generator()
        .environment
        .storage
        .as_ref()
        .and_then(|s| s.device.as_ref()?.model.as_ref());
    let texts = [system.vendor.as_ref(), system.product.as_ref(), model];
    let words = texts
        .into_iter()
        .flatten()
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    words
        .map(str::to_ascii_lowercase)
        .any(|word| NAMES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, with_rates};
    use super::*;
    use record::{ControlGroup, Summary};

    #[test]
    fn a_wall_is_found_on_a_lent_disk_only() {
        let mut record = with_rates(&[3000; 60]);
        assert_eq!(check(&record), []);
        record.generator_mut().environment.system.hypervisor = Some(true);
        assert_eq!(
            only(&check(&record)),
            "3.00 K/s for 60 s within 0%: the rate of a quota, not of a device"
        );
        let mut scattered = with_rates(
            &(0..60)
                .map(|second| 3000 + second % 7 * 20)
                .collect::<Vec<_>>(),
        );
        scattered.generator_mut().environment.system.hypervisor = Some(true);
        assert_eq!(check(&scattered), []);
    }

    #[test]
    fn a_queue_before_a_volume_is_found_by_littles_law() {
        let mut record = quoted(
            "write",
            Summary {
                per_second: Some(5960.0),
                ..Summary::default()
            },
        );
        for (key, value) in [("direct", "true"), ("queue-depth", "32"), ("threads", "4")] {
            set(&mut record, key, value);
        }
        assert_eq!(check(&record), []);
        record.generator_mut().environment.system.vendor = Some("Amazon EC2".into());
        assert!(
            only(&check(&record))
                .starts_with("128 in flight on a volume of a provider take 21.48 ms each")
        );
    }

    #[test]
    fn the_limit_of_the_own_control_group_is_known() {
        let mut record = with_rates(&[]);
        let io = IoLimit {
            reads_per_second: Limit::AtMost(10_000),
            ..IoLimit::default()
        };
        record.generator_mut().environment.cgroup = Some(ControlGroup {
            io: Some(vec![io]),
            ..ControlGroup::default()
        });
        assert_eq!(
            only(&check(&record)),
            "the rate of reads is the limit of the control group: the quota was measured"
        );
    }
}
