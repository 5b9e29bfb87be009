//! TOML as a tree in which everything knows its line.

use super::Wrong;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its line, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanNode {
    pub(crate) line: usize,
    pub(crate) value: NodeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeValue {
    Text(String),
    Whole(i64),
    Float(f64),
    Switch(bool),
    List(Vec<PlanNode>),
    /// Keys with their lines, in the order of the file.
    Table(Vec<(String, usize, PlanNode)>),
}

impl PlanNode {
    pub(crate) fn get(&self, key: &str) -> Option<&PlanNode> {
        let mut members = self.members().iter();
        members
            .find(|(name, ..)| name == key)
            .map(|(.., node)| node)
    }

    /// The members of a table; of anything else none.
    pub(crate) fn members(&self) -> &[(String, usize, PlanNode)] {
        match &self.value {
            NodeValue::Table(members) => members,
            NodeValue::Text(_)
            | NodeValue::Whole(_)
            | NodeValue::Float(_)
            | NodeValue::Switch(_)
            | NodeValue::List(_) => &[],
        }
    }

    pub(crate) fn items(&self) -> Option<&[PlanNode]> {
        match &self.value {
            NodeValue::List(items) => Some(items),
            NodeValue::Text(_)
            | NodeValue::Whole(_)
            | NodeValue::Float(_)
            | NodeValue::Switch(_)
            | NodeValue::Table(_) => None,
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, NodeValue::Table(_))
    }

    /// Text, a number or a switch as people write it.
    pub(crate) fn as_text(&self) -> Option<String> {
        match &self.value {
            NodeValue::Text(text) => Some(text.clone()),
            NodeValue::Whole(n) => Some(n.to_string()),
            NodeValue::Float(x) => Some(x.to_string()),
            NodeValue::Switch(is_on) => Some(is_on.to_string()),
            NodeValue::List(_) | NodeValue::Table(_) => None,
        }
    }

    /// The items of a list as texts.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        self.items()?.iter().map(PlanNode::as_text).collect()
    }

    /// This table with the members of another in place of its own; tables in both are merged
    /// likewise where `is_deep` says so.
    pub(crate) fn under(&self, other: &PlanNode, is_deep: fn(&str) -> bool) -> PlanNode {
        let mut members = self.members().to_vec();
        for (key, line, node) in other.members() {
            match members.iter_mut().find(|(name, ..)| name == key) {
                Some((_, _, old)) if is_deep(key) && old.is_table() && node.is_table() => {
                    *old = old.under(node, |_| false);
                }
                Some(old) => *old = (key.clone(), *line, node.clone()),
                None => members.push((key.clone(), *line, node.clone())),
            }
        }
        PlanNode {
            line: self.line,
            value: NodeValue::Table(members),
        }
    }

    /// The same tree with every text made anew, keys left as they are.
    pub(crate) fn map(
        &self,
        of: &mut dyn FnMut(&str, usize) -> Result<String, Wrong>,
    ) -> Result<PlanNode, Wrong> {
        let value = match &self.value {
            NodeValue::Text(text) => NodeValue::Text(of(text, self.line)?),
            NodeValue::List(items) => NodeValue::List(
                items
                    .iter()
                    .map(|item| item.map(of))
                    .collect::<Result<_, _>>()?,
            ),
            NodeValue::Table(members) => {
                let member = |(key, line, node): &(String, usize, PlanNode)| {
                    Ok((key.clone(), *line, node.map(of)?))
                };
                NodeValue::Table(members.iter().map(member).collect::<Result<_, Wrong>>()?)
            }
            same @ (NodeValue::Whole(_) | NodeValue::Float(_) | NodeValue::Switch(_)) => {
                same.clone()
            }
        };
        Ok(PlanNode {
            line: self.line,
            value,
        })
    }

    /// Every text, number and switch below, by the keys on the way to it.
    pub(crate) fn flat(&self, prefix: &str, out: &mut Vec<(String, String)>) {
        let below = |key: &str| {
            if prefix.is_empty() {
                key.to_owned()
            } else {
                format!("{prefix}.{key}")
            }
        };
        match &self.value {
            NodeValue::Table(members) => {
                for (key, _, node) in members {
                    node.flat(&below(key), out);
                }
            }
            NodeValue::List(items) => match self.texts() {
                Some(words) => out.push((prefix.to_owned(), words.join(" "))),
                None => {
                    for (item, number) in items.iter().zip(1_u32..) {
                        item.flat(&below(&number.to_string()), out);
                    }
                }
            },
            NodeValue::Text(_)
            | NodeValue::Whole(_)
            | NodeValue::Float(_)
            | NodeValue::Switch(_) => {
                out.extend(self.as_text().map(|text| (prefix.to_owned(), text)));
            }
        }
    }
}

/// The most tables and lists in each other; what is deeper is no plan.
const MOST_DEPTH: usize = 8;

/// Reads TOML.
pub(crate) fn parse(text: &str) -> Result<PlanNode, Wrong> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Wrong::new(line, error.message())
    })?;
    let mut out = table(parsed.get_ref(), text, 0)?;
    out.line = 1;
    Ok(out)
}

fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

fn table(of: &DeTable<'_>, text: &str, depth: usize) -> Result<PlanNode, Wrong> {
    let mut members = Vec::new();
    for (key, value) in of {
        let line = line_of(text, key.span().start);
        members.push((
            key.span().start,
            (
                key.get_ref().clone().into_owned(),
                line,
                node(value, text, depth + 1)?,
            ),
        ));
    }
    // The parser sorts; the order of factors and arms is that of the file.
    members.sort_by_key(|(at, _)| *at);
    let members: Vec<_> = members.into_iter().map(|(_, member)| member).collect();
    Ok(PlanNode {
        line: members.first().map_or(1, |(_, line, _)| *line),
        value: NodeValue::Table(members),
    })
}

fn node(of: &Spanned<DeValue<'_>>, text: &str, depth: usize) -> Result<PlanNode, Wrong> {
    let line = line_of(text, of.span().start);
    let bad = |reason: &str| Wrong::new(line, reason);
    if depth > MOST_DEPTH {
        return Err(bad("tables and lists are too deep in each other"));
    }
    let value = match of.get_ref() {
        DeValue::String(text) => NodeValue::Text(text.clone().into_owned()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
            .ok()
            .map(NodeValue::Whole)
            .ok_or_else(|| bad("is a number beyond 64 bits"))?,
        DeValue::Float(x) => x
            .as_str()
            .parse::<f64>()
            .ok()
            .filter(|x| x.is_finite())
            .map(NodeValue::Float)
            .ok_or_else(|| bad("is no number"))?,
        DeValue::Boolean(is_on) => NodeValue::Switch(*is_on),
        DeValue::Array(items) => NodeValue::List(
            items
                .iter()
                .map(|item| node(item, text, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Datetime(_) => return Err(bad("a date is no value of a plan; write it as text")),
        DeValue::Table(members) => NodeValue::Table(match table(members, text, depth)?.value {
            NodeValue::Table(members) => members,
            NodeValue::Text(_)
            | NodeValue::Whole(_)
            | NodeValue::Float(_)
            | NodeValue::Switch(_)
            | NodeValue::List(_) => Vec::new(),
        }),
    };
    Ok(PlanNode { line, value })
}
