//! What every file of JUnit XML here has in common.
//!
//! Elements and attributes are those that the schemas of Jenkins and of Ant (windyroad) have in
//! common.

use crate::plot;
use record::Record;

/// How such a file begins.
pub(crate) const START: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
/// Where no record says when it began: the schemas want a time.
pub(crate) const NO_TIME: &str = "1970-01-01T00:00:00";

/// Of the first record, without a zone, as the schema has it.
pub(crate) fn timestamp(records: &[&Record]) -> String {
    let first = records
        .iter()
        .map(|record| record.started_at.as_str())
        .min()
        .unwrap_or_default();
    let is_time =
        first.is_ascii() && first.len() >= NO_TIME.len() && crate::moment::unix_ms(first).is_some();
    if is_time {
        first[..NO_TIME.len()].to_owned()
    } else {
        NO_TIME.to_owned()
    }
}

pub(crate) fn hostname<'a>(records: &[&'a Record]) -> &'a str {
    records
        .iter()
        .flat_map(|record| record.environments())
        .filter_map(|environment| environment.system.hostname.as_deref())
        .find(|name| !name.is_empty())
        .unwrap_or("localhost")
}

/// Text for elements and attributes, without the two characters that XML has no form for.
pub(crate) fn escape(text: &str) -> String {
    plot::escape(&text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

/// Measured time.
pub(crate) fn seconds<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let ns: u64 = records
        .map(|record| record.elapsed_ns)
        .fold(0, u64::saturating_add);
    format!("{:.3}", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_none_is_the_beginning_of_all_times() {
        let record = Record {
            started_at: "yesterday, some time ago".into(),
            ..Record::default()
        };
        assert_eq!(
            (timestamp(&[&record]), timestamp(&[])),
            (NO_TIME.into(), NO_TIME.into())
        );
    }
}
