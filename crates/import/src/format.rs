//! The formats, and how each is told by its content.

use crate::compressed;
use crate::error::ImportError;
use crate::fio;
use crate::input::Input;
use crate::node::Node;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $name:literal of $tool:literal;)*) => {
        /// A format of results.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[$doc])* $variant),* }

        impl Format {
            /// All of them.
            pub const ALL: &'static [Format] = &[$(Format::$variant),*];

            /// The word that names it to the user.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The tool that writes it.
            #[must_use]
            pub fn tool(self) -> &'static str {
                match self { $(Self::$variant => $tool),* }
            }
        }
    };
}

formats! {
    /// `--output-format=json` or `json+`, of a local run or of `--client`.
    Fio = "fio" of "fio";
    /// `--output-format=terse` or `--minimal`, versions 3 to 5: one job a line.
    FioTerse = "fio-terse" of "fio";
    /// `--summary-export`, or the data of `handleSummary`.
    K6Summary = "k6-summary" of "k6";
    /// `--out json`: one point a line.
    K6Points = "k6-json" of "k6";
    /// `warp analyze --json`, or the benchmark data in JSON.
    WarpAnalysis = "warp-json" of "warp";
    /// Benchmark data with one operation a row.
    WarpOperations = "warp-csv" of "warp";
    /// `--json-output`.
    IoPulse = "iopulse" of "iopulse";
    /// `--export-json`.
    Hyperfine = "hyperfine" of "hyperfine";
    /// `--jsonfile`.
    ElbenchoJson = "elbencho-json" of "elbencho";
    /// `--csvfile`, with labels.
    ElbenchoCsv = "elbencho-csv" of "elbencho";
}

impl Format {
    /// The unit of which the tool prints whole numbers as the measured time, rounded down.
    pub(crate) fn elapsed_step_ns(self) -> Option<u64> {
        match self {
            Self::ElbenchoJson | Self::ElbenchoCsv => Some(1_000_000),
            // fio's rates are made from the same whole milliseconds that it prints.
            Self::Fio | Self::FioTerse => None,
            Self::K6Summary
            | Self::K6Points
            | Self::WarpAnalysis
            | Self::WarpOperations
            | Self::IoPulse
            | Self::Hyperfine => None,
        }
    }

    pub(crate) fn list() -> String {
        Self::ALL
            .iter()
            .map(|format| format.name())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The word names no format.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("'{word}' is no format of results; there are: {}", Format::list())]
pub struct UnknownFormat {
    word: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == word)
            .ok_or_else(|| UnknownFormat {
                word: word.to_owned(),
            })
    }
}

/// Tells the format of a file by its content.
///
/// # Errors
/// None of the known formats, or more than one, fits; or the bytes are too many, compressed, or no
/// text.
pub fn recognise(bytes: &[u8], name: &str) -> Result<Format, ImportError> {
    of(&Input::new(&compressed::plain(bytes, name)?, name)?)
}

pub(crate) fn of(input: &Input<'_>) -> Result<Format, ImportError> {
    let first = input.first_line();
    if first.is_empty() {
        return Err(unrecognised(input, "the file is empty"));
    }
    if let Some((_, format)) = TABLES.iter().find(|(start, _)| first.starts_with(start)) {
        return Ok(*format);
    }
    if let Some((_, what, advice)) = OTHER_TABLES
        .iter()
        .find(|(start, _, _)| first.starts_with(start))
    {
        return Err(ImportError::Refused {
            file: input.name.to_owned(),
            what: (*what).to_owned(),
            advice,
        });
    }
    if fio::terse::is_line(first) {
        return Ok(Format::FioTerse);
    }
    if let Some(version) = fio::terse::other_version(first) {
        let what = format!(
            "the terse output of fio in version {version}, which has no version of fio and no percentiles of its own"
        );
        return Err(ImportError::Refused {
            file: input.name.to_owned(),
            what,
            advice: "run fio with --output-format=json+, or --terse-version=3",
        });
    }
    if is_point(first) {
        return Ok(Format::K6Points);
    }
    let documents = input
        .documents()
        .map_err(|fault| unrecognised(input, &format!("{}: {}", fault.place, fault.reason)))?;
    let Some(value) = documents.values.first() else {
        return Err(unrecognised(input, "no JSON document in it"));
    };
    let node = Node::root(value, "");
    if let Some((_, what, advice)) = OTHER_DOCUMENTS.iter().find(|(is, _, _)| is(&node)) {
        return Err(ImportError::Refused {
            file: input.name.to_owned(),
            what: (*what).to_owned(),
            advice,
        });
    }
    let fitting: Vec<Format> = DOCUMENTS
        .iter()
        .filter(|(is, _)| is(&node))
        .map(|(_, format)| *format)
        .collect();
    match fitting[..] {
        [format] => Ok(format),
        [] => Err(unrecognised(
            input,
            &format!("JSON of an unknown kind ({})", keys(value)),
        )),
        _ => {
            let names: Vec<_> = fitting.iter().map(|format| format.name()).collect();
            Err(unrecognised(
                input,
                &format!("fits several formats ({}): name one", names.join(", ")),
            ))
        }
    }
}

fn unrecognised(input: &Input<'_>, why: &str) -> ImportError {
    ImportError::Unrecognised {
        file: input.name.to_owned(),
        why: why.to_owned(),
    }
}

