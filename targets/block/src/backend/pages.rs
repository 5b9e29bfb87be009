//! Which pages of a device in memory were ever written, and whether there is memory for more.
//!
//! The kernel ends a process that takes a page where there is none left. So whoever writes asks
//! before, and is refused; and what was never written is read without a page.

use crate::request::{DeviceResult, Errno};
use crate::setting::held;
use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, SeqCst},
};
use std::sync::{Mutex, OnceLock};

/// Pages that one leaf has a bit for each, made where the first of them is written.
const LEAF_PAGES: u64 = 64 * WORDS as u64;
const WORDS: usize = 512;
/// So many bytes are permitted at once at most: others take memory meanwhile.
const MOST_GRANTED: u64 = 16 << 20;

type Leaf = Box<[AtomicU64; WORDS]>;

/// How much memory a device in memory may still take, and who is told where it takes no more.
pub struct RoomKeeper {
    /// Bytes; `None` where nothing says.
    pub left: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Told once, until there is room again, with the bytes that are left.
    pub refused: Box<dyn Fn(u64) + Send + Sync>,
}

pub(super) struct WrittenPages {
    leaves: Box<[OnceLock<Leaf>]>,
    page: u64,
    keeper: Option<RoomKeeper>,
    /// Bytes that may be taken before anybody is asked again.
    granted: AtomicU64,
    asking: Mutex<()>,
    is_short: AtomicBool,
}

impl WrittenPages {
    /// Of a device of at most so many bytes, none of which was written.
    pub(super) fn new(bytes: u64, page: u64) -> Self {
        let count = bytes.div_ceil(page * LEAF_PAGES);
        Self {
            leaves: (0..count).map(|_| OnceLock::new()).collect(),
            page,
            keeper: None,
            granted: AtomicU64::new(0),
            asking: Mutex::default(),
            is_short: AtomicBool::new(false),
        }
    }

    pub(super) fn set_keeper(&mut self, keeper: RoomKeeper) {
        self.keeper = Some(keeper);
    }

    /// Pages that a range of bytes touches.
    fn touched(&self, extent: &Range<u64>) -> Range<u64> {
        extent.start / self.page..extent.end.div_ceil(self.page)
    }

    fn leaf(&self, page: u64) -> Option<&OnceLock<Leaf>> {
        self.leaves.get(usize::try_from(page / LEAF_PAGES).ok()?)
    }

    /// The words of these pages with the bits that stand for them; `None` for words of a leaf that was
    /// never made.
    fn words(&self, pages: Range<u64>) -> impl Iterator<Item = (Option<&AtomicU64>, u64)> {
        let mut at = pages.start;
        std::iter::from_fn(move || {
            if at >= pages.end {
                return None;
            }
            let first = at / 64 * 64;
            let end = pages.end.min(first + 64);
            let bits = (u64::MAX >> (64 - (end - at))) << (at - first);
            let leaf = self.leaf(at).and_then(OnceLock::get);
            let index = usize::try_from(at % LEAF_PAGES / 64).unwrap_or(0);
            at = end;
            Some((leaf.map(|leaf| &leaf[index]), bits))
        })
    }

    /// Whether all of these bytes lie in pages that were written.
    #[inline]
    pub(super) fn are_written(&self, extent: &Range<u64>) -> bool {
        self.words(self.touched(extent))
            .all(|(word, bits)| word.is_some_and(|word| word.load(Acquire) & bits == bits))
    }

    /// Where the run of pages that begins here ends, at most at `end`, and whether they were written.
    pub(super) fn run(&self, offset: u64, end: u64) -> (u64, bool) {
        let mut at = offset;
        let of = |at: u64| self.are_written(&(at..at + 1));
        let written = of(offset);
        while at < end && of(at) == written {
            at = (at / self.page + 1) * self.page;
        }
        (at.min(end), written)
    }

    /// Permits writing these bytes, or says that there is no memory for them.
    #[inline]
    pub(super) fn take(&self, extent: &Range<u64>) -> DeviceResult {
        if self.are_written(extent) {
            return Ok(());
        }
        self.take_fresh(extent)
    }

    #[cold]
    fn take_fresh(&self, extent: &Range<u64>) -> DeviceResult {
        let pages = self.touched(extent);
        let missing = self.words(pages.clone()).map(|(word, bits)| {
            let written = word.map_or(0, |word| word.load(Acquire));
            u64::from((bits & !written).count_ones())
        });
        let bytes = missing.sum::<u64>().saturating_mul(self.page);
        self.grant(bytes)?;
        self.mark(extent);
        Ok(())
    }

    /// These bytes were written: whoever gave their pages back meanwhile has to find that they are
    /// used again.
    #[inline]
    pub(super) fn confirm(&self, extent: &Range<u64>) {
        if !self.are_written(extent) {
            self.mark(extent);
        }
    }

    #[cold]
    pub(super) fn mark(&self, extent: &Range<u64>) {
        let pages = self.touched(extent);
        let mut at = pages.start;
        while at < pages.end {
            if let Some(leaf) = self.leaf(at) {
                leaf.get_or_init(|| Box::new([const { AtomicU64::new(0) }; WORDS]));
            }
            at = (at / LEAF_PAGES + 1) * LEAF_PAGES;
        }
        for (word, bits) in self.words(pages) {
            if let Some(word) = word {
                word.fetch_or(bits, SeqCst);
            }
        }
    }

