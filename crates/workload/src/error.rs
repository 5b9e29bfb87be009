use crate::EngineName;
use units::UnitError;

/// Why a workload cannot be read; every message says what was read and what would be accepted.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("--{key}: {source}")]
    Expected { key: String, source: UnitError },
    #[error("--{key}: {value:?} is not one of {allowed}{}", meant(.key, .value, .allowed))]
    NotOneOf {
        key: String,
        value: String,
        allowed: String,
    },
    #[error("--{key}: {reason}")]
    Value { key: String, reason: String },
    #[error("unknown option {key:?}{}", did_you_mean(.suggestion.as_deref()))]
    UnknownKey {
        key: String,
        suggestion: Option<String>,
    },
    #[error("{0}")]
    Conflict(String),
    #[error("{file}:{line}: {reason}")]
    Syntax {
        file: String,
        line: usize,
        reason: String,
    },
    #[error("{file}:{line}: {source}")]
    Line {
        file: String,
        line: usize,
        source: Box<SpecError>,
    },
    /// A text of another tool that Fathom cannot express or that this tool would not take either.
    #[error("{0}")]
    Foreign(String),
    /// A quantity in the units of another tool.
    #[error(transparent)]
    ForeignQuantity(#[from] UnitError),
    #[error("{place}: {source}")]
    At {
        place: String,
        source: Box<SpecError>,
    },
}

/// The allowed word that was meant: one that is written much alike, or fio's engine under our name.
fn meant(key: &str, value: &str, allowed: &str) -> String {
    let value = value.trim().to_ascii_lowercase();
    let near = || units::nearest(&value, allowed.split(", "));
    let of_fio = EngineName::of_fio(&value).filter(|_| key == "engine");
    match of_fio {
        Some(ours) => format!("; what fio calls {value} is {}", ours.word()),
        None => did_you_mean(near().as_deref()),
    }
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion
        .map(|s| format!(", did you mean {s:?}?"))
        .unwrap_or_default()
}
