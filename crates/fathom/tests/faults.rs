//! What goes wrong during a run: signals, files that are cut, replaced or removed, disks that are
//! full, devices that fail or stall.
//!
//! In every case what was measured is kept, and the exit code says that something went wrong.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ended, Ground, until};
use record::{Histogram, Operations, Record, Status};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::Duration;

/// Long enough for a run to end by what happens to it alone, and short enough to fail in reasonable
/// time where nothing does.
const LONG: &str = "60s";
/// More than is ever filled before a signal comes.
const ENDLESS: &str = "512M";
/// Blocks of the small files here.
const BLOCKS: u64 = 256;

/// Engines with a depth that suits each.
const ENGINES: [(&str, &str); 4] = [
    ("sync", "1"),
    ("io_uring", "8"),
    ("libaio", "8"),
    ("mmap", "1"),
];

fn reads(record: &Record) -> &Operations {
    record.operations.kind("read").unwrap()
}

/// Every operation that was counted has its latency, and none that failed has one.
fn assert_counted(record: &Record) {
    for (kind, operations) in record.operations.kinds() {
        assert_eq!(operations.latency.count(), operations.count, "{kind}");
    }
    let errors: u64 = record.errors.iter().map(|error| error.count).sum();
    assert_eq!(errors, record.operations.errors());
}

fn quantile(histogram: &Histogram, q: f64) -> f64 {
    histogram.quantile(q).unwrap()
}

/// A measured run was stopped by a signal: the code says by which, and everything until then is
/// there.
fn assert_interrupted(ended: &Ended, record: &Record, code: i32) {
    ended.expect(code);
    assert!(
        ended
            .stdout
            .contains(&format!("interrupted (exit code {code})")),
        "{}",
        ended.stdout
    );
    assert_eq!(
        (record.outcome.status, record.outcome.exit_code),
        (Status::Interrupted, code)
    );
    assert!(reads(record).count > 0 && record.elapsed_ns > 0);
    assert_counted(record);
}

#[test]
fn ctrl_c_in_the_middle_of_a_run_keeps_what_was_measured_whatever_the_engine() {
    let ground = Ground::new();
    for (engine, depth) in ENGINES {
        let records = format!("{engine}.jsonl");
        let run = ground.start(&[
            "run",
            "f",
            "--file-size",
            "1M",
            "--random",
            "--duration",
            LONG,
            "--threads",
            "2",
            "--engine",
            engine,
            "--queue-depth",
            depth,
            "--records",
            &records,
        ]);
        run.wait_until_busy();
        run.signal("INT");
        assert_interrupted(&run.end(), &ground.record(&records), 130);
    }
}

#[test]
fn a_run_that_waits_for_its_next_operation_hears_the_signal_too() {
    let ground = Ground::new();
    let pace: [&[&str]; 2] = [
        &["--rate-iops", "2000"],
        &["--think-time", "1h", "--think-every", "2000"],
    ];
    for (number, pace) in pace.iter().enumerate() {
        let records = format!("{number}.jsonl");
        let run = ground.start(
            &[
                &[
                    "run",
                    "f",
                    "--file-size",
                    "1M",
                    "--duration",
                    LONG,
                    "--records",
                    &records,
                ],
                *pace,
            ]
            .concat(),
        );
        run.wait_until_busy();
        run.signal("INT");
        assert_interrupted(&run.end(), &ground.record(&records), 130);
    }
}

#[test]
fn what_was_due_by_a_stonewall_and_never_begun_is_owed_of_names_too() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    let run = ground.start(&[
        "run",
        "d",
        "--meta",
        "create,stat",
        "--num-files",
        "100000",
        "--rate-iops",
        "400",
        "--stonewall",
        "4s",
        "--records",
        "r.jsonl",
    ]);
    until("names are made", || {
        let names = fs::read_dir(ground.path("d")).ok()?;
        (names.count() >= 5).then_some(())
    });
    run.stand_still(Duration::from_secs(5));
    let ended = run.end();
    let record = ground.record("r.jsonl");
    let kept = record.kept_schedule().unwrap().judged();
    let creates = record.operations.kind("create").unwrap().count as f64;
    // All that was created is looked at, in time.
    let expected = 2.0 * creates / (1600.0 + creates);
    assert!((kept - expected).abs() < 0.02, "{kept} {expected}");
    assert!(kept < 0.9, "{kept}");
    assert!(ended.stdout.contains("[rate_not_kept]"), "{}", ended.stdout);
}

#[test]
fn a_polite_kill_is_told_from_ctrl_c() {
    let ground = Ground::new();
    let run = ground.start(&[
        "run",
        "f",
        "--file-size",
        "1M",
        "--duration",
        LONG,
        "--records",
        "r.jsonl",
    ]);
    run.wait_until_busy();
    run.signal("TERM");
    assert_interrupted(&run.end(), &ground.record("r.jsonl"), 143);
}

#[test]
fn two_signals_at_once_are_one_wish_and_the_workers_are_waited_for() {
    let ground = Ground::new();
    // A worker that pauses hears of the end only when its pause is looked at, long after both
    // signals.
    let pause = ["--think-time", "1h", "--think-every", "2000"];
    let run = ground.start(
        &[
            &[
                "run",
                "f",
                "--file-size",
                "1M",
                "--duration",
                LONG,
                "--records",
                "r.jsonl",
            ],
            &pause[..],
        ]
        .concat(),
    );
    run.wait_until_busy();
    run.signals(&["TERM", "INT"]);
    let ended = run.end();
    let record = ground.record("r.jsonl");
    // Signals that wait at once have no order in the kernel: either of them is the first, and all
    // that is said names the same one.
    let first = record.outcome.exit_code;
    assert!([130, 143].contains(&first), "{first}");
    assert_interrupted(&ended, &record, first);
    assert_eq!(record.workers[0].error, None);
    assert!(
        record
            .outcome
            .message
            .unwrap()
            .ends_with("what was measured until then is here")
    );
}

#[test]
fn a_terminal_that_hangs_up_loses_nothing_unless_the_run_was_told_to_ignore_it() {
    let ground = Ground::new();
    let arguments = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--duration",
        LONG,
        "--records",
        "r.jsonl",
    ];
    let run = ground.start(&arguments);
    run.wait_until_busy();
    run.signal("HUP");
    assert_interrupted(&run.end(), &ground.record("r.jsonl"), 129);
    fs::remove_file(ground.path("r.jsonl")).unwrap();
    let run = ground.start_ignoring("HUP", &arguments);
    run.wait_until_busy();
    run.signals(&["HUP", "INT"]);
    assert_interrupted(&run.end(), &ground.record("r.jsonl"), 130);
}

