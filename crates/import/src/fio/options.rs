//! The options of a fio job: as typed, and by our names.

use crate::error::Fault;
use crate::node::Node;
use record::TargetFact;
use std::collections::BTreeMap;
use units::fio::{FioSize, size, time};
use units::{Bytes, Nanos};
use workload::fio::names::{self, FioDirection, FioForm, FioName};

/// Options as typed, by fio's first name; those that were not typed are absent from fio's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options(BTreeMap<String, String>);

/// fio's documented defaults, which its output leaves out.
const DEFAULTS: [(&str, &str); 6] = [
    ("bs", "4k"),
    ("iodepth", "1"),
    ("numjobs", "1"),
    ("direct", "0"),
    ("rw", "read"),
    ("rwmixread", "50"),
];

impl Options {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, Fault> {
        let mut out = BTreeMap::new();
        // The name of the section, and the port of the client whose options these are: no text, and
        // no option.
        for (key, value) in node
            .members()?
            .filter(|(key, _)| !matches!(*key, "name" | "port"))
        {
            let first = names::first(key).unwrap_or(key);
            out.insert(first.to_owned(), value.text()?.to_owned());
        }
        Ok(Self(out))
    }

    /// These global options under a job's own.
    pub(super) fn overridden_by(mut self, own: Self) -> Self {
        self.0.extend(own.0);
        self
    }

    pub(super) fn asked(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn or_default(&self, key: &str) -> &str {
        let default = DEFAULTS
            .iter()
            .find(|(name, _)| *name == key)
            .map_or("", |(_, value)| value);
        self.text(key).unwrap_or(default)
    }

    /// A switch without a value is on.
    fn is_on(&self, key: &str) -> bool {
        self.text(key)
            .is_some_and(|text| !matches!(text, "0" | "none"))
    }

    /// Processes or threads that run this job at once.
    pub(super) fn clones(&self) -> u64 {
        self.or_default("numjobs").parse().unwrap_or(1)
    }

    /// Which call the sync latencies are of.
    pub(super) fn sync_kind(&self) -> &'static str {
        match (self.is_on("fsync"), self.is_on("fdatasync")) {
            (true, false) => "fsync",
            (false, true) => "fdatasync",
            _ => "sync",
        }
    }

    fn kb_base(&self) -> u32 {
        if self.text("kb_base") == Some("1000") {
            1000
        } else {
            1024
        }
    }

    fn bytes(&self, text: &str) -> Option<u64> {
        match size(text, self.kb_base()) {
            Ok(FioSize::Bytes(bytes)) => Some(bytes),
            Ok(FioSize::Percent(_)) | Err(_) => None,
        }
    }

    /// The files, devices or directories that were named; fio makes files of its own in the current
    /// directory where none is.
    pub(super) fn targets(&self) -> Vec<TargetFact> {
        let fact = |path: String, kind: &str| TargetFact {
            path,
            kind: kind.to_owned(),
            ..TargetFact::default()
        };
        let directory = self.text("directory").filter(|text| !text.is_empty());
        let Some(names) = self.text("filename").filter(|text| !text.is_empty()) else {
            return directory
                .into_iter()
                .flat_map(paths)
                .map(|path| fact(path, "directory"))
                .collect();
        };
        let in_directory = |name: String| match directory {
            Some(directory) if !name.starts_with('/') => {
                format!("{}/{name}", directory.trim_end_matches('/'))
            }
            Some(_) | None => name,
        };
        let kind = |path: &str| {
            if path.starts_with("/dev/") {
                "block device"
            } else {
                "file"
            }
        };
        paths(names)
            .into_iter()
            .map(in_directory)
            .map(|path| fact(path.clone(), kind(&path)))
            .collect()
    }

