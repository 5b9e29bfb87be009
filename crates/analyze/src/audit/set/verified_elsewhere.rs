//! Data that were verified in another run say nothing of the data of this one.

use super::{Experiment, Located, claimed};
use crate::Effective;
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Record;
use units::counted;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "verified_elsewhere",
    catalogue_number: Some(9),
    severity: Severity::Invalid,
    title: "Verified data, but not those of the measured runs",
    text: "\
What is said of verified data (a claim with a verification) against the measured records
of the same source: found if none of them checked a read.
A test that passes before or after shows that the target can store data, not that it did
so at 482,000 operations a second. Lost and misplaced writes come with depth and speed.
What to do: measure with --verify, which checks every read of the timed run, or read all
of the target of that run back and verify it then.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let says_so = |claim: &Record| {
        claim.verification.is_some() || claimed(claim, "verified").is_some_and(|said| said > 0.0)
    };
    let Some((index, claim)) = experiment.claims.iter().find(|(_, claim)| says_so(claim)) else {
        return Vec::new();
    };
    let checks = |record: &Record| {
        Effective::of(record).is_on("verify")
            || record
                .verification
                .as_ref()
                .is_some_and(|v| v.operations > 0)
    };
    // A claim that carries its own verifying settings is judged by them.
    if experiment.slots.is_empty()
        || experiment.slots.iter().any(|(_, record)| checks(record))
        || checks(claim)
    {
        return Vec::new();
    }
    let message = format!(
        "the data are said to be verified, and none of {} checked any",
        counted(experiment.slots.len(), "measured run")
    );
    let advice = "measure with --verify, which checks every read against what must be there, or verify the target of the measured run afterwards";
    vec![RULE.about(Some(*index), experiment.severity(), message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::{Summary, Verification};

    fn claim() -> Record {
        let mut claim = quoted("claim", Summary::default());
        claim.kind = super::super::super::CLAIM.into();
        claim.verification = Some(Verification {
            pattern: "MD5".into(),
            ..Verification::default()
        });
        claim
    }

    #[test]
    fn a_verification_that_no_run_made_is_found() {
        let found = run_on(check, &[quoted("read", Summary::default()), claim()]);
        assert_eq!(
            only(&found),
            "the data are said to be verified, and none of 1 measured run checked any"
        );
    }

    #[test]
    fn a_run_that_checks_and_silence_are_silent() {
        let mut checked = quoted("read", Summary::default());
        set(&mut checked, "verify", "true");
        assert_eq!(run_on(check, &[checked, claim()]), []);
        assert_eq!(run_on(check, &[quoted("read", Summary::default())]), []);
    }
}