#[test]
fn a_file_that_reaches_the_limit_of_the_shell_fails_the_run_and_its_record_is_kept() {
    let ground = Ground::new();
    ground
        .fathom(&[
            "run",
            "f",
            "--file-size",
            "1M",
            "--write-percent",
            "100",
            "--total-bytes",
            "1M",
        ])
        .expect(0);
    let arguments = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--write-percent",
        "100",
        "--duration",
        LONG,
        "--records",
        "r.jsonl",
    ];
    let ended = Ended::of(ground.within("ulimit -f 40", &arguments).output().unwrap());
    ended.expect(1);
    let record = ground.record("r.jsonl");
    assert_eq!(
        (record.outcome.status, record.errors.len()),
        (Status::Failed, 1)
    );
    assert!(
        record.errors[0].error.starts_with("File too large"),
        "{:?}",
        record.errors
    );
    let new = Ended::of(
        ground
            .within("ulimit -f 40", &["run", "g", "--file-size", "1M"])
            .output()
            .unwrap(),
    );
    assert_eq!((new.code, ground.exists("g")), (Some(1), false));
    assert!(new.error().contains("(`ulimit -f`)"), "{}", new.stderr);
}

#[test]
fn a_generator_that_was_stopped_says_so_and_blames_no_storage() {
    let ground = Ground::new();
    for (number, pace) in [
        &["--rate-iops", "1000"][..],
        &[],
        &["--engine", "io_uring", "--queue-depth", "4"],
    ]
    .iter()
    .enumerate()
    {
        let records = format!("{number}.jsonl");
        let run = ground.start(
            &[
                &[
                    "run",
                    "f",
                    "--file-size",
                    "1M",
                    "--duration",
                    LONG,
                    "--records",
                    &records,
                ],
                *pace,
            ]
            .concat(),
        );
        run.wait_until_busy();
        run.stand_still(Duration::from_millis(400));
        run.signal("INT");
        assert_interrupted(&run.end(), &ground.record(&records), 130);
        let record = ground.record(&records);
        assert!(
            record.longest_stop_ns() >= 400_000_000,
            "{pace:?}: {:?}",
            record.stops
        );
        let rules: Vec<&str> = analyze::self_check(&record)
            .iter()
            .map(|finding| finding.rule)
            .collect();
        assert_eq!(rules[0], "generator_stopped", "{pace:?}");
        assert!(
            !rules.contains(&"coordinated_omission") && !rules.contains(&"not_steady"),
            "{pace:?}: {rules:?}"
        );
    }
}

#[test]
fn data_that_fathom_never_wrote_are_refused_and_not_called_corrupt() {
    let ground = Ground::new();
    ground.write(
        "theirs",
        "somebody else's data, of no pattern at all. ".repeat(3000),
    );
    let message = ground.refused(&["run", "theirs", "--verify", "--run-until-complete"]);
    assert!(message.starts_with("theirs was not written by a verified run of Fathom with the pattern header: its first 16 blocks hold other data"), "{message}");
    // So are reads among writes, also of patterns that know no writes, and the way out works.
    let mix = "run theirs --random --verify --verify-pattern random --write-percent 50 --total-bytes 128K --allow-destroy theirs";
    let mix: Vec<&str> = mix.split(' ').collect();
    let message = ground.refused(&mix);
    assert!(
        message.contains("with the pattern random, seed ") && message.contains("--refill"),
        "{message}"
    );
    ground.fathom(&[&mix[..], &["--refill"]].concat()).expect(0);
    let message = ground.refused(&[&mix[..], &["--seed", "2", "--no-refill"]].concat());
    assert!(
        message.contains("--no-refill forbids to write it first"),
        "{message}"
    );
    ground.write(
        "theirs",
        "somebody else's data, of no pattern at all. ".repeat(3000),
    );
    // What is Fathom's at its beginning is read, and the rest is told by its name.
    ground
        .fathom(&[
            "run",
            "f",
            "--file-size",
            "256K",
            "--write-percent",
            "100",
            "--verify",
            "--duration",
            "0s",
        ])
        .expect(0);
    let ours = ground.read("f");
    fs::write(
        ground.path("mixed"),
        [
            &ours[..4096],
            &ground.read("theirs")[..8192],
            &ours[12288..16384],
        ]
        .concat(),
    )
    .unwrap();
    ground
        .fathom(&[
            "run",
            "mixed",
            "--verify",
            "--run-until-complete",
            "--records",
            "r.jsonl",
        ])
        .expect(1);
    let by_kind = ground.record("r.jsonl").verification.unwrap().by_kind;
    assert_eq!(by_kind, [("not written by Fathom".to_owned(), 2)].into());
}

#[test]
fn every_pass_of_writes_is_read_back_and_leaves_other_bytes_than_the_last() {
    let ground = Ground::new();
    let write = [
        "run",
        "f",
        "--file-size",
        "64K",
        "--write-percent",
        "100",
        "--verify",
        "--random",
        "--threads",
        "2",
    ];
    ground
        .fathom(&[&write[..], &["--duration", "0s"]].concat())
        .expect(0);
    let once = ground.read("f");
    let passes = [
        "--verify-when",
        "passes",
        "--duration",
        "300ms",
        "--records",
        "r.jsonl",
    ];
    ground.fathom(&[&write[..], &passes].concat()).expect(0);
    let record = ground.record("r.jsonl");
    let counts = ["read", "write"].map(|kind| record.operations.kind(kind).unwrap().count);
    let checked = record.verification.unwrap();
    assert_eq!((checked.operations, checked.failures), (counts[0], 0));
    assert!(
        counts[0] >= 32 && (counts[0]..=counts[0] + 16).contains(&counts[1]),
        "{counts:?}"
    );
    assert!(
        once.chunks(512)
            .zip(ground.read("f").chunks(512))
            .all(|(before, after)| before != after)
    );
    // A later run knows which generations may be there, and an older one is stale.
    ground
        .fathom(&["run", "f", "--verify", "--run-until-complete"])
        .expect(0);
    ground
        .fathom(&[
            "run",
            "untouched",
            "--verify",
            "--file-size",
            "64K",
            "--run-until-complete",
        ])
        .expect(0);
}

#[test]
fn a_verified_file_that_lost_its_end_is_refused_and_not_filled_again() {
    let ground = Ground::new();
    let run = |file: &'static str, more: &[&'static str]| {
        ground.fathom(&[&["run", file, "--verify", "--file-size", "256K"], more].concat())
    };
    let cut = |file: &'static str, bytes| {
        let file = fs::File::options().write(true).open(ground.path(file));
        file.unwrap().set_len(bytes).unwrap();
    };
    for file in ["emptied", "cut"] {
        run(file, &["--write-percent", "100", "--duration", "0s"]).expect(0);
    }
    cut("emptied", 0);
    cut("cut", 65_536);
    for mix in ["100", "50"] {
        for (file, has) in [("emptied", "has 0"), ("cut", "has 65536")] {
            let run = ["run", file, "--verify", "--file-size", "256K"];
            let refusal = ground.refused(&[&run[..], &["--read-percent", mix]].concat());
            let said =
                format!("{file} had 262144 bytes when Fathom's last run on it ended, and {has}");
            assert!(refusal.starts_with(&said), "{refusal}");
        }
    }
    assert_eq!(ground.read("emptied").len(), 0);
    let left = ["run", "cut", "--verify", "--run-until-complete"];
    ground
        .fathom(&[&left[..], &["--file-size", "65536"]].concat())
        .expect(0);
    // What is filled as a whole is one write, and is found as such.
    run("emptied", &["--refill", "--run-until-complete"]).expect(0);
    run("emptied", &["--run-until-complete"]).expect(0);
}

