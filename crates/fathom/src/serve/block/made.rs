//! What is made for a device before anybody is served.

use block::OwnName;
use std::fs::File;
use std::io;
use std::path::Path;

/// Files that were made for a device, of which none is left where nobody came to be served: whoever
/// mends what was wrong can say the same words again.
#[derive(Default)]
pub(super) struct MadeFiles(Vec<OwnName>);

impl MadeFiles {
    /// This file was made.
    pub(super) fn note(&mut self, path: &Path, file: &File) -> io::Result<()> {
        self.0.push(OwnName::new(path, &file.metadata()?));
        Ok(())
    }

    /// Somebody may have been served: they stay.
    pub(super) fn keep(&mut self) {
        self.0.drain(..).for_each(OwnName::keep);
    }
}
