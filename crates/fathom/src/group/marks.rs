//! How ranks find out whether all see one target: the root puts marks there, and the others look for them.

use super::connection::RankLink;
use super::reach::{ReachAsked, kind_of, unlike};
use super::words::fault_word;
use super::work::GroupWork;
use host::PeerFault;
use record::TargetReach;
use run::safety::{FileId, make_new, remove_own};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use workload::EngineTarget;

/// What is put into the root's target for the others to look for; dropped, it is gone.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(PathBuf, FileId)>);

impl Drop for Marks {
    fn drop(&mut self) {
        for (mark, id) in &self.0 {
            let _it_says_whose_it_is = remove_own(mark, *id);
        }
    }
}

/// How far the target reaches, or the marks to look for: also where somebody says that all see it.
pub(super) fn reached(
    works: &[GroupWork],
    asked: ReachAsked,
    marks: &mut Marks,
    one_machine: bool,
) -> Value {
    let (places, has_device) = places(works);
    let is_looked_for = !has_device && !places.is_empty();
    if let Some(asked) = asked.said
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
            false if must_know_devices(works) => fault_word(&PeerFault {
                text: format!(
                    "nobody can see whether a device is one that all hosts have or each host's own, and what is written or dealt out there depends on it: {}",
                    asked.advice(
                        "say --target-is shared or local",
                        "give a file or a directory"
                    )
                ),
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
            Err(_) if one_machine || asked.said.is_some() => {
                return reach_word(TargetReach::Shared);
            }
            Err(error) => {
                return fault_word(&PeerFault {
                    text: format!(
                        "cannot put a mark in {} for the other hosts to look for ({error}); {}",
                        place.display(),
                        asked.advice(
                            "say --target-is shared or local",
                            "give a directory that can be written",
                        ),
                    ),
                    exit_code: 2,
                });
            }
        }
    }
    let paths = marks.0.iter().map(|(mark, _)| mark.display().to_string());
    json!({ "marks": paths.collect::<Vec<_>>() })
}

fn reach_word(reach: TargetReach) -> Value {
    match reach {
        TargetReach::Shared => json!({ "reach": "shared" }),
        TargetReach::Local | TargetReach::Unknown => json!({ "reach": "local" }),
    }
}

/// Whether blocks are written, or dealt out to all who use the target.
fn must_know_devices(works: &[GroupWork]) -> bool {
    let mut phases = GroupWork::phases_of(works);
    phases.any(|phase| {
        let workload = &phase.workload;
        workload.writes_blocks() || workload.deals_out_blocks()
    })
}

/// Directories in or beside the targets, and whether some target is a device.
fn places(works: &[GroupWork]) -> (BTreeSet<PathBuf>, bool) {
    let phases = GroupWork::phases_of(works);
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

/// What a rank sees of the marks.
pub(super) fn seen(places: &[Value]) -> Value {
    let sees = |place: &Value| place.as_str().is_some_and(|path| Path::new(path).exists());
    let seen: Vec<bool> = places.iter().map(sees).collect();
    let places = places.iter().filter_map(Value::as_str).map(Path::new);
    let kinds = places.map(|mark| kind_of(mark.parent().unwrap_or(mark)).unwrap_or_default());
    let kinds: Vec<String> = kinds.collect();
    json!({ "seen": seen, "kinds": kinds })
}

/// What the root makes of who sees its marks.
pub(super) fn one_target(
    connection: &RankLink,
    words: &[Value],
    marks: &Marks,
    asked: ReachAsked,
) -> Value {
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
    if asked.said.is_some() {
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
                "{} is not the same directory on {} (not mounted?); where each host is to have its own, {}",
                directory.display(),
                blind.join(", "),
                asked.advice("say --target-is local", "start one rank on each"),
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
                asked,
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

/// How far the target reaches, as such an answer says it.
pub(super) fn reach_of(value: &Value) -> Option<TargetReach> {
    match value.get("reach").and_then(Value::as_str) {
        Some("shared") => Some(TargetReach::Shared),
        Some("local") => Some(TargetReach::Local),
        Some(_) | None => None,
    }
}

/// The ranks of which such an answer says that they do not see the target.
pub(super) fn unseen_by(value: &Value) -> Vec<u32> {
    let ranks = value.get("unseen").and_then(Value::as_array);
    let ranks = ranks.into_iter().flatten().filter_map(Value::as_u64);
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}
