//! What a launcher prints goes through this process: one that cannot write any more, because nobody reads
//! it or a disk is full, ends as if a rank had failed and kills them, and what they have measured is lost.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What is handed on of what a launcher or its ranks print.
pub(super) struct HandedOn {
    seen: Arc<Seen>,
    is_over: Receiver<()>,
}

#[derive(Default)]
struct Seen {
    /// Whoever reads may be slow, and is waited for.
    is_writing: AtomicBool,
    bytes: AtomicU64,
    failed: OnceLock<io::Error>,
}

impl HandedOn {
    /// Hands on what comes `from` there; where it cannot be written it is read all the same.
    pub(super) fn begin(
        mut from: impl Read + Send + 'static,
        mut to: impl Write + Send + 'static,
    ) -> Self {
        const ROOM: usize = 65_536;
        let (over, is_over) = channel();
        let seen = Arc::new(Seen::default());
        let notes = Arc::clone(&seen);
        std::thread::spawn(move || {
            let _ends_with_this_thread = over;
            let mut bytes = vec![0; ROOM];
            loop {
                let read = match from.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                notes.bytes.fetch_add(read as u64, Relaxed);
                if notes.failed.get().is_some() {
                    continue;
                }
                notes.is_writing.store(true, Relaxed);
                let written = to.write_all(&bytes[..read]).and_then(|()| to.flush());
                notes.is_writing.store(false, Relaxed);
                if let Err(why) = written {
                    let _it_is_the_first = notes.failed.set(why);
                }
            }
        });
        Self { seen, is_over }
    }

    /// Whoever reads it keeps this waiting, and whoever prints it.
    pub(super) fn is_held(&self) -> bool {
        self.seen.is_writing.load(Relaxed)
    }

    /// Waits for the end of it, and where nothing comes for longer than `idle`, no longer: somebody may
    /// have been left behind who could print. Says why not all could be written; a reader who has gone
    /// has what it wanted.
    pub(super) fn end(self, idle: Duration) -> Option<io::Error> {
        loop {
            let before = self.seen.bytes.load(Relaxed);
            if self.is_over.recv_timeout(idle) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            let has_come = self.seen.bytes.load(Relaxed) != before;
            let is_idle = !has_come && !self.seen.is_writing.load(Relaxed);
            // Who is told twice waits for no slow reader.
            if is_idle || sys::is_told_twice() {
                break;
            }
        }
        let failed = self.seen.failed.get()?;
        let is_loss = failed.kind() != ErrorKind::BrokenPipe;
        is_loss.then(|| io::Error::new(failed.kind(), failed.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Takes so many bytes, and fails then.
    struct Short(usize, ErrorKind);

    impl Write for Short {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 {
                Err(self.1.into())
            } else {
                Ok(taken)
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const IDLE: Duration = Duration::from_secs(60);

    #[test]
    fn all_that_is_printed_is_handed_on() {
        let kept = Kept::default();
        let text = b"of all ranks\n".repeat(20_000);
        let printed = HandedOn::begin(io::Cursor::new(text.clone()), kept.clone());
        assert!(printed.end(IDLE).is_none());
        assert!(*kept.0.lock().unwrap() == text);
    }

    #[test]
    fn whoever_prints_is_read_to_the_end_whatever_becomes_of_it() {
        for (kind, is_told) in [
            (ErrorKind::BrokenPipe, false),
            (ErrorKind::StorageFull, true),
        ] {
            let (from, mut to) = io::pipe().unwrap();
            let printed = HandedOn::begin(from, Short(10, kind));
            // More than a pipe holds: it is read, or this fails or waits for ever.
            to.write_all(&vec![b'x'; 1_000_000]).unwrap();
            drop(to);
            let failed = printed.end(IDLE).map(|why| why.kind());
            assert_eq!(failed, Some(kind).filter(|_| is_told));
        }
    }
}
