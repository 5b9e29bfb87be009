//! What a record is of, where no plan says it: records of other targets, hosts or sources are no
//! repetitions of each other.

use record::Record;

/// What two records must have in common to be of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity<'a> {
    /// Paths, devices, commands, services.
    pub(crate) targets: Vec<&'a str>,
    pub(crate) machines: Vec<&'a str>,
    /// What declares repetitions, else the file from which the record was imported; `None` of a
    /// record of our own.
    pub(crate) source: Option<&'a str>,
}

impl<'a> Identity<'a> {
    pub(crate) fn of(record: &'a Record) -> Self {
        let file = || record.source.as_ref()?.file.as_deref();
        Self {
            targets: record
                .targets
                .iter()
                .map(|target| target.path.as_str())
                .filter(|path| !path.is_empty())
                .collect(),
            machines: record.machines(),
            source: record
                .repeat
                .as_ref()
                .map(|repeat| repeat.of.as_str())
                .or_else(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Repeat, Source, TargetFact};

    fn of(file: &str, target: &str) -> Record {
        let source = Source {
            tool: "fio".into(),
            file: Some(file.into()),
            ..Source::default()
        };
        let targets = vec![TargetFact {
            path: target.into(),
            ..TargetFact::default()
        }];
        Record {
            source: Some(source),
            targets,
            ..Record::default()
        }
    }

    #[test]
    fn another_drive_and_another_file_are_another_thing() {
        let first = of("a.json", "/dev/sda");
        assert_eq!(
            Identity::of(&first),
            Identity::of(&of("a.json", "/dev/sda"))
        );
        assert_ne!(
            Identity::of(&first),
            Identity::of(&of("a.json", "/dev/sdb"))
        );
        assert_ne!(
            Identity::of(&first),
            Identity::of(&of("b.json", "/dev/sda"))
        );
    }

    #[test]
    fn declared_repetitions_of_several_files_are_one_thing_on_one_target() {
        let repeat = |file: &str, target: &str| Record {
            repeat: Some(Repeat {
                of: "x".into(),
                number: 0,
            }),
            ..of(file, target)
        };
        assert_eq!(
            Identity::of(&repeat("a.json", "/dev/sda")),
            Identity::of(&repeat("b.json", "/dev/sda"))
        );
        assert_ne!(
            Identity::of(&repeat("a.json", "/dev/sda")),
            Identity::of(&repeat("b.json", "/dev/sdb"))
        );
    }
}
