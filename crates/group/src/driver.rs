//! Drives a member over a transport, on a thread of its own: politely while nothing happens, and
//! closely while clocks are compared, because a question for the time that waits for its answer is
//! worth as little as it waits.

use crate::drift::ClockDrift;
use crate::member::GroupMember;
use crate::message::{Message, Word};
use crate::terms::{Act, AgreedStart, MemberEnd, MemberInput};
use crate::timing::GroupTiming;
use std::sync::mpsc::{Receiver, TryRecvError};
use sys::{Clock, ClockReader};

/// Between two looks, while ranks have something to say to each other.
const LOOK_NS: u64 = 1_000_000;
/// The same where nobody has said anything for so long.
const QUIET_LOOK_NS: u64 = 5_000_000;
const QUIET_AFTER_NS: u64 = 20_000_000;
/// The same while all work, and only say how far they are: a look of some libraries takes 40 µs of a
/// CPU that a worker needs.
const WORKING_LOOK_NS: u64 = 20_000_000;
/// The same for so long after a word about time.
const CLOSE_LOOK_NS: u64 = 20_000;
const CLOSE_FOR_NS: u64 = 10_000_000;
/// So many messages are taken at one look.
const MOST_AT_ONCE: u32 = 256;

/// What carries messages between ranks. No call waits.
pub trait Carrier {
    /// # Errors
    /// It carries nothing any more.
    fn send(&mut self, to: u32, message: &[u8]) -> Result<(), String>;

    /// # Errors
    /// It carries nothing any more.
    fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, String>;
}

/// What whoever asked for a group is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// All words of a round; the root's user answers.
    Heard(Vec<Option<Word>>),
    Answered(Word),
    Begin {
        at: u64,
        /// By how much the root's clock is ahead of this one.
        ahead_ns: i64,
        bound_ns: u64,
        agreed: Option<AgreedStart>,
    },
    /// At the root: something came of that rank, at this time of its own.
    Spoke(u32, u64),
    Compared(Option<ClockDrift>),
    Halted,
    /// What had done most when the time was over, of all.
    Reached(u64),
    /// All have left so many steps of the work.
    Left(u64),
    Snapshot(u32, Word),
    Lost(Vec<u32>),
    End(MemberEnd),
    /// Messages do not come any more, and why.
    Broken(String),
}

/// Drives a rank until its group ends, it is told to leave, or the transport breaks. `reader`
/// is of the same clock, where others on this machine may look at it.
pub fn drive<C: Clock>(
    transport: &mut dyn Carrier,
    place: (u32, u32),
    timing: GroupTiming,
    (clock, mut reader): (&C, Option<ClockReader>),
    asked: &Receiver<MemberInput>,
    tell: &mut dyn FnMut(GroupEvent),
) {
    let _meanwhile = sys::precise_sleeps();
    let (rank, size) = place;
    let mut member = GroupMember::new(rank, size, timing, clock.now());
    let mut looks = Looks::since(clock.now());
    let mut acts = Vec::new();
    loop {
        loop {
            match asked.try_recv() {
                Ok(MemberInput::Leave) | Err(TryRecvError::Disconnected) => return,
                Ok(input) => {
                    let now = clock.now();
                    looks.asked(now, &input);
                    member.on(now, input, &mut acts);
                }
                Err(TryRecvError::Empty) => break,
            }
        }
        let mut taken = 0;
        while taken < MOST_AT_ONCE {
            let (from, bytes) = match transport.receive() {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(why) => return tell(GroupEvent::Broken(why)),
            };
            taken += 1;
            let now = clock.now();
            // What is no message is of nobody that this group knows.
            let Some(message) = Message::read(&bytes) else {
                continue;
            };
            if rank == 0 {
                tell(GroupEvent::Spoke(from, now));
            }
            let seen = read_clocks(reader.as_mut(), from, &message, &mut acts);
            looks.heard(now, &message);
            for input in seen.into_iter().chain([MemberInput::From(from, message)]) {
                member.on(now, input, &mut acts);
            }
            match perform(transport, &mut acts, &mut looks, tell) {
                Ok(false) => {}
                Ok(true) => return,
                Err(why) => return tell(GroupEvent::Broken(why)),
            }
        }
        let now = clock.now();
        if now >= looks.wake {
            looks.wake = u64::MAX;
            member.on(now, MemberInput::Wake, &mut acts);
        }
        match perform(transport, &mut acts, &mut looks, tell) {
            Ok(false) => {}
            Ok(true) => return,
            Err(why) => return tell(GroupEvent::Broken(why)),
        }
        if taken < MOST_AT_ONCE {
            let look = looks.next_ns(now);
            let now = clock.now();
            clock.sleep_until(looks.wake.clamp(now + 1000, now + look));
        }
    }
}

