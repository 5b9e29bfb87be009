//! Attempts to have data destroyed: whatever happens to a file between two runs or during one, what
//! somebody wrote is still there.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::Ground;
use insta::assert_snapshot;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

const WRITE: [&str; 5] = ["run", "own", "--write-percent", "100", "--total-bytes"];
const LONG: &str = "60s";

/// Writes into a file without making it anew, as `cp` does.
fn overwrite(file: &std::path::Path, content: &[u8]) {
    File::options()
        .write(true)
        .open(file)
        .unwrap()
        .write_all(content)
        .unwrap();
}

#[test]
fn what_lies_in_a_file_whose_run_was_killed_is_written_to_only_when_it_is_named_and_then_it_is_ours_again()
 {
    let ground = Ground::new();
    let long = [
        "run",
        "own",
        "--file-size",
        "1M",
        "--write-percent",
        "100",
        "--duration",
        LONG,
    ];
    let run = ground.start(&long);
    run.wait_until_busy();
    run.signal("KILL");
    run.end();
    overwrite(&ground.path("own"), b"important");
    let write = [&WRITE[..], &["1M"]].concat();
    assert_snapshot!(ground.refused(&write), @"own: the last run on it was killed, so what it holds cannot be told from what somebody wrote since; if it may be destroyed, add --allow-destroy own once");
    assert!(
        ground
            .refused(&[&write[..], &["--dry-run"]].concat())
            .contains("was killed")
    );
    assert!(ground.read("own").starts_with(b"important"));
    ground
        .fathom(&["run", "own", "--no-refill", "--total-bytes", "64k"])
        .expect(0);
    ground
        .fathom(&[&write[..], &["--allow-destroy", "own"]].concat())
        .expect(0);
    ground.fathom(&write).expect(0);
}

#[test]
fn a_file_that_somebody_wrote_to_is_foreign_even_if_its_time_was_set_back() {
    let ground = Ground::new();
    let write = [&WRITE[..], &["64k"]].concat();
    ground
        .fathom(&[&write[..], &["--file-size", "64k"]].concat())
        .expect(0);
    ground.fathom(&write).expect(0);
    let path = ground.path("own");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    overwrite(&path, b"important");
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert!(
        ground
            .refused(&write)
            .contains("its inode was changed since Fathom made it")
    );
    assert!(ground.read("own").starts_with(b"important"));
}

#[test]
fn a_run_that_fails_before_it_starts_does_not_make_its_own_file_foreign() {
    let ground = Ground::new();
    let write = [&WRITE[..], &["64k"]].concat();
    ground
        .fathom(&[&write[..], &["--file-size", "64k"]].concat())
        .expect(0);
    // The limit is met while the file is made longer, when the mark is open.
    let mut grown = ground.within(
        "ulimit -f 64",
        &[&write[..], &["--file-size", "1M"]].concat(),
    );
    assert!(!grown.status().unwrap().success());
    ground.fathom(&write).expect(0);
}

#[test]
fn a_second_writer_is_refused_by_name_and_a_reader_beside_a_writer_is_told() {
    let ground = Ground::new();
    let run = ground.start(&[
        "run",
        "own",
        "--file-size",
        "1M",
        "--write-percent",
        "100",
        "--duration",
        LONG,
    ]);
    run.wait_until_busy();
    for more in [&["--dry-run"][..], &[], &["--allow-destroy", "own"]] {
        let ended = ground.fathom(&[&WRITE[..], &["64k"], more].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        let message = ended.error();
        assert!(
            message.starts_with("own is being written to by process ")
                && message.contains("(fathom)"),
            "{message}"
        );
    }
    ground
        .fathom(&["run", "own", "--total-bytes", "64k", "--records", "r.jsonl"])
        .expect(0);
    let notices = ground.record("r.jsonl").notices;
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains(" writes to own at the same time")),
        "{notices:?}"
    );
    run.signal("TERM");
    run.end().expect(143);
    ground.fathom(&[&WRITE[..], &["64k"]].concat()).expect(0);
}

