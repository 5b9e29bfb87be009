//! Up to a thousand ranks in one process on virtual time: clocks that are days apart and drift, ways
//! that are slow in one direction, messages and ranks that are lost.

use crate::{Act, ClockDrift, GroupMember, GroupTiming, MemberEnd, MemberInput, Message, Word};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::LazyLock;
use units::random::split_mix;

/// The true time at which all are there: late enough that no clock shows less than nothing.
const BEGIN: u64 = 2_000_000_000_000_000;
const MS: u64 = 1_000_000;
const DAY: i128 = 86_400_000_000_000;
/// By then all processes have begun, one after another.
const COME_WITHIN: u64 = 300 * MS;
/// What each rank works, where nobody is to stop it.
const WORK_NS: u64 = 2_500 * MS;
/// At work it says so often how far it is.
const FAR_EVERY_NS: u64 = 700 * MS;
/// By then all must have ended: clocks, eight proposals, the work, and the patience of all.
const LONGEST: u64 = 90_000 * MS;

/// What messages and clocks meet.
#[derive(Clone, Copy, Debug)]
struct Weather {
    seed: u64,
    /// The least and the most that a message takes; each way of each pair has a delay of its own
    /// beside.
    delay_ns: (u64, u64),
    lost_per_mille: u64,
    drift_ppm: u64,
    /// So many of thousand ranks see how far the clock of whom they ask is ahead, and so many more see
    /// another one's.
    beside_per_mille: u64,
    misled_per_mille: u64,
}

const CALM: Weather = Weather {
    seed: 1,
    delay_ns: (5_000, 40_000),
    lost_per_mille: 0,
    drift_ppm: 100,
    beside_per_mille: 0,
    misled_per_mille: 0,
};

/// What a rank sees of the clock of whom it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sees {
    Nothing,
    Clock,
    Another,
}

/// How well it sees it.
const SEEN_NS: i128 = 1_000;

struct Host {
    member: GroupMember,
    offset: i128,
    ppm: i128,
    sees: Sees,
    /// It dies when it has been told so much.
    dies_after: Option<u64>,
    told: u64,
    wake: Option<u64>,
    script: Script,
    finished: bool,
    /// Was told that what was begun is to end.
    is_halted: bool,
    /// How often it said how far it is.
    said_far: u64,
    /// What of that came to the root.
    came: BTreeSet<u64>,
    /// When it began, by true time, and how well it said it knew.
    began: Option<(u64, u64)>,
    /// How much it had been told by then.
    began_after: Option<u64>,
    /// What the greatest of all had done.
    most: Option<u64>,
    /// Steps of the work that it has left, and that it knows all to have left.
    left: u64,
    left_by_all: u64,
    /// What it found its clock to have done since, and when, by true time.
    compared: Option<(u64, ClockDrift)>,
    ending: Option<MemberEnd>,
}

/// What a rank does with its group: all say who they are, begin together, and say what they have;
/// the root says whether that is all.
#[derive(Debug, Default)]
struct Script {
    greeted: bool,
    /// Greeted back, and it has not said what it has.
    may_say: bool,
    /// What the root answered at the end.
    verdict: Option<Word>,
    /// What the root gave as the parts of all.
    parts: Option<Vec<Option<Word>>>,
    lost: Vec<u32>,
}

/// Steps of the work, of which nobody begins the next before all have left one.
const STEPS: u64 = 3;
const GREETING: &[u8] = b"here";
const NOTHING: &[u8] = b"nothing";
const WHOLE: &[u8] = b"whole";
const NOT_WHOLE: &[u8] = b"not whole";

/// How far a rank comes.
fn reached(rank: u32) -> u64 {
    split_mix(rank.into()) % 1000
}

fn part(rank: u32) -> Word {
    (rank + 100).to_le_bytes().as_slice().into()
}

/// How far a rank is, said for so many times.
fn far(rank: u32, times: u64) -> Word {
    format!("{rank} {times}").into_bytes().into()
}

impl Host {
    fn shows(&self, truth: u64) -> u64 {
        let truth = i128::from(truth);
        u64::try_from(truth + truth * self.ppm / 1_000_000 + self.offset).unwrap()
    }