/// How often messages are looked for.
struct Looks {
    /// When the member wants to be woken.
    wake: u64,
    /// When something was last said, here or by others.
    said_at: u64,
    close_until: u64,
    /// All have begun, and nobody has said anything since but that, how far it is, and what time it is.
    all_work: bool,
}

impl Looks {
    const fn since(now: u64) -> Self {
        Self {
            wake: 0,
            said_at: now,
            close_until: 0,
            all_work: false,
        }
    }

    fn asked(&mut self, now: u64, input: &MemberInput) {
        self.said(now, matches!(input, MemberInput::Snapshot(_)));
    }

    fn heard(&mut self, now: u64, message: &Message) {
        if is_of_time(message) {
            self.close_until = now.saturating_add(CLOSE_FOR_NS);
        }
        let is_of_work = matches!(
            message,
            Message::Still
                | Message::Go { .. }
                | Message::Here { .. }
                | Message::Snapshot { .. }
                | Message::Ask { .. }
                | Message::Time { .. }
                | Message::Reader { .. }
        );
        self.said(now, is_of_work);
    }

    const fn said(&mut self, now: u64, is_of_work: bool) {
        self.said_at = now;
        self.all_work = self.all_work && is_of_work;
    }

    const fn begun(&mut self) {
        self.all_work = true;
    }

    /// Nanoseconds to the next look.
    const fn next_ns(&self, now: u64) -> u64 {
        if now < self.close_until {
            CLOSE_LOOK_NS
        } else if self.all_work {
            WORKING_LOOK_NS
        } else if now.saturating_sub(self.said_at) < QUIET_AFTER_NS {
            LOOK_NS
        } else {
            QUIET_LOOK_NS
        }
    }
}

/// Says, before a question for the time is answered, where this rank's clock may be read; how far that
/// of whoever says so is ahead, where it can be seen.
fn read_clocks(
    reader: Option<&mut ClockReader>,
    from: u32,
    heard: &Message,
    acts: &mut Vec<Act>,
) -> Option<MemberInput> {
    let reader = reader?;
    if let Message::Ask { .. } = heard {
        let word = reader.introduction().into_bytes().into();
        acts.push(Act::Send(from, Message::Reader { word }));
    }
    let Message::Reader { word } = heard else {
        return None;
    };
    Some(MemberInput::Ahead(from, reader.apart(word)?))
}

fn is_of_time(message: &Message) -> bool {
    matches!(
        message,
        Message::Ask { .. }
            | Message::Time { .. }
            | Message::Propose { .. }
            | Message::Ahead { .. }
    )
}

