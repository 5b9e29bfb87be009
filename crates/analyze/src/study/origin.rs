//! When and by what records were measured.

use record::Record;

/// When the first and the last of them began, as they say it.
pub(super) fn measured(records: &[Record]) -> Option<(String, String)> {
    let started = || records.iter().map(|record| &record.started_at);
    Some((started().min()?.clone(), started().max()?.clone()))
}

/// What measured it, with its version.
pub(super) fn tool(record: &Record) -> String {
    let (name, version) = match &record.source {
        Some(source) => (source.tool.as_str(), source.version.as_deref()),
        None => ("fathom", Some(record.fathom_version())),
    };
    match version.unwrap_or_default() {
        "" => name.to_owned(),
        version => format!("{name} {version}"),
    }
}
