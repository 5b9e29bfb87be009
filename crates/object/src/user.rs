//! A virtual user: chooses, acts, and remembers what it has made.

use crate::client::Client;
use crate::failure::Failure;
use crate::payload::Object;
use crate::scenario::{
    KeyChoice, ObjectSet, ObjectSource, PayloadMode, Scenario, Seed, SizeDraw, UserStep,
};
use crate::verbs::{self, About, Call, Task, Uses};
use crate::weighted::Weighted;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use units::random::Random;

/// Objects of one user that are, or may be, on the server.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    pub(crate) next: u64,
    /// The oldest first.
    pub(crate) live: VecDeque<Object>,
    /// Of which nobody knows: an upload or a removal failed.
    pub(crate) doubtful: Vec<Object>,
    /// An upload or removal of this object is under way.
    pub(crate) pending: Option<Object>,
    /// Multipart uploads that were begun and neither completed nor aborted.
    pub(crate) uploads: Vec<(Object, String)>,
    /// Files that were posted, which have no key of ours.
    pub(crate) posted: u64,
}

/// Objects of the setup, and how one is chosen.
pub(crate) struct SeedSet {
    pub(crate) objects: Vec<Object>,
    draw: Option<Weighted>,
    /// The next to be deleted.
    next: AtomicU64,
    /// Whether some may not be there: their upload was not answered.
    pub(crate) is_in_doubt: bool,
}

impl SeedSet {
    pub(crate) fn new(seeds: &[Seed], keys: KeyChoice) -> Self {
        let (mut objects, mut weights) = (Vec::new(), Vec::new());
        for seed in seeds {
            for _ in 0..seed.count {
                let number = units::lossless::to_u64(objects.len());
                objects.push(Object::new(Object::SEED, number, seed.size));
                let rank = match keys {
                    KeyChoice::Uniform => 1.0,
                    KeyChoice::Zipf(theta) => ((number + 1) as f64).powf(-theta),
                };
                weights.push(seed.weight * rank);
            }
        }
        Self {
            draw: Weighted::new(weights.into_iter()),
            objects,
            next: AtomicU64::new(0),
            is_in_doubt: false,
        }
    }

    fn choose(&self, random: &mut Random) -> Option<Object> {
        self.draw
            .as_ref()
            .map(|draw| self.objects[draw.draw(random)])
    }

    fn take(&self) -> Option<Object> {
        let index = usize::try_from(self.next.fetch_add(1, Relaxed)).ok()?;
        self.objects.get(index).copied()
    }

    fn count_taken(&self) -> usize {
        usize::try_from(self.next.load(Relaxed))
            .unwrap_or(usize::MAX)
            .min(self.objects.len())
    }

    /// Seeds under the names that the server gave them.
    pub(crate) fn rename(&mut self, named: &[Object]) {
        let named: BTreeMap<u64, &Object> = named.iter().map(|of| (of.number, of)).collect();
        for seed in &mut self.objects {
            if let Some(object) = named.get(&seed.number) {
                *seed = **object;
            }
        }
    }

    /// Not all that were asked for came to be: those that did are there, and others may be.
    pub(crate) fn settle(&mut self, asked: &[Object], made: &[Object], in_doubt: &[Object]) {
        let number = |object: &Object| object.number;
        let mut missing: BTreeSet<u64> = asked.iter().map(number).collect();
        for object in made.iter().chain(in_doubt) {
            missing.remove(&object.number);
        }
        self.objects
            .retain(|object| !missing.contains(&object.number));
        self.is_in_doubt = !in_doubt.is_empty();
        self.give_back();
    }

    /// Those that a DELETE has taken.
    pub(crate) fn taken(&self) -> &[Object] {
        &self.objects[..self.count_taken()]
    }

    /// Those that no DELETE has taken.
    pub(crate) fn left(&self) -> &[Object] {
        &self.objects[self.count_taken()..]
    }

    /// All of them are there again.
    pub(crate) fn give_back(&self) {
        self.next.store(0, Relaxed);
    }
}

/// A scenario's steps ready to draw from.
pub(crate) struct Choices {
    pub(crate) steps: Vec<(UserStep, SizeDraw, Option<Weighted>)>,
    weights: Weighted,
    prefixes: u32,
    verify: bool,
    /// Of objects that are read, the bytes of a part.
    range: Option<u64>,
}