/// What a run has not written of a file no other run calls damage, and what it knew stays known.
#[test]
fn verified_files_are_made_longer_and_written_in_part_and_what_they_hold_stays_known() {
    const WRITE: [&str; 4] = ["--write-percent", "100", "--duration", "0s"];
    let run = |ground: &Ground, more: &[&str]| {
        let words = ["run", "f", "--verify"];
        ground.fathom(&[&words[..], more].concat())
    };
    for pattern in ["header", "random", "sequential"] {
        let ground = Ground::new();
        let known = |size: &str, blocks: u64| {
            let words = ["--verify-pattern", pattern, "--duration", "0s"];
            let ended = run(&ground, &[&words[..], &["--file-size", size]].concat());
            ended.expect(0);
            let all_of_it = format!("Operations: {blocks}, Failures: 0");
            assert!(ended.stdout.contains(&all_of_it), "{pattern} {size}");
        };
        let work = |more: &[&str]| {
            run(&ground, &[&["--verify-pattern", pattern], more].concat()).expect(0);
        };
        // No length is a multiple of what the file system keeps in one piece.
        let mixed = ["--write-percent", "50", "--random", "--total-bytes", "1M"];
        work(&[&mixed[..], &["--file-size", "1000000"]].concat());
        known("1000000", 244);
        work(&[&mixed[..], &["--file-size", "2000300"]].concat());
        known("2000300", 488);
        known("3000001", 732);
        // Some of a longer file, from an offset on, to before its end, and filled anew.
        work(&[&WRITE[..], &["--file-size", "2M", "--offset", "64K"]].concat());
        work(&[&WRITE[..], &["--file-size", "1M"]].concat());
        work(&["--refill", "--file-size", "500000", "--duration", "0s"]);
        known("3000001", 732);
        let grown = [
            "--file-size",
            "4M",
            "--write-percent",
            "100",
            "--verify-when",
            "later",
        ];
        work(&[&grown[..], &["--total-bytes", "64K"]].concat());
        let refused = ["run", "f", "--verify", "--verify-pattern", pattern];
        let refused = [&refused[..], &["--file-size", "4M", "--duration", "0s"]].concat();
        let refused = ground.refused(&refused);
        assert!(refused.contains("in its first 3000001 bytes"), "{refused}");
        known("3000001", 732);
    }
    // What nobody verified before is known where it was written since.
    let ground = Ground::new();
    ground
        .fathom(&[&["run", "f", "--file-size", "1M"], &WRITE[..]].concat())
        .expect(0);
    run(&ground, &[&WRITE[..], &["--offset", "256K"]].concat()).expect(0);
    let whole = ground.refused(&["run", "f", "--verify", "--duration", "0s"]);
    assert!(whole.contains("from --offset 262144 on"), "{whole}");
    run(&ground, &["--duration", "0s", "--offset", "256K"]).expect(0);
}

/// Whatever a file is verified with, its blocks are its own, and what is lost is not made anew before
/// anybody looks.
#[test]
fn blocks_are_of_their_file_and_what_is_lost_is_told() {
    const WRITE: [&str; 5] = ["--verify", "--write-percent", "100", "--duration", "0s"];
    let ground = Ground::new();
    let run = |what: &[&str], more: &[&str]| ground.fathom(&[&["run"], what, more].concat());
    let verified = |what: &[&str]| run(what, &["--verify", "--duration", "0s"]);
    let refused = |what: &[&str], why: &str| {
        let said = ground.refused(&[&["run"], what, &["--verify", "--duration", "0s"]].concat());
        assert!(said.contains(why), "{said}");
    };
    // One by one they are of other runs' numbers, and stay theirs.
    run(&["a", "b", "--file-size", "64K"], &WRITE).expect(0);
    for one in ["a", "b"] {
        run(&[one], &WRITE).expect(0);
    }
    for what in [&["b", "a"][..], &["b"]] {
        verified(what).expect(0);
    }
    let (a, mut mixed) = (ground.read("a"), ground.read("b"));
    mixed[..4096].copy_from_slice(&a[..4096]);
    ground.write("b", &mixed);
    assert_eq!(verified(&["b"]).code, Some(1), "a block of another file");
    refused(&["a", "./a"], "are one file");
    fs::hard_link(ground.path("a"), ground.path("c")).unwrap();
    refused(&["a", "c"], "are one file");
    // Files that start together, and those of another layout.
    ground.write(
        "two.fio",
        "[global]\nrw=write\nsize=64k\nbs=4k\nverify=crc32c\ndo_verify=0\n[e]\nfilename=e\n[f]\nfilename=f\n",
    );
    ground.fathom(&["run", "--fio", "two.fio"]).expect(0);
    assert!(ground.read("e") != ground.read("f"));
    let jobs = "[global]\nrw=randrw\nsize=64k\nbs=4k\nverify=crc32c\nfilename=e\n[a]\n[b]\n";
    ground.write("one.fio", jobs);
    let said = ground.refused(&["run", "--fio", "one.fio"]);
    assert!(
        said.contains("neither knows when the other writes"),
        "{said}"
    );
    fs::create_dir(ground.path("d")).unwrap();
    let tree = ["d", "--num-dirs", "2", "--file-size", "16K", "--num-files"];
    for files in ["2", "3"] {
        run(&[&tree[..], &[files]].concat(), &WRITE).expect(0);
    }
    for files in ["3", "1"] {
        verified(&[&tree[..], &[files]].concat()).expect(0);
    }
    verified(&["d/dir.0001/file.000000"]).expect(0);
    // Its number stays where the run on it is killed.
    let words = [
        "run",
        "d/dir.0001/file.000000",
        "--verify",
        "--write-percent",
        "50",
    ];
    let mixed = ground.start(&[&words[..], &["--duration", LONG]].concat());
    mixed.wait_until_busy();
    mixed.signal("KILL");
    mixed.end();
    verified(&["d/dir.0001/file.000000"]).expect(0);
    fs::remove_file(ground.path("d/dir.0001/file.000001")).unwrap();
    refused(&[&tree[..], &["3"]].concat(), "is not there");
}

