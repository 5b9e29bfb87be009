//! Benchmark data: one operation a row, tab separated (`pkg/bench/ops.go`), with comments at its
//! end.
//!
//! `bytes` is the payload, `duration_ns` the whole request, `first_byte` the time of day at which
//! the first byte came back.

use crate::bins::Bins;
use crate::error::{Fault, Location};
use crate::input::Input;
use crate::origin::{Origin, without_secrets};
use record::{ErrorCount, Operations, Record, Summary};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use units::time;

/// The most kinds of operations and of errors that are told apart, and threads that are counted.
const MOST_KINDS: usize = 64;
const MOST_THREADS: usize = 1 << 16;
/// The longest row; a quote that is never closed ends here.
const MOST_ROW_BYTES: usize = 1 << 20;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let mut rows = Rows {
        text: input.text.trim_start(),
        line: 0,
    };
    let Some(header) = rows.next().transpose()? else {
        return Ok(Vec::new());
    };
    let columns = Columns::read(&header)?;
    let mut data = Counted::default();
    let mut comments = Vec::new();
    while let Some(row) = rows.next().transpose()? {
        match row.fields.first() {
            Some(first) if first.starts_with('#') => comments.push(row.fields.join("\t")),
            Some(_) => data.add(&columns.of(&row)?)?,
            None => {}
        }
    }
    let Some(mut record) = data.into_record(origin) else {
        return Ok(Vec::new());
    };
    if let Some(command) = comments
        .iter()
        .map(|comment| comment.trim_start_matches('#').trim())
        .find(|text| text.contains("warp"))
    {
        record
            .asked
            .insert("command".into(), without_secrets(command));
    }
    Ok(vec![record])
}

/// A row of fields, and the line on which it starts.
struct Row<'a> {
    line: usize,
    fields: Vec<Cow<'a, str>>,
}

struct Rows<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Iterator for Rows<'a> {
    type Item = Result<Row<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.text.is_empty() {
            let line = self.line + 1;
            match self.row() {
                Ok(fields) if fields.iter().all(|field| field.trim().is_empty()) => {}
                Ok(fields) => return Some(Ok(Row { line, fields })),
                Err(reason) => {
                    self.text = "";
                    return Some(Err(Fault {
                        place: Location::Line { line, column: None },
                        reason: reason.into(),
                        cut: reason == UNCLOSED,
                    }));
                }
            }
        }
        None
    }
}

const UNCLOSED: &str = "a quote is not closed";

impl<'a> Rows<'a> {
    /// The fields up to the end of the row. As in Go's reader, a comment is one field, and a field
    /// that starts with a quote ends at one.
    fn row(&mut self) -> Result<Vec<Cow<'a, str>>, &'static str> {
        self.line += 1;
        let mut fields = Vec::new();
        if self.text.starts_with('#') {
            let (comment, rest) = self.text.split_once('\n').unwrap_or((self.text, ""));
            self.text = rest;
            return Ok(vec![Cow::Borrowed(comment)]);
        }
        let begin = self.text.len();
        loop {
            let field = match self.text.strip_prefix('"') {
                Some(quoted) => self.quoted(quoted)?,
                None => {
                    let end = self.text.find(['\t', '\n']).unwrap_or(self.text.len());
                    let (field, rest) = self.text.split_at(end);
                    self.text = rest;
                    Cow::Borrowed(field.trim_end_matches('\r'))
                }
            };
            fields.push(field);
            if begin - self.text.len() > MOST_ROW_BYTES {
                return Err("a row of more than 1 MiB");
            }
            match self.text.bytes().next() {
                Some(b'\t') => self.text = &self.text[1..],
                Some(b'\n') => {
                    self.text = &self.text[1..];
                    return Ok(fields);
                }
                Some(_) => return Err("text follows a closing quote"),
                None => return Ok(fields),
            }
        }
    }

    fn quoted(&mut self, quoted: &'a str) -> Result<Cow<'a, str>, &'static str> {
        let mut at = 0;
        loop {
            let end = at + quoted[at..].find('"').ok_or(UNCLOSED)?;
            if !quoted[end + 1..].starts_with('"') {
                let field = &quoted[..end];
                self.line += field.matches('\n').count();
                self.text = quoted[end + 1..]
                    .strip_prefix('\r')
                    .unwrap_or(&quoted[end + 1..]);
                return Ok(if at == 0 {
                    Cow::Borrowed(field)
                } else {
                    Cow::Owned(field.replace("\"\"", "\""))
                });
            }
            at = end + 2;
        }
    }
}

