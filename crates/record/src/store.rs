//! Records on disk: append-only JSON lines, synced as they are written. A torn last line is
//! reported and skipped; nothing else is lost.

use crate::bounded::lines_of;
use crate::plan::{KIND, PlanLine};
use crate::stored::untyped;
use crate::{Record, SCHEMA, StoredRecord, Typing, schema_one};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::visible_json;

/// So many records are written at once, where all are there already.
const AT_ONCE: usize = 256;

/// A file of records that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the record cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Line number from 1.
    pub line: usize,
    pub reason: String,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadRecords {
    pub records: Vec<Record>,
    /// Of the experiments whose plan stands in the file; each record of theirs holds its own as
    /// well.
    pub plans: Vec<Arc<PlanLine>>,
    pub damaged: Vec<Damage>,
}

/// An open file of records.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    typing: Typing,
}

impl Store {
    /// Opens a file for appending, creating it if there is none.
    ///
    /// # Errors
    /// It cannot be created or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|source| StoreError::Io {
                path: path.into(),
                source,
            })?;
        Ok(Self::on(file, path))
    }

    /// Goes on with a file that is open for appending, or with a pipe.
    #[must_use]
    pub fn on(file: File, path: &Path) -> Self {
        Self {
            path: path.into(),
            file,
            typing: untyped,
        }
    }

    /// Writes the options of records as numbers where they are some.
    #[must_use]
    pub fn with_options(self, typing: Typing) -> Self {
        Self { typing, ..self }
    }

    /// Appends one record as a line of its own, even after a torn one, and syncs it.
    ///
    /// # Errors
    /// The disk refuses; earlier records are untouched.
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let line = serde_json::to_string(&StoredRecord::of(record, self.typing))?;
        self.write_line(line)
    }

    /// Appends records that are all there already, and syncs them together.
    ///
    /// # Errors
    /// As [`Store::append`]; some of them may be there.
    pub fn append_all(&mut self, records: &[Record]) -> Result<(), StoreError> {
        for some in records.chunks(AT_ONCE) {
            let mut lines = String::new();
            for record in some {
                let line = serde_json::to_string(&StoredRecord::of(record, self.typing))?;
                lines.push_str(&visible_json(line));
                lines.push('\n');
            }
            self.write(lines.as_bytes()).map_err(|e| self.failed(e))?;
        }
        self.sync().map_err(|e| self.failed(e))
    }

    /// Appends the plan of an experiment, before its first record, and syncs it.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_plan(&mut self, plan: &PlanLine) -> Result<(), StoreError> {
        self.write_line(serde_json::to_string(plan)?)
    }

    /// No name in it steers the terminal of whoever looks at the file.
    fn write_line(&mut self, line: String) -> Result<(), StoreError> {
        let line = visible_json(line) + "\n";
        let written = self.write(line.as_bytes());
        written
            .and_then(|()| self.sync())
            .map_err(|e| self.failed(e))
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn is_file(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.is_file())
    }

    fn sync(&self) -> io::Result<()> {
        match self.is_file()? {
            true => self.file.sync_data(),
            false => Ok(()),
        }
    }

    /// Whole lines, after one that may be torn.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.is_file()? {
            return self.file.write_all(lines);
        }
        if self.file.seek(SeekFrom::End(0))? > 0 {
            self.file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            self.file.read_exact(&mut last)?;
            if last != *b"\n" {
                self.file.write_all(b"\n")?;
            }
        }
        self.file.write_all(lines)
    }
}

/// Whether a file holds nothing but records: each of its lines begins as one, also a torn one.
///
/// # Errors
/// The file cannot be read.
pub fn are_records(reader: &mut dyn BufRead) -> io::Result<bool> {
    const BEGINNING: &[u8] = br#"{"schema":"#;
    let mut start = Vec::new();
    loop {
        start.clear();
        if io::Read::take(&mut *reader, BEGINNING.len() as u64).read_until(b'\n', &mut start)? == 0
        {
            return Ok(true);
        }
        let line = start.trim_ascii();
        if !BEGINNING.starts_with(line) {
            return Ok(false);
        }
        // What is left of the line may be long.
        while !start.ends_with(b"\n") {
            let rest = reader.fill_buf()?;
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (length, is_last) = (
                end.map_or(rest.len(), |end| end + 1),
                end.is_some() || rest.is_empty(),
            );
            reader.consume(length);
            if is_last {
                break;
            }
        }
    }
}

/// Reads a file of records.
///
/// # Errors
/// The file cannot be read, or does not end where records could; damaged lines are no error but are
/// returned.
pub fn read_records(path: &Path) -> Result<ReadRecords, StoreError> {
    let failed = |source| StoreError::Io {
        path: path.into(),
        source,
    };
    let mut lines = lines_of(path).map_err(failed)?;
    let mut places = Places::default();
    let read = parse(lines.by_ref(), |record, records| {
        places.keep(record, records)
    });
    lines.end().map_err(failed)?;
    Ok(read)
}

