//! Models of the simulated device: whatever device is accepted ends every operation once, and its time never runs back.

use engine::{Engine, Op, Request, SimEngine, SimModel};
use sys::{Clock, VirtualClock};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let Ok(model) = SimModel::parse(text) else {
        return;
    };
    assert!(model.latency_ns > 0 && model.servers > 0);
    assert_eq!(SimModel::parse(text).ok(), Some(model));
    let clock = VirtualClock::default();
    let mut engine =
        SimEngine::new(model, clock.clone(), 4, 512, 1).expect("two kilobytes of memory");
    let batch: Vec<Request> = (0..4)
        .map(|slot| Request {
            slot,
            file: 0,
            op: Op::Read,
            offset: 0,
            len: 512,
        })
        .collect();
    for _ in 0..4 {
        let (before, mut done) = (clock.now(), Vec::new());
        engine
            .submit(&batch)
            .expect("a modelled device takes everything");
        engine.reap(1, 1000, &mut done).expect("and gives it back");
        assert!(clock.now() <= before.saturating_add(1000));
        engine
            .reap(4 - done.len(), u64::MAX, &mut done)
            .expect("all of it");
        let mut slots: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2, 3]);
    }
}