    /// The first true moment at which its clock shows at least this.
    fn moment(&self, own: u64) -> u64 {
        let guess = (i128::from(own) - self.offset) * 1_000_000 / (1_000_000 + self.ppm);
        let mut truth = u64::try_from(guess - 2).unwrap();
        while self.shows(truth) < own {
            truth += 1;
        }
        truth
    }

    /// All have left so many steps: it leaves the next.
    fn hear_left(&mut self, steps: u64) -> Vec<MemberInput> {
        assert_eq!(steps, self.left, "it waits for all to leave that");
        self.left_by_all = steps;
        if steps == STEPS {
            return self.compares();
        }
        self.left = steps + 1;
        vec![MemberInput::Left(self.left)]
    }

    /// All that is told of the work has come.
    fn compares(&self) -> Vec<MemberInput> {
        let has_all = self.most.is_some() && self.left_by_all == STEPS;
        has_all
            .then_some(MemberInput::Compare)
            .into_iter()
            .collect()
    }

    fn is_whole(&self) -> bool {
        self.script.verdict.as_deref() == Some(WHOLE)
    }

    fn is_dead(&self) -> bool {
        self.dies_after.is_some_and(|after| self.told >= after)
    }
}

impl Script {
    /// Says what it has, once, and only after it was greeted.
    fn say(&mut self, word: Word) -> Vec<MemberInput> {
        match std::mem::take(&mut self.may_say) {
            true => vec![MemberInput::Say(word)],
            false => Vec::new(),
        }
    }

    /// What the root makes of the words of a round.
    fn answer(&mut self, words: Vec<Option<Word>>, size: usize) -> Vec<MemberInput> {
        assert_eq!(words.len(), size);
        let are_greetings = words.iter().flatten().any(|word| **word == *GREETING);
        let is_whole = words
            .iter()
            .all(|word| word.as_deref().is_some_and(|word| word != NOTHING));
        let answer = match (are_greetings, is_whole) {
            (true, true) => GREETING,
            (false, true) => WHOLE,
            (_, false) => NOT_WHOLE,
        };
        if !are_greetings {
            self.parts = Some(words);
        }
        vec![MemberInput::Answer(answer.into())]
    }

    fn answered(&mut self, word: &Word) -> Vec<MemberInput> {
        if **word != *GREETING {
            self.verdict = Some(word.clone());
            // Only the root is heard.
            return vec![MemberInput::Finish];
        }
        self.may_say = true;
        match self.lost.is_empty() {
            true => vec![MemberInput::Ready],
            false => self.say(NOTHING.into()),
        }
    }
}

/// What happens at a true moment: by its time, then in the order in which it came to be known.
type Event = Reverse<(u64, u64, u32, Happening)>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Wake,
    /// It is at work, and says how far.
    IsFar,
    /// It wants all to stop.
    Stops,
    Finished,
    /// The message with this number, from this rank.
    Arrived(u32, usize),
}

struct World {
    hosts: Vec<Host>,
    weather: Weather,
    /// Who wants all to stop, and so long after its own start. Where there is anybody, work ends no other
    /// way.
    stops: Vec<(u32, u64)>,
    events: BinaryHeap<Event>,
    messages: Vec<Option<Message>>,
    drawn: u64,
    now: u64,
}