/// Where the needed fields stand.
struct Columns {
    count: usize,
    op: usize,
    bytes: usize,
    error: usize,
    start: usize,
    end: usize,
    duration: usize,
    first_byte: Option<usize>,
    thread: Option<usize>,
    client: Option<usize>,
    endpoint: Option<usize>,
}

/// One operation.
struct Operation<'r> {
    line: usize,
    kind: &'r str,
    bytes: u64,
    error: &'r str,
    start: i128,
    end: i128,
    duration_ns: u64,
    first_byte_ns: Option<u64>,
    thread: Option<String>,
    endpoint: Option<&'r str>,
}

impl Columns {
    fn read(header: &Row<'_>) -> Result<Self, Fault> {
        let find = |name: &str| header.fields.iter().position(|field| field == name);
        let need = |name: &str| {
            find(name).ok_or_else(|| {
                Fault::new(
                    Location::Line {
                        line: header.line,
                        column: None,
                    },
                    format!("no column {name:?}"),
                )
            })
        };
        Ok(Self {
            count: header.fields.len(),
            op: need("op")?,
            bytes: need("bytes")?,
            error: need("error")?,
            start: need("start")?,
            end: need("end")?,
            duration: need("duration_ns")?,
            first_byte: find("first_byte"),
            thread: find("thread"),
            client: find("client_id"),
            endpoint: find("endpoint"),
        })
    }

    fn of<'r>(&self, row: &'r Row<'_>) -> Result<Operation<'r>, Fault> {
        if row.fields.len() != self.count {
            let reason = format!("{} fields under {} labels", row.fields.len(), self.count);
            return Err(Fault {
                place: Location::Line {
                    line: row.line,
                    column: None,
                },
                reason,
                cut: row.fields.len() < self.count,
            });
        }
        let wrong = |column: &str, text: &str, what: &str| {
            let shown: String = text.chars().take(40).collect();
            Fault::new(
                Location::Field {
                    line: row.line,
                    column: column.to_owned(),
                },
                format!("{shown:?} is not {what}"),
            )
        };
        let field = |index: usize| row.fields[index].as_ref();
        let count = |index: usize, column: &str| {
            field(index)
                .parse()
                .ok()
                .ok_or_else(|| wrong(column, field(index), "a whole number"))
        };
        let moment = |index: usize, column: &str| {
            time::parse(field(index)).ok_or_else(|| wrong(column, field(index), "a date and time"))
        };
        let start = moment(self.start, "start")?;
        let first_byte = match self.first_byte.filter(|index| !field(*index).is_empty()) {
            Some(index) => u64::try_from(moment(index, "first_byte")? - start).ok(),
            None => None,
        };
        let thread = self
            .thread
            .map(|index| format!("{} {}", self.client.map_or("", field), field(index)));
        Ok(Operation {
            line: row.line,
            kind: field(self.op),
            bytes: count(self.bytes, "bytes")?,
            error: field(self.error),
            start,
            end: moment(self.end, "end")?,
            duration_ns: count(self.duration, "duration_ns")?,
            first_byte_ns: first_byte,
            thread,
            endpoint: self.endpoint.map(field),
        })
    }
}

#[derive(Default)]
struct Kind {
    latency: Bins,
    first_byte: Bins,
    bytes: u64,
    errors: u64,
    smallest: Option<u64>,
    largest: Option<u64>,
}

/// The operations of a file by kind.
#[derive(Default)]
struct Counted {
    kinds: BTreeMap<String, Kind>,
    errors: BTreeMap<(String, String), u64>,
    start: Option<i128>,
    end: Option<i128>,
    threads: BTreeSet<String>,
    endpoints: BTreeSet<String>,
}

