//! The file system on which a target lies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mounted file system.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct FileSystem {
    pub kind: String,
    pub source: String,
    pub mount_point: String,
    /// The directory of the file system that is mounted: `/`, a subvolume, or the origin of a bind
    /// mount.
    pub mount_root: String,
    /// Options of this mount.
    pub options: String,
    /// Options of the file system itself.
    pub file_system_options: String,
    /// Not in /proc: set by whoever can call statvfs.
    pub total_bytes: Option<u64>,
    /// Not in /proc: set by whoever can call statvfs.
    pub free_bytes: Option<u64>,
}

/// Kinds of file systems that several hosts can see alike.
const SHARED_KINDS: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "9p",
    "glusterfs",
    "ocfs2",
    "gfs2",
    "afs",
    "orangefs",
    "virtiofs",
    "fuse",
];

impl FileSystem {
    /// Whether other hosts may see the same, as far as its kind tells: a server keeps it, or a
    /// process, of which nobody knows where it has it from.
    #[must_use]
    pub fn may_be_of_several_hosts(kind: &str) -> bool {
        SHARED_KINDS.contains(&kind) || kind.starts_with("fuse.")
    }
}
