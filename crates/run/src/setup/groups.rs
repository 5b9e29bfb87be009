//! The files of a run with what is counted and known of each, by who uses them.

use super::{Group, GroupFile};
use crate::access::Space;
use crate::content::VerifiedFile;
use crate::heat::{Bitmap, Heat};
use crate::prepare::{FileContent, Prepared, ReadyFile, verify_pattern};
use crate::verify::{Rewrites, Verifier};
use workload::{EngineTarget, Workload};

pub(super) fn groups(workload: &Workload, prepared: &Prepared) -> Vec<Group> {
    let unit = workload.blocks.smallest().0;
    let group = |files: Vec<&ReadyFile>, bytes: &[u64]| {
        let space = Space::new(bytes, workload.files.offset.0, unit);
        let files = files
            .into_iter()
            .map(|ready| group_file(workload, ready, prepared.fresh_run))
            .collect();
        Group {
            heat: workload
                .heat
                .on
                .then(|| Heat::new(space.blocks(), unit, workload.heat.buckets)),
            // Of each block whether it was written, and whether a write of it failed.
            written: workload
                .reads_back()
                .then(|| Bitmap::new(2 * space.blocks())),
            rewrites: prepared
                .numbers_rewrites(workload)
                .then(|| Rewrites::new(space.blocks())),
            is_written_elsewhere: prepared.is_written_elsewhere(workload),
            files,
            space,
        }
    };
    if prepared.files.is_empty() {
        let bytes = workload.files.size.map_or(0, |size| size.0);
        let mut only = group(Vec::new(), &[bytes]);
        if workload.engine.target() == EngineTarget::Server {
            let url = workload.targets.first().cloned().unwrap_or_default();
            only.files.push(GroupFile {
                verified: verified_file(workload, 0, &FileContent::default(), prepared.fresh_run),
                path: url,
                bytes,
                referent: None,
            });
        }
        return vec![only];
    }
    let of = |owner: Option<u32>| -> Vec<&ReadyFile> {
        let files = prepared.files.iter();
        files.filter(|file| file.owner == owner).collect()
    };
    let owners: Vec<Option<u32>> = if owned(prepared) {
        (0..workload.threads).map(Some).collect()
    } else {
        vec![None]
    };
    owners
        .into_iter()
        .map(|owner| {
            let files = of(owner);
            let bytes: Vec<u64> = files.iter().map(|file| file.bytes).collect();
            group(files, &bytes)
        })
        .collect()
}

/// Whether every worker has files of its own.
pub(super) fn owned(prepared: &Prepared) -> bool {
    let first = prepared.files.first();
    first.is_some_and(|file| file.owner.is_some())
}

fn group_file(workload: &Workload, ready: &ReadyFile, fresh_run: u64) -> GroupFile {
    GroupFile {
        path: ready.path.clone(),
        bytes: ready.bytes,
        referent: Some(ready.referent),
        verified: verified_file(workload, ready.id, &ready.content, fresh_run),
    }
}

fn verified_file(
    workload: &Workload,
    id: u32,
    content: &FileContent,
    fresh_run: u64,
) -> Option<VerifiedFile> {
    workload.verify.on.then(|| {
        let lineage = content.lineage_for(fresh_run);
        VerifiedFile {
            verifier: Verifier::new(
                verify_pattern(workload.verify.pattern),
                workload.seed,
                lineage.writing_run,
            ),
            id,
            lineage,
        }
    })
}
