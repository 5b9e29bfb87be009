//! Published figures as records, so that a claim can be audited like a measurement.
//!
//! A table says each figure under the name that it has everywhere (`read.iops`, `p99`,
//! `throughput`), and options under theirs (`block-size`, `direct`). A number keeps the text that
//! was published beside it. What the page does not say is not asked for and stays unknown.

use crate::trials;
use record::{Quantity, Record, SCHEMA, Source, Summary, TargetFact};
use units::{ValueUnit, lossless::f64_to_u64_saturating, nearest};

/// The most results and claims of a file.
const MOST: usize = 100_000;
/// What is neither a figure nor an option.
const FACTS: [&str; 14] = [
    "arm",
    "claim",
    "cpu",
    "cpus",
    "elapsed",
    "host",
    "memory",
    "name",
    "note",
    "operation",
    "os",
    "row",
    "started",
    "target",
];

/// Keys and texts of one result.
type Told = Vec<(String, String)>;

/// Reads a TOML file of `[[result]]` and `[[claim]]` tables, whose other keys hold for all of them.
///
/// # Errors
/// What cannot be read, where, and what there is instead.
pub fn quote_toml(text: &str, name: &str) -> Result<Vec<Record>, String> {
    let whole: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let mut common = Told::new();
    let (mut results, mut claims) = (Vec::new(), Vec::new());
    for (key, value) in whole {
        match (key.as_str(), value) {
            ("result", toml::Value::Array(tables)) => results = tables,
            ("claim", toml::Value::Array(tables)) => claims = tables,
            (_, value) => tell(&mut common, key, &value)?,
        }
    }
    if results.len() + claims.len() > MOST {
        return Err(format!("has more than {MOST} results and claims"));
    }
    let mut out = Vec::new();
    for (kind, tables) in [("document", results), ("claim", claims)] {
        for (number, table) in (1..).zip(tables) {
            let at = format!(
                "[[{}]] {number}",
                if kind == "claim" { kind } else { "result" }
            );
            let toml::Value::Table(table) = table else {
                return Err(format!("{at} is no table"));
            };
            let mut own = Told::new();
            for (key, value) in table {
                tell(&mut own, key, &value).map_err(|e| format!("{at}: {e}"))?;
            }
            let kept = common
                .iter()
                .filter(|(key, _)| own.iter().all(|(other, _)| other != key));
            let told = kept.cloned().chain(own.clone()).collect();
            let id = format!("{name}:{}", out.len() + 1);
            out.push(record(&told, kind, id, name).map_err(|e| format!("{at}: {e}"))?);
        }
    }
    if out.is_empty() {
        return Err("holds no [[result]] and no [[claim]]".to_owned());
    }
    Ok(out)
}

/// Reads a table with a line of headings, each line a result; an empty cell says nothing.
///
/// # Errors
/// What cannot be read, where, and what there is instead.
pub fn quote_csv(text: &str, name: &str) -> Result<Vec<Record>, String> {
    let lines = trials::lines(text)?;
    let Some(((_, headings), body)) = lines.split_first() else {
        return Err("holds no line of headings".to_owned());
    };
    if body.is_empty() {
        return Err("holds headings and no result".to_owned());
    }
    let is_again = |(at, heading): &(usize, &String)| headings[..*at].contains(heading);
    if let Some((_, again)) = headings.iter().enumerate().find(is_again) {
        return Err(format!("has two columns {again:?}"));
    }
    let of_line = |(line, cells): &(usize, Vec<String>)| {
        if cells.len() != headings.len() {
            let (there, headings) = (cells.len(), headings.len());
            return Err(format!(
                "line {line} has {there} columns, and the first {headings}"
            ));
        }
        let told = headings.iter().map(|heading| heading.trim().to_owned());
        let told: Told = told
            .zip(cells.iter().map(|cell| cell.trim().to_owned()))
            .collect();
        record(&told, "document", format!("{name}:{line}"), name)
            .map_err(|e| format!("line {line}: {e}"))
    };
    body.iter().map(of_line).collect()
}

