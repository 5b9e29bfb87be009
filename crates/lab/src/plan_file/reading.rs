//! The members of a table as what they must be.

use super::Wrong;
use super::node::{NodeValue, PlanNode};
use std::collections::BTreeMap;
use units::{Bytes, Nanos, Percent};

/// A table of the file.
pub(crate) struct NodeTable<'a>(&'a PlanNode);

impl<'a> NodeTable<'a> {
    pub(crate) fn of(node: &'a PlanNode) -> Self {
        Self(node)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a PlanNode> {
        self.0.get(key)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn line(&self, key: &str) -> usize {
        let member = self.0.members().iter().find(|(name, ..)| name == key);
        member.map_or(self.0.line, |(_, line, _)| *line)
    }

    /// What is wrong with a member.
    pub(crate) fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> Wrong {
        Wrong::new(self.line(key), format!("{key}: {reason}"))
    }

    pub(crate) fn table(&self, key: &str) -> Result<Option<NodeTable<'a>>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(node) if node.is_table() => Ok(Some(NodeTable(node))),
            Some(_) => Err(self.wrong(key, "is a table")),
        }
    }

    /// Text; numbers and switches are read as people write them.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Wrong> {
        let text = |node: &PlanNode| node.as_text().ok_or_else(|| self.wrong(key, "is no text"));
        self.get(key).map(text).transpose()
    }

    pub(crate) fn one_of(&self, key: &str, words: &[&str]) -> Result<Option<String>, Wrong> {
        let text = self.text(key)?;
        match text {
            Some(text) if !words.contains(&text.as_str()) => {
                Err(self.wrong(key, format!("{text:?} is not one of {}", words.join(", "))))
            }
            other => Ok(other),
        }
    }

    pub(crate) fn switch(&self, key: &str) -> Result<Option<bool>, Wrong> {
        match self.text(key)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.wrong(key, "is true or false")),
        }
    }

    pub(crate) fn whole<N: std::str::FromStr>(&self, key: &str) -> Result<Option<N>, Wrong> {
        let number = |text: String| {
            let number = text.parse();
            number.map_err(|_no_number| self.wrong(key, format!("{text:?} is no number that fits")))
        };
        self.text(key)?.map(number).transpose()
    }

    pub(crate) fn time(&self, key: &str) -> Result<Option<u64>, Wrong> {
        let time = |text: String| Nanos::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self.text(key)?.map(time).transpose()?.map(|time| time.0))
    }

    /// A time above 0: for what would otherwise have no time at all.
    pub(crate) fn some_time(&self, key: &str) -> Result<Option<u64>, Wrong> {
        match self.time(key)? {
            Some(0) => Err(self.wrong(key, "a time above 0, or every slot would fail")),
            other => Ok(other),
        }
    }

    /// Text that is shown as a name.
    pub(crate) fn name(&self, key: &str) -> Result<Option<String>, Wrong> {
        match self.text(key)? {
            Some(name) if name.contains(char::is_control) => {
                Err(self.wrong(key, "a name has no control characters"))
            }
            other => Ok(other),
        }
    }

    pub(crate) fn size(&self, key: &str) -> Result<Option<u64>, Wrong> {
        let size = |text: String| Bytes::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self.text(key)?.map(size).transpose()?.map(|size| size.0))
    }

    /// A percentage as a ratio.
    pub(crate) fn share(&self, key: &str) -> Result<Option<f64>, Wrong> {
        let share = |text: String| Percent::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self
            .text(key)?
            .map(share)
            .transpose()?
            .map(|share| share.0 / 100.0))
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Wrong> {
        let texts = |node: &PlanNode| {
            node.texts()
                .ok_or_else(|| self.wrong(key, "is a list of texts"))
        };
        self.get(key).map(texts).transpose()
    }

    /// The words of a command, of which there is at least the program.
    pub(crate) fn words(&self, key: &str) -> Result<Option<Vec<String>>, Wrong> {
        let words = self.texts(key)?;
        if words
            .as_ref()
            .is_some_and(|words| words.first().is_none_or(String::is_empty))
        {
            return Err(self.wrong(key, "names no program"));
        }
        Ok(words)
    }

    /// Names and values that the user chose.
    pub(crate) fn pairs(&self, key: &str) -> Result<BTreeMap<String, String>, Wrong> {
        let Some(table) = self.table(key)? else {
            return Ok(BTreeMap::new());
        };
        let mut out = BTreeMap::new();
        for (name, line, node) in table.0.members() {
            let joined = || node.texts().map(|texts| texts.join(","));
            let value = node.as_text().or_else(joined);
            let value = value.ok_or_else(|| {
                Wrong::new(
                    *line,
                    format!("{key}.{name}: is neither text, number, switch nor list"),
                )
            })?;
            out.insert(name.clone(), value);
        }
        Ok(out)
    }

    /// A table, or several of them as a list.
    pub(crate) fn tables(&self, key: &str) -> Vec<NodeTable<'a>> {
        match self.get(key).map(|node| (node, &node.value)) {
            Some((_, NodeValue::List(items))) => items.iter().map(NodeTable).collect(),
            Some((node, NodeValue::Table(_))) => vec![NodeTable(node)],
            Some(_) | None => Vec::new(),
        }
    }
}
