//! Every key that a plan may have.

use super::Wrong;
use super::node::{NodeValue, PlanNode};

const TOP: &[&str] = &[
    "name",
    "question",
    "seed",
    "metric",
    "better",
    "margin",
    "passes",
    "budget",
    "settle",
    "control",
    "calibrate",
    "slot-limit",
    "scratch",
    "keep-free",
    "environment",
    "factors",
    "arm",
    "build",
    "server",
    "workload",
];
const ENVIRONMENT: &[&str] = &["drop-caches", "wait-idle", "governor"];
const ARM: &[&str] = &[
    "name", "role", "set", "expects", "build", "server", "workload",
];
const BUILD: &[&str] = &[
    "repository",
    "ref",
    "command",
    "directory",
    "env",
    "within",
    "identity",
];
const SERVER: &[&str] = &[
    "command",
    "env",
    "directory",
    "ready",
    "stop",
    "prepare",
    "reset",
    "limits",
];
const READY: &[&str] = &["http", "status", "tcp", "line", "within"];
const STOP: &[&str] = &["signal", "within"];
const LIMITS: &[&str] = &["memory", "swap", "cpus", "cpu-list", "processes"];
const WORKLOAD: &[&str] = &[
    "run",
    "load",
    "command",
    "target",
    "set",
    "prepare",
    "cleanup",
    "warmup",
    "repeat",
    "for",
    "timeout",
    "exit-codes",
    "input",
    "shell",
    "read",
    "env",
];
const READ: &[&str] = &["name", "regex", "from", "unit", "json", "import", "file"];

/// Keys of the tables below a section.
fn below(key: &str) -> Option<&'static [&'static str]> {
    match key {
        "ready" => Some(READY),
        "stop" => Some(STOP),
        "limits" => Some(LIMITS),
        "read" => Some(READ),
        _ => None,
    }
}

/// Keys whose members the user names.
fn is_open(key: &str) -> bool {
    ["set", "run", "env", "factors"].contains(&key)
}

/// Refuses what no key of a plan is called, and sections that are no tables.
pub(crate) fn check(root: &PlanNode) -> Result<(), Wrong> {
    known(root, TOP, "")?;
    sections(root, "")?;
    if let Some(environment) = root.get("environment") {
        section(environment, ENVIRONMENT, "environment")?;
    }
    if let Some(factors) = root.get("factors").filter(|node| !node.is_table()) {
        return Err(Wrong::new(factors.line, "factors is a table: [factors]"));
    }
    let Some(arms) = root.get("arm") else {
        return Ok(());
    };
    let all = arms.items().unwrap_or_default();
    if all.is_empty() || !all.iter().all(PlanNode::is_table) {
        return Err(Wrong::new(arms.line, "arms are written as [[arm]] tables"));
    }
    for arm in all {
        known(arm, ARM, "arm")?;
        sections(arm, "arm.")?;
        if let Some(set) = arm.get("set").filter(|node| !node.is_table()) {
            return Err(Wrong::new(
                set.line,
                "set is a table, such as { size = \"1M\" }",
            ));
        }
    }
    Ok(())
}

fn sections(of: &PlanNode, prefix: &str) -> Result<(), Wrong> {
    for (name, keys) in [("build", BUILD), ("server", SERVER), ("workload", WORKLOAD)] {
        if let Some(node) = of.get(name) {
            section(node, keys, &format!("{prefix}{name}"))?;
        }
    }
    Ok(())
}

fn section(node: &PlanNode, keys: &[&'static str], name: &str) -> Result<(), Wrong> {
    if !node.is_table() {
        return Err(Wrong::new(
            node.line,
            format!("{name} is a table: [{name}]"),
        ));
    }
    known(node, keys, name)?;
    for (key, line, value) in node.members() {
        if is_open(key) && !value.is_table() {
            return Err(Wrong::new(*line, format!("{name}.{key} is a table")));
        }
        let Some(inner) = below(key) else { continue };
        let tables: Vec<&PlanNode> = match &value.value {
            NodeValue::List(items) => items.iter().collect(),
            NodeValue::Table(_) => vec![value],
            NodeValue::Text(_)
            | NodeValue::Whole(_)
            | NodeValue::Float(_)
            | NodeValue::Switch(_) => Vec::new(),
        };
        if tables.is_empty() || !tables.iter().all(|table| table.is_table()) {
            return Err(Wrong::new(
                *line,
                format!("{name}.{key} is a table with some of {}", inner.join(", ")),
            ));
        }
        for table in tables {
            known(table, inner, &format!("{name}.{key}"))?;
        }
    }
    Ok(())
}

fn known(table: &PlanNode, keys: &[&'static str], name: &str) -> Result<(), Wrong> {
    let stranger = table
        .members()
        .iter()
        .find(|(key, ..)| !keys.contains(&key.as_str()));
    let Some((key, line, _)) = stranger else {
        return Ok(());
    };
    let of = if name.is_empty() { "a plan" } else { name };
    let near = units::nearest(key, keys.iter().copied());
    Err(Wrong::new(
        *line,
        format!("{of} has no key {key:?}{}", meant(near)),
    ))
}

/// What may have been meant.
pub(crate) fn meant(near: Option<String>) -> String {
    near.map_or_else(String::new, |near| format!(", did you mean {near:?}?"))
}
