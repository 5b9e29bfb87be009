//! The files that verbs write, each with what it may take the place of.

use crate::exit::Usage;
use crate::run::switch;
use anyhow::{Context as _, Result};
use clap::{Arg, value_parser};
use lab::Kept;
use record::{Record, Store, StoreError};
use run::safety::{FileId, OutputFile, OutputForm};
use std::cell::RefCell;
use std::io::{self, BufRead, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Records, one a line.
pub(crate) const RECORDS: OutputForm = OutputForm {
    name: "records alone",
    is_form_of: record::are_records,
};
/// A result for people, or in one of the forms of `--output-format`.
pub(crate) const RESULT: OutputForm = OutputForm {
    name: "a result that Fathom wrote",
    is_form_of: is_result,
};
pub(crate) const JSON: OutputForm = OutputForm {
    name: "records that Fathom wrote as JSON",
    is_form_of: |file| Ok(is_json(&head(file)?)),
};
pub(crate) const CSV: OutputForm = OutputForm {
    name: "a series that Fathom wrote as CSV",
    is_form_of: |file| Ok(is_csv(&head(file)?)),
};
pub(crate) const HISTOGRAMS: OutputForm = OutputForm {
    name: "latency histograms that Fathom wrote",
    is_form_of: |file| {
        head(file).map(|head| {
            head == "{}\n" || head.starts_with("{\"") && head.contains("\":{\"latency\":{")
        })
    },
};
pub(crate) const HDR_LOG: OutputForm = OutputForm {
    name: "an interval log that Fathom wrote",
    is_form_of: |file| Ok(head(file)?.starts_with("#Fathom ")),
};
/// A log of fio or in its form, which fio's next run replaces as well.
pub(crate) const FIO_LOG: OutputForm = OutputForm {
    name: "a log in fio's form",
    is_form_of: |file| {
        let head = head(file)?;
        let mut fields = head.lines().next().unwrap_or_default().split(", ");
        Ok(fields.clone().count() >= 3
            && fields
                .all(|field| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit())))
    },
};
pub(crate) const STUDY: OutputForm = OutputForm {
    name: "a report",
    is_form_of: |file| Ok(report::is_study(&whole(file)?)),
};
pub(crate) const CARD: OutputForm = OutputForm {
    name: "a card",
    is_form_of: |file| {
        let mut bytes = Vec::new();
        file.take(1 << 10).read_to_end(&mut bytes)?;
        Ok(report::is_card(&bytes))
    },
};
/// A table that `fathom export` made.
pub(crate) const EXPORT: OutputForm = OutputForm {
    name: "a table that Fathom exported",
    is_form_of: |file| {
        let mut bytes = Vec::new();
        file.take(MOST_OF_A_FORM).read_to_end(&mut bytes)?;
        let is_text = ["record,verb,name,started_at,", "{\"record\":\""];
        Ok(is_text
            .iter()
            .any(|mark| bytes.starts_with(mark.as_bytes()))
            || report::export::is_parquet(&bytes))
    },
};
pub(crate) const VERDICTS: OutputForm = OutputForm {
    name: "verdicts",
    is_form_of: |file| Ok(report::is_verdicts(&whole(file)?)),
};
pub(crate) const AUDIT: OutputForm = OutputForm {
    name: "what an audit found",
    is_form_of: |file| Ok(report::is_audit(&whole(file)?)),
};
pub(crate) const MANUAL: OutputForm = OutputForm {
    name: "a manual page of Fathom",
    is_form_of: |file| {
        head(file).map(|head| {
            head.lines()
                .take(4)
                .any(|line| line.starts_with(".TH fathom"))
        })
    },
};

/// `-o`: the file of results; `value` is its name in help.
pub(crate) fn output(value: &'static str, help: &'static str) -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name(value)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// The flag that permits writing over something else.
pub(crate) fn force() -> Arg {
    switch(
        "force",
        "Write results also over files that hold something else, but never over devices or the target",
    )
}

/// As much as any form needs to show itself.
fn head(file: &mut dyn BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(64 << 10).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// No result that Fathom writes whole is longer. Of what is, the beginning shows that it is none.
const MOST_OF_A_FORM: u64 = 512 << 20;

fn whole(file: &mut dyn BufRead) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST_OF_A_FORM).read_to_string(&mut text)?;
    Ok(text)
}

fn is_json(head: &str) -> bool {
    head.starts_with("{\n  \"schema\": ")
        || head.starts_with("[\n  {\n    \"schema\": ")
        || head == "[]\n"
}

fn is_csv(head: &str) -> bool {
    head.starts_with("record,start_s,end_s,kind,")
}

fn is_result(file: &mut dyn BufRead) -> io::Result<bool> {
    let text = whole(file)?;
    let is_fios = text
        .get(..4096)
        .unwrap_or(&text)
        .contains("fio-3.0-fathom-");
    let is_for_people = text.lines().any(|line| line.starts_with("outcome       "));
    Ok(is_json(&text)
        || is_csv(&text)
        || text.starts_with("record,id,started_at,target,")
        || is_fios
        || is_for_people)
}

/// Refuses a result that would take the place of what the verb reads, whatever its name.
pub(crate) fn check_is_no_input<'a>(
    file: &Path,
    mut inputs: impl Iterator<Item = &'a Path>,
    what: &str,
) -> Result<()> {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|facts| FileId::of(&facts));
    let itself = id(file);
    if itself.is_some() && inputs.any(|input| id(input) == itself) {
        return Err(Usage(format!("{} is {what}; name another file", file.display())).into());
    }
    Ok(())
}

