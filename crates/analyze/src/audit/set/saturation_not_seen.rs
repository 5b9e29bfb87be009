//! Who says that something was saturated must show what.

use super::super::pacing_bound::waiting_users;
use super::super::percent;
use super::{Experiment, Located, claimed, names, row};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "saturation_not_seen",
    catalogue_number: Some(20),
    severity: Severity::Warning,
    title: "Saturation is claimed, and nothing was full",
    text: "\
What is said to be saturated against the fullest resource of the measured records: users
that waited, CPUs, devices. Found if none of what is recorded is above 90 %.
342 requests a second of 3 ms are 1 request at a time, of 100 users. A target that serves
one at a time while 99 sleep is not saturated, whatever its throughput.
What to do: raise the load until the rate no longer follows it, and show the resource that
is full there.",
    checks: &[Check::Together(check)],
};

const SATURATED: f64 = 0.9;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let claims = experiment
        .claims
        .iter()
        .filter(|(_, claim)| claimed(claim, "saturated").is_some_and(|said| said > 0.0));
    claims
        .filter_map(|(index, claim)| {
            // What is said of a row is said of each of its arms, and what is said of none, of all.
            let of = Effective::of(claim).text("row");
            let meant = experiment.slots.iter().filter(|(_, record)| of.is_none_or(|name| row(record) == name));
            let known = meant.filter_map(|slot| fullest(slot.1).map(|(share, what)| (*slot, share, what)));
            let (slot, share, what) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
            (share < SATURATED).then(|| {
                let message =
                    format!("saturation is claimed, and the fullest that is recorded of {} is {what} ({})", names(&[slot]), percent(share));
                let advice = "show the resource that is above 90 %, or raise the load until the rate no longer follows it";
                RULE.about(Some(*index), Severity::Warning, message, advice)
            })
        })
        .collect()
}

/// The share of the fullest resource that a record knows of, and which it is.
fn fullest(record: &Record) -> Option<(f64, String)> {
    let users = waiting_users(record).map(|load| {
        (
            load.share(),
            format!(
                "{}{:.1} of {} waiting for the target",
                load.at_most(),
                load.at_a_time,
                load.of_all("user")
            ),
        )
    });
    let cpu = record
        .generators()
        .filter_map(|host| host.machine.busy_share);
    let cpu = cpu.map(|share| (share, "the CPUs".to_owned()));
    let devices = record.generators().flat_map(|host| {
        let over_ns = host.window_ns.unwrap_or(record.elapsed_ns);
        let devices = host.devices.iter().filter(move |_| over_ns > 0);
        devices.map(move |device| (device.busy_ns as f64 / over_ns as f64, device.name.clone()))
    });
    users
        .into_iter()
        .chain(cpu)
        .chain(devices)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn claim() -> Record {
        let figures = [("saturated".to_owned(), 1.0)].into();
        Record {
            kind: super::super::super::CLAIM.into(),
            ..quoted(
                "claim",
                Summary {
                    figures,
                    ..Summary::default()
                },
            )
        }
    }

    fn users(mean_ns: f64) -> Record {
        let mut record = quoted(
            "get",
            Summary {
                per_second: Some(342.0),
                mean_ns: Some(mean_ns),
                ..Summary::default()
            },
        );
        set(&mut record, "users", "100");
        record.name = "Linux | Download".into();
        record
    }

    #[test]
    fn a_claim_that_no_resource_bears_out_is_found() {
        let found = run_on(check, &[users(3e6), claim()]);
        assert_eq!(
            only(&found),
            "saturation is claimed, and the fullest that is recorded of Download of Linux is 1.0 of 100 users waiting for the target (1%)"
        );
    }

    #[test]
    fn a_full_resource_unknown_ones_and_no_claim_are_silent() {
        let mut busy = users(3e6);
        busy.generator_mut().machine.busy_share = Some(0.95);
        assert_eq!(run_on(check, &[busy, claim()]), []);
        assert_eq!(run_on(check, &[claim()]), []);
        let mut of_another = claim();
        set(&mut of_another, "row", "Upload");
        assert_eq!(run_on(check, &[users(3e6), of_another]), []);
        assert_eq!(run_on(check, &[users(3e6)]), []);
    }
}
