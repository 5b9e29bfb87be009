//! Any JSON in few bytes, and back: for records inside of a page.
//!
//! Values that stand at the same place of many records are written together, one column a place,
//! because they are alike. Each column holds one token a value in the order of reading: `{a,b` an
//! object with these keys, `[3` an array of so many elements, else the value as JSON. So reading
//! needs no more than the columns; how one is written is told where it is done.

mod base85;
mod column;

use self::base85::{decoded, encoded};
use self::column::{PackedColumn, column_text};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read as _;
use units::lossless::to_u64;

/// How much a text may unpack to: a small one that unpacks to more is meant to do harm.
struct Room {
    /// Of the columns.
    text: usize,
    /// Of the values in them, as they lie in memory.
    memory: usize,
}

/// No page holds more. A record with 150 intervals, of 60 KB as a line, takes 1.2 MB of the memory.
const MOST: Room = Room {
    text: 256 << 20,
    memory: 1 << 30,
};
/// What lies in memory for a column, for a value, and for an object with fields and each field of
/// it beside its name: at most, with what the allocator adds.
const COLUMN_BYTES: usize = 256;
const VALUE_BYTES: usize = 64;
const OBJECT_BYTES: usize = 640;
const FIELD_BYTES: usize = 96;
/// No name of a place is longer: each value below it is looked up by it.
const LONGEST_PATH: usize = 16 << 10;
pub(super) const TOO_MUCH: &str = "its records unpack to more than a page may hold";
const TOO_DEEP: &str =
    "its records have longer names, or lie deeper in each other, than a page may hold";
pub(super) const DAMAGED: &str = "its records are damaged";
/// Arrays up to this length have a column for each of their places: pairs are two things.
const TUPLE: usize = 3;
/// Deeper is nothing that a record holds.
const DEEPEST: usize = 64;
/// JSON has none of these outside of its escapes.
const BETWEEN_COLUMNS: char = '\u{1}';
const BETWEEN_TOKENS: char = '\n';

/// The value as text of few bytes; the same value gives the same text.
pub(super) fn packed(value: &Value) -> String {
    let mut columns = BTreeMap::new();
    write(value, &mut String::new(), &mut columns);
    // Fields of one name are alike wherever they lie, and what is alike lies close together.
    let mut sorted: Vec<_> = columns.iter().collect();
    sorted.sort_by_key(|(path, _)| path.rsplit('/').next());
    let texts: Vec<String> = sorted
        .iter()
        .map(|(path, of)| column_text(path, of))
        .collect();
    drop(columns);
    let text = texts.join(&BETWEEN_COLUMNS.to_string());
    let mut bytes = Vec::new();
    ZlibEncoder::new(text.as_bytes(), Compression::best())
        .read_to_end(&mut bytes)
        .expect("memory can be read");
    encoded(&bytes)
}

/// The value of a text that [`packed`] gave.
///
/// # Errors
/// Why it is none.
pub(super) fn unpacked(text: &str) -> Result<Value, &'static str> {
    unpacked_into(text, MOST)
}

fn unpacked_into(text: &str, room: Room) -> Result<Value, &'static str> {
    let bytes = decoded(text.trim()).ok_or(DAMAGED)?;
    let mut text = String::new();
    let reader = ZlibDecoder::new(bytes.as_slice());
    let mut reader = reader.take(to_u64(room.text) + 1);
    let read = reader.read_to_string(&mut text);
    if reader.limit() == 0 {
        return Err(TOO_MUCH);
    }
    read.map_err(|_not_zipped| DAMAGED)?;
    let mut columns = Columns {
        columns: BTreeMap::new(),
        room: room.memory,
    };
    for column in text.split(BETWEEN_COLUMNS) {
        columns.add(column)?;
    }
    let value = columns.value(&mut String::new(), 0)?;
    match columns.columns.values().all(PackedColumn::is_used_up) {
        true => Ok(value),
        false => Err(DAMAGED),
    }
}

/// Adds to the text of each column, path by path.
fn write(value: &Value, path: &mut String, columns: &mut BTreeMap<String, String>) {
    let length = path.len();
    match value {
        Value::Object(fields) => {
            let keys: Vec<String> = fields
                .keys()
                .map(|key| Value::from(key.as_str()).to_string())
                .collect();
            token(columns, path, &format!("{{{}", keys.join(",")));
            for (key, value) in fields {
                path.push('/');
                path.push_str(&Value::from(key.as_str()).to_string());
                write(value, path, columns);
                path.truncate(length);
            }
        }
        Value::Array(values) => {
            token(columns, path, &format!("[{}", values.len()));
            for (index, value) in values.iter().enumerate() {
                path.push_str(&place(index, values.len()));
                write(value, path, columns);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            token(columns, path, &value.to_string());
        }
    }
}

fn token(columns: &mut BTreeMap<String, String>, path: &str, token: &str) {
    match columns.get_mut(path) {
        Some(column) => add(column, token),
        None => drop(columns.insert(path.to_owned(), token.to_owned())),
    }
}

/// Adds one more to tokens, of which none is empty.
fn add(tokens: &mut String, token: &str) {
    if !tokens.is_empty() {
        tokens.push(BETWEEN_TOKENS);
    }
    tokens.push_str(token);
}

fn place(index: usize, of: usize) -> String {
    if of <= TUPLE {
        format!(".{of}.{index}")
    } else {
        "[]".to_owned()
    }
}

/// All columns, and what may still lie in memory.
struct Columns<'a> {
    columns: BTreeMap<&'a str, PackedColumn<'a>>,
    room: usize,
}

