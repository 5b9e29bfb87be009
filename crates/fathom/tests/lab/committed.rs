//! The plans of `experiments/` run in small: each is the committed file with as few changes as make
//! it small, so that what a reader copies has run. Two passes are fewer than a verdict takes, and no
//! test here depends on which arm is faster.

use super::builds::git;
use super::support::{Place, skip};
use super::{FATHOM, in_dir, records, said, with_plan};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const PASSES: u64 = 2;

/// A plan of the repository with these changes, each of which must change something.
fn committed(name: &str, changes: &[(&str, &str)]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plan = fs::read_to_string(root.join(name)).expect("the test can do this");
    let changed = changes.iter().fold(plan, |plan, (from, to)| {
        assert!(plan.contains(from), "{name} has no {from:?}: {plan}");
        plan.replace(from, to)
    });
    let own = changed.lines().filter(|line| !line.starts_with("passes"));
    let own: Vec<&str> = own.collect();
    format!(
        "passes = {PASSES}\nsettle = \"0s\"\nkeep-free = \"1MiB\"\ncalibrate = 0\n{}\n",
        own.join("\n")
    )
}

/// Whether these programs are here; says so if not.
fn has(programs: &[&str]) -> bool {
    let is_here = |program: &&str| Command::new(program).arg("version").output().is_ok();
    programs
        .iter()
        .all(|program| is_here(program) || skip::skipped(program))
}

/// What an experiment of [`PASSES`] must have left: the metric as registered, every block of every
/// row complete, and a value of each arm in each row. Gives what the verdicts say.
fn holds_every_block(dir: &Path, metric: &str, rows: usize, arms: [&str; 2]) -> serde_json::Value {
    let records = records(dir);
    let (plan, slots) = records.split_first().expect("the test can do this");
    assert_eq!(plan["plan"]["question"]["metric"], metric);
    // A block in which the machine stood still is repeated, and its slots stay.
    let mut good: BTreeMap<[String; 2], Vec<u64>> = BTreeMap::new();
    for slot in slots
        .iter()
        .filter(|slot| slot["outcome"]["status"] == "ok")
    {
        let trial = &slot["trial"];
        let of = [&trial["row"], &trial["arm"]]
            .map(|name| name.as_str().expect("the test can do this").to_owned());
        good.entry(of)
            .or_default()
            .push(trial["block"].as_u64().expect("the test can do this"));
    }
    assert_eq!(good.len(), rows * arms.len(), "{good:?}");
    for ([_, arm], blocks) in &mut good {
        blocks.sort_unstable();
        blocks.dedup();
        assert!(arms.contains(&arm.as_str()), "{arm}");
        assert_eq!(blocks.len() as u64, PASSES, "{arm}: {blocks:?}");
    }
    let verdicts = fs::read(dir.join("verdict.json")).expect("the test can do this");
    let verdicts: serde_json::Value =
        serde_json::from_slice(&verdicts).expect("the test can do this");
    assert_eq!(verdicts["metric"]["key"], metric, "{verdicts}");
    assert_eq!(verdicts["baseline"], arms[0], "{verdicts}");
    let of_rows = verdicts["verdicts"]
        .as_array()
        .expect("the test can do this")
        .iter();
    let of_rows: Vec<_> = of_rows
        .filter(|verdict| verdict["is_over_all_rows"] == false)
        .collect();
    assert_eq!(of_rows.len(), rows, "{verdicts}");
    for verdict in of_rows {
        assert_eq!(verdict["arm"], arms[1], "{verdicts}");
        assert_eq!(verdict["n"], PASSES, "{verdicts}");
        for side in ["arm", "baseline"] {
            let median = verdict["medians"][side].as_f64();
            assert!(median.is_some_and(|median| median > 0.0), "{verdicts}");
        }
    }
    verdicts
}

const RUN: [&str; 5] = ["lab", "run", "p.toml", "-o", "verdict.json"];

#[test]
fn two_ciphers_run_in_small() {
    if !has(&["openssl"]) {
        return;
    }
    let dir = with_plan(&committed("ciphers.toml", &[("-seconds 2", "-seconds 1")]));
    let told = said(&in_dir(dir.path(), &RUN), 4);
    assert!(told.contains("2 complete pairs"), "{told}");
    holds_every_block(dir.path(), "value:speed", 1, ["aes", "chacha"]);
}

