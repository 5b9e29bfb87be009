//! What one arm does in one row.

use super::node::{NodeValue, PlanNode};
use super::reading::NodeTable;
use super::spec::{BuildSpec, ServerSpec, WorkSpec, build_spec, server_spec, work_spec};
use super::template::{Builtins, Names, Values};
use super::{ArmOfFile, PlanFileError, Wrong};
use record::PlannedWorkload;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an arm does in a row, with the placeholders of slots still open.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCell {
    file: Arc<str>,
    build: Option<PlanNode>,
    server: Option<PlanNode>,
    workload: PlanNode,
}

/// Keys whose text is a command.
const COMMANDS: [&str; 5] = ["command", "prepare", "cleanup", "reset", "identity"];

/// The parts of a file, or of an arm, that say what is done.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    build: Option<&'a PlanNode>,
    server: Option<&'a PlanNode>,
    workload: Option<&'a PlanNode>,
}

impl<'a> Sections<'a> {
    pub(super) fn of(table: &NodeTable<'a>) -> Result<Self, Wrong> {
        Ok(Self {
            build: table.section("build")?,
            server: table.section("server")?,
            workload: table.section("workload")?,
        })
    }
}

/// A cell of these values, checked with placeholders that have the right form.
pub(super) fn cell(
    common: Sections<'_>,
    arm: &ArmOfFile<'_>,
    values: &Values,
    names: &mut Names,
    file: &Arc<str>,
) -> Result<PlanCell, Wrong> {
    let is_deep = |key: &str| ["env", "limits", "set", "run"].contains(&key);
    let mut section = |common: Option<&PlanNode>, own: Option<&PlanNode>| {
        let merged = match (common, own) {
            (None, None) => return Ok(None),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (Some(common), Some(own)) => common.under(own, is_deep),
        };
        let filled = merged.map(&mut |text, line| names.fill(text, line, values))?;
        in_words(&filled).map(Some)
    };
    let own = arm.sections;
    let build = section(common.build, own.build)?;
    let server = section(common.server, own.server)?;
    let workload = section(common.workload, own.workload)?;
    let workload = workload.ok_or_else(|| {
        Wrong::new(
            arm.line,
            "there is no [workload]: say what is measured, by run, load or command",
        )
    })?;
    let cell = PlanCell {
        file: Arc::clone(file),
        build,
        server,
        workload,
    };
    cell.check()?;
    Ok(cell)
}

/// Commands as their words: values with blanks that the file gives are several words, those that a
/// slot fills in are one.
fn in_words(section: &PlanNode) -> Result<PlanNode, Wrong> {
    let is_shell = section.get("shell").and_then(PlanNode::as_text).as_deref() == Some("true");
    let mut members = section.members().to_vec();
    for (key, line, node) in &mut members {
        let NodeValue::Text(text) = &node.value else {
            continue;
        };
        if !COMMANDS.contains(&key.as_str()) || key == "reset" && text == "scratch" {
            continue;
        }
        let words = if is_shell {
            vec!["/bin/sh".into(), "-c".into(), text.clone()]
        } else {
            shlex::split(text)
                .ok_or_else(|| Wrong::new(*line, format!("{key}: a quote does not end")))?
        };
        let word = |text: String| PlanNode {
            line: node.line,
            value: NodeValue::Text(text),
        };
        node.value = NodeValue::List(words.into_iter().map(word).collect());
    }
    Ok(PlanNode {
        line: section.line,
        value: NodeValue::Table(members),
    })
}

impl PlanCell {
    fn check(&self) -> Result<(), Wrong> {
        let sample = Builtins::sample("fathom");
        self.filled(self.build.as_ref(), &sample, build_spec)?;
        self.filled(self.server.as_ref(), &sample, server_spec)?;
        work_spec(
            &self
                .workload
                .map(&mut |text, line| sample.fill(text, line))?,
        )?;
        let needs = |what: &str, is_there: bool, names: &[&str]| {
            let sections = [self.server.as_ref(), Some(&self.workload)];
            let uses = sections
                .into_iter()
                .flatten()
                .find_map(|node| uses(node, names));
            match uses.filter(|_| !is_there) {
                Some((name, line)) => Err(Wrong::new(
                    line,
                    format!("{{{name}}} is known where there is a {what}, and there is none"),
                )),
                None => Ok(()),
            }
        };
        needs("[build]", self.build.is_some(), &["tree", "commit"])?;
        needs("[server]", self.server.is_some(), &["pid"])
    }

    fn filled<T>(
        &self,
        node: Option<&PlanNode>,
        with: &Builtins,
        read: fn(&PlanNode) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        let Some(node) = node else { return Ok(None) };
        read(&node.map(&mut |text, line| with.fill(text, line))?).map(Some)
    }

    fn told(&self, Wrong { line, reason }: Wrong) -> PlanFileError {
        PlanFileError {
            file: self.file.to_string(),
            line,
            reason,
        }
    }

    /// # Errors
    /// A value that the placeholders' make unreadable.
    pub fn build(&self, with: &Builtins) -> Result<Option<BuildSpec>, PlanFileError> {
        let spec = self.filled(self.build.as_ref(), with, build_spec);
        spec.map_err(|wrong| self.told(wrong))
    }

    /// # Errors
    /// As [`PlanCell::build`].
    pub fn server(&self, with: &Builtins) -> Result<Option<ServerSpec>, PlanFileError> {
        let spec = self.filled(self.server.as_ref(), with, server_spec);
        spec.map_err(|wrong| self.told(wrong))
    }

    /// # Errors
    /// As [`PlanCell::build`].
    pub fn work(&self, with: &Builtins) -> Result<WorkSpec, PlanFileError> {
        let node = self.workload.map(&mut |text, line| with.fill(text, line));
        let spec = node.and_then(|node| work_spec(&node));
        spec.map_err(|wrong| self.told(wrong))
    }

    /// What stands for this cell in a plan: every value that the file gives it.
    #[must_use]
    pub fn planned(&self) -> PlannedWorkload {
        let mut pairs = Vec::new();
        let sections = [
            ("build", self.build.as_ref()),
            ("server", self.server.as_ref()),
        ];
        for (name, node) in sections {
            if let Some(node) = node {
                node.flat(name, &mut pairs);
            }
        }
        self.workload.flat("", &mut pairs);
        let mut options: BTreeMap<String, String> = pairs.into_iter().collect();
        let target = options.remove("target");
        PlannedWorkload {
            targets: target.into_iter().collect(),
            options,
        }
    }
}

/// The first text that uses one of these placeholders.
fn uses(node: &PlanNode, names: &[&str]) -> Option<(String, usize)> {
    let mut found = None;
    let _unchanged = node.map(&mut |text, line| {
        let used = names
            .iter()
            .find(|name| text.contains(&format!("{{{name}}}")));
        if let Some(name) = used.filter(|_| found.is_none()) {
            found = Some(((*name).to_owned(), line));
        }
        Ok(String::new())
    });
    found
}
