//! How long a client may keep memory that others wait for.

/// How long it may keep it without moving what it keeps it for: less than a request waits, so that
/// who waits has what is given back.
const STAY_NS: u64 = 2_000_000_000;
/// Bytes that must have come of a long message by then: the longest comes in twice that time.
const ENOUGH: u64 = 16 << 20;
/// How often is looked whether somebody waits.
pub(super) const LOOK_NS: u64 = 100_000_000;

/// What a client keeps more memory for than each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    /// A message that has not come whole.
    Message,
    /// Answers that it has not taken.
    Answers,
}

/// A span of time in which something is kept.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: u64,
    moved: u64,
    wanted: bool,
}

/// Tells who keeps memory for what does not come or go, while others wait for it. It knows no clock.
#[derive(Debug)]
pub(super) struct Stay {
    limit_ns: u64,
    span: Option<Span>,
}

impl Default for Stay {
    fn default() -> Self {
        Self {
            limit_ns: STAY_NS,
            span: None,
        }
    }
}

impl Stay {
    #[cfg(test)]
    pub(super) fn of(limit_ns: u64) -> Self {
        Self {
            limit_ns,
            span: None,
        }
    }

    /// Whether something is kept that should be looked at now and then.
    pub(super) fn is_watched(&self) -> bool {
        self.span.is_some()
    }

    /// So many bytes have come or gone.
    #[inline]
    pub(super) fn moved(&mut self, bytes: usize) {
        if let Some(span) = &mut self.span {
            span.moved = span.moved.saturating_add(bytes as u64);
        }
    }

    /// Whether what is kept must be given back at `now`; `wanted` if others have waited for memory
    /// since the last look.
    pub(super) fn is_over(&mut self, keeps: Keeps, wanted: bool, now: u64) -> bool {
        if keeps == Keeps::Nothing {
            self.span = None;
            return false;
        }
        let begins = Span {
            since: now,
            moved: 0,
            wanted: false,
        };
        let Some(span) = &mut self.span else {
            // Who waited before that waited for others.
            self.span = Some(begins);
            return false;
        };
        span.wanted |= wanted;
        if now.saturating_sub(span.since) < self.limit_ns {
            return false;
        }
        let enough = match keeps {
            Keeps::Message => ENOUGH,
            // Whoever takes its answers slowly has them; there is no other way to end it than to
            // hang up.
            Keeps::Answers | Keeps::Nothing => 1,
        };
        let over = span.wanted && span.moved < enough;
        *span = begins;
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gives_back_what_nobody_waits_for() {
        let mut stay = Stay::default();
        for second in 0..60 {
            let now = second * 1_000_000_000;
            assert!(!stay.is_over(Keeps::Message, false, now));
            assert!(!stay.is_over(Keeps::Message, false, now));
        }
    }

    #[test]
    fn a_message_that_drips_is_given_back_and_one_that_flows_is_not() {
        let over_after = |a_look: usize| {
            let mut stay = Stay::default();
            (0..40_u64).find(|look| {
                stay.moved(a_look);
                stay.is_over(Keeps::Message, true, look * LOOK_NS)
            })
        };
        assert_eq!(over_after(0), Some(20));
        assert_eq!(over_after(100), Some(20), "a few bytes buy no time");
        assert_eq!(over_after(1 << 20), None);
    }

    #[test]
    fn answers_that_are_taken_slowly_stay_and_those_that_are_not_taken_do_not() {
        let mut stay = Stay::default();
        for look in 0..=60 {
            stay.moved(1);
            assert!(!stay.is_over(Keeps::Answers, true, look * LOOK_NS));
        }
        let mut stay = Stay::default();
        assert!(!stay.is_over(Keeps::Answers, true, 0));
        assert!(!stay.is_over(Keeps::Answers, true, LOOK_NS));
        assert!(stay.is_over(Keeps::Answers, false, STAY_NS));
        assert!(
            stay.is_watched(),
            "it is looked at as long as it keeps something"
        );
        assert!(!stay.is_over(Keeps::Nothing, true, STAY_NS) && !stay.is_watched());
    }
}
