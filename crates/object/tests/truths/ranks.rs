//! Two ranks of one load, as threads, of which one misses the start.

use super::server::{Act, Server};
use super::{MS, context, plan, preset};
use host::{CommonStart, Context, NoWatch, PeerFault, Peers, StartBy};
use object::{LoadError, LoadShare, execute};
use record::{GroupAccount, Status};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sys::{Clock as _, MachineClock};

type Word = Result<(), PeerFault>;

/// One of two, that tells the other what it says.
#[derive(Debug)]
struct OfTwo {
    to: Mutex<Sender<Word>>,
    from: Mutex<Receiver<Word>>,
    is_halted: Arc<AtomicBool>,
    is_late: bool,
}

impl Peers for OfTwo {
    fn meet(&self, own: Word) -> Word {
        let _the_other_has_ended = self.to.lock().unwrap().send(own.clone());
        let from = self.from.lock().unwrap();
        let other = from.recv_timeout(Duration::from_secs(20));
        own.and(other.expect("the other comes to as many meetings"))
    }

    fn confer(
        &self,
        own: String,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault> {
        Ok(decide(&[own]))
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
}

#[test]
fn a_rank_that_misses_the_start_ends_the_other_and_meets_it_as_often_as_that_does() {
    for late in 0..2 {
        let server = Server::start(|_| Act::Answer);
        let whole = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        let is_halted = Arc::new(AtomicBool::new(false));
        let [(to_first, first), (to_second, second)] = [channel(), channel()];
        let ranks = [(to_second, first), (to_first, second)];
        let ended = std::thread::scope(|scope| {
            let ranks = ranks.into_iter().zip(0..).map(|((to, from), rank)| {
                let peers = OfTwo {
                    to: Mutex::new(to),
                    from: Mutex::new(from),
                    is_halted: Arc::clone(&is_halted),
                    is_late: rank == late,
                };
                let part = whole.shared(LoadShare { rank, size: 2 }).unwrap();
                scope.spawn(move || execute(&part, &of_two(rank, peers), &mut NoWatch))
            });
            let ranks: Vec<_> = ranks.collect();
            ranks
                .into_iter()
                .map(|rank| rank.join().unwrap())
                .collect::<Vec<_>>()
        });
        let [first, second] = ended.try_into().unwrap();
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
