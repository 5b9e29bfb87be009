//! How far a target reaches: whether all hosts see the same one, or each has its own.

use super::options::text;
use crate::flags::is_set;
use clap::ArgMatches;
use host::Machine;
use record::{FileSystem, TargetReach};
use serde_json::Value;
use std::path::Path;
use workload::Workload;

/// How far the target reaches, where the command line says it.
pub(super) fn target_is(matches: &ArgMatches) -> Option<TargetReach> {
    match text(matches, "target-is") {
        Some("shared") => Some(TargetReach::Shared),
        Some("local") => Some(TargetReach::Local),
        Some(_) | None => None,
    }
}

/// What a command says of how far the target reaches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReachAsked {
    pub(super) said: Option<TargetReach>,
    /// Whether its verb has an option for it.
    pub(super) has_option: bool,
}

impl ReachAsked {
    pub(super) fn read(matches: &ArgMatches) -> Self {
        Self {
            said: target_is(matches),
            has_option: is_set(matches, "target-is"),
        }
    }

    /// What can be done, with the option or without it.
    pub(super) fn advice<'a>(&self, with: &'a str, without: &'a str) -> &'a str {
        match self.has_option {
            true => with,
            false => without,
        }
    }
}

/// Whether other hosts see the target, as far as its file system tells.
pub(super) fn reach(workload: &Workload) -> TargetReach {
    let target = workload.targets.first();
    if target.is_some_and(|target| run::is_server(target)) {
        return TargetReach::Unknown;
    }
    let place = target.and_then(|target| target.ancestors().find(|path| path.exists()));
    let kind = kind_of(place.unwrap_or(Path::new(".")));
    if kind.is_some_and(|kind| FileSystem::may_be_of_several_hosts(&kind)) {
        TargetReach::Shared
    } else {
        TargetReach::Local
    }
}

/// The kind of the file system at this place.
pub(super) fn kind_of(place: &Path) -> Option<String> {
    let storage = Machine::at(Path::new("/")).storage(place);
    Some(storage.file_system?.kind)
}

/// What is wrong where nobody sees the root's mark, and some have a file system there that all could
/// have.
pub(super) fn unlike(
    called: impl Fn(u32) -> String,
    place: &Path,
    kinds: &[String],
    asked: ReachAsked,
) -> Option<String> {
    let could_be = |kind: &String| FileSystem::may_be_of_several_hosts(kind);
    if kinds.iter().all(could_be) || !kinds.iter().any(could_be) {
        return None;
    }
    let of = |has: bool| {
        let those = kinds.iter().zip(0_u32..);
        let those = those.filter(move |(kind, _)| could_be(kind) == has);
        let names = those.map(|(kind, rank)| format!("{} ({kind})", called(rank)));
        names.collect::<Vec<_>>().join(", ")
    };
    Some(format!(
        "{} is not the same directory on {} as on {} (not mounted?){}",
        place.display(),
        of(false),
        of(true),
        asked.advice(
            "; where each host is to have its own, say --target-is local",
            "",
        ),
    ))
}

/// What is wrong where a target is named from the directory that a rank is in, and ranks are in different ones.
pub(super) fn unlike_paths(
    places: &[Value],
    called: impl Fn(u32) -> String,
    asked: ReachAsked,
) -> Option<String> {
    let paths = |place: &Value| place.get("paths").and_then(Value::as_array).cloned();
    let of_root = paths(places.first()?)?;
    let others = places.iter().zip(0_u32..).skip(1);
    let mut others = others.filter_map(|(place, rank)| Some((paths(place)?, rank)));
    others.find_map(|(own, rank)| {
        let mut pairs = of_root.iter().zip(&own);
        let (there, here) = pairs.find(|(there, here)| there != here)?;
        Some(format!(
            "a target is {} on {} and {} on {}: {}",
            there.as_str().unwrap_or_default(),
            called(0),
            here.as_str().unwrap_or_default(),
            called(rank),
            asked.advice(
                "name it from the root of the file system (/…), or start all ranks in one directory; where each host is to have its own there, say --target-is local",
                "name it from the root of the file system (/…), where each host may have its own, or start all ranks in one directory",
            ),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with_option() -> ReachAsked {
        ReachAsked {
            said: None,
            has_option: true,
        }
    }

    #[test]
    fn a_server_s_directory_that_others_have_not_mounted_is_told_from_directories_of_their_own() {
        let told = |kinds: &str| {
            let kinds: Vec<String> = kinds.split(' ').map(str::to_owned).collect();
            let called = |rank| format!("rank {rank}");
            unlike(called, Path::new("/mnt"), &kinds, with_option())
        };
        assert_eq!(told("xfs ext4"), None, "each has its own disk");
        assert_eq!(told("nfs4 nfs4"), None, "each has its own server");
        let text = told("nfs4 xfs nfs4 tmpfs").unwrap();
        assert!(
            text.starts_with("/mnt is not the same directory on rank 1 (xfs), rank 3 (tmpfs) as on rank 0 (nfs4), rank 2 (nfs4)"),
            "{text}"
        );
        assert!(text.contains("--target-is local"), "{text}");
        assert!(
            told("ext4 lustre").is_some(),
            "the first has not mounted it"
        );
    }

    #[test]
    fn a_name_that_means_another_place_for_a_rank_is_told_with_both() {
        let place = |paths: &[&str]| json!({ "paths": paths });
        let told_by =
            |places: &[Value], asked| unlike_paths(places, |rank| format!("rank {rank}"), asked);
        let told = |places: &[Value]| told_by(places, with_option());
        assert_eq!(told(&[place(&["/a/x"]), place(&["/a/x"])]), None);
        assert_eq!(
            told(&[json!({}), place(&["/a/x"])]),
            None,
            "it said nothing"
        );
        let places = [
            place(&["/d", "/a/x"]),
            place(&["/d", "/a/x"]),
            place(&["/d", "/b/x"]),
        ];
        let text = told(&places).unwrap();
        assert!(
            text.starts_with("a target is /a/x on rank 0 and /b/x on rank 2"),
            "{text}"
        );
        assert!(text.ends_with("say --target-is local"), "{text}");
        // A verb that has no such option.
        let text = told_by(&places, ReachAsked::default()).unwrap();
        assert!(!text.contains("--target-is"), "{text}");
        assert!(text.contains("where each host may have its own"), "{text}");
    }
}
