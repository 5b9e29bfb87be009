//! Several processes that do one workload together and are not connected: their parts, and the
//! record that they become.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use record::{Record, Status, Store, read_records};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// A command that ends whatever happens. A signal to it reaches the program once.
fn fathom(dir: &Path, arguments: &str) -> Command {
    let mut out = Command::new("timeout");
    out.args(["--foreground", "-k", "5", "200"])
        .arg(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .env_remove("JOB_COMPLETION_INDEX");
    out
}

fn ended(dir: &Path, arguments: &str) -> (Option<i32>, String) {
    let output = fathom(dir, arguments).output().unwrap();
    (output.status.code(), said(&output))
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

fn ahead(seconds: u64) -> String {
    #[allow(
        clippy::disallowed_methods,
        reason = "the command line takes the time of day"
    )]
    let now = SystemTime::now();
    humantime::format_rfc3339_millis(now + Duration::from_secs(seconds)).to_string()
}

const WORK: &str = "run x --engine null --file-size 1G --random --threads 2 --duration 300ms --no-live --clock unsynchronised";

/// Runs these ranks of a group side by side, with the same words.
fn ranks(dir: &Path, numbers: &[u32], size: u32, start: &str, work: &str) -> Vec<Option<i32>> {
    let children = numbers.iter().map(|number| {
        let place =
            format!("--rank {number}/{size} --start-at {start} --records part-{number}.jsonl");
        let mut command = fathom(dir, &format!("{work} {place}"));
        command.stdout(Stdio::null()).spawn().unwrap()
    });
    let children: Vec<_> = children.collect();
    let codes = children
        .into_iter()
        .map(|mut child| child.wait().unwrap().code());
    codes.collect()
}

/// The same from a start that every rank is ready for. A rank that is not says so and measures
/// nothing: then all begin again, with more time.
fn ready_ranks(dir: &Path, numbers: &[u32], size: u32, words: &str) -> Vec<Option<i32>> {
    ready_ranks_of(dir, numbers, size, &format!("{WORK} {words}"))
}

/// Ranks of another work.
fn ready_ranks_of(dir: &Path, numbers: &[u32], size: u32, work: &str) -> Vec<Option<i32>> {
    let begun = |seconds| {
        let codes = ranks(dir, numbers, size, &ahead(seconds), work);
        if codes.contains(&Some(5)) {
            let part = |n| dir.join(format!("part-{n}.jsonl"));
            numbers
                .iter()
                .for_each(|n| std::fs::remove_file(part(n)).unwrap());
            return None;
        }
        Some(codes)
    };
    [6, 30, 90].into_iter().find_map(begun).unwrap()
}

