//! Two ranks of one load, as threads, of which one misses the start or does not come to it.

use super::server::{Act, Asked, Server};
use super::{MS, context, plan, preset};
use host::{CommonStart, Context, NoWatch, PeerFault, Peers, SnapshotRule, StartBy};
use object::{LoadError, LoadPlan, LoadShare, Setup, execute};
use record::{GroupAccount, Record, Status};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sys::{Clock as _, MachineClock};

type Word = Result<String, PeerFault>;

/// One of two, that tells the other what it says.
#[derive(Debug)]
struct OfTwo {
    rank: u32,
    to: Mutex<Sender<Word>>,
    from: Mutex<Receiver<Word>>,
    is_halted: Arc<AtomicBool>,
    is_late: bool,
}

impl OfTwo {
    /// What both say, in the order of their numbers.
    fn said(&self, own: Word) -> Result<Vec<String>, PeerFault> {
        let _the_other_has_ended = self.to.lock().unwrap().send(own.clone());
        let from = self.from.lock().unwrap();
        let other = from.recv_timeout(Duration::from_secs(20));
        let other = other.expect("the other comes to as many meetings");
        let both = [own?, other?];
        Ok(match self.rank {
            0 => both.into(),
            _ => both.into_iter().rev().collect(),
        })
    }
}

impl Peers for OfTwo {
    fn meet(&self, own: Result<(), PeerFault>) -> Result<(), PeerFault> {
        self.said(own.map(|()| String::new())).map(drop)
    }

    fn confer(
        &self,
        own: String,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault> {
        self.said(Ok(own)).map(|both| decide(&both))
    }

    fn start(&self) -> Result<u64, PeerFault> {
        let clock = MachineClock::monotonic();
        if self.is_late {
            // The other has begun by then.
            clock.sleep_until(clock.now() + 300 * MS);
            return Ok(1);
        }
        Ok(clock.now() + 50 * MS)
    }

    fn is_halted(&self) -> bool {
        self.is_halted.load(Relaxed)
    }

    fn halt(&self) {
        self.is_halted.store(true, Relaxed);
    }

    fn reached(&self, _most: u64) {}

    fn most_reached(&self) -> Option<u64> {
        None
    }

    fn left(&self, _steps: u64) {}

    fn left_by_all(&self) -> u64 {
        0
    }
}

#[test]
fn a_rank_that_misses_the_start_ends_the_other_and_meets_it_as_often_as_that_does() {
    for late in 0..2 {
        let server = Server::start(|_| Act::Answer);
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        let [first, second] = both(&whole, Some(late));
        let (missed, other) = if late == 0 {
            (first, second)
        } else {
            (second, first)
        };
        assert!(matches!(missed, Err(LoadError::Missed { .. })), "{late}");
        let other = other.unwrap();
        assert!(other.elapsed_ns < 50_000 * MS, "it was ended");
        assert_eq!(
            other.outcome.status,
            Status::Ok,
            "{:?} {:?}",
            other.outcome,
            other.errors
        );
        assert_eq!(server.objects(), 0, "{late}: nothing is left");
    }
}

/// What comes of a load of two ranks, whose keys end with their numbers.
pub(super) fn both(whole: &LoadPlan, late: Option<u32>) -> [Result<Record, LoadError>; 2] {
    both_do(whole, late, |part, context| {
        execute(part, context, &mut NoWatch)
    })
}

/// What two ranks do with their parts of a load.
fn both_do<T: Send>(
    whole: &LoadPlan,
    late: Option<u32>,
    what: impl Fn(&LoadPlan, &Context) -> T + Sync,
) -> [T; 2] {
    let is_halted = Arc::new(AtomicBool::new(false));
    let [(to_first, first), (to_second, second)] = [channel(), channel()];
    let ranks = [(to_second, first), (to_first, second)];
    let ended: Vec<_> = std::thread::scope(|scope| {
        let ranks = ranks.into_iter().zip(0..).map(|((to, from), rank)| {
            let peers = OfTwo {
                rank,
                to: Mutex::new(to),
                from: Mutex::new(from),
                is_halted: Arc::clone(&is_halted),
                is_late: late == Some(rank),
            };
            let mut part = whole.shared(LoadShare { rank, size: 2 }).unwrap();
            if let Some(credentials) = &mut part.credentials {
                credentials.access_key = key_of(rank);
            }
            let what = &what;
            scope.spawn(move || what(&part, &of_two(rank, peers)))
        });
        let ranks: Vec<_> = ranks.collect();
        let ended = ranks.into_iter().map(|rank| rank.join().unwrap());
        ended.collect()
    });
    let ended: Result<[T; 2], _> = ended.try_into();
    ended.unwrap_or_else(|_| unreachable!("there are two"))
}

fn key_of(rank: u32) -> String {
    format!("AKIAOFRANK{rank}")
}

fn is_bucket(asked: &Asked) -> bool {
    asked.path.matches('/').count() == 1
}

/// Whether one of the two puts an object.
fn puts(asked: &Asked, rank: u32) -> bool {
    asked.method == "PUT" && !is_bucket(asked) && asked.head.contains(&key_of(rank))
}

#[test]
fn ranks_that_do_not_begin_have_removed_all_objects_before_the_first_removes_the_bucket() {
    for failing in 0..2 {
        let removed: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&removed);
        let server = Server::start(move |asked| {
            if asked.method == "DELETE" {
                seen.lock().unwrap().push(asked.path.clone());
            }
            match puts(asked, failing) {
                true => Act::Status(403, "AccessDenied"),
                false => Act::Answer,
            }
        });
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        for ended in both(&whole, None) {
            let error = ended.unwrap_err().to_string();
            assert!(error.contains("could not be made"), "{failing}: {error}");
            assert!(!error.contains("removed"), "{failing}: {error}");
        }
        let removed = removed.lock().unwrap();
        let buckets: Vec<usize> = (0..removed.len())
            .filter(|at| removed[*at] == "/bucket")
            .collect();
        assert_eq!(buckets, [removed.len() - 1], "{failing}: {removed:?}");
        assert!(buckets[0] >= 10, "{failing}: {removed:?}");
        assert_eq!(server.objects(), 0, "{failing}");
    }
}

