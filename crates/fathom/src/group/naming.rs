//! Ranks are told which signal the front had before the launcher is sent one: Open MPI makes TERM of
//! Ctrl-C, and what hangs up ends MPICH's launcher, so that it is sent TERM itself. Records then say what
//! the front's exit code says.

use super::launcher::Dialect;
use crate::exit::FrontWord;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The first rank has so long to say that it knows; a launcher that hands on nothing is not waited for longer.
const MOST_NS: u64 = 300_000_000;
/// The same where the launcher makes another signal of it, or takes with it what ranks would print: busy CPUs
/// let a rank answer late.
const MOST_OF_ANOTHER_NS: u64 = 3_000_000_000;

/// The way to the first rank, which is what the launcher reads.
pub(super) struct SignalNaming<W> {
    line: Option<W>,
    word: FrontWord,
    /// The first rank has said that it knows.
    has_heard: Arc<AtomicBool>,
    dialect: Dialect,
    /// Until when that is waited for, once it was told.
    until: Option<u64>,
}

impl<W: Write> SignalNaming<W> {
    pub(super) fn new(
        line: Option<W>,
        word: &FrontWord,
        has_heard: &Arc<AtomicBool>,
        dialect: Dialect,
    ) -> Self {
        Self {
            line,
            word: word.clone(),
            has_heard: Arc::clone(has_heard),
            dialect,
            until: None,
        }
    }

    /// Tells the first rank, once, and says whether the launcher is to be sent the signal. Where not all
    /// ranks have begun nobody may listen.
    pub(super) fn is_done(&mut self, now: u64, signal: i32, have_begun: bool) -> bool {
        let most_ns = match self.dialect.hands_on_as_it_is(signal) {
            true => MOST_NS,
            false => MOST_OF_ANOTHER_NS,
        };
        let until = *self.until.get_or_insert_with(|| {
            let line = format!("{}\n", self.word.signal_line(signal));
            let told = self.line.take().filter(|_| have_begun);
            let told = told.is_some_and(|mut to| to.write_all(line.as_bytes()).is_ok());
            now.saturating_add(if told { most_ns } else { 0 })
        });
        self.is_heard() || now >= until
    }

    /// Whether the first rank knows which signal it is to be, and listens for one.
    pub(super) fn is_heard(&self) -> bool {
        self.has_heard.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_waits_for_the_first_rank_and_not_for_long() {
        let word = FrontWord::draw();
        let has_heard = Arc::new(AtomicBool::new(false));
        let mut told = Vec::new();
        let mut naming = SignalNaming::new(Some(&mut told), &word, &has_heard, Dialect::Hydra);
        assert!(!naming.is_done(5, 2, true) && !naming.is_done(5 + MOST_NS - 1, 2, true));
        assert!(naming.is_done(5 + MOST_NS, 2, true) && !naming.is_heard());
        assert_eq!(told, format!("{}\n", word.signal_line(2)).as_bytes());

        let mut naming = SignalNaming::new(Some(Vec::new()), &word, &has_heard, Dialect::Hydra);
        assert!(!naming.is_done(5, 2, true));
        has_heard.store(true, Relaxed);
        assert!(naming.is_done(6, 2, true) && naming.is_heard());
    }

    #[test]
    fn where_the_launcher_makes_another_signal_of_it_a_late_answer_is_waited_for() {
        let word = FrontWord::draw();
        for (dialect, signal) in [(Dialect::OpenMpi, 2), (Dialect::Hydra, 12)] {
            let has_heard = Arc::new(AtomicBool::new(false));
            let mut naming = SignalNaming::new(Some(Vec::new()), &word, &has_heard, dialect);
            assert!(!naming.is_done(5, signal, true));
            assert!(!naming.is_done(5 + MOST_OF_ANOTHER_NS - 1, signal, true));
            assert!(naming.is_done(5 + MOST_OF_ANOTHER_NS, signal, true));
        }
    }

    #[test]
    fn where_nobody_listens_the_launcher_has_the_signal_at_once() {
        let word = FrontWord::draw();
        let has_heard = Arc::new(AtomicBool::new(false));
        let mut told = Vec::new();
        let mut naming = SignalNaming::new(Some(&mut told), &word, &has_heard, Dialect::Hydra);
        assert!(naming.is_done(5, 2, false) && naming.is_done(5, 2, true));
        assert_eq!(told, [0_u8; 0]);
        let mut naming = SignalNaming::new(None::<Vec<u8>>, &word, &has_heard, Dialect::Hydra);
        assert!(naming.is_done(5, 2, true));
    }
}