/// Does what the member wants; whether it has ended.
fn perform(
    transport: &mut dyn Carrier,
    acts: &mut Vec<Act>,
    looks: &mut Looks,
    tell: &mut dyn FnMut(GroupEvent),
) -> Result<bool, String> {
    for act in acts.drain(..) {
        match act {
            Act::Send(to, message) => transport.send(to, &message.bytes())?,
            Act::WakeAt(at) => looks.wake = at,
            Act::Heard(words) => tell(GroupEvent::Heard(words)),
            Act::Answered(word) => tell(GroupEvent::Answered(word)),
            Act::Begin {
                at,
                ahead_ns,
                bound_ns,
                agreed,
            } => {
                looks.begun();
                tell(GroupEvent::Begin {
                    at,
                    ahead_ns,
                    bound_ns,
                    agreed,
                });
            }
            Act::Compared(drift) => tell(GroupEvent::Compared(drift)),
            Act::Halted => tell(GroupEvent::Halted),
            Act::Reached(most) => tell(GroupEvent::Reached(most)),
            Act::Left(steps) => {
                looks.begun();
                tell(GroupEvent::Left(steps));
            }
            Act::Snapshot(rank, word) => tell(GroupEvent::Snapshot(rank, word)),
            Act::Lost(ranks) => tell(GroupEvent::Lost(ranks)),
            Act::End(ending) => {
                tell(GroupEvent::End(ending));
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use sys::MachineClock;

    const MS: u64 = 1_000_000;

    /// From whom, when it is there, and what it is.
    type Sent = (u32, u64, Vec<u8>);

    /// Ranks that are threads, and messages that take their time.
    struct Near {
        rank: u32,
        takes_ns: u64,
        to: Vec<Sender<Sent>>,
        here: Receiver<Sent>,
        on_its_way: Option<Sent>,
    }

    impl Carrier for Near {
        fn send(&mut self, to: u32, message: &[u8]) -> Result<(), String> {
            let there = MachineClock::monotonic().now() + self.takes_ns;
            let _gone = self.to[to as usize].send((self.rank, there, message.to_vec()));
            Ok(())
        }

        fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, String> {
            let next = self.on_its_way.take().or_else(|| self.here.try_recv().ok());
            let Some((from, there, bytes)) = next else {
                return Ok(None);
            };
            if MachineClock::monotonic().now() < there {
                self.on_its_way = Some((from, there, bytes));
                return Ok(None);
            }
            Ok(Some((from, bytes)))
        }
    }

    /// Drives so many ranks, whose clocks the others may look at or not; gives what each asks with, and
    /// what it is told.
    fn group(
        size: u32,
        takes_ns: u64,
        is_shown: bool,
    ) -> Vec<(Sender<MemberInput>, Receiver<GroupEvent>)> {
        let (to, here): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
        let ranks = here.into_iter().zip(0..).map(|(here, rank)| {
            let (ask, asked) = channel();
            let (say, told) = channel();
            let mut near = Near {
                rank,
                takes_ns,
                to: to.clone(),
                here,
                on_its_way: None,
            };
            std::thread::spawn(move || {
                let clock = MachineClock::monotonic();
                let timing = GroupTiming::default();
                let mut tell = |what| {
                    let _nobody_asks = say.send(what);
                };
                let reader = is_shown.then(|| ClockReader::own(clock).unwrap());
                let by = (&clock, reader);
                drive(&mut near, (rank, size), timing, by, &asked, &mut tell);
            });
            (ask, told)
        });
        ranks.collect()
    }

    /// The next that is more than a sign of life.
    fn next(told: &Receiver<GroupEvent>) -> GroupEvent {
        loop {
            let event = told.recv().unwrap();
            if !matches!(event, GroupEvent::Spoke(..)) {
                return event;
            }
        }
    }

    /// Sends to nobody, and nobody sends.
    struct Nobody;

    impl Carrier for Nobody {
        fn send(&mut self, _to: u32, _message: &[u8]) -> Result<(), String> {
            Ok(())
        }

        fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, String> {
            Ok(None)
        }
    }

    #[test]
    fn ranks_that_work_are_left_alone_until_something_else_is_said() {
        let snapshot = || MemberInput::Snapshot(b"far".as_slice().into());
        let begin = |looks: &mut Looks| {
            let begin = Act::Begin {
                at: 5,
                ahead_ns: 0,
                bound_ns: 0,
                agreed: None,
            };
            assert_eq!(
                perform(&mut Nobody, &mut vec![begin], looks, &mut |_| ()),
                Ok(false)
            );
        };
        let mut looks = Looks::since(0);
        assert_eq!(looks.next_ns(QUIET_AFTER_NS - 1), LOOK_NS);
        assert_eq!(looks.next_ns(QUIET_AFTER_NS), QUIET_LOOK_NS);
        for ends in [
            Message::Halt { start: 1 },
            Message::Reached { start: 1, most: 5 },
            Message::Left { start: 1, steps: 1 },
            Message::Lost { ranks: vec![1] },
        ] {
            begin(&mut looks);
            looks.asked(100 * MS, &snapshot());
            looks.heard(100 * MS, &Message::Still);
            looks.heard(100 * MS, &Message::Go { start: 1, at: 50 });
            assert_eq!(looks.next_ns(101 * MS), WORKING_LOOK_NS);
            looks.heard(102 * MS, &ends);
            assert_eq!(looks.next_ns(103 * MS), LOOK_NS, "{ends:?}");
        }
        begin(&mut looks);
        looks.asked(200 * MS, &MemberInput::Compare);
        assert_eq!(looks.next_ns(201 * MS), LOOK_NS);
        looks.asked(300 * MS, &snapshot());
        assert_eq!(looks.next_ns(301 * MS), LOOK_NS, "they do not work");
        begin(&mut looks);
        looks.heard(400 * MS, &Message::Ask { sent: 1 });
        assert_eq!(looks.next_ns(401 * MS), CLOSE_LOOK_NS);
        assert_eq!(looks.next_ns(411 * MS), WORKING_LOOK_NS);
    }

    #[test]
    fn ranks_on_threads_say_their_words_begin_together_and_end() {
        let way = 20 * MS;
        let asked = live(&group(3, way, false));
        let seen = live(&group(3, way, true));
        assert!(asked[1..].iter().all(|bound| *bound >= way), "{asked:?}");
        assert!(seen.iter().all(|bound| *bound < way / 2), "{seen:?}");
        live(&group(3, 0, true));
    }

    /// From the first word to the end; how well each rank knew the clock of the start.
    fn live(ranks: &[(Sender<MemberInput>, Receiver<GroupEvent>)]) -> Vec<u64> {
        for (ask, _) in ranks {
            ask.send(MemberInput::Say(b"hello".as_slice().into()))
                .unwrap();
        }
        let GroupEvent::Heard(words) = next(&ranks[0].1) else {
            panic!("the root hears the round first");
        };
        assert!(words.iter().all(|word| word.as_deref() == Some(b"hello")));
        let answer: Word = b"welcome".as_slice().into();
        ranks[0]
            .0
            .send(MemberInput::Answer(answer.clone()))
            .unwrap();
        for (ask, told) in ranks {
            assert_eq!(next(told), GroupEvent::Answered(answer.clone()));
            ask.send(MemberInput::Ready).unwrap();
        }
        let begins = ranks.iter().map(|(_, told)| {
            let GroupEvent::Begin {
                at,
                bound_ns,
                agreed,
                ..
            } = next(told)
            else {
                panic!("all begin");
            };
            let lead_ns = agreed.map(|agreed| agreed.lead_ns);
            assert!(lead_ns.is_none_or(|lead| lead >= GroupTiming::default().lead_ns));
            (at, bound_ns, agreed.is_some())
        });
        let begins: Vec<(u64, u64, bool)> = begins.collect();
        let know = begins.iter().map(|(.., knows)| *knows);
        assert_eq!(know.collect::<Vec<_>>(), [true, false, false]);
        for (at, bound_ns, _) in &begins {
            let apart = at.abs_diff(begins[0].0);
            assert!(
                apart <= *bound_ns,
                "they read one clock: {apart} beyond {bound_ns}"
            );
        }
        let far: Word = b"far".as_slice().into();
        ranks[2].0.send(MemberInput::Snapshot(far.clone())).unwrap();
        assert_eq!(next(&ranks[0].1), GroupEvent::Snapshot(2, far));
        for (ask, told) in ranks {
            ask.send(MemberInput::Compare).unwrap();
            let GroupEvent::Compared(Some(drift)) = next(told) else {
                panic!("all compare");
            };
            let is_within = drift.ns.unsigned_abs() <= drift.bound_ns;
            assert!(is_within, "they read one clock: {drift:?}");
        }
        ranks[1].0.send(MemberInput::Halt).unwrap();
        ranks
            .iter()
            .for_each(|(_, told)| assert_eq!(next(told), GroupEvent::Halted));
        ranks[0].0.send(MemberInput::Finish).unwrap();
        for (_, told) in ranks {
            assert_eq!(next(told), GroupEvent::End(MemberEnd::Over));
        }
        begins.iter().map(|(_, bound_ns, _)| *bound_ns).collect()
    }
}
