//! The options of a job in fio's words.

use analyze::Effective;
use record::Record;
use std::collections::BTreeMap;
use units::{Bytes, Nanos};
use workload::EngineName;
use workload::fio::names::{self, FioDirection, FioForm, FioName};

type Options = BTreeMap<String, String>;

/// Without these a reader cannot say what a job is; fio leaves them out where they are its
/// defaults.
const NEEDED: [&str; 4] = ["rw", "bs", "iodepth", "numjobs"];

/// The options that have one name in both tools and are told, with what holds where the record says
/// nothing.
const WRITTEN: [(&str, Option<&str>); 10] = [
    ("bs", Some("4k")),
    ("iodepth", Some("1")),
    ("numjobs", Some("1")),
    ("ioengine", None),
    ("direct", None),
    ("sync", None),
    ("fsync", None),
    ("fdatasync", None),
    ("size", None),
    ("runtime", None),
];

/// The options typed, with those that readers need added; all that fio has words for where none
/// were typed.
pub(super) fn merged(record: &Record, typed: Option<&Options>, global: &Options) -> Options {
    let derived = derived(record);
    let Some(typed) = typed else { return derived };
    let mut out = typed.clone();
    for key in NEEDED.into_iter().filter(|key| !global.contains_key(*key)) {
        if let Some(value) = derived.get(key) {
            out.entry(key.to_owned()).or_insert_with(|| value.clone());
        }
    }
    out
}

fn derived(record: &Record) -> Options {
    let effective = Effective::of(record);
    let mut out = Options::new();
    let mut set = |key: &str, value: String| out.insert(key.to_owned(), value);
    set("name", record.name.clone());
    set("rw", pattern(effective).to_owned());
    for (fio, unsaid) in WRITTEN {
        let row = names::row(fio);
        let text = effective.text(row.ours).or(unsaid);
        if let Some(value) = text.and_then(|text| in_fio(row, text)) {
            set(fio, value);
        }
    }
    set("group_reporting", String::new());
    let paths: Vec<String> = record
        .targets
        .iter()
        .map(|target| target.path.replace(':', "\\:"))
        .collect();
    if !paths.is_empty() {
        set("filename", paths.join(":"));
    }
    if effective.is_on("dsync") {
        set("sync", "dsync".to_owned());
    }
    if let Some(share) = effective
        .read_share()
        .filter(|share| *share > 0.0 && *share < 1.0)
    {
        set("rwmixread", format!("{:.0}", share * 100.0));
    }
    if out.contains_key("runtime") {
        out.insert("time_based".to_owned(), String::new());
    }
    out
}

/// The value of an option as fio writes it; nothing where it is off.
fn in_fio(row: FioName, text: &str) -> Option<String> {
    match row.form {
        FioForm::Text if row.ours == "engine" => {
            let names = EngineName::of_word(text).map_or(&[][..], EngineName::in_fio);
            Some((*names.first().unwrap_or(&text)).to_owned())
        }
        FioForm::Text => Some(text.to_owned()),
        FioForm::Switch => (text == "true").then(|| "1".to_owned()),
        FioForm::Count => (text != "0").then(|| text.to_owned()),
        FioForm::Size => Some(Bytes::parse(text).ok()?.0.to_string()),
        FioForm::Time(_) => {
            let Nanos(ns) = Nanos::parse(text).ok().filter(|time| time.0 > 0)?;
            Some(format!("{}us", ns / 1000))
        }
    }
}

fn pattern(effective: Effective<'_>) -> &'static str {
    let direction = match effective.read_share().unwrap_or(1.0) {
        share if share >= 1.0 => FioDirection::Read,
        share if share <= 0.0 => FioDirection::Write,
        _ => FioDirection::Mixed,
    };
    names::pattern_word(effective.is_on("random"), direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pairs: &[(&str, &str)]) -> Record {
        Record {
            effective: pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..Record::default()
        }
    }

    #[test]
    fn the_pattern_is_in_fios_words() {
        for (random, reads, rw) in [
            ("true", "100", "randread"),
            ("true", "0", "randwrite"),
            ("true", "70", "randrw"),
            ("false", "100", "read"),
            ("false", "0", "write"),
            ("false", "50", "rw"),
        ] {
            let record = record(&[("random", random), ("read-percent", reads)]);
            assert_eq!(derived(&record)["rw"], rw);
        }
    }

    #[test]
    fn typed_options_win_and_only_what_readers_need_is_added() {
        let record = record(&[("queue-depth", "32"), ("direct", "true")]);
        let typed = Options::from([
            ("iodepth".to_owned(), "16".to_owned()),
            ("ioengine".to_owned(), "libaio".to_owned()),
        ]);
        let global = Options::from([("bs".to_owned(), "8k".to_owned())]);
        let merged = merged(&record, Some(&typed), &global);
        let pairs: Vec<_> = merged
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("iodepth", "16"),
                ("ioengine", "libaio"),
                ("numjobs", "1"),
                ("rw", "read")
            ]
        );
    }

    #[test]
    fn durations_and_sizes_have_units_that_fio_reads() {
        let options = derived(&record(&[
            ("duration", "1500ms"),
            ("file-size", "8g"),
            ("dsync", "true"),
        ]));
        assert_eq!(
            (
                options["runtime"].as_str(),
                options["size"].as_str(),
                options["sync"].as_str()
            ),
            ("1500000us", "8589934592", "dsync")
        );
    }
}
