//! What the first rank has said that it prints, and how much of it has come: a launcher, or a script around it, may
//! keep that to itself for long, and nothing else is heard behind it.

use units::{Bytes, Nanos};

/// The rest is waited for until so long after the last of it that came.
const MOST_NS: u64 = 600_000_000_000;
/// People are told that it is waited for when nothing has come for so long.
const TOLD_NS: u64 = 30_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Owed {
    prints: u64,
    come: u64,
    /// When nothing was owed, or some of it came.
    since: u64,
    is_told: bool,
}

impl Owed {
    /// So much has come of so much; whether some of that is news. What else a script prints is no sign of ranks.
    pub(super) fn look(&mut self, now: u64, come: u64, prints: u64) -> bool {
        let has_come = come != self.come && self.come < prints;
        (self.come, self.prints) = (come, prints);
        if has_come || come >= prints {
            (self.since, self.is_told) = (now, false);
        }
        has_come
    }

    /// It is whoever reads the result that does not take it.
    pub(super) fn hear_of_reader(&mut self, now: u64) {
        self.since = now;
    }

    /// Whether the rest is waited for.
    pub(super) fn is_waited_for(&self, now: u64) -> bool {
        self.come < self.prints && now.saturating_sub(self.since) < MOST_NS
    }

    /// What people are to know of that, once.
    pub(super) fn news(&mut self, now: u64) -> Option<String> {
        let idle = now.saturating_sub(self.since);
        if self.is_told || idle < TOLD_NS || !self.is_waited_for(now) {
            return None;
        }
        self.is_told = true;
        let (come, prints) = (Bytes(self.come), Bytes(self.prints));
        let (idle, most) = (Nanos(idle), Nanos(MOST_NS));
        Some(format!(
            "of {prints} that the first rank prints {come} came from the launcher, and nothing for {idle}; \
             the rest is waited for up to {most}, Ctrl-C ends that"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_rest_is_waited_for_since_the_last_of_it_came_and_people_are_told_once_each_time() {
        let mut owed = Owed::default();
        let told: Vec<(u64, bool)> = (0..800)
            .filter_map(|second| {
                let prints = if second < 10 { 0 } else { 4096 };
                let come = match second {
                    0..50 => 0,
                    50..60 => 1024,
                    60.. => 2048,
                };
                let is_news = owed.look(second * S, come, prints);
                assert_eq!(is_news, second == 50 || second == 60, "{second}");
                let is_waited_for = owed.is_waited_for(second * S);
                assert_eq!(is_waited_for, (10..660).contains(&second), "{second}");
                Some((second, owed.news(second * S)?.contains("of 4 KiB")))
            })
            .collect();
        assert_eq!(told, [(39, true), (90, true)]);
        owed.hear_of_reader(900 * S);
        assert!(owed.is_waited_for(1_400 * S));
    }

    #[test]
    fn what_a_script_prints_before_ranks_do_or_after_all_has_come_is_no_sign_of_them() {
        let mut owed = Owed::default();
        assert!(!owed.look(S, 100, 0));
        assert!(!owed.is_waited_for(S));
        assert!(owed.look(2 * S, 300, 200), "the last of it");
        assert!(!owed.look(3 * S, 400, 200));
        assert!(owed.news(100 * S).is_none());
    }
}