/// Reads the bytes of a file of records; of several with one id the last counts.
#[must_use]
pub fn parse_records(bytes: &[u8]) -> ReadRecords {
    let mut places = Places::default();
    parse(bytes.split(|byte| *byte == b'\n'), |record, records| {
        places.keep(record, records)
    })
}

/// Reads lines of which each counts, also where several have one id: what somebody chose.
#[must_use]
pub fn parse_lines<L: AsRef<[u8]>>(lines: impl Iterator<Item = L>) -> ReadRecords {
    parse(lines, |record, records| records.push(record))
}

/// So many damaged lines show that something else was named; each of them is kept.
const MOST_DAMAGED: usize = 1_000_000;

fn parse<L: AsRef<[u8]>>(
    lines: impl Iterator<Item = L>,
    mut keep: impl FnMut(Record, &mut Vec<Record>),
) -> ReadRecords {
    let mut out = ReadRecords::default();
    for (index, line) in lines.enumerate() {
        let line = line.as_ref();
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse_line(line) {
            Ok(Line::Record(record)) => keep(*record, &mut out.records),
            Ok(Line::Plan(plan)) => out.plans.push(Arc::new(*plan)),
            Err(reason) => out.damaged.push(Damage {
                line: index + 1,
                reason,
            }),
        }
        if let Some(last) = out.damaged.get_mut(MOST_DAMAGED) {
            last.reason += "; it is not read on after so many damaged lines";
            break;
        }
    }
    for trial in out
        .records
        .iter_mut()
        .filter_map(|record| record.trial.as_mut())
    {
        trial.written_plan = out
            .plans
            .iter()
            .find(|plan| plan.hash == trial.plan)
            .cloned();
    }
    out
}

/// Where the record of each id stands.
#[derive(Default)]
struct Places(HashMap<String, usize>);

impl Places {
    /// A record takes the place of an earlier one with its id: a line that its run kept before it
    /// ended, or the same record written twice. What has no id replaces nothing.
    fn keep(&mut self, record: Record, records: &mut Vec<Record>) {
        let place = self.0.entry(record.id.clone()).or_insert(records.len());
        match records.get_mut(*place) {
            Some(earlier) if !record.id.is_empty() => *earlier = record,
            Some(_) | None => records.push(record),
        }
    }
}

/// What a line holds.
enum Line {
    Record(Box<Record>),
    Plan(Box<PlanLine>),
}

impl Line {
    fn of(record: Record) -> Self {
        Self::Record(Box::new(record))
    }
}

fn parse_line(line: &[u8]) -> Result<Line, String> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema: u32,
        #[serde(default)]
        kind: String,
    }
    // Nearly every line is a record of this version, and is read once.
    if let Ok(record) = serde_json::from_slice::<Box<Record>>(line)
        && record.schema == SCHEMA
        && record.kind != KIND
    {
        return Ok(Line::Record(record));
    }
    let versioned: Versioned =
        serde_json::from_slice(line).map_err(|e| format!("not a record: {e}"))?;
    let (what, line) = match (versioned.schema, versioned.kind == KIND) {
        (1..=SCHEMA, true) => ("plan", serde_json::from_slice(line).map(Line::Plan)),
        (SCHEMA, false) => ("record", serde_json::from_slice(line).map(Line::Record)),
        (1, false) => ("record", schema_one::read(line).map(Line::of)),
        (schema, _) => return Err(unknown(schema)),
    };
    line.map_err(|error| format!("not a {what}: {error}"))
}

