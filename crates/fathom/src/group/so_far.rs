//! What the root keeps of ranks that go on, and how it ends if nothing more is written.

use super::joining::{GroupTrial, RankParts};
use super::keeping::SignalNews;
use group::Word;
use host::PeerFault;
use record::{Outcome, Record, Status};
use std::collections::BTreeSet;
use sys::CaughtSignal;
use units::{Nanos, counted};

const NOT_BEGUN: &str = "the run had not begun to measure when this was written";
/// Why a rank may be the one with whose death the end of the others began.
const SILENT: &str = "nothing was heard of it after a signal had told the others to end";

impl GroupTrial {
    /// Who has said nothing since a signal told all to end, and is not seen to go on: a launcher kills the
    /// others soon.
    pub(super) fn silent_since(&self, told_at: u64) -> Vec<u32> {
        let seen = self.connection.seen();
        let others = 1..self.connection.size;
        others
            .filter(|rank| seen.heard_at(*rank) < Some(told_at))
            .filter(|rank| !self.connection.sees_going_on(*rank))
            .collect()
    }

    /// How ranks have ended by what they said last.
    pub(super) fn ends(&self) -> SaidEnds {
        let seen = self.connection.seen();
        let words = seen.snapshots();
        let is_whole = u32::try_from(words.len()) == Ok(self.connection.size);
        SaidEnds::of(words.values(), is_whole, seen.is_halted())
    }

    /// What there is while it goes on, or where all have ended and go on only to remove what they made, as
    /// what is kept if nothing more comes, with those that are silent, and how it ends then.
    pub(super) fn so_far(
        &self,
        silent: &[u32],
        have_all_ended: bool,
        end: SoFarEnd,
    ) -> Option<Record> {
        let seen = self.connection.seen();
        let parts = RankParts::snapshots(&seen.snapshots());
        let mut record = self.record(parts).ok()?;
        self.date(&mut record);
        if !seen.lost().is_empty() {
            self.spare_the_waiting(&mut record);
            end.tell_of_loss(&mut record, &self.connection.loss());
        } else if have_all_ended {
            end.tell_of_removal(&mut record);
        } else {
            if let Some(group) = &mut record.group {
                group.lost.clear();
            }
            record.outcome = end.outcome(record.elapsed_ns, &self.connection.called(0));
            let hosts = |rank: u32| self.connection.host_of(rank);
            let silent = with_whom_it_began(silent, self.connection.size, hosts);
            let whys = silent.iter().map(|rank| (*rank, SILENT.to_owned()));
            self.name(&mut record, &silent, &whys.collect());
        }
        Some(record)
    }
}

/// Of those that are silent, who may be the one with whose death the end of all began: where all others are, on several
/// hosts, their launcher has ended them at once, and nobody here knows which was the first.
fn with_whom_it_began(silent: &[u32], size: u32, host: impl Fn(u32) -> Option<String>) -> Vec<u32> {
    let hosts: BTreeSet<Option<String>> = silent.iter().map(|rank| host(*rank)).collect();
    let are_all = silent.len() + 1 >= size as usize;
    match are_all && hosts.len() > 1 {
        true => Vec::new(),
        false => silent.to_vec(),
    }
}

/// What ranks have said of their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SaidEnds {
    /// All have said what they had measured when they ended.
    pub(super) are_all: bool,
    /// The exit code of one that a signal has stopped.
    pub(super) stopped: Option<i32>,
}

impl SaidEnds {
    /// By the last words of ranks: of all of them, or not; after somebody has asked for the end, or before.
    /// Before that nobody is stopped while others go on, and they say much.
    fn of<'a>(
        words: impl Iterator<Item = &'a Word> + Clone,
        is_whole: bool,
        is_halted: bool,
    ) -> Self {
        let ended =
            |word: &Word| Outcome::of_json(word).filter(|of| of.status != Status::Incomplete);
        let are_all = is_whole && words.clone().all(|word| ended(word).is_some());
        if is_whole && !are_all && !is_halted {
            return Self::default();
        }
        let mut ended = words.filter_map(ended);
        let stopped = ended.find(|of| of.status == Status::Interrupted);
        Self {
            are_all,
            stopped: stopped.map(|of| of.exit_code),
        }
    }
}

/// How a record ends that was written while its ranks went on, if nothing stands after it.
#[derive(Debug)]
pub(super) enum SoFarEnd {
    /// Nobody knows, but for what is told first.
    Open(String),
    /// A signal has ended all of them.
    Stopped(CaughtSignal),
}

