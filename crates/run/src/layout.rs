//! Which files a workload uses.

use crate::error::RunError;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workload::{Directories, EngineTarget, Files, SpecError, Workload};

/// One file or device of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    pub path: PathBuf,
    /// `None`: as long as it is.
    pub bytes: Option<u64>,
    /// The one worker that uses it; `None`: all.
    pub owner: Option<u32>,
    /// Its place among the files of all workers of all ranks: its name in verified content.
    pub id: u32,
}

/// The files of a run, and the directories to make first, parents before children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub dirs: Vec<PathBuf>,
    pub files: Vec<FileSpec>,
}

/// What the targets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Files,
    Tree,
}

/// Whether the workload speaks of a directory of files.
#[must_use]
pub(crate) fn shape(workload: &Workload) -> Shape {
    let files = &workload.files;
    let counts = files.num_files.is_some()
        || files.num_dirs.is_some()
        || files.dir_depth.is_some()
        || files.dir_width.is_some();
    if counts
        || files.total_files.is_some()
        || files.layout_manifest.is_some()
        || !files.meta.is_empty()
    {
        Shape::Tree
    } else {
        Shape::Files
    }
}

/// The files of a workload, in the order of their index.
///
/// # Errors
/// Counts that contradict each other, or a manifest that cannot be read.
pub(crate) fn layout(workload: &Workload) -> Result<Layout, RunError> {
    layout_up_to(workload, usize::MAX)
}

/// The same with the first so many files alone.
fn layout_up_to(workload: &Workload, most: usize) -> Result<Layout, RunError> {
    let owners: Vec<Option<u32>> = if workload.files.are_owned() {
        (0..workload.threads).map(Some).collect()
    } else {
        vec![None]
    };
    let bytes = workload.files.size.map(|size| size.0);
    let mut out = Layout::default();
    for (target, place) in workload.targets.iter().zip(0_u64..) {
        for &owner in &owners {
            let first = out.files.len();
            let number = owner.map(|worker| workload.seats().number(worker));
            match shape(workload) {
                Shape::Files => out.files.push(FileSpec {
                    path: worker_path(target, number, &workload.files),
                    bytes,
                    owner,
                    id: 0,
                }),
                Shape::Tree => {
                    let root =
                        number.map_or_else(|| target.clone(), |number| worker_root(target, number));
                    out.dirs.push(target.clone());
                    tree(&root, &own_files(workload, owner), owner, &mut out, most)?;
                }
            }
            let own = &mut out.files[first..];
            let before = match owner {
                Some(worker) => ids_before(workload, place, worker, own.len() as u64),
                None => first as u64,
            };
            for (file, id) in own.iter_mut().zip(before..) {
                file.id = u32::try_from(id).unwrap_or(u32::MAX);
            }
        }
    }
    out.dirs.dedup();
    Ok(out)
}

/// How many files of all ranks come before the own ones of a worker in the target with this place:
/// those of all workers in the targets before it, and of the workers before it in this one.
fn ids_before(workload: &Workload, place: u64, worker: u32, own: u64) -> u64 {
    let (files, seats) = (&workload.files, workload.seats());
    let (all, before) = match (files.dirs, files.total_files) {
        (Some(Directories::Own), Some(total)) => {
            let part = workload.seats_at_target().part(total, worker);
            (total, part.start)
        }
        _ => (
            u64::from(seats.all()) * own,
            u64::from(seats.number(worker)) * own,
        ),
    };
    place.saturating_mul(all).saturating_add(before)
}

/// The directory below a target that is the worker's with this number in the group.
pub(crate) fn worker_root(target: &Path, number: u32) -> PathBuf {
    target.join(format!("worker{number}"))
}

/// The options of one tree: where workers have directories of their own, the files over all
/// directories are those of all workers of this target together.
fn own_files(workload: &Workload, owner: Option<u32>) -> Files {
    let mut files = workload.files.clone();
    if let (Some(Directories::Own), Some(worker)) = (files.dirs, owner) {
        let part = |total| workload.seats_at_target().part(total, worker);
        files.total_files = files
            .total_files
            .map(part)
            .map(|part| part.end - part.start);
    }
    files
}

/// The name of the own file of the worker with this number in the group: `NAME.workerN`, or the name with the number in the place of its
/// placeholder.
pub(crate) fn worker_path(target: &Path, number: Option<u32>, files: &Files) -> PathBuf {
    let Some(worker) = number else {
        return target.to_path_buf();
    };
    if let (Some(placeholder), Some(path)) = (&files.worker_placeholder, target.to_str()) {
        return path.replace(placeholder, &worker.to_string()).into();
    }
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".worker{worker}"));
    name.into()
}

/// What a workload reads or writes, as far as it has names: its targets, and the files that lie in
/// them. No engine is asked for more.
#[must_use]
pub fn files_of(workload: &Workload) -> Vec<PathBuf> {
    first_files_of(workload, usize::MAX)
}

