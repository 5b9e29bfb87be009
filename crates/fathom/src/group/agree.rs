//! What ranks agree on before they touch anything: that they were asked for the same, and whether they
//! see the same target.

use super::alive::RankProcess;
use super::beforehand::{at_targets, notes, place_word, sets_of, target_sets};
use super::connection::RankLink;
use super::marks::{Marks, one_target, reach_of, reached, seen, unseen_by};
use super::own_targets;
use super::reach::{ReachAsked, unlike_paths};
use super::words::{fault_of, fault_word};
use super::work::GroupWork;
use crate::context;
use crate::tell::say;
use host::{Machine, PeerFault};
use record::TargetReach;
use serde_json::{Value, json};
use std::path::Path;

/// What a rank says of itself.
pub(super) struct Hello<'a> {
    pub(super) plan: &'a str,
    pub(super) works: &'a [GroupWork],
    /// What was asked of how far the target reaches.
    pub(super) asked: ReachAsked,
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
    let (agreed, sets) = told(connection, hello)?;
    let is_local = agreed.reach == Some(TargetReach::Local);
    if is_local {
        own_targets::check(connection, &sets, hello.works)?;
    }
    let users = at_targets(&sets).into_iter().map(|(_, users)| users).max();
    let users = users.filter(|_| is_local).unwrap_or(connection.size);
    own_targets::check_names(hello.works, users)?;
    Ok(agreed)
}

/// What all know, and the number of the target of each rank.
fn told(connection: &RankLink, hello: &Hello<'_>) -> Result<(Agreed, Vec<u32>), PeerFault> {
    let mut marks = Marks::default();
    let answer = settled(connection, &hello.word(), |hellos| {
        let mut answer = compared(connection, hellos, hello, &mut marks);
        answer["drawn"] = json!(host::fresh_run());
        answer["apart"] = json!(apart(&machines(hellos)));
        answer["library"] = json!(connection.library);
        answer
    })?;
    let sets = sets_of(&answer);
    let own = connection.rank as usize;
    let agreed = |value: &Value| Agreed {
        reach: reach_of(value),
        drawn: number(&answer, "drawn").unwrap_or(0),
        library: text(&answer, "library"),
        at_target: at_targets(&sets).get(own).copied().unwrap_or((0, 1)),
        target_set: sets
            .get(own)
            .copied()
            .filter(|_| reach_of(value) == Some(TargetReach::Local)),
        apart: number(&answer, "apart").and_then(|by| u32::try_from(by).ok()),
        unseen_by: unseen_by(value),
    };
    let Some(places) = answer.get("marks").and_then(Value::as_array) else {
        return Ok((agreed(&answer), sets));
    };
    let decided = settled(connection, &seen(places), |words| {
        one_target(connection, words, &marks, hello.asked)
    })?;
    Ok((agreed(&decided), sets))
}

/// A round in which each rank says something of itself: what the root makes of what all say, where nobody is
/// lost and that is no fault.
pub(super) fn settled(
    connection: &RankLink,
    own: &Value,
    decide: impl FnOnce(&[Value]) -> Value,
) -> Result<Value, PeerFault> {
    let read = |word: &[u8]| -> Value { serde_json::from_slice(word).unwrap_or_default() };
    let answer = connection.round(own.to_string().into_bytes(), |words| {
        let words = words.iter().map(|word| Some(read(word.as_ref()?)));
        let words: Option<Vec<Value>> = words.collect();
        let answer = words.map_or_else(|| fault_word(&connection.loss()), |words| decide(&words));
        answer.to_string().into_bytes()
    })?;
    fault_of(&answer).map_or_else(|| Ok(read(&answer)), Err)
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
}

/// What tells the machines of ranks apart: their names, and where some have one name, as copies of one image have, which
/// boot of which kernel it is.
fn machines(hellos: &[Value]) -> Vec<String> {
    let boot = |hello: &Value| hello.pointer("/place/boot").map(Value::to_string);
    let machine = |hello: &Value| {
        format!(
            "{} {}",
            text(hello, "host"),
            boot(hello).unwrap_or_default()
        )
    };
    hellos.iter().map(machine).collect()
}

/// The process of each rank that is of the first one's machine.
fn processes(hellos: &[Value]) -> Vec<Option<RankProcess>> {
    let boot = |hello: &Value| Some(hello.pointer("/place/boot")?.as_str()?.to_owned());
    let own = hellos.first().and_then(boot);
    let process = |hello: &Value| {
        let word = hello.pointer("/place/process")?;
        RankProcess::read(word).filter(|_| own.is_some() && boot(hello) == own)
    };
    hellos.iter().map(process).collect()
}

/// What the root makes of what all say of themselves.
fn compared(connection: &RankLink, hellos: &[Value], own: &Hello<'_>, marks: &mut Marks) -> Value {
    let names = hellos.iter().map(|hello| text(hello, "host"));
    connection.name_ranks(names.collect());
    connection.know_processes(processes(hellos));
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
        // A plan is a number that nobody knows; a version can be looked for.
        let called = |rank: u32, of: String| match key {
            "version" => format!("{} with {of}", connection.called(rank)),
            _ => connection.called(rank),
        };
        let others: Vec<String> = others
            .map(|(hello, rank)| called(rank, text(hello, key)))
            .collect();
        if !others.is_empty() {
            let of_root = called(0, of_root);
            return fault(format!(
                "another {what} than on {of_root}: {}",
                others.join(", ")
            ));
        }
    }
    let places = hellos.iter().map(|hello| hello["place"].clone());
    let places: Vec<Value> = places.collect();
    // Only what is each host's own may lie in another place for each.
    if own.asked.said != Some(TargetReach::Local)
        && let Some(text) = unlike_paths(&places, |rank| connection.called(rank), own.asked)
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
    let mut answer = reached(own.works, own.asked, marks, one_machine);
    answer["target_sets"] = json!(target_sets(&places));
    answer
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

    #[test]
    fn machines_of_one_name_are_told_apart_by_what_they_booted() {
        let hello = |host: &str, boot: Value| json!({"host": host, "place": {"boot": boot}});
        let of = |boots: [Value; 2]| apart(&machines(&boots.map(|boot| hello("vm", boot))));
        assert_eq!(of([json!("1"), json!("2")]), Some(1));
        assert_eq!(of([json!("1"), json!("1")]), None);
        assert_eq!(of([json!(null), json!(null)]), None);
        let named = [hello("a", json!("1")), hello("b", json!("1"))];
        assert_eq!(apart(&machines(&named)), Some(1));
    }
}
