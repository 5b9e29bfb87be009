//! What was measured, as a record names it.

use crate::layout::worker_path;
use crate::prepare::{Prepared, ReadyFile};
use crate::resolve::{Resolved, target_names};
use record::TargetFact;
use std::path::Path;

pub(crate) fn targets(resolved: &Resolved, prepared: &Prepared) -> Vec<TargetFact> {
    let workload = &resolved.effective;
    let kind = resolved.kind.word().to_owned();
    if prepared.files.is_empty() {
        let path = target_names(&workload.targets);
        return vec![TargetFact {
            path,
            kind,
            files: 0,
            bytes: workload.files.size.map_or(0, |size| size.0),
            hole_bytes: None,
        }];
    }
    let placeholder = workload.files.worker_placeholder.is_some();
    let belongs = |file: &ReadyFile, target: &Path| match file.owner {
        Some(worker) if placeholder => {
            let number = workload.seats().number(worker);
            worker_path(target, Some(number), &workload.files) == file.path
        }
        Some(_) | None => file
            .path
            .as_os_str()
            .to_string_lossy()
            .starts_with(&*target.as_os_str().to_string_lossy()),
    };
    let of = |target: &Path| {
        let files: Vec<_> = prepared
            .files
            .iter()
            .filter(|file| belongs(file, target))
            .collect();
        TargetFact {
            path: target.display().to_string(),
            kind: kind.clone(),
            files: files.len() as u64,
            bytes: files.iter().map(|file| file.bytes).sum(),
            hole_bytes: files.iter().map(|file| file.hole_bytes).sum(),
        }
    };
    workload.targets.iter().map(|target| of(target)).collect()
}
