//! `--load`: sides as loads, which differ by the server that they are for or by an option.

use super::sides::{Measured, pairs, unused};
use super::subject::TARGET;
use crate::exit::Usage;
use crate::load::arm::{check_key, is_key, is_repeated, recorded, task};
use anyhow::{Context as _, Result};
use clap::ArgMatches;
use conduct::{Row, Task};
use object::{recorded_url, variable_of};
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
        let task = task(scenario, &given).with_context(|| shown(name))?;
        let taken: Vec<&str> = arms.iter().map(String::as_str).collect();
        arms.push(unused(&shown(name), &taken));
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

/// What may be told of the words for a side: as of records, nothing that lets somebody in.
pub(super) fn shown(side: &str) -> String {
    if is_url(side) {
        return recorded_url(side);
    }
    let shown = pairs(side, is_key).into_iter().map(|pair| {
        if variable_of(&pair).is_some() {
            return pair;
        }
        match pair.split_once('=').filter(|(key, _)| is_key(key.trim())) {
            Some((key, value)) => format!("{key}={}", recorded(key.trim(), value.trim())),
            None => recorded_url(&pair),
        }
    });
    shown.collect::<Vec<_>>().join(",")
}

fn set(given: &mut BTreeMap<String, String>, pair: &str) -> Result<()> {
    if pair.trim().starts_with('@') {
        // What follows the @ may be the secret itself.
        let name = variable_of(pair).unwrap_or("VARIABLE");
        return Err(Usage(format!(
            "@{name} is what a variable of the environment holds, and nothing says what that is: for a server write {TARGET}=@{name}, for a header header=@{name}"
        ))
        .into());
    }
    let is_word = |key: &str| {
        key.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_ ".contains(c))
    };
    let (key, value) = pair.split_once('=').filter(|(key, _)| is_word(key)).ok_or_else(|| {
        Usage(format!(
            "{:?} is neither a server nor KEY=VALUE; example: target=s3://bucket@http://127.0.0.1:9000 or users=8",
            recorded_url(pair)
        ))
    })?;
    let (key, value) = (key.trim(), value.trim());
    check_key(key)?;
    match given.get_mut(key) {
        // Of headers all count, a line each.
        Some(all) if is_repeated(key) => *all = format!("{all}\n{value}"),
        Some(_) | None => drop(given.insert(key.to_owned(), value.to_owned())),
    }
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
        assert_eq!(
            refused("@TGT"),
            "@TGT is what a variable of the environment holds, and nothing says what that is: for a server write target=@TGT, for a header header=@TGT"
        );
        assert!(refused("@hunter2-x").contains("target=@VARIABLE"));
        for pair in [
            "u:hunter2@h",
            "u:hunter2@h/x?page=1",
            "hunter2.x@h=1",
            "@hunter2-x",
        ] {
            assert!(!refused(pair).contains("hunter2"), "{}", refused(pair));
        }
    }

    #[test]
    fn of_a_side_nothing_is_told_that_lets_somebody_in() {
        for (side, told) in [
            ("http://u:hunter2@h", "http://(not recorded)@h"),
            ("guest=hunter2,users=8", "guest=(not recorded),users=8"),
            ("target=@TG", "target=@TG"),
            ("@TG,users=8", "@TG,users=8"),
            (
                "header=Cookie: a=b,c,users=8",
                "header=Cookie: (not recorded),users=8",
            ),
            ("header=@H,header=Accept: a", "header=@H,header=Accept: a"),
            ("users=8", "users=8"),
        ] {
            assert_eq!(shown(side), told);
        }
    }

    #[test]
    fn headers_of_a_side_stand_beside_those_of_all() {
        let mut given = BTreeMap::new();
        for pair in ["header=Accept: a", "header=Pragma: b", "target=http://h:1/"] {
            set(&mut given, pair).unwrap();
        }
        let task = task("fetch", &given).unwrap();
        assert_eq!(task.asked["header"], "Accept: a, Pragma: b");
        assert_eq!(task.plan.effective()["header"], "Accept: a, Pragma: b");
    }
}