/// Writes a whole result.
pub(crate) fn write(output: &OutputFile, text: &str) -> Result<()> {
    write_bytes(output, text.as_bytes())
}

/// Writes what is no text.
pub(crate) fn write_bytes(output: &OutputFile, bytes: &[u8]) -> Result<()> {
    let mut file = output.open()?;
    file.write_all(bytes)
        .with_context(|| format!("cannot write {}", output.path().display()))
}

/// A file of records that is opened when there is one to keep.
#[derive(Debug)]
pub(crate) struct RecordFile {
    output: OutputFile,
    store: RefCell<Option<Store>>,
}

impl RecordFile {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.output.path()
    }

    /// # Errors
    /// Records could not be kept there.
    pub(crate) fn checked(output: OutputFile) -> Result<Self> {
        output.check()?;
        Ok(Self {
            output,
            store: RefCell::new(None),
        })
    }

    /// Appends a record, synced.
    pub(crate) fn append(&self, record: &Record) -> Result<()> {
        self.keep(Kept::Record(record))
    }

    /// Appends records that are all there already, and syncs them together.
    pub(crate) fn append_all(&self, records: &[Record]) -> Result<()> {
        match records {
            [] => Ok(()),
            records => self.write(|store| store.append_all(records)),
        }
    }

    /// Appends what an experiment keeps, synced.
    pub(crate) fn keep(&self, line: Kept<'_>) -> Result<()> {
        self.write(|store| match line {
            Kept::Plan(plan) => store.append_plan(plan),
            Kept::Record(record) => store.append(record),
        })
    }

    fn write(&self, write: impl FnOnce(&mut Store) -> Result<(), StoreError>) -> Result<()> {
        let mut store = self.store.borrow_mut();
        let open = match store.take() {
            Some(open) => open,
            None => Store::on(self.output.open_to_append()?, self.output.path())
                .with_options(crate::typing::typed),
        };
        Ok(write(store.insert(open))?)
    }
}

/// Writes manual pages into a directory.
pub(crate) fn write_manual(
    directory: &Path,
    pages: Vec<(PathBuf, String)>,
    is_forced: bool,
) -> Result<()> {
    if !directory.is_dir() {
        return Err(Usage(format!(
            "{0} is no directory; run `mkdir -p {0}`",
            directory.display()
        ))
        .into());
    }
    let outputs: Vec<(OutputFile, String)> = pages
        .into_iter()
        .map(|(name, text)| {
            (
                OutputFile::new(&directory.join(name), MANUAL).forced(is_forced),
                text,
            )
        })
        .collect();
    outputs.iter().try_for_each(|(output, _)| output.check())?;
    outputs
        .iter()
        .try_for_each(|(output, text)| write(output, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Operations, SCHEMA};

    fn example() -> Record {
        let mut record = Record {
            schema: SCHEMA,
            name: "run".into(),
            started_at: "2026-01-01T00:00:00.000Z".into(),
            ..Record::default()
        };
        record.operations.insert(
            "read",
            Operations {
                count: 1,
                ..Operations::default()
            },
        );
        record
    }

    #[test]
    fn each_form_knows_what_is_written_in_it_and_nothing_of_the_others_or_of_somebody_elses() {
        let records = [example()];
        let line = serde_json::to_string(&records[0]).unwrap() + "\n";
        let with_end = |text: String| {
            if text.ends_with('\n') {
                text
            } else {
                text + "\n"
            }
        };
        let written = [
            (RECORDS, line),
            (JSON, with_end(report::json(&records))),
            (CSV, with_end(report::csv(&records))),
            (HISTOGRAMS, with_end(report::histograms_json(&records))),
            (HDR_LOG, report::hdr_log(&records[0]).unwrap()),
            (FIO_LOG, "500, 71, 0, 4096, 0, 0\n".to_owned()),
            (
                MANUAL,
                ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH fathom 1\n".to_owned(),
            ),
        ];
        for (index, (form, _)) in written.iter().enumerate() {
            for (other, (_, text)) in written.iter().enumerate() {
                assert_eq!(
                    (form.is_form_of)(&mut text.as_bytes()).unwrap(),
                    index == other,
                    "{}: {text}",
                    form.name
                );
            }
            assert!(
                !(form.is_form_of)(&mut &b"my thesis\n"[..]).unwrap(),
                "{}",
                form.name
            );
            assert!(
                !(form.is_form_of)(&mut &b"{\"json\": 1}\n"[..]).unwrap(),
                "{}",
                form.name
            );
        }
        let options = report::FioOptions::default();
        let results = [
            report::terminal(&records[0], &[], &report::TerminalOptions::default()),
            report::json(&records),
            report::csv(&records),
            report::csv_summary(&records),
            serde_json::to_string_pretty(&report::fio_json(&records, &options)).unwrap(),
            report::fio_terse(&records, &options),
        ];
        for text in results {
            assert!((RESULT.is_form_of)(&mut text.as_bytes()).unwrap(), "{text}");
        }
        for text in ["my thesis\n", "outcome: good\n", "{}\n"] {
            assert!(
                !(RESULT.is_form_of)(&mut text.as_bytes()).unwrap(),
                "{text}"
            );
        }
    }
}
