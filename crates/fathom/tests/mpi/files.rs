//! Files that all ranks use: made by the root, filled by all, verified by each, and sealed when all have
//! ended.

use super::{
    LONG, SHORT, begin, launchers, launchers_by_kind, may_unshare, nobody_is_left, place, record,
    said,
};
use record::{Record, read_records};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn files_that_all_ranks_write_are_made_by_the_root_and_sealed_when_all_have_ended() {
    let Some(launcher) = launchers().into_iter().next() else {
        return;
    };
    let dir = place();
    let write = SHORT.replace("--random", "--write-percent 100 --random");
    for round in 0..2 {
        let (code, said) = launcher.ended(dir.path(), &write);
        assert_eq!(code, Some(0), "{round}: {said}");
        fs::remove_file(dir.path().join("r.jsonl")).unwrap();
    }
    fs::write(dir.path().join("x"), "somebody's").unwrap();
    let (code, said) = launcher.ended(dir.path(), &write);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(fs::read(dir.path().join("x")).unwrap(), b"somebody's");
    assert!(said.contains("--allow-destroy"), "{said}");
}

/// Each rank's own files fit into the file system, and all together do not.
#[test]
fn what_all_ranks_write_together_is_held_to_the_free_space() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let free = sys::free_bytes(dir.path()).unwrap().unwrap() >> 20;
        let each = free * 6 / 10;
        fs::create_dir(dir.path().join("d")).unwrap();
        let files = each / 64;
        // Of one rank the file is there already, and little of it.
        fs::create_dir(dir.path().join("e")).unwrap();
        fs::write(dir.path().join("e/f.worker0"), "x").unwrap();
        let words = [
            format!(
                "run f --file-distribution per-worker --file-size {each}M --write-percent 100 --duration 0s"
            ),
            format!(
                "run e/f d/f --allow-destroy e/f.worker0 --file-distribution per-worker --file-size {}M --write-percent 100 --duration 0s",
                each / 2
            ),
            format!(
                "run d --meta create --payload 64M --num-files {files} --dirs own --duration 0s"
            ),
        ];
        for words in words {
            let words = format!("{words} --no-live --records r.jsonl");
            let (code, said) = launcher.ended_of("2", dir.path(), &words);
            assert_eq!(code, Some(2), "{name}: {said}");
            let why = "2 ranks together: ";
            assert_eq!(said.matches(why).count(), 1, "{name}: {said}");
            assert!(said.contains("are free where"), "{name}: {said}");
        }
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 2, "{name}: nothing was made");
        nobody_is_left(dir.path(), name);
    }
}

/// No rank begins a kind before all have ended the one before, or a rate would be that of none of them.
#[test]
fn ranks_wait_for_each_other_between_kinds_of_metadata_operations() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("d")).unwrap();
        let words = "run d --meta create,stat,read,unlink --payload 8192 --total-files 3001 --threads 2 --no-live --max-skew 60s --records r.jsonl";
        let (code, said) = launcher.ended_of("3", dir.path(), words);
        assert_eq!(code, Some(0), "{name}: {said}");
        assert!(!said.contains("invalid"), "{name}: {said}");
        let spans = record(dir.path(), name).spans;
        let of = |kind: &str| spans[kind];
        for (kind, next) in [("create", "stat"), ("stat", "read"), ("read", "unlink")] {
            let (kind, next) = (of(kind), of(next));
            assert!(kind.end_ns <= next.start_ns, "{name}: {kind:?} {next:?}");
            assert_eq!(kind.elapsed_ns, kind.end_ns - kind.start_ns, "{name}");
        }
        assert_eq!(fs::read_dir(dir.path().join("d")).unwrap().count(), 0);
    }
}

#[test]
fn a_cold_cache_is_cold_on_all_ranks() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let words = SHORT.replace("--random", "--random --cache cold");
        let (code, said) = launcher.ended_of("2", dir.path(), &words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        assert_eq!(record.hosts.len(), 2, "{name}");
        for host in record.by_host() {
            let before = host.residency.as_ref().map(|of| of.before_bytes);
            assert_eq!(before, Some(Some(0)), "{name}: {said}");
        }
    }
}

/// What one process finds in the whole file.
fn verified_by_one(dir: &Path, more: &str) -> (Option<i32>, String) {
    by_one(dir, &format!("run x --verify --duration 0s {more}"))
}

fn by_one(dir: &Path, words: &str) -> (Option<i32>, String) {
    let words = format!("{words} --no-live");
    let mut command = Command::new(super::FATHOM);
    let output = command
        .args(words.split_whitespace())
        .current_dir(dir)
        .output()
        .unwrap();
    (output.status.code(), said(&output))
}

fn open(dir: &Path) -> fs::File {
    let mut options = fs::File::options();
    options.read(true).write(true).open(dir.join("x")).unwrap()
}