const TABLES: [(&str, Format); 2] = [
    ("idx\tthread\top\t", Format::WarpOperations),
    ("ISO date,label,path type,", Format::ElbenchoCsv),
];

const OTHER_TABLES: [(&str, &str, &str); 5] = [
    (
        "ISO Date,Label,Phase,RuntimeMS,",
        "the live statistics of elbencho, which are states of a run and no result",
        "import what elbencho writes with --csvfile or --jsonfile",
    ),
    (
        "Label,Phase,RuntimeMS,",
        "the live statistics of elbencho, which are states of a run and no result",
        "import what elbencho writes with --csvfile or --jsonfile",
    ),
    (
        "Dataset,Mean-value",
        "means over runs of elbencho, as its storage_sweep makes them",
        "import what elbencho writes with --csvfile or --jsonfile",
    ),
    (
        "metric_name,timestamp,metric_value,",
        "CSV of k6, which has whole seconds only",
        "run k6 with --out json=FILE",
    ),
    (
        "timestamp,elapsed",
        "a CSV time series",
        "import the tool's JSON result instead",
    ),
];

type Test = fn(&Node<'_>) -> bool;

const OTHER_DOCUMENTS: [(Test, &str, &str); 2] = [
    (
        |node| node.get("histogram").is_some() && node.get("node_id").is_some(),
        "the histogram file of IOPulse, which counts reads and writes together",
        "import its aggregate.json",
    ),
    (
        |node| {
            node.get("schema").is_some()
                && node.get("operations").is_some()
                && node.get("outcome").is_some()
        },
        "records of Fathom already",
        "use them as they are",
    ),
];

const DOCUMENTS: [(Test, Format); 6] = [
    (
        |node| {
            node.get("fio version").is_some()
                || has_jobs(node, "jobs")
                || has_jobs(node, "client_stats")
        },
        Format::Fio,
    ),
    (
        |node| {
            node.get("root_group").is_some()
                && node
                    .get("metrics")
                    .is_some_and(|metrics| metrics.is_object())
        },
        Format::K6Summary,
    ),
    (is_warp, Format::WarpAnalysis),
    (
        |node| node.get("test_info").is_some() && node.get("final_summary").is_some(),
        Format::IoPulse,
    ),
    (
        |node| first_item(node, "results").is_some_and(|result| result.get("command").is_some()),
        Format::Hyperfine,
    ),
    (
        |node| node.get("phase_type").is_some() && node.get("last_done").is_some(),
        Format::ElbenchoJson,
    ),
];

fn has_jobs(node: &Node<'_>, key: &str) -> bool {
    first_item(node, key).is_some_and(|job| job.get("jobname").is_some())
}

fn is_warp(node: &Node<'_>) -> bool {
    let live = node
        .get("total")
        .is_some_and(|total| total.get("total_requests").is_some());
    let old = node
        .get("mixed")
        .is_some_and(|mixed| mixed.as_bool().is_some())
        && first_item(node, "operations")
            .is_some_and(|operation| operation.get("throughput").is_some());
    live || old
}

fn first_item<'a>(node: &Node<'a>, key: &str) -> Option<Node<'a>> {
    let array = node.get(key)?;
    array.items().ok()?.next()
}

/// Whether a line is one of k6's JSON output.
fn is_point(line: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(line) else {
        return false;
    };
    let kind = value.get("type").and_then(Value::as_str);
    matches!(kind, Some("Metric" | "Point"))
        && value.get("metric").is_some()
        && value.get("data").is_some()
}

fn keys(value: &Value) -> String {
    match value.as_object() {
        Some(members) => {
            let names: Vec<String> = members
                .keys()
                .take(5)
                .map(|key| format!("{:?}", key.chars().take(30).collect::<String>()))
                .collect();
            format!("keys {}", names.join(", "))
        }
        None => "not an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(*format));
        }
        assert!(
            "fio2"
                .parse::<Format>()
                .unwrap_err()
                .to_string()
                .contains("k6-json")
        );
    }

    #[test]
    fn what_is_unknown_says_so_and_lists_what_is_known() {
        for (bytes, expected) in [
            ("", "empty"),
            ("hello", "no JSON document"),
            ("{\"a\":1}", "keys \"a\""),
            ("[1]", "not an object"),
            ("{\"a\":", "EOF"),
        ] {
            let error = recognise(bytes.as_bytes(), "f").unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains("hyperfine"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_fits_two_formats_is_not_guessed() {
        let both = br#"{"fio version":"fio-3.1","test_info":{},"final_summary":{}}"#;
        let error = recognise(both, "f").unwrap_err().to_string();
        assert!(
            error.contains("fits several formats (fio, iopulse)"),
            "{error}"
        );
    }

    #[test]
    fn known_files_that_hold_no_results_say_which_does() {
        for (bytes, advice) in [
            ("{\"node_id\":\"a\",\"histogram\":{}}", "aggregate.json"),
            ("metric_name,timestamp,metric_value,check\n", "--out json"),
            (
                "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%\n",
                "--csvfile",
            ),
            ("Dataset,Mean-value\n1024x1GiB,90.1453\n", "--csvfile"),
            ("2;name;0;0;17260;17242;4310;1001\n", "--terse-version=3"),
            (
                "{\"schema\":1,\"operations\":{},\"outcome\":{}}",
                "as they are",
            ),
        ] {
            assert!(
                recognise(bytes.as_bytes(), "f")
                    .unwrap_err()
                    .to_string()
                    .contains(advice)
            );
        }
    }
}