#[test]
fn what_is_lost_of_a_verified_file_is_told_and_not_made_anew() {
    let ground = Ground::new();
    let verified = |what: &[&str]| {
        ground.fathom(&[&["run"], what, &["--verify", "--duration", "0s"]].concat())
    };
    let files = ["e", "f", "--file-size", "64K", "--write-percent", "100"];
    verified(&files).expect(0);
    // A length that nobody names is that of before; a hole is there to be found.
    let open = |file| {
        fs::File::options()
            .write(true)
            .open(ground.path(file))
            .unwrap()
    };
    open("e").set_len(4096).unwrap();
    let said = ground.refused(&["run", "e", "--verify", "--duration", "0s"]);
    assert!(said.contains("e had 65536 bytes"), "{said}");
    for bytes in [57_344, 65_536] {
        open("f").set_len(bytes).unwrap();
    }
    let grown = ["f", "--file-size", "128K", "--allow-destroy", "f"];
    for _ in 0..2 {
        let found = verified(&grown);
        assert_eq!(found.code, Some(1));
        assert!(found.stdout.contains("Operations: 32, Failures: 2"));
    }
    // Who is killed while it fills leaves a file that cannot be verified, and later one that can.
    let filling = ground.start(&["run", "g", "--file-size", ENDLESS, "--duration", LONG]);
    filling.wait_until_filling(&ground.path("g"));
    filling.signal("KILL");
    filling.end();
    let verified_early = verified(&["g"]);
    assert_eq!(verified_early.code, Some(2));
    assert!(verified_early.stderr.contains("does not hold the pattern"));
    let mixed = [
        "run",
        "h",
        "--file-size",
        "1M",
        "--verify",
        "--write-percent",
        "50",
    ];
    let mixed = ground.start(&[&mixed[..], &["--duration", LONG]].concat());
    mixed.wait_until_busy();
    let verified_early = verified(&["h"]);
    assert_eq!(verified_early.code, Some(2));
    assert!(verified_early.stderr.contains("is being written to"));
    mixed.signal("KILL");
    mixed.end();
    verified(&["h"]).expect(0);
    // What somebody appended was never held.
    open("f").set_len(256 << 10).unwrap();
    assert_eq!(verified(&["f"]).code, Some(2));
    fs::remove_file(ground.path("g")).unwrap();
}

#[test]
fn rewrites_of_a_mixed_run_and_of_random_writes_leave_other_bytes() {
    let ground = Ground::new();
    let numbers = || -> Vec<u64> {
        ground
            .read("f")
            .chunks(4096)
            .map(|block| u64::from_le_bytes(block[40..48].try_into().unwrap()))
            .collect()
    };
    let run = ["run", "f", "--verify", "--file-size", "16K", "--random"];
    let mix: &[&str] = &["--read-percent", "50"];
    let writes: &[&str] = &["--write-percent", "100", "--verify-when", "later"];
    for what in [mix, writes] {
        ground
            .fathom(&[&run[..], &["--refill", "--total-bytes", "64K"]].concat())
            .expect(0);
        let before = numbers();
        ground
            .fathom(&[&run[..], &["--total-bytes", "4M"], what].concat())
            .expect(0);
        // Four blocks, each written some hundred times.
        let after = numbers();
        let least = before.iter().max().unwrap() + 50;
        assert!(
            after.iter().all(|number| *number > least),
            "{before:?} {after:?}"
        );
        ground
            .fathom(&["run", "f", "--verify", "--run-until-complete"])
            .expect(0);
    }
}

#[test]
fn a_signal_ends_all_phases_that_would_follow() {
    let ground = Ground::new();
    ground.write(
        "two.toml",
        "target = \"f\"\nfile-size = \"1M\"\nduration = \"60s\"\n[[phase]]\nname = \"one\"\n[[phase]]\nname = \"two\"\n",
    );
    let run = ground.start(&["run", "--config", "two.toml", "--records", "r.jsonl"]);
    run.wait_until_busy();
    run.signal("INT");
    assert_interrupted(&run.end(), &ground.record("r.jsonl"), 130);
}

#[test]
fn a_signal_while_a_new_file_is_being_filled_removes_it() {
    let ground = Ground::new();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("USR1", 138)] {
        let run = ground.start(&[
            "run",
            "d/f",
            "--file-size",
            ENDLESS,
            "--num-files",
            "1",
            "--records",
            "r.jsonl",
        ]);
        run.wait_until_filling(&ground.path("d/f/file.000000"));
        run.signal(signal);
        let ended = run.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""));
        assert!(
            ended.error().starts_with("stopped by signal"),
            "{}",
            ended.stderr
        );
        assert!(
            !ground.path("d").exists(),
            "what was made for the run is removed"
        );
        let record = ground.record("r.jsonl");
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (record::Status::Interrupted, code)
        );
        std::fs::remove_file(ground.path("r.jsonl")).unwrap();
    }
}

#[test]
fn a_signal_while_the_cache_is_being_warmed_is_heard() {
    let ground = Ground::new();
    fs::File::create_new(ground.path("holes"))
        .unwrap()
        .set_len(64 << 30)
        .unwrap();
    let run = ground.start(&[
        "run",
        "holes",
        "--cache",
        "warm",
        "--no-refill",
        "--duration",
        LONG,
    ]);
    run.wait_until_read(256 << 20);
    run.signal("INT");
    let ended = run.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""));
    assert!(
        ended
            .error()
            .starts_with("stopped by signal 2 before anything was measured"),
        "{}",
        ended.stderr
    );
}

#[test]
fn after_a_kill_earlier_records_are_whole_and_the_file_is_ours_again_once_it_is_named() {
    let ground = Ground::new();
    let target = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--write-percent",
        "50",
        "--records",
        "r.jsonl",
    ];
    ground
        .fathom(&[&target[..], &["--total-bytes", "1M"]].concat())
        .expect(0);
    let earlier = ground.read("r.jsonl");
    let run = ground.start(&[&target[..], &["--duration", LONG]].concat());
    run.wait_until_busy();
    run.signal("KILL");
    assert_eq!(run.end().code, None);
    assert!(ground.read("r.jsonl").starts_with(&earlier));
    // What the run had kept when it was killed says that it did not end.
    let kept = ground.records("r.jsonl").split_off(1);
    let statuses = kept.iter().map(|record| record.outcome.status);
    assert!(
        statuses.eq(kept.iter().map(|_| Status::Incomplete)),
        "{kept:?}"
    );
    ground
        .fathom(
            &[
                &target[..],
                &["--total-bytes", "1M", "--allow-destroy", "f"],
            ]
            .concat(),
        )
        .expect(0);
    ground
        .fathom(&[&target[..], &["--total-bytes", "1M"]].concat())
        .expect(0);
    assert_eq!(ground.records("r.jsonl").len(), 3 + kept.len());
}

