use bytes::Bytes;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of one block; what is longer is not kept.
const BLOCK: usize = crate::storage::extent::BLOCK;
/// Blocks that are kept for the next reads: 8 MiB.
const MOST_KEPT: usize = 64;

/// Memory for reads, used again: a fresh block comes from the kernel page by page, each cleared
/// first, which costs more than the read itself.
#[derive(Default)]
pub(crate) struct Blocks {
    kept: Mutex<Vec<Vec<u8>>>,
}

/// A block on loan, which goes back with the last of its bytes.
struct Loan {
    block: Vec<u8>,
    len: usize,
    from: Arc<Blocks>,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.block[..self.len]
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.from.keep(std::mem::take(&mut self.block));
    }
}

impl Blocks {
    /// `len` bytes that `read` fills. Errors: those of `read`.
    pub(crate) fn fill(
        self: &Arc<Self>,
        len: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<Bytes> {
        if len > BLOCK {
            let mut out = vec![0; len];
            return read(&mut out).map(|()| Bytes::from(out));
        }
        let kept = self.lock().pop();
        let mut block = kept.unwrap_or_else(|| vec![0; BLOCK]);
        match read(&mut block[..len]) {
            Ok(()) => Ok(Bytes::from_owner(Loan {
                block,
                len,
                from: Arc::clone(self),
            })),
            Err(error) => {
                self.keep(block);
                Err(error)
            }
        }
    }

    fn keep(&self, block: Vec<u8>) {
        let mut kept = self.lock();
        if kept.len() < MOST_KEPT {
            kept.push(block);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(blocks: &Arc<Blocks>, len: usize, with: u8) -> Bytes {
        let fill = |out: &mut [u8]| {
            out.fill(with);
            Ok(())
        };
        blocks.fill(len, fill).unwrap()
    }

    #[test]
    fn a_block_is_lent_again_once_all_of_its_bytes_have_gone() {
        let blocks = Arc::new(Blocks::default());
        let first = filled(&blocks, 10, 1);
        let part = first.slice(3..5);
        drop(first);
        assert_eq!(blocks.lock().len(), 0);
        let second = filled(&blocks, BLOCK, 2);
        assert_eq!((part.as_ref(), second.len()), (&[1, 1][..], BLOCK));
        drop((part, second));
        assert_eq!(blocks.lock().len(), 2);
        assert_eq!(filled(&blocks, 4, 3), [3; 4][..]);
        assert_eq!(blocks.lock().len(), 2);
    }

    #[test]
    fn a_failed_read_costs_no_block_and_a_long_one_keeps_none() {
        let blocks = Arc::new(Blocks::default());
        assert!(
            blocks
                .fill(5, |_| Err(io::ErrorKind::WouldBlock.into()))
                .is_err()
        );
        assert_eq!(blocks.lock().len(), 1);
        drop(filled(&blocks, BLOCK + 1, 1));
        assert_eq!(blocks.lock().len(), 1);
        let many: Vec<_> = (0..MOST_KEPT + 5).map(|_| filled(&blocks, 1, 1)).collect();
        drop(many);
        assert_eq!(blocks.lock().len(), MOST_KEPT);
    }
}