impl SoFarEnd {
    /// Until all have answered, a signal may be that of a launcher that ends the others because one has died;
    /// to a root that was away so long that the others may have given it up, it is that in any case. A rank
    /// that was `stopped` by one that the root did not have ends all.
    pub(super) fn of(
        news: SignalNews,
        caught: Option<CaughtSignal>,
        stopped: Option<i32>,
        stood_still_ns: u64,
    ) -> Self {
        let still = match stood_still_ns {
            0 => String::new(),
            ns => format!("the rank that writes this stood still for {}; ", Nanos(ns)),
        };
        let of_another = stopped
            .and_then(sys::stopped_by)
            .map(|signal| CaughtSignal {
                signal,
                impatient: false,
            });
        let Some(caught) = caught else {
            if let Some(of_another) = of_another.filter(|_| stood_still_ns == 0) {
                return Self::Stopped(of_another);
            }
            let woken = "signal 18 came, which some launchers send before they end all; ";
            let is_news = news == SignalNews::Woken && stood_still_ns == 0;
            return Self::Open(if is_news { woken.to_owned() } else { still });
        };
        match news == SignalNews::Answered && stood_still_ns == 0 {
            true => Self::Stopped(caught),
            false => Self::Open(format!("{still}signal {} told all to end; ", caught.signal)),
        }
    }

    /// Ranks are lost, and the root may know why: it was itself away. Where none had begun to measure it is
    /// not said of those that wait what is said of those that did not take part.
    fn tell_of_loss(&self, record: &mut Record, loss: &PeerFault) {
        if record.outcome.status != Status::Incomplete {
            return;
        }
        let before = match record.elapsed_ns {
            0 => Some(format!("{}; {NOT_BEGUN}", loss.text)),
            _ => record.outcome.message.take(),
        };
        let before = before.unwrap_or_else(|| loss.text.clone());
        record.outcome.message = Some(match self {
            Self::Open(why) => format!("{why}{before}"),
            Self::Stopped(_) => before,
        });
    }

    /// What was measured is whole; what of it stands on a server may stay there, for somebody has asked for
    /// the end.
    fn tell_of_removal(&self, record: &mut Record) {
        let left = record.load.as_ref().map_or(0, |load| load.left_behind);
        let Self::Stopped(caught) = self else { return };
        if left > 0 {
            let left = counted(left, "object");
            let left = format!("{left} had not been removed when this was written");
            record
                .outcome
                .stopped_in_removal(caught.signal, caught.exit_code(), &left);
        }
    }

