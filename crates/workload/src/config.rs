//! TOML workloads: top-level keys are options for all phases, each `[[phase]]` adds or changes some
//! and has a name. Phases run one after another. `target` is a path or a list of paths.

use crate::settings::{SETTINGS, apply, find, nearest};
use crate::{SpecError, Workload};
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A name and a whole workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: String,
    pub workload: Workload,
}

/// Phases that start together; the next stage starts when all of them have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage(pub Vec<Phase>);

/// Reads a TOML workload over `base`; `overrides` (flags) are applied to every phase last.
///
/// # Errors
/// Text that is not TOML, an unknown key, or a value that an option does not take, with the line
/// and the phase named.
pub fn parse_config(
    text: &str,
    base: &Workload,
    overrides: &[(String, String)],
) -> Result<Vec<Stage>, SpecError> {
    let parsed = DeTable::parse(text).map_err(|e| SpecError::Syntax {
        file: "config".into(),
        line: e.span().map_or(1, |span| line_of(text, span.start)),
        reason: e.message().to_owned(),
    })?;
    let mut table = parsed.into_inner();
    let phases = table.remove("phase");
    let mut common = base.clone();
    apply_table(&mut common, &table, text).map_err(Placed::in_file)?;
    let mut out = Vec::new();
    match phases.as_ref().map(|phases| (phases, phases.get_ref())) {
        None => out.push(Phase {
            name: "run".into(),
            workload: common,
        }),
        Some((_, DeValue::Array(items))) if items.iter().any(|item| item.get_ref().is_table()) => {
            for (index, item) in items.iter().enumerate() {
                out.push(phase(item, index, &common, text).map_err(Placed::in_file)?);
            }
        }
        Some((phases, _)) => return Err(not_tables(phases, text).in_file()),
    }
    for phase in &mut out {
        for (key, value) in overrides {
            apply(&mut phase.workload, key, value)?;
        }
    }
    Ok(out.into_iter().map(|phase| Stage(vec![phase])).collect())
}

/// The line of the text that holds this byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
        + 1
}

/// An error and the line it is about.
struct Placed {
    line: usize,
    source: SpecError,
}

impl Placed {
    fn in_phase(self, name: &str) -> Self {
        Self {
            source: SpecError::At {
                place: format!("phase {name}"),
                source: Box::new(self.source),
            },
            ..self
        }
    }

    fn in_file(self) -> SpecError {
        SpecError::Line {
            file: "config".into(),
            line: self.line,
            source: Box::new(self.source),
        }
    }
}

fn not_tables(value: &Spanned<DeValue<'_>>, text: &str) -> Placed {
    let source = SpecError::Value {
        key: "phase".into(),
        reason: "must be written as [[phase]] tables".into(),
    };
    Placed {
        line: line_of(text, value.span().start),
        source,
    }
}

fn phase(
    item: &Spanned<DeValue<'_>>,
    index: usize,
    common: &Workload,
    text: &str,
) -> Result<Phase, Placed> {
    let number = (index + 1).to_string();
    let mut table = item
        .get_ref()
        .as_table()
        .cloned()
        .ok_or_else(|| not_tables(item, text).in_phase(&number))?;
    let name = match table.remove("name") {
        None => number,
        Some(name) => match name.get_ref().as_str() {
            Some(name) => name.to_owned(),
            None => {
                let source = SpecError::Value {
                    key: "name".into(),
                    reason: "is not text".into(),
                };
                return Err(Placed {
                    line: line_of(text, name.span().start),
                    source,
                }
                .in_phase(&number));
            }
        },
    };
    let mut workload = common.clone();
    apply_table(&mut workload, &table, text).map_err(|e| e.in_phase(&name))?;
    Ok(Phase { name, workload })
}

fn apply_table(workload: &mut Workload, table: &DeTable<'_>, text: &str) -> Result<(), Placed> {
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let applied = match find(name) {
            Some(setting) => {
                value_text(name, value.get_ref()).and_then(|value| setting.apply(workload, &value))
            }
            None if name == "target" => {
                targets(value.get_ref()).map(|targets| workload.targets = targets)
            }
            None => Err(unknown(name)),
        };
        applied.map_err(|source| Placed {
            line: line_of(text, key.span().start),
            source,
        })?;
    }
    Ok(())
}

/// Keys of a file that are no options may be what was meant, too.
fn unknown(key: &str) -> SpecError {
    let known = SETTINGS
        .iter()
        .map(|setting| setting.key)
        .chain(["target", "phase", "name"]);
    SpecError::UnknownKey {
        key: key.into(),
        suggestion: nearest(key, known),
    }
}

/// One path as text, or several as a list; a comma is a part of a path.
fn targets(value: &DeValue<'_>) -> Result<Vec<PathBuf>, SpecError> {
    let path = |value: &DeValue<'_>| value.as_str().map(PathBuf::from);
    let paths = match value.as_array() {
        None => path(value).map(|path| vec![path]),
        Some(items) => items.iter().map(|item| path(item.get_ref())).collect(),
    };
    paths.ok_or_else(|| SpecError::Value {
        key: "target".into(),
        reason: "is neither a path nor a list of paths".into(),
    })
}

