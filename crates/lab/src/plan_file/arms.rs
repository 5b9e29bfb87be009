//! Arms: what is compared, and the values that each has for placeholders.

use super::cell::Sections;
use super::node::PlanNode;
use super::reading::NodeTable;
use super::{FileArm, Wrong, template};
use record::Role;
use std::collections::BTreeMap;

const ROLES: [Role; 3] = [Role::Baseline, Role::Candidate, Role::Control];

/// An arm, and what the file says of it.
pub(crate) struct ArmOfFile<'a> {
    pub(crate) facts: FileArm,
    pub(crate) line: usize,
    pub(crate) sections: Sections<'a>,
    /// Its own values, with their lines.
    pub(crate) set: BTreeMap<String, (usize, String)>,
}

pub(crate) struct Arms<'a> {
    pub(crate) list: Vec<ArmOfFile<'a>>,
    /// Values of the baseline, which an arm has that does not set its own.
    pub(crate) common: BTreeMap<String, (usize, String)>,
}

impl<'a> Arms<'a> {
    pub(super) fn of(arms: Option<&'a PlanNode>) -> Result<Self, Wrong> {
        let nodes = match arms.map(|arms| (arms.line, arms.items())) {
            None | Some((_, Some([]))) => Err(Wrong::new(
                1,
                "a plan has [[arm]] tables: the baseline, and what is compared with it",
            )),
            Some((_, Some(nodes))) if nodes.iter().all(PlanNode::is_table) => Ok(nodes),
            Some((line, _)) => Err(Wrong::new(line, "arms are written as [[arm]] tables")),
        }?;
        let mut list: Vec<ArmOfFile<'_>> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let arm = arm(node, index)?;
            if list.iter().any(|other| other.facts.name == arm.facts.name) {
                return Err(Wrong::new(
                    node.line,
                    format!("two arms have the name {:?}", arm.facts.name),
                ));
            }
            list.push(arm);
        }
        let is_base = |arm: &&ArmOfFile<'_>| arm.facts.role == Role::Baseline;
        let base: Vec<&ArmOfFile<'_>> = list.iter().filter(is_base).collect();
        let [base] = base[..] else {
            return Err(Wrong::new(
                nodes[0].line,
                format!("{} arms are the baseline; one is needed", base.len()),
            ));
        };
        if list.len() < 2 {
            return Err(Wrong::new(
                nodes[0].line,
                "there is one arm, and nothing to compare it with; add another [[arm]]",
            ));
        }
        let common = base.set.clone();
        Ok(Self { list, common })
    }

    /// What is a factor is the same for all arms of a row.
    pub(super) fn check_apart(&self, factors: &[(String, usize)]) -> Result<(), Wrong> {
        let mut set = self.list.iter().flat_map(|arm| &arm.set);
        let is_factor = |name: &str| factors.iter().any(|(factor, _)| factor == name);
        match set.find(|(name, _)| is_factor(name)) {
            None => Ok(()),
            Some((name, (line, _))) => Err(Wrong::new(
                *line,
                format!(
                    "{name} is a factor, and an arm sets it: every row would win over the arm; leave it out in one of the two"
                ),
            )),
        }
    }
}

fn arm(node: &PlanNode, index: usize) -> Result<ArmOfFile<'_>, Wrong> {
    NodeTable::read(node, "arm", |table| {
        let (sections, set) = (Sections::of(table)?, own_values(table)?);
        let name = table.name("name")?.filter(|name| !name.is_empty());
        let role = table.one_of("role", &ROLES.map(Role::word))?;
        let expects = table.texts("expects")?.unwrap_or_default();
        table.check_known()?;
        let name =
            name.ok_or_else(|| Wrong::new(node.line, format!("arm {} has no name", index + 1)))?;
        let said = ROLES
            .into_iter()
            .find(|one| Some(one.word()) == role.as_deref());
        let usual = match index {
            0 => Role::Baseline,
            _ => Role::Candidate,
        };
        Ok(ArmOfFile {
            facts: FileArm {
                name,
                role: said.unwrap_or(usual),
                expects,
            },
            line: node.line,
            sections,
            set,
        })
    })
}

/// The values that an arm has for placeholders, with their lines.
fn own_values(arm: &NodeTable<'_>) -> Result<BTreeMap<String, (usize, String)>, Wrong> {
    let Some(values) = arm.get("set") else {
        return Ok(BTreeMap::new());
    };
    if !values.is_table() {
        return Err(arm.wrong("set", "is a table, such as { size = \"1M\" }"));
    }
    let mut out = BTreeMap::new();
    for (key, line, value) in values.members() {
        template::check_name(key, *line)?;
        let text = value.as_text();
        let text = text.ok_or_else(|| {
            Wrong::new(
                *line,
                format!("set.{key}: is neither text, number nor switch"),
            )
        })?;
        out.insert(key.clone(), (*line, text));
    }
    Ok(out)
}
