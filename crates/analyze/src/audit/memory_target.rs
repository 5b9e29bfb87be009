//! A target in memory measures the kernel and the CPU.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "memory_target",
    catalogue_number: Some(3),
    severity: Severity::Warning,
    title: "The target lies in memory",
    text: "\
The storage under the target as the machine describes it
(environment.storage.is_memory): tmpfs, ramfs, brd, zram, pmem, null_blk or a device of
user space that is known to keep its data in memory.
Such a target has no medium: what is measured is the kernel's path, the copy and the
CPU. 26.1 GB/s \"sequential read\" on tmpfs is memcpy at 40 us a MiB; another CPU gives
another number, and neither says anything about a disk.
What to do: for storage, name a target on a disk. For the overhead of software, this is
what you want: then call it that.",
    checks: &[Check::OfHost(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let storage = record
        .generator()
        .environment
        .storage
        .as_ref()
        .filter(|storage| storage.is_memory == Some(true));
    let Some(storage) = storage.filter(|_| Effective::of(record).uses_local_storage()) else {
        return Vec::new();
    };
    let name = storage.file_system.as_ref().map(|fs| fs.kind.clone());
    let name = name
        .or_else(|| {
            storage
                .device
                .as_ref()
                .and_then(|device| device.name.clone())
        })
        .unwrap_or_else(|| "the target".into());
    let message = format!("{name} lies in memory: this is a test of memory and of the kernel");
    vec![RULE.finding(
        Severity::Warning,
        message,
        "for storage, name a target on a disk; for software overhead, this is what you want",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;
    use record::FileSystem;

    #[test]
    fn a_file_system_in_memory_is_named() {
        let mut record = sound();
        let storage = record.generator_mut().environment.storage.as_mut().unwrap();
        storage.is_memory = Some(true);
        storage.file_system = Some(FileSystem {
            kind: "tmpfs".into(),
            ..FileSystem::default()
        });
        assert_eq!(
            only(&check(&record)),
            "tmpfs lies in memory: this is a test of memory and of the kernel"
        );
    }

    #[test]
    fn a_disk_and_an_unknown_target_are_not_accused() {
        assert_eq!(check(&sound()), []);
        assert_eq!(check(&Record::default()), []);
    }
}
