//! TOML workloads: top-level keys are options for all phases, each `[[phase]]` adds or changes some and has a name.
//! Phases run one after another.

use crate::settings::apply;
use crate::{SpecError, Workload};
use toml::{Table, Value};

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
/// Text that is not TOML, an unknown key, or a value that an option does not take, with the phase named.
pub fn parse_config(text: &str, base: &Workload, overrides: &[(String, String)]) -> Result<Vec<Stage>, SpecError> {
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| SpecError::Syntax {
        file: "config".into(),
        line: e.span().map_or(1, |span| text[..span.start].lines().count().max(1)),
        reason: e.message().to_owned(),
    })?;
    let phases = table.remove("phase");
    let mut common = base.clone();
    apply_table(&mut common, &table)?;
    let mut out = Vec::new();
    match phases {
        None => out.push(Phase { name: "run".into(), workload: common }),
        Some(Value::Array(items)) if items.iter().any(Value::is_table) => {
            for (index, item) in items.iter().enumerate() {
                out.push(phase(item, index, &common)?);
            }
        }
        Some(_) => return Err(not_tables()),
    }
    for phase in &mut out {
        for (key, value) in overrides {
            apply(&mut phase.workload, key, value)?;
        }
    }
    Ok(out.into_iter().map(|phase| Stage(vec![phase])).collect())
}

fn not_tables() -> SpecError {
    SpecError::Value { key: "phase".into(), reason: "must be written as [[phase]] tables".into() }
}

fn phase(item: &Value, index: usize, common: &Workload) -> Result<Phase, SpecError> {
    let at = |source: SpecError, name: &str| SpecError::At { place: format!("phase {name}"), source: Box::new(source) };
    let mut table = item.as_table().cloned().ok_or_else(|| at(not_tables(), &(index + 1).to_string()))?;
    let name = match table.remove("name") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(at(SpecError::Value { key: "name".into(), reason: format!("{other} is not text") }, "?")),
        None => format!("{}", index + 1),
    };
    let mut workload = common.clone();
    apply_table(&mut workload, &table).map_err(|e| at(e, &name))?;
    Ok(Phase { name, workload })
}

fn apply_table(workload: &mut Workload, table: &Table) -> Result<(), SpecError> {
    for (key, value) in table {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::Array(items) => {
                items.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect::<Vec<_>>().join(",")
            }
            Value::Datetime(_) | Value::Table(_) => {
                return Err(SpecError::Value { key: key.clone(), reason: "is neither text, number, switch nor list".into() });
            }
        };
        if key == "target" {
            workload.targets = text.split(',').map(Into::into).collect();
        } else {
            apply(workload, key, &text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn phases_inherit_the_common_keys_and_flags_win() {
        let text = "target = \"/tmp/x\"\nfile-size = \"1M\"\n[[phase]]\nname = \"fill\"\nwrite-percent = 100\n[[phase]]\nrandom = true\nfile-size = \"2M\"\n";
        let flags = vec![("threads".to_owned(), "3".to_owned())];
        let phases: Vec<Phase> = parse_config(text, &Workload::default(), &flags).unwrap().into_iter().flat_map(|stage| stage.0).collect();
        assert_eq!(phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["fill", "2"]);
        assert_eq!(phases[0].workload.files.size, Some(Bytes(1 << 20)));
        assert_eq!(phases[1].workload.files.size, Some(Bytes(2 << 20)));
        assert!(phases[1].workload.access.random && !phases[0].workload.access.random);
        assert!(phases.iter().all(|p| p.workload.threads == 3));
    }

    #[test]
    fn a_bad_key_names_its_phase() {
        let error = parse_config("[[phase]]\nname = \"fill\"\nthread = 3\n", &Workload::default(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "phase fill: unknown option \"thread\", did you mean \"threads\"?");
    }

    #[test]
    fn phases_that_are_no_tables_are_refused() {
        for text in ["phase = 1\n", "phase = []\n", "phase = [1]\n", "phase = [{ threads = 2 }, 3]\n"] {
            let error = parse_config(text, &Workload::default(), &[]).unwrap_err().to_string();
            assert!(error.ends_with("--phase: must be written as [[phase]] tables"), "{text}: {error}");
        }
    }

    #[test]
    fn broken_toml_names_its_line() {
        let error = parse_config("threads = 1\nqueue-depth = = 3\n", &Workload::default(), &[]).unwrap_err();
        assert!(error.to_string().starts_with("config:2: "), "{error}");
    }
}
