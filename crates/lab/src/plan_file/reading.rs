//! The members of a table as what they must be.

use super::Wrong;
use super::node::PlanNode;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Nanos, Percent};

/// A table of the file. A key of it is what its reader asks for: any other is refused.
pub(crate) struct NodeTable<'a> {
    node: &'a PlanNode,
    /// In messages.
    name: String,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'a> NodeTable<'a> {
    pub(crate) fn of(node: &'a PlanNode, name: impl Into<String>) -> Self {
        Self {
            node,
            name: name.into(),
            asked: RefCell::default(),
        }
    }

    /// What is read of a table, once nothing is left in it that was not asked for.
    pub(crate) fn read<T>(
        node: &'a PlanNode,
        name: impl Into<String>,
        read: impl FnOnce(&Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        let table = Self::of(node, name);
        let out = read(&table)?;
        table.check_known()?;
        Ok(out)
    }

    /// The first key that nobody has asked for, and its line.
    pub(crate) fn stranger(&self) -> Option<(&'a str, usize)> {
        let asked = self.asked.borrow();
        let mut keys = self.node.members().iter();
        let stranger = keys.find(|(key, ..)| !asked.contains(key.as_str()))?;
        Some((&stranger.0, stranger.1))
    }

    /// Refuses a key that nobody has asked for.
    pub(crate) fn check_known(&self) -> Result<(), Wrong> {
        let Some((key, line)) = self.stranger() else {
            return Ok(());
        };
        let near = units::nearest(key, self.asked.borrow().iter().copied());
        let reason = format!("{} has no key {key:?}{}", self.name, meant(near));
        Err(Wrong::new(line, reason))
    }

    /// Takes what another reader of the same table has asked for as asked.
    pub(crate) fn also(&self, other: &Self) {
        self.asked.borrow_mut().extend(&*other.asked.borrow());
    }

    pub(crate) fn get(&self, key: &'static str) -> Option<&'a PlanNode> {
        self.asked.borrow_mut().insert(key);
        self.node.get(key)
    }

    /// A value that there must be, once every other key has been asked for.
    pub(crate) fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, Wrong> {
        self.check_known()?;
        value.ok_or_else(|| self.wrong(key, format!("is needed in [{}]", self.name)))
    }

    /// A part of the file.
    pub(crate) fn section(&self, key: &'static str) -> Result<Option<&'a PlanNode>, Wrong> {
        match self.get(key) {
            Some(node) if !node.is_table() => {
                Err(Wrong::new(node.line, format!("{key} is a table: [{key}]")))
            }
            section => Ok(section),
        }
    }

    pub(crate) fn line(&self, key: &str) -> usize {
        let member = self.node.members().iter().find(|(name, ..)| name == key);
        member.map_or(self.node.line, |(_, line, _)| *line)
    }

    /// What is wrong with a member.
    pub(crate) fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> Wrong {
        Wrong::new(self.line(key), format!("{key}: {reason}"))
    }

    /// What is read of a table in this one.
    pub(crate) fn table<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&NodeTable<'a>) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        if !node.is_table() {
            return Err(self.wrong(key, "is a table"));
        }
        NodeTable::read(node, self.below(key), read).map(Some)
    }

    fn below(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// Text; numbers and switches are read as people write them.
    pub(crate) fn text(&self, key: &'static str) -> Result<Option<String>, Wrong> {
        let text = |node: &PlanNode| node.as_text().ok_or_else(|| self.wrong(key, "is no text"));
        self.get(key).map(text).transpose()
    }

    pub(crate) fn one_of(
        &self,
        key: &'static str,
        words: &[&str],
    ) -> Result<Option<String>, Wrong> {
        let text = self.text(key)?;
        match text {
            Some(text) if !words.contains(&text.as_str()) => {
                Err(self.wrong(key, format!("{text:?} is not one of {}", words.join(", "))))
            }
            other => Ok(other),
        }
    }

    pub(crate) fn switch(&self, key: &'static str) -> Result<Option<bool>, Wrong> {
        match self.text(key)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.wrong(key, "is true or false")),
        }
    }

    pub(crate) fn whole<N: std::str::FromStr>(
        &self,
        key: &'static str,
    ) -> Result<Option<N>, Wrong> {
        let number = |text: String| {
            let number = text.parse();
            number.map_err(|_no_number| self.wrong(key, format!("{text:?} is no number that fits")))
        };
        self.text(key)?.map(number).transpose()
    }

    pub(crate) fn time(&self, key: &'static str) -> Result<Option<u64>, Wrong> {
        let time = |text: String| Nanos::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self.text(key)?.map(time).transpose()?.map(|time| time.0))
    }

    /// A time above 0: for what would otherwise have no time at all.
    pub(crate) fn some_time(&self, key: &'static str) -> Result<Option<u64>, Wrong> {
        match self.time(key)? {
            Some(0) => Err(self.wrong(key, "a time above 0, or every slot would fail")),
            other => Ok(other),
        }
    }

    /// Text that is shown as a name.
    pub(crate) fn name(&self, key: &'static str) -> Result<Option<String>, Wrong> {
        match self.text(key)? {
            Some(name) if name.contains(char::is_control) => {
                Err(self.wrong(key, "a name has no control characters"))
            }
            Some(name) if name.contains(is_unseen) || name.trim() != name => Err(self.wrong(
                key,
                "a name has no letters that are not seen and no blanks at its ends: two would look alike",
            )),
            other => Ok(other),
        }
    }

    pub(crate) fn size(&self, key: &'static str) -> Result<Option<u64>, Wrong> {
        let size = |text: String| Bytes::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self.text(key)?.map(size).transpose()?.map(|size| size.0))
    }

    /// A percentage as a ratio.
    pub(crate) fn share(&self, key: &'static str) -> Result<Option<f64>, Wrong> {
        let share = |text: String| Percent::parse(&text).map_err(|e| self.wrong(key, e));
        Ok(self
            .text(key)?
            .map(share)
            .transpose()?
            .map(|share| share.0 / 100.0))
    }

    pub(crate) fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, Wrong> {
        let texts = |node: &PlanNode| {
            node.texts()
                .ok_or_else(|| self.wrong(key, "is a list of texts"))
        };
        self.get(key).map(texts).transpose()
    }

    /// The words of a command, of which there is at least the program.
    pub(crate) fn words(&self, key: &'static str) -> Result<Option<Vec<String>>, Wrong> {
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
    pub(crate) fn pairs(&self, key: &'static str) -> Result<BTreeMap<String, String>, Wrong> {
        let Some(table) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        if !table.is_table() {
            return Err(self.wrong(key, "is a table"));
        }
        let mut out = BTreeMap::new();
        for (name, line, node) in table.members() {
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

    /// What is read of a table, or of several of them as a list.
    pub(crate) fn tables<T>(
        &self,
        key: &'static str,
        read: impl Fn(&NodeTable<'a>) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let Some(node) = self.get(key) else {
            return Ok(Vec::new());
        };
        let tables = node.items().unwrap_or(std::slice::from_ref(node));
        if tables.is_empty() || !tables.iter().all(PlanNode::is_table) {
            return Err(self.wrong(key, "is a table, or a list of tables"));
        }
        let read = |node| NodeTable::read(node, self.below(key), &read);
        tables.iter().map(read).collect()
    }
}

/// What may have been meant.
pub(crate) fn meant(near: Option<String>) -> String {
    near.map_or_else(String::new, |near| format!(", did you mean {near:?}?"))
}

/// Whether a letter shows nothing, or turns round what stands after it: with it two names look
/// alike.
pub(super) fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}')
}