fn failures(record: &Record) -> (u64, u64) {
    let verified = record.verification.as_ref().unwrap();
    (verified.operations, verified.failures)
}

#[test]
fn each_rank_fills_a_part_of_what_all_use_and_the_parts_are_the_whole() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("x")).unwrap();
        let words = SHORT.replace("--file-size 4M", "--file-size 9M --num-files 3");
        let (code, told) = launcher.ended_of("3", dir.path(), &words);
        assert_eq!(code, Some(0), "{name}: {told}");
        let record = record(dir.path(), name);
        assert_eq!(record.fill.map(|fill| fill.bytes), Some(27 << 20), "{name}");
        for host in &record.hosts {
            let own = host.part.as_ref().unwrap().fill.as_ref();
            let own = own.map_or(0, |fill| fill.bytes);
            assert!((8 << 20..=10 << 20).contains(&own), "{name}: {own}");
        }
        let mut chunks = HashSet::new();
        for file in fs::read_dir(dir.path().join("x")).unwrap() {
            let path = file.unwrap().path();
            let facts = fs::metadata(&path).unwrap();
            assert!(facts.blocks() * 512 >= 9 << 20, "{name}: no hole");
            for chunk in fs::read(&path).unwrap().chunks(1 << 16) {
                assert!(chunks.insert(chunk.to_vec()), "{name}: twice the same");
            }
        }
        assert_eq!(chunks.len(), 3 * 9 * 16, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_one_rank_cannot_fill_ends_all_and_nothing_is_left_that_the_run_made() {
    let script = r#"[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ] && ulimit -f 100000; exec "$@""#;
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let words = SHORT.replace("--file-size 4M", "--file-size 160M");
        let (code, told) = launcher.wrapped_ended("4", dir.path(), script, &words);
        assert_eq!(code, Some(1), "{name}: {told}");
        assert!(
            told.contains("cannot fill x") && told.contains("rank 2"),
            "{name}: {told}"
        );
        assert!(!dir.path().join("x").exists(), "{name}");
        nobody_is_left(dir.path(), name);
        // What was there before stays Fathom's.
        let (code, told) = launcher.ended(dir.path(), SHORT);
        assert_eq!(code, Some(0), "{name}: {told}");
        let (code, told) = launcher.wrapped_ended("4", dir.path(), script, &words);
        assert_eq!(code, Some(1), "{name}: {told}");
        let write = SHORT.replace("--random", "--random --write-percent 100");
        let (code, told) = launcher.ended(dir.path(), &write);
        assert_eq!(code, Some(0), "{name}: {told}");
    }
}

#[test]
fn a_file_of_one_host_alone_is_not_written_because_all_are_said_to_see_it() {
    if !may_unshare(&["--mount"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return;
    }
    let script = r#"[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] || exec "$@"
        exec unshare --mount sh -c 'mount --bind other own && exec "$@"' sh "$@""#;
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        for of in ["own", "other"] {
            fs::create_dir(dir.path().join(of)).unwrap();
        }
        let theirs = dir.path().join("other/x");
        let write = SHORT.replace("run x", "run own/x --write-percent 100 --target-is shared");
        for (content, expected) in [(None, "not here"), (Some("theirs"), "--allow-destroy")] {
            let _is_there = content.map(|content| fs::write(&theirs, content).unwrap());
            let (code, told) = launcher.wrapped_ended("3", dir.path(), script, &write);
            assert_eq!(code, Some(2), "{name}: {told}");
            assert!(
                told.contains(expected) && told.contains("rank 1"),
                "{name}: {told}"
            );
            assert_eq!(told.matches("error: ").count(), 1, "{name}: {told}");
            let kept = fs::read_to_string(&theirs).ok();
            assert_eq!(kept.as_deref(), content, "{name}");
            assert!(
                !dir.path().join("own/x").exists(),
                "{name}: made for this run"
            );
            nobody_is_left(dir.path(), name);
        }
        // A refusal on another host changes nothing of what is known here.
        let known = "run own/known --verify --duration 0s --file-size 1M";
        let (code, told) = by_one(dir.path(), known);
        assert_eq!(code, Some(0), "{name}: {told}");
        let more = "own/known --verify --write-percent 50 --target-is shared";
        let mixed = SHORT.replace("run x", &format!("run {more}"));
        let (code, told) = launcher.wrapped_ended("3", dir.path(), script, &mixed);
        assert_eq!(code, Some(2), "{name}: {told}");
        let (code, told) = by_one(dir.path(), known);
        assert_eq!(code, Some(0), "{name}: {told}");
        // Nor is a file of Fathom's own on that host the one that all were to write.
        by_one(
            &dir.path().join("other"),
            "run x --write-percent 100 --duration 0s --file-size 1M --allow-destroy x",
        );
        let before = fs::read(&theirs).unwrap();
        assert_eq!(before.len(), 1 << 20, "{name}");
        let (code, told) = launcher.wrapped_ended("3", dir.path(), script, &write);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(told.contains("--target-is local"), "{name}: {told}");
        assert!(fs::read(&theirs).unwrap() == before, "{name}");
    }
}

