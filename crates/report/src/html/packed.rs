//! Any JSON in few bytes, and back: for records inside of a page.
//!
//! Values that stand at the same place of many records are written together, one column a place,
//! because they are alike; whole numbers as differences where that is shorter. Each column holds one
//! token a value in the order of reading: `{a,b` an object with these keys, `[3` an array of so many
//! elements, else the value as JSON. So reading needs no more than the columns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read as _;

/// No page holds more; a small text that unpacks to more is meant to do harm.
const MOST_BYTES: u64 = 1 << 30;
/// Arrays up to this length have a column for each of their places: pairs are two things.
const TUPLE: usize = 3;
/// Deeper is nothing that a record holds.
const DEEPEST: usize = 64;
/// JSON has none of these outside of its escapes.
const BETWEEN_COLUMNS: char = '\u{1}';
const BETWEEN_TOKENS: char = '\n';

/// The value as base64 of few bytes; the same value gives the same text.
pub(super) fn packed(value: &Value) -> String {
    let mut columns = BTreeMap::new();
    write(value, &mut String::new(), &mut columns);
    let texts: Vec<String> = columns
        .iter()
        .map(|(path, of)| column_text(path, of))
        .collect();
    let text = texts.join(&BETWEEN_COLUMNS.to_string());
    let mut bytes = Vec::new();
    ZlibEncoder::new(text.as_bytes(), Compression::best())
        .read_to_end(&mut bytes)
        .expect("memory can be read");
    STANDARD.encode(bytes)
}

/// The value of a text that [`packed`] gave; `None`: it is none.
pub(super) fn unpacked(text: &str) -> Option<Value> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    let mut text = String::new();
    let mut reader = ZlibDecoder::new(bytes.as_slice()).take(MOST_BYTES);
    reader.read_to_string(&mut text).ok()?;
    let mut columns = BTreeMap::new();
    for column in text.split(BETWEEN_COLUMNS) {
        let (path, tokens) = column_of(column)?;
        columns.insert(path, tokens);
    }
    let value = read(&mut String::new(), &mut columns, 0)?;
    let is_used_up = columns.values_mut().all(|tokens| tokens.next().is_none());
    is_used_up.then_some(value)
}

fn write(value: &Value, path: &mut String, columns: &mut BTreeMap<String, Vec<String>>) {
    let mut token = |path: &str, token: String| match columns.get_mut(path) {
        Some(column) => column.push(token),
        None => drop(columns.insert(path.to_owned(), vec![token])),
    };
    let length = path.len();
    match value {
        Value::Object(fields) => {
            let keys: Vec<String> = fields
                .keys()
                .map(|key| Value::from(key.as_str()).to_string())
                .collect();
            token(path, format!("{{{}", keys.join(",")));
            for (key, value) in fields {
                path.push('/');
                path.push_str(&Value::from(key.as_str()).to_string());
                write(value, path, columns);
                path.truncate(length);
            }
        }
        Value::Array(values) => {
            token(path, format!("[{}", values.len()));
            for (index, value) in values.iter().enumerate() {
                path.push_str(&place(index, values.len()));
                write(value, path, columns);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            token(path, value.to_string());
        }
    }
}

fn place(index: usize, of: usize) -> String {
    if of <= TUPLE {
        format!(".{of}.{index}")
    } else {
        "[]".to_owned()
    }
}

/// A column: its path, whether its whole numbers are differences, and its tokens.
fn column_text(path: &str, tokens: &[String]) -> String {
    let mut last = 0_i128;
    let differences: Vec<String> = tokens
        .iter()
        .map(|token| match whole(token) {
            Some(number) => (number - std::mem::replace(&mut last, number)).to_string(),
            None => token.clone(),
        })
        .collect();
    let length = |tokens: &[String]| tokens.iter().map(String::len).sum::<usize>();
    let (sign, tokens) = if length(&differences) < length(tokens) {
        ('-', differences.as_slice())
    } else {
        ('=', tokens)
    };
    let tokens = tokens.join(&BETWEEN_TOKENS.to_string());
    format!("{path}{BETWEEN_TOKENS}{sign}{BETWEEN_TOKENS}{tokens}")
}

fn column_of(text: &str) -> Option<(String, std::vec::IntoIter<String>)> {
    let mut lines = text.split(BETWEEN_TOKENS);
    let (path, sign) = (lines.next()?, lines.next()?);
    let mut last = 0_i128;
    let tokens = lines.map(|token| match (sign, whole(token)) {
        ("-", Some(difference)) => {
            last = last.checked_add(difference)?;
            Some(last.to_string())
        }
        ("-" | "=", _) => Some(token.to_owned()),
        _ => None,
    });
    let tokens: Vec<String> = tokens.collect::<Option<_>>()?;
    Some((path.to_owned(), tokens.into_iter()))
}

/// A token that is a whole number as `to_string` writes it.
fn whole(token: &str) -> Option<i128> {
    let number: i128 = token.parse().ok()?;
    (number.to_string() == token && number.unsigned_abs() < 1 << 100).then_some(number)
}

fn read(
    path: &mut String,
    columns: &mut BTreeMap<String, std::vec::IntoIter<String>>,
    depth: usize,
) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    let token = columns.get_mut(path.as_str())?.next()?;
    let length = path.len();
    if let Some(keys) = token.strip_prefix('{') {
        let keys: Vec<String> = serde_json::from_str(&format!("[{keys}]")).ok()?;
        let mut fields = Map::new();
        for key in keys {
            path.push('/');
            path.push_str(&Value::from(key.as_str()).to_string());
            let value = read(path, columns, depth + 1);
            path.truncate(length);
            fields.insert(key, value?);
        }
        return Some(Value::Object(fields));
    }
    if let Some(count) = token.strip_prefix('[') {
        let count: usize = count.parse().ok()?;
        let mut values = Vec::new();
        for index in 0..count {
            path.push_str(&place(index, count));
            let value = read(path, columns, depth + 1);
            path.truncate(length);
            values.push(value?);
        }
        return Some(Value::Array(values));
    }
    serde_json::from_str(&token).ok()
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
            prop_assert_eq!(unpacked(&packed(&value)), Some(value));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _nothing_or_something = unpacked(&text);
            let mut zipped = Vec::new();
            ZlibEncoder::new(bytes.as_slice(), Compression::fast()).read_to_end(&mut zipped).unwrap();
            let _nothing_or_something = unpacked(&STANDARD.encode(zipped));
        }
    }

    #[test]
    fn what_is_alike_takes_few_bytes() {
        let pairs: Vec<Value> = (0..2000_u64).map(|n| json!([1000 + n, 5])).collect();
        let value = json!({ "buckets": pairs, "name": "x" });
        assert!(packed(&value).len() < 400, "{}", packed(&value).len());
    }
}
