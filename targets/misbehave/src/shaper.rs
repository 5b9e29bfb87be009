//! Limits of rate and bandwidth, which depend on when requests come.

use crate::Misbehaviour;
use std::collections::HashMap;
use units::Nanos;

/// When the next request and the next byte may go, for each limit that was named. Limits of one
/// operation do not hold up others.
#[derive(Debug, Default)]
pub struct Shaper {
    /// By operation; the empty name is that of the limits for all.
    requests: HashMap<String, u64>,
    bytes: HashMap<String, u64>,
}

impl Shaper {
    /// How long a request that comes at `now` waits for its turn. Requests that wait keep their
    /// order; turns that nobody took are lost.
    pub fn admit(&mut self, misbehaviour: &Misbehaviour, operation: &str, now: Nanos) -> Nanos {
        let Some(rate) = misbehaviour.model(operation, |models| models.rate) else {
            return Nanos(0);
        };
        let own = misbehaviour
            .of
            .iter()
            .any(|(name, models)| name == operation && models.rate.is_some());
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
        let own = misbehaviour
            .of
            .iter()
            .any(|(name, models)| name == operation && models.bandwidth.is_some());
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
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn requests_wait_for_their_turn_and_lost_turns_stay_lost() {
        let limits = Misbehaviour::parse("rate=100/s,get.rate=1000/s", &["get", "put"]).unwrap();
        let mut shaper = Shaper::default();
        let mut at = |operation, ms: u64| shaper.admit(&limits, operation, Nanos(ms * MS)).0 / MS;
        assert_eq!([at("put", 0), at("put", 0), at("put", 5)], [0, 10, 15]);
        assert_eq!([at("get", 5), at("get", 5)], [0, 1]);
        assert_eq!([at("put", 1000), at("put", 1000)], [0, 10]);
    }

    #[test]
    fn bytes_take_their_time() {
        let limits = Misbehaviour::parse("bandwidth=1MB/s", &[]).unwrap();
        let mut shaper = Shaper::default();
        assert_eq!(shaper.pass(&limits, "get", 500_000, Nanos(0)).0, 0);
        assert_eq!(shaper.pass(&limits, "get", 1, Nanos(0)).0 / MS, 500);
    }

    proptest! {
        #[test]
        fn no_more_go_through_than_the_rate_allows(gaps in proptest::collection::vec(0_u64..30, 1..200)) {
            let limits = Misbehaviour::parse("rate=100/s", &[]).unwrap();
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