impl<'a> Columns<'a> {
    fn add(&mut self, text: &'a str) -> Result<(), &'static str> {
        self.take(COLUMN_BYTES)?;
        let (path, column) = PackedColumn::of(text).ok_or(DAMAGED)?;
        match self.columns.insert(path, column) {
            None => Ok(()),
            Some(_) => Err(DAMAGED),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.room = self.room.checked_sub(bytes).ok_or(TOO_MUCH)?;
        Ok(())
    }

    fn value(&mut self, path: &mut String, depth: usize) -> Result<Value, &'static str> {
        if depth > DEEPEST || path.len() > LONGEST_PATH {
            return Err(TOO_DEEP);
        }
        let column = self.columns.get_mut(path.as_str()).ok_or(DAMAGED)?;
        let token = column.next().ok_or(DAMAGED)?;
        self.take(VALUE_BYTES + token.len())?;
        let length = path.len();
        if let Some(keys) = token.strip_prefix('{') {
            // Before they are read: a comma is between two names, or in one.
            let most = keys.bytes().filter(|byte| *byte == b',').count() + 1;
            self.take(OBJECT_BYTES + FIELD_BYTES * most)?;
            let keys: Vec<String> =
                serde_json::from_str(&format!("[{keys}]")).map_err(|_no_names| DAMAGED)?;
            let mut fields = Map::new();
            for key in keys {
                path.push('/');
                path.push_str(&Value::from(key.as_str()).to_string());
                let value = self.value(path, depth + 1);
                path.truncate(length);
                fields.insert(key, value?);
            }
            return Ok(Value::Object(fields));
        }
        if let Some(count) = token.strip_prefix('[') {
            let count: usize = count.parse().map_err(|_no_number| DAMAGED)?;
            let mut values = Vec::new();
            for index in 0..count {
                path.push_str(&place(index, count));
                let value = self.value(path, depth + 1);
                path.truncate(length);
                values.push(value?);
            }
            return Ok(Value::Array(values));
        }
        serde_json::from_str(&token).map_err(|_no_value| DAMAGED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back_as_it_was(value in json_value()) {
            prop_assert_eq!(unpacked(&packed(&value)), Ok(value));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _nothing_or_something = unpacked(&text);
            let mut packed = Vec::new();
            ZlibEncoder::new(bytes.as_slice(), Compression::fast()).read_to_end(&mut packed).unwrap();
            let _nothing_or_something = unpacked(&encoded(&packed));
        }
    }

    /// The text of a page that somebody else packed.
    fn zipped(text: &str) -> String {
        let mut bytes = Vec::new();
        ZlibEncoder::new(text.as_bytes(), Compression::best())
            .read_to_end(&mut bytes)
            .unwrap();
        encoded(&bytes)
    }

    #[test]
    fn a_small_text_that_unpacks_to_much_is_refused_before_it_lies_in_memory() {
        const LITTLE: Room = Room {
            text: 1 << 20,
            memory: 1 << 20,
        };
        let told = |text: &str| unpacked_into(&zipped(text), LITTLE);
        // A long text; many short values, objects, fields and columns of a text that is not.
        assert_eq!(
            told(&format!("\n=\n{:?}", "x".repeat(1 << 20))),
            Err(TOO_MUCH)
        );
        let values = format!("\n=\n[40000\u{1}[]\n={}", "\n0".repeat(40_000));
        assert_eq!(told(&values), Err(TOO_MUCH));
        let objects = format!("\n=\n[2000\u{1}[]\n={}", "\n{".repeat(2000));
        assert_eq!(told(&objects), Err(TOO_MUCH));
        let fields = format!("\n=\n{{{}\"\"", "\"\",".repeat(20_000));
        assert_eq!(told(&fields), Err(TOO_MUCH));
        let columns: Vec<String> = (0..20_000).map(|n| format!("{n}\n=")).collect();
        assert_eq!(told(&columns.join("\u{1}")), Err(TOO_MUCH));
        // A short number in the text may be a long one among the values.
        let numbers = format!("\n=\n[4\u{1}[]\n-\n1{}\n0\n0\n0", "0".repeat(30));
        assert!(told(&numbers).is_ok());
        // What a page may hold lies far below.
        assert_eq!(
            told("\n=\n[4\u{1}[]\n-\n1\n0\n0\n0"),
            Ok(json!([1, 1, 1, 1]))
        );
    }

    #[test]
    fn what_lies_too_deep_or_has_too_long_a_name_is_told_as_such() {
        let mut deep = json!(1);
        for _ in 0..=DEEPEST {
            deep = json!([deep]);
        }
        assert_eq!(unpacked(&packed(&deep)), Err(TOO_DEEP));
        let long = json!({ "x".repeat(LONGEST_PATH): 1 });
        assert_eq!(unpacked(&packed(&long)), Err(TOO_DEEP));
        assert_eq!(unpacked("AAAA"), Err(DAMAGED));
    }

    #[test]
    fn what_is_alike_takes_few_bytes() {
        let pairs: Vec<Value> = (0..2000_u64).map(|n| json!([1000 + n, 5])).collect();
        let value = json!({ "buckets": pairs, "name": "x" });
        assert!(packed(&value).len() < 400, "{}", packed(&value).len());
    }
}
