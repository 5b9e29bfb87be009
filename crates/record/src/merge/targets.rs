//! Which ranks used one and the same target, and what of it each had for itself.

use super::accounts::{Sharing, sum};
use crate::{Coverage, HostAccount, Record, Residency, TargetFact, TargetReach, WalkLevels};
use std::collections::{BTreeMap, BTreeSet};

/// One rank's account with what stays with it.
type Own<'r> = (&'r HostAccount, &'r Record);

/// The ranks of a record by the target that they used.
pub(super) struct TargetUsers<'r> {
    sets: Vec<Vec<Own<'r>>>,
    /// What of a target is a rank's own, of those that use it.
    sharing: Sharing,
}

impl<'r> TargetUsers<'r> {
    /// As its ranks say; where they do not, as the group, its machines and options let it be known.
    pub(super) fn of(record: &'r Record) -> Self {
        let hosts = record.generators();
        let all = hosts.filter_map(|host| Some((host, host.part.as_deref()?)));
        let all: Vec<Own<'r>> = all.collect();
        let group = record.group.as_ref();
        // Who measured nothing says nothing of options.
        let begun = all.iter().filter(|(_, part)| part.has_begun());
        let sharing: BTreeSet<Sharing> = begun.map(|(_, part)| part.files_are()).collect();
        let only = sharing.first().copied().filter(|_| sharing.len() == 1);
        let sharing = only.filter(|_| group.is_some()).unwrap_or(Sharing::Unknown);
        if group.is_none_or(|group| group.target_is != Some(TargetReach::Local)) {
            return Self {
                sets: vec![all],
                sharing,
            };
        }
        match each_its_set(&all).or_else(|| each_its_own(&all)) {
            Some(sets) => Self { sets, sharing },
            // Files of each rank are added, whoever has them beside it.
            None => Self {
                sharing: match sharing {
                    Sharing::OwnFiles => sharing,
                    Sharing::OwnBlocks | Sharing::SameFiles | Sharing::Unknown => Sharing::Unknown,
                },
                sets: vec![all],
            },
        }
    }

    /// Targets in one order: what ranks share once, and of what each has for itself the sum.
    pub(super) fn facts(&self) -> Vec<TargetFact> {
        let of_set = |set: &Vec<Own<'r>>| {
            let facts = set.iter().flat_map(|(_, part)| &part.targets).cloned();
            TargetFact::of_one(facts.collect(), self.sharing)
        };
        let mut sets = self.sets.iter().map(of_set);
        match self.sets.len() {
            1 => sets.next().unwrap_or_default(),
            _ => TargetFact::of_several(sets.flatten().collect()),
        }
    }

    /// The use of blocks of all together; unknown where ranks may have used the same ones, or one of
    /// them does not say which it used.
    pub(super) fn coverage(&self) -> Option<Coverage> {
        let of_set = |set: &Vec<Own<'r>>| {
            let begun = set.iter().filter(|(_, part)| part.has_begun());
            let all: Option<Vec<&Coverage>> =
                begun.map(|(_, part)| part.coverage.as_ref()).collect();
            match all?.as_slice() {
                [] => Some(None),
                [only] => Some(Some((*only).clone())),
                several => Coverage::beside(several, self.sharing).map(Some),
            }
        };
        let sets: Option<Vec<Option<Coverage>>> = self.sets.iter().map(of_set).collect();
        let sets: Vec<Coverage> = sets?.into_iter().flatten().collect();
        Coverage::beside(&sets.iter().collect::<Vec<_>>(), Sharing::OwnFiles)
    }

    /// The levels of a walk that the ranks of one target dealt out.
    pub(super) fn levels(&self) -> Option<WalkLevels> {
        let of_set = |set: &Vec<Own<'r>>| {
            let walks = set.iter().filter_map(|(_, part)| part.walk);
            WalkLevels::of_one(walks.filter_map(|walk| walk.levels))
        };
        WalkLevels::of_several(self.sets.iter().filter_map(of_set))
    }

    /// What of the files lay in page caches: of files that ranks of one machine all use once, for
    /// they have one cache.
    pub(super) fn residency(&self) -> Option<Residency> {
        let mut caches: Vec<Residency> = Vec::new();
        for set in &self.sets {
            let mut by_boot: BTreeMap<&str, Residency> = BTreeMap::new();
            for (host, part) in set {
                let Some(own) = part.residency.clone() else {
                    continue;
                };
                match host.boot().filter(|_| self.sharing.is_of_same_files()) {
                    Some(boot) => by_boot.entry(boot).or_insert(own.clone()).is_that(&own),
                    None => caches.push(own),
                }
            }
            caches.extend(by_boot.into_values());
        }
        caches.into_iter().reduce(|all, own| Residency {
            total_bytes: all.total_bytes.saturating_add(own.total_bytes),
            before_bytes: sum(all.before_bytes, own.before_bytes),
            after_bytes: sum(all.after_bytes, own.after_bytes),
        })
    }
}