impl Choices {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let prepare = |step: &UserStep| {
            let sources = Weighted::new(step.from.iter().map(|source| source.weight));
            (step.clone(), SizeDraw::new(&step.sizes), sources)
        };
        Self {
            steps: scenario.steps.iter().map(prepare).collect(),
            weights: Weighted::new(scenario.steps.iter().map(|step| step.weight))
                .expect("a checked scenario has weights above 0"),
            prefixes: scenario.prefixes,
            range: scenario.range,
            verify: scenario.verify,
        }
    }
}

/// Whether bodies are part of signatures.
pub(crate) fn signs_payload(scenario: &Scenario) -> bool {
    scenario.payload == PayloadMode::Signed
}

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Done, well or not; the pause that follows.
    Done { sleep_ns: u64 },
    /// There was nothing to act on.
    Skipped { sleep_ns: u64 },
    /// There never will be anything to act on again.
    Exhausted,
}

pub(crate) struct User {
    pub(crate) index: u32,
    pub(crate) client: Client,
    pub(crate) random: Random,
    pub(crate) owned: Rc<RefCell<Owned>>,
    pub(crate) seeds: std::sync::Arc<SeedSet>,
    pub(crate) choices: Rc<Choices>,
}

impl User {
    /// One operation and what follows it.
    pub(crate) async fn turn(&mut self, intended: Option<u64>) -> Turn {
        let choices = Rc::clone(&self.choices);
        let (step, sizes, sources) = &choices.steps[choices.weights.draw(&mut self.random)];
        let uses = step.kind.verb().uses;
        let skipped = Turn::Skipped {
            sleep_ns: step.sleep_ns(0),
        };
        let about = match uses {
            Uses::New | Uses::Posted => {
                let size = sizes.draw(&mut self.random);
                About::object(Object::new(self.index, self.next_number(), size))
            }
            Uses::Copied | Uses::Present => {
                let Some(object) = self.choose(&step.from, sources.as_ref()) else {
                    return skipped;
                };
                if uses == Uses::Copied {
                    About::copy(object, self.index, self.next_number())
                } else {
                    About::object(object)
                }
            }
            Uses::Removed => {
                let from_seeds = step.from.iter().any(|source| source.set == ObjectSet::Seed);
                let own = || self.owned.borrow_mut().live.pop_front();
                match if from_seeds { self.seeds.take() } else { own() } {
                    Some(object) => About::object(object),
                    None if from_seeds => return Turn::Exhausted,
                    None => return skipped,
                }
            }
            Uses::Target | Uses::Names => About::TARGET,
        };
        let (kind, verify) = (step.kind, choices.verify);
        let task = Task {
            kind,
            step,
            about,
            verify,
            intended,
        };
        let done = self.perform(&task).await;
        let size = match about.object {
            None if uses == Uses::Target => self.client.received(),
            object => object.map_or(0, |object| object.size),
        };
        if let Ok(Some(object)) = done {
            self.follow(step, object, verify).await;
        }
        Turn::Done {
            sleep_ns: step.sleep_ns(size),
        }
    }

    /// The number of the next object of its own.
    fn next_number(&self) -> u64 {
        let mut owned = self.owned.borrow_mut();
        owned.next += 1;
        owned.next - 1
    }

    /// Which prefix is listed.
    pub(crate) fn draw_prefix(&mut self) -> u32 {
        let prefix = self.random.below(u64::from(self.choices.prefixes));
        u32::try_from(prefix).expect("below a u32")
    }

    /// The one request of a verb that has one.
    pub(crate) async fn request(&mut self, call: Call, task: &Task<'_>) -> Result<(), Failure> {
        let about = match self.choices.range {
            Some(size) if call == Call::Get => task.about.part_of(size, &mut self.random),
            Some(_) | None => task.about,
        };
        self.client
            .call(call, about, task.verify, task.intended)
            .await
            .map(drop)
    }