fn unknown(schema: u32) -> String {
    let newer = match schema > SCHEMA {
        true => " is newer than this version of fathom",
        false => " is not known here",
    };
    format!(
        "schema {schema}{newer} (it reads schemas 1 to {SCHEMA}); use the version of fathom that wrote it, or a later one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(id: &str) -> Record {
        Record {
            schema: SCHEMA,
            id: id.into(),
            ..Record::default()
        }
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        for id in ["a", "b"] {
            Store::open(&path).unwrap().append(&record(id)).unwrap();
        }
        let read = read_records(&path).unwrap();
        assert_eq!(read.records, [record("a"), record("b")]);
        assert!(read.damaged.is_empty());
    }

    #[test]
    fn many_at_once_are_lines_of_their_own_after_a_torn_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        std::fs::write(&path, "{\"schema\":").unwrap();
        let all: Vec<Record> = (0..2 * AT_ONCE + 1)
            .map(|number| record(&number.to_string()))
            .collect();
        Store::open(&path).unwrap().append_all(&all).unwrap();
        let read = read_records(&path).unwrap();
        assert_eq!(read.records, all);
        assert_eq!(read.damaged.len(), 1);
    }

    #[test]
    fn a_later_record_takes_the_place_of_the_one_with_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let named = |id: &str, name: &str| Record {
            name: name.into(),
            ..record(id)
        };
        let lines = [
            named("a", "begun"),
            named("", "old"),
            named("b", "begun"),
            named("a", "half"),
            named("", "older"),
            named("b", "ended"),
            named("a", "ended"),
        ];
        for line in &lines {
            Store::open(&path).unwrap().append(line).unwrap();
        }
        let names = || -> Vec<String> {
            let records = read_records(&path).unwrap().records;
            records.into_iter().map(|record| record.name).collect()
        };
        assert_eq!(names(), ["ended", "old", "ended", "older"]);
        // A line that was torn when it was written leaves the one before it.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
        assert_eq!(names(), ["half", "old", "ended", "older"]);
    }

    #[test]
    fn of_chosen_lines_each_counts_whatever_its_id() {
        let lines = ["a", "b", "a"].map(|id| serde_json::to_vec(&record(id)).unwrap());
        let read = parse_lines(lines.iter());
        assert_eq!(read.records, ["a", "b", "a"].map(record));
        assert_eq!(parse_records(&lines.join(&b'\n')).records.len(), 2);
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        Store::open(&path).unwrap().append(&record("a")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut torn = whole.clone();
        torn.extend_from_slice(&whole[..whole.len() / 2]);
        std::fs::write(&path, &torn).unwrap();
        Store::open(&path).unwrap().append(&record("c")).unwrap();
        let read = read_records(&path).unwrap();
        assert_eq!(read.records, [record("a"), record("c")]);
        assert_eq!(read.damaged.len(), 1);
        assert_eq!(read.damaged[0].line, 2);
    }

    #[test]
    fn a_plan_is_no_record_and_each_record_of_its_experiment_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let plan = crate::PlanFacts {
            most_passes: 9,
            ..crate::PlanFacts::default()
        }
        .line();
        let mut of_plan = record("a");
        of_plan.trial = Some(crate::Trial {
            plan: plan.hash.clone(),
            ..crate::Trial::default()
        });
        let mut store = Store::open(&path).unwrap();
        store.append_plan(&plan).unwrap();
        store.append(&of_plan).unwrap();
        store.append(&record("b")).unwrap();
        let read = read_records(&path).unwrap();
        assert!(read.damaged.is_empty() && read.records.len() == 2 && *read.plans[0] == plan);
        assert_eq!(
            read.records[0]
                .trial
                .as_ref()
                .unwrap()
                .written_plan
                .as_deref(),
            Some(&plan)
        );
        assert!(
            std::fs::read(&path).unwrap().starts_with(b"{\"schema\":2,"),
            "as every line of a file of records"
        );
        let torn = &std::fs::read(&path).unwrap()[..40];
        assert_eq!(parse_records(torn).damaged.len(), 1);
    }

    #[test]
    fn a_file_of_records_is_told_from_any_other_and_may_be_torn() {
        let are = |text: &str| are_records(&mut text.as_bytes()).unwrap();
        let line = serde_json::to_string(&record("a")).unwrap();
        for text in [
            String::new(),
            "\n".into(),
            format!("{line}\n"),
            format!("{line}\n{{\"sche"),
            format!("{}\n{line}", &line[..line.len() / 2]),
        ] {
            assert!(are(&text), "{text}");
        }
        let pretty = serde_json::to_string_pretty(&record("a")).unwrap();
        for text in [
            "thesis\n".into(),
            format!("{line}\nthesis\n"),
            pretty,
            "\0\0\0".into(),
            format!("thesis{line}"),
        ] {
            assert!(!are(&text), "{text}");
        }
    }

    #[test]
    fn an_unknown_schema_is_named() {
        let line = serde_json::to_string(&record("a"))
            .unwrap()
            .replace("\"schema\":2", "\"schema\":99");
        let read = parse_records(line.as_bytes());
        assert!(read.records.is_empty());
        assert!(
            read.damaged[0].reason.contains("schema 99"),
            "{:?}",
            read.damaged
        );
    }

    proptest! {
        #[test]
        fn numbers_keep_their_last_bit(number in any::<f64>().prop_filter("JSON has no others", |number| number.is_finite())) {
            let mut record = record("a");
            record.generator_mut().calibration.clock_read_ns = number;
            let text = serde_json::to_vec(&record).unwrap();
            prop_assert_eq!(parse_records(&text).records[0].generator().calibration.clock_read_ns, number);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _records_or_damage = parse_records(&bytes);
        }
    }
}
