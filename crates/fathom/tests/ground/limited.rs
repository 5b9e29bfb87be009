//! A control group in which a server has not so much memory as it likes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A group of version 1 that may have so much memory, and goes at the end.
pub(crate) struct Limited(pub(crate) PathBuf);

impl Limited {
    pub(crate) fn new(bytes: u64) -> Option<Self> {
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Relaxed);
        let name = format!("fathom-test-{}-{number}", std::process::id());
        let path = Path::new("/sys/fs/cgroup/memory").join(name);
        std::fs::create_dir(&path).ok()?;
        let limited = Self(path);
        let limit = limited.0.join("memory.limit_in_bytes");
        std::fs::write(limit, bytes.to_string()).ok()?;
        Some(limited)
    }

    pub(crate) fn kills(&self) -> String {
        let said = std::fs::read_to_string(self.0.join("memory.oom_control")).unwrap();
        said.lines().last().unwrap().to_owned()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _emptied = std::fs::write(self.0.join("memory.force_empty"), "0");
        // It is busy until the last process is gone.
        while std::fs::remove_dir(&self.0).is_err_and(|e| e.kind() == ErrorKind::ResourceBusy) {
            std::thread::yield_now();
        }
    }
}
