//! What all records of one file have in common.

use crate::Format;
use crate::error::Fault;
use crate::input::Input;
use record::{Record, Repeat, SCHEMA, Source, Summary};
use units::fnv1a;

/// A file of results, as the source of records.
pub(crate) struct Origin<'a> {
    format: Format,
    file: &'a str,
    fingerprint: u64,
}

impl<'a> Origin<'a> {
    pub(crate) fn new(format: Format, input: &Input<'a>) -> Self {
        Self {
            format,
            file: input.name,
            fingerprint: fnv1a(input.text.as_bytes()),
        }
    }

    /// The file's name without directories and without its last extension.
    pub(crate) fn stem(&self) -> &'a str {
        let base = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        base.rsplit_once('.')
            .map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem })
    }

    /// A record with no measurements yet. The same bytes give the same id, so that a file imported
    /// twice is seen.
    pub(crate) fn record(&self, index: usize, name: &str, version: Option<&str>) -> Record {
        Record {
            schema: SCHEMA,
            id: format!("{}-{:016x}-{index}", self.format.tool(), self.fingerprint),
            kind: "import".into(),
            name: name.to_owned(),
            source: Some(Source {
                tool: self.format.tool().into(),
                version: version.map(str::to_owned),
                file: Some(self.file.to_owned()),
                format: self.format.to_string(),
                elapsed_step_ns: self.format.elapsed_step_ns(),
            }),
            ..Record::default()
        }
    }

    /// A name for the repetitions of one workload, of which the first is the record at `index`.
    fn repetitions(&self, index: usize) -> String {
        format!("{}-{:016x}-{index}", self.format.tool(), self.fingerprint)
    }

    /// Place `number` among the repetitions of the workload that is the `index`th of its file.
    pub(crate) fn repeat(&self, index: usize, number: usize) -> Option<Repeat> {
        Some(Repeat {
            of: self.repetitions(index),
            number: u32::try_from(number).ok()?,
        })
    }

    /// Declares records of one file that are of the same work on the same target, and that did not
    /// run together, to be repetitions: whoever appends results to one file collects them.
    pub(crate) fn declare_repetitions(&self, records: &mut [Record]) {
        let mut done: Vec<bool> = records
            .iter()
            .map(|record| record.repeat.is_some())
            .collect();
        for first in 0..records.len() {
            // Where a tool says nothing of its options nobody knows whether they were equal.
            let is_described =
                !records[first].effective.is_empty() || !records[first].asked.is_empty();
            if std::mem::replace(&mut done[first], true) || !is_described {
                continue;
            }
            let same: Vec<usize> = (first..records.len())
                .filter(|at| is_same_work(&records[first], &records[*at]))
                .collect();
            same.iter().for_each(|at| done[*at] = true);
            let together = same.iter().any(|at| {
                records[*at]
                    .companions
                    .iter()
                    .any(|id| same.iter().any(|other| records[*other].id == *id))
            });
            if same.len() < 2 || together {
                continue;
            }
            for (number, at) in same.iter().enumerate() {
                records[*at].repeat = self.repeat(first, number);
            }
        }
    }

    /// Refuses more records than a file may hold.
    pub(crate) fn admit(&self, records: usize) -> Result<(), Fault> {
        match records > crate::MOST_RECORDS {
            true => Err(Fault::whole(format!(
                "holds more than {} results: split the file",
                crate::MOST_RECORDS
            ))),
            false => Ok(()),
        }
    }
}

/// Whether two records are of the same work. What a target holds may have grown between them.
pub(crate) fn is_same_work(a: &Record, b: &Record) -> bool {
    let targets = |record: &Record| {
        record
            .targets
            .iter()
            .map(|target| target.path.clone())
            .collect::<Vec<_>>()
    };
    let host = |record: &Record| record.generator().environment.system.hostname.clone();
    (&a.name, &a.asked, &a.effective) == (&b.name, &b.asked, &b.effective)
        && targets(a) == targets(b)
        && host(a) == host(b)
}

/// Whether every number of the summaries is finite: others cannot be stored.
pub(crate) fn is_finite(record: &Record) -> bool {
    fn of(summary: &Summary) -> bool {
        let moments = [
            summary.per_second,
            summary.bytes_per_second,
            summary.mean_ns,
            summary.min_ns,
            summary.max_ns,
            summary.stddev_ns,
        ];
        let lists = summary
            .percentiles_ns
            .values()
            .chain(summary.figures.values())
            .copied();
        let ranges = summary
            .ranges
            .iter()
            .flat_map(|range| [range.from_ns, range.to_ns]);
        moments
            .into_iter()
            .flatten()
            .chain(lists)
            .chain(ranges)
            .all(f64::is_finite)
            && summary.parts.values().all(of)
    }
    record.summaries.values().all(of)
}

/// The words of a command line, without the quotes in which a tool encloses each.
pub(crate) fn words(command: &str) -> Vec<&str> {
    command
        .split_whitespace()
        .map(|word| word.trim_matches('"'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// A command line without what looks like a secret: the argument after, or behind the `=` of, an
/// option so named.
pub(crate) fn without_secrets(command: &str) -> String {
    let mut hide_next = false;
    let hidden = command.split_whitespace().map(|word| {
        let hide = std::mem::take(&mut hide_next);
        let bare = word.trim_matches('"').to_ascii_lowercase();
        if !bare.starts_with('-') {
            return if hide { "***" } else { word };
        }
        let secret = ["secret", "password", "token", "key"]
            .iter()
            .any(|name| bare.contains(name));
        match word.split_once('=') {
            Some((option, _)) if secret => option,
            _ => {
                hide_next = secret;
                word
            }
        }
    });
    hidden.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_is_the_name_alone() {
        for (file, stem) in [
            ("a/b.json", "b"),
            ("b.csv.zst", "b.csv"),
            ("b", "b"),
            (".x", ".x"),
            ("c:\\d\\e.json", "e"),
        ] {
            let input = Input {
                name: file,
                text: "",
            };
            assert_eq!(Origin::new(Format::Fio, &input).stem(), stem);
        }
    }

    #[test]
    fn other_bytes_are_another_id() {
        let id = |text| {
            Origin::new(Format::Fio, &Input { name: "x", text })
                .record(0, "", None)
                .id
        };
        assert_eq!(id("a"), id("a"));
        assert_ne!(id("a"), id("b"));
    }

    #[test]
    fn secrets_of_a_command_line_are_not_kept() {
        let text = without_secrets(
            "warp get --secret-key=abc --access-key abc --host h \"--s3secret\" \"abc\" -x",
        );
        assert!(
            !text.contains("abc") && text.contains("--host h") && text.ends_with("-x"),
            "{text}"
        );
    }
}