/// Two ranks, the one in `host0` and the other in `host1`; their parts lie beside these.
fn ready_ranks_apart(dir: &Path, work: &str) -> [Option<i32>; 2] {
    let begun = |seconds| {
        let start = ahead(seconds);
        let of = |rank: u32| {
            let part = format!("--rank {rank}/2 --start-at {start} --records ../part-{rank}.jsonl");
            let at = dir.join(format!("host{rank}"));
            let mut command = fathom(&at, &format!("{work} {part}"));
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        let codes = [of(0), of(1)].map(|mut child| child.wait().unwrap().code());
        if codes.contains(&Some(5)) {
            let part = |n: u32| dir.join(format!("part-{n}.jsonl"));
            (0..2).for_each(|n| std::fs::remove_file(part(n)).unwrap());
            return None;
        }
        Some(codes)
    };
    [6, 30, 90].into_iter().find_map(begun).unwrap()
}

fn record(dir: &Path, name: &str) -> Record {
    let read = read_records(&dir.join(name)).unwrap();
    assert_eq!(read.records.len(), 1, "{name}");
    read.records.into_iter().next().unwrap()
}

#[test]
fn ranks_begin_together_and_their_parts_are_one_record() {
    let dir = tempfile::tempdir().unwrap();
    let codes = ready_ranks(dir.path(), &[0, 1, 2], 3, "--rate-iops 3000");
    assert_eq!(codes, [Some(0); 3]);
    let parts: Vec<Record> = (0..3)
        .map(|n| record(dir.path(), &format!("part-{n}.jsonl")))
        .collect();
    let (code, said) = ended(
        dir.path(),
        "merge part-2.jsonl part-0.jsonl part-1.jsonl --max-skew 60s -o whole.jsonl",
    );
    assert_eq!(code, Some(0), "{said}");
    let whole = record(dir.path(), "whole.jsonl");
    let sum: u64 = parts.iter().map(|part| part.operations.count()).sum();
    assert_eq!(whole.operations.count(), sum);
    assert!(
        sum > 0 && sum <= 3000 * 300 / 1000 + 6,
        "{sum} operations are of one rate"
    );
    let pace = whole.pace.as_ref().unwrap();
    assert!((pace.asked_per_second.unwrap() - 3000.0).abs() < 1e-6);
    let group = whole.group.as_ref().unwrap();
    assert_eq!((group.size, group.lost.len()), (3, 0));
    let late = parts.iter().map(|part| part.generator().late_ns);
    let [first, last] = [late.clone().min(), late.max()].map(Option::unwrap);
    assert_eq!(group.skew_ns, Some(last - first));
    assert_eq!(whole.workers.len(), 6);
    assert!(said.contains("(rank 2)"), "{said}");
    let (_, report) = ended(dir.path(), "report whole.jsonl");
    assert!(
        report.contains("Hosts") && report.contains("(rank 1)"),
        "{report}"
    );
}

#[test]
fn a_missing_rank_a_doubled_one_and_a_foreign_part_are_named_and_the_rest_is_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    let codes = ready_ranks(dir.path(), &[0, 1], 3, "");
    assert_eq!(codes, [Some(0); 2]);
    let (code, said) = ended(dir.path(), "merge part-0.jsonl part-1.jsonl -o whole.jsonl");
    assert_eq!(code, Some(5));
    assert!(said.contains("rank 2 of 3 is missing"), "{said}");
    let whole = record(dir.path(), "whole.jsonl");
    assert_eq!(whole.outcome.status, Status::Incomplete);
    assert_eq!(whole.group.unwrap().lost[0].rank, 2);

    std::fs::copy(
        dir.path().join("part-1.jsonl"),
        dir.path().join("copy.jsonl"),
    )
    .unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl copy.jsonl -o twice.jsonl",
    );
    assert_eq!(code, Some(2));
    assert!(
        said.contains("rank 1 stands in part-1.jsonl and copy.jsonl"),
        "{said}"
    );

    let text = std::fs::read_to_string(dir.path().join("part-1.jsonl")).unwrap();
    let group = text.find("\"group\":").unwrap();
    let (head, tail) = text.split_at(group);
    let plan = tail.find("\"plan\":\"").unwrap() + 8;
    let other = format!(
        "{head}{}0000000000000000{}",
        &tail[..plan],
        &tail[plan + 16..]
    );
    let other = other.replace("\"rank\":1", "\"rank\":2");
    std::fs::write(dir.path().join("other.jsonl"), other).unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl other.jsonl -o other-whole.jsonl",
    );
    assert_eq!(code, Some(2));
    assert!(said.contains("other.jsonl has another plan"), "{said}");

    let torn = &text[..text.len() / 2];
    std::fs::write(dir.path().join("torn.jsonl"), torn).unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl torn.jsonl -o torn-whole.jsonl",
    );
    assert_eq!(code, Some(5));
    assert!(said.contains("torn.jsonl holds no records"), "{said}");
}

/// The part of a rank that began so much later than the common start, by its own clock.
fn part_that_began(dir: &Path, rank: u32, late_ns: u64) {
    let name = format!("part-{rank}.jsonl");
    let mut part = record(dir, &name);
    part.hosts[0].late_ns = late_ns;
    std::fs::remove_file(dir.join(&name)).unwrap();
    Store::open(&dir.join(&name))
        .unwrap()
        .append(&part)
        .unwrap();
}

