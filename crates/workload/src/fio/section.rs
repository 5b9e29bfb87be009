//! Sections of plain entries: what a job file and a command line have in common.

use crate::SpecError;
use std::fmt;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Line {
        file: String,
        line: usize,
    },
    /// The n-th argument of a command line, from 1.
    Argument(usize),
}

impl Place {
    /// An error that names this place.
    pub(super) fn error(&self, reason: impl Into<String>) -> SpecError {
        self.around(SpecError::Foreign(reason.into()))
    }

    /// `source` with this place before it.
    pub(super) fn around(&self, source: SpecError) -> SpecError {
        SpecError::At {
            place: self.to_string(),
            source: Box::new(source),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Argument(n) => write!(f, "argument {n}"),
        }
    }
}

/// `key=value` or `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) entries: Vec<Entry>,
    /// The first job of this section waits for all earlier ones, as the first of a second job file
    /// does.
    pub(super) barrier: bool,
}

impl Section {
    /// Whether it holds defaults: fio takes every name that begins with `global` for that.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// The sections that are named in `wanted`, and the global ones; all of them if nothing is wanted
/// in particular.
pub(super) fn only(
    mut sections: Vec<Section>,
    wanted: &[String],
) -> Result<Vec<Section>, SpecError> {
    if wanted.is_empty() {
        return Ok(sections);
    }
    for name in wanted {
        if !sections
            .iter()
            .any(|section| !section.is_global() && section.name == *name)
        {
            let known: Vec<&str> = sections
                .iter()
                .filter(|s| !s.is_global())
                .map(|s| s.name.as_str())
                .collect();
            return Err(SpecError::Foreign(format!(
                "there is no job section {name:?}; the jobs are: {}",
                known.join(", ")
            )));
        }
    }
    sections.retain(|section| section.is_global() || wanted.contains(&section.name));
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Section {
        Section {
            name: name.into(),
            place: Place::Argument(1),
            entries: Vec::new(),
            barrier: false,
        }
    }

    #[test]
    fn wanted_sections_keep_their_order_and_the_global_ones() {
        let all = vec![named("global"), named("a"), named("b"), named("c")];
        let kept = only(all.clone(), &["c".into(), "a".into()]).unwrap();
        assert_eq!(
            kept.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["global", "a", "c"]
        );
        assert_eq!(only(all.clone(), &[]).unwrap(), all);
        for absent in ["d", "global"] {
            let error = only(all.clone(), &[absent.into()]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("there is no job section {absent:?}; the jobs are: a, b, c")
            );
        }
    }
}