    /// The pages that lie wholly within these bytes are about to be given back. Called before they
    /// are, so that whoever writes there meanwhile marks them again.
    pub(super) fn forget(&self, extent: &Range<u64>) {
        let pages = extent.start.div_ceil(self.page)..extent.end / self.page;
        let mut at = pages.start;
        while at < pages.end {
            let leaf_end = pages.end.min((at / LEAF_PAGES + 1) * LEAF_PAGES);
            if self.leaf(at).is_some_and(|leaf| leaf.get().is_some()) {
                for (word, bits) in self.words(at..leaf_end) {
                    if let Some(word) = word {
                        word.fetch_and(!bits, SeqCst);
                    }
                }
            }
            at = leaf_end;
        }
    }

    fn grant(&self, bytes: u64) -> DeviceResult {
        let Some(keeper) = &self.keeper else {
            return Ok(());
        };
        let spend = || {
            let less = |granted: u64| granted.checked_sub(bytes);
            self.granted.fetch_update(Relaxed, Relaxed, less).is_ok()
        };
        if spend() {
            return Ok(());
        }
        let _one_asks_for_all = held(&self.asking);
        if spend() {
            return Ok(());
        }
        let left = (keeper.left)().unwrap_or(u64::MAX);
        if left < bytes {
            self.granted.store(0, Relaxed);
            if !self.is_short.swap(true, Relaxed) {
                (keeper.refused)(left);
            }
            return Err(Errno::ENOSPC);
        }
        self.is_short.store(false, Relaxed);
        // The last pieces are small, because what was permitted is not taken at once.
        let further = (left - bytes) / 4;
        self.granted.store(further.min(MOST_GRANTED), Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const PAGE: u64 = 4096;

    fn with_room(bytes: u64, left: u64) -> (WrittenPages, Arc<AtomicU64>, Arc<AtomicU64>) {
        let mut pages = WrittenPages::new(bytes, PAGE);
        let (left, told) = (Arc::new(AtomicU64::new(left)), Arc::new(AtomicU64::new(0)));
        let (of, to) = (Arc::clone(&left), Arc::clone(&told));
        pages.set_keeper(RoomKeeper {
            left: Box::new(move || Some(of.load(Relaxed))),
            refused: Box::new(move |_| {
                to.fetch_add(1, Relaxed);
            }),
        });
        (pages, left, told)
    }

    #[test]
    fn a_page_is_written_from_its_first_byte_and_given_back_as_a_whole() {
        let pages = WrittenPages::new(1 << 40, PAGE);
        let far = (1 << 39) + 5;
        assert!(!pages.are_written(&(0..1)));
        pages.take(&(far..far + 2 * PAGE)).unwrap();
        assert!(pages.are_written(&(far..far + 2 * PAGE)));
        assert!(
            pages.are_written(&(far - 5..far + 3 * PAGE - 5)),
            "three pages"
        );
        assert!(!pages.are_written(&(far - 6..far)));
        assert_eq!(pages.run(far, 1 << 40), (far + 3 * PAGE - 5, true));
        assert_eq!(pages.run(0, PAGE * 3), (PAGE * 3, false));
        pages.forget(&(far - 4..far + 2 * PAGE));
        assert!(
            pages.are_written(&(far..far + 1)),
            "its first bytes are kept"
        );
        assert!(!pages.are_written(&(far + PAGE..far + PAGE + 1)));
        assert!(pages.are_written(&(far + 2 * PAGE..far + 2 * PAGE + 1)));
        pages.forget(&(0..1 << 40));
        assert_eq!(pages.run(far, far + 9 * PAGE), (far + 9 * PAGE, false));
    }

    #[test]
    fn a_write_across_leaves_marks_both() {
        let pages = WrittenPages::new(1 << 40, PAGE);
        let edge = LEAF_PAGES * PAGE;
        pages.take(&(edge - 1..edge + 1)).unwrap();
        assert!(pages.are_written(&(edge - PAGE..edge + PAGE)));
        assert!(!pages.are_written(&(edge - PAGE - 1..edge)));
        pages.forget(&(edge - PAGE..edge + PAGE));
        assert!(!pages.are_written(&(edge..edge + 1)));
    }

    #[test]
    fn fresh_pages_are_refused_where_there_is_no_memory_and_nothing_else_is() {
        let (pages, left, told) = with_room(1 << 30, 4 * PAGE);
        pages.take(&(0..4 * PAGE)).unwrap();
        left.store(0, Relaxed);
        assert_eq!(pages.take(&(4 * PAGE..5 * PAGE)), Err(Errno::ENOSPC));
        assert_eq!(pages.take(&(3 * PAGE..5 * PAGE)), Err(Errno::ENOSPC));
        pages.take(&(0..4 * PAGE)).expect("these are there");
        assert!(!pages.are_written(&(4 * PAGE..4 * PAGE + 1)));
        assert_eq!(told.load(Relaxed), 1, "once");
        left.store(1 << 30, Relaxed);
        pages.take(&(4 * PAGE..5 * PAGE)).unwrap();
        left.store(0, Relaxed);
        let beyond = 5 * PAGE + MOST_GRANTED;
        pages.take(&(5 * PAGE..beyond)).expect("it was granted");
        assert_eq!(pages.take(&(beyond..beyond + 1)), Err(Errno::ENOSPC));
        assert_eq!(told.load(Relaxed), 2, "and again after there was room");
    }
}
