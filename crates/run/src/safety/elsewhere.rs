//! What a rank asks of files that another rank approved and marked.

use super::owner::{XATTR, decode_mark, read_sidecar, resolve, sidecar_path};
use super::{Access, Facts, MarkError, Probe, Refusal, WriteRequest, lock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Refuses a target that somebody here uses, whatever it holds and whoever may write to it.
pub(crate) fn check_unused(path: &Path, root: &Path, probe: &dyn Probe) -> Result<(), Refusal> {
    check_not_in_use(path, root, probe)?;
    check_unwritten(path)
}

/// Refuses a regular file that another process of this host writes to.
pub(crate) fn check_unwritten(path: &Path) -> Result<(), Refusal> {
    let file = sys::open_without_waiting(File::options().read(true), 0, path).ok();
    let file = file.filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()));
    let by = file.and_then(|file| lock::other_writer(&file));
    by.map_or(Ok(()), |by| {
        Err(Refusal::Written {
            path: path.to_owned(),
            by,
        })
    })
}

/// Refuses a target that is mounted or swapped to here; other ranks may be writing to it.
pub(crate) fn check_not_in_use(path: &Path, root: &Path, probe: &dyn Probe) -> Result<(), Refusal> {
    if fs::metadata(path).is_err() {
        return Ok(());
    }
    let request = WriteRequest {
        path,
        access: Access::Read,
        allow_destroy: &[],
    };
    let facts = Facts::gather(&request, root, probe)?;
    if facts.is_in_use() {
        return Err(Refusal::InUse {
            path: path.to_owned(),
            uses: facts.uses,
        });
    }
    Ok(())
}

/// What the ranks that write to an open file know it by, as one of them marked it. Of a sidecar the
/// directory is enough: hosts number the devices and files of one file system each in its own way.
pub(crate) fn read_writers(
    file: &File,
    path: &Path,
    probe: &dyn Probe,
) -> Result<Option<String>, MarkError> {
    let mark = match probe.read_xattr(file, XATTR) {
        Ok(Some(value)) => Some(decode_mark(path, &value)?),
        Err(error) if error.kind() != io::ErrorKind::Unsupported => {
            return Err(MarkError::io(path)(error));
        }
        Ok(None) | Err(_) => {
            let path = &resolve(path)?;
            let sidecar = read_sidecar(&sidecar_path(path)?)?;
            let device = |facts: io::Result<fs::Metadata>| facts.map(|facts| facts.dev()).ok();
            let of_dir = path.parent().and_then(|dir| device(fs::metadata(dir)));
            // What is mounted on a name is not what lies in its directory.
            let sidecar = sidecar.filter(|_| of_dir == device(file.metadata()));
            sidecar.map(|sidecar| sidecar.mark)
        }
    };
    Ok(mark.and_then(|mark| mark.writers))
}