    /// The one size of all operations; `None` where there are several.
    pub(super) fn block_bytes(&self) -> Option<u64> {
        if self.text("bsrange").is_some() || self.text("bssplit").is_some() {
            return None;
        }
        let mut sizes = self
            .or_default("bs")
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| self.bytes(part));
        let first = sizes.next()??;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// What was in force, by our names, and what the reader must know of it.
    pub(super) fn effective(&self, merged: u32) -> (BTreeMap<String, String>, Vec<String>) {
        let mut out = BTreeMap::new();
        let mut set = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                out.insert(key.to_owned(), value);
            }
        };
        for row in names::NAMES {
            set(row.ours, self.by_our_name(row));
        }
        let several = || {
            self.text("bsrange")
                .or(self.text("bssplit"))
                .unwrap_or(self.or_default("bs"))
                .to_owned()
        };
        let blocks = self.block_bytes();
        let blocks = blocks.map_or_else(several, |bytes| Bytes(bytes).exact());
        set("block-size", Some(blocks));
        set("queue-depth", Some(self.or_default("iodepth").to_owned()));
        let threads = if merged > 1 {
            u64::from(merged)
        } else {
            self.clones()
        };
        set("threads", Some(threads.to_string()));
        let direct = self.is_on("direct") || self.text("buffered") == Some("0");
        set("direct", Some(direct.to_string()));
        let (random, reads) = self.pattern();
        set("random", random.map(|random| random.to_string()));
        set("read-percent", reads);
        // Clones share a file that is named; otherwise each makes its own.
        let own_files =
            threads > 1 && self.text("filename").is_none() && self.text("nrfiles").is_none();
        set(
            "file-distribution",
            own_files.then(|| "per-worker".to_owned()),
        );
        let sync = |word: &[&str]| {
            self.text("sync")
                .map(|text| word.contains(&text).to_string())
        };
        set("sync", sync(&["1", "sync"]));
        set("dsync", sync(&["dsync"]));
        let checks = self.is_on("verify") && self.text("verify") != Some("null");
        set("verify", self.text("verify").map(|_| checks.to_string()));
        set(
            "write-pattern",
            self.is_on("zero_buffers").then(|| "zeros".to_owned()),
        );
        self.distribution(&mut set);
        (out, self.defaults_in_force())
    }

    /// The value of an option that means the same in both tools.
    fn by_our_name(&self, row: FioName) -> Option<String> {
        let text = self.text(row.fio)?;
        match row.form {
            FioForm::Text => Some(text.to_owned()),
            FioForm::Count => (text != "0").then(|| text.to_owned()),
            FioForm::Switch => Some(self.is_on(row.fio).to_string()),
            // With several files it is that of all of them.
            FioForm::Size if row.fio == "size" && self.text("nrfiles").is_some() => None,
            FioForm::Size => self.bytes(text).map(|bytes| Bytes(bytes).exact()),
            FioForm::Time(unit) => {
                let micros = time(text, unit).ok().filter(|micros| *micros > 0)?;
                Some(Nanos(micros.checked_mul(1000)?).exact())
            }
        }
    }

    /// What the reader must know of options that were not typed.
    fn defaults_in_force(&self) -> Vec<String> {
        let absent: Vec<&str> = DEFAULTS
            .iter()
            .map(|(key, _)| *key)
            .filter(|key| self.text(key).is_none() && *key != "rwmixread")
            .collect();
        if absent.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "fio prints only options that were typed; these stand at its documented defaults: {}",
            absent.join(", ")
        )]
    }

    /// Whether the order is random, and the percentage of reads.
    fn pattern(&self) -> (Option<bool>, Option<String>) {
        let rw = self.or_default("rw").split(':').next().unwrap_or_default();
        let reads = match names::pattern_of(rw).map(|(_, direction)| direction) {
            Some(FioDirection::Read) => Some("100".to_owned()),
            Some(FioDirection::Write) => Some("0".to_owned()),
            Some(FioDirection::Mixed) => match self
                .text("rwmixwrite")
                .and_then(|text| text.parse::<u8>().ok())
            {
                Some(writes) if self.text("rwmixread").is_none() => {
                    Some(100_u8.saturating_sub(writes).to_string())
                }
                _ => Some(self.or_default("rwmixread").to_owned()),
            },
            None => None,
        };
        let known = reads.is_some() || rw.contains("trim");
        (known.then(|| rw.starts_with("rand")), reads)
    }

    fn distribution(&self, set: &mut impl FnMut(&str, Option<String>)) {
        let Some(text) = self.text("random_distribution") else {
            return;
        };
        let mut parts = text.split(':');
        let word = parts.next().unwrap_or_default();
        let (name, parameter) = names::distribution_of(word).unwrap_or((word, None));
        set("distribution", Some(name.to_owned()));
        if let Some(parameter) = parameter {
            set(parameter, parts.next().map(str::to_owned));
        }
    }
}

