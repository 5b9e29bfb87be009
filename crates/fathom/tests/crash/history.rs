//! What was asked for and acknowledged, and what a state after a loss of power may hold of it.

use std::collections::BTreeMap;

/// Something that was asked for under one name.
struct Version {
    /// `None`: nothing is there.
    content: Option<Vec<u8>>,
    /// Bytes of the journal some time after it was acknowledged.
    acknowledged: Option<u64>,
}

/// All versions of all names, in the order in which they were asked for.
#[derive(Default)]
pub(crate) struct History(BTreeMap<String, Vec<Version>>);

impl History {
    pub(crate) fn begin(&mut self, key: &str, content: Option<Vec<u8>>) {
        let versions = self.0.entry(key.to_owned()).or_default();
        versions.push(Version {
            content,
            acknowledged: None,
        });
    }

    pub(crate) fn acknowledge(&mut self, key: &str, written: u64) {
        let last = self.0.get_mut(key).and_then(|versions| versions.last_mut());
        last.unwrap().acknowledged = Some(written);
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What is wrong with a state that was possible until this byte of the journal: it has the last
    /// version that was acknowledged before it, or a later one, whole.
    pub(crate) fn wrong(&self, key: &str, until: u64, found: Option<&[u8]>) -> Option<String> {
        let versions = &self.0[key];
        let is_bound = |version: &Version| version.acknowledged.is_some_and(|at| at < until);
        let bound = versions.iter().rposition(is_bound);
        let may: Vec<Option<&[u8]>> = versions[bound.unwrap_or(0)..]
            .iter()
            .map(|version| version.content.as_deref())
            .chain(bound.is_none().then_some(None))
            .collect();
        let length = |content: Option<&[u8]>| content.map(<[u8]>::len);
        (!may.contains(&found)).then(|| {
            let may: Vec<Option<usize>> = may.iter().copied().map(length).collect();
            format!(
                "{key}: {:?} bytes that are none of {may:?}; version {bound:?} was acknowledged",
                length(found)
            )
        })
    }
}

/// States of one epoch, as the program lists them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    first: u64,
    /// Without torn writes.
    states: u64,
    drawn: bool,
    torn: u64,
    pub(crate) begin: u64,
}

/// Every state of the epochs, none of which has more choices than are listed.
pub(crate) fn every(epochs: &[&Epoch]) -> Vec<u64> {
    assert!(epochs.iter().all(|epoch| !epoch.drawn), "ask for less");
    let states = epochs.iter();
    let states = states.flat_map(|epoch| epoch.first..epoch.first + epoch.states + epoch.torn);
    states.collect()
}

/// Reads lines such as `epoch 3: 12 writes; states 0 to 4095 every choice, 3 more with a torn
/// write; from byte 99 of the journal`.
pub(crate) fn epochs(listed: &str) -> Vec<Epoch> {
    let numbers = |line: &str| -> Vec<u64> {
        let words = line.split(|c: char| !c.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let lines = listed.lines().filter(|line| line.starts_with("epoch "));
    let mut next = 0;
    let read = |line: &str| {
        let (states, torn, begin) = match numbers(line)[..] {
            [_, _, first, last, torn, begin] => (last + 1 - first, torn, begin),
            [_, _, torn, begin] => (0, torn, begin),
            _ => panic!("{line}"),
        };
        let first = next;
        next += states + torn;
        Epoch {
            first,
            states,
            drawn: line.contains("drawn"),
            torn,
            begin,
        }
    };
    lines.map(read).collect()
}

/// Of so many epochs, among them the last, the state in which nothing of it lives, the one in which
/// all does, a drawn one and a torn one.
pub(crate) fn sample(epochs: &[&Epoch], wanted: usize) -> Vec<u64> {
    let mut draw = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: u64| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        draw % bound.max(1)
    };
    let step = epochs.len().div_ceil(wanted.max(1)).max(1);
    let mut states = Vec::new();
    for epoch in epochs.iter().rev().step_by(step) {
        let torn = epoch.first + epoch.states;
        if epoch.states > 0 {
            // Where choices are drawn, none and all are the first of them.
            let all = if epoch.drawn {
                epoch.first + 1
            } else {
                torn - 1
            };
            states.extend([epoch.first, all.min(torn - 1)]);
            states.push(epoch.first + below(epoch.states));
        }
        states.extend((epoch.torn > 0).then(|| torn + below(epoch.torn)));
    }
    states.sort_unstable();
    states.dedup();
    states
}

/// Until which byte of the journal the state was possible that a server has announced.
pub(crate) fn until_byte(said: &str) -> u64 {
    let said = said.split_once("; until byte ");
    said.map_or(u64::MAX, |(_, rest)| {
        let (number, _) = rest.split_once(' ').unwrap();
        number.parse().unwrap()
    })
}
