//! `fathom compare` of two places: targets are arms, and what lies below them is what is compared.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use record::{Record, Status, read_records};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, wanted: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is missing:\n{text}");
    }
}

/// A directory on the disk of the build, and one in memory where there is one.
fn two_places() -> [tempfile::TempDir; 2] {
    let memory = Path::new("/dev/shm");
    let second = if memory.is_dir() {
        memory
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR"))
    };
    [
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        tempfile::tempdir_in(second).unwrap(),
    ]
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

const SHORT: [&str; 8] = [
    "--run",
    "--set",
    "file-size=1M",
    "--set",
    "total-bytes=256K",
    "--set",
    "random=true",
    "--blocks=6",
];

#[test]
fn two_directories_are_compared_with_files_that_are_gone_afterwards() {
    let places = two_places();
    let keep = tempfile::tempdir().unwrap();
    let records = keep.path().join("r.jsonl");
    let [a, b] = places
        .each_ref()
        .map(|place| format!("target={}", place.path().display()));
    let output = fathom(
        &[
            &["compare", &a, &b][..],
            &SHORT[..],
            &["--records", records.to_str().unwrap()][..],
        ]
        .concat(),
    );
    let text = said(&output);
    assert!(!text.contains("environments differ"), "{text}");
    assert!(text.contains(&format!("{b} against {a}")), "{text}");
    let found = read_records(&records).unwrap().records;
    assert_eq!(found.len(), 12, "{text}");
    let mounts = |arm: &str| {
        let of_arm = |record: &&Record| record.trial.as_ref().unwrap().arm == arm;
        let mount = |record: &Record| {
            record
                .generator()
                .environment
                .storage
                .clone()
                .and_then(|s| s.file_system)
                .map(|f| f.mount_point)
        };
        found
            .iter()
            .filter(of_arm)
            .map(mount)
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        (mounts(&a).len(), mounts(&b).len()),
        (1, 1),
        "each arm's records tell of its own target"
    );
    if mounts(&a) != mounts(&b) {
        assert!(
            text.contains("what differs with what is compared:")
                && text.contains("  file system: "),
            "{text}"
        );
    }
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [0, 0]);
    // The records alone say the same.
    let again = said(&fathom(&["compare", records.to_str().unwrap()]));
    assert!(!again.contains("environments differ"), "{again}");
}

#[test]
fn paths_are_taken_for_targets_where_they_can_be_nothing_else() {
    let places = two_places();
    let [a, b] = places
        .each_ref()
        .map(|place| place.path().to_str().unwrap().to_owned());
    let output = fathom(&[&["compare", a.as_str(), b.as_str()][..], &SHORT[..]].concat());
    assert!(
        said(&output).contains(&format!("{b} against {a}")),
        "{}",
        said(&output)
    );
    let data = places[0].path().join("data");
    std::fs::write(&data, [0; 1 << 12]).unwrap();
    let data = data.to_str().unwrap();
    // What could be a workload is not taken for one if it is data, nor for records.
    assert_ends(
        &fathom(&["compare", data, &b, "--run"]),
        2,
        &["no workload in TOML", &format!("write target={data}")],
    );
    assert_ends(
        &fathom(&["compare", data, data]),
        2,
        &["holds no records", "add --run"],
    );
    assert_ends(
        &fathom(&["compare", &a, &b]),
        2,
        &["holds no records", "add --run"],
    );
    assert_ends(
        &fathom(&["compare", "/dev/null", &b, "--run"]),
        2,
        &["neither a file nor a directory nor a block device"],
    );
}

#[test]
fn what_cannot_work_is_refused_before_the_first_slot() {
    let places = two_places();
    let keep = tempfile::tempdir().unwrap();
    let records = keep.path().join("r.jsonl");
    let [a, b] = places
        .each_ref()
        .map(|place| format!("target={}", place.path().display()));
    let with = |more: &[&str]| {
        fathom(
            &[
                &[
                    "compare",
                    &a,
                    &b,
                    "--run",
                    "--records",
                    records.to_str().unwrap(),
                ][..],
                more,
            ]
            .concat(),
        )
    };
    assert_ends(
        &with(&["--set", "file-size=1P"]),
        2,
        &[
            "1.00 PiB more would be written",
            "free space, or give a smaller",
        ],
    );
    assert_ends(
        &with(&["--factor", "enginee"]),
        2,
        &[
            "--factor \"enginee\" is no option",
            "did you mean \"engine\"?",
        ],
    );
    assert_ends(
        &with(&["--factor", "queue-depth"]),
        2,
        &["--factor queue-depth has no effect"],
    );
    assert_ends(
        &with(&["--target", "/x"]),
        2,
        &["--target /x is the target of all sides"],
    );
    assert_ends(&with(&["--set", "target=/x"]), 2, &["given with --target"]);
    let gone = format!("target={}/none/f", places[0].path().display());
    assert_ends(
        &fathom(&["compare", &a, &gone, "--run", "--set", "file-size=1M"]),
        2,
        &[&gone, "none"],
    );
    assert!(!records.exists(), "nothing was measured");
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [0, 0]);
}