/// Adds a value as the file has it, so that what was published stays as it was. A table is several:
/// `read.iops` is the key `iops` of a table `read`.
fn tell(told: &mut Told, key: String, value: &toml::Value) -> Result<(), String> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(is_on) => is_on.to_string(),
        toml::Value::Datetime(moment) => moment.to_string(),
        toml::Value::Table(parts) => {
            let mut parts = parts.iter();
            return parts.try_for_each(|(part, value)| tell(told, format!("{key}.{part}"), value));
        }
        toml::Value::Array(_) => {
            return Err(format!("{key}: a list stands where one value is needed"));
        }
    };
    told.push((key, text));
    Ok(())
}

fn record(told: &Told, kind: &str, id: String, file: &str) -> Result<Record, String> {
    let fact = |key: &str| {
        let found = told.iter().find(|(known, _)| known == key);
        found
            .map(|(_, text)| text.as_str())
            .filter(|text| !text.is_empty())
    };
    let mut out = Record {
        schema: SCHEMA,
        id,
        kind: kind.to_owned(),
        name: name(fact, kind)?,
        source: Some(Source {
            tool: "document".to_owned(),
            file: Some(file.to_owned()),
            format: "document".to_owned(),
            ..Source::default()
        }),
        ..Record::default()
    };
    let is_claim = kind == "claim";
    for (key, text) in told.iter().filter(|(_, text)| !text.is_empty()) {
        if FACTS.contains(&key.as_str()) {
            state(&mut out, key, text).map_err(|e| format!("{key}: {e}"))?;
        } else if is_claim {
            claim(&mut out, key, text);
        } else if workload::settings::find(key).is_some() {
            out.effective.insert(key.clone(), option(key, text)?);
        } else if let Some(other) = key.strip_prefix("option.") {
            out.effective.insert(other.to_owned(), text.clone());
        } else {
            figure(&mut out, key, text, fact("operation"))?;
        }
    }
    if !is_claim && out.summaries.is_empty() && out.elapsed_ns == 0 {
        return Err(
            "says no figure; name one by its quantity, such as read.iops or throughput".to_owned(),
        );
    }
    Ok(out)
}

/// What it is called: `ARM | ROW` where it has both.
fn name<'a>(fact: impl Fn(&str) -> Option<&'a str>, kind: &str) -> Result<String, String> {
    let words = match kind {
        "claim" => [Some("claim"), fact("claim").or_else(|| fact("name"))],
        _ => [fact("arm"), fact("row").or_else(|| fact("name"))],
    };
    let words: Vec<&str> = words.into_iter().flatten().collect();
    if words.is_empty() || kind == "claim" && words.len() < 2 {
        return Err(
            "has no name; say name, or arm and row; of a claim its words as claim".to_owned(),
        );
    }
    Ok(words.join(" | "))
}

/// What is neither a figure nor an option.
fn state(record: &mut Record, key: &str, text: &str) -> Result<(), String> {
    match key {
        "started" => record.started_at = text.to_owned(),
        "note" => record.notices.push(text.to_owned()),
        "elapsed" => record.elapsed_ns = f64_to_u64_saturating(ValueUnit::Time.parse(text)?),
        "target" => record.targets.push(TargetFact {
            path: text.to_owned(),
            ..TargetFact::default()
        }),
        "arm" => {
            record.effective.insert("arm".to_owned(), text.to_owned());
        }
        "claim" => {
            let summary = record.summaries.entry("claim".to_owned()).or_default();
            summary
                .as_written
                .insert("text".to_owned(), text.to_owned());
        }
        "cpu" => record.generator_mut().environment.cpu.model = Some(text.to_owned()),
        "cpus" => {
            let number = text
                .parse()
                .map_err(|_no_number| format!("{text:?} is no whole number"))?;
            record.generator_mut().environment.cpu.logical = Some(number);
        }
        "memory" => {
            let bytes = f64_to_u64_saturating(value(ValueUnit::Bytes, text)?);
            record.generator_mut().environment.memory.total_bytes = Some(bytes);
        }
        "host" => record.generator_mut().environment.system.hostname = Some(text.to_owned()),
        "os" => record.generator_mut().environment.system.os_name = Some(text.to_owned()),
        _ => {}
    }
    Ok(())
}

