//! What is known before the first slot: whether every arm can work in every row, and whether their
//! files fit.

use crate::task::shown;
use crate::{Row, Task};
use host::Context;
use lab::LabError;
use record::{Difference, PlanFacts};
use run::{Resolved, TargetKind, dry_run};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use units::Bytes;
use workload::Phase;

/// What an arm will do in a row.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Options as they take effect, and why some are not as they were asked.
    pub effective: BTreeMap<String, String>,
    pub differences: Vec<Difference>,
}

/// Bytes of a block in the count of blocks of a file, whatever the file system uses.
const COUNTED_BLOCK: u64 = 512;

/// What every arm will do in every row, and whether their files fit.
pub(crate) fn ready(
    plan: &PlanFacts,
    rows: &[Row],
    context: &Context,
) -> Result<Vec<Vec<Ready>>, LabError> {
    let (mut out, mut files) = (Vec::new(), Vec::new());
    for row in rows {
        let mut of_row = Vec::new();
        for (arm, task) in plan.arms.iter().zip(&row.tasks) {
            let unable = |source| LabError::Slot {
                arm: arm.name.clone(),
                row: row.name.clone(),
                source,
            };
            of_row.push(match task {
                Task::Run(workload) => {
                    let phase = Phase {
                        name: row.name.clone(),
                        workload: (**workload).clone(),
                    };
                    let planned = dry_run(&phase, context).map_err(|e| unable(Box::new(e)))?;
                    let resolved = planned.resolved;
                    let ready = Ready {
                        effective: shown(&resolved.effective),
                        differences: resolved.differences.clone(),
                    };
                    files.push(resolved);
                    ready
                }
                Task::Load(task) => {
                    task.plan.check().map_err(|e| unable(Box::new(e)))?;
                    Ready {
                        effective: task.plan.effective(),
                        differences: Vec::new(),
                    }
                }
                Task::Command(_) => Ready {
                    effective: task.planned().options,
                    differences: Vec::new(),
                },
            });
        }
        out.push(of_row);
    }
    fits(files.iter())?;
    Ok(out)
}

/// Where files lie, what they still have to be given, and what is free there.
struct Place {
    dir: PathBuf,
    bytes: u64,
}

fn fits<'a>(all: impl Iterator<Item = &'a Resolved>) -> Result<(), LabError> {
    let mut files: BTreeMap<&Path, u64> = BTreeMap::new();
    for resolved in
        all.filter(|resolved| matches!(resolved.kind, TargetKind::File | TargetKind::Directory))
    {
        for file in &resolved.layout.files {
            let known = files.entry(&file.path).or_default();
            *known = (*known).max(missing(&file.path, file.bytes));
        }
    }
    let mut places: BTreeMap<u64, Place> = BTreeMap::new();
    for (path, bytes) in files {
        let Some((dir, device)) = path.ancestors().skip(1).find_map(device) else {
            continue;
        };
        places
            .entry(device)
            .or_insert(Place { dir, bytes: 0 })
            .bytes += bytes;
    }
    for Place { dir, bytes } in places.into_values() {
        let Ok(Some(free)) = sys::free_bytes(&dir) else {
            continue;
        };
        if bytes > free {
            return Err(LabError::Plan(format!(
                "the files of all sides still need {} in the file system of {}, of which {} are free; free space, or give a smaller file-size",
                Bytes(bytes),
                dir.display(),
                Bytes(free)
            )));
        }
    }
    Ok(())
}

/// Bytes that a file of this size still has to be given.
fn missing(path: &Path, wanted: Option<u64>) -> u64 {
    match fs::metadata(path) {
        Ok(facts) => wanted
            .unwrap_or(facts.len())
            .saturating_sub(facts.blocks().saturating_mul(COUNTED_BLOCK)),
        Err(_) => wanted.unwrap_or(run::DEFAULT_FILE_BYTES),
    }
}

/// The directory and the number of its file system, if it exists.
fn device(dir: &Path) -> Option<(PathBuf, u64)> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    fs::metadata(dir)
        .ok()
        .map(|facts| (dir.to_owned(), facts.dev()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Layout;
    use workload::Workload;

    fn files(paths: &[(&Path, u64)]) -> Resolved {
        let file = |(path, bytes): &(&Path, u64)| run::FileSpec {
            path: path.to_path_buf(),
            bytes: Some(*bytes),
            owner: None,
            id: 0,
        };
        Resolved {
            effective: Workload::default(),
            kind: TargetKind::File,
            layout: Layout {
                dirs: vec![],
                files: paths.iter().map(file).collect(),
            },
            differences: vec![],
            notices: vec![],
            storage: None,
            placement: vec![],
        }
    }

    #[test]
    fn files_of_all_arms_must_fit_together_and_one_that_several_use_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let free = sys::free_bytes(dir.path()).unwrap().unwrap();
        // More than half of what is free: one fits, two do not.
        let most = free / 3 * 2;
        assert!(fits([files(&[(&a, most)]), files(&[(&a, most)])].iter()).is_ok());
        let refused = fits([files(&[(&a, most)]), files(&[(&b, most)])].iter())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("the files of all sides still need")
                && refused.contains("smaller file-size"),
            "{refused}"
        );
    }

    #[test]
    fn what_a_file_has_it_need_not_be_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![1; 1 << 16]).unwrap();
        assert_eq!(missing(&path, Some(1 << 16)), 0);
        assert_eq!(missing(&dir.path().join("none"), Some(7)), 7);
        assert_eq!(
            missing(&dir.path().join("none"), None),
            run::DEFAULT_FILE_BYTES
        );
    }
}
