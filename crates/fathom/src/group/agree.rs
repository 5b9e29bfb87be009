//! What ranks agree on before they touch anything: that they were asked for the same, and whether they
//! see the same target.

use super::beforehand::{at_targets, notes, own_place, own_set, place_word, target_sets};
use super::connection::RankLink;
use super::own_targets;
use super::reach::{kind_of, unlike, unlike_paths};
use super::words::{fault_of, fault_word};
use super::work::GroupWork;
use crate::context;
use crate::tell::say;
use group::Word;
use host::{Machine, PeerFault};
use record::TargetReach;
use run::safety::{FileId, make_new, remove_own};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use workload::EngineTarget;

/// What is put into the root's target for the others to look for; dropped, it is gone.
#[derive(Debug, Default)]
struct Marks(Vec<(PathBuf, FileId)>);

impl Drop for Marks {
    fn drop(&mut self) {
        for (mark, id) in &self.0 {
            let _it_says_whose_it_is = remove_own(mark, *id);
        }
    }
}

/// What a rank says of itself.
pub(super) struct Hello<'a> {
    pub(super) plan: &'a str,
    pub(super) works: &'a [GroupWork],
    /// What was asked, where somebody says how far the target reaches.
    pub(super) asked: Option<TargetReach>,
    /// Why this rank cannot take part.
    pub(super) fault: Option<PeerFault>,
    /// Whether what is said beforehand disturbs nobody: drivers of fio take a word for a failure.
    pub(super) is_told_people: bool,
}

/// What all ranks know.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    /// How far the target reaches; `None` where there is none on a file system.
    pub(super) reach: Option<TargetReach>,
    /// What the root drew, for whatever must be the same on all ranks and in no other run.
    pub(super) drawn: u64,
    /// What the root's MPI library calls itself; the same library says other things where it was built
    /// elsewhere.
    pub(super) library: String,
    /// Its number among the ranks that use its target, and how many these are.
    pub(super) at_target: (u32, u32),
    /// The number of its target, where hosts have targets of their own.
    pub(super) target_set: Option<u32>,
    /// How many ranks further on every rank finds one of another host; `None` where all are of one.
    pub(super) apart: Option<u32>,
    /// Ranks that do not see the target of which somebody said that all do.
    pub(super) unseen_by: Vec<u32>,
}

/// Agrees with all ranks.
///
/// # Errors
/// They were asked for different things, only some see the target, or each has its own and cannot do there
/// what was asked.
pub(super) fn agree(connection: &RankLink, hello: &Hello<'_>) -> Result<Agreed, PeerFault> {
    let (agreed, crowded) = told(connection, hello)?;
    if agreed.reach == Some(TargetReach::Local) {
        own_targets::check(crowded.as_deref(), hello.works)?;
    }
    Ok(agreed)
}