#[test]
fn an_engine_without_a_target_is_compared_with_one_that_has_one() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = place.path().join("f");
    let sides = [
        "compare",
        "engine=sync",
        "engine=null",
        "--target",
        target.to_str().unwrap(),
    ];
    let output = fathom(&[&sides[..], &SHORT[..]].concat());
    let text = said(&output);
    assert!(
        !text.contains("environments differ")
            && text.contains("what differs with what is compared:"),
        "{text}"
    );
}

#[test]
fn a_signal_removes_the_files_of_an_experiment() {
    let places = two_places();
    let keep = tempfile::tempdir().unwrap();
    let records = keep.path().join("r.jsonl");
    let [a, b] = places
        .each_ref()
        .map(|place| format!("target={}", place.path().display()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "compare",
            &a,
            &b,
            "--run",
            "--set",
            "file-size=1M",
            "--slot",
            "20ms",
            "--blocks",
            "50000",
        ])
        .args(["--records", records.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !read_records(&records).is_ok_and(|read| {
        read.records
            .iter()
            .any(|record| record.outcome.status == Status::Ok)
    }) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its first record"
        );
        std::thread::yield_now();
    }
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [1, 1]);
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [0, 0]);
}

const PROFILE: [&str; 7] = [
    "--run",
    "--profile",
    "--quick",
    "--size=16M",
    "--blocks=6",
    "--metric=mean",
    "--order-seed=3",
];

#[test]
fn the_standard_rows_are_measured_on_both_targets_in_every_block() {
    let places = two_places();
    let keep = tempfile::tempdir().unwrap();
    let (records, json) = (keep.path().join("r.jsonl"), keep.path().join("v.json"));
    let [a, b] = places
        .each_ref()
        .map(|place| place.path().to_str().unwrap().to_owned());
    let (b, more) = (
        format!("target={b}"),
        [
            "--records",
            records.to_str().unwrap(),
            "-o",
            json.to_str().unwrap(),
        ],
    );
    let output = fathom(&[&["compare", a.as_str(), &b][..], &PROFILE[..], &more[..]].concat());
    let text = said(&output);
    assert!(
        !text.contains("environments differ") && text.contains(&format!("{b} against {a}")),
        "{text}"
    );
    let found = read_records(&records).unwrap().records;
    let mut blocks: std::collections::BTreeMap<(String, u32), Vec<String>> =
        std::collections::BTreeMap::new();
    for trial in found.iter().filter_map(|record| record.trial.as_ref()) {
        blocks
            .entry((trial.row.clone(), trial.block))
            .or_default()
            .push(trial.arm.clone());
    }
    let rows: std::collections::BTreeSet<String> =
        blocks.keys().map(|(row, _)| row.clone()).collect();
    assert!(
        rows.len() > 1
            && rows
                .iter()
                .all(|row| row.contains("cached") || row.contains("direct")),
        "{rows:?}"
    );
    assert_eq!(blocks.len(), 6 * rows.len(), "{text}");
    assert!(blocks.values_mut().all(|arms| {
        arms.sort();
        *arms == [a.clone(), b.clone()]
    }));
    let verdicts: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(
        verdicts["verdicts"].as_array().unwrap().len(),
        rows.len() + 1,
        "all rows together, and each"
    );
    assert_eq!(
        places.each_ref().map(|place| entries(place.path())),
        [0, 0],
        "{text}"
    );
}

#[test]
fn a_profile_of_two_targets_is_refused_before_anything_is_made() {
    let places = two_places();
    let [a, b] = places
        .each_ref()
        .map(|place| place.path().to_str().unwrap().to_owned());
    let with = |sides: [&str; 2], more: &[&str]| {
        fathom(
            &[
                &["compare", sides[0], sides[1], "--run", "--profile"][..],
                more,
            ]
            .concat(),
        )
    };
    assert_ends(
        &with([&a, "/no/such/place"], &[]),
        2,
        &["/no/such/place does not exist"],
    );
    assert_ends(
        &with([&a, "engine=sync"], &[]),
        2,
        &["a side is a target and nothing else"],
    );
    assert_ends(&with([&a, &b], &["--set", "direct=true"]), 2, &["--set"]);
    assert_ends(&with([&a, &b], &["--size", "1P"]), 2, &["--size"]);
    assert_ends(&with([&a, &b], &["--blocks", "3"]), 2, &["need 6 blocks"]);
    assert_ends(
        &fathom(&["compare", &a, &b, "--profile"]),
        2,
        &["--profile is about a measurement; add --run"],
    );
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [0, 0]);
}

#[test]
fn a_signal_removes_the_files_of_a_profile_of_two_targets() {
    let places = two_places();
    let keep = tempfile::tempdir().unwrap();
    let records = keep.path().join("r.jsonl");
    let [a, b] = places
        .each_ref()
        .map(|place| place.path().to_str().unwrap().to_owned());
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "compare",
            &a,
            &b,
            "--run",
            "--profile",
            "--size=16M",
            "--blocks=1000",
            "--records",
            records.to_str().unwrap(),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !read_records(&records).is_ok_and(|read| !read.records.is_empty()) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its first record"
        );
        std::thread::yield_now();
    }
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(places.each_ref().map(|place| entries(place.path())), [0, 0]);
}
