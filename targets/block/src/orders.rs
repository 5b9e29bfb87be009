//! What a device was told last, in a file that outlives its server.
//!
//! The head says which generation it is and how long its text; generations take turns at two places,
//! so that a server that is killed while it writes leaves the one before.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

const HEAD: usize = 8;
/// Where the texts of even and of odd generations begin.
const PLACES: [u64; 2] = [1 << 12, 1 << 20];
/// The longest text; a line at the control socket is shorter.
const MOST_BYTES: usize = 1 << 16;

/// The file, which belongs to whoever starts servers.
pub struct OrdersFile {
    file: File,
}

impl OrdersFile {
    /// A fresh one, in memory.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("fathom-orders", MemfdFlags::CLOEXEC)?;
        Ok(Self::over(File::from(file)))
    }

    pub fn over(file: File) -> Self {
        Self { file }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// The generation that was told last, and its text; `None` before the first.
    pub fn last(&self) -> Option<(u32, String)> {
        let mut head = [0; HEAD];
        self.file.read_exact_at(&mut head, 0).ok()?;
        let [a, b, c, d, e, f, g, h] = head;
        let generation = u32::from_le_bytes([a, b, c, d]);
        let length = usize::try_from(u32::from_le_bytes([e, f, g, h])).ok()?;
        let mut text = vec![0; length.min(MOST_BYTES)];
        self.file.read_exact_at(&mut text, place(generation)).ok()?;
        Some((generation, String::from_utf8(text).ok()?))
    }

    /// Keeps what was told. Where there is no memory for it, a later server does what was told before.
    pub(crate) fn write(&self, generation: u32, text: &str) {
        let Some(length) = u32::try_from(text.len())
            .ok()
            .filter(|_| text.len() <= MOST_BYTES)
        else {
            return;
        };
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&generation.to_le_bytes());
        head[4..].copy_from_slice(&length.to_le_bytes());
        let kept = self.file.write_all_at(text.as_bytes(), place(generation));
        let _the_one_before_is_kept = kept.and_then(|()| self.file.write_all_at(&head, 0));
    }
}

fn place(generation: u32) -> u64 {
    PLACES[usize::from(generation % 2 == 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, told};
    use crate::{Geometry, MemoryBackend, ServedDevice};
    use std::sync::Arc;

    fn device(orders: &OrdersFile) -> Arc<ServedDevice> {
        let orders = OrdersFile::over(orders.file().try_clone().unwrap());
        let geometry = Geometry {
            block: 1,
            read_only: false,
        };
        let memory = Box::new(MemoryBackend::new(4096).unwrap());
        Arc::new(ServedDevice::new(memory, geometry).with_orders(orders))
    }

    #[test]
    fn a_later_server_knows_what_the_last_one_was_told_and_counts_on() {
        let orders = OrdersFile::new().unwrap();
        let first = device(&orders);
        assert_eq!(orders.last(), None);
        told(&first, "misbehave latency=1us");
        assert_eq!(
            told(&first, "misbehave errors=100%:EIO"),
            "generation 2",
            "each change is one"
        );
        drop(first);
        assert_eq!(orders.last(), Some((2, "errors=100%:EIO".to_owned())));
        let second = device(&orders);
        assert_eq!(told(&second, "misbehave none"), "generation 3");
        assert_eq!(read(&mut second.lane(1), 0, 1), Ok(vec![0]));
    }
}
