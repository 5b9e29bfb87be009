//! Text with placeholders.

use super::reading::meant;
use super::rows::RowOfFile;
use super::{ArmOfFile, Arms, Wrong};
use std::collections::{BTreeMap, BTreeSet};

/// Placeholders that are known when a slot begins, and which of them need what.
const BUILTINS: [&str; 9] = [
    "pass", "seed", "fathom", "scratch", "port", "url", "tree", "commit", "pid",
];
/// Those that are known of a cell.
const OF_A_CELL: [&str; 2] = ["arm", "row"];

/// Values of the placeholders of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Builtins(BTreeMap<&'static str, String>);

impl Builtins {
    /// Each as itself: what a slot will put there is not known.
    #[must_use]
    pub fn unknown() -> Self {
        let as_itself = |name: &&'static str| (*name, format!("{{{name}}}"));
        let mut out = Self(BUILTINS.iter().map(as_itself).collect());
        out.set("url", "http://127.0.0.1:{port}");
        out
    }

    /// Values of the right form, for checks before the first slot.
    #[must_use]
    pub fn sample(fathom: &str) -> Self {
        let mut out = Self::unknown();
        for (name, value) in [
            ("pass", "0"),
            ("seed", "1"),
            ("fathom", fathom),
            ("scratch", "/nonexistent/scratch"),
            ("port", "1"),
            ("url", "http://127.0.0.1:1"),
            ("pid", "1"),
            ("tree", "/nonexistent/tree"),
            ("commit", "0000000000000000000000000000000000000000"),
        ] {
            out.set(name, value);
        }
        out
    }

    /// # Panics
    /// There is no such placeholder.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let known = BUILTINS.iter().find(|known| **known == name);
        let known = known.unwrap_or_else(|| panic!("{name} is no placeholder of a slot"));
        self.0.insert(known, value.into());
    }

    /// A text with all its placeholders filled in.
    pub(crate) fn fill(&self, text: &str, line: usize) -> Result<String, Wrong> {
        let value = |name: &str| Ok(self.0.get(name).cloned());
        fill(text, line, &value, Braces::Plain)
    }
}

/// What becomes of braces that stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Braces {
    Plain,
    /// They stay double, for those who fill in the rest.
    Kept,
}

/// Fills in `{name}`; `{{` and `}}` are braces.
fn fill(
    text: &str,
    line: usize,
    value: &dyn Fn(&str) -> Result<Option<String>, Wrong>,
    braces: Braces,
) -> Result<String, Wrong> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let brace = &from[..1];
        if from[1..].starts_with(brace) {
            out.push_str(if braces == Braces::Kept {
                &from[..2]
            } else {
                brace
            });
            rest = &from[2..];
            continue;
        }
        let end = from.find('}').filter(|_| brace == "{");
        let name = end.map(|end| &from[1..end]).filter(|name| is_name(name));
        let Some((name, end)) = name.zip(end) else {
            return Err(no_placeholder(text, text.len() - from.len(), line));
        };
        let value = value(name)?;
        out.push_str(&value.ok_or_else(|| no_value(name, line))?);
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// What a brace is that is neither doubled nor part of a placeholder: a text that was meant to have
/// a value would be measured as it stands.
fn no_placeholder(text: &str, at: usize, line: usize) -> Wrong {
    const SHOWN: usize = 24;
    let from: String = text[at..].chars().take(SHOWN).collect();
    let what = match from.as_bytes() {
        [b'}', ..] => "ends no placeholder",
        [b'{', b'}', ..] => "has no name",
        _ if from.len() == text.len() - at && !from.contains('}') => "does not end",
        _ => "is no placeholder",
    };
    Wrong::new(
        line,
        format!(
            "the brace at {from:?} (character {}) {what}; a placeholder is {{name}}, and {{{{ and }}}} are braces",
            text[..at].chars().count() + 1
        ),
    )
}

fn no_value(name: &str, line: usize) -> Wrong {
    let near = units::nearest(name, BUILTINS.into_iter().chain(OF_A_CELL));
    Wrong::new(
        line,
        format!(
            "the placeholder {{{name}}} has no value{}; give it by `set` of an arm or by a factor, or write {{{{ for a brace",
            meant(near)
        ),
    )
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Refuses a name that could not stand in braces, or that means something else.
pub(crate) fn check_name(name: &str, line: usize) -> Result<(), Wrong> {
    if BUILTINS.contains(&name) || OF_A_CELL.contains(&name) {
        return Err(Wrong::new(
            line,
            format!("{name:?} is a placeholder of every slot; choose another name"),
        ));
    }
    if is_name(name) {
        return Ok(());
    }
    Err(Wrong::new(
        line,
        format!("{name:?} is no name of a placeholder: letters, digits, - and _"),
    ))
}

/// Which values were used.
#[derive(Default)]
pub(crate) struct Names {
    used: BTreeSet<String>,
}

/// Values of one cell.
pub(crate) struct Values(BTreeMap<String, String>);

impl Names {
    pub(crate) fn of_cell(
        &mut self,
        arm: &ArmOfFile<'_>,
        row: &RowOfFile,
        common: &BTreeMap<String, (usize, String)>,
    ) -> Values {
        let mut out: BTreeMap<String, String> = BTreeMap::new();
        let own = common.iter().chain(&arm.set);
        out.extend(own.map(|(name, (_, text))| (name.clone(), text.clone())));
        out.extend(row.values.clone());
        let doubled = arm.facts.name.replace('{', "{{").replace('}', "}}");
        out.insert("arm".into(), doubled);
        out.insert("row".into(), row.name.clone());
        Values(out)
    }

    /// A text in which what is known of the cell is filled in.
    pub(crate) fn fill(
        &mut self,
        text: &str,
        line: usize,
        values: &Values,
    ) -> Result<String, Wrong> {
        let later = |name: &str| BUILTINS.contains(&name).then(|| format!("{{{name}}}"));
        let used = std::cell::RefCell::new(&mut self.used);
        let inner = |name: &str| {
            let value = values.0.get(name)?;
            used.borrow_mut().insert(name.to_owned());
            Some(value.clone())
        };
        // A value of an arm may name a factor.
        let value = |name: &str| {
            let Some(value) = inner(name) else {
                return Ok(later(name));
            };
            let nested = |name: &str| Ok(inner(name).or_else(|| later(name)));
            fill(&value, line, &nested, Braces::Kept).map(Some)
        };
        fill(text, line, &value, Braces::Kept)
    }

    /// Refuses values that no text uses.
    pub(crate) fn check_used(
        &self,
        factors: &[(String, usize)],
        arms: &Arms<'_>,
    ) -> Result<(), Wrong> {
        let of_arms = arms.list.iter().flat_map(|arm| {
            let named = |(name, (line, _)): (&String, &(usize, String))| (name.clone(), *line);
            arm.set.iter().map(named).collect::<Vec<_>>()
        });
        let all: Vec<(String, usize)> = factors.iter().cloned().chain(of_arms).collect();
        let Some((name, line)) = all.iter().find(|(name, _)| !self.used.contains(name)) else {
            return Ok(());
        };
        Err(Wrong::new(
            *line,
            format!("{name} has no use: no text has {{{name}}}"),
        ))
    }
}