#[test]
fn unconnected_ranks_that_began_too_far_apart_do_not_count_and_what_is_graver_stands() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ready_ranks(dir.path(), &[0, 1], 2, ""), [Some(0); 2]);
    part_that_began(dir.path(), 0, 1_000);
    part_that_began(dir.path(), 1, 14_001_000);
    let merged = |words: &str, into: &str| {
        let (code, said) = ended(dir.path(), &format!("merge {words} -o {into}"));
        (code, said, record(dir.path(), into))
    };
    let (code, said, whole) = merged("part-0.jsonl part-1.jsonl", "usual.jsonl");
    assert_eq!((code, whole.outcome.exit_code), (Some(4), 4), "{said}");
    assert_eq!(
        whole.outcome.message.as_deref(),
        Some("ranks began 14 ms apart, more than --max-skew 10 ms")
    );
    let group = whole.group.unwrap();
    assert_eq!(
        (group.skew_ns, group.max_skew_ns),
        (Some(14_000_000), Some(10_000_000))
    );
    assert!(said.contains("start_skew"), "{said}");

    let (code, said, whole) = merged("part-0.jsonl part-1.jsonl --max-skew 14ms", "asked.jsonl");
    assert_eq!((code, whole.outcome.exit_code), (Some(0), 0), "{said}");
    assert_eq!(whole.group.unwrap().max_skew_ns, Some(14_000_000));

    // One rank has no start apart from another's, and fewer ranks are another experiment.
    let (code, said, whole) = merged("part-0.jsonl --max-skew 1us", "one.jsonl");
    assert_eq!(code, Some(5), "{said}");
    assert_eq!(whole.outcome.status, Status::Incomplete);

    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl --max-skew soon -o wrong.jsonl",
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--max-skew"), "{said}");
    assert!(!dir.path().join("wrong.jsonl").exists());
}

#[test]
fn a_part_that_cannot_be_read_gives_the_rest_and_names_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ready_ranks(dir.path(), &[0, 1], 3, ""), [Some(0); 2]);
    let huge = std::fs::File::create(dir.path().join("part-2.jsonl")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl part-2.jsonl --max-skew 60s -o rest.jsonl",
    );
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("part-2.jsonl: a line is longer than any record")
            && said.contains("nothing of it is joined; a line may have 256 MiB at most")
            && said.contains("rank 2 of 3 is missing"),
        "{said}"
    );
    let rest = record(dir.path(), "rest.jsonl");
    assert_eq!(rest.outcome.status, Status::Incomplete);
    assert_eq!((rest.hosts.len(), rest.group.unwrap().lost[0].rank), (2, 2));

    // Nor is one that counts more than can be added, as if it were the third.
    let text = std::fs::read_to_string(dir.path().join("part-1.jsonl")).unwrap();
    let (before, buckets) = text.split_once("\"buckets\":[[").unwrap();
    let (bucket, rest) = buckets.split_once(',').unwrap();
    let (_, rest) = rest.split_once(']').unwrap();
    let full = format!("{before}\"buckets\":[[{bucket},{}]{rest}", u64::MAX);
    let full = full.replace("\"rank\":1", "\"rank\":2");
    std::fs::write(dir.path().join("full.jsonl"), full).unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl full.jsonl --max-skew 60s -o full-rest.jsonl",
    );
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("full.jsonl, line 1 is skipped: not a record: histogram counts overflow")
            && said.contains("rank 2 of 3 is missing"),
        "{said}"
    );
    let rest = record(dir.path(), "full-rest.jsonl");
    assert_eq!((rest.hosts.len(), rest.group.unwrap().lost[0].rank), (2, 2));

    // A name that nothing has is a slip, and what would be written is not what was meant.
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl part-3.jsonl -o slip.jsonl",
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(!dir.path().join("slip.jsonl").exists(), "{said}");
}