impl World {
    fn new(size: u32, weather: Weather, dies: &[(u32, u64)]) -> Self {
        let mut world = Self {
            hosts: Vec::new(),
            weather,
            stops: Vec::new(),
            events: BinaryHeap::new(),
            messages: Vec::new(),
            drawn: 0,
            now: BEGIN,
        };
        for rank in 0..size {
            let offset = i128::from(world.draw(20_000)) * DAY / 1000 - 10 * DAY;
            let ppm =
                i128::from(world.draw(2 * weather.drift_ppm + 1)) - i128::from(weather.drift_ppm);
            let lot = world.draw(1000);
            let sees = match lot {
                lot if lot < weather.beside_per_mille => Sees::Clock,
                lot if lot < weather.beside_per_mille + weather.misled_per_mille => Sees::Another,
                _ => Sees::Nothing,
            };
            let there = BEGIN + world.draw(COME_WITHIN);
            let mut host = Host {
                member: GroupMember::new(rank, size, GroupTiming::default(), 0),
                offset,
                ppm,
                sees,
                dies_after: dies
                    .iter()
                    .find(|(of, _)| *of == rank)
                    .map(|(_, after)| *after),
                told: 0,
                wake: Some(there),
                script: Script::default(),
                finished: false,
                is_halted: false,
                said_far: 0,
                came: BTreeSet::new(),
                began: None,
                began_after: None,
                most: None,
                left: 0,
                left_by_all: 0,
                compared: None,
                ending: None,
            };
            host.member = GroupMember::new(rank, size, GroupTiming::default(), host.shows(there));
            world.hosts.push(host);
            world.happens(there, rank, Happening::Wake);
        }
        world
    }

    fn stopped_by(self, stops: &[(u32, u64)]) -> Self {
        let stops = stops.to_vec();
        Self { stops, ..self }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        split_mix(split_mix(self.weather.seed) ^ self.drawn) % below.max(1)
    }

    fn happens(&mut self, at: u64, rank: u32, what: Happening) {
        self.drawn += 1;
        self.events.push(Reverse((at, self.drawn, rank, what)));
    }

    fn run(mut self) -> Self {
        while let Some(Reverse((at, _, rank, what))) = self.events.pop() {
            self.now = at;
            if at > BEGIN + LONGEST {
                break;
            }
            let host = &mut self.hosts[rank as usize];
            let mut inputs = Vec::new();
            match what {
                Happening::Wake if host.wake == Some(at) => {
                    inputs.push(MemberInput::Wake);
                    if !std::mem::replace(&mut host.script.greeted, true) {
                        inputs.push(MemberInput::Say(GREETING.into()));
                    }
                }
                Happening::Wake => continue,
                Happening::IsFar | Happening::Stops if host.finished => continue,
                Happening::IsFar => {
                    if !host.is_dead() && host.ending.is_none() {
                        host.said_far += 1;
                        inputs.push(MemberInput::Snapshot(far(rank, host.said_far)));
                        self.happens(at + FAR_EVERY_NS, rank, Happening::IsFar);
                    }
                }
                Happening::Stops => inputs.push(MemberInput::Halt),
                Happening::Finished if host.finished => continue,
                Happening::Finished => {
                    host.finished = !host.is_dead();
                    host.left = 1;
                    inputs.push(MemberInput::Reached(reached(rank)));
                    inputs.push(MemberInput::Left(1));
                }
                Happening::Arrived(from, number) => {
                    let message = self.messages[number].take().unwrap();
                    // What crosses is bytes.
                    let read = Message::read(&message.bytes()).unwrap();
                    if let Message::Time { .. } = read {
                        inputs.extend(self.seen(rank, from));
                    }
                    inputs.push(MemberInput::From(from, read));
                }
            }
            self.tell(rank, inputs);
        }
        self
    }

    /// What a rank sees of the clock of another.
    fn seen(&self, rank: u32, from: u32) -> Option<MemberInput> {
        let [own, other] = [rank, from].map(|rank| &self.hosts[rank as usize]);
        let ahead = match own.sees {
            Sees::Nothing => return None,
            Sees::Clock => i128::from(other.shows(self.now)) - i128::from(own.shows(self.now)),
            Sees::Another => 0,
        };
        // Clocks show whole nanoseconds.
        let range = (ahead - SEEN_NS, ahead + SEEN_NS);
        Some(MemberInput::Ahead(from, range))
    }

    /// Tells a member, and does what it and its script want.
    fn tell(&mut self, rank: u32, mut inputs: Vec<MemberInput>) {
        while !inputs.is_empty() {
            let now = self.now;
            let host = &mut self.hosts[rank as usize];
            if host.is_dead() || host.ending.is_some() {
                return;
            }
            let mut acts = Vec::new();
            host.told += 1;
            let own = host.shows(now);
            for input in std::mem::take(&mut inputs) {
                host.member.on(own, input, &mut acts);
            }
            for act in acts {
                inputs.extend(self.act(rank, act));
            }
        }
    }