    /// Does what a task says, and remembers what is on the server after it; the object that it was
    /// about, as the server names it.
    async fn perform(&mut self, task: &Task<'_>) -> Result<Option<Object>, Failure> {
        let uses = task.kind.verb().uses;
        let changed = task
            .about
            .object
            .filter(|_| uses.makes_object() || uses == Uses::Removed);
        self.owned.borrow_mut().pending = changed;
        let result = verbs::perform(self, task).await;
        let object = task.about.object.map(|object| self.client.named(object));
        let mut owned = self.owned.borrow_mut();
        owned.pending = None;
        match (&result, changed) {
            (Ok(()), Some(_)) if uses.makes_object() => owned.live.extend(object),
            (Err(_), Some(object)) => owned.doubtful.push(object),
            (Ok(()), None) if uses == Uses::Posted => owned.posted += 1,
            (Ok(()) | Err(_), _) => {}
        }
        drop(owned);
        result.map(|()| object)
    }

    async fn follow(&mut self, step: &UserStep, object: Object, verify: bool) {
        for follow in &step.then {
            let is_its_turn =
                follow.one_in == 1 || self.random.below(u64::from(follow.one_in)) == 0;
            if !is_its_turn || follow.at_most.is_some_and(|most| object.size > most) {
                continue;
            }
            if follow.kind.verb().uses == Uses::Removed {
                let live = &mut self.owned.borrow_mut().live;
                // The newest, where no step has removed it already.
                if let Some(at) = live.iter().rposition(|live| *live == object) {
                    live.remove(at);
                }
            }
            let task = Task {
                kind: follow.kind,
                step,
                about: About::object(object),
                verify,
                intended: None,
            };
            let _counted = self.perform(&task).await;
        }
    }

    /// An object of one of the sources; where the drawn one has none, of another.
    fn choose(&mut self, from: &[ObjectSource], draw: Option<&Weighted>) -> Option<Object> {
        let Some(draw) = draw else {
            return self.seeds.choose(&mut self.random);
        };
        let first = draw.draw(&mut self.random);
        let order = std::iter::once(first).chain((0..from.len()).filter(|index| *index != first));
        order
            .map(|index| from[index])
            .find_map(|source| match source.set {
                ObjectSet::Seed => self.seeds.choose(&mut self.random),
                ObjectSet::Own => {
                    let owned = self.owned.borrow();
                    let live = owned.live.len();
                    let last = source.last.map_or(live, |last| (last as usize).min(live));
                    (last > 0).then(|| {
                        let back =
                            usize::try_from(self.random.below(units::lossless::to_u64(last)))
                                .expect("below a usize");
                        owned.live[live - 1 - back]
                    })
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbered_through_and_taken_once() {
        let seeds = [
            Seed {
                count: 2,
                size: 5,
                weight: 1.0,
            },
            Seed {
                count: 1,
                size: 9,
                weight: 3.0,
            },
        ];
        let set = SeedSet::new(&seeds, KeyChoice::Uniform);
        assert_eq!(
            set.objects
                .iter()
                .map(|object| (object.number, object.size))
                .collect::<Vec<_>>(),
            [(0, 5), (1, 5), (2, 9)]
        );
        assert_eq!(set.take().map(|object| object.number), Some(0));
        assert_eq!(set.left().len(), 2);
        assert_eq!(std::iter::from_fn(|| set.take()).count(), 2);
        assert!(set.take().is_none() && set.left().is_empty() && set.taken().len() == 3);
        set.give_back();
        assert_eq!(
            (
                set.taken().len(),
                set.left().len(),
                set.take().map(|object| object.number)
            ),
            (0, 3, Some(0))
        );
    }

    #[test]
    fn the_hottest_key_of_a_zipf_choice_is_the_first() {
        let set = SeedSet::new(
            &[Seed {
                count: 100,
                size: 1,
                weight: 1.0,
            }],
            KeyChoice::Zipf(1.0),
        );
        let mut random = Random::stream(1, 1);
        let firsts = (0..10_000)
            .filter(|_| set.choose(&mut random).unwrap().number == 0)
            .count() as f64;
        let expected = 1.0 / (1..=100).map(|rank| 1.0 / f64::from(rank)).sum::<f64>();
        assert!(
            (firsts / 10_000.0 - expected).abs() < 0.02,
            "{firsts} {expected}"
        );
    }
}