#[test]
fn phases_that_run_together_write_to_one_file() {
    let ground = Ground::new();
    let job = [
        "--name=a",
        "--filename=own",
        "--size=256k",
        "--rw=write",
        "--name=b",
        "--filename=own",
        "--size=256k",
        "--rw=randwrite",
    ];
    ground
        .fathom(&[&["run", "--"], &job[..]].concat())
        .expect(0);
    ground
        .fathom(&[&["run", "--"], &job[..]].concat())
        .expect(0);
    ground
        .fathom(
            &[
                &WRITE[..],
                &["64k", "--threads", "4", "--lock-mode", "full"],
            ]
            .concat(),
        )
        .expect(0);
}

#[test]
fn what_is_no_storage_is_refused_by_its_kind_and_never_waited_for() {
    let ground = Ground::new();
    assert!(
        Command::new("mkfifo")
            .arg(ground.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let _listener = UnixListener::bind(ground.path("socket")).unwrap();
    symlink("two", ground.path("one")).unwrap();
    symlink("one", ground.path("two")).unwrap();
    let mut commands = Vec::new();
    for target in [
        "fifo",
        "socket",
        "one",
        "/dev/null",
        "/dev/zero",
        "/dev/full",
    ] {
        for more in ["", " --write-percent 100", " --dry-run"] {
            commands.push(format!("run {target}{more}"));
        }
    }
    commands.push("run -- --name=x --filename=fifo --rw=read --runtime=1".into());
    let messages: Vec<String> = commands
        .iter()
        .map(|line| ground.refused(&line.split(' ').collect::<Vec<_>>()))
        .collect();
    let mut different = messages.clone();
    different.dedup();
    assert_snapshot!(different.join("\n"), @r"
    fifo is a FIFO, not storage; name a regular file or a block device (`lsblk` lists them)
    socket is a socket, not storage; name a regular file or a block device (`lsblk` lists them)
    one leads nowhere: its symlinks go in a circle; name the file itself
    /dev/null is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    /dev/zero is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    /dev/full is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    fifo is a FIFO, not storage; name a regular file or a block device (`lsblk` lists them)
    ");
}

const OUTPUTS: [&str; 6] = [
    "--output",
    "--records",
    "--json-output",
    "--csv-output",
    "--json-histogram",
    "--hdr-log",
];
const NULL: [&str; 6] = [
    "run",
    "--engine",
    "null",
    "--no-live",
    "--total-bytes",
    "64k",
];

#[test]
fn a_result_takes_the_place_of_an_earlier_one_and_of_nothing_else() {
    let ground = Ground::new();
    for option in OUTPUTS {
        ground.write("thesis", "my thesis\n");
        let message = ground.refused(&[&NULL[..], &[option, "thesis"]].concat());
        assert!(
            message.starts_with("cannot write thesis: it exists and ")
                && message.ends_with("add --force if what it holds may go")
        );
        assert!(
            ground
                .refused(&[&NULL[..], &[option, "thesis", "--dry-run"]].concat())
                .contains("--force")
        );
        for _ in 0..2 {
            assert_eq!(
                ground
                    .fathom(&[&NULL[..], &[option, option.trim_start_matches('-')]].concat())
                    .code,
                Some(0),
                "{option}"
            );
        }
        assert_eq!(
            ground
                .fathom(&[&NULL[..], &[option, "thesis", "--force"]].concat())
                .code,
            Some(0),
            "{option}"
        );
        assert_eq!(
            ground.read("thesis").starts_with(b"my thesis"),
            option == "--records",
            "{option}"
        );
    }
    assert_eq!(ground.records("records").len(), 2);
    for (option, other) in [
        ("--json-output", "records"),
        ("--records", "json-output"),
        ("--output", "records"),
    ] {
        assert!(
            ground
                .refused(&[&NULL[..], &[option, other]].concat())
                .contains("does not hold"),
            "{option} {other}"
        );
    }
    let message =
        ground.refused(&[&NULL[..], &["--output", "new", "--json-output", "./new"]].concat());
    assert!(message.contains("are one file"), "{message}");
}

#[test]
fn a_result_never_goes_to_the_target_or_to_a_device() {
    let ground = Ground::new();
    ground
        .fathom(&["run", "own", "--file-size", "64k", "--total-bytes", "64k"])
        .expect(0);
    fs::hard_link(ground.path("own"), ground.path("hard")).unwrap();
    symlink("own", ground.path("soft")).unwrap();
    for option in OUTPUTS {
        for name in ["own", "hard", "soft", "./own"] {
            let message = ground.refused(&[
                "run",
                "own",
                "--total-bytes",
                "64k",
                option,
                name,
                "--force",
            ]);
            assert!(
                message.contains("it is the target of this run"),
                "{message}"
            );
        }
        let message =
            ground.refused(&["run", "new", "--file-size", "64k", option, "new", "--force"]);
        assert!(
            message.contains("it is the target of this run"),
            "{message}"
        );
        let message = ground.refused(&[&NULL[..], &[option, "/dev/zero", "--force"]].concat());
        assert!(message.contains("it is a device"), "{message}");
        assert_eq!(
            ground
                .fathom(&[&NULL[..], &[option, "/dev/null"]].concat())
                .code,
            Some(0),
            "{option}"
        );
    }
    let tree = [
        "run",
        "dir",
        "--num-files",
        "2",
        "--file-size",
        "64k",
        "--total-bytes",
        "64k",
    ];
    ground
        .fathom(&[&tree[..], &["--export-layout-manifest", "m"]].concat())
        .expect(0);
    ground
        .fathom(&[&tree[..], &["--export-layout-manifest", "m"]].concat())
        .expect(0);
    assert!(
        ground
            .refused(&[&tree[..], &["--records", "dir/file.000001"]].concat())
            .contains("it is the target")
    );
    ground.write("m", "my thesis\n");
    assert!(
        ground
            .refused(&[&tree[..], &["--export-layout-manifest", "m"]].concat())
            .contains("a layout manifest")
    );
}

#[test]
fn other_verbs_write_over_nothing_else_either() {
    let ground = Ground::new();
    ground.fathom(&[&NULL[..], &["--records", "r.jsonl"]].concat());
    ground.write("thesis.html", "my thesis\n");
    fs::create_dir(ground.path("pages")).unwrap();
    ground.write("pages/fathom.1", "my page\n");
    let commands: &[&str] = &[
        "report r.jsonl -o thesis.html",
        "import r.jsonl --records thesis.html",
        "profile . --report thesis.html",
        "profile . --records thesis.html",
        "compare latency=1 latency=2 --run --set engine=null --records thesis.html",
        "man pages",
        "man none",
    ];
    for command in commands {
        let message = ground.refused(&command.split(' ').collect::<Vec<_>>());
        assert!(!message.is_empty(), "{command}");
    }
    assert!(
        ground
            .refused(&["man", "none"])
            .contains("run `mkdir -p none`")
    );
    ground.fathom(&["man", "pages", "--force"]).expect(0);
    ground.fathom(&["man", "pages"]).expect(0);
    ground
        .fathom(&["report", "r.jsonl", "-o", "thesis.html", "--force"])
        .expect(0);
    ground
        .fathom(&["report", "r.jsonl", "-o", "thesis.html"])
        .expect(0);
}

#[test]
fn records_are_never_appended_to_the_file_that_is_imported() {
    let ground = Ground::new();
    let starts = r#"{"results":[{"command":"a","mean":1.0,"times":[1.0,1.1],"stddev":0.1,"median":1,"user":0,"system":0,"min":1,"max":1.1}]}"#;
    ground.write("h.json", starts);
    symlink("h.json", ground.path("link")).unwrap();
    for records in ["h.json", "link"] {
        let message = ground.refused(&["import", "h.json", "--records", records, "--force"]);
        assert!(
            message.contains("is one of the files that are read"),
            "{message}"
        );
    }
    assert_eq!(fs::read_to_string(ground.path("h.json")).unwrap(), starts);
}

#[test]
fn results_go_into_pipes_that_somebody_reads() {
    let ground = Ground::new();
    assert!(
        Command::new("mkfifo")
            .arg(ground.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let to_pipe = [&NULL[..], &["--json-output", "fifo"]].concat();
    assert!(
        ground
            .refused(&to_pipe)
            .contains("nobody reads from this pipe")
    );
    let reader = Command::new("cat")
        .arg(ground.path("fifo"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    ground::until("the reader waits", || {
        (ground.fathom(&to_pipe).code == Some(0)).then_some(())
    });
    let read = reader.wait_with_output().unwrap().stdout;
    assert!(
        read.starts_with(b"{\n  \"schema\": "),
        "{}",
        String::from_utf8_lossy(&read)
    );
    let ended = ground.fathom(
        &[
            &NULL[..],
            &["--output-format", "json", "--output", "/dev/stdout"],
        ]
        .concat(),
    );
    assert!(
        ended.code == Some(0) && ended.stdout.starts_with("{\n  \"schema\": "),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_the_file_system_has_no_room_for_is_refused_before_anything_is_made() {
    let ground = Ground::new();
    for more in [
        &["--dry-run"][..],
        &[],
        &["--write-percent", "100"],
        &["--preallocate"],
    ] {
        let message = ground.refused(&[&["run", "f", "--file-size", "512T"], more].concat());
        assert!(
            message.contains("512 TiB more would be written")
                && message.contains("free space, or give a smaller"),
            "{message}"
        );
        let message = ground.refused(&[&["run", "f", "--file-size", "8E"], more].concat());
        assert!(
            message.contains("no file is longer than 9223372036854775807 bytes"),
            "{message}"
        );
    }
    let tree = [
        "run",
        "d",
        "--num-files",
        "64",
        "--file-size",
        "8T",
        "--dry-run",
    ];
    assert!(
        ground
            .refused(&tree)
            .contains("512 TiB more would be written")
    );
}

#[test]
fn a_dry_run_says_what_would_be_written_and_when_it_ends_and_writes_nothing() {
    let ground = Ground::new();
    ground.write("there", vec![7; 1 << 20]);
    let before = ground.tree();
    let dry = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = ground.fathom(&words);
        ended.expect(0);
        assert_eq!(ground.tree(), before, "{words:?}");
        ended.stdout
    };
    assert_snapshot!(
        dry("run new --file-size 8M --engine sync --random --total-bytes 1M --warmup 2s --dry-run"),
        @"
    run: new (file)
      file-size = 8m
      random = true
      engine = sync
      no-fixed-buffers = true
      no-fixed-files = true
      total-bytes = 1m
      warmup = 2s
      all other options as usual
      files: 1, new
      8 MiB are written before the measured time, into files that are new or shorter than asked; then it only reads
      a warm-up of 2 s; ends when 1 MiB have been moved
    the result goes to the standard output
    no record is kept; --records FILE.jsonl keeps them
    nothing was done: this is a dry run
    "
    );
    let reads = dry("run there --dry-run");
    assert!(reads.contains("nothing is written before the measured time; then it only reads\n  ends after 10 s of measured time\n"), "{reads}");
    let longer = dry("run there --file-size 3M --allow-destroy there --dry-run");
    assert!(
        longer.contains("\n  2 MiB are written before the measured time, "),
        "{longer}"
    );
    let nothing = dry("run --engine null --dry-run");
    assert!(
        nothing.starts_with("run: (none)\n  engine = null\n")
            && nothing.contains("no target is touched"),
        "{nothing}"
    );
}

#[test]
fn an_address_that_follows_serve_without_an_equals_sign_is_no_file() {
    let ground = Ground::new();
    for address in ["127.0.0.1:9733", "[::1]:9733", "9733"] {
        for more in [
            &["--dry-run"][..],
            &["--file-size", "1M", "--duration", "1ms"],
        ] {
            let message = ground.refused(&[&["run", "--serve", address], more].concat());
            assert!(
                message.contains(&format!("for an address write --serve={address}")),
                "{message}"
            );
            assert!(!ground.exists(address));
        }
    }
    let words = "run ./9733 --serve --file-size 1M --engine sync --duration 1ms --dry-run";
    let words: Vec<&str> = words.split(' ').collect();
    ground.fathom(&words).expect(0);
}

/// It ends with another code than what is refused before anything was done.
#[test]
fn a_phase_that_is_refused_after_another_was_measured_loses_nothing_of_that() {
    let ground = Ground::new();
    let plan = "[[phase]]\nname = \"a\"\ntarget = \"own\"\n[[phase]]\nname = \"b\"\ntarget = \"foreign\"\n";
    fs::write(ground.path("plan.toml"), plan).unwrap();
    fs::write(ground.path("foreign"), "mine").unwrap();
    let words = [
        "run",
        "-c",
        "plan.toml",
        "--file-size",
        "64k",
        "--write-percent",
        "100",
        "--total-bytes",
        "64k",
        "--no-live",
    ];
    let output = ground.command(&words).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("foreign holds 4 bytes"), "{told}");
    assert!(
        told.contains("the phase before it was measured, and its result stands"),
        "{told}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("a: "));
    assert_eq!(ground.read("foreign"), b"mine");
}