/// A server is every rank's, whatever is said of files.
#[test]
fn ranks_that_write_to_one_export_call_nothing_damaged_that_another_wrote() {
    let Some(launcher) = launchers().into_iter().next() else {
        return;
    };
    let (dir, name) = (place(), launcher.name);
    let mut server = Command::new(super::FATHOM)
        .args("serve block --front nbd --unix socket --size 4m".split(' '))
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let socket = dir.path().join("socket");
    super::wait_for("a socket", || socket.exists().then_some(()));
    let target = format!("nbd+unix:///?socket={}", socket.display());
    let run = format!("run {target} --allow-destroy {target} --write-percent 50");
    let whole = format!("{run} --verify --duration 0s").replace(" 50", " 100");
    let (code, told) = by_one(dir.path(), &whole);
    assert_eq!(code, Some(0), "{told}");
    let run = SHORT.replace("run x --file-size 4M", &run);
    for (more, reach) in [
        ("", "local"),
        ("", "shared"),
        ("--block-size 4k/50:64k/50", "shared"),
    ] {
        let words = format!("{run} --verify --target-is {reach} {more}");
        let (_, told) = launcher.ended_of("2", dir.path(), &words);
        let (checked, failed) = failures(&record(dir.path(), name));
        assert!(checked > 100 && failed == 0, "{reach} {more}: {told}");
        fs::remove_file(dir.path().join("r.jsonl")).unwrap();
    }
    let anew = run.replace("--write-percent 50", "--write-percent 100 --verify");
    let anew = format!("{anew} --verify-when passes");
    let (code, told) = launcher.ended_of("2", dir.path(), &anew);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("must each have their own blocks"), "{told}");
    super::signal(server.id(), "TERM");
    server.wait().unwrap();
}

