//! `docs/record.md` and `docs/record.schema.json` say what the types say. `BLESS=1` writes them.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

fn holds(name: &str, text: &str) {
    let path = docs(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{name} is not what the types say: BLESS=1 cargo test -p record --test documented"
    );
}

fn schema() -> Value {
    record::schema().to_value()
}

/// The name of a type in a table.
fn kind(schema: &Value) -> String {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let name = target.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(*key)?.as_array())
    {
        let words: Vec<String> = choices.iter().map(kind).collect();
        return words.join(" or ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{}`", word.as_str().unwrap_or_default());
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" or ");
    }
    let one = |name: &str| match name {
        "array" => match (schema.get("items"), schema.get("prefixItems")) {
            (_, Some(Value::Array(parts))) => {
                let parts: Vec<String> = parts.iter().map(kind).collect();
                format!("[{}]", parts.join(", "))
            }
            (Some(item), _) => format!("list of {}", kind(item)),
            (None, _) => "list".to_owned(),
        },
        "object" => match schema.get("additionalProperties") {
            Some(value @ Value::Object(_)) => format!("table of {}", kind(value)),
            Some(_) | None => "table".to_owned(),
        },
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(one).collect();
            names.join(" or ")
        }
        Some(_) | None => "anything".to_owned(),
    }
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    text.unwrap_or_default()
        .replace('\n', " ")
        .replace('|', "\\|")
}

/// The fields of a type as a table, or its choices as a list.
fn told(out: &mut String, schema: &Value) {
    let says = description(schema);
    if !says.is_empty() {
        writeln!(out, "{says}\n").unwrap();
    }
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        out.push_str("| field | type | meaning |\n|---|---|---|\n");
        for (name, field) in fields {
            writeln!(
                out,
                "| `{name}` | {} | {} |",
                kind(field),
                description(field)
            )
            .unwrap();
        }
        out.push('\n');
    } else if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        for choice in choices {
            writeln!(out, "- {} {}", kind(choice), description(choice)).unwrap();
        }
        out.push('\n');
    } else {
        writeln!(out, "{}\n", kind(schema)).unwrap();
    }
}

fn page(schema: &Value) -> String {
    let types: &Map<String, Value> = schema["$defs"].as_object().unwrap();
    let mut out = String::from(
        "# Records\n\n\
        A file of records holds one JSON object a line: before the first record of an experiment its \
        [plan](#planline), and then a [record](#storedrecord) a trial, each synced when it is written. Times are \
        nanoseconds, sizes bytes; `null` and absent mean \"unknown\" or \"not asked\", never zero. Readers ignore \
        fields that they do not know; `schema` counts versions, and older ones are read.\n\n\
        `summary` and `options` follow from the rest of the record and are left out when Fathom reads it. As a \
        table: `fathom export`. As a JSON Schema: [record.schema.json](record.schema.json). This page is made from \
        the types (`BLESS=1 cargo test -p record --test documented`).\n\n",
    );
    let first = ["StoredRecord", "PlanLine"];
    let rest = types
        .keys()
        .map(String::as_str)
        .filter(|name| !first.contains(name));
    for name in first.into_iter().chain(rest) {
        writeln!(out, "## {name}\n").unwrap();
        told(&mut out, &types[name]);
    }
    format!("{}\n", out.trim_end())
}

#[test]
fn the_page_says_what_the_types_say() {
    holds("record.md", &page(&schema()));
}

#[test]
fn the_schema_says_what_the_types_say() {
    holds("record.schema.json", &format!("{:#}\n", schema()));
}
