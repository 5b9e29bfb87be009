//! Due operations of one thread on their way to connections that are free.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A due operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: u64,
    /// Whether a connection was free when it became due.
    pub(crate) in_time: bool,
}

/// Which of several free connections takes what becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// The one that became free last: it keeps few connections warm rather than all lukewarm.
    NewestFree,
    /// The one that has been free for longest: each endpoint of several has its share, however low
    /// the rate.
    InOrder,
}

pub(crate) struct DueOperations {
    turns: Turns,
    due: RefCell<VecDeque<Due>>,
    /// The longest free first.
    free: RefCell<VecDeque<Waker>>,
    /// Connections that were woken and have not taken theirs yet.
    promised: Cell<usize>,
    closed: Cell<bool>,
}

impl DueOperations {
    pub(crate) fn new(turns: Turns) -> Self {
        Self {
            turns,
            due: RefCell::default(),
            free: RefCell::default(),
            promised: Cell::new(0),
            closed: Cell::new(false),
        }
    }

    /// Gives an operation to a free connection, or to the first that becomes free.
    pub(crate) fn give(&self, at: u64) {
        let waker = match self.turns {
            Turns::NewestFree => self.free.borrow_mut().pop_back(),
            Turns::InOrder => self.free.borrow_mut().pop_front(),
        };
        self.due.borrow_mut().push_back(Due {
            at,
            in_time: waker.is_some(),
        });
        if let Some(waker) = waker {
            self.promised.set(self.promised.get() + 1);
            waker.wake();
        }
    }

    /// The next operation; `None` once there will be no more.
    pub(crate) async fn take(&self) -> Option<Due> {
        let mut waits = false;
        poll_fn(|context| {
            if self.closed.get() {
                return Poll::Ready(None);
            }
            // An operation that a sleeper was woken for is not snatched by one that never slept.
            let promised = if waits { 0 } else { self.promised.get() };
            if self.due.borrow().len() > promised {
                if waits {
                    self.promised.set(self.promised.get().saturating_sub(1));
                }
                return Poll::Ready(self.due.borrow_mut().pop_front());
            }
            waits = true;
            self.free.borrow_mut().push_back(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Whether nothing is due that has not been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.due.borrow().is_empty()
    }

    /// No operation starts any more; those that were due and did not.
    pub(crate) fn close(&self) -> Vec<u64> {
        self.closed.set(true);
        self.free.borrow_mut().drain(..).for_each(Waker::wake);
        self.due.borrow_mut().drain(..).map(|due| due.at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Context;

    #[test]
    fn due_operations_are_taken_in_order_and_the_rest_is_unsent() {
        let handoff = DueOperations::new(Turns::NewestFree);
        [5, 6, 7].into_iter().for_each(|at| handoff.give(at));
        let mut context = Context::from_waker(Waker::noop());
        let mut take = || match std::pin::pin!(handoff.take()).poll(&mut context) {
            Poll::Ready(due) => due,
            Poll::Pending => panic!("something was due"),
        };
        assert_eq!(
            take(),
            Some(Due {
                at: 5,
                in_time: false
            })
        );
        assert_eq!(handoff.close(), [6, 7]);
        assert_eq!(take(), None);
    }

    #[test]
    fn several_endpoints_are_served_in_turn_and_one_by_the_warmest() {
        for (turns, first) in [(Turns::InOrder, 0), (Turns::NewestFree, 1)] {
            let handoff = DueOperations::new(turns);
            let mut sleepers: Vec<_> = (0..2)
                .map(|_| {
                    (
                        Box::pin(handoff.take()),
                        std::sync::Arc::new(Woken::default()),
                    )
                })
                .collect();
            for (sleeper, woken) in &mut sleepers {
                assert!(
                    sleeper
                        .as_mut()
                        .poll(&mut Context::from_waker(
                            &std::sync::Arc::clone(woken).into()
                        ))
                        .is_pending()
                );
            }
            handoff.give(1);
            let woken: Vec<bool> = sleepers
                .iter()
                .map(|(_, woken)| woken.0.load(std::sync::atomic::Ordering::SeqCst))
                .collect();
            assert_eq!(woken, [first == 0, first == 1], "{turns:?}");
        }
    }

    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicBool);

    impl std::task::Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }

    #[test]
    fn a_free_connection_is_in_time_and_keeps_what_it_was_woken_for() {
        let handoff = DueOperations::new(Turns::NewestFree);
        let mut context = Context::from_waker(Waker::noop());
        let mut sleeper = Box::pin(handoff.take());
        assert!(sleeper.as_mut().poll(&mut context).is_pending());
        handoff.give(9);
        let mut late = Box::pin(handoff.take());
        assert!(late.as_mut().poll(&mut context).is_pending());
        assert_eq!(
            sleeper.as_mut().poll(&mut context),
            Poll::Ready(Some(Due {
                at: 9,
                in_time: true
            }))
        );
    }
}