    fn act(&mut self, rank: u32, act: Act) -> Vec<MemberInput> {
        let now = self.now;
        let size = self.hosts.len();
        let host = &mut self.hosts[rank as usize];
        match act {
            Act::Send(to, message) => {
                if self.draw(1000) < self.weather.lost_per_mille {
                    return Vec::new();
                }
                let (least, most) = self.weather.delay_ns;
                let way = split_mix(self.weather.seed ^ (u64::from(rank) << 32) ^ u64::from(to));
                let own = way % (most - least + 1);
                let delay = least + own + self.draw(most - least + 1);
                self.messages.push(Some(message));
                let number = self.messages.len() - 1;
                self.happens(now + delay, to, Happening::Arrived(rank, number));
            }
            Act::WakeAt(own) => {
                let at = host.moment(own).max(now + 1);
                host.wake = Some(at);
                self.happens(at, rank, Happening::Wake);
            }
            Act::Begin { at, bound_ns, .. } => {
                let truth = host.moment(at);
                assert!(
                    truth >= now && host.began.is_none(),
                    "rank {rank} began twice or late"
                );
                host.began = Some((truth, bound_ns));
                host.began_after = Some(host.told);
                self.works(truth, rank);
            }
            Act::Compared(drift) => {
                host.compared = drift.map(|drift| (now, drift));
                return host.script.say(part(rank));
            }
            Act::Heard(words) => return host.script.answer(words, size),
            Act::Answered(word) => return host.script.answered(&word),
            Act::Lost(ranks) => {
                host.script.lost = ranks;
                return host.script.say(NOTHING.into());
            }
            Act::Reached(most) => {
                assert!(
                    host.finished && host.most.is_none(),
                    "rank {rank} did not ask"
                );
                host.most = Some(most);
                return host.compares();
            }
            Act::Left(steps) => return host.hear_left(steps),
            Act::Halted => {
                host.is_halted = true;
                // Whoever has not begun begins, and ends at once.
                if let Some((began, _)) = host.began {
                    self.happens(now.max(began), rank, Happening::Finished);
                }
            }
            Act::Snapshot(from, word) => {
                assert_eq!(rank, 0, "the root alone hears how far others are");
                let of = &mut self.hosts[from as usize];
                let mut said = 1..=of.said_far;
                let times = said.find(|times| far(from, *times) == word);
                let is_new = times.is_some_and(|times| of.came.insert(times));
                assert!(is_new, "rank {from} did not say {word:?}, or once");
            }
            Act::End(ending) => host.ending = Some(ending),
        }
        Vec::new()
    }

    /// What comes of a start at that time.
    fn works(&mut self, began: u64, rank: u32) {
        self.happens(began + FAR_EVERY_NS, rank, Happening::IsFar);
        if self.stops.is_empty() {
            self.happens(began + WORK_NS, rank, Happening::Finished);
        }
        for (_, after) in self.stops.clone().iter().filter(|(of, _)| *of == rank) {
            self.happens(began + after, rank, Happening::Stops);
        }
    }