/// The targets, and so many of the files that lie in them, where all need not be listed.
#[must_use]
pub fn first_files_of(workload: &Workload, most: usize) -> Vec<PathBuf> {
    if workload.engine.target() != EngineTarget::Files {
        return Vec::new();
    }
    let below = layout_up_to(workload, most)
        .map(|found| found.files)
        .unwrap_or_default();
    workload
        .targets
        .iter()
        .cloned()
        .chain(below.into_iter().take(most).map(|file| file.path))
        .collect()
}

fn tree(
    root: &Path,
    files: &Files,
    owner: Option<u32>,
    out: &mut Layout,
    most: usize,
) -> Result<(), RunError> {
    if let Some(manifest) = &files.layout_manifest {
        return from_manifest(root, manifest, files, owner, out);
    }
    let leaves = directories(root, files, out)?;
    let per_leaf = |index: usize| -> u64 {
        match files.total_files {
            Some(total) => {
                let leaves = leaves.len() as u64;
                total / leaves + u64::from((index as u64) < total % leaves)
            }
            None => u64::from(files.num_files.unwrap_or(1)),
        }
    };
    for (index, leaf) in leaves.iter().enumerate() {
        for number in 0..per_leaf(index) {
            if out.files.len() >= most {
                return Ok(());
            }
            out.files.push(FileSpec {
                path: leaf.join(format!("file.{number:06}")),
                bytes: files.size.map(|s| s.0),
                owner,
                id: 0,
            });
        }
    }
    Ok(())
}

/// Makes the list of directories and returns those that hold files: the deepest level of a tree.
fn directories(root: &Path, files: &Files, out: &mut Layout) -> Result<Vec<PathBuf>, RunError> {
    let conflict = |text: &str| Err(RunError::Spec(SpecError::Conflict(text.into())));
    if files.total_files.is_some() && files.num_files.is_some() {
        return conflict(
            "--total-files and --num-files (a directory) both count files; give one of them",
        );
    }
    if files.num_dirs.is_some() && (files.dir_depth.is_some() || files.dir_width.is_some()) {
        return conflict(
            "--num-dirs lays directories side by side, --dir-depth and --dir-width make a tree; give one kind",
        );
    }
    out.dirs.push(root.to_path_buf());
    let (depth, width) = match (files.num_dirs, files.dir_depth, files.dir_width) {
        (Some(count), _, _) => (1, count),
        (None, None, None) => return Ok(vec![root.to_path_buf()]),
        (None, depth, width) => (depth.unwrap_or(1), width.unwrap_or(1)),
    };
    let mut level = vec![root.to_path_buf()];
    for _ in 0..depth {
        let next: Vec<PathBuf> = level
            .iter()
            .flat_map(|dir| (0..width).map(move |n| dir.join(format!("dir.{n:04}"))))
            .collect();
        if out.dirs.len() + next.len() > 1 << 20 {
            return conflict(
                "the tree has more than 1,048,576 directories; lower --dir-depth or --dir-width",
            );
        }
        out.dirs.extend(next.iter().cloned());
        level = next;
    }
    Ok(level)
}

/// A line for each file of a target that may have millions.
const MOST_OF_A_MANIFEST: u64 = 512 << 20;

fn from_manifest(
    root: &Path,
    manifest: &Path,
    files: &Files,
    owner: Option<u32>,
    out: &mut Layout,
) -> Result<(), RunError> {
    let text = sys::text_at_most(manifest, MOST_OF_A_MANIFEST)
        .map_err(RunError::io("cannot read the layout manifest", manifest))?;
    for (name, size) in parse_manifest(&text, manifest)? {
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            out.dirs.push(parent.to_path_buf());
        }
        out.files.push(FileSpec {
            path,
            bytes: size.or(files.size.map(|s| s.0)),
            owner,
            id: 0,
        });
    }
    out.dirs.sort();
    out.dirs.dedup();
    Ok(())
}

/// Reads `PATH` or `PATH<TAB>BYTES` lines; `#` begins a comment. Paths are relative to the target
/// and stay below it.
fn parse_manifest(text: &str, file: &Path) -> Result<Vec<(PathBuf, Option<u64>)>, RunError> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let bad = |reason: &str| SpecError::Syntax {
            file: file.display().to_string(),
            line: index + 1,
            reason: reason.into(),
        };
        let (name, size) = line
            .split_once('\t')
            .map_or((line, None), |(name, size)| (name, Some(size)));
        let size = size
            .map(|s| {
                s.trim()
                    .parse()
                    .ok()
                    .ok_or_else(|| bad("the size after the tab is not a number of bytes"))
            })
            .transpose()?;
        let path = PathBuf::from(name);
        if path.is_absolute()
            || path
                .components()
                .any(|c| !matches!(c, std::path::Component::Normal(_)))
        {
            return Err(bad("the path must be relative, without `..`").into());
        }
        if name.is_empty() || name.ends_with('/') {
            return Err(bad("the path must name a file").into());
        }
        if !seen.insert(path.clone()) {
            return Err(bad("the path is listed twice").into());
        }
        out.push((path, size));
    }
    if out.is_empty() {
        return Err(SpecError::Syntax {
            file: file.display().to_string(),
            line: 1,
            reason: "no file is listed".into(),
        }
        .into());
    }
    Ok(out)
}

