//! What a target is.

use super::unsuitable;
use crate::error::RunError;
use crate::layout::{Shape, shape};
use crate::safety::{self, Refusal};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use workload::{EngineTarget, Workload};

/// What a target turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Files that exist or will.
    File,
    Directory,
    BlockDevice,
    Nbd,
    /// The engine touches no target.
    Nothing,
}

impl TargetKind {
    /// The word in records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::BlockDevice => "block device",
            Self::Nbd => "nbd",
            Self::Nothing => "none",
        }
    }
}

pub(super) fn target_kind(asked: &Workload) -> Result<TargetKind, RunError> {
    if asked.engine.target() == EngineTarget::Nothing {
        return Ok(TargetKind::Nothing);
    }
    if asked.targets.is_empty() {
        return unsuitable("no target; name a file, a directory, a block device or an nbd:// URL");
    }
    let kinds: Vec<TargetKind> = asked
        .targets
        .iter()
        .map(|target| kind_of(target, asked))
        .collect::<Result<_, _>>()?;
    if kinds.iter().any(|kind| *kind != kinds[0]) {
        return unsuitable("several targets must be of one kind: files, or block devices");
    }
    if kinds.len() > 1 && matches!(kinds[0], TargetKind::Nbd | TargetKind::Directory) {
        return unsuitable(format!(
            "only one {} can be used at a time",
            kinds[0].word()
        ));
    }
    Ok(kinds[0])
}

/// Whether a target is named by a URL and is on no file system.
#[must_use]
pub fn is_server(target: &Path) -> bool {
    let text = target.as_os_str().to_string_lossy();
    text.starts_with("nbd") && text.contains(':')
}

fn kind_of(target: &Path, asked: &Workload) -> Result<TargetKind, RunError> {
    if is_server(target) {
        return Ok(TargetKind::Nbd);
    }
    let tree = shape(asked) == Shape::Tree;
    match std::fs::metadata(target) {
        Ok(facts) if facts.is_dir() && tree => Ok(TargetKind::Directory),
        Ok(facts) if facts.is_dir() => unsuitable(format!(
            "{} is a directory, and a file is meant; name a file in it, e.g. {}, or say how many files it should hold with --num-files N",
            target.display(),
            target.join("fathom.dat").display()
        )),
        Ok(facts) if tree => {
            let what = if facts.file_type().is_block_device() {
                "a block device"
            } else {
                "a file"
            };
            unsuitable(format!(
                "{} is {what}, and --num-files, --num-dirs, --meta and their like need a directory",
                target.display()
            ))
        }
        Ok(facts) if facts.file_type().is_block_device() => Ok(TargetKind::BlockDevice),
        Ok(facts) => safety::check_kind(target, &facts)
            .map(|()| TargetKind::File)
            .map_err(RunError::from),
        Err(error) if sys::is_symlink_loop(&error) => Err(Refusal::SymlinkLoop {
            path: target.into(),
        }
        .into()),
        Err(_) if tree => Ok(TargetKind::Directory),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(TargetKind::File),
        Err(source) => Err(RunError::Io {
            what: "cannot look at",
            path: target.into(),
            source,
        }),
    }
}