    /// Whatever happened: all who live have ended, nobody says that all is well where something is
    /// lost, and every rank began as near to the root as it says.
    fn holds(&self) {
        for (host, rank) in self.hosts.iter().zip(0..) {
            assert!(
                host.ending.is_some() || host.is_dead(),
                "rank {rank} hangs: {:?} {:?}",
                host.script,
                self.weather
            );
            if host.is_whole() {
                assert!(
                    self.hosts.iter().all(|host| host.finished),
                    "{:?}",
                    self.weather
                );
                let all = (0..).take(self.hosts.len()).map(|rank| Some(part(rank)));
                let parts = self.hosts[0].script.parts.as_ref();
                assert_eq!(parts, Some(&all.collect()));
                // What some have stopped all have.
                let halted = self.hosts.iter().filter(|host| host.is_halted).count();
                let wanted = if self.stops.is_empty() {
                    0
                } else {
                    self.hosts.len()
                };
                assert_eq!(halted, wanted, "{:?}", self.weather);
            }
        }
        let greatest = (0..).take(self.hosts.len()).map(reached).max();
        for most in self.hosts.iter().filter_map(|host| host.most) {
            // Nobody goes on for what only some have said.
            assert_eq!(Some(most), greatest, "{:?}", self.weather);
            assert!(self.hosts.iter().all(|host| host.began.is_some()));
        }
        let fewest = self.hosts.iter().map(|host| host.left).min();
        for host in &self.hosts {
            // Nobody goes on before all have come so far.
            assert!(Some(host.left_by_all) <= fewest, "{:?}", self.weather);
        }
        let root = &self.hosts[0];
        let Some((root_began, _)) = root.began else {
            return;
        };
        for (began, bound_ns) in self.hosts.iter().filter_map(|host| host.began) {
            let error = root.shows(began).abs_diff(root.shows(root_began));
            // Clocks show whole nanoseconds.
            assert!(
                error <= bound_ns + 3,
                "{error} beyond {bound_ns} in {:?}",
                self.weather
            );
        }
        for host in &self.hosts {
            let Some(((began, _), (at, drift))) = host.began.zip(host.compared) else {
                continue;
            };
            let apart = |at| i128::from(root.shows(at)) - i128::from(host.shows(at));
            let truth = apart(at) - apart(began);
            let error = (truth - i128::from(drift.ns)).unsigned_abs();
            assert!(
                error <= u128::from(drift.bound_ns) + 6,
                "{truth} is said to be {drift:?} in {:?}",
                self.weather
            );
        }
    }
}

#[test]
fn from_one_to_a_thousand_ranks_begin_within_their_bounds_and_all_parts_come() {
    for size in [1, 2, 3, 8, 65, 1000] {
        let world = World::new(size, CALM, &[]).run();
        world.holds();
        for host in &world.hosts {
            assert!(host.is_whole(), "{size}: {:?}", host.script);
            assert_eq!(host.ending, Some(MemberEnd::Over));
            assert_eq!(host.came, (1..=WORK_NS / FAR_EVERY_NS).collect());
            let (began, bound_ns) = host.began.unwrap();
            // What is said and asked beforehand takes no longer once the last is there. One rank alone is no
            // group, and hears itself when it is woken.
            let most = COME_WITHIN + GroupTiming::default().lead_ns + 300 * MS;
            let took = began - BEGIN;
            assert!(size == 1 || took <= most, "{size}: {took} beyond {most}");
            assert!(bound_ns < MS, "{bound_ns} of {size}");
            let (_, drift) = host.compared.unwrap();
            assert!(drift.bound_ns < 2 * MS, "{drift:?} of {size}");
        }
    }
}

#[test]
fn whoever_stops_it_stops_all_ranks_and_what_they_had_comes() {
    for (size, by) in [(1, 0), (4, 0), (4, 3), (65, 40)] {
        let after = 1_500 * MS;
        let world = World::new(size, CALM, &[]).stopped_by(&[(by, after)]).run();
        world.holds();
        for host in &world.hosts {
            assert!(host.is_whole(), "{size}: {:?}", host.script);
            assert_eq!(host.came, (1..=after / FAR_EVERY_NS).collect());
        }
    }
    // Who wants it says so until it is heard.
    for seed in 0..40 {
        let weather = Weather {
            seed,
            lost_per_mille: 200,
            ..CALM
        };
        let world = World::new(4, weather, &[]);
        world.stopped_by(&[(3, 500 * MS)]).run().holds();
    }
}

#[test]
fn ranks_that_see_each_other_s_clocks_know_them_at_the_first_answer_whatever_the_ways_take() {
    let slow = Weather {
        delay_ns: (2 * MS, 30 * MS),
        beside_per_mille: 1000,
        ..CALM
    };
    let sound = World::new(64, slow, &[]).run();
    sound.holds();
    for host in &sound.hosts {
        let (_, bound_ns) = host.began.unwrap();
        // What is left is what clocks may run apart from the last answer to the start.
        assert!(bound_ns < MS / 2, "{bound_ns}");
        let (_, drift) = host.compared.unwrap();
        assert!(drift.bound_ns < MS, "{drift:?}");
    }
    let misled = Weather {
        beside_per_mille: 0,
        misled_per_mille: 1000,
        ..slow
    };
    let misled = World::new(64, misled, &[]).run();
    misled.holds();
    assert!(misled.hosts.iter().all(Host::is_whole));
    let [first, last] = [&sound, &misled].map(|world| world.hosts[0].began.unwrap().0);
    assert!(first + 50 * MS < last, "{first} {last}");
}