#[test]
fn after_a_kill_during_the_fill_the_missing_part_is_filled_again_once_the_file_is_named() {
    let ground = Ground::new();
    let run = ground.start(&["run", "f", "--file-size", ENDLESS]);
    run.wait_until_filling(&ground.path("f"));
    run.signal("KILL");
    assert_eq!(run.end().code, None);
    let again = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--truncate-to-size",
        "--total-bytes",
        "1M",
        "--records",
        "r.jsonl",
    ];
    ground
        .fathom(&[&again[..], &["--allow-destroy", "f"]].concat())
        .expect(0);
    assert_eq!(fs::metadata(ground.path("f")).unwrap().len(), 1 << 20);
    assert_eq!(reads(&ground.record("r.jsonl")).count, BLOCKS);
}

/// Cuts the target of a run in its middle and returns how the run ended.
fn cut(ground: &Ground, engine: &str, depth: &str, more: &[&str]) -> (Ended, Record) {
    let records = format!("{engine}.jsonl");
    let args = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--random",
        "--duration",
        LONG,
        "--engine",
        engine,
        "--queue-depth",
        depth,
    ];
    let run = ground.start(&[&args[..], more, &["--records", &records]].concat());
    run.wait_until_busy();
    fs::OpenOptions::new()
        .write(true)
        .open(ground.path("f"))
        .unwrap()
        .set_len(0)
        .unwrap();
    (run.end(), ground.record(&records))
}

/// What a read beyond the end of the file is called.
fn beyond_the_end(engine: &str) -> &'static str {
    if engine == "mmap" {
        "Input/output error (os error 5)"
    } else {
        "short transfer: 0 of 4096 bytes"
    }
}

#[test]
fn a_file_that_is_cut_under_a_run_fails_it_with_what_was_measured() {
    for (engine, depth) in ENGINES {
        let ground = Ground::new();
        let (ended, record) = cut(&ground, engine, depth, &[]);
        ended.expect(1);
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Failed, 1),
            "{engine}"
        );
        let [error] = &record.errors[..] else {
            panic!("{engine}: {:?}", record.errors)
        };
        assert_eq!(
            (
                error.operation.as_str(),
                error.error.as_str(),
                error.first_file.as_str()
            ),
            ("read", beyond_the_end(engine), "f")
        );
        let offset = error.first_offset.unwrap();
        assert!(offset < 1 << 20 && offset % 4096 == 0);
        assert!(reads(&record).count > 0, "{engine}");
        assert_counted(&record);
    }
}

// More errors than the file has pages: a page that failed once must not be answered from memory
// afterwards.
#[test]
fn every_operation_beyond_the_cut_is_an_error_and_none_is_answered_from_memory() {
    let limit = 4 * BLOCKS;
    for (engine, depth) in ENGINES {
        let ground = Ground::new();
        let (ended, record) = cut(
            &ground,
            engine,
            depth,
            &["--continue-on-error", "--max-errors", &limit.to_string()],
        );
        ended.expect(1);
        assert!(
            record.operations.errors() >= limit && record.operations.errors() < limit + 8,
            "{engine}: {}",
            record.operations.errors()
        );
        assert!(
            ended.stdout.contains(beyond_the_end(engine)),
            "{}",
            ended.stdout
        );
        assert_counted(&record);
    }
}

#[test]
fn writes_into_a_mapping_that_was_cut_are_errors_too() {
    let ground = Ground::new();
    let (ended, record) = cut(
        &ground,
        "mmap",
        "1",
        &[
            "--write-percent",
            "100",
            "--continue-on-error",
            "--max-errors",
            "1000",
        ],
    );
    ended.expect(1);
    assert_eq!(record.operations.kind("write").unwrap().errors, 1000);
    assert_eq!(
        fs::metadata(ground.path("f")).unwrap().len(),
        0,
        "no write brought the file back"
    );
}

#[test]
fn a_file_that_is_removed_during_a_run_is_used_to_the_end_and_the_record_says_so() {
    for mix in ["0", "50"] {
        let ground = Ground::new();
        let run = ground.start(&[
            "run",
            "f",
            "--file-size",
            "1M",
            "--random",
            "--duration",
            "2s",
            "--write-percent",
            mix,
            "--records",
            "r.jsonl",
        ]);
        run.wait_until_busy();
        fs::remove_file(ground.path("f")).unwrap();
        let ended = run.end();
        ended.expect(0);
        let record = ground.record("r.jsonl");
        assert_eq!(
            record.notices,
            ["during the run f was removed; operations went to the file that was opened"]
        );
        assert!(
            ended.stdout.contains("during the run f was removed"),
            "{}",
            ended.stdout
        );
        assert!(reads(&record).count > 0 && record.errors.is_empty());
        assert!(!ground.exists("f"), "nothing is put in its place");
    }
}

#[test]
fn a_file_that_takes_the_targets_name_during_a_run_does_not_become_ours() {
    let ground = Ground::new();
    let foreign = vec![0x5a; 1 << 20];
    ground.write("foreign", &foreign);
    let run = ground.start(&[
        "run",
        "f",
        "--file-size",
        "1M",
        "--random",
        "--duration",
        "2s",
        "--write-percent",
        "100",
        "--records",
        "r.jsonl",
    ]);
    run.wait_until_busy();
    fs::rename(ground.path("foreign"), ground.path("f")).unwrap();
    run.end().expect(0);
    let notices = ground.record("r.jsonl").notices;
    assert_eq!(
        notices,
        [
            "during the run f was replaced by another file, which is left alone; operations went to the file that was opened"
        ]
    );
    let message = ground.refused(&["run", "f", "--write-percent", "100", "--total-bytes", "1M"]);
    assert!(
        message.starts_with("f holds 1048576 bytes that Fathom did not write"),
        "{message}"
    );
    assert_eq!(ground.read("f"), foreign);
}

