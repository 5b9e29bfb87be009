//! The table as Parquet, one row group, compressed by Snappy.

use super::{ExportCell, ExportColumn, MAKER};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Stored};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use record::OptionValue;
use std::io::Write;
use std::sync::Arc;

/// Writes the table.
///
/// # Errors
/// It cannot be written, or a text is longer than the form allows.
pub fn parquet(columns: &[ExportColumn], file: impl Write + Send) -> Result<()> {
    let fields: Vec<TypePtr> = columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("records")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(MAKER.to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        write_column(&mut group, column)?;
    }
    group.close()?;
    writer.close().map(|_| ())
}

/// How a column is stored; one that holds nothing is one of texts.
fn stored(column: &ExportColumn) -> Stored {
    match column.cells.iter().flatten().next() {
        Some(OptionValue::Switch(_)) => Stored::BOOLEAN,
        Some(OptionValue::Whole(_)) => Stored::INT64,
        Some(OptionValue::Real(_)) => Stored::DOUBLE,
        Some(OptionValue::Text(_)) | None => Stored::BYTE_ARRAY,
    }
}

fn field(column: &ExportColumn) -> Result<TypePtr> {
    let stored = stored(column);
    let is_text = stored == Stored::BYTE_ARRAY;
    Type::primitive_type_builder(&column.name, stored)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(is_text.then_some(LogicalType::String))
        .build()
        .map(Arc::new)
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &ExportColumn,
) -> Result<()> {
    match stored(column) {
        Stored::BOOLEAN => values::<BoolType, W>(group, &column.cells, |cell| match cell {
            OptionValue::Switch(is_on) => Some(*is_on),
            OptionValue::Whole(_) | OptionValue::Real(_) | OptionValue::Text(_) => None,
        }),
        Stored::INT64 => values::<Int64Type, W>(group, &column.cells, |cell| match cell {
            OptionValue::Whole(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
            OptionValue::Switch(_) | OptionValue::Real(_) | OptionValue::Text(_) => None,
        }),
        Stored::DOUBLE => values::<DoubleType, W>(group, &column.cells, |cell| match cell {
            OptionValue::Real(number) => Some(*number),
            OptionValue::Switch(_) | OptionValue::Whole(_) | OptionValue::Text(_) => None,
        }),
        Stored::INT32
        | Stored::INT96
        | Stored::FLOAT
        | Stored::BYTE_ARRAY
        | Stored::FIXED_LEN_BYTE_ARRAY => {
            values::<ByteArrayType, W>(group, &column.cells, |cell| match cell {
                OptionValue::Text(text) => Some(ByteArray::from(text.as_str())),
                OptionValue::Switch(_) | OptionValue::Whole(_) | OptionValue::Real(_) => None,
            })
        }
    }
}

/// Writes the cells that are known; a level a cell says which.
fn values<D: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &[ExportCell],
    value: fn(&OptionValue) -> Option<D::T>,
) -> Result<()> {
    let found: Vec<Option<D::T>> = cells
        .iter()
        .map(|cell| cell.as_ref().and_then(value))
        .collect();
    let levels: Vec<i16> = found.iter().map(|cell| i16::from(cell.is_some())).collect();
    let known: Vec<D::T> = found.into_iter().flatten().collect();
    let Some(mut writer) = group.next_column()? else {
        return Ok(());
    };
    writer
        .typed::<D>()
        .write_batch(&known, Some(&levels), None)?;
    writer.close()
}

#[cfg(test)]
mod tests {
    use super::super::{export, is_parquet};
    use super::*;
    use crate::example;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn a_file_holds_the_table_with_its_types() {
        let typing = |_: &record::Record, key: &str, text: &str| match key {
            "queue-depth" => OptionValue::Whole(8),
            "direct" => OptionValue::Switch(true),
            _ => OptionValue::Text(text.to_owned()),
        };
        let table = export(&[example::oltp(), example::oltp()], typing);
        let mut bytes = Vec::new();
        parquet(&table, &mut bytes).unwrap();
        assert!(is_parquet(&bytes));
        assert!(!is_parquet(b"PAR1 of somebody else PAR1"));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), table[0].cells.len());
        for (at, row) in rows.iter().enumerate() {
            for (column, (name, field)) in table.iter().zip(row.get_column_iter()) {
                assert_eq!(name, &column.name);
                let read = match field {
                    Field::Null => None,
                    Field::Bool(is_on) => Some(OptionValue::Switch(*is_on)),
                    Field::Long(number) => Some(OptionValue::Whole((*number).try_into().unwrap())),
                    Field::Double(number) => Some(OptionValue::Real(*number)),
                    Field::Str(text) => Some(OptionValue::Text(text.clone())),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(read, column.cells[at], "{name}");
            }
        }
    }
}
