//! Repeated reading of kernel files: opened once, one buffer for all.

use std::fs::File;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;

use super::tree::Tree;

/// What can be read from one or several kernel files.
pub trait Reading: Default {
    /// Takes over the text of the file with the number `part`; false where it holds nothing known.
    fn take(&mut self, part: usize, text: &str) -> bool;

    /// Forgets every value, keeping allocations.
    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Open files that yield one [`Reading`] again and again; after the first read it allocates nothing
/// of its own.
#[derive(Debug)]
pub struct KernelFiles<R> {
    parts: Vec<(usize, File)>,
    buffer: Vec<u8>,
    reading: PhantomData<fn() -> R>,
}

impl<R: Reading> KernelFiles<R> {
    /// Opens those of the files that exist; `None` where none does.
    pub(super) fn open(tree: &Tree, paths: &[String]) -> Option<Self> {
        let open = |(part, path)| Some((part, File::open(tree.path(path)).ok()?));
        let parts: Vec<_> = paths.iter().enumerate().filter_map(open).collect();
        (!parts.is_empty()).then(|| Self {
            parts,
            buffer: vec![0; 4096],
            reading: PhantomData,
        })
    }

    /// The present values; `None` where no file can be read or understood any more.
    pub fn read(&mut self) -> Option<R> {
        let mut reading = R::default();
        self.refresh(&mut reading).then_some(reading)
    }

    /// Replaces `reading` by the present values, reusing its allocations; false where there are
    /// none.
    pub fn refresh(&mut self, reading: &mut R) -> bool {
        reading.clear();
        let mut understood = false;
        for (part, file) in &self.parts {
            if let Some(bytes) = whole(file, &mut self.buffer) {
                // Valid UTF-8, which is nearly always what comes, is borrowed.
                understood |= reading.take(*part, &String::from_utf8_lossy(bytes));
            }
        }
        understood
    }
}

/// The file from its beginning. A short read is not the end: the kernel hands out long files by the
/// page.
fn whole<'a>(file: &File, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let offset = u64::try_from(filled).ok()?;
        match file.read_at(&mut buffer[filled..], offset) {
            Ok(0) => return Some(&buffer[..filled]),
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::fixture::Fixture;
    use super::*;

    #[derive(Default, Debug, PartialEq)]
    struct Lengths([Option<usize>; 2]);

    impl Reading for Lengths {
        fn take(&mut self, part: usize, text: &str) -> bool {
            self.0[part] = Some(text.len());
            !text.is_empty()
        }
    }

    #[test]
    fn each_read_sees_the_file_anew_and_whole() {
        let fixture = Fixture::new();
        fixture.file("b", "x".repeat(10_000));
        let mut files =
            KernelFiles::<Lengths>::open(&fixture.tree(), &["a".to_owned(), "b".to_owned()])
                .unwrap();
        assert_eq!(files.read(), Some(Lengths([None, Some(10_000)])));
        fixture.file("b", "xyz");
        let mut lengths = Lengths([Some(1), Some(1)]);
        assert!(files.refresh(&mut lengths));
        assert_eq!(lengths, Lengths([None, Some(3)]));
    }

    #[test]
    fn no_file_is_nothing_to_read_and_an_empty_file_no_reading() {
        let fixture = Fixture::new();
        assert!(KernelFiles::<Lengths>::open(&fixture.tree(), &["a".to_owned()]).is_none());
        fixture.file("a", "");
        assert_eq!(
            KernelFiles::<Lengths>::open(&fixture.tree(), &["a".to_owned()])
                .unwrap()
                .read(),
            None
        );
    }
}