#[test]
fn what_was_seen_before_a_question_says_nothing_of_its_answer() {
    let knows = |seen_at: u64| {
        let mut member = GroupMember::new(1, 2, GroupTiming::default(), BEGIN);
        let asked = BEGIN + 8_000 * MS;
        let back = asked + 40 * MS;
        let time = Message::Time {
            sent: asked,
            read: asked + 20 * MS,
            root: Some((0, 0)),
        };
        let told = [
            (BEGIN, MemberInput::From(0, Message::Still)),
            (asked, MemberInput::Ready),
            (seen_at, MemberInput::Ahead(0, (-1_000, 1_000))),
            (back, MemberInput::From(0, time)),
        ];
        let mut acts = Vec::new();
        for (at, input) in told {
            member.on(at, input, &mut acts);
        }
        let is_known = |message: &Message| {
            matches!(
                message,
                Message::Here {
                    bound_ns: Some(_),
                    ..
                }
            )
        };
        acts.iter()
            .any(|act| matches!(act, Act::Send(0, message) if is_known(message)))
    };
    assert!(knows(BEGIN + 8_039 * MS));
    assert!(!knows(BEGIN + 7_999 * MS));
}

#[test]
fn whichever_rank_dies_at_whichever_step_all_others_end_and_say_so() {
    // Clocks are known at the first answer, so that there are few steps.
    let near = Weather {
        delay_ns: (1_000, 10_000),
        ..CALM
    };
    let sound = World::new(4, near, &[]).run();
    for (host, rank) in sound.hosts.iter().zip(0..) {
        for step in 0..host.told {
            let world = World::new(4, near, &[(rank, step)]).run();
            world.holds();
            let others = world
                .hosts
                .iter()
                .zip(0..)
                .filter(|(_, other)| *other != rank);
            let is_late = world.hosts[rank as usize].finished;
            for (other, _) in others.filter(|_| !is_late) {
                assert!(!other.is_whole(), "rank {rank} died after {step}");
                let lost = &other.script.lost;
                let names_it = lost.contains(&rank) || lost.contains(&0);
                assert!(
                    names_it,
                    "rank {rank} died after {step}: {:?}",
                    other.script
                );
            }
        }
    }
}

#[test]
fn a_start_that_messages_cannot_reach_in_time_is_proposed_again_with_more_lead() {
    // Slower than the first lead.
    let slow = Weather {
        delay_ns: (120 * MS, 180 * MS),
        ..CALM
    };
    let world = World::new(5, slow, &[]).run();
    world.holds();
    assert!(world.hosts.iter().all(Host::is_whole));
}

#[test]
fn a_rank_that_stood_still_itself_does_not_take_the_others_for_lost() {
    let timing = GroupTiming::default();
    let told = |rank: u32, other: u32, message: &Message| {
        let mut member = GroupMember::new(rank, 2, timing, BEGIN);
        let mut lost_at = |at: u64, inputs: Vec<MemberInput>| {
            let mut acts = Vec::new();
            for input in inputs {
                member.on(at, input, &mut acts);
            }
            acts.iter().any(|act| matches!(act, Act::Lost(_)))
        };
        let heard = MemberInput::From(other, message.clone());
        assert!(!lost_at(BEGIN + MS, vec![heard, MemberInput::Wake]));
        // Nobody told it anything for a minute; then time goes on as always.
        let away = BEGIN + 60_000 * MS;
        let told = (0..).map(|second| away + second * 1000 * MS);
        let mut looks = told.map(|at| (at, lost_at(at, vec![MemberInput::Wake])));
        let (at, _) = looks.find(|(_, is_lost)| *is_lost).unwrap();
        (at - away) / (1000 * MS)
    };
    let here = Message::Here {
        heard: 0,
        wants: 0,
        bound_ns: None,
    };
    let patience = timing.lost_after_ns / (1000 * MS);
    for seconds in [told(0, 1, &here), told(1, 0, &Message::Still)] {
        assert!((patience..=patience + 1).contains(&seconds), "{seconds}");
    }
}