/// What all know, and the ranks that have one target of their own in each other's way.
fn told(connection: &RankLink, hello: &Hello<'_>) -> Result<(Agreed, Option<String>), PeerFault> {
    let mut marks = Marks::default();
    let own = hello.word().to_string().into_bytes();
    let answer = connection.round(own, |words| {
        let mut answer = compared(connection, &words, hello, &mut marks);
        answer["drawn"] = json!(host::fresh_run());
        answer["apart"] = json!(apart(&connection.hosts()));
        answer["library"] = json!(connection.library);
        answer.to_string().into_bytes()
    })?;
    if let Some(fault) = fault_of(&answer) {
        return Err(fault);
    }
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let reach = |value: &Value| match value.get("reach").and_then(Value::as_str) {
        Some("shared") => Some(TargetReach::Shared),
        Some("local") => Some(TargetReach::Local),
        Some(_) | None => None,
    };
    let crowded = answer.get("crowded").and_then(Value::as_str);
    let crowded = crowded.map(str::to_owned);
    let agreed = |value: &Value| Agreed {
        reach: reach(value),
        drawn: number(&answer, "drawn").unwrap_or(0),
        library: text(&answer, "library"),
        at_target: own_place(&answer, connection.rank),
        target_set: own_set(&answer, connection.rank)
            .filter(|_| reach(value) == Some(TargetReach::Local)),
        apart: number(&answer, "apart").and_then(|by| u32::try_from(by).ok()),
        unseen_by: unseen_by(value),
    };
    let Some(places) = answer.get("marks").and_then(Value::as_array) else {
        return Ok((agreed(&answer), crowded));
    };
    let sees = |place: &Value| place.as_str().is_some_and(|path| Path::new(path).exists());
    let seen: Vec<bool> = places.iter().map(sees).collect();
    let places = places.iter().filter_map(Value::as_str).map(Path::new);
    let kinds = places.map(|mark| kind_of(mark.parent().unwrap_or(mark)).unwrap_or_default());
    let kinds: Vec<String> = kinds.collect();
    let own = json!({ "seen": seen, "kinds": kinds })
        .to_string()
        .into_bytes();
    let decided = connection.round(own, |words| {
        one_target(connection, &words, &marks, hello.asked)
            .to_string()
            .into_bytes()
    })?;
    if let Some(fault) = fault_of(&decided) {
        return Err(fault);
    }
    let decided = serde_json::from_slice(&decided).unwrap_or_default();
    Ok((agreed(&decided), crowded))
}

fn unseen_by(value: &Value) -> Vec<u32> {
    let ranks = value.get("unseen").and_then(Value::as_array);
    let ranks = ranks.into_iter().flatten().filter_map(Value::as_u64);
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}

fn text(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn number(answer: &Value, key: &str) -> Option<u64> {
    answer.get(key).and_then(Value::as_u64)
}

/// How many ranks further on every rank finds one of another host; 1 where that is so of some alone,
/// and `None` where there is one host.
pub(crate) fn apart(hosts: &[String]) -> Option<u32> {
    let first = hosts.first()?;
    if hosts.iter().all(|host| host == first) {
        return None;
    }
    let is_far = |by: &usize| {
        let mut pairs = hosts.iter().zip(hosts.iter().cycle().skip(*by));
        pairs.all(|(host, other)| host != other)
    };
    let by = (1..hosts.len()).find(is_far);
    Some(by.and_then(|by| u32::try_from(by).ok()).unwrap_or(1))
}

impl Hello<'_> {
    fn word(&self) -> Value {
        let machine = Machine::at(Path::new("/"));
        let version = context::version();
        let version = version.commit.map_or(version.version.clone(), |commit| {
            format!("{} ({commit})", version.version)
        });
        let mut word = json!({
            "host": machine.hostname(),
            "place": place_word(&machine, self.works),
            "version": version,
            "plan": self.plan,
        });
        if let Some(fault) = &self.fault {
            word["failed"] = fault_word(fault);
        }
        word
    }

    /// Whether blocks are written, or dealt out to all who use the target.
    fn must_know_devices(&self) -> bool {
        let mut phases = GroupWork::phases_of(self.works);
        phases.any(|phase| {
            let workload = &phase.workload;
            workload.writes_blocks() || workload.deals_out_blocks()
        })
    }

    /// Directories in or beside the targets, and whether some target is a device.
    fn places(&self) -> (BTreeSet<PathBuf>, bool) {
        let phases = GroupWork::phases_of(self.works);
        let on_files = phases.filter(|phase| phase.workload.engine.target() == EngineTarget::Files);
        let (mut places, mut has_device) = (BTreeSet::new(), false);
        let targets = on_files.flat_map(|phase| &phase.workload.targets);
        for target in targets.filter(|target| !run::is_server(target)) {
            let facts = std::fs::metadata(target);
            if facts.is_ok_and(|facts| facts.file_type().is_block_device()) {
                has_device = true;
                continue;
            }
            let whole = std::path::absolute(target).unwrap_or_else(|_| target.clone());
            let directory = whole.ancestors().find(|path| path.is_dir());
            places.extend(directory.map(Path::to_path_buf));
        }
        (places, has_device)
    }
}

