//! What all records of one file have in common.

use crate::Format;
use crate::error::Fault;
use crate::input::Input;
use record::{Record, SCHEMA, Source};

/// A file of results, as the source of records.
pub(crate) struct Origin<'a> {
    format: Format,
    file: &'a str,
    fingerprint: u64,
}

impl<'a> Origin<'a> {
    pub(crate) fn new(format: Format, input: &Input<'a>) -> Self {
        Self { format, file: input.name, fingerprint: fnv1a(input.text.as_bytes()) }
    }

    /// The file's name without directories and without its last extension.
    pub(crate) fn stem(&self) -> &'a str {
        let base = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem })
    }

    /// A record with no measurements yet. The same bytes give the same id, so that a file imported twice is seen.
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
            }),
            ..Record::default()
        }
    }

    /// Refuses more records than a file may hold.
    pub(crate) fn admit(&self, records: usize) -> Result<(), Fault> {
        match records > crate::MOST_RECORDS {
            true => Err(Fault::whole(format!("holds more than {} results: split the file", crate::MOST_RECORDS))),
            false => Ok(()),
        }
    }
}

/// Whether every number of the summaries is finite: others cannot be stored.
pub(crate) fn is_finite(record: &Record) -> bool {
    record.summaries.values().all(|summary| {
        let moments = [summary.per_second, summary.bytes_per_second, summary.mean_ns, summary.min_ns, summary.max_ns, summary.stddev_ns];
        let lists = summary.percentiles_ns.values().chain(summary.figures.values()).copied();
        let ranges = summary.ranges.iter().flat_map(|range| [range.from_ns, range.to_ns]);
        moments.into_iter().flatten().chain(lists).chain(ranges).all(f64::is_finite)
    })
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): tells files apart, is no protection.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A command line without what looks like a secret: the argument after, or behind the `=` of, an option so named.
pub(crate) fn without_secrets(command: &str) -> String {
    let mut hide_next = false;
    let hidden = command.split_whitespace().map(|word| {
        let hide = std::mem::take(&mut hide_next);
        let bare = word.trim_matches('"').to_ascii_lowercase();
        if !bare.starts_with('-') {
            return if hide { "***" } else { word };
        }
        let secret = ["secret", "password", "token", "key"].iter().any(|name| bare.contains(name));
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
        for (file, stem) in [("a/b.json", "b"), ("b.csv.zst", "b.csv"), ("b", "b"), (".x", ".x"), ("c:\\d\\e.json", "e")] {
            let input = Input { name: file, text: "" };
            assert_eq!(Origin::new(Format::Fio, &input).stem(), stem);
        }
    }

    #[test]
    fn other_bytes_are_another_id() {
        let id = |text| Origin::new(Format::Fio, &Input { name: "x", text }).record(0, "", None).id;
        assert_eq!(id("a"), id("a"));
        assert_ne!(id("a"), id("b"));
    }

    #[test]
    fn secrets_of_a_command_line_are_not_kept() {
        let text = without_secrets("warp get --secret-key=abc --access-key abc --host h \"--s3secret\" \"abc\" -x");
        assert!(!text.contains("abc") && text.contains("--host h") && text.ends_with("-x"), "{text}");
    }
}