/// Names that colons separate; a colon that belongs to a name has a backslash before it.
fn paths(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, out.last_mut()) {
            ('\\', Some(name)) if characters.peek() == Some(&':') => name.extend(characters.next()),
            (':', _) => out.push(String::new()),
            (other, Some(name)) => name.push(other),
            (_, None) => {}
        }
    }
    out.retain(|name| !name.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Options {
        Options(
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        )
    }

    fn effective(pairs: &[(&str, &str)], key: &str) -> Option<String> {
        of(pairs).effective(1).0.remove(key)
    }

    #[test]
    fn sizes_are_read_as_fio_reads_them() {
        assert_eq!(of(&[("bs", "4k,4096")]).block_bytes(), Some(4096));
        assert_eq!(of(&[("bs", "4k,8k")]).block_bytes(), None);
        assert_eq!(
            of(&[("bs", "4k"), ("kb_base", "1000")]).block_bytes(),
            Some(4000)
        );
        assert_eq!(
            of(&[("bs", "4k"), ("bssplit", "4k/50:8k/50")]).block_bytes(),
            None
        );
        assert_eq!(
            effective(&[("bsrange", "4k-16k")], "block-size").as_deref(),
            Some("4k-16k")
        );
    }

    #[test]
    fn targets_are_what_the_job_names() {
        let paths = |pairs: &[(&str, &str)]| -> Vec<String> {
            of(pairs)
                .targets()
                .into_iter()
                .map(|target| target.path)
                .collect()
        };
        assert_eq!(
            paths(&[("filename", "/dev/sda:/dev/sdb")]),
            ["/dev/sda", "/dev/sdb"]
        );
        assert_eq!(
            paths(&[("filename", "/dev/disk/by-path/pci-0000\\:00")]),
            ["/dev/disk/by-path/pci-0000:00"]
        );
        assert_eq!(
            paths(&[("filename", "a"), ("directory", "/mnt/")]),
            ["/mnt/a"]
        );
        assert_eq!(paths(&[("directory", "/mnt")]), ["/mnt"]);
        assert_eq!(paths(&[("size", "1g")]), [""; 0]);
        assert_eq!(
            of(&[("filename", "/dev/sda")]).targets()[0].kind,
            "block device"
        );
        assert_eq!(
            effective(&[("numjobs", "4"), ("size", "1m")], "file-distribution").as_deref(),
            Some("per-worker")
        );
        assert_eq!(
            effective(&[("numjobs", "4"), ("filename", "x")], "file-distribution"),
            None
        );
    }

    #[test]
    fn documented_defaults_are_entered_and_named() {
        let (effective, notices) = of(&[("rw", "randread"), ("bs", "1M")]).effective(1);
        assert_eq!(
            (
                effective["queue-depth"].as_str(),
                effective["direct"].as_str()
            ),
            ("1", "false")
        );
        assert!(
            notices[0].ends_with("iodepth, numjobs, direct"),
            "{notices:?}"
        );
        assert_eq!(effective.get("engine"), None, "it differs between systems");
    }

    #[test]
    fn the_mix_follows_the_pattern() {
        for (pairs, random, reads) in [
            (
                &[("rw", "randrw"), ("rwmixread", "70")][..],
                "true",
                Some("70"),
            ),
            (&[("rw", "rw"), ("rwmixwrite", "10")], "false", Some("90")),
            (&[("rw", "readwrite:4")], "false", Some("50")),
            (&[("rw", "write")], "false", Some("0")),
            (&[("rw", "randtrim")], "true", None),
        ] {
            assert_eq!(
                (
                    effective(pairs, "random").as_deref(),
                    effective(pairs, "read-percent").as_deref()
                ),
                (Some(random), reads),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn times_have_the_unit_of_their_option() {
        assert_eq!(
            effective(&[("runtime", "10")], "duration").as_deref(),
            Some("10s")
        );
        assert_eq!(
            effective(&[("thinktime", "50")], "think-time").as_deref(),
            Some("50us")
        );
        assert_eq!(effective(&[("runtime", "0")], "duration"), None);
    }

    #[test]
    fn several_durability_options_are_told_apart() {
        assert_eq!(
            of(&[("fsync", "1"), ("fdatasync", "0")]).sync_kind(),
            "fsync"
        );
        assert_eq!(
            of(&[("fsync", "1"), ("fdatasync", "4")]).sync_kind(),
            "sync"
        );
        assert_eq!(
            effective(&[("sync", "dsync")], "dsync").as_deref(),
            Some("true")
        );
        assert_eq!(
            effective(&[("direct", "")], "direct").as_deref(),
            Some("true"),
            "a switch without a value is on"
        );
    }
}