/// An option in the form that records have it.
fn option(key: &str, text: &str) -> Result<String, String> {
    let mut workload = workload::Workload::default();
    workload::settings::apply(&mut workload, key, text).map_err(|e| e.to_string())?;
    let setting = workload::settings::find(key);
    Ok(setting
        .and_then(|setting| setting.show(&workload))
        .unwrap_or_else(|| text.to_owned()))
}

/// A number that a claim is about, under a name of its own.
fn claim(record: &mut Record, key: &str, text: &str) {
    let summary = record.summaries.entry("claim".to_owned()).or_default();
    match number(text).parse::<f64>() {
        Ok(number) if number.is_finite() => {
            summary.figures.insert(key.to_owned(), number);
        }
        Ok(_) | Err(_) => {
            summary.as_written.insert(key.to_owned(), text.to_owned());
        }
    }
}

/// A figure of a kind of operation.
fn figure(
    record: &mut Record,
    key: &str,
    text: &str,
    operation: Option<&str>,
) -> Result<(), String> {
    let quantity = Quantity::parse(key).map_err(|e| {
        let options = workload::settings::SETTINGS
            .iter()
            .map(|setting| setting.key);
        let near = nearest(key, FACTS.into_iter().chain(options));
        let near = near.map_or_else(String::new, |near| format!(" or did you mean {near}?"));
        format!("{e};{near} another circumstance is option.{key}")
    })?;
    let value = value(quantity.unit(), text).map_err(|e| format!("{key}: {e}"))?;
    let kind = quantity
        .kind()
        .or(operation)
        .ok_or_else(|| format!("{key} of what? Say operation, such as read, or read.{key}"))?;
    let summary = record.summaries.entry(kind.to_owned()).or_default();
    let field = set(summary, &quantity, value).ok_or_else(|| {
        format!("{key} cannot be quoted; count, errors, bytes, iops, throughput, mean, min, max and percentiles can")
    })?;
    match summary.as_written.insert(field, text.to_owned()) {
        Some(first) => Err(format!(
            "{key}: the same figure is said twice, {first:?} and {text:?}"
        )),
        None => Ok(()),
    }
}

/// Puts a value into its field, and gives the name of the field.
fn set(summary: &mut Summary, quantity: &Quantity, value: f64) -> Option<String> {
    let whole = Some(f64_to_u64_saturating(value));
    let plain = quantity.of_any_kind().key();
    let field = match plain.as_str() {
        "count" | "success" => {
            summary.count = whole;
            "count"
        }
        "errors" => {
            summary.errors = whole;
            "errors"
        }
        "bytes" => {
            summary.bytes = whole;
            "bytes"
        }
        "iops" => {
            summary.per_second = Some(value);
            "per_second"
        }
        "throughput" => {
            summary.bytes_per_second = Some(value);
            "bytes_per_second"
        }
        "mean" => {
            summary.mean_ns = Some(value);
            "mean_ns"
        }
        "min" => {
            summary.min_ns = Some(value);
            "min_ns"
        }
        "max" => {
            summary.max_ns = Some(value);
            "max_ns"
        }
        "success/op" => {
            let name = "success_percent";
            summary.figures.insert(name.to_owned(), value);
            name
        }
        other => {
            let percent = other
                .strip_prefix('p')
                .filter(|text| text.parse::<f64>().is_ok())?;
            summary.percentiles_ns.insert(percent.to_owned(), value);
            other
        }
    };
    Some(field.to_owned())
}

/// A published value, which may be rounded: `18.4 GiB` is no whole number of bytes.
fn value(unit: ValueUnit, text: &str) -> Result<f64, String> {
    let text = number(text);
    let exact = unit.parse(&text);
    let is_of_bytes = matches!(unit, ValueUnit::Bytes | ValueUnit::BytesPerSecond);
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, name) = text.split_at(end);
    match (&exact, digits.parse::<f64>()) {
        (Err(_), Ok(amount)) if is_of_bytes && digits.contains('.') => {
            let one = unit.parse(&format!("1{}", name.trim()));
            one.map_or(exact, |one| Ok(amount * one))
        }
        _ => exact,
    }
}