#[test]
fn two_archives_are_unpacked_in_small() {
    if !has(&["tar", "gzip", "zstd"]) {
        return;
    }
    let dir = with_plan(&committed(
        "unpack.toml",
        &[("for = \"2s\"", "for = \"20ms\"")],
    ));
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/text"), "a line of it\n".repeat(1000)).unwrap();
    for archive in ["src.tar.gz", "src.tar.zst"] {
        let packed = in_tar(dir.path(), &["-caf", archive, "src"]);
        assert!(packed, "{archive}");
    }
    let told = said(&in_dir(dir.path(), &RUN), 4);
    assert!(told.contains("2 complete pairs"), "{told}");
    holds_every_block(dir.path(), "time", 1, ["gzip", "zstd"]);
}

fn in_tar(dir: &Path, words: &[&str]) -> bool {
    let mut tar = Command::new("tar");
    tar.args(words).current_dir(dir);
    tar.status().expect("the test can do this").success()
}

/// What lies in memory knows no direct I/O, so these two directories lie beside the build; and by
/// bytes, since a slow disk would have too few operations for a p99 in any short time.
#[test]
fn two_disks_run_in_small() {
    let disks = Place::new();
    if !skip::has_direct(&disks) || !skip::has_io_uring() {
        return;
    }
    for disk in ["nvme", "raid"] {
        fs::create_dir(disks.path(disk)).unwrap();
    }
    let below = disks.path("").display().to_string();
    let changes = [
        ("/mnt/", below.as_str()),
        ("4GiB", "8MiB"),
        ("duration = \"10s\"", "total-bytes = \"8MiB\""),
    ];
    let dir = with_plan(&committed("disks.toml", &changes));
    let told = said(&in_dir(dir.path(), &RUN), 4);
    assert!(told.contains("2 complete pairs"), "{told}");
    holds_every_block(dir.path(), "read.p99", 2, ["nvme", "raid"]);
}

/// A server of one page, in a package that depends on nothing.
const SERVER: &str = r#"
use std::io::{Read, Write};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let port: u16 = words[2].parse().unwrap();
    let page = std::fs::read(format!("{}/index.html", words[4])).unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    for stream in listener.incoming().flatten() {
        let page = page.clone();
        std::thread::spawn(move || serve(stream, &page));
    }
}

fn serve(mut stream: std::net::TcpStream, page: &[u8]) {
    let (mut asked, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = stream.read(&mut piece) {
        asked.extend_from_slice(&piece[..n]);
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
            if stream.write_all(&[head.as_bytes(), page].concat()).is_err() {
                return;
            }
        }
    }
}
"#;

const PACKAGE: &str = "[package]\nname = \"myserver\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const LOCKED: &str = "version = 4\n\n[[package]]\nname = \"myserver\"\nversion = \"0.1.0\"\n";

/// The commands of the plan as they stand: cargo builds both refs, and says what they depend on.
#[test]
fn two_refs_of_a_server_are_built_and_run_in_small() {
    if !has(&["git", "cargo"]) {
        return;
    }
    let dir = with_plan(&committed("git-refs.toml", &[("\"10s\"", "\"100ms\"")]));
    let at = dir.path();
    fs::create_dir(at.join("src")).unwrap();
    fs::write(at.join("Cargo.toml"), PACKAGE).unwrap();
    fs::write(at.join("Cargo.lock"), LOCKED).unwrap();
    fs::write(at.join("src/main.rs"), SERVER).unwrap();
    git(at, &["init", "-q"]);
    git(at, &["add", "Cargo.toml", "Cargo.lock", "src"]);
    git(at, &["commit", "-qm", "first"]);
    git(at, &["checkout", "-qb", "next"]);
    fs::write(
        at.join("src/main.rs"),
        SERVER.replace("[0; 4096]", "[0; 512]"),
    )
    .unwrap();
    git(at, &["commit", "-qam", "second"]);
    let cache = tempfile::tempdir().unwrap();
    let mut lab = Command::new(FATHOM);
    lab.args(RUN)
        .current_dir(at)
        .env("XDG_CACHE_HOME", cache.path())
        .env_remove("CARGO_TARGET_DIR");
    let told = said(&lab.output().unwrap(), 4);
    assert!(told.contains("2 complete pairs"), "{told}");
    let verdicts = holds_every_block(at, "get.throughput", 1, ["main", "candidate"]);
    // Where a build lies is not what it is.
    let arms = &records(at)[0]["plan"]["arms"];
    assert_eq!(arms[0]["identity"]["identity"], "myserver v0.1.0 ({tree})");
    assert_ne!(arms[0]["identity"]["commit"], arms[1]["identity"]["commit"]);
    let findings = verdicts["findings"].as_array().unwrap().iter();
    let rules: Vec<_> = findings.map(|finding| &finding["rule"]).collect();
    assert!(
        !rules.iter().any(|rule| *rule == "arms_identical"),
        "{verdicts}"
    );
}