/// Ways of which each has its own length in either direction, up to a tenth of the first lead, and clocks
/// that run apart as far as clocks may, of which some are seen and some are taken for another.
const FOUL: Weather = Weather {
    seed: 5,
    delay_ns: (100_000, 20 * MS),
    lost_per_mille: 0,
    drift_ppm: 100,
    beside_per_mille: 500,
    misled_per_mille: 200,
};

/// A thousand ranks in it of which none is lost; both tests begin with them.
static FOUL_AND_WHOLE: LazyLock<World> = LazyLock::new(|| World::new(1000, FOUL, &[]).run());

#[test]
fn a_thousand_ranks_in_foul_weather_begin_within_bounds_that_they_need() {
    let world = &*FOUL_AND_WHOLE;
    world.holds();
    let root = &world.hosts[0];
    let (root_began, _) = root.began.unwrap();
    let errors = world.hosts.iter().map(|host| {
        assert!(host.is_whole(), "{:?}", host.script);
        let (began, bound_ns) = host.began.unwrap();
        let error = root.shows(began).abs_diff(root.shows(root_began));
        (error, bound_ns)
    });
    let (error, bound) = errors.max().unwrap();
    // A bound of seconds would hold of anything.
    assert!(error > MS && bound < 200 * MS, "{error} {bound}");
}

#[test]
fn a_thousand_ranks_in_foul_weather_end_and_none_says_that_all_is_well_where_one_is_lost() {
    let sound = |rank: u32| {
        let host = &FOUL_AND_WHOLE.hosts[rank as usize];
        (host.began_after.unwrap(), host.told)
    };
    let ((root_began, _), (began, _), (_, ended)) = (sound(0), sound(512), sound(999));
    for (lost_per_mille, dies) in [
        // The root before the start, one whom many ask at work, and one whom nobody asks near its end.
        (0, vec![(0, root_began / 2)]),
        (0, vec![(512, began + 1), (999, ended - 2)]),
        // Few messages are lost, and many where one is that never comes.
        (1, vec![]),
        (300, vec![(512, 3)]),
    ] {
        let weather = Weather {
            lost_per_mille,
            ..FOUL
        };
        let world = World::new(1000, weather, &dies).run();
        world.holds();
        let whole = world.hosts.iter().filter(|host| host.is_whole()).count();
        let are_all_there = dies.is_empty();
        assert_eq!(whole, if are_all_there { 1000 } else { 0 }, "{weather:?}");
        for (host, rank) in world.hosts.iter().zip(0..) {
            let is_dead = dies.iter().any(|(dead, _)| *dead == rank);
            let lost = &host.script.lost;
            let names_any = lost
                .iter()
                .any(|lost| *lost == 0 || dies.iter().any(|(dead, _)| dead == lost));
            assert!(
                is_dead || are_all_there || names_any,
                "rank {rank}: {:?}",
                host.script
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn it_always_ends_and_never_well_with_a_loss(
        seed in any::<u64>(),
        size in 1_u32..14,
        least in 1_000_u64..3 * MS,
        more in 1_u64..40 * MS,
        lost_per_mille in prop_oneof![Just(0_u64), 0_u64..400],
        drift_ppm in 0_u64..=100,
        beside_per_mille in 0_u64..=1000,
        misled_per_mille in 0_u64..=1000,
        dies in prop::collection::vec((0_u32..14, 0_u64..1500), 0..3),
        stops in prop::collection::vec((0_u32..14, 0..WORK_NS), 0..3),
    ) {
        let weather = Weather { seed, delay_ns: (least, least + more), lost_per_mille, drift_ppm, beside_per_mille, misled_per_mille };
        let stops: Vec<(u32, u64)> = stops.iter().map(|(rank, after)| (rank % size, *after)).collect();
        World::new(size, weather, &dies).stopped_by(&stops).run().holds();
    }
}
