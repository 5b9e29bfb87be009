//! A virtual user: chooses, acts, and remembers what it has made.

use crate::calls::Call;
use crate::failure::{Failure, FailureKind, element};
use crate::habits::About;
use crate::payload::Object;
use crate::scenario::{
    KeyChoice, ObjectSet, ObjectSource, PayloadMode, Scenario, Seed, SizeDraw, StepKind, UserStep,
};
use crate::session::Session;
use crate::weighted::Weighted;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
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
    /// An upload was asked for, and the answer has not come: only the server knows its name.
    pub(crate) may_hide_uploads: bool,
    /// Files that were posted, which have no key of ours.
    pub(crate) posted: u64,
}

/// Objects of the setup, and how one is chosen.
pub(crate) struct SeedSet {
    pub(crate) objects: Vec<Object>,
    draw: Option<Weighted>,
    /// The next to be deleted.
    next: AtomicU64,
}

impl SeedSet {
    pub(crate) fn new(seeds: &[Seed], keys: KeyChoice) -> Self {
        let (mut objects, mut weights) = (Vec::new(), Vec::new());
        for seed in seeds {
            for _ in 0..seed.count {
                let number = units::lossless::to_u64(objects.len());
                objects.push(Object {
                    owner: Object::SEED,
                    number,
                    size: seed.size,
                });
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
            verify: scenario.verify,
        }
    }
}

/// Kinds of requests that a scenario makes.
pub(crate) fn calls(scenario: &Scenario) -> Vec<Call> {
    let mut out = Vec::new();
    for step in &scenario.steps {
        out.extend(
            std::iter::once(step.kind)
                .chain(step.then.iter().map(|follow| follow.kind))
                .flat_map(calls_of),
        );
    }
    out
}

fn calls_of(kind: StepKind) -> Vec<Call> {
    match kind {
        StepKind::Put => vec![Call::Put],
        StepKind::Get | StepKind::Fetch => vec![Call::Get],
        StepKind::Head => vec![Call::Head],
        StepKind::Delete => vec![Call::Delete],
        StepKind::List => vec![Call::List],
        StepKind::Post => vec![Call::Post],
        StepKind::Multipart => vec![
            Call::MultipartCreate,
            Call::MultipartPart,
            Call::MultipartComplete,
            Call::MultipartAbort,
        ],
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

/// Whether what should be removed was not there.
pub(crate) fn is_gone(failure: &Failure) -> bool {
    failure.kind == FailureKind::Status(404)
}

pub(crate) struct User {
    pub(crate) index: u32,
    pub(crate) session: Session,
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
        let done = |size: u64| Turn::Done {
            sleep_ns: step.sleep_ns(size),
        };
        match step.kind {
            StepKind::Fetch => {
                let _counted = self
                    .session
                    .call(Call::Get, About::Itself, false, intended)
                    .await;
                done(self.session.received())
            }
            StepKind::List => {
                let prefix = self.random.below(u64::from(choices.prefixes));
                let prefix = u32::try_from(prefix).expect("below a u32");
                let _counted = self
                    .session
                    .call(Call::List, About::Prefix(prefix), false, intended)
                    .await;
                done(0)
            }
            StepKind::Put | StepKind::Multipart | StepKind::Post => {
                let object = self.new_object(sizes);
                if self.upload(step, object, intended).await.is_ok() {
                    self.follow(step, object, choices.verify).await;
                }
                done(object.size)
            }
            StepKind::Get | StepKind::Head => {
                let Some(object) = self.choose(&step.from, sources.as_ref()) else {
                    return Turn::Skipped {
                        sleep_ns: step.sleep_ns(0),
                    };
                };
                let call = if step.kind == StepKind::Get {
                    Call::Get
                } else {
                    Call::Head
                };
                let _counted = self
                    .session
                    .call(call, About::Object(object), choices.verify, intended)
                    .await;
                done(object.size)
            }
            StepKind::Delete => {
                let from_seeds = step.from.iter().any(|source| source.set == ObjectSet::Seed);
                let own = || self.owned.borrow_mut().live.pop_front();
                let object = if from_seeds { self.seeds.take() } else { own() };
                match object {
                    Some(object) => {
                        self.delete(object, intended).await;
                        done(object.size)
                    }
                    None if from_seeds => Turn::Exhausted,
                    None => Turn::Skipped {
                        sleep_ns: step.sleep_ns(0),
                    },
                }
            }
        }
    }

    fn new_object(&mut self, sizes: &SizeDraw) -> Object {
        let size = sizes.draw(&mut self.random);
        let mut owned = self.owned.borrow_mut();
        let object = Object {
            owner: self.index,
            number: owned.next,
            size,
        };
        owned.next += 1;
        object
    }

    async fn upload(
        &mut self,
        step: &UserStep,
        object: Object,
        intended: Option<u64>,
    ) -> Result<(), Failure> {
        if step.kind == StepKind::Post {
            self.session
                .call(Call::Post, About::Object(object), false, intended)
                .await?;
            self.owned.borrow_mut().posted += 1;
            return Ok(());
        }
        self.owned.borrow_mut().pending = Some(object);
        let result = match step.kind {
            StepKind::Multipart => self.parts(step, object, intended).await,
            StepKind::Put
            | StepKind::Get
            | StepKind::Head
            | StepKind::Delete
            | StepKind::List
            | StepKind::Post
            | StepKind::Fetch => self
                .session
                .call(Call::Put, About::Object(object), false, intended)
                .await
                .map(drop),
        };
        let mut owned = self.owned.borrow_mut();
        owned.pending = None;
        match &result {
            Ok(()) => owned.live.push_back(object),
            Err(_) => owned.doubtful.push(object),
        }
        drop(owned);
        result
    }

    /// A multipart upload; aborted where a part fails.
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    async fn parts(
        &mut self,
        step: &UserStep,
        object: Object,
        intended: Option<u64>,
    ) -> Result<(), Failure> {
        let begin = About::Upload {
            object,
            upload: "",
            body: b"",
        };
        let hidden_before = std::mem::replace(&mut self.owned.borrow_mut().may_hide_uploads, true);
        let created = self
            .session
            .call(Call::MultipartCreate, begin, false, intended)
            .await;
        // A status is an answer; after anything else the server may have begun what nobody was told
        // of.
        let is_known = matches!(
            &created,
            Ok(_)
                | Err(Failure {
                    kind: FailureKind::Status(_) | FailureKind::Connect,
                    ..
                })
        );
        self.owned.borrow_mut().may_hide_uploads = hidden_before || !is_known;
        created?;
        let upload = element(self.session.collected(), "UploadId")
            .unwrap_or_default()
            .to_owned();
        self.owned
            .borrow_mut()
            .uploads
            .push((object, upload.clone()));
        let mut list = String::from("<CompleteMultipartUpload>");
        let (mut from, mut number) = (0, 1);
        let result = loop {
            let length = (object.size - from).min(step.part_bytes);
            let about = About::Part {
                object,
                upload: &upload,
                number,
                from,
                length,
            };
            if let Err(failure) = self
                .session
                .call(Call::MultipartPart, about, false, None)
                .await
            {
                break Err(failure);
            }
            let etag = String::from_utf8_lossy(self.session.etag()).replace('"', "&quot;");
            let _infallible = write!(
                list,
                "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            );
            (from, number) = (from + length, number + 1);
            if from >= object.size {
                list.push_str("</CompleteMultipartUpload>");
                let complete = About::Upload {
                    object,
                    upload: &upload,
                    body: list.as_bytes(),
                };
                break self
                    .session
                    .call(Call::MultipartComplete, complete, false, None)
                    .await
                    .map(drop);
            }
        };
        if result.is_err() {
            let abort = About::Upload {
                object,
                upload: &upload,
                body: b"",
            };
            if self
                .session
                .call(Call::MultipartAbort, abort, false, None)
                .await
                .is_err_and(|failure| !is_gone(&failure))
            {
                return result;
            }
        }
        self.owned
            .borrow_mut()
            .uploads
            .retain(|(_, open)| *open != upload);
        result
    }

    async fn follow(&mut self, step: &UserStep, object: Object, verify: bool) {
        for follow in &step.then {
            let is_its_turn =
                follow.one_in == 1 || self.random.below(u64::from(follow.one_in)) == 0;
            if !is_its_turn || follow.at_most.is_some_and(|most| object.size > most) {
                continue;
            }
            let call = match follow.kind {
                StepKind::Delete => {
                    self.owned.borrow_mut().live.pop_back();
                    self.delete(object, None).await;
                    continue;
                }
                StepKind::Head => Call::Head,
                StepKind::Put
                | StepKind::Get
                | StepKind::List
                | StepKind::Multipart
                | StepKind::Post
                | StepKind::Fetch => Call::Get,
            };
            let _counted = self
                .session
                .call(call, About::Object(object), verify, None)
                .await;
        }
    }

    async fn delete(&mut self, object: Object, intended: Option<u64>) {
        self.owned.borrow_mut().pending = Some(object);
        let result = self
            .session
            .call(Call::Delete, About::Object(object), false, intended)
            .await;
        let mut owned = self.owned.borrow_mut();
        owned.pending = None;
        if result.is_err() {
            owned.doubtful.push(object);
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

    #[test]
    fn calls_of_a_scenario_include_what_follows() {
        let mixed = calls(&Scenario::preset("upload").unwrap());
        assert_eq!(mixed, [Call::Put, Call::Delete]);
    }
}
