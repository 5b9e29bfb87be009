//! The machine's side of the safety checks.

use crate::safety::{FileId, Probe};
use std::fs::File;
use std::io;
use std::path::Path;

/// The real file system.
pub struct RealProbe;

impl Probe for RealProbe {
    fn read_xattr(&self, file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
        sys::read_xattr(file, name)
    }

    fn write_xattr(&self, file: &File, name: &str, value: &[u8]) -> io::Result<()> {
        sys::write_xattr(file, name, value)
    }

    fn exclusive_open(&self, path: &Path) -> io::Result<File> {
        sys::exclusive_block_open(path)
    }

    fn loop_backing(&self, node: &Path) -> io::Result<Option<FileId>> {
        Ok(sys::loop_backing(node)?.map(|(dev, ino)| FileId { dev, ino }))
    }
}
