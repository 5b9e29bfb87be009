//! A target in memory measures the kernel and the CPU.

use super::finding;
use crate::{Effective, Finding, Severity};
use record::Record;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let storage = record
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
    vec![finding(
        "memory_target",
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
        let storage = record.environment.storage.as_mut().unwrap();
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
