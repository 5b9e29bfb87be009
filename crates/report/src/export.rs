//! Records as a table for data frames: one row a record and kind of operation, one thing a column.
//!
//! The columns before `kind` and those after `max_ns` are of the whole record and repeat on
//! each of its rows, of which the one of kind `all` holds all operations together. A column has one
//! unit, named by its ending (`_ns`, `_bytes`, `_percent`), and one type; a cell is empty where the
//! record does not say. `option_…` are the effective options, `value_…` what other tools state
//! under names of their own.

use record::{
    ALL, Environment, KindFigures, OptionValue, Quantity, Record, Typing, figures, summary,
};
use std::collections::BTreeSet;
use units::ValueUnit;
use units::lossless::u64_to_f64;

#[cfg(feature = "parquet")]
mod parquet;
mod text;

#[cfg(feature = "parquet")]
pub use parquet::parquet;
pub use text::{csv, json_lines};

/// What an exported Parquet file says of who made it.
const MAKER: &str = "fathom export";

/// What stands in a column on a row; `None` where nothing is known.
pub type ExportCell = Option<OptionValue>;

/// A column: its name, and a value a row.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportColumn {
    pub name: String,
    pub cells: Vec<ExportCell>,
}

/// A record and one of its kinds of operations.
struct Row<'a> {
    record: &'a Record,
    kind: String,
    figures: KindFigures,
}

/// A column by its name, and what stands in it.
type Named<S> = (&'static str, fn(&S) -> ExportCell);

type Cells<'r> = Box<dyn Fn(&Row<'_>) -> ExportCell + 'r>;

/// The table of some records, all columns equally long.
#[must_use]
pub fn export(records: &[Record], typing: Typing) -> Vec<ExportColumn> {
    let rows: Vec<Row<'_>> = records.iter().flat_map(rows).collect();
    let mut columns: Vec<(String, Cells<'_>)> = Vec::new();
    let mut add = |name: String, cells: Cells<'static>| columns.push((name, cells));
    for (name, of) in IDENTITY {
        add((*name).to_owned(), Box::new(|row| of(row.record)));
    }
    add("kind".to_owned(), Box::new(|row| text(&row.kind)));
    for (name, of) in FIGURES {
        add((*name).to_owned(), Box::new(|row| of(&row.figures)));
    }
    for quantity in Quantity::of_whole_records() {
        let name = column_of(&quantity);
        let value = move |row: &Row<'_>| quantity.of(row.record).known().and_then(real);
        add(name, Box::new(value));
    }
    for key in keys(records, |record| record.effective.keys().cloned().collect()) {
        let name = format!("option_{}", key.replace('-', "_"));
        let value = move |row: &Row<'_>| {
            let text = row.record.effective.get(&key)?;
            Some(typing(row.record, &key, text))
        };
        add(name, Box::new(value));
    }
    for key in keys(records, stated) {
        let name = format!("value_{key}");
        let value = move |row: &Row<'_>| {
            let mut found = figures::of_kind(row.record, &row.kind)?.others();
            real(found.find(|(name, _)| *name == key)?.1)
        };
        add(name, Box::new(value));
    }
    let told = columns.into_iter().map(|(name, cell)| ExportColumn {
        name,
        cells: of_one_type(rows.iter().map(cell).collect()),
    });
    told.collect()
}

fn rows(record: &Record) -> impl Iterator<Item = Row<'_>> {
    let mut kinds = summary(record);
    let all = kinds.remove_entry(ALL);
    kinds
        .into_iter()
        .chain(all)
        .map(move |(kind, figures)| Row {
            record,
            kind,
            figures,
        })
}

/// What every record is known by.
const IDENTITY: &[Named<Record>] = &[
    ("record", |record| text(&record.id)),
    ("verb", |record| text(&record.kind)),
    ("name", |record| text(&record.name)),
    ("started_at", |record| text(&record.started_at)),
    ("status", |record| text(record.outcome.status.word())),
    ("tool", |record| {
        text(
            record
                .source
                .as_ref()
                .map_or("fathom", |source| &source.tool),
        )
    }),
    ("version", |record| match &record.source {
        Some(source) => text(source.version.as_deref()?),
        None => text(&common(record, |of| Some(of.fathom.version.clone()))?),
    }),
    ("commit", |record| {
        text(&common(record, |of| of.fathom.commit.clone())?)
    }),
    ("host", |record| {
        text(&common(record, |of| of.system.hostname.clone())?)
    }),
    ("target", |record| text(&record.targets.first()?.path)),
    ("plan", |record| text(&record.trial.as_ref()?.plan)),
    ("arm", |record| text(&record.trial.as_ref()?.arm)),
    ("role", |record| text(record.trial.as_ref()?.role.word())),
    ("row", |record| text(&record.trial.as_ref()?.row)),
    ("block", |record| whole(record.trial.as_ref()?.block.into())),
    ("attempt", |record| {
        whole(record.trial.as_ref()?.attempt.into())
    }),
    ("slot", |record| whole(record.trial.as_ref()?.slot.into())),
];