/// The first line of a manifest.
pub(crate) const MANIFEST_HEAD: &str = "# path<TAB>bytes, relative to the target";

/// The manifest of a layout: paths relative to `root`, and bytes.
#[must_use]
pub(crate) fn manifest(root: &Path, files: &[(PathBuf, u64)]) -> String {
    let mut out = format!("{MANIFEST_HEAD}\n");
    for (path, bytes) in files {
        let name = path.strip_prefix(root).unwrap_or(path);
        let _infallible = writeln!(out, "{}\t{bytes}", name.display());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn workload(settings: &[(&str, &str)]) -> Workload {
        let mut out = Workload {
            targets: vec!["/d".into()],
            ..Workload::default()
        };
        for (key, value) in settings {
            workload::settings::apply(&mut out, key, value).unwrap();
        }
        out
    }

    #[test]
    fn a_tree_has_exactly_the_asked_files_spread_evenly() {
        let layout = layout(&workload(&[
            ("dir-depth", "2"),
            ("dir-width", "3"),
            ("total-files", "20"),
        ]))
        .unwrap();
        assert_eq!(layout.files.len(), 20);
        assert_eq!(
            layout
                .files
                .iter()
                .map(|f| &f.path)
                .collect::<BTreeSet<_>>()
                .len(),
            20
        );
        assert_eq!(layout.dirs.len(), 1 + 3 + 9);
        assert!(
            layout
                .files
                .iter()
                .all(|f| f.path.components().count() == 5),
            "files lie on the deepest level"
        );
    }

    #[test]
    fn the_first_files_are_those_of_the_whole_list() {
        let asked = workload(&[("num-dirs", "3"), ("total-files", "20")]);
        let (all, first) = (files_of(&asked), first_files_of(&asked, 9));
        assert_eq!(first.len(), 1 + 9, "the target itself is one more");
        assert_eq!(first, all[..10]);
        // All of these names have no room in memory.
        let huge = workload(&[("num-dirs", "2"), ("total-files", "4294967296")]);
        assert_eq!(first_files_of(&huge, 9).len(), 1 + 9);
    }

    #[test]
    fn side_by_side_directories_hold_num_files_each() {
        let layout = layout(&workload(&[("num-dirs", "4"), ("num-files", "5")])).unwrap();
        assert_eq!((layout.files.len(), layout.dirs.len()), (20, 5));
    }

    #[test]
    fn per_worker_files_are_named_after_their_worker() {
        let layout = layout(&workload(&[
            ("file-distribution", "per-worker"),
            ("threads", "2"),
        ]))
        .unwrap();
        assert_eq!(
            layout.files[1],
            FileSpec {
                path: "/d.worker1".into(),
                bytes: None,
                owner: Some(1),
                id: 1,
            }
        );
    }

    #[test]
    fn a_workers_number_takes_the_place_of_the_placeholder() {
        let mut asked = workload(&[
            ("file-distribution", "per-worker"),
            ("threads", "2"),
            ("worker-placeholder", "{}"),
        ]);
        asked.targets = vec!["/d/job.{}.0".into(), "/d/job.{}.1".into()];
        let paths: Vec<PathBuf> = layout(&asked)
            .unwrap()
            .files
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(
            paths,
            ["/d/job.0.0", "/d/job.1.0", "/d/job.0.1", "/d/job.1.1"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_manifest_round_trips() {
        let files = vec![
            (PathBuf::from("/d/a/b c"), 5),
            (PathBuf::from("/d/x"), 4096),
        ];
        let text = manifest(Path::new("/d"), &files);
        let read = parse_manifest(&text, Path::new("m")).unwrap();
        assert_eq!(
            read,
            [
                (PathBuf::from("a/b c"), Some(5)),
                (PathBuf::from("x"), Some(4096))
            ]
        );
    }

    #[test]
    fn a_manifest_cannot_leave_its_target() {
        for line in ["/etc/passwd", "../x", "a/../../b"] {
            let error = parse_manifest(line, Path::new("m"))
                .unwrap_err()
                .to_string();
            assert_eq!(error, "m:1: the path must be relative, without `..`");
        }
    }

    #[test]
    fn a_manifest_names_each_file_once() {
        for (text, expected) in [
            ("a\n\t12\n", "m:2: the path must name a file"),
            ("a/\n", "m:1: the path must name a file"),
            ("a/b\n# again\na//b\t5\n", "m:3: the path is listed twice"),
        ] {
            assert_eq!(
                parse_manifest(text, Path::new("m"))
                    .unwrap_err()
                    .to_string(),
                expected
            );
        }
    }

    #[test]
    fn sizes_come_from_the_command() {
        let layout = layout(&workload(&[("file-size", "1M"), ("num-files", "2")])).unwrap();
        assert_eq!(layout.files[0].bytes, Some(Bytes::MIB.0));
    }
}
