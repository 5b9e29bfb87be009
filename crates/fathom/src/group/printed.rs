//! What a launcher prints goes through this process: one that cannot write any more, because nobody reads
//! it or a disk is full, ends as if a rank had failed and kills them, and what they have measured is lost.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::{Clock as _, MachineClock};
use units::Bytes;

const ROOM: usize = 65_536;
/// So much waits in memory for whoever reads it; the launcher waits for no reader before.
const MOST_HELD: u64 = 256 << 20;
/// So often it is looked whether there is less of it.
const LOOK_NS: u64 = 10_000_000;

/// What is handed on of what a launcher or its ranks print.
pub(super) struct HandedOn {
    seen: Arc<Seen>,
    /// What this process itself adds.
    own: Sender<Vec<u8>>,
    is_read: Receiver<()>,
    is_over: Receiver<()>,
}

#[derive(Default)]
struct Seen {
    read: AtomicU64,
    /// What was written, or never will be.
    done: AtomicU64,
    failed: OnceLock<io::Error>,
}

impl Seen {
    /// What was read and is still to be written: whoever reads that may be slow, and is waited for.
    fn held(&self) -> u64 {
        let done = self.done.load(Relaxed);
        self.read.load(Relaxed).saturating_sub(done)
    }
}

impl HandedOn {
    /// Hands on what comes `from` there; where it cannot be written it is read all the same.
    pub(super) fn begin(from: impl Read + Send + 'static, to: impl Write + Send + 'static) -> Self {
        let ((read, is_read), (over, is_over)) = (channel(), channel());
        let (pieces, come) = channel();
        let seen = Arc::new(Seen::default());
        let (of_reader, of_writer) = (Arc::clone(&seen), Arc::clone(&seen));
        let own = Sender::clone(&pieces);
        std::thread::spawn(move || {
            let _ends_with_this_thread: Sender<()> = read;
            take(from, &pieces, &of_reader);
        });
        std::thread::spawn(move || {
            let _ends_with_this_thread: Sender<()> = over;
            give(&come, to, &of_writer);
        });
        Self {
            seen,
            own,
            is_read,
            is_over,
        }
    }

    /// Adds something, and waits for no reader of it.
    pub(super) fn add(&self, text: String) {
        self.seen.read.fetch_add(text.len() as u64, Relaxed);
        let _the_writer_is_there_until_this_ends = self.own.send(text.into_bytes());
    }

    /// How much has come, and whether as much of it waits for its reader as may.
    pub(super) fn come(&self) -> (u64, bool) {
        let is_full = self.seen.held() > MOST_HELD;
        (self.seen.read.load(Relaxed), is_full)
    }

    /// Waits until nobody can print anything any more, for so long at most.
    pub(super) fn wait_for_last(&self, most: Duration) {
        let _it_has_said_all_or_somebody_is_left = self.is_read.recv_timeout(most);
    }

    /// Waits for the end of it, and where nothing comes for longer than `idle`, no longer: somebody may
    /// have been left behind who could print. Says why not all could be written, or why not so much has come; a reader
    /// who has gone has what it wanted.
    pub(super) fn end(self, idle: Duration, least: u64) -> Option<io::Error> {
        drop(self.own);
        loop {
            let before = self.seen.read.load(Relaxed);
            if self.is_over.recv_timeout(idle) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            let is_held = self.seen.held() > 0;
            // Who is told twice waits for no slow reader.
            if is_held && sys::is_told_twice() {
                let why = "nobody had read the rest of it when the end was asked for twice";
                return Some(io::Error::new(ErrorKind::Interrupted, why));
            }
            let has_come = self.seen.read.load(Relaxed) != before;
            if !has_come && !is_held || sys::is_told_twice() {
                break;
            }
        }
        let Some(failed) = self.seen.failed.get() else {
            let (come, least) = (Bytes(self.seen.read.load(Relaxed)), Bytes(least));
            let why = format!(
                "of {least} that ranks printed {come} came from the launcher, which was ended"
            );
            let is_cut = come < least;
            return is_cut.then(|| io::Error::new(ErrorKind::UnexpectedEof, why));
        };
        let is_loss = failed.kind() != ErrorKind::BrokenPipe;
        is_loss.then(|| io::Error::new(failed.kind(), failed.to_string()))
    }
}

fn take(mut from: impl Read, pieces: &Sender<Vec<u8>>, seen: &Seen) {
    let clock = MachineClock::monotonic();
    let mut bytes = vec![0; ROOM];
    loop {
        while seen.held() > MOST_HELD {
            clock.sleep_until(clock.now() + LOOK_NS);
        }
        let read = match from.read(&mut bytes) {
            Ok(0) => return,
            Ok(read) => read,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        seen.read.fetch_add(read as u64, Relaxed);
        let _the_writer_is_there_until_this_ends = pieces.send(bytes[..read].to_vec());
    }
}

fn give(come: &Receiver<Vec<u8>>, mut to: impl Write, seen: &Seen) {
    for piece in come {
        if seen.failed.get().is_none()
            && let Err(why) = to.write_all(&piece).and_then(|()| to.flush())
        {
            let _it_is_the_first = seen.failed.set(why);
        }
        seen.done.fetch_add(piece.len() as u64, Relaxed);
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
        assert!(printed.end(IDLE, text.len() as u64).is_none());
        assert!(*kept.0.lock().unwrap() == text);
        let cut = HandedOn::begin(io::Cursor::new(text.clone()), kept);
        let why = cut.end(IDLE, text.len() as u64 + 1).unwrap();
        assert_eq!(why.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_this_process_adds_waits_for_no_reader() {
        let (from, to) = io::pipe().unwrap();
        let said = HandedOn::begin(io::empty(), to);
        // More than a pipe holds.
        said.add("x".repeat(1_000_000));
        assert_eq!(said.come(), (1_000_000, false));
        let mut from = from;
        let read = std::thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).map(|_| all.len())
        });
        assert!(said.end(IDLE, 0).is_none());
        assert_eq!(read.join().unwrap().unwrap(), 1_000_000);
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
            let failed = printed.end(IDLE, 0).map(|why| why.kind());
            assert_eq!(failed, Some(kind).filter(|_| is_told));
        }
    }
}