/// What every kind of operation has.
const FIGURES: &[Named<KindFigures>] = &[
    ("count", |of| whole(of.count?)),
    ("errors", |of| whole(of.errors?)),
    ("bytes", |of| whole(of.bytes?)),
    ("per_second", |of| real(of.per_second?)),
    ("bytes_per_second", |of| real(of.bytes_per_second?)),
    ("min_ns", |of| real(of.min_ns?)),
    ("mean_ns", |of| real(of.mean_ns?)),
    ("p50_ns", |of| real(of.p50_ns?)),
    ("p90_ns", |of| real(of.p90_ns?)),
    ("p95_ns", |of| real(of.p95_ns?)),
    ("p99_ns", |of| real(of.p99_ns?)),
    ("p999_ns", |of| real(of.p999_ns?)),
    ("max_ns", |of| real(of.max_ns?)),
];

/// A fact about the hosts that Fathom ran on: all of their values, each once.
fn common(record: &Record, of: impl Fn(&Environment) -> Option<String>) -> Option<String> {
    let values: BTreeSet<String> = record.environments().filter_map(of).collect();
    let values: Vec<String> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.join(" "))
}

/// The name of a quantity of whole records as one word, with its unit.
fn column_of(quantity: &Quantity) -> String {
    let word = quantity
        .key()
        .replace("/op", "_per_operation")
        .replace("/byte", "_per_byte");
    let unit = match quantity.unit() {
        ValueUnit::Time => "_ns",
        ValueUnit::Bytes => "_bytes",
        ValueUnit::BytesPerSecond => "_bytes_per_second",
        ValueUnit::PerSecond => "_per_second",
        ValueUnit::Percent => "_percent",
        ValueUnit::Ratio | ValueUnit::Whole | ValueUnit::Change => "",
    };
    word.replace(['.', '-'], "_") + unit
}

fn keys(records: &[Record], of: impl Fn(&Record) -> Vec<String>) -> BTreeSet<String> {
    records.iter().flat_map(of).collect()
}

fn stated(record: &Record) -> Vec<String> {
    let kinds: Vec<figures::Figures<'_>> = figures::figures(record).collect();
    let names = kinds.iter().flat_map(figures::Figures::others);
    names.map(|(name, _)| name.to_owned()).collect()
}

/// A column of numbers and texts is one of texts; one of whole numbers and others is of the others.
fn of_one_type(cells: Vec<ExportCell>) -> Vec<ExportCell> {
    let has = |is: fn(&OptionValue) -> bool| cells.iter().flatten().any(is);
    let switches = has(|cell| matches!(cell, OptionValue::Switch(_)));
    let numbers = has(|cell| matches!(cell, OptionValue::Whole(_) | OptionValue::Real(_)));
    let texts = has(|cell| matches!(cell, OptionValue::Text(_)));
    let is_real = has(|cell| matches!(cell, OptionValue::Real(_)));
    let are_texts = texts || switches && numbers;
    let one = |cell: OptionValue| {
        if are_texts {
            return OptionValue::Text(cell.to_string());
        }
        match cell {
            OptionValue::Whole(number) if is_real => OptionValue::Real(u64_to_f64(number)),
            same @ (OptionValue::Switch(_)
            | OptionValue::Whole(_)
            | OptionValue::Real(_)
            | OptionValue::Text(_)) => same,
        }
    };
    cells.into_iter().map(|cell| cell.map(one)).collect()
}

fn text(text: &str) -> ExportCell {
    (!text.is_empty()).then(|| OptionValue::Text(text.to_owned()))
}

fn whole(number: u64) -> ExportCell {
    Some(OptionValue::Whole(number))
}

fn real(number: f64) -> ExportCell {
    number.is_finite().then_some(OptionValue::Real(number))
}

/// Whether these are the bytes of a Parquet file that was exported here.
#[must_use]
pub fn is_parquet(bytes: &[u8]) -> bool {
    const FOOTER: usize = 1 << 16;
    let mut end = bytes.windows(MAKER.len()).rev().take(FOOTER);
    bytes.starts_with(b"PAR1") && end.any(|part| part == MAKER.as_bytes())
}