#[test]
fn a_disk_that_is_full_of_records_costs_the_record_and_not_the_summary() {
    let ground = Ground::new();
    let ended = ground.fathom(&[
        "run",
        "f",
        "--file-size",
        "1M",
        "--total-bytes",
        "1M",
        "--records",
        "/dev/full",
    ]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.error(),
        "/dev/full: No space left on device (os error 28)"
    );
    assert!(
        ended.stdout.contains("outcome       ok"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_result_that_cannot_be_written_does_not_cost_the_others() {
    let ground = Ground::new();
    let ended = ground.fathom(&[
        "run",
        "f",
        "--file-size",
        "1M",
        "--total-bytes",
        "1M",
        "--output",
        "/dev/full",
        "--json-output",
        "r.json",
        "--csv-output",
        "r.csv",
        "--hdr-log",
        "r.hlog",
        "--records",
        "r.jsonl",
    ]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        ended.error(),
        "cannot write /dev/full: No space left on device (os error 28)"
    );
    for result in ["r.json", "r.csv", "r.hlog"] {
        assert!(!ground.read(result).is_empty(), "{result}");
    }
    assert_eq!(reads(&ground.record("r.jsonl")).count, BLOCKS);
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let ground = Ground::new();
    let commands: &[&[&str]] = &[
        &["run", "f", "--file-size", "1M", "--total-bytes", "1M"],
        &[
            "run",
            "f",
            "--file-size",
            "1M",
            "--total-bytes",
            "1M",
            "--output-format",
            "json",
        ],
        &["run", "f", "--file-size", "1M", "--dry-run"],
        &["run", "--help"],
        &["calibrate"],
        &["calibrate", "--json"],
        &["completions", "bash"],
    ];
    for args in commands {
        let mut child = ground
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        Ended::of(child.wait_with_output().unwrap()).expect(0);
    }
    let mut refused = ground
        .command(&["run", "none/f"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(refused.stderr.take());
    assert_eq!(
        refused.wait().unwrap().code(),
        Some(2),
        "an error that nobody reads is still an error"
    );
}

/// A run of the modelled device for one second of its time, of 100,000 operations of which every
/// hundredth fails.
fn failing(more: &[&str]) -> (Ended, Record) {
    let ground = Ground::new();
    let args = [
        "run",
        "--engine",
        "sim",
        "--sim-model",
        "latency=10us,error-every=100",
        "--duration",
        "1s",
        "--records",
        "r.jsonl",
    ];
    let ended = ground.fathom(&[&args[..], more].concat());
    (ended, ground.record("r.jsonl"))
}

#[test]
fn a_device_that_fails_ends_the_run_or_is_counted_as_asked() {
    let more: [(&[&str], u64, u64); 3] = [
        (&[], 99, 1),
        (&["--continue-on-error"], 99_000, 1_000),
        (&["--continue-on-error", "--max-errors", "7"], 7 * 99, 7),
    ];
    for (more, succeeded, failed) in more {
        let (ended, record) = failing(more);
        ended.expect(1);
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Failed, 1)
        );
        assert_eq!(
            (reads(&record).count, reads(&record).errors),
            (succeeded, failed),
            "{more:?}"
        );
        assert_eq!(
            (record.errors[0].error.as_str(), record.errors[0].count),
            ("Input/output error (os error 5)", failed)
        );
        assert_counted(&record);
        assert_eq!(
            ended.stdout.matches("Input/output error").count(),
            2,
            "the error and the outcome: {}",
            ended.stdout
        );
    }
}

/// One run of the modelled device that stands still from second 3 to second 5 of 10.
fn stalled(more: &[&str]) -> Record {
    let ground = Ground::new();
    let args = [
        "run",
        "--engine",
        "sim",
        "--sim-model",
        "latency=10us,stall=3s+2s",
        "--duration",
        "10s",
        "--records",
        "r.jsonl",
    ];
    ground.fathom(&[&args[..], more].concat()).expect(0);
    let record = ground.record("r.jsonl");
    assert_counted(&record);
    record
}

// Of 10,000 operations 2,000 are due while the device stands still, one a millisecond: the share q
// of all operations waits longer than 2 s - (1 - q) * 10 s, and what piled up is worked off in 20
// ms.
#[test]
fn a_device_that_stands_still_for_two_seconds_shows_in_the_percentiles_of_an_open_loop() {
    for arrival in ["constant", "poisson"] {
        for depth in ["1", "64"] {
            let record = stalled(&[
                "--rate-iops",
                "1000",
                "--arrival",
                arrival,
                "--queue-depth",
                depth,
            ]);
            let latency = &reads(&record).latency;
            let near = if arrival == "constant" { 0.02e9 } else { 0.1e9 };
            for (q, expected) in [(0.99, 1.9e9), (0.95, 1.5e9), (0.90, 1.0e9)] {
                let found = quantile(latency, q);
                assert!(
                    (found - expected).abs() <= near + 0.01 * expected,
                    "{arrival}, depth {depth}: p{q} is {found} ns"
                );
            }
            assert!(
                quantile(latency, 0.5) < 100e3,
                "{arrival}, depth {depth}: {} ns",
                quantile(latency, 0.5)
            );
            assert!(latency.max() >= Some(1_990_000_000));
            let asked = 10_000.0;
            assert!(
                (record.operations.count() as f64 - asked).abs() <= 0.03 * asked,
                "{}",
                record.operations.count()
            );
            assert_eq!(record.pace.as_ref().unwrap().unsent, 0);
        }
    }
    let record = stalled(&["--rate-iops", "1000"]);
    assert_eq!(record.operations.count(), 10_000, "none is lost");
    assert!(quantile(&reads(&record).latency, 0.99) >= 1.9e9);
    let service = reads(&record).service.as_ref().unwrap();
    assert!(
        quantile(service, 0.999) < 100e3 && service.max() >= Some(2_000_000_000),
        "from the issue on, one operation saw the stall"
    );
}

#[test]
fn a_closed_loop_shows_the_same_stall_in_its_maximum_alone() {
    let record = stalled(&[]);
    let latency = &reads(&record).latency;
    assert_eq!(latency.max(), Some(2_000_010_000));
    assert!(
        quantile(latency, 0.9999) < 20e3,
        "{} ns",
        quantile(latency, 0.9999)
    );
    assert_eq!(
        record.operations.count(),
        800_000,
        "8 of 10 s at 10 us each"
    );
}

#[test]
fn a_rate_asked_is_a_rate_kept() {
    const OPERATIONS: f64 = 600_000.0;
    let ground = Ground::new();
    for arrival in ["constant", "poisson"] {
        for rate in [50_000_u32, 100_000, 150_000, 200_000, 500_000] {
            let records = format!("{arrival}-{rate}.jsonl");
            let duration = format!("{}s", OPERATIONS / f64::from(rate));
            ground
                .fathom(&[
                    "run",
                    "--engine",
                    "sim",
                    "--sim-model",
                    "latency=1us,servers=64",
                    "--queue-depth",
                    "64",
                    "--rate-iops",
                    &rate.to_string(),
                    "--arrival",
                    arrival,
                    "--duration",
                    &duration,
                    "--records",
                    &records,
                ])
                .expect(0);
            let record = ground.record(&records);
            let kept = record.operations.count() as f64 / OPERATIONS;
            // The number of arrivals of a Poisson process has a relative standard deviation of 1 /
            // sqrt(n): 0.13 % here.
            assert!((kept - 1.0).abs() <= 0.005, "{arrival} {rate}: {kept}");
            if arrival == "constant" {
                assert!((kept - 1.0).abs() <= 1.0 / OPERATIONS, "{rate}: {kept}");
            }
            assert_eq!(record.pace.as_ref().unwrap().unsent, 0);
            assert_counted(&record);
        }
    }
}

#[test]
fn a_torn_record_is_skipped_and_nothing_is_written_into_it() {
    let ground = Ground::new();
    let run = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--total-bytes",
        "1M",
        "--records",
        "r.jsonl",
    ];
    ground.fathom(&run).expect(0);
    let whole = ground.read("r.jsonl");
    fs::OpenOptions::new()
        .append(true)
        .open(ground.path("r.jsonl"))
        .unwrap()
        .write_all(&whole[..whole.len() / 2])
        .unwrap();
    ground.fathom(&run).expect(0);
    let read = record::read_records(&ground.path("r.jsonl")).unwrap();
    assert_eq!(
        (read.records.len(), read.damaged.len(), read.damaged[0].line),
        (2, 1, 2)
    );
    assert!(ground.read("r.jsonl").starts_with(&whole));
}

#[test]
fn a_file_grown_by_a_killed_fill_holds_no_holes_when_it_is_read() {
    let ground = Ground::new();
    ground
        .fathom(&["run", "f", "--file-size", "1M", "--total-bytes", "1M"])
        .expect(0);
    let run = ground.start(&["run", "f", "--file-size", ENDLESS]);
    until("the file grows", || {
        fs::metadata(ground.path("f"))
            .ok()
            .filter(|facts| facts.blocks() * 512 >= 2 << 20)
    });
    run.signal("KILL");
    assert_eq!(run.end().code, None);
    let again = [
        "run",
        "f",
        "--file-size",
        "4M",
        "--truncate-to-size",
        "--run-until-complete",
        "--allow-destroy",
        "f",
    ];
    ground.fathom(&again).expect(0);
    let facts = fs::metadata(ground.path("f")).unwrap();
    assert!(facts.len() == 4 << 20 && facts.blocks() * 512 >= 4 << 20);
}

fn typed(ground: &Ground, line: &str) -> Ended {
    ground.fathom(&line.split_whitespace().collect::<Vec<_>>())
}

const WHOLE: &str = "--verify --write-percent 100 --duration 0s --no-live";

#[test]
fn what_a_write_that_was_killed_has_left_is_no_damage() {
    let ground = Ground::new();
    for (block, engine) in [("4k", "mmap"), ("4M", "sync")].into_iter().cycle().take(6) {
        let whole = format!("run f --file-size 16M -b {block} {WHOLE} --allow-destroy f");
        typed(&ground, &whole).expect(0);
        let modified = || fs::metadata(ground.path("f")).unwrap().modified().unwrap();
        let before = modified();
        let words = format!(
            "run f -b {block} --verify --write-percent 100 --random --duration {LONG} --engine {engine} --no-live"
        );
        let run = ground.start(&words.split_whitespace().collect::<Vec<_>>());
        until("the file is written", || {
            (modified() > before).then_some(())
        });
        run.signal("KILL");
        assert_eq!(run.end().code, None);
        let words = format!("run f -b {block} --verify --duration 0s --no-live");
        let ended = typed(&ground, &words);
        ended.expect(0);
        assert!(ended.stdout.contains("Failures: 0"), "{}", ended.stdout);
    }
}

#[test]
fn what_a_write_that_failed_has_left_is_no_damage_until_all_is_written_again() {
    let ground = Ground::new();
    let write = format!("run f --file-size 1M -b 64k {WHOLE}");
    typed(&ground, &write).expect(0);
    let words: Vec<&str> = write.split_whitespace().collect();
    let ended = ground
        .within("trap '' XFSZ; ulimit -f 524", &words)
        .output();
    assert_eq!(ended.unwrap().status.code(), Some(1), "a part of a block");
    let read = "run f -b 64k --verify --duration 0s --no-live";
    typed(&ground, read).expect(0);
    typed(&ground, &write).expect(0);
    let data = fs::read(ground.path("f")).unwrap();
    typed(&ground, &write).expect(0);
    let file = fs::File::options().write(true).open(ground.path("f"));
    file.unwrap().write_all(&data[..64 << 10]).unwrap();
    let ended = typed(&ground, read);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("stale"), "{}", ended.stdout);
}

/// Writes the whole file, of which no byte behind so many is written; `false`: nothing here can limit a
/// file to any byte.
fn written_until(ground: &Ground, bytes: u64, write: &str) -> bool {
    let words: Vec<&str> = write.split_whitespace().collect();
    let limit = format!("trap '' XFSZ; prlimit --pid $$ --fsize={bytes} || exit 77");
    let ended = ground.within(&limit, &words).output().unwrap();
    if ended.status.code() == Some(77) {
        ground::skipped("prlimit");
        return false;
    }
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    true
}

#[test]
fn a_block_that_is_written_in_part_is_no_damage_to_a_reader_of_blocks_of_any_size() {
    let ground = Ground::new();
    let mixed = "--verify --write-percent 50 --random --total-bytes 2M --no-live";
    for (block, more) in [("4k", WHOLE), ("512", WHOLE), ("4k", mixed)] {
        let write = format!("run f --file-size 1M -b {block} {more}");
        // In the header, in its checksum, in the middle, and so late that hardly a byte is old.
        for cut in [41, 57, 300, 505, 509, 511] {
            typed(&ground, &format!("run f --file-size 1M -b {block} {WHOLE}")).expect(0);
            let until = 11 * 4096 - 512 + cut;
            let fails = format!("{write} --continue-on-error");
            if !written_until(&ground, until, &fails) {
                return;
            }
            for of_read in ["512", "4k", "64k"] {
                let words = format!("run f -b {of_read} --verify --duration 0s --no-live");
                let ended = typed(&ground, &words);
                let what = format!("{block} {more} {cut} {of_read}: {}", ended.stdout);
                assert_eq!(ended.code, Some(0), "{what}");
            }
        }
    }
}

#[test]
fn a_write_that_fails_in_a_later_pass_makes_its_block_no_stale_one() {
    let ground = Ground::new();
    let words = format!(
        "run f --file-size 4M -b 64k --verify --verify-when passes --write-percent 100 --duration {LONG} --continue-on-error --no-live"
    );
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut run = ground.within("trap '' XFSZ", &words);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    let data = || {
        let data = fs::read(ground.path("f")).ok()?;
        (data.len() == 4 << 20).then_some(data)
    };
    let front = || data().map(|data| data[..64 << 10].to_vec());
    let follows = |passes: usize| {
        for _ in 0..passes {
            let before = until("the file is whole", front);
            until("a pass follows", || front().filter(|now| *now != before));
        }
    };
    let to_it = |program: &str, words: &[&str]| {
        let pid = run.id().to_string();
        let mut command = std::process::Command::new(program);
        let told = command.args(words).arg(pid).status();
        told.is_ok_and(|told| told.success())
    };
    follows(2);
    let is_limited = to_it("prlimit", &["--fsize=2097152", "--pid"]);
    if is_limited {
        follows(4);
    }
    assert!(to_it("kill", &["-INT"]));
    let ended = run.wait_with_output().unwrap();
    if !is_limited {
        return ground::skipped("prlimit");
    }
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(
        told.contains("EFBIG") || told.contains("too large"),
        "{told}"
    );
    assert!(told.contains("Failures: 0"), "{told}");
}

#[test]
fn a_tail_that_no_block_uses_hides_no_lost_write() {
    let ground = Ground::new();
    typed(
        &ground,
        "run f --file-size 300000 -b 4k --verify --refill --duration 0s",
    )
    .expect(0);
    let old = ground.read("f");
    typed(&ground, &format!("run f --file-size 300000 -b 4k {WHOLE}")).expect(0);
    let file = fs::File::options().write(true).open(ground.path("f"));
    file.unwrap().write_all(&old[..40 << 10]).unwrap();
    let ended = typed(&ground, "run f -b 4k --verify --duration 0s --no-live");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("stale"), "{}", ended.stdout);
}

