//! Whether a path still leads to what was approved.

use super::Refusal;
use super::block_device::{DeviceNumber, FileId};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

/// The very file or device behind a path, because a name can change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referent {
    /// Inode numbers are reused, times of birth are not; `None` where the file system keeps none.
    File {
        id: FileId,
        born: Option<SystemTime>,
    },
    Device(DeviceNumber),
}

impl Referent {
    /// What this metadata was taken of.
    pub fn of(metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        if kind.is_block_device() || kind.is_char_device() {
            Referent::Device(DeviceNumber::from_dev(metadata.rdev()))
        } else {
            Referent::File {
                id: FileId::of(metadata),
                born: metadata.created().ok(),
            }
        }
    }

    /// Compares an open file with the one that was approved under the same path.
    ///
    /// # Errors
    /// Another file or device has taken the place.
    pub fn recheck(self, file: &File, path: &Path) -> Result<(), Refusal> {
        let metadata = file.metadata().map_err(|source| Refusal::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        if Self::of(&metadata) == self {
            return Ok(());
        }
        let what = match self {
            Referent::File { .. } => "another file took its place",
            Referent::Device(_) => "another device took its place",
        };
        Err(Refusal::Changed {
            path: path.to_owned(),
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn written(place: &TempDir, name: &str) -> PathBuf {
        let path = place.path().join(name);
        fs::write(&path, "x").unwrap();
        path
    }

    #[test]
    fn a_referent_is_the_file_itself_whatever_its_name_and_length() {
        let place = tempfile::tempdir().unwrap();
        let path = written(&place, "f");
        let referent = Referent::of(&fs::metadata(&path).unwrap());
        let recheck = |path: &Path| referent.recheck(&File::open(path).unwrap(), path);
        fs::write(&path, b"longer").unwrap();
        recheck(&path).unwrap();
        fs::hard_link(&path, place.path().join("same")).unwrap();
        recheck(&place.path().join("same")).unwrap();
        fs::rename(written(&place, "g"), &path).unwrap();
        let refused = recheck(&path).unwrap_err();
        assert!(
            matches!(
                refused,
                Refusal::Changed {
                    what: "another file took its place",
                    ..
                }
            ),
            "{refused}"
        );
        recheck(&place.path().join("same")).unwrap();
    }

    #[test]
    fn a_referent_with_another_birth_is_another_file_that_got_its_number() {
        let place = tempfile::tempdir().unwrap();
        let metadata = fs::metadata(written(&place, "f")).unwrap();
        let Referent::File {
            id,
            born: Some(born),
        } = Referent::of(&metadata)
        else {
            return;
        };
        let earlier = Referent::File {
            id,
            born: born.checked_sub(std::time::Duration::from_secs(1)),
        };
        assert!(
            earlier
                .recheck(
                    &File::open(place.path().join("f")).unwrap(),
                    &place.path().join("f")
                )
                .is_err()
        );
    }

    #[test]
    fn a_device_is_known_by_its_number() {
        let null = Path::new("/dev/null");
        let referent = Referent::of(&fs::metadata(null).unwrap());
        referent.recheck(&File::open(null).unwrap(), null).unwrap();
        let refused = referent
            .recheck(&File::open("/dev/zero").unwrap(), null)
            .unwrap_err();
        assert!(
            matches!(
                refused,
                Refusal::Changed {
                    what: "another device took its place",
                    ..
                }
            ),
            "{refused}"
        );
    }
}