/// A number without the commas between its thousands, of which each but the first group has three
/// digits.
fn number(text: &str) -> String {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != ',')
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let mut groups = digits.split(',');
    let is_first = groups
        .next()
        .is_some_and(|group| (1..=3).contains(&group.len()));
    if is_first && groups.all(|group| group.len() == 3) {
        digits.replace(',', "") + rest
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_table_is_a_result_in_our_units() {
        let table = "arm,row,operation,iops,throughput,p99,block-size,direct\n\
            a,4K,read,\"482,000\",1974 MB/s,2.07 us,4k,true\nb,4K,read,504K,,,4096,false\n";
        let records = quote_csv(table, "page.csv").unwrap();
        let [first, second] = records.as_slice() else {
            panic!("two")
        };
        assert_eq!(
            (first.name.as_str(), first.kind.as_str()),
            ("a | 4K", "document")
        );
        let read = &first.summaries["read"];
        assert_eq!(
            (read.per_second, read.bytes_per_second),
            (Some(482_000.0), Some(1.974e9))
        );
        assert_eq!(read.percentiles_ns["99"], 2070.0);
        assert_eq!(read.as_written["per_second"], "482,000");
        assert_eq!(read.as_written["p99"], "2.07 us");
        assert_eq!(first.effective["direct"], "true");
        assert_eq!(second.effective["block-size"], "4k");
        assert_eq!(second.summaries["read"].bytes_per_second, None);
    }

    #[test]
    fn keys_above_the_results_hold_for_all_of_them() {
        let text = "operation = \"upload\"\nmemory = \"64 GiB\"\noption.branch = \"main\"\n\
            [[result]]\nname = \"100M\"\nthroughput = \"138.89 MB/s\"\n\
            [[result]]\nname = \"1G\"\noperation = \"download\"\nmax = \"3s\"\nget.p99 = \"5ms\"\n\
            [[claim]]\nclaim = \"winner +4.3%\"\neffect_percent = 4.3\n";
        let records = quote_toml(text, "t").unwrap();
        assert_eq!(
            records[0].summaries["upload"].bytes_per_second,
            Some(138_890_000.0)
        );
        assert_eq!(records[1].summaries["download"].max_ns, Some(3e9));
        assert_eq!(records[1].summaries["get"].percentiles_ns["99"], 5e6);
        for record in &records[..2] {
            assert_eq!(record.effective["branch"], "main");
            let environment = record.environments().next().unwrap();
            assert_eq!(environment.memory.total_bytes, Some(64 << 30));
        }
        assert_eq!(records[2].kind, "claim");
        assert_eq!(records[2].summaries["claim"].figures["effect_percent"], 4.3);
        assert_eq!(
            records[2].summaries["claim"].as_written["text"],
            "winner +4.3%"
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        for (table, why) in [
            ("", "no line of headings"),
            ("name,iops\n", "no result"),
            (
                "name,read.iops,read.iops\na,1,2\n",
                "two columns \"read.iops\"",
            ),
            ("name,iops\na,1k\n", "line 2: iops of what?"),
            ("name,read.iops\na,fast\n", "line 2: read.iops:"),
            ("name,read.speed\na,1\n", "line 2:"),
            (
                "name,blocksize,read.iops\na,4k,1k\n",
                "did you mean block-size?",
            ),
            ("read.iops\n1k\n", "line 2: has no name"),
            ("name,read.iops,read.rate\na,1k,2k\n", "said twice"),
            (
                "name,operation,iops,read.iops\na,read,1k,2k\n",
                "said twice",
            ),
            ("name,note\na,b\n", "says no figure"),
            ("name,read.iops\na\n", "line 2 has 1 columns"),
            ("name,read.signing/op\na,1ms\n", "line 2:"),
        ] {
            let error = quote_csv(table, "t.csv").unwrap_err();
            assert!(error.contains(why), "{table:?}: {error}");
        }
        assert_eq!(number("1,234,567 x"), "1234567 x");
        assert_eq!(number("1,23"), "1,23");
        assert_eq!(
            value(ValueUnit::Bytes, "1.5 GiB"),
            Ok(1.5 * f64::from(1 << 30))
        );
    }
}