#[test]
fn a_pattern_without_units_is_filled_to_the_last_byte_that_is_used() {
    let ground = Ground::new();
    typed(
        &ground,
        "run f --file-size 10000 -b 1000 --write-percent 100 --duration 0s",
    )
    .expect(0);
    let words = "run f --file-size 5000 -b 1000 --verify --verify-pattern random --duration 0s";
    typed(&ground, &format!("{words} --refill")).expect(0);
    typed(&ground, words).expect(0);
}

#[test]
fn what_is_refused_for_its_workers_is_refused_before_anything_is_written() {
    let ground = Ground::new();
    fs::write(ground.path("f"), [7; 8192]).unwrap();
    for more in [
        "--threads 4 --file-distribution partitioned",
        "--threads 3 --worker-regions 4k/4k",
    ] {
        for dry in ["", "--dry-run"] {
            let words =
                format!("run f -b 4k --refill --duration 0s --allow-destroy f {more} {dry}");
            ground.refused(&words.split_whitespace().collect::<Vec<_>>());
        }
    }
}

#[test]
fn works_that_start_together_are_told_apart_by_files_and_not_by_names() {
    let ground = Ground::new();
    fs::write(ground.path("one"), "").unwrap();
    fs::hard_link(ground.path("one"), ground.path("other")).unwrap();
    typed(&ground, &format!("run one --file-size 1M {WHOLE}")).expect(0);
    let jobs = "run --no-live -- --bs=4k --size=1m --time_based --runtime=1 --name=w --filename=one --rw=randwrite --name=r --filename=other --rw=randread --verify=crc32c";
    let why = ground.refused(&jobs.split_whitespace().collect::<Vec<_>>());
    assert!(why.contains("start together"), "{why}");
}