/// By the targets that the ranks say they have; `None` where one of them does not.
fn each_its_set<'r>(all: &[Own<'r>]) -> Option<Vec<Vec<Own<'r>>>> {
    let mut sets: BTreeMap<u32, Vec<Own<'r>>> = BTreeMap::new();
    for own in all {
        sets.entry(own.0.target_set?).or_default().push(*own);
    }
    Some(sets.into_values().collect())
}

/// Each by itself; `None` where two are of one machine, which may have one target.
fn each_its_own<'r>(all: &[Own<'r>]) -> Option<Vec<Vec<Own<'r>>>> {
    let boots: Vec<&str> = all.iter().filter_map(|(host, _)| host.boot()).collect();
    let machines: BTreeSet<&&str> = boots.iter().collect();
    (machines.len() == boots.len()).then(|| all.iter().map(|own| vec![*own]).collect())
}

impl Record {
    /// How workers share the files of a target; those of all ranks are numbered through.
    fn files_are(&self) -> Sharing {
        let option = |key: &str| self.effective.get(key).map(String::as_str);
        match (option("file-distribution"), option("worker-regions")) {
            _ if option("dirs") == Some("own") => Sharing::OwnFiles,
            (Some("per-worker"), _) => Sharing::OwnFiles,
            // Regions may overlap.
            (Some("partitioned" | "interleaved"), None) => Sharing::OwnBlocks,
            (Some("shared" | "partitioned" | "interleaved"), _) => Sharing::SameFiles,
            (Some(_) | None, _) => Sharing::Unknown,
        }
    }
}