#[test]
fn ranks_know_whose_writes_a_file_holds_that_all_of_them_write() {
    // What a round carries is the same under all of them.
    for launcher in launchers().into_iter().take(1) {
        let (dir, name) = (place(), launcher.name);
        let verified = |more: &str| SHORT.replace("--random", &format!("--verify {more}"));
        for more in [
            "--random --write-percent 50",
            "--random --write-percent 50 --block-size 4k/50:64k/50",
            "--random --write-percent 50 --file-distribution partitioned --threads 2",
            "--write-percent 100 --verify-when passes",
            "--write-percent 100 --verify-when passes --file-distribution interleaved",
            "--random --write-percent 100 --duration 0s --verify-when later",
            "--random",
        ] {
            let words = match more.contains("0s") {
                true => verified(more).replacen("--duration 1s", "", 1),
                false => verified(more),
            };
            let (code, told) = launcher.ended_of("3", dir.path(), &words);
            assert_eq!(code, Some(0), "{name} {more}: {told}");
            let (checked, failed) = failures(&record(dir.path(), name));
            assert_eq!(
                (checked > 0, failed),
                (!more.contains("later"), 0),
                "{name} {more}"
            );
            fs::remove_file(dir.path().join("r.jsonl")).unwrap();
            let (code, told) = verified_by_one(dir.path(), "");
            assert_eq!(code, Some(0), "{name} {more}: {told}");
            assert!(
                told.contains("Operations: 1024, Failures: 0"),
                "{name} {more}: {told}"
            );
        }
        // Files of workers are the same to whoever reads them, with as many workers.
        let own = "--write-percent 100 --verify-when later --file-distribution per-worker";
        let own = verified(own).replace("--duration 1s", "--duration 0s");
        let (code, told) = launcher.ended_of("3", dir.path(), &own);
        assert_eq!(code, Some(0), "{name}: {told}");
        let more = "--file-distribution per-worker --threads 3";
        let (code, told) = verified_by_one(dir.path(), more);
        assert_eq!(code, Some(0), "{name}: {told}");
        assert!(
            told.contains("Operations: 3072, Failures: 0"),
            "{name}: {told}"
        );
        fs::remove_file(dir.path().join("r.jsonl")).unwrap();
        // What an earlier run wrote there is found by ranks as it is by one process.
        let data = open(dir.path());
        let mut old = vec![0; 4096];
        data.read_exact_at(&mut old, 5 * 4096).unwrap();
        let rewrite = verified("--write-percent 100 --verify-when later --duration 0s");
        let rewrite = rewrite.replacen("--duration 1s", "", 1);
        let (code, told) = launcher.ended_of("3", dir.path(), &rewrite);
        assert_eq!(code, Some(0), "{name}: {told}");
        data.write_all_at(&old, 5 * 4096).unwrap();
        fs::remove_file(dir.path().join("r.jsonl")).unwrap();
        let (code, told) = launcher.ended_of("2", dir.path(), &verified(""));
        assert_eq!(code, Some(1), "{name}: {told}");
        assert!(failures(&record(dir.path(), name)).1 > 0, "{name}: {told}");
        assert!(told.contains("stale"), "{name}: {told}");
        let (code, told) = verified_by_one(dir.path(), "");
        assert_eq!(code, Some(1), "{name}: {told}");
        // Blocks that are dealt out anew for the reads are another rank's.
        let anew = verified("--random --write-percent 100 --verify-when passes");
        let (code, told) = launcher.ended(dir.path(), &anew);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert_eq!(
            told.matches("must each have their own blocks").count(),
            1,
            "{told}"
        );
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_somebody_else_writes_while_ranks_verify_is_found() {
    let Some(launcher) = launchers().into_iter().next() else {
        return;
    };
    let name = launcher.name;
    let short = LONG.replace("--duration 60s", "--duration 6s");
    let fast = short.replace("--rate-iops 400", "--rate-iops 40000");
    // An old copy of the same blocks is found where each rank has its own.
    for (more, damage) in [
        ("--verify-pattern random --write-percent 1", None),
        ("--write-percent 1", None),
        (
            "--write-percent 90 --file-distribution partitioned",
            Some("stale"),
        ),
    ] {
        let dir = place();
        let line = if damage.is_some() { &fast } else { &short };
        let running = begin(&launcher, dir.path(), &format!("{line} --verify {more}"));
        let data = open(dir.path());
        let mut bytes = vec![0x55; 2 << 20];
        if damage.is_some() {
            data.read_exact_at(&mut bytes, 1 << 20).unwrap();
            super::wait_for("every block written again", || {
                let read = read_records(&dir.path().join("r.jsonl")).ok()?;
                (read.records.last()?.operations.count() > 50_000).then_some(())
            });
        }
        data.write_all_at(&bytes, 1 << 20).unwrap();
        let (code, told) = running.ended();
        assert_eq!(code, Some(1), "{name} {more}: {told}");
        assert!(failures(&record(dir.path(), name)).1 > 0, "{more}: {told}");
        assert!(
            damage.is_none_or(|word| told.contains(word)),
            "{more}: {told}"
        );
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn each_rank_works_on_all_of_a_target_of_its_own() {
    const OWN: &str = "n=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; mkdir -p r$n && cd r$n && exec \"$@\"";
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let read = "run f -b 4k --verify --duration 0s --target-is local --no-live --max-skew 60s --records r.jsonl";
        let write = format!("{read} --file-size 1M --threads 2 --write-percent 100");
        let (code, said) = launcher.wrapped_ended("2", dir.path(), OWN, &write);
        assert_eq!(code, Some(0), "{name}: {said}");
        let written = record(&dir.path().join("r0"), name);
        assert_eq!(written.operations.count(), 512, "{name}");
        for rank in ["r0", "r1"] {
            let alone = "run f -b 4k --verify --duration 0s";
            let (code, said) = by_one(&dir.path().join(rank), alone);
            assert_eq!(code, Some(0), "{name} {rank}: {said}");
        }
        let own = fs::File::options()
            .write(true)
            .open(dir.path().join("r1/f"));
        own.unwrap().write_all_at(&[0x55; 4096], 100 << 12).unwrap();
        let (code, said) = launcher.wrapped_ended("2", dir.path(), OWN, read);
        assert_eq!(
            code,
            Some(1),
            "{name}: what is damaged in either half is found: {said}"
        );
        // Two ranks each of two targets: the record says which, and goes by it.
        fs::remove_file(dir.path().join("r0/r.jsonl")).unwrap();
        let two = OWN.replace("r$n", "r$((n % 2))");
        let read = "run f -b 4k --random --heatmap --heatmap-buckets 4 --duration 300ms --no-live --target-is local --max-skew 60s --file-distribution partitioned --records r.jsonl";
        let (code, said) = launcher.wrapped_ended("4", dir.path(), &two, read);
        assert_eq!(code, Some(0), "{name}: {said}");
        let all = record(&dir.path().join("r0"), name);
        let sets = all.hosts.iter().map(|host| host.target_set);
        let wanted = [0, 1, 0, 1].map(Some);
        assert_eq!(sets.collect::<Vec<_>>(), wanted, "{name}");
        assert_eq!((all.targets[0].files, all.targets[0].bytes), (2, 2 << 20));
        assert_eq!(all.coverage.unwrap().blocks, 512, "{name}");
        assert_eq!(all.residency.unwrap().total_bytes, 2 << 20, "{name}");
        assert_eq!(all.group.unwrap().machines, Some(1), "{name}");
        nobody_is_left(dir.path(), name);
    }
}
