//! Layout manifests, through the layout of a workload that names one: whatever they say, the files lie below the target, each once.

use host::Machine;
use run::resolve;
use std::collections::BTreeSet;
use std::path::{Component, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;
use workload::Workload;

static PLACE: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary directory"));

pub fn run(bytes: &[u8]) {
    let manifest = PLACE.path().join("manifest");
    std::fs::write(&manifest, bytes).expect("a temporary file");
    let target = PathBuf::from("/nowhere");
    let mut workload = Workload {
        targets: vec![target.clone()],
        ..Workload::default()
    };
    workload.files.layout_manifest = Some(manifest);
    match resolve(&workload, &Machine::at(PLACE.path())) {
        Ok(resolved) => {
            let files = resolved.layout.files;
            assert!(!files.is_empty());
            for file in &files {
                assert!(
                    file.path.starts_with(&target) && file.path != target,
                    "{:?}",
                    file.path
                );
                assert!(
                    !file
                        .path
                        .components()
                        .any(|part| part == Component::ParentDir),
                    "{:?}",
                    file.path
                );
                assert!(
                    resolved
                        .layout
                        .dirs
                        .iter()
                        .any(|dir| Some(dir.as_path()) == file.path.parent())
                );
            }
            assert_eq!(
                files
                    .iter()
                    .map(|file| &file.path)
                    .collect::<BTreeSet<_>>()
                    .len(),
                files.len(),
                "a file is listed once"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