/// What the root makes of what all say of themselves.
fn compared(
    connection: &RankLink,
    words: &[Option<Word>],
    own: &Hello<'_>,
    marks: &mut Marks,
) -> Value {
    if words.iter().any(Option::is_none) {
        return fault_word(&connection.loss());
    }
    let hellos = words.iter().flatten();
    let hellos: Vec<Value> = hellos
        .map(|word| serde_json::from_slice(word).unwrap_or_default())
        .collect();
    let names = hellos.iter().map(|hello| text(hello, "host"));
    connection.name_ranks(names.collect());
    let failed = hellos.iter().map(|hello| {
        let failed = hello.get("failed")?.to_string();
        fault_of(failed.as_bytes())
    });
    if let Some(fault) = connection.first_of(failed.collect()) {
        return fault_word(&fault);
    }
    let fault = |text: String| fault_word(&PeerFault { text, exit_code: 2 });
    for (key, what) in [("version", "version of fathom"), ("plan", "plan")] {
        let of_root = text(&hellos[0], key);
        let others = hellos.iter().zip(0_u32..);
        let others = others.filter(|(hello, _)| text(hello, key) != of_root);
        let others: Vec<String> = others.map(|(_, rank)| connection.called(rank)).collect();
        if !others.is_empty() {
            return fault(format!(
                "another {what} than on {}: {}",
                connection.called(0),
                others.join(", ")
            ));
        }
    }
    let places = hellos.iter().map(|hello| hello["place"].clone());
    let places: Vec<Value> = places.collect();
    if own.asked.is_none()
        && let Some(text) = unlike_paths(&places, |rank| connection.called(rank))
    {
        return fault(text);
    }
    if own.is_told_people {
        for note in notes(&places, |rank| connection.called(rank)) {
            say(&format!("note: {note}"));
        }
    }
    let boot = text(&places[0], "boot");
    let one_machine = places.iter().all(|place| text(place, "boot") == boot);
    let mut answer = reached(own, marks, one_machine);
    answer["at_target"] = json!(at_targets(&places));
    answer["target_sets"] = json!(target_sets(&places));
    answer["crowded"] = json!(own_targets::crowded(&places, |rank| connection.called(rank)));
    answer
}

fn reach_word(reach: TargetReach) -> Value {
    match reach {
        TargetReach::Shared => json!({ "reach": "shared" }),
        TargetReach::Local | TargetReach::Unknown => json!({ "reach": "local" }),
    }
}

/// How far the target reaches, or the marks to look for: also where somebody says that all see it.
fn reached(own: &Hello<'_>, marks: &mut Marks, one_machine: bool) -> Value {
    let (places, has_device) = own.places();
    let is_looked_for = !has_device && !places.is_empty();
    if let Some(asked) = own.asked
        && !(asked == TargetReach::Shared && is_looked_for)
    {
        return reach_word(asked);
    }
    if places.is_empty() && !has_device {
        return json!({});
    }
    // A device of one machine has one name there; of several machines nobody knows which is which.
    if has_device {
        return match one_machine {
            true => reach_word(TargetReach::Shared),
            false if own.must_know_devices() => fault_word(&PeerFault {
                text: "nobody can see whether a device is one that all hosts have or each host's own, and what is written or dealt out there depends on it: say --target-is shared or local".into(),
                exit_code: 2,
            }),
            false => json!({}),
        };
    }
    let name = format!(".fathom-group-{:032x}", sys::random_bits());
    for place in places {
        let mark = place.join(&name);
        match make_new(&mark) {
            Ok(id) => marks.0.push((mark, id)),
            Err(_) if one_machine || own.asked.is_some() => {
                return reach_word(TargetReach::Shared);
            }
            Err(error) => {
                return fault_word(&PeerFault {
                    text: format!(
                        "cannot put a mark in {} for the other hosts to look for ({error}); say --target-is shared or local",
                        place.display()
                    ),
                    exit_code: 2,
                });
            }
        }
    }
    let paths = marks.0.iter().map(|(mark, _)| mark.display().to_string());
    json!({ "marks": paths.collect::<Vec<_>>() })
}