#[test]
fn each_of_ranks_that_do_not_begin_says_what_any_of_them_has_left_and_why() {
    for (status, code, why) in [
        (409, "BucketNotEmpty", "it holds something else"),
        (
            409,
            "OperationAborted",
            "the server says 409 OperationAborted",
        ),
        (403, "AccessDenied", "the server says 403 AccessDenied"),
    ] {
        let server = Server::start(move |asked| match asked.method.as_str() {
            "DELETE" if is_bucket(asked) => Act::Status(status, code),
            "DELETE" if asked.head.contains(&key_of(1)) => Act::Status(403, "AccessDenied"),
            _ if puts(asked, 0) => Act::Status(403, "AccessDenied"),
            _ => Act::Answer,
        });
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        let bucket =
            format!("; rank 0: the bucket that this load made could not be removed: {why}; it is");
        for ended in both(&whole, None) {
            let error = ended.unwrap_err().to_string();
            for left in [
                bucket.as_str(),
                "; rank 1: 10 objects that this load made could not be removed: ",
            ] {
                assert_eq!(error.matches(left).count(), 1, "{error}");
            }
        }
    }
}

/// A search makes what it needs before the root says the first rate.
#[test]
fn a_setup_that_is_refused_to_one_rank_is_refused_to_both_and_each_says_what_is_left() {
    for failing in 0..2 {
        let server = Server::start(move |asked| match asked.method.as_str() {
            "DELETE" if !is_bucket(asked) && asked.head.contains(&key_of(failing)) => {
                Act::Status(403, "AccessDenied")
            }
            _ if puts(asked, failing) && asked.path.ends_with("seed-000000") => {
                Act::Status(403, "AccessDenied")
            }
            _ => Act::Answer,
        });
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        let made = both_do(&whole, None, |part, context| {
            Setup::make_with_others(part, context, &mut NoWatch).map(drop)
        });
        for ended in made {
            let error = ended.unwrap_err().to_string();
            let left = format!("; rank {failing}: 9 objects that this load made could not be");
            assert!(
                error.contains("1 of 10 objects that the load reads"),
                "{error}"
            );
            assert!(error.contains(&left), "{failing}: {error}");
            // Both ranks' objects have names that begin alike.
            assert!(
                error.contains("their names begin with fathom-7- at s3://bucket@"),
                "{error}"
            );
            assert!(error.contains(" --include 'fathom-7-*' "), "{error}");
        }
    }
}

#[test]
fn what_is_refused_to_one_rank_is_so_before_any_has_made_an_object() {
    let server = Server::start(|asked| match asked.head.contains(&key_of(1)) {
        true => Act::Status(403, "AccessDenied"),
        false => Act::Answer,
    });
    let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    for ended in both(&whole, None) {
        let error = ended.unwrap_err().to_string();
        assert!(error.contains("refuses access to bucket"), "{error}");
    }
    assert_eq!(server.count("PUT"), 0);
    assert_eq!(server.objects(), 0, "the first has removed its bucket");
}

/// Whoever is killed at once leaves word of it.
#[test]
fn a_rank_says_that_it_has_begun_before_it_makes_its_first_object() {
    let server = Server::start(|asked| match puts(asked, 0) {
        true => Act::Status(403, "AccessDenied"),
        false => Act::Answer,
    });
    let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    let (to, said) = channel();
    let rule = SnapshotRule::new(60_000 * MS, to);
    let ended = both_do(&whole, None, |part, context| {
        let telling = Context {
            snapshots: Some(rule.clone().of_one(Default::default())),
            ..context.clone()
        };
        execute(part, &telling, &mut NoWatch).map(drop)
    });
    assert!(ended.iter().all(Result::is_err));
    let said: Vec<Record> = said.try_iter().collect();
    let left = said.iter().map(|record| {
        assert_eq!(record.outcome.status, Status::Incomplete);
        let names = object::not_removed(record).unwrap();
        assert!(names.starts_with("fathom-7- at s3://bucket@"), "{names}");
        record.load.as_ref().unwrap().left_behind
    });
    assert_eq!(left.collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn a_bucket_that_other_ranks_may_still_empty_is_asked_for_again() {
    for (size, is_removed) in [(1, false), (2, true)] {
        let refused = AtomicU32::new(0);
        let server = Server::start(move |asked| {
            let is_asked_for = asked.method == "DELETE" && is_bucket(asked);
            match is_asked_for && refused.fetch_add(1, Relaxed) < 3 {
                true => Act::Status(409, "BucketNotEmpty"),
                false => Act::Answer,
            }
        });
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        let part = whole.shared(LoadShare { rank: 0, size }).unwrap();
        let setup = Setup::make(&part, &context(), &mut NoWatch).unwrap();
        let mut record = Record::default();
        setup.remove(&mut record);
        assert_eq!(record.notes().is_empty(), is_removed, "{size}: {record:?}");
        assert_eq!(server.objects() == 0, is_removed, "{size}");
    }
}

fn of_two(rank: u32, peers: OfTwo) -> Context {
    Context {
        common_start: Some(CommonStart {
            rank,
            group: GroupAccount {
                size: 2,
                ..GroupAccount::default()
            },
            fresh_run: 7,
            target_set: None,
            by: StartBy::Peers(Arc::new(peers)),
        }),
        ..context()
    }
}