#[test]
fn a_write_after_a_fill_that_failed_is_told_from_the_fill() {
    let ground = Ground::new();
    typed(&ground, &format!("run f --file-size 1M -b 64k {WHOLE}")).expect(0);
    let words = "run f --file-size 1M -b 64k --verify --refill --duration 0s --no-live";
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut ended = ground.within("trap '' XFSZ; ulimit -f 1024", &words);
    let ended = ended.output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "half of it");
    let old = ground.read("f");
    typed(&ground, &format!("run f -b 4k {WHOLE}")).expect(0);
    let file = fs::File::options().write(true).open(ground.path("f"));
    file.unwrap().write_all(&old[..256 << 10]).unwrap();
    let ended = typed(&ground, "run f -b 4k --verify --duration 0s --no-live");
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stdout.contains("stale"), "{}", ended.stdout);
}

#[test]
fn a_run_that_cannot_size_its_file_leaves_what_was_known_of_it() {
    let ground = Ground::new();
    let write = format!("run f --file-size 1M -b 64k {WHOLE}");
    let read = "run f -b 64k --verify --duration 0s --no-live";
    let no_room = |limit: &str, words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let limit = format!("trap '' XFSZ; ulimit -f {limit}");
        ground
            .within(&limit, &words)
            .output()
            .unwrap()
            .status
            .code()
    };
    // Sound and verified, and then with a block that a failed write has left.
    for spoil in [None, Some("524")] {
        typed(&ground, &write).expect(0);
        if let Some(limit) = spoil {
            assert_eq!(no_room(limit, &write), Some(1), "a part of a block");
        }
        for more in ["--verify --write-percent 50", "--write-percent 100"] {
            let words = format!("run f -b 64k --file-size 4M {more} --total-bytes 64k --no-live");
            assert_eq!(no_room("2048", &words), Some(1), "{more}");
            typed(&ground, read).expect(0);
        }
    }
}

#[test]
fn the_file_of_an_operation_on_names_that_failed_is_named() {
    let ground = Ground::new();
    let run = |kind: &str| {
        let names = "--total-files 40 --num-dirs 4 --threads 2 --no-live";
        typed(&ground, &format!("run d --meta {kind} {names}"))
    };
    run("create").expect(0);
    let mut files = fs::read_dir(ground.path("d/dir.0002")).unwrap();
    let name = files.next().unwrap().unwrap().file_name();
    let place = format!("d/dir.0002/{}", name.to_str().unwrap());
    fs::rename(ground.path(&place), ground.path("gone")).unwrap();
    let ended = run("stat");
    ended.expect(1);
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    for told in [
        format!("os error 2) in stat, first at {place} outcome"),
        format!("os error 2) of {place} "),
    ] {
        let is_told = words.join(" ").contains(&told);
        assert!(is_told, "{told:?}: {}", ended.stdout);
    }
}

/// Whatever it is called in the content, by which two files may go, and in which order they are named.
#[test]
fn damage_is_told_of_the_file_that_has_it() {
    use std::os::unix::fs::FileExt as _;
    let ground = Ground::new();
    let damage = |path: &str| {
        let file = fs::OpenOptions::new().write(true).open(ground.path(path));
        let written = file.unwrap().write_at(&[0x5a; 700], 410_300);
        assert_eq!(written.unwrap(), 700);
    };
    let read = "--read-percent 100 --verify --duration 0s --no-live";
    typed(&ground, &format!("run p q --file-size 1M {WHOLE}")).expect(0);
    damage("p");
    let ended = typed(&ground, &format!("run q p {read}"));
    ended.expect(1);
    assert!(ended.stdout.contains("at p offset 4"), "{}", ended.stdout);
    for name in ["r", "s"] {
        typed(&ground, &format!("run {name} --file-size 1M {WHOLE}")).expect(0);
    }
    damage("s");
    let ended = typed(&ground, &format!("run r s {read}"));
    ended.expect(1);
    assert!(ended.stdout.contains("at s offset 4"), "{}", ended.stdout);
}
