//! Rows: the combinations of the factors' values.

use super::node::PlanNode;
use super::reading::{is_unseen, meant};
use super::{MOST_CELLS, Wrong, template};
use std::collections::{BTreeMap, BTreeSet};

/// One combination of values.
pub(crate) struct RowOfFile {
    pub(super) name: String,
    pub(super) values: BTreeMap<String, String>,
}

/// Names with their lines.
type Named = Vec<(String, usize)>;

/// Rows are the product of the factors, in the order in which the file has them, and the names of
/// the factors with their lines.
pub(super) fn rows(factors: Option<&PlanNode>) -> Result<(Vec<RowOfFile>, Named), Wrong> {
    let one = RowOfFile {
        name: "run".into(),
        values: BTreeMap::new(),
    };
    let Some(factors) = factors else {
        return Ok((vec![one], Vec::new()));
    };
    let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
    let mut names = Vec::new();
    for (name, line, node) in factors.members() {
        if name == "exclude" {
            continue;
        }
        template::check_name(name, *line)?;
        names.push((name.clone(), *line));
        let values = node
            .texts()
            .filter(|values| !values.is_empty())
            .ok_or_else(|| {
                Wrong::new(
                    *line,
                    format!(
                        "factor {name}: is a list of texts or numbers, such as [\"1MB\", \"10MB\"]"
                    ),
                )
            })?;
        check_letters(name, &values, *line)?;
        let distinct: BTreeSet<&String> = values.iter().collect();
        if distinct.len() < values.len() {
            return Err(Wrong::new(
                *line,
                format!("factor {name} has one value twice"),
            ));
        }
        let longer = |row: &Vec<(String, String)>| {
            let with = |value: &String| [row.clone(), vec![(name.clone(), value.clone())]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
        if all.len() > MOST_CELLS {
            return Err(Wrong::new(*line, format!("more than {MOST_CELLS} rows")));
        }
    }
    if names.is_empty() {
        return Ok((vec![one], names));
    }
    for (line, wanted) in excluded(factors, &names)? {
        let before = all.len();
        all.retain(|row| !wanted.iter().all(|pair| row.contains(pair)));
        if all.len() == before {
            return Err(Wrong::new(line, "exclude: no row has these values"));
        }
    }
    if all.is_empty() {
        return Err(Wrong::new(factors.line, "exclude leaves no row"));
    }
    let row = |values: Vec<(String, String)>| RowOfFile {
        name: values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" "),
        values: values.into_iter().collect(),
    };
    Ok((all.into_iter().map(row).collect(), names))
}

type Excluded = Vec<(usize, Vec<(String, String)>)>;

fn check_letters(factor: &str, values: &[String], line: usize) -> Result<(), Wrong> {
    let fault = if values.iter().any(|value| value.contains(char::is_control)) {
        "control characters"
    } else if values.iter().any(|value| value.contains(is_unseen)) {
        "letters that are not seen"
    } else {
        return Ok(());
    };
    Err(Wrong::new(
        line,
        format!("factor {factor}: a value has no {fault}"),
    ))
}

/// The combinations that are left out, each with its line.
fn excluded(factors: &PlanNode, names: &[(String, usize)]) -> Result<Excluded, Wrong> {
    let Some(exclude) = factors.get("exclude") else {
        return Ok(Vec::new());
    };
    let bad = || {
        Wrong::new(
            exclude.line,
            "exclude: is a list such as [{ size = \"5G\", memory = \"64M\" }]",
        )
    };
    let mut out = Vec::new();
    for item in exclude.items().ok_or_else(bad)? {
        if item.members().is_empty() {
            return Err(bad());
        }
        let mut wanted = Vec::new();
        for (name, line, node) in item.members() {
            if !names.iter().any(|(known, _)| known == name) {
                let near = units::nearest(name, names.iter().map(|(name, _)| name.as_str()));
                return Err(Wrong::new(
                    *line,
                    format!("exclude: there is no factor {name:?}{}", meant(near)),
                ));
            }
            wanted.push((name.clone(), node.as_text().ok_or_else(bad)?));
        }
        out.push((item.line, wanted));
    }
    Ok(out)
}