impl Residency {
    /// The same files in the same cache, which another process looked at.
    fn is_that(&mut self, other: &Self) {
        self.total_bytes = self.total_bytes.max(other.total_bytes);
        self.before_bytes = self.before_bytes.max(other.before_bytes);
        self.after_bytes = self.after_bytes.max(other.after_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupAccount, TargetFact};

    /// Three ranks that each tell of two files of 4 MiB in one directory.
    fn targets(change: impl Fn(&mut Record)) -> Vec<TargetFact> {
        let parts = (0..3).map(|rank| {
            let mut part = Record {
                id: rank.to_string(),
                elapsed_ns: 1,
                group: Some(GroupAccount::default()),
                targets: vec![TargetFact {
                    path: "/data".into(),
                    kind: "directory".into(),
                    files: 2,
                    bytes: 8 << 20,
                    hole_bytes: (rank > 0).then_some(4096),
                }],
                ..Record::default()
            };
            part.generator_mut().rank = Some(rank);
            change(&mut part);
            part
        });
        Record::merge_all(parts).unwrap().targets
    }

    fn with(key: &str, value: &str) -> Vec<TargetFact> {
        targets(|part| {
            part.effective.insert(key.into(), value.into());
        })
    }

    #[test]
    fn files_of_ranks_that_have_their_own_are_added() {
        let all = with("file-distribution", "per-worker");
        assert_eq!((all.len(), all[0].files, all[0].bytes), (1, 6, 24 << 20));
        assert_eq!(all[0].hole_bytes, None, "one of them did not look");
        assert_eq!(with("dirs", "own"), all);
        let local = targets(|part| {
            let group = part.group.as_mut().unwrap();
            group.target_is = Some(TargetReach::Local);
        });
        assert_eq!(local, all);
    }

    #[test]
    fn files_that_all_ranks_use_count_once() {
        for shared in ["shared", "partitioned", "interleaved"] {
            let all = with("file-distribution", shared);
            assert_eq!((all.len(), all[0].files, all[0].bytes), (1, 2, 8 << 20));
            assert_eq!(all[0].hole_bytes, Some(4096));
        }
        // What has no files, such as a server, is not each rank's because files would be.
        let server = targets(|part| {
            part.targets[0].files = 0;
            let option = ("file-distribution".to_owned(), "per-worker".to_owned());
            part.effective.extend([option]);
        });
        assert_eq!((server.len(), server[0].bytes), (1, 8 << 20));
        // Hosts that nobody numbered may have given their files one name.
        let alone = targets(|part| {
            part.group = None;
            let option = ("file-distribution".to_owned(), "per-worker".to_owned());
            part.effective.extend([option]);
        });
        assert_eq!((alone.len(), alone[0].files), (1, 2));
    }

    #[test]
    fn a_target_that_ranks_of_one_machine_use_counts_once_and_those_of_others_are_added() {
        let local = |sets: [Option<u32>; 3]| {
            targets(|part| {
                part.group.as_mut().unwrap().target_is = Some(TargetReach::Local);
                let option = ("file-distribution".to_owned(), "partitioned".to_owned());
                part.effective.extend([option]);
                let host = part.generator_mut();
                let rank = host.rank.unwrap() as usize;
                host.target_set = sets[rank];
                host.environment.system.boot_id = Some("one".into());
            })
        };
        let two = local([Some(0), Some(1), Some(0)]);
        assert_eq!((two.len(), two[0].files, two[0].bytes), (1, 4, 16 << 20));
        assert_eq!(two[0].hole_bytes, Some(8192));
        assert_eq!(local([Some(0); 3])[0].files, 2);
        assert_eq!(local([Some(0), Some(1), Some(2)])[0].files, 6);
        assert_eq!(local([None; 3])[0].files, 2, "nobody knows");
    }

    /// The cached of what three ranks used, of whom the first two are on one machine.
    fn resident(sharing: &str, change: impl Fn(usize, &mut Record)) -> (u64, Option<u64>) {
        let parts = (0..3_usize).map(|rank| {
            let mut part = Record {
                id: rank.to_string(),
                elapsed_ns: 1,
                group: Some(GroupAccount::default()),
                residency: Some(Residency {
                    total_bytes: 100,
                    before_bytes: Some(40 + rank as u64),
                    after_bytes: None,
                }),
                ..Record::default()
            };
            let option = ("file-distribution".to_owned(), sharing.to_owned());
            part.effective.extend([option]);
            let host = part.generator_mut();
            host.rank = u32::try_from(rank).ok();
            host.environment.system.boot_id = Some(["a", "a", "b"][rank].into());
            change(rank, &mut part);
            part
        });
        let all = Record::merge_all(parts).unwrap().residency.unwrap();
        (all.total_bytes, all.before_bytes)
    }

    #[test]
    fn the_cache_of_a_machine_counts_once_for_ranks_that_use_the_same_files() {
        for sharing in ["shared", "partitioned"] {
            assert_eq!(resident(sharing, |_, _| ()), (200, Some(41 + 42)));
        }
        let of_all = (300, Some(40 + 41 + 42));
        assert_eq!(resident("per-worker", |_, _| ()), of_all);
        let own_targets = |rank, part: &mut Record| {
            part.group.as_mut().unwrap().target_is = Some(TargetReach::Local);
            part.generator_mut().target_set = u32::try_from(rank).ok();
        };
        assert_eq!(resident("shared", own_targets), of_all);
        let silent = |_, part: &mut Record| {
            part.generator_mut().environment.system.boot_id = None;
        };
        assert_eq!(resident("shared", silent), of_all);
        let did_not_look = |rank, part: &mut Record| {
            part.residency = part.residency.take().filter(|_| rank == 1);
        };
        assert_eq!(resident("per-worker", did_not_look), (100, Some(41)));
    }
}
