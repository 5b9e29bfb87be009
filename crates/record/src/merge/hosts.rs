//! The hosts of a merged record, and whose targets they used.

use super::accounts::Sharing;
use crate::{HostAccount, HostRole, Record, TargetReach, WorkerAccount};
use std::collections::{BTreeMap, BTreeSet};

/// The hosts of all records in one order, and their workers, numbered through.
pub(super) fn hosts_and_workers(records: &mut [Record]) -> (Vec<HostAccount>, Vec<WorkerAccount>) {
    let mut of_part: BTreeMap<String, Vec<WorkerAccount>> = BTreeMap::new();
    let mut hosts = Vec::new();
    for record in records {
        let ids: Vec<String> = record.parts().map(|part| part.id.clone()).collect();
        for worker in std::mem::take(&mut record.workers) {
            let id = ids.get(worker.host as usize).or(ids.first());
            let id = id.cloned().unwrap_or_default();
            of_part.entry(id).or_default().push(worker);
        }
        let mut own = std::mem::take(&mut record.hosts);
        own.iter_mut()
            .for_each(|host| host.restore(&record.effective));
        hosts.append(&mut own);
    }
    hosts.sort_by_cached_key(HostAccount::place);
    let mut workers = Vec::new();
    let parts = hosts.iter().filter_map(|host| host.part.as_deref());
    for (part, host) in parts.zip(0_u32..) {
        let own = of_part.remove(&part.id).unwrap_or_default();
        let own = own.into_iter();
        workers.extend(own.map(|worker| WorkerAccount { host, ..worker }));
    }
    let numbered = workers.iter_mut().zip(0_u32..);
    numbered.for_each(|(worker, index)| worker.index = index);
    (hosts, workers)
}

impl HostAccount {
    /// The same for the same hosts, in whatever order their records came.
    fn place(&self) -> (HostRole, Option<u32>, Option<String>, String) {
        let id = self.part.as_ref().map(|part| part.id.clone());
        // Of targets several may have one name; their text is all that tells them apart.
        let text = || serde_json::to_string(self).unwrap_or_default();
        let name = self.environment.system.hostname.clone();
        (
            self.role,
            self.rank,
            name.or_else(|| self.name.clone()),
            id.unwrap_or_else(text),
        )
    }

    /// Everything that was effective on it, of which `common` is what was so on all hosts.
    fn restore(&mut self, common: &BTreeMap<String, String>) {
        if let Some(part) = self.part.as_mut().filter(|part| part.has_begun()) {
            let of_part = std::mem::replace(&mut part.effective, common.clone());
            part.effective.extend(of_part);
        }
    }
}

impl Record {
    /// How its ranks share the targets, as their options and the group say.
    pub(super) fn targets_are(&self) -> Sharing {
        let group = self.group.as_ref();
        let is_local = group.is_some_and(|group| group.target_is == Some(TargetReach::Local));
        if is_local {
            // Ranks of one machine may have one target.
            let hosts = self.generators().filter(|host| host.rank.is_some());
            let boots = hosts.filter_map(|host| host.environment.system.boot_id.as_ref());
            let boots: Vec<&String> = boots.collect();
            let machines: BTreeSet<&&String> = boots.iter().collect();
            if machines.len() == boots.len() {
                return Sharing::EachItsOwn;
            }
        }
        // Who measured nothing says nothing of options.
        let begun = self.parts().filter(|part| part.has_begun());
        let all: Vec<Sharing> = begun.map(Self::files_are).collect();
        let first = all.first().copied().filter(|_| group.is_some());
        first
            .filter(|first| all.iter().all(|other| other == first))
            .filter(|first| !is_local || *first == Sharing::OwnFiles)
            .unwrap_or(Sharing::Unknown)
    }

    /// How workers share the files of a target; those of all ranks are numbered through.
    fn files_are(&self) -> Sharing {
        let option = |key: &str| self.effective.get(key).map(String::as_str);
        match (option("file-distribution"), option("worker-regions")) {
            _ if option("dirs") == Some("own") => Sharing::OwnFiles,
            (Some("per-worker"), _) => Sharing::OwnFiles,
            // Regions may overlap.
            (Some("partitioned" | "interleaved"), None) => Sharing::OwnBlocks,
            (Some(_) | None, _) => Sharing::Unknown,
        }
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
}
