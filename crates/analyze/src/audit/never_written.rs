//! A hole is read without the device, and so is a block that was never written.

use super::{counted, percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "never_written",
    catalogue_number: Some(7),
    severity: Severity::Invalid,
    title: "Blocks that were read may never have been written",
    text: "\
Invalid if verification met holes (verification.by_kind). A warning if zeros are the
pattern, or --no-refill left holes in the target (targets.hole_bytes) or nobody looked,
and neither a fill of the whole target nor the bytes that the device counted shows that
the blocks were there.
A hole in a sparse file is read without any I/O: of a file of 1 GiB with 38 % of holes,
38 % of the random reads are copies of a page of zeros, and the average is of nothing.
Zeros also pass a verification with the pattern zeros.
What to do: write every block before reading it (--refill), and verify with a pattern
that no hole has: --verify-pattern header or random.",
    checks: &[Check::OfHost(check)],
};

/// Direct reads that reached the device to this share met written blocks.
const REACHED: f64 = 0.9;
const ADVICE: &str = "write every block before reading it (--refill), and verify with a pattern that no hole has (header or random)";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let holes = record
        .verification
        .as_ref()
        .and_then(|v| Some((*v.by_kind.get("holes")?, v.operations)))
        .filter(|(holes, _)| *holes > 0);
    if let Some((holes, checked)) = holes {
        let message = format!(
            "{holes} of {} that were checked met holes ({})",
            units::counted(checked, "read"),
            percent(ratio(holes, checked.max(holes)))
        );
        return vec![RULE.finding(Severity::Invalid, message, ADVICE)];
    }
    let reads = effective.read_share().is_some_and(|share| share > 0.0);
    let zeros = effective.is_on("verify") && effective.text("verify-pattern") == Some("zeros");
    let kept = effective.is_on("no-refill");
    let why = if zeros {
        "zeros pass the verification"
    } else if kept {
        "--no-refill left it as it was"
    } else {
        return Vec::new();
    };
    if !reads || !effective.uses_local_storage() || is_accounted(record, effective) {
        return Vec::new();
    }
    if let Some(holes) = holes_in(record).filter(|_| kept) {
        let bytes: u64 = record.targets.iter().map(|target| target.bytes).sum();
        let message = format!(
            "{} of the target are holes, which are read without the device",
            percent(ratio(holes, bytes.max(holes).max(1)))
        );
        return if holes > 0 {
            vec![RULE.finding(Severity::Warning, message, ADVICE)]
        } else {
            Vec::new()
        };
    }
    let message = format!(
        "nothing shows that the blocks read were ever written: {why}, and a hole gives zeros too"
    );
    vec![RULE.finding(Severity::Warning, message, ADVICE)]
}

/// Bytes of all targets that were holes before the run; `None` where of one of them nobody looked.
fn holes_in(record: &Record) -> Option<u64> {
    let of_each: Option<Vec<u64>> = record
        .targets
        .iter()
        .map(|target| target.hole_bytes)
        .collect();
    of_each
        .filter(|holes| !holes.is_empty())
        .map(|holes| holes.iter().sum())
}

/// Whether this run wrote the target, or the device saw the reads.
pub(super) fn is_accounted(record: &Record, effective: Effective<'_>) -> bool {
    let bytes: u64 = record.targets.iter().map(|target| target.bytes).sum();
    let filled = record
        .fill
        .as_ref()
        .is_some_and(|fill| bytes > 0 && fill.bytes >= bytes);
    let read = counted(record, "read").bytes;
    let reached = record
        .generator()
        .devices
        .first()
        .is_some_and(|device| read > 0 && ratio(device.read_bytes, read) >= REACHED);
    filled || (effective.is_on("direct") && reached)
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;
    use record::{Fill, TargetFact, Verification};

    fn zeros() -> Record {
        let mut record = sound();
        record.generator_mut().devices.clear();
        set(&mut record, "verify", "true");
        set(&mut record, "verify-pattern", "zeros");
        record
    }

    #[test]
    fn holes_that_verification_met_are_invalid() {
        let mut record = sound();
        let by_kind = [("holes".to_owned(), 38)].into();
        record.verification = Some(Verification {
            operations: 100,
            failures: 38,
            by_kind,
            ..Verification::default()
        });
        let found = check(&record);
        assert_eq!(
            only(&found),
            "38 of 100 reads that were checked met holes (38%)"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn zeros_prove_nothing_unless_somebody_wrote_them() {
        assert!(only(&check(&zeros())).contains("zeros pass the verification"));
        let mut filled = zeros();
        filled.targets = vec![TargetFact {
            bytes: 4096,
            ..TargetFact::default()
        }];
        filled.fill = Some(Fill {
            bytes: 4096,
            ..Fill::default()
        });
        assert_eq!(check(&filled), []);
    }

    #[test]
    fn a_target_without_holes_is_read_and_one_with_holes_says_how_many() {
        let mut record = sound();
        set(&mut record, "no-refill", "true");
        record.generator_mut().devices.clear();
        record.targets = vec![TargetFact {
            bytes: 1000,
            hole_bytes: Some(0),
            ..TargetFact::default()
        }];
        assert_eq!(check(&record), []);
        record.targets[0].hole_bytes = Some(380);
        assert_eq!(
            only(&check(&record)),
            "38% of the target are holes, which are read without the device"
        );
        record.targets.push(TargetFact {
            bytes: 1000,
            ..TargetFact::default()
        });
        assert!(
            only(&check(&record)).contains("nothing shows"),
            "of one nobody looked"
        );
    }

    #[test]
    fn a_target_left_as_it_was_is_found_unless_its_device_was_read() {
        let mut record = sound();
        set(&mut record, "no-refill", "true");
        assert_eq!(check(&record), []);
        record.generator_mut().devices.clear();
        assert!(only(&check(&record)).contains("--no-refill"));
    }
}