impl Counted {
    fn add(&mut self, operation: &Operation<'_>) -> Result<(), Fault> {
        let fault = |reason: &str| {
            Fault::new(
                Location::Line {
                    line: operation.line,
                    column: None,
                },
                reason,
            )
        };
        self.start = self.start.into_iter().chain([operation.start]).min();
        self.end = self.end.max(Some(operation.end));
        if let Some(thread) = operation
            .thread
            .as_ref()
            .filter(|_| self.threads.len() < MOST_THREADS)
        {
            self.threads.insert(thread.clone());
        }
        if let Some(endpoint) = operation
            .endpoint
            .filter(|_| self.endpoints.len() < MOST_KINDS)
        {
            self.endpoints.insert(endpoint.to_owned());
        }
        let name = operation.kind.to_lowercase();
        if self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&name) {
            return Err(fault("more than 64 kinds of operations"));
        }
        let kind = self.kinds.entry(name.clone()).or_default();
        if !operation.error.is_empty() {
            kind.errors += 1;
            let text: String = operation.error.chars().take(200).collect();
            if self.errors.len() < MOST_KINDS
                || self.errors.contains_key(&(name.clone(), text.clone()))
            {
                *self.errors.entry((name, text)).or_default() += 1;
            }
            return Ok(());
        }
        let counted = kind.latency.add(operation.duration_ns, 1)
            && operation
                .first_byte_ns
                .is_none_or(|ns| kind.first_byte.add(ns, 1));
        if !counted {
            return Err(fault("more operations than 64 bits count"));
        }
        kind.bytes = kind
            .bytes
            .checked_add(operation.bytes)
            .ok_or_else(|| fault("the bytes add up to more than 64 bits hold"))?;
        kind.smallest = kind.smallest.into_iter().chain([operation.bytes]).min();
        kind.largest = kind.largest.max(Some(operation.bytes));
        Ok(())
    }

    fn into_record(self, origin: &Origin<'_>) -> Option<Record> {
        let (start, end) = (self.start?, self.end?);
        let mut record = origin.record(0, origin.stem(), None);
        record.started_at = time::format(start);
        record.elapsed_ns = u64::try_from(end - start).unwrap_or_default();
        let full = self.threads.len() >= MOST_THREADS;
        if !self.threads.is_empty() && !full {
            record
                .effective
                .insert("users".into(), self.threads.len().to_string());
        }
        if !self.endpoints.is_empty() {
            record
                .effective
                .insert("hosts".into(), self.endpoints.len().to_string());
        }
        for (name, kind) in self.kinds {
            if kind.first_byte.count() > 0 {
                let latency = kind.first_byte.into_histogram();
                let mut summary = Summary {
                    samples: Some(latency.count()),
                    mean_ns: latency.mean(),
                    ..Summary::default()
                };
                summary.latency = Some(latency);
                record
                    .summaries
                    .insert(format!("{name} first byte"), summary);
            }
            let operations = Operations {
                count: kind.latency.count(),
                bytes: kind.bytes,
                errors: kind.errors,
                smallest_bytes: kind.smallest,
                largest_bytes: kind.largest,
                latency: kind.latency.into_histogram(),
                service: None,
            };
            record.operations.insert(&name, operations);
        }
        for ((operation, error), count) in self.errors {
            record.errors.push(ErrorCount {
                operation,
                error,
                count,
                ..ErrorCount::default()
            });
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        Rows { text, line: 0 }
            .map(|row| {
                row.unwrap()
                    .fields
                    .into_iter()
                    .map(Cow::into_owned)
                    .collect()
            })
            .collect()
    }

    #[test]
    fn quoted_fields_hold_tabs_lines_and_quotes() {
        assert_eq!(
            rows("a\t\"b\tc\nd\"\"e\"\tf\r\ng\t\th\n"),
            [vec!["a", "b\tc\nd\"e", "f"], vec!["g", "", "h"]]
        );
    }

    #[test]
    fn a_row_counts_the_lines_of_the_field_before_it() {
        let mut all = Rows {
            text: "\"a\nb\"\tc\nd\te",
            line: 0,
        };
        assert_eq!(all.next().unwrap().unwrap().line, 1);
        assert_eq!(all.next().unwrap().unwrap().line, 3);
    }

    #[test]
    fn an_open_quote_is_an_early_end() {
        let fault = Rows {
            text: "a\t\"b",
            line: 0,
        }
        .next()
        .unwrap()
        .err()
        .unwrap();
        assert!(fault.cut && fault.reason.contains("quote"));
    }
}