/// What the root makes of who sees its marks.
fn one_target(
    connection: &RankLink,
    words: &[Option<Word>],
    marks: &Marks,
    asked: Option<TargetReach>,
) -> Value {
    if words.iter().any(Option::is_none) {
        return fault_word(&connection.loss());
    }
    let words = words.iter().flatten();
    let words: Vec<Value> = words
        .map(|word| serde_json::from_slice(word).unwrap_or_default())
        .collect();
    let list = |word: &Value, key: &str| {
        let list = word.get(key).and_then(Value::as_array).cloned();
        list.unwrap_or_default()
    };
    let said = words.iter().skip(1).map(|word| {
        let seen = list(word, "seen");
        seen.iter()
            .map(|seen| seen.as_bool() == Some(true))
            .collect()
    });
    let said: Vec<Vec<bool>> = said.collect();
    let sees = |by: &[bool], place: usize| by.get(place) == Some(&true);
    if asked.is_some() {
        let is_blind = |by: &Vec<bool>| (0..marks.0.len()).any(|place| !sees(by, place));
        let blind = said.iter().zip(1_u32..).filter(|(by, _)| is_blind(by));
        let blind: Vec<u32> = blind.map(|(_, rank)| rank).collect();
        return json!({ "reach": "shared", "unseen": blind });
    }
    let mut reaches = BTreeSet::new();
    for (place, (mark, _)) in marks.0.iter().enumerate() {
        let blind = said.iter().zip(1_u32..).filter(|(by, _)| !sees(by, place));
        let blind: Vec<String> = blind.map(|(_, rank)| connection.called(rank)).collect();
        let directory = mark.parent().unwrap_or(mark);
        if blind.len() != said.len() && !blind.is_empty() {
            let text = format!(
                "{} is not the same directory on {} (not mounted?)",
                directory.display(),
                blind.join(", ")
            );
            return fault_word(&PeerFault { text, exit_code: 2 });
        }
        if !blind.is_empty() {
            let kinds = words.iter().map(|word| {
                let kind = list(word, "kinds").get(place).cloned();
                kind.as_ref()
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            });
            if let Some(text) = unlike(
                |rank| connection.called(rank),
                directory,
                &kinds.collect::<Vec<_>>(),
            ) {
                return fault_word(&PeerFault { text, exit_code: 2 });
            }
        }
        reaches.insert(blind.is_empty());
    }
    match (reaches.contains(&true), reaches.contains(&false)) {
        (true, false) => json!({ "reach": "shared" }),
        (false, _) => json!({ "reach": "local" }),
        (true, true) => fault_word(&PeerFault {
            text: "some targets are the same on all hosts and others are each host's own: give them to two commands".into(),
            exit_code: 2,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_finds_one_of_another_host_where_there_is_one() {
        let apart = |hosts: &str| {
            let hosts: Vec<String> = hosts.split(' ').map(str::to_owned).collect();
            apart(&hosts)
        };
        assert_eq!(apart("a b c"), Some(1));
        assert_eq!(apart("a a b b"), Some(2));
        assert_eq!(apart("a a b b c c"), Some(2));
        assert_eq!(
            apart("a a a b"),
            Some(1),
            "no number does, and any is better than none"
        );
        assert_eq!(apart("a a"), None);
        assert_eq!(apart("a"), None);
        assert_eq!(super::apart(&[]), None);
    }
}
