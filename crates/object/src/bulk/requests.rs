//! Many requests of one kind, which several clients make, and what is known of each.

use crate::client::Client;
use crate::failure::Failure;
use crate::ledger::add;
use crate::payload::Object;
use crate::verbs::{About, Call};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What is known of a request that is one of many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestFate {
    NotBegun,
    /// It went out, and nothing was heard that says whether it was done.
    InDoubt,
    Refused,
    Done,
}

/// How far many requests are, which several clients make.
pub(super) struct Requests<T> {
    items: Rc<[T]>,
    pub(super) next: Cell<usize>,
    pub(super) ended: Cell<u64>,
    /// Without one that was done between them, where something is removed: who still removes others is asked for all.
    pub(super) failed: Cell<u64>,
    pub(super) fates: RefCell<Vec<RequestFate>>,
    pub(super) named: RefCell<Vec<Object>>,
    pub(super) first: RefCell<Option<Failure>>,
}

impl<T: Clone> Requests<T> {
    pub(super) fn of(items: &[T]) -> Self {
        Self {
            items: items.into(),
            next: Cell::default(),
            ended: Cell::default(),
            failed: Cell::default(),
            fates: RefCell::new(vec![RequestFate::NotBegun; items.len()]),
            named: RefCell::default(),
            first: RefCell::default(),
        }
    }

    /// What one client does of it.
    pub(super) async fn work(
        &self,
        mut client: Client,
        call: Call,
        about: for<'a> fn(&'a T) -> About<'a>,
    ) {
        loop {
            let place = self.next.replace(self.next.get() + 1);
            let Some(item) = self.items.get(place) else {
                return;
            };
            let is = |fate| self.fates.borrow_mut()[place] = fate;
            is(RequestFate::InDoubt);
            let result = self.done(&mut client, call, about(item)).await;
            add(&self.ended, 1);
            let Err(failure) = result else {
                is(RequestFate::Done);
                if call.request().removes {
                    self.failed.set(0);
                }
                let done = about(item).object;
                let done = done.map(|object| client.named(object));
                self.named.borrow_mut().extend(done);
                continue;
            };
            if call.request().removes && failure.is_gone() {
                is(RequestFate::Done);
                self.failed.set(0);
                continue;
            }
            if call.request().removes && failure.is_not_found() {
                // It may be there. Who answers so is asked for the others all the same.
                self.first.borrow_mut().get_or_insert(failure);
                continue;
            }
            if !client.is_in_doubt() {
                is(RequestFate::Refused);
            }
            add(&self.failed, 1);
            self.first.borrow_mut().get_or_insert(failure);
            client.back_off().await;
        }
    }

    /// One request. What is to be removed of several servers of one store, any of them removes.
    async fn done(
        &self,
        client: &mut Client,
        call: Call,
        about: About<'_>,
    ) -> Result<u64, Failure> {
        let mut others = client.thread.peers.len().saturating_sub(1);
        loop {
            let result = client.call(call, about, false, None).await;
            let is_for_another = result.as_ref().is_err_and(Failure::is_for_another);
            if others == 0 || !call.request().removes || !is_for_another {
                return result;
            }
            others -= 1;
            client.turn_to_next();
        }
    }
}
