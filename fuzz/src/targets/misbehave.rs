//! Specifications of misbehaviour: read or refused with a reason, and every request can be decided, shaped and stalled by them.

use misbehave::{Ask, Misbehaviour, Shaper, Vocabulary};
use units::Nanos;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let models = match Misbehaviour::parse(text, &Vocabulary::http(&s3::OPERATION_KINDS)) {
        Ok(models) => models,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut shaper = Shaper::default();
    for (number, kind) in (0..).zip(s3::OPERATION_KINDS.into_iter().cycle().take(30)) {
        let ask = Ask {
            operation: kind,
            number,
            extent: None,
        };
        let decided = models.decide(&ask);
        assert_eq!(decided, models.decide(&ask));
        assert!(
            decided
                .error
                .is_none_or(|status| (400..600).contains(&status))
        );
        for place in [decided.truncate, decided.corrupt].into_iter().flatten() {
            assert!(place.byte(10).is_some_and(|byte| byte < 10));
        }
        let now = Nanos(number * 1_000_000);
        let turn = shaper.admit(&models, kind, now);
        shaper.pass(
            &models,
            kind,
            u64::MAX / 3,
            Nanos(now.0.saturating_add(turn.0)),
        );
        models.stalled(kind, Nanos(u64::MAX - number));
        shaper.stalled(&models, kind, u64::MAX / 3, now);
        shaper.occupy(&models, kind, decided.delay, now);
    }
}
