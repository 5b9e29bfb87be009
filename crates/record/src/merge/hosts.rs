//! The hosts of a merged record.

use crate::{HostAccount, HostRole, Record, WorkerAccount};
use std::collections::BTreeMap;

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
