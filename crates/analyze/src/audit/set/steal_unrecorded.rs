//! On a machine that is lent, what the host took must be written down.

use super::super::provider_limit::is_cloud;
use super::{Experiment, Located, Slot, names};
use crate::Severity;
use crate::audit::starved::RULE;
use record::Record;
use units::counted;

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let lent = |record: &Record| {
        record.generator().environment.system.hypervisor == Some(true) || is_cloud(record)
    };
    let silent: Vec<Slot<'_>> = experiment
        .slots
        .iter()
        .filter(|(_, record)| {
            record.source.is_some()
                && record.generator().machine.steal_share.is_none()
                && lent(record)
        })
        .copied()
        .collect();
    if silent.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "{} {} of a virtual machine, and the CPU time that its host took is not recorded ({})",
        counted(silent.len(), "result"),
        if silent.len() == 1 { "is" } else { "are" },
        names(&silent)
    );
    let advice = "record the steal time (/proc/stat) and the CPU limit with every run, and repeat what was measured while it was above 1 %";
    vec![RULE.about(
        if let [(index, _)] = silent[..] {
            Some(index)
        } else {
            None
        },
        Severity::Warning,
        message,
        advice,
    )]
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    #[test]
    fn a_virtual_machine_without_an_account_is_found() {
        let mut record = quoted("write", Summary::default());
        assert_eq!(run_on(check, &[record.clone()]), []);
        record.generator_mut().environment.system.vendor = Some("Amazon EC2".into());
        assert!(
            only(&run_on(check, &[record.clone()])).starts_with("1 result is of a virtual machine")
        );
        record.generator_mut().machine.steal_share = Some(0.0);
        assert_eq!(run_on(check, &[record]), []);
    }

    #[test]
    fn our_own_records_have_the_account() {
        let mut record = sound();
        record.generator_mut().environment.system.hypervisor = Some(true);
        assert_eq!(run_on(check, &[record]), []);
    }
}
