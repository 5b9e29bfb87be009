//! What every verb that measures needs: clock, machine, calibration.

use anyhow::Result;
use host::{Context, Machine};
use record::{Calibration, FathomVersion};
use std::path::Path;
use std::time::Duration;
use sys::MachineClock;

/// Clock of this process, calibrated for `window`.
pub(crate) fn clock(machine: &Machine, window: Duration) -> MachineClock {
    let flags = machine
        .environment(None, FathomVersion::default())
        .cpu
        .flags
        .unwrap_or_default();
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    MachineClock::calibrated(has("constant_tsc") && has("nonstop_tsc"), window)
}

/// Everything a run needs beside its workload. Costs about 15 ms.
pub(crate) fn context(interval_ns: u64) -> Result<Context> {
    let machine = Machine::at(Path::new("/"));
    let clock = clock(&machine, Duration::from_millis(5));
    let calibration = run::calibrate(&clock, 1_000_000)?;
    Ok(Context {
        clock,
        machine,
        fathom: version(),
        calibration,
        interval_ns,
        target: None,
        common_start: None,
        snapshots: None,
    })
}

/// A context without calibration, for runs that end before they start.
pub(crate) fn bare_context() -> Context {
    Context {
        clock: MachineClock::monotonic(),
        machine: Machine::at(Path::new("/")),
        fathom: version(),
        calibration: Calibration::default(),
        interval_ns: 1_000_000_000,
        target: None,
        common_start: None,
        snapshots: None,
    }
}

/// Version of this build, and the commit that was checked out when a release was built.
pub(crate) fn version() -> FathomVersion {
    FathomVersion {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("FATHOM_COMMIT").map(str::to_owned),
    }
}
