//! The memory of a run: the hot loop allocates nothing, and nothing grows with the size of the
//! target.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bench;

use bench::{Options, directory, measured, ways_to_a_file, workload};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory that it
// hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the observer, reading files of /proc, and the test harness itself may differ by between two
/// runs.
const SLACK: u64 = 300;

/// The counter is the whole process's, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocations of a run that ends after `bytes`, and its operations.
fn allocations(
    options: &[Options<'_>],
    target: Option<&std::path::Path>,
    bytes: &str,
) -> (u64, u64) {
    let workload = workload(target, &[options, &[&[("total-bytes", bytes)]]].concat());
    let before = ALLOCATIONS.load(Relaxed);
    let record = measured(&workload);
    (
        ALLOCATIONS.load(Relaxed) - before,
        record.operations.count(),
    )
}

fn does_not_grow(
    name: &str,
    options: &[Options<'_>],
    target: Option<&std::path::Path>,
    bytes: [&str; 2],
) {
    // The first run pays for what a process makes once.
    allocations(options, target, bytes[0]);
    let (short, few) = allocations(options, target, bytes[0]);
    let (long, many) = allocations(options, target, bytes[1]);
    assert!(
        many >= few * 10 && many - few > 10 * SLACK,
        "{name}: {few} and {many} operations show nothing"
    );
    assert!(
        long.abs_diff(short) <= SLACK,
        "{name}: {few} operations made {short} allocations, {many} made {long}"
    );
}

#[test]
fn the_loop_over_the_null_engine_does_not_allocate() {
    let _others_wait = alone();
    let kinds: [(&str, Options<'_>); 9] = [
        ("sequential reads", &[]),
        (
            "deep random reads",
            &[("random", "true"), ("queue-depth", "64")],
        ),
        (
            "mixed",
            &[
                ("random", "true"),
                ("read-percent", "70"),
                ("queue-depth", "8"),
            ],
        ),
        (
            "zipf, scattered",
            &[
                ("random", "true"),
                ("distribution", "zipf"),
                ("scatter", "true"),
            ],
        ),
        (
            "sizes",
            &[("block-size", "4k/60:64k/40"), ("read-percent", "50")],
        ),
        (
            "flushes",
            &[("write-percent", "100"), ("fsync", "3"), ("fdatasync", "5")],
        ),
        (
            "shaped data",
            &[
                ("write-percent", "100"),
                ("compress-percent", "50"),
                ("dedupe-percent", "20"),
            ],
        ),
        ("heat", &[("random", "true"), ("heatmap", "true")]),
        (
            "open loop",
            &[
                ("rate-iops", "900m"),
                ("arrival", "poisson"),
                ("queue-depth", "4"),
            ],
        ),
    ];
    for (name, options) in kinds {
        let common: Options<'_> = &[("engine", "null"), ("file-size", "64m"), ("threads", "2")];
        does_not_grow(name, &[common, options], None, ["16m", "256m"]);
    }
}

#[test]
fn the_loop_over_a_simulated_device_does_not_allocate() {
    let _others_wait = alone();
    let model: Options<'_> = &[
        ("engine", "sim"),
        ("sim-model", "latency=1us,servers=4"),
        ("queue-depth", "8"),
        ("file-size", "64m"),
    ];
    does_not_grow("sim", &[model], None, ["16m", "256m"]);
}

#[test]
fn the_loop_over_a_verified_file_does_not_allocate() {
    let _others_wait = alone();
    let dir = directory();
    for (index, way) in ways_to_a_file().into_iter().enumerate() {
        let path = dir.path().join(format!("data{index}"));
        let options: Options<'_> = &[
            ("file-size", "4m"),
            ("read-percent", "70"),
            ("random", "true"),
            ("verify", "true"),
            ("threads", "2"),
        ];
        does_not_grow(
            way.name,
            &[way.options, options],
            Some(&path),
            ["4m", "64m"],
        );
    }
}

/// The largest memory that this process ever had, in bytes.
fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_does_not_grow_with_the_size_of_the_target() {
    let _others_wait = alone();
    let orders: [Options<'_>; 4] = [
        &[("random", "true")],
        &[
            ("random", "true"),
            ("distribution", "zipf"),
            ("scatter", "true"),
        ],
        &[("random", "true"), ("distribution", "gaussian")],
        &[("random", "true"), ("run-until-complete", "true")],
    ];
    for options in orders {
        let run = |size: &str| {
            let common: Options<'_> = &[
                ("engine", "null"),
                ("queue-depth", "32"),
                ("threads", "4"),
                ("total-bytes", "64m"),
                ("file-size", size),
            ];
            measured(&workload(None, &[common, options]))
        };
        run("1g");
        let small = peak_resident_bytes();
        run("64g");
        // The peak never falls, so what the second run needed beyond the first is all that can
        // show.
        let grown = peak_resident_bytes() - small;
        assert!(
            grown < 1 << 20,
            "{options:?}: 64 GiB took {grown} bytes more than 1 GiB"
        );
    }
}
