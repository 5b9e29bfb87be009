//! What the first rank says to the front: that it lives; that it was told a signal, and that the ranks still
//! work after one. So nobody takes them for dead, or for a launcher that hangs.

use super::FrontWord;
use crate::tell::say;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sys::{Clock as _, MachineClock};

/// So often it is looked whether a signal has come, and while an answer is owed.
const LOOK: Duration = Duration::from_secs(1);
const OWED_LOOK: Duration = Duration::from_millis(10);
/// That it lives, and after a signal that ranks work, it says this often, which is several times in what the front
/// waits.
const SAID_NS: u64 = 3_000_000_000;

/// Hears what the front says, which may be a signal: a launcher may hand on another than the front had,
/// and what this process writes is to say the front's. All launchers give the first rank what is written to
/// them, and so it is told there.
pub(super) fn begin(word: FrontWord) {
    let (told, tells) = channel();
    let own = word.clone();
    // It holds the line open for as long as the other thread waits there.
    let kept = told.clone();
    spawn(move || hear(&own, &told));
    spawn(move || {
        let _a_closed_line_would_not_be_waited_at = kept;
        let clock = MachineClock::monotonic();
        let mut speech = Speech::default();
        loop {
            let signal = tells.recv_timeout(speech.look()).ok();
            let is_stopping = sys::caught_signal().is_some();
            let due = speech.next(clock.now(), signal, sys::catches_signals(), is_stopping);
            match due {
                // The front waits for it, and a result may wait for its reader.
                Some(Due::Answer(signal)) => say(&word.signal_line(signal)),
                Some(Due::Work(time)) => quietly(|| say(&word.work_line(time))),
                Some(Due::Alive(time)) => quietly(|| say(&word.alive_line(time))),
                None => {}
            }
        }
    });
}

/// One of these at a time: a script may lead what is said into what is printed.
static SPEAKING: Mutex<()> = Mutex::new(());

pub(super) fn quietly<T>(speak: impl FnOnce() -> T) -> T {
    let _others_wait = SPEAKING.lock().unwrap_or_else(PoisonError::into_inner);
    speak()
}

fn hear(word: &FrontWord, told: &Sender<i32>) {
    let lines = std::io::stdin().lines().map_while(Result::ok);
    for signal in lines.filter_map(|line| word.signal_of(&line)) {
        sys::name_signal(signal);
        let _this_process_ends = told.send(signal);
    }
}

fn spawn(body: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("fathom-front".into());
    let _without_it_the_launcher_s_signal_counts = thread.spawn(body);
}

/// What is to be said now.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// This signal was told.
    Answer(i32),
    /// After a signal there is still work.
    Work(u64),
    /// It lives; so many times one of these two was said.
    Alive(u64),
}

/// What the front was told, and is still to be.
#[derive(Debug, Default)]
struct Speech {
    owed: Option<i32>,
    /// When one of these was last said, or the signal was seen.
    said_at: Option<u64>,
    is_stopping: bool,
    times: u64,
}

impl Speech {
    fn look(&self) -> Duration {
        if self.owed.is_some() { OWED_LOOK } else { LOOK }
    }

    /// A signal is answered once this process catches what the launcher may be sent then.
    fn next(
        &mut self,
        now: u64,
        told: Option<i32>,
        is_catching: bool,
        is_stopping: bool,
    ) -> Option<Due> {
        self.owed = told.or(self.owed);
        if let Some(signal) = self.owed.take_if(|_| is_catching) {
            return Some(Due::Answer(signal));
        }
        if is_stopping && !self.is_stopping {
            (self.is_stopping, self.said_at) = (true, Some(now));
        }
        let since = *self.said_at.get_or_insert(now);
        if now.saturating_sub(since) < SAID_NS {
            return None;
        }
        self.said_at = Some(now);
        self.times += 1;
        Some(match is_stopping {
            true => Due::Work(self.times),
            false => Due::Alive(self.times),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_signal_is_answered_once_it_can_be_caught_and_not_only_if_it_can_be_at_once() {
        let mut speech = Speech::default();
        assert_eq!(speech.next(0, Some(2), false, false), None);
        assert_eq!(speech.look(), OWED_LOOK);
        assert_eq!(speech.next(1, None, false, false), None);
        let answer = speech.next(2, None, true, false);
        assert_eq!(answer, Some(Due::Answer(2)));
        assert_eq!(speech.next(3, None, true, false), None);
        assert_eq!(speech.look(), LOOK);
    }

    #[test]
    fn ranks_say_that_they_live_and_that_they_work_after_a_signal_again_and_again() {
        let mut speech = Speech::default();
        let said = (0..18).filter_map(|second| {
            let due = speech.next(second * S, None, true, second >= 8)?;
            Some((second, due))
        });
        let said: Vec<(u64, Due)> = said.collect();
        let alive = [(3, 1), (6, 2)].map(|(at, time)| (at, Due::Alive(time)));
        let work = [(11, 3), (14, 4), (17, 5)].map(|(at, time)| (at, Due::Work(time)));
        let all = alive.into_iter().chain(work);
        assert_eq!(said, all.collect::<Vec<_>>());
    }
}
