//! `--load`: sides as loads, which differ by the server that they are for or by an option.

use super::sides::{Measured, pairs, unused};
use super::subject::TARGET;
use crate::exit::Usage;
use crate::load::arm::{check_key, is_key, task};
use anyhow::{Context as _, Result};
use clap::ArgMatches;
use conduct::{Row, Task};
use object::recorded_url;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use units::Nanos;

/// Options that say when a load ends.
const ENDS: [&str; 4] = ["duration", "stages", "scale", "iterations"];

/// All sides as loads of one scenario, for the time of a slot where nothing says another.
///
/// # Errors
/// A side that is no load.
pub(super) fn sides(
    matches: &ArgMatches,
    scenario: &str,
    names: &[String],
    slot: Nanos,
) -> Result<Measured> {
    let mut common = BTreeMap::new();
    if let Some(target) = matches.get_one::<PathBuf>("target") {
        common.insert(TARGET.to_owned(), target.display().to_string());
    }
    for pair in matches.get_many::<String>("set").into_iter().flatten() {
        set(&mut common, pair)?;
    }
    let (mut arms, mut tasks): (Vec<String>, Vec<Task>) = (Vec::new(), Vec::new());
    for name in names {
        let mut given = common.clone();
        let options = if is_url(name) {
            vec![format!("{TARGET}={name}")]
        } else {
            pairs(name, is_key)
        };
        for pair in &options {
            set(&mut given, pair)?;
        }
        if ENDS.iter().all(|end| !given.contains_key(*end)) {
            given.insert("duration".into(), slot.exact());
        }
        let task = task(scenario, &given).with_context(|| name.clone())?;
        let taken: Vec<&str> = arms.iter().map(String::as_str).collect();
        arms.push(unused(&recorded_url(name), &taken));
        tasks.push(Task::Load(Box::new(task)));
    }
    Ok(Measured {
        differing: differing(&tasks),
        names: arms,
        rows: vec![Row {
            name: row_name(&tasks, scenario),
            tasks,
        }],
    })
}

/// The name that the scenario has in records, which for a file is not the name of the file.
fn row_name(tasks: &[Task], asked: &str) -> String {
    match tasks.first() {
        Some(Task::Load(load)) => load.plan.scenario.name.clone(),
        Some(Task::Run(_) | Task::Command(_)) | None => asked.to_owned(),
    }
}

/// Whether a word is the address of a server; that of an option has its name before it.
fn is_url(word: &str) -> bool {
    word.find("://").is_some_and(|at| !word[..at].contains('='))
}

fn set(given: &mut BTreeMap<String, String>, pair: &str) -> Result<()> {
    let (key, value) = pair.split_once('=').ok_or_else(|| {
        Usage(format!(
            "{pair:?} is neither a server nor KEY=VALUE; example: target=s3://bucket@http://127.0.0.1:9000 or users=8"
        ))
    })?;
    let key = key.trim();
    check_key(key)?;
    given.insert(key.to_owned(), value.trim().to_owned());
    Ok(())
}

/// What takes effect otherwise than for the baseline: that is what is compared.
fn differing(tasks: &[Task]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let planned: Vec<_> = tasks.iter().map(Task::planned).collect();
    for (base, other) in planned.iter().skip(1).map(|other| (&planned[0], other)) {
        let all = base.options.keys().chain(other.options.keys());
        keys.extend(
            all.filter(|key| base.options.get(*key) != other.options.get(*key))
                .cloned(),
        );
        keys.extend((base.targets != other.targets).then(|| TARGET.to_owned()));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_scheme_is_a_server_and_one_with_a_name_before_it_an_option() {
        for (word, expected) in [
            ("s3://b@http://h:1", true),
            ("http://h:1/x?a=b", true),
            ("target=http://h:1", false),
            ("users=8", false),
        ] {
            assert_eq!(is_url(word), expected, "{word}");
        }
    }

    #[test]
    fn what_a_load_does_otherwise_is_what_is_compared() {
        let load = |options: &[(&str, &str)]| {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            Task::Load(Box::new(
                task("fetch", &options.iter().map(own).collect()).unwrap(),
            ))
        };
        let a = load(&[("target", "http://h:1/"), ("duration", "1s")]);
        assert_eq!(row_name(std::slice::from_ref(&a), "a file"), "fetch");
        let b = load(&[("target", "http://h:2/"), ("duration", "1s")]);
        assert_eq!(
            differing(&[a.clone(), b]),
            BTreeSet::from(["target".to_owned()])
        );
        let slow = [
            ("target", "http://h:1/"),
            ("duration", "1s"),
            ("retries", "2"),
            ("new-connections", "true"),
        ];
        let keys = BTreeSet::from(["retries".to_owned(), "new-connections".to_owned()]);
        assert_eq!(differing(&[a, load(&slow)]), keys);
    }

    #[test]
    fn strangers_among_the_options_are_named() {
        let refused = |pair: &str| set(&mut BTreeMap::new(), pair).unwrap_err().to_string();
        assert_eq!(
            refused("user=8"),
            "unknown option \"user\", did you mean \"users\"?"
        );
        assert!(refused("get").contains("is neither a server nor KEY=VALUE"));
        assert!(refused("find-knee=p99<1s").contains("unknown option"));
    }
}
