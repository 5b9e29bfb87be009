//! Whether a result can be written where it was asked for, told before the run.

use crate::error::RunError;
use engine::sys;
use std::path::Path;

/// Fails before the run if a file could not be written after it.
///
/// # Errors
/// It is a directory, lies in none, or may not be written.
pub fn check_output(path: &Path) -> Result<(), RunError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let refused = |reason: String| Err(RunError::Unsuitable(format!("cannot write {}: {reason}", path.display())));
    if path.is_dir() {
        return refused("it is a directory; name a file in it".into());
    }
    if !directory.is_dir() {
        return refused(format!("its directory does not exist; run `mkdir -p {}`", directory.display()));
    }
    match sys::may_write(if path.exists() { path } else { directory }) {
        Ok(()) => Ok(()),
        Err(error) => refused(format!("{error}; choose another place")),
    }
}
