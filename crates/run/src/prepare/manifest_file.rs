//! Where the list of a run's files goes.

use crate::layout::MANIFEST_HEAD;
use crate::resolve::Resolved;
use crate::safety::{OutputFile, OutputForm};
use std::path::{Path, PathBuf};

/// The file of a manifest, which may replace an earlier one and is never among the files that it
/// lists.
pub(super) fn manifest_file(place: &Path, resolved: &Resolved) -> OutputFile {
    let form = OutputForm {
        name: "a layout manifest that Fathom wrote",
        is_form_of: |reader| Ok(reader.fill_buf()?.starts_with(MANIFEST_HEAD.as_bytes())),
    };
    let files: Vec<PathBuf> = resolved
        .layout
        .files
        .iter()
        .map(|file| file.path.clone())
        .collect();
    OutputFile::new(place, form).apart_from(&files)
}