#[test]
fn a_code_that_the_record_does_not_explain_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ready_ranks(dir.path(), &[0, 1], 2, ""), [Some(0); 2]);
    std::fs::write(dir.path().join("empty.jsonl"), "").unwrap();
    let (code, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl empty.jsonl --max-skew 60s -o whole.jsonl",
    );
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains(
            "of all 2 ranks, and the exit code is 5: not all of empty.jsonl could be read as records"
        ),
        "{said}"
    );
    assert_eq!(record(dir.path(), "whole.jsonl").outcome.exit_code, 0);

    let mut stranger = record(dir.path(), "part-0.jsonl");
    (stranger.group, stranger.id) = (None, "another".to_owned());
    Store::open(&dir.path().join("stranger.jsonl"))
        .unwrap()
        .append(&stranger)
        .unwrap();
    // A run of one host, and a record that was kept before there were groups.
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/schema_one");
    let old = std::fs::read_to_string(old.join("records.jsonl")).unwrap();
    let old = old.lines().next().unwrap();
    assert!(old.starts_with("{\"schema\":1,"));
    std::fs::write(dir.path().join("old.jsonl"), format!("{old}\n")).unwrap();
    for name in ["stranger.jsonl", "old.jsonl"] {
        let (code, said) = ended(
            dir.path(),
            &format!("merge part-0.jsonl part-1.jsonl {name} --max-skew 60s -o with-{name}"),
        );
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains(&format!("{name} is no part of a group"))
                && said.contains("the exit code is 2: of what was given some is no part of it"),
            "{said}"
        );
        let rest = record(dir.path(), &format!("with-{name}"));
        assert_eq!(rest.hosts.len(), 2, "{name}");
    }
}

#[test]
fn a_rank_that_comes_late_says_how_late_and_measures_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (code, said) = ended(
        dir.path(),
        &format!("{WORK} --rank 0/2 --start-at 2026-01-01T00:00:00Z --records part.jsonl"),
    );
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("late for the common start 2026-01-01T00:00:00"),
        "{said}"
    );
    let part = record(dir.path(), "part.jsonl");
    assert_eq!(part.outcome.status, Status::Incomplete);
    assert_eq!(
        (part.operations.count(), part.generator().rank),
        (0, Some(0))
    );
}

/// Which of both this machine shows depends on who keeps its clock.
#[test]
fn the_kernel_is_asked_whether_the_clock_is_in_step() {
    let dir = tempfile::tempdir().unwrap();
    let work = WORK.replace(" --clock unsynchronised", "");
    let late = "--rank 0/2 --start-at 2026-01-01T00:00:00Z --records part.jsonl";
    let (code, said) = ended(dir.path(), &format!("{work} {late}"));
    let is_kept = sys::wall_clock_state().is_ok_and(|state| state.is_synchronised);
    let (wanted, why) = match is_kept {
        true => (5, "late for the common start"),
        false => (2, "give --clock unsynchronised"),
    };
    assert_eq!(code, Some(wanted), "{said}");
    assert!(said.contains(why), "{said}");
    assert_eq!(dir.path().join("part.jsonl").exists(), is_kept);
}

#[test]
fn the_number_of_a_rank_is_that_of_an_indexed_job() {
    let dir = tempfile::tempdir().unwrap();
    let words =
        format!("{WORK} --rank auto/4 --start-at 2026-01-01T00:00:00Z --records part.jsonl");
    let output = fathom(dir.path(), &words)
        .env("JOB_COMPLETION_INDEX", "3")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(record(dir.path(), "part.jsonl").generator().rank, Some(3));
    let (code, said) = ended(dir.path(), &words);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("JOB_COMPLETION_INDEX, which is not set"),
        "{said}"
    );
}

#[test]
fn what_a_rank_cannot_do_alone_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (words, wanted) in [
        (
            "--rank 8/8 --start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "7/8",
        ),
        (
            "--rank 3/0 --start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "at least one rank",
        ),
        ("--rank 1/2 --records p.jsonl", "needs --start-at"),
        (
            "--start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "needs --rank",
        ),
        (
            "--rank 1/2 --start-at 2030-01-01T00:00:00Z",
            "needs --records",
        ),
        (
            "--rank 1/2 --start-at 2030-01-01T00:00:00 --records p.jsonl",
            "is not a moment in UTC",
        ),
        (
            "--rank 1/2 --start-at 2030-01-01T00:00:00+01:00 --records p.jsonl",
            "is not a moment in UTC",
        ),
        (
            "--rank 1/2 --start-at tomorrow --records p.jsonl",
            "is not a moment in UTC",
        ),
        (
            "--write-percent 100 --target-is shared --rank 1/2 --start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "--file-distribution per-worker",
        ),
        (
            "--shift 1 --target-is local --rank 1/2 --start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "no other wrote",
        ),
        (
            "--mpi libmpi.so --rank 1/2 --start-at 2030-01-01T00:00:00Z --records p.jsonl",
            "--mpi names the library",
        ),
    ] {
        let (code, said) = ended(dir.path(), &format!("{WORK} {words}"));
        assert_eq!(code, Some(2), "{words}: {said}");
        assert!(said.contains(wanted), "{words}: {said}");
    }
    assert!(!dir.path().join("p.jsonl").exists());
}

