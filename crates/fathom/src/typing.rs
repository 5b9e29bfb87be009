//! The options of records as numbers, by what the tables of options say of their values.

use object::LoadOption;
use record::{OptionValue, Record};
use units::{Bytes, Nanos, Percent, Rate};

/// Reads an option of a record. What its table does not know, and what it does not take, is text.
pub(crate) fn typed(record: &Record, key: &str, text: &str) -> OptionValue {
    let value = if record.kind == "load" {
        LoadOption::named(key).map(LoadOption::value)
    } else {
        workload::settings::find(key).map(|setting| setting.value)
    };
    let known = value.and_then(|value| of_value(value, text));
    known.unwrap_or_else(|| OptionValue::Text(text.to_owned()))
}

/// A text by the name of its value in help; `None` is a switch.
fn of_value(value: Option<&str>, text: &str) -> Option<OptionValue> {
    let Some(value) = value else {
        return text.parse().ok().map(OptionValue::Switch);
    };
    match value {
        "SIZE" | "SIZES" => Bytes::parse(text)
            .ok()
            .map(|size| OptionValue::Whole(size.0)),
        "TIME" => Nanos::parse(text)
            .ok()
            .map(|time| OptionValue::Whole(time.0)),
        "RATE" => Rate::parse(text).ok().map(|rate| OptionValue::Real(rate.0)),
        "P" => Percent::parse(text)
            .ok()
            .map(|share| OptionValue::Real(share.0)),
        "N" => text.parse().ok().map(OptionValue::Whole),
        "X" | "H" | "FACTOR" => text.parse().ok().map(OptionValue::Real),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_read_in_the_unit_of_its_own_table() {
        let read = |key: &str, text: &str| typed(&Record::default(), key, text);
        assert_eq!(read("block-size", "4k"), OptionValue::Whole(4096));
        assert_eq!(read("file-size", "2m"), OptionValue::Whole(2 << 20));
        assert_eq!(read("duration", "2m"), OptionValue::Whole(120_000_000_000));
        assert_eq!(read("direct", "true"), OptionValue::Switch(true));
        assert_eq!(read("queue-depth", "32"), OptionValue::Whole(32));
        assert_eq!(read("read-percent", "70"), OptionValue::Real(70.0));
        assert_eq!(read("rate-iops", "500"), OptionValue::Real(500.0));
        assert_eq!(read("zipf-theta", "1.2"), OptionValue::Real(1.2));
        assert_eq!(
            read("engine", "io_uring"),
            OptionValue::Text("io_uring".to_owned())
        );
        assert_eq!(read("target", "true"), OptionValue::Text("true".to_owned()));
        assert_eq!(read("foreign", "8"), OptionValue::Text("8".to_owned()));
        let load = Record {
            kind: "load".to_owned(),
            ..Record::default()
        };
        let read = |key: &str, text: &str| typed(&load, key, text);
        assert_eq!(read("users", "8"), OptionValue::Whole(8));
        assert_eq!(read("timeout", "60s"), OptionValue::Whole(60_000_000_000));
        assert_eq!(read("http2", "false"), OptionValue::Switch(false));
        assert_eq!(read("object-size", "4KiB"), OptionValue::Whole(4096));
        assert_eq!(
            read("object-size", "4KiB-64KiB"),
            OptionValue::Text("4KiB-64KiB".to_owned())
        );
    }
}