/// A value as an option takes it from the command line; the items of a list joined by commas.
fn value_text(key: &str, value: &DeValue<'_>) -> Result<String, SpecError> {
    let bad = |reason: &str| SpecError::Value {
        key: key.to_owned(),
        reason: reason.to_owned(),
    };
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
            .ok()
            .map(|n| n.to_string())
            .ok_or_else(|| bad("is a number beyond 64 bits")),
        DeValue::Float(x) => x
            .as_str()
            .parse::<f64>()
            .ok()
            .map(|x| x.to_string())
            .ok_or_else(|| bad("is no number")),
        DeValue::Boolean(b) => Ok(b.to_string()),
        DeValue::Array(items) => Ok(items
            .iter()
            .map(|item| value_text(key, item.get_ref()))
            .collect::<Result<Vec<_>, _>>()?
            .join(",")),
        DeValue::Datetime(_) | DeValue::Table(_) => {
            Err(bad("is neither text, number, switch nor list"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn phases_inherit_the_common_keys_and_flags_win() {
        let text = "target = \"/tmp/x\"\nfile-size = \"1M\"\n[[phase]]\nname = \"fill\"\nwrite-percent = 100\n[[phase]]\nrandom = true\nfile-size = \"2M\"\n";
        let flags = vec![("threads".to_owned(), "3".to_owned())];
        let phases: Vec<Phase> = parse_config(text, &Workload::default(), &flags)
            .unwrap()
            .into_iter()
            .flat_map(|stage| stage.0)
            .collect();
        assert_eq!(
            phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
            ["fill", "2"]
        );
        assert_eq!(phases[0].workload.files.size, Some(Bytes(1 << 20)));
        assert_eq!(phases[1].workload.files.size, Some(Bytes(2 << 20)));
        assert!(phases[1].workload.access.random && !phases[0].workload.access.random);
        assert!(phases.iter().all(|p| p.workload.threads == 3));
    }

    #[test]
    fn a_bad_key_names_its_phase() {
        let error = parse_config(
            "[[phase]]\nname = \"fill\"\nthread = 3\n",
            &Workload::default(),
            &[],
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "config:3: phase fill: unknown option \"thread\", did you mean \"threads\"?"
        );
    }

    #[test]
    fn an_unknown_key_is_told_with_its_line_and_the_nearest_key_that_exists() {
        let refused = |text| {
            parse_config(text, &Workload::default(), &[])
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused("threads = 1\n\nqueue-dept = 3\n"),
            "config:3: unknown option \"queue-dept\", did you mean \"queue-depth\"?"
        );
        assert_eq!(
            refused("# why\ntargets = \"f\"\n"),
            "config:2: unknown option \"targets\", did you mean \"target\"?"
        );
        assert_eq!(
            refused("[[phases]]\n"),
            "config:1: unknown option \"phases\", did you mean \"phase\"?"
        );
        assert_eq!(
            refused("frobnicate = 1"),
            "config:1: unknown option \"frobnicate\""
        );
        assert_eq!(
            refused("\n[[phase]]\nname = 3\n"),
            "config:3: phase 1: --name: is not text"
        );
    }

    #[test]
    fn a_value_that_an_option_does_not_take_is_told_with_its_line() {
        let refused = |text| {
            parse_config(text, &Workload::default(), &[])
                .unwrap_err()
                .to_string()
        };
        assert!(refused("threads = 2\nthreads = 3\n").starts_with("config:2: "));
        assert!(refused("random = true\nthreads = 0\n").starts_with("config:2: --threads: "));
        assert_eq!(
            refused("threads = 99999999999999999999"),
            "config:1: --threads: is a number beyond 64 bits"
        );
    }

    #[test]
    fn a_flag_that_is_wrong_is_no_fault_of_the_file() {
        let flags = [("threads".to_owned(), "0".to_owned())];
        let error = parse_config("random = true\n", &Workload::default(), &flags)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("--threads: "), "{error}");
    }

    #[test]
    fn a_target_may_hold_a_comma_and_several_are_a_list() {
        let targets = |text: &str| {
            parse_config(text, &Workload::default(), &[])
                .map(|mut stages| stages.remove(0).0.remove(0).workload.targets)
        };
        assert_eq!(
            targets("target = [\"a,b\", \"c\"]").unwrap(),
            [PathBuf::from("a,b"), PathBuf::from("c")]
        );
        assert_eq!(targets("target = \"a,b\"").unwrap(), [PathBuf::from("a,b")]);
        let error = "config:1: --target: is neither a path nor a list of paths";
        assert_eq!(targets("target = 3").unwrap_err().to_string(), error);
        assert_eq!(
            targets("target = [\"a\", 3]").unwrap_err().to_string(),
            error
        );
    }

    #[test]
    fn numbers_switches_and_lists_are_read_as_the_flags_read_their_text() {
        let text = "threads = 0x10\nzipf-theta = 1_0.5e-1\nrandom = true\ncpu-cores = [1, 3]\n";
        let workload = parse_config(text, &Workload::default(), &[])
            .unwrap()
            .remove(0)
            .0
            .remove(0)
            .workload;
        assert_eq!(
            (
                workload.threads,
                workload.access.zipf_theta,
                workload.access.random
            ),
            (16, 1.05, true)
        );
        assert_eq!(workload.placement.cpu_cores.unwrap().0, [1, 3]);
    }

    #[test]
    fn phases_that_are_no_tables_are_refused() {
        for text in [
            "phase = 1\n",
            "phase = []\n",
            "phase = [1]\n",
            "phase = [{ threads = 2 }, 3]\n",
        ] {
            let error = parse_config(text, &Workload::default(), &[])
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("config:1: ")
                    && error.ends_with("--phase: must be written as [[phase]] tables"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn broken_toml_names_its_line() {
        let error = parse_config(
            "threads = 1\nqueue-depth = = 3\n",
            &Workload::default(),
            &[],
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("config:2: "), "{error}");
    }
}
