//! What the word for a side means: settings, a workload in TOML, or a target.

use super::sides::Side;
use crate::exit::Usage;
use anyhow::Result;
use conduct::profile::{OwnFile, remove_stale};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use workload::{EngineTarget, FileSharing, Workload};

/// No workload in TOML is longer; a file that is holds data.
const LONGEST_TOML: u64 = 1 << 20;

/// The key that names the target of a side.
pub(super) const TARGET: &str = "target";

/// What a word stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// KEY=VALUE,KEY=VALUE.
    Settings,
    /// The text of a workload in TOML.
    Toml(String),
    /// A directory, device or URL, which can be nothing but a target.
    Target,
}

/// Looks at what a word names.
///
/// # Errors
/// It names something that is no side of a comparison.
pub(super) fn meaning(word: &str) -> Result<Meaning> {
    if word.starts_with("nbd") && word.contains("://") {
        return Ok(Meaning::Target);
    }
    let Ok(facts) = fs::metadata(word) else {
        return Ok(Meaning::Settings);
    };
    if facts.is_dir() || facts.file_type().is_block_device() {
        return Ok(Meaning::Target);
    }
    if !facts.is_file() {
        return Err(Usage(format!(
            "{word} is neither a file nor a directory nor a block device; a side is a target such as target=/mnt/a, a workload in TOML, or KEY=VALUE"
        ))
        .into());
    }
    toml(word).map(Meaning::Toml)
}

/// The text of a file that can be a workload. A file of data is not read to its end.
fn toml(file: &str) -> Result<String> {
    let no = |why: &str| {
        Usage(format!(
            "{file} is no workload in TOML: {why}; to measure the file itself, write target={file}"
        ))
    };
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|open| open.take(LONGEST_TOML + 1).read_to_end(&mut bytes))
        .map_err(|error| Usage(format!("cannot read {file}: {error}")))?;
    if bytes.len() as u64 > LONGEST_TOML {
        return Err(no(&format!("it is longer than {}", units::Bytes(LONGEST_TOML))).into());
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(no("it is not text").into()),
    }
}

/// What is said beside an error in a workload in TOML, where the name does not say that it is one.
pub(super) fn as_toml(file: &str) -> String {
    let is_named_so = Path::new(file)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    if is_named_so {
        return file.to_owned();
    }
    format!(
        "{file} is read as a workload in TOML (to measure the file itself, write target={file}; to compare records, leave --run out)"
    )
}

/// The files that an experiment makes in directories that are its targets; dropped, they are
/// removed.
#[derive(Default)]
pub(super) struct OwnFiles(Vec<(PathBuf, OwnFile)>);

impl OwnFiles {
    /// Gives every side whose target is a directory, and whose workload is of one file, a file of
    /// its own there. Returns what was said about files that others left.
    ///
    /// # Errors
    /// A file cannot be made.
    pub(super) fn give(&mut self, sides: &mut [Side]) -> Result<Vec<String>> {
        let mut said = Vec::new();
        for workload in sides
            .iter_mut()
            .flat_map(|side| &mut side.phases)
            .map(|phase| &mut phase.workload)
        {
            if !needs_own(workload) {
                continue;
            }
            if let Some(target) = workload.targets.first_mut() {
                *target = self.within(target, &mut said)?;
            }
        }
        Ok(said)
    }

    /// The one file in a directory, whatever path leads there.
    fn within(&mut self, dir: &Path, said: &mut Vec<String>) -> Result<PathBuf> {
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        if let Some((_, own)) = self.0.iter().find(|(known, _)| *known == canonical) {
            return Ok(own.path().to_owned());
        }
        let process = std::process::id();
        said.extend(remove_stale(dir, process));
        let own = OwnFile::make(dir, process).map_err(crate::profile::told)?;
        let path = own.path().to_owned();
        self.0.push((canonical, own));
        Ok(path)
    }
}

/// Whether the target is a directory and one file is meant.
pub(super) fn needs_own(workload: &Workload) -> bool {
    let files = &workload.files;
    let counts = files.num_files.is_some()
        || files.num_dirs.is_some()
        || files.dir_depth.is_some()
        || files.dir_width.is_some();
    let is_tree = counts
        || files.total_files.is_some()
        || files.layout_manifest.is_some()
        || !files.meta.is_empty();
    let uses_target = workload.engine.target() != EngineTarget::Nothing;
    let [target] = workload.targets.as_slice() else {
        return false;
    };
    uses_target && !is_tree && files.sharing != FileSharing::PerWorker && target.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Phase;

    #[test]
    fn words_are_what_they_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("w.toml"), "engine = \"sim\"\n").unwrap();
        fs::write(path("data"), [0xff, 0xfe, 0]).unwrap();
        File::create(path("large"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let of = |word: &str| meaning(word).map_err(|error| error.to_string());
        assert_eq!(of(dir.path().to_str().unwrap()), Ok(Meaning::Target));
        assert_eq!(of("nbd+unix:///?socket=/x"), Ok(Meaning::Target));
        assert_eq!(of("engine=sim"), Ok(Meaning::Settings));
        assert_eq!(
            of(&path("w.toml")),
            Ok(Meaning::Toml("engine = \"sim\"\n".into()))
        );
        assert!(
            of(&path("data"))
                .unwrap_err()
                .contains(&format!("write target={}", path("data")))
        );
        assert!(
            of(&path("large"))
                .unwrap_err()
                .contains("is longer than 1 MiB; to measure")
        );
        assert!(
            of("/dev/null")
                .unwrap_err()
                .contains("neither a file nor a directory")
        );
    }

    #[test]
    fn directories_get_one_file_each_which_is_gone_with_the_experiment() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        [&a, &b].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let side = |target: PathBuf| Side {
            name: String::new(),
            phases: vec![Phase {
                name: "run".into(),
                workload: Workload {
                    targets: vec![target],
                    ..Workload::default()
                },
            }],
        };
        let mut sides = [side(a.clone()), side(b.clone()), side(a.join("."))];
        sides[1].phases[0].workload.files.num_files = Some(3);
        let mut own = OwnFiles::default();
        assert_eq!(own.give(&mut sides).unwrap(), [""; 0]);
        let target = |side: &Side| side.phases[0].workload.targets[0].clone();
        assert_eq!(target(&sides[0]).parent(), Some(a.as_path()));
        assert_eq!(
            (target(&sides[0]), target(&sides[1])),
            (target(&sides[2]), b.clone())
        );
        assert_eq!(fs::read_dir(&a).unwrap().count(), 1);
        drop(own);
        assert_eq!(fs::read_dir(&a).unwrap().count(), 0);
    }
}
