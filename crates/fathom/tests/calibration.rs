//! The instrument against a block device whose truth is known. Nothing here depends on how busy the
//! machine is; the numbers are those of the example `calibration`.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "../examples/calibration/faults.rs"]
mod faults;
#[path = "../examples/calibration/latency.rs"]
mod latency;
#[path = "../examples/calibration/log.rs"]
mod log;
#[path = "../examples/calibration/sides.rs"]
mod sides;
#[path = "../examples/calibration/verified.rs"]
mod verified;

use block::{Misbehaviour, VOCABULARY};
use log::Asked;
use sides::Device;
use std::path::Path;

fn fathom() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fathom"))
}

#[test]
fn what_is_reported_of_every_law_is_what_was_injected_and_never_less() {
    let writes = &["--write-percent", "100"][..];
    let kinds = [(Asked::Read, &[][..]), (Asked::Write, writes)];
    let models = [
        "200us",
        "normal:300us:50us",
        "lognormal:200us:0.5",
        "uniform:100us:500us",
        "exponential:200us",
        "mix:90%:100us:10%:1ms",
    ];
    let runs = kinds
        .iter()
        .flat_map(|kind| models.map(|model| (model, *kind)));
    for (model, (asked, words)) in runs {
        let spec = format!("latency={model},seed=7");
        let law = Misbehaviour::parse(&spec, &VOCABULARY).unwrap();
        let mut device = Device::serve(fathom(), "16m", Some(&spec)).unwrap();
        let random = ["--random", "--total-bytes", "4m"];
        device.run(&[&random[..], words].concat()).unwrap();
        let sides = device.end().unwrap();
        assert_eq!(sides.disagreements(), [""; 0], "{model}");
        let found = latency::calibrated(asked, Some(&law), &sides).unwrap();
        assert_eq!(found.contradictions(), [""; 0], "{model}");
        assert_eq!(sides.entries.len(), 1024, "{model}");
        assert!((0.0..=1.0).contains(&found.exact), "{model}");
        assert!(found.late[0] <= found.late[1], "{model}");
        assert!(
            found
                .percentiles
                .iter()
                .all(|percentile| percentile.injected > 0)
        );
    }
}

#[test]
fn a_law_below_what_a_request_takes_here_anyway_is_refused() {
    let mut device = Device::serve(fathom(), "16m", None).unwrap();
    device.run(&["--random", "--total-bytes", "1m"]).unwrap();
    let floor = latency::calibrated(Asked::Read, None, &device.end().unwrap()).unwrap();
    let law = Misbehaviour::parse("latency=1ns", &VOCABULARY).unwrap();
    assert!(latency::below_the_floor(Asked::Read, &law, &floor).is_some());
}

#[test]
fn verification_names_every_fault_and_invents_none() {
    for (fault, kinds) in [
        ("write.lost", &["foreign run", "stale"][..]),
        ("write.torn", &["torn"]),
        (
            "write.misdirected",
            &["foreign run", "misdirected", "stale"],
        ),
        ("write.corrupt", &["corrupt"]),
        ("read.corrupt", &["corrupt"]),
        ("read.stale", &["foreign run", "stale"]),
    ] {
        let found = verified::verified(fathom(), fault).unwrap();
        assert_eq!(found.wrong, [""; 0], "{fault}");
        assert_eq!((found.missed, found.invented), (0, 0), "{fault}");
        let named: Vec<&str> = found.found.keys().map(String::as_str).collect();
        assert_eq!(named, kinds, "{fault}");
        assert!(found.traces.injected > 40, "{fault}");
    }
}