    /// The same as an outcome, so long after the measured time began; 0 before. It is written by `writer`.
    fn outcome(self, elapsed_ns: u64, writer: &str) -> Outcome {
        let how_far = match elapsed_ns {
            0 => NOT_BEGUN.to_owned(),
            ns => format!(
                "the run had not ended when this was written, {} after its measured time began: what its ranks did later is not here",
                Nanos(ns)
            ),
        };
        let (status, exit_code, message) = match self {
            Self::Open(why) => {
                let lost = PeerFault::LOST;
                let last =
                    format!("{why}{how_far}; {writer}, which writes it, has written no more");
                (Status::Incomplete, lost, last)
            }
            Self::Stopped(caught) => {
                let message = format!("stopped by signal {}: {how_far}", caught.signal);
                (Status::Interrupted, caught.exit_code(), message)
            }
        };
        Outcome {
            status,
            exit_code,
            message: Some(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_all_others_are_silent_at_once_nobody_is_called_the_first() {
        let of = |silent: &[u32], each: u32| {
            with_whom_it_began(silent, 4, |rank| Some(format!("node{}", rank / each)))
        };
        assert_eq!(of(&[2], 1), [2]);
        assert_eq!(of(&[2, 3], 1), [2, 3]);
        assert!(of(&[1, 2, 3], 1).is_empty());
        assert_eq!(of(&[1, 2, 3], 4), [1, 2, 3], "one host");
        let two = with_whom_it_began(&[1], 2, |rank| Some(rank.to_string()));
        assert_eq!(two, [1], "it can be no other");
    }

    #[test]
    fn a_signal_is_told_and_it_is_known_later_whether_it_ended_all() {
        let told = |stood_still_ns| {
            move |news: SignalNews, signal: Option<i32>| {
                let caught = signal.map(|signal| CaughtSignal {
                    signal,
                    impatient: false,
                });
                SoFarEnd::of(news, caught, None, stood_still_ns)
            }
        };
        let (plain, still) = (told(0), told(15_000_000_000));
        let open = |end: SoFarEnd| match end {
            SoFarEnd::Open(why) => why,
            SoFarEnd::Stopped(caught) => panic!("{caught:?}"),
        };
        assert_eq!(open(plain(SignalNews::None, None)), "");
        let woken = SignalNews::Woken;
        assert!(open(plain(woken, None)).starts_with("signal 18 came"));
        let why = open(still(woken, None));
        assert_eq!(why, "the rank that writes this stood still for 15 s; ");
        for news in [SignalNews::None, SignalNews::Told] {
            let why = open(plain(news, Some(15)));
            assert_eq!(why, "signal 15 told all to end; ");
        }
        for news in [SignalNews::Told, SignalNews::Answered] {
            let why = open(still(news, Some(15)));
            assert!(
                why.contains("stood still for 15 s; signal 15 told all"),
                "others may have given it up: {why}"
            );
        }
        let SoFarEnd::Stopped(caught) = plain(SignalNews::Answered, Some(2)) else {
            panic!("all have answered");
        };
        assert_eq!(caught.exit_code(), 130);
        let by_another = |caught, still| SoFarEnd::of(SignalNews::None, caught, Some(143), still);
        let SoFarEnd::Stopped(caught) = by_another(None, 0) else {
            panic!("a rank was stopped");
        };
        assert_eq!(caught.exit_code(), 143);
        assert!(open(by_another(None, 15_000_000_000)).contains("stood still"));
        let own = CaughtSignal {
            signal: 2,
            impatient: false,
        };
        assert!(open(by_another(Some(own), 0)).contains("signal 2 told all"));
    }

    #[test]
    fn a_rank_that_was_stopped_is_seen_where_all_have_ended_or_were_asked_to() {
        let word = |status: &str, code: i32| -> Word {
            let text = format!(
                r#"{{"outcome":{{"status":"{status}","exit_code":{code},"message":null}}}}"#
            );
            text.into_bytes().into()
        };
        let (on, done) = (word("incomplete", 5), word("ok", 0));
        let stopped = word("interrupted", 130);
        let of = |words: &[&Word], is_whole, is_halted| {
            let ends = SaidEnds::of(words.iter().copied(), is_whole, is_halted);
            (ends.are_all, ends.stopped)
        };
        assert_eq!(of(&[&done, &done], true, false), (true, None));
        assert_eq!(of(&[&done, &stopped], true, false), (true, Some(130)));
        assert_eq!(of(&[&on, &stopped], true, false), (false, None));
        assert_eq!(of(&[&on, &stopped], true, true), (false, Some(130)));
        assert_eq!(of(&[&stopped], false, false), (false, Some(130)));
        assert_eq!(of(&[], false, true), (false, None));
    }

    #[test]
    fn of_ranks_that_are_lost_before_all_began_no_more_is_said_than_that() {
        let of = |elapsed_ns| Record {
            elapsed_ns,
            outcome: Outcome {
                status: Status::Incomplete,
                exit_code: 5,
                message: Some("ranks 0 to 3 did not take part".into()),
            },
            ..Record::default()
        };
        let said = |end: SoFarEnd, elapsed_ns| {
            let mut record = of(elapsed_ns);
            end.tell_of_loss(&mut record, &PeerFault::lost("lost: b (rank 1)"));
            record.outcome.message.unwrap()
        };
        let still = || SoFarEnd::Open("it stood still; ".into());
        let begun = format!("it stood still; lost: b (rank 1); {NOT_BEGUN}");
        assert_eq!(said(still(), 0), begun);
        let measured = "it stood still; ranks 0 to 3 did not take part";
        assert_eq!(said(still(), 7), measured);
    }

    #[test]
    fn a_signal_during_the_removal_is_told_where_something_is_left() {
        let end = SoFarEnd::Stopped(CaughtSignal {
            signal: 15,
            impatient: false,
        });
        let of = |left_behind, status| Record {
            load: Some(record::LoadAccount {
                left_behind,
                ..record::LoadAccount::default()
            }),
            outcome: Outcome {
                status,
                ..Outcome::default()
            },
            ..Record::default()
        };
        let mut left = of(7, Status::Ok);
        end.tell_of_removal(&mut left);
        assert_eq!(left.outcome.exit_code, 143);
        let message = left.outcome.message.unwrap();
        assert!(
            message.contains("all was measured, and 7 objects"),
            "{message}"
        );
        for same in [of(0, Status::Ok), of(7, Status::Failed)] {
            let mut told = same.clone();
            end.tell_of_removal(&mut told);
            assert_eq!(told, same);
        }
        let mut open = of(7, Status::Ok);
        SoFarEnd::Open(String::new()).tell_of_removal(&mut open);
        assert_eq!(open, of(7, Status::Ok));
    }
}
