//! A bench to run workloads on: a temporary directory, options as they are typed, and the engines
//! that this machine has.

use engine::{LibaioEngine, RingOptions, UringEngine};
use host::{Context, Machine, NoWatch};
use record::{Calibration, FathomVersion, Record};
use run::{RunError, execute};
use std::path::Path;
use sys::MachineClock;
use tempfile::TempDir;
use workload::{Phase, Workload, settings};

/// Options as typed, without their dashes.
pub(crate) type Options<'a> = &'a [(&'a str, &'a str)];

/// A directory that goes when the test ends.
pub(crate) fn directory() -> TempDir {
    tempfile::Builder::new()
        .prefix("fathom")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap()
}

/// A workload of typed options on a target; later options win.
pub(crate) fn workload(target: Option<&Path>, options: &[Options<'_>]) -> Workload {
    let mut workload = Workload {
        targets: target.map(Path::to_path_buf).into_iter().collect(),
        ..Workload::default()
    };
    for (key, value) in options.iter().copied().flatten() {
        settings::apply(&mut workload, key, value)
            .unwrap_or_else(|error| panic!("{key} {value}: {error}"));
    }
    workload
}

pub(crate) fn context() -> Context {
    Context {
        clock: MachineClock::monotonic(),
        machine: Machine::at(Path::new("/")),
        fathom: FathomVersion::default(),
        calibration: Calibration::default(),
        interval_ns: 1_000_000_000,
        target: None,
        common_start: None,
        snapshots: None,
    }
}

/// Runs a workload whatever comes of it.
pub(crate) fn attempt(workload: &Workload) -> Result<Record, RunError> {
    execute(
        &Phase {
            name: "test".into(),
            workload: workload.clone(),
        },
        &context(),
        &mut NoWatch,
    )
}

/// Runs a workload that must succeed.
pub(crate) fn measured(workload: &Workload) -> Record {
    let record = attempt(workload).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (record.outcome.exit_code, record.outcome.message.as_deref()),
        (0, None),
        "{:?}",
        record.effective
    );
    record
}

/// One way to reach storage: its name here, and the options that choose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) options: Options<'static>,
}

const SYNC: Way = Way {
    name: "sync",
    options: &[("engine", "sync")],
};
const MMAP: Way = Way {
    name: "mmap",
    options: &[("engine", "mmap")],
};
const LIBAIO: Way = Way {
    name: "libaio",
    options: &[("engine", "libaio"), ("queue-depth", "32")],
};
const REGISTERED: Way = Way {
    name: "io_uring, registered",
    options: &[
        ("engine", "io_uring"),
        ("queue-depth", "32"),
        ("fixed-buffers", "true"),
        ("fixed-files", "true"),
    ],
};
const UNREGISTERED: Way = Way {
    name: "io_uring, not registered",
    options: &[
        ("engine", "io_uring"),
        ("queue-depth", "32"),
        ("no-fixed-buffers", "true"),
        ("no-fixed-files", "true"),
    ],
};

/// The engines that move a file's data without a server and that this machine has; those that it
/// lacks are told as skipped.
#[allow(
    clippy::print_stderr,
    reason = "what a machine lacks is told, not passed over"
)]
pub(crate) fn ways_to_a_file() -> Vec<Way> {
    let mut ways = vec![SYNC, MMAP];
    match LibaioEngine::new(Vec::new(), 1, 4096) {
        Ok(_) => ways.push(LIBAIO),
        Err(error) => eprintln!("SKIPPED: needs libaio: {error}"),
    }
    match UringEngine::new(Vec::new(), 1, 4096, RingOptions::default()) {
        Ok(_) => ways.extend([REGISTERED, UNREGISTERED]),
        Err(error) => eprintln!("SKIPPED: needs io_uring: {error}"),
    }
    ways
}
