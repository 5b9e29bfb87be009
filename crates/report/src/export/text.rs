//! The table as CSV and as JSON lines.

use super::{ExportCell, ExportColumn};
use crate::csv::push_row;
use crate::json_without_commands;
use record::OptionValue;
use serde_json::json;

/// One header line and one line a row, quoted as RFC 4180 says; an empty cell is unknown.
#[must_use]
pub fn csv(columns: &[ExportColumn]) -> String {
    let mut out = String::new();
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    push_row(&mut out, &names);
    for row in 0..rows(columns) {
        let cell = |column: &ExportColumn| told(&column.cells[row]);
        push_row(&mut out, &columns.iter().map(cell).collect::<Vec<_>>());
    }
    out
}

/// One object a row, with the columns that it has a value in, in their order.
#[must_use]
pub fn json_lines(columns: &[ExportColumn]) -> String {
    let mut out = String::new();
    for row in 0..rows(columns) {
        let fields = columns.iter().filter_map(|column| {
            let value = column.cells[row].as_ref()?;
            Some(format!("{}:{}", json!(column.name), json!(value)))
        });
        out.push_str(&format!("{{{}}}\n", fields.collect::<Vec<_>>().join(",")));
    }
    json_without_commands(&out)
}

fn rows(columns: &[ExportColumn]) -> usize {
    columns.first().map_or(0, |column| column.cells.len())
}

fn told(cell: &ExportCell) -> String {
    cell.as_ref()
        .map_or_else(String::new, OptionValue::to_string)
}

#[cfg(test)]
mod tests {
    use super::super::export;
    use super::*;
    use crate::example;
    use record::Record;

    fn table() -> Vec<ExportColumn> {
        let typing = |_: &Record, key: &str, text: &str| match key {
            "queue-depth" => OptionValue::Whole(text.parse().unwrap_or(0)),
            _ => OptionValue::Text(text.to_owned()),
        };
        let mut hostile = example::oltp();
        hostile.name = "a,\"b\"\nc".to_owned();
        export(&[example::oltp(), hostile], typing)
    }

    #[test]
    fn a_row_is_a_record_and_a_kind_and_all_kinds_come_last() {
        let table = table();
        let column = |name: &str| {
            let column = table.iter().find(|column| column.name == name).unwrap();
            column.cells.iter().map(told).collect::<Vec<_>>()
        };
        let kinds = column("kind");
        assert_eq!(kinds.len() % 2, 0);
        assert_eq!(kinds[..kinds.len() / 2], kinds[kinds.len() / 2..]);
        assert_eq!(kinds[kinds.len() / 2 - 1], "all");
        let counts: Vec<u64> = column("count")
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let (all, each) = counts[..counts.len() / 2].split_last().unwrap();
        assert_eq!(*all, each.iter().sum::<u64>());
        assert!(table.iter().all(|column| column.cells.len() == kinds.len()));
    }

    #[test]
    fn names_of_columns_are_words_and_each_is_there_once() {
        let mut names: Vec<String> = table().into_iter().map(|column| column.name).collect();
        for name in &names {
            assert!(
                name.starts_with("value_")
                    || name
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{name}"
            );
        }
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn each_line_of_json_holds_what_the_table_holds() {
        let table = table();
        let text = json_lines(&table);
        assert_eq!(text.lines().count(), rows(&table));
        for (row, line) in text.lines().enumerate() {
            let read: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(line).unwrap();
            let known = table.iter().filter(|column| column.cells[row].is_some());
            assert_eq!(read.len(), known.clone().count());
            for column in known {
                assert_eq!(
                    read[&column.name],
                    json!(column.cells[row]),
                    "{}",
                    column.name
                );
            }
        }
    }

    #[test]
    fn a_name_is_no_command_to_the_terminal_that_shows_a_line_of_json() {
        let mut hostile = example::oltp();
        hostile.name = "a\u{9b}2J\u{7f}\u{202e}".to_owned();
        let table = export(std::slice::from_ref(&hostile), |_, _, text| {
            OptionValue::Text(text.to_owned())
        });
        let text = json_lines(&table);
        assert!(text.contains(r#""name":"a\u009b2J\u007f\u202e""#), "{text}");
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["name"], hostile.name);
    }

    #[test]
    fn a_name_with_a_comma_a_quote_and_a_line_break_stays_one_cell() {
        assert!(csv(&table()).contains("\"a,\"\"b\"\"\nc\""));
    }
}