/// Files in directories, and one directory with many; returns how many entries there are.
fn tree(root: &Path) -> u64 {
    let mut entries = 0;
    for number in 0..180 {
        let dir = root.join(format!("a/worker{number}/below"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("file.01"), "four").unwrap();
        entries += 3;
    }
    std::fs::create_dir_all(root.join("large")).unwrap();
    for number in 0..900 {
        std::fs::write(root.join(format!("large/file.{number:03}")), "four").unwrap();
    }
    std::os::unix::fs::symlink("a", root.join("link")).unwrap();
    entries + 900 + 3
}

const WALK: &str =
    "run tree --meta walk --where name=*01*,size=4 --threads 2 --no-live --clock unsynchronised";

#[test]
fn ranks_deal_out_one_tree_and_walk_all_of_trees_of_their_own() {
    for (reach, times) in [("shared", 1), ("local", 3)] {
        let dir = tempfile::tempdir().unwrap();
        let entries = tree(&dir.path().join("tree"));
        let work = format!("{WALK} --target-is {reach}");
        let codes = ready_ranks_of(dir.path(), &[0, 1, 2], 3, &work);
        assert_eq!(codes, [Some(0); 3], "{reach}");
        let (code, said) = ended(
            dir.path(),
            "merge part-0.jsonl part-1.jsonl part-2.jsonl --max-skew 60s -o whole.jsonl",
        );
        assert_eq!(code, Some(0), "{reach}: {said}");
        let whole = record(dir.path(), "whole.jsonl");
        let walk = whole.walk.unwrap();
        // file.01 of each worker; .001, .010 to .019, .101, .201 and so on.
        let matched = 180 + 1 + 10 + 8;
        assert_eq!(walk.entries, times * entries, "{reach}");
        assert_eq!(walk.matched, times * matched, "{reach}");
        let dirs = whole.operations.kind("walk").map(|walk| walk.count);
        assert_eq!(dirs, Some(times * (1 + 2 + 360)), "{reach}");
        assert_eq!(walk.levels.is_some(), reach == "shared");
        let each = whole.by_host();
        let each: Vec<u64> = each.iter().map(|own| own.walk.unwrap().entries).collect();
        let fair = walk.entries / 3;
        assert!(
            each.iter().all(|own| own.abs_diff(fair) < fair / 3),
            "{each:?}"
        );
        let (_, audit) = ended(dir.path(), "audit whole.jsonl");
        for rule in ["little_law", "straggler", "counts_inconsistent"] {
            assert!(!audit.contains(rule), "{reach}: {audit}");
        }
    }
}

#[test]
fn ranks_that_cannot_ask_each_other_whose_a_tree_is_are_to_be_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tree")).unwrap();
    let place = format!("--rank 0/2 --start-at {} --records part.jsonl", ahead(60));
    let (code, said) = ended(dir.path(), &format!("{WALK} {place}"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("--target-is shared or --target-is local"),
        "{said}"
    );
    let changed = WALK.replace("walk", "create,walk");
    let (code, said) = ended(dir.path(), &format!("{changed} {place} --target-is shared"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("what other ranks change by --meta create"),
        "{said}"
    );
}

const NAMES: &str =
    "run names --meta create,unlink --threads 2 --no-live --clock unsynchronised --total-files";

/// How many names each of two ranks created.
fn created(dir: &Path) -> Vec<Option<u64>> {
    let (code, said) = ended(
        dir,
        "merge part-0.jsonl part-1.jsonl --max-skew 60s -o whole.jsonl",
    );
    assert_eq!(code, Some(0), "{said}");
    let whole = record(dir, "whole.jsonl");
    let each = whole.by_host();
    let creates = each.iter().map(|host| host.operations.kind("create"));
    creates.map(|kind| kind.map(|kind| kind.count)).collect()
}

#[test]
fn names_are_dealt_out_in_one_directory_and_are_all_in_each_of_directories_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let one = format!("{NAMES} 10 --target-is shared");
    let codes = ready_ranks_of(dir.path(), &[0, 1], 2, &one);
    assert_eq!(codes, [Some(0); 2]);
    assert_eq!(created(dir.path()), [Some(5); 2]);

    // Fewer names than ranks are enough where each has all of them.
    for names in [10, 1] {
        let dir = tempfile::tempdir().unwrap();
        (0..2).for_each(|n| std::fs::create_dir(dir.path().join(format!("host{n}"))).unwrap());
        let own = format!("{NAMES} {names} --target-is local");
        assert_eq!(ready_ranks_apart(dir.path(), &own), [Some(0); 2]);
        assert_eq!(created(dir.path()), [Some(names); 2]);
    }
}

#[test]
fn ranks_that_cannot_ask_each_other_whose_names_these_are_make_none() {
    let dir = tempfile::tempdir().unwrap();
    let place = format!("--rank 0/2 --start-at {} --records part.jsonl", ahead(60));
    for meta in ["create,rename,unlink", "stat"] {
        let work = format!("{NAMES} 10 {place}").replace("create,unlink", meta);
        let (code, said) = ended(dir.path(), &work);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("give --target-is shared or --target-is local")
                && said.contains("two ranks of one machine need two of them"),
            "{said}"
        );
    }
    let (code, said) = ended(dir.path(), &format!("{NAMES} 1 {place} --target-is shared"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("2 ranks share 1 file of"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// What a walk of two ranks is whose trees differ: the second's has a level of many directories.
#[test]
fn ranks_that_saw_different_trees_have_an_invalid_walk() {
    let dir = tempfile::tempdir().unwrap();
    let at = |rank: u32| dir.path().join(format!("host{rank}"));
    std::fs::create_dir_all(at(0).join("tree/a/b")).unwrap();
    (0..20).for_each(|n| std::fs::create_dir_all(at(1).join(format!("tree/d{n}"))).unwrap());
    let walk = WALK.replace("--where name=*01*,size=4", "--target-is shared");
    ready_ranks_apart(dir.path(), &walk);
    let (_, said) = ended(
        dir.path(),
        "merge part-0.jsonl part-1.jsonl --max-skew 60s -o whole.jsonl",
    );
    assert!(said.contains("NOT RELIABLE: ranks saw different"), "{said}");
    let (code, audit) = ended(dir.path(), "audit whole.jsonl");
    assert_eq!(code, Some(4), "{audit}");
    assert!(audit.contains("invalid[not_one_target]"), "{audit}");
}

#[test]
fn a_rank_whose_file_another_of_its_machine_has_is_told_that_each_needs_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let of = |rank: u32| {
        let words = "run t --file-size 1M --write-percent 100 --target-is local --no-live --clock unsynchronised";
        let start = ahead(300);
        format!("{words} --rank {rank}/2 --start-at {start} --records part-{rank}.jsonl")
    };
    let mut first = fathom(dir.path(), &of(0)).spawn().unwrap();
    let made = || std::fs::metadata(dir.path().join("t")).is_ok_and(|facts| facts.len() == 1 << 20);
    while !made() {
        assert!(first.try_wait().unwrap().is_none(), "it waits");
        std::thread::yield_now();
    }
    let (code, said) = ended(dir.path(), &of(1));
    assert!(sys::signal_process(first.id(), 15).unwrap());
    first.wait().unwrap();
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("another rank of this machine may write it: ranks that are not connected need targets of their own"),
        "{said}"
    );
}
