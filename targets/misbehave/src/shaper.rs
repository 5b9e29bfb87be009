//! Limits of rate and bandwidth, which depend on when requests come.

use crate::{Misbehaviour, Stall};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use units::Nanos;

/// When the next request and the next byte may go, for each limit that was named. Limits of one
/// operation do not hold up others.
#[derive(Debug, Default)]
pub struct Shaper {
    /// By operation; the empty name is that of the limits for all.
    requests: HashMap<String, u64>,
    bytes: HashMap<String, u64>,
    /// When each channel is free again, the earliest first.
    channels: HashMap<String, BinaryHeap<Reverse<u64>>>,
    /// Bytes that were written since the last stall, and when that ends.
    written: HashMap<String, (u64, u64)>,
}

impl Shaper {
    /// How long a request that comes at `now` waits for its turn. Requests that wait keep their
    /// order; turns that nobody took are lost.
    pub fn admit(&mut self, misbehaviour: &Misbehaviour, operation: &str, now: Nanos) -> Nanos {
        let Some(rate) = misbehaviour.model(operation, |models| models.rate) else {
            return Nanos(0);
        };
        let own = misbehaviour.has_own(operation, |models| models.rate.is_some());
        turn(
            &mut self.requests,
            if own { operation } else { "" },
            1.0 / rate.0,
            now,
        )
    }

    /// How long bytes that are ready at `now` wait for theirs.
    pub fn pass(
        &mut self,
        misbehaviour: &Misbehaviour,
        operation: &str,
        bytes: u64,
        now: Nanos,
    ) -> Nanos {
        let Some(bandwidth) = misbehaviour.model(operation, |models| models.bandwidth) else {
            return Nanos(0);
        };
        let own = misbehaviour.has_own(operation, |models| models.bandwidth.is_some());
        #[allow(
            clippy::cast_precision_loss,
            reason = "a time to wait; its last digits do not matter"
        )]
        let seconds = bytes as f64 / bandwidth.0;
        turn(
            &mut self.bytes,
            if own { operation } else { "" },
            seconds,
            now,
        )
    }

    /// How long a request that comes at `now` and takes `service` waits for a channel.
    pub fn occupy(
        &mut self,
        misbehaviour: &Misbehaviour,
        operation: &str,
        service: Nanos,
        now: Nanos,
    ) -> Nanos {
        let Some(channels) = misbehaviour.model(operation, |models| models.channels) else {
            return Nanos(0);
        };
        let own = misbehaviour.has_own(operation, |models| models.channels.is_some());
        let name = if own { operation } else { "" };
        let free = self.channels.entry(name.to_owned()).or_default();
        let begins = if free.len() < channels as usize {
            now.0
        } else {
            free.pop().map_or(now.0, |Reverse(free)| free.max(now.0))
        };
        free.push(Reverse(begins.saturating_add(service.0)));
        Nanos(begins - now.0)
    }

    /// How long a request that comes at `now` and writes so many bytes stands still because of what
    /// was written before it.
    pub fn stalled(
        &mut self,
        misbehaviour: &Misbehaviour,
        operation: &str,
        written: u64,
        now: Nanos,
    ) -> Nanos {
        let Some(Stall::After { lasts, bytes }) =
            misbehaviour.model(operation, |models| models.stall)
        else {
            return Nanos(0);
        };
        let own = misbehaviour.has_own(operation, |models| models.stall.is_some());
        let name = if own { operation } else { "" };
        let (since, until) = self.written.entry(name.to_owned()).or_default();
        let stands = until.saturating_sub(now.0);
        *since = since.saturating_add(written);
        if *since >= bytes.0 {
            *since %= bytes.0;
            *until = (*until).max(now.0).saturating_add(lasts.0);
        }
        Nanos(stands)
    }
}

/// Takes a turn that lasts this long.
fn turn(next: &mut HashMap<String, u64>, name: &str, seconds: f64, now: Nanos) -> Nanos {
    let free = next.get(name).copied().unwrap_or(0).max(now.0);
    next.insert(
        name.to_owned(),
        free.saturating_add(Nanos::from_secs_f64(seconds).0),
    );
    Nanos(free - now.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vocabulary;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn parsed(text: &str) -> Misbehaviour {
        Misbehaviour::parse(text, &Vocabulary::http(&["get", "put"])).unwrap()
    }

    #[test]
    fn so_many_are_served_at_once_and_the_others_in_their_order() {
        let limits = parsed("channels=2");
        let mut shaper = Shaper::default();
        let mut at = |ms: u64| {
            let service = Nanos(10 * MS);
            shaper.occupy(&limits, "get", service, Nanos(ms * MS)).0 / MS
        };
        assert_eq!([at(0), at(4), at(5), at(5), at(6)], [0, 0, 5, 9, 14]);
        assert_eq!(at(100), 0);
    }

    #[test]
    fn what_was_written_stops_what_comes_after_it() {
        let limits = parsed("stall=2s/after:1MB");
        let mut shaper = Shaper::default();
        let mut at = |bytes, ms: u64| shaper.stalled(&limits, "put", bytes, Nanos(ms * MS)).0 / MS;
        assert_eq!([at(600_000, 0), at(600_000, 1), at(0, 2)], [0, 0, 1999]);
        assert_eq!(
            [at(0, 2001), at(700_000, 2001), at(100_000, 2001)],
            [0, 0, 0]
        );
        assert_eq!(at(0, 2001), 2000, "200,000 bytes were left over");
    }

    #[test]
    fn requests_wait_for_their_turn_and_lost_turns_stay_lost() {
        let limits = parsed("rate=100/s,get.rate=1000/s");
        let mut shaper = Shaper::default();
        let mut at = |operation, ms: u64| shaper.admit(&limits, operation, Nanos(ms * MS)).0 / MS;
        assert_eq!([at("put", 0), at("put", 0), at("put", 5)], [0, 10, 15]);
        assert_eq!([at("get", 5), at("get", 5)], [0, 1]);
        assert_eq!([at("put", 1000), at("put", 1000)], [0, 10]);
    }

    #[test]
    fn bytes_take_their_time() {
        let limits = parsed("bandwidth=1MB/s");
        let mut shaper = Shaper::default();
        assert_eq!(shaper.pass(&limits, "get", 500_000, Nanos(0)).0, 0);
        assert_eq!(shaper.pass(&limits, "get", 1, Nanos(0)).0 / MS, 500);
    }

    proptest! {
        #[test]
        fn no_more_go_through_than_the_rate_allows(gaps in proptest::collection::vec(0_u64..30, 1..200)) {
            let limits = parsed("rate=100/s");
            let (mut shaper, mut now, mut last) = (Shaper::default(), 0, None);
            for gap in gaps {
                now += gap * MS;
                let goes = now + shaper.admit(&limits, "get", Nanos(now)).0;
                prop_assert!(last.is_none_or(|last| goes >= last + 10 * MS));
                last = Some(goes);
            }
        }
    }
}
