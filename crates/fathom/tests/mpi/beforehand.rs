//! What ranks refuse before anything is written, and what hosts with targets of their own do there.

use super::{SHORT, launchers_by_kind, may_unshare, nobody_is_left, place, record, said};
use std::fs;
use std::path::Path;

/// The names that lie in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The second rank has another working directory.
const ELSEWHERE: &str = r#"[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && cd other; exec "$@""#;

#[test]
fn ranks_that_have_one_target_as_their_own_are_refused_before_any_makes_it() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let local = format!("{SHORT} --target-is local");
        for words in [
            local.clone(),
            local.replace("--random", "--random --write-percent 100"),
        ] {
            let (code, told) = launcher.ended_of("2", dir.path(), &words);
            assert_eq!(code, Some(2), "{name}: {told}");
            let told_once = told.matches("error: several writers: ").count() == 1;
            assert!(
                told_once && told.contains("(rank 1) have one target"),
                "{name}: {told}"
            );
            assert_eq!(names(dir.path()), [""; 0], "{name}");
        }
        // What is there they read together, and each worker may have a file of its own.
        fs::write(dir.path().join("x"), vec![7; 4 << 20]).unwrap();
        let (code, told) = launcher.ended_of("2", dir.path(), &local);
        assert_eq!(code, Some(0), "{name}: {told}");
        let shifted = format!("{local} --shift 1");
        let (code, told) = launcher.ended_of("2", dir.path(), &shifted);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(told.contains("error: --shift asks for"), "{name}: {told}");
        let own = local.replace("run x", "run y --file-distribution per-worker");
        let (code, told) = launcher.ended_of("2", dir.path(), &own);
        assert_eq!(code, Some(0), "{name}: {told}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_profile_of_ranks_in_directories_of_one_name_is_refused_at_once() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        for of in ["d", "other", "other/d"] {
            fs::create_dir(dir.path().join(of)).unwrap();
        }
        let words = "profile d --quick -o r.jsonl";
        let (code, told) = launcher.wrapped_ended("2", dir.path(), ELSEWHERE, words);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(
            told.contains("/d on ") && told.contains("/other/d on ") && told.contains("(rank 1)"),
            "{name}: {told}"
        );
        assert_eq!(told.matches("error: ").count(), 1, "{name}: {told}");
        assert!(
            !told.contains("--target-is"),
            "a profile has no such option: {name}: {told}"
        );
        assert_eq!(names(dir.path()), ["d", "other"], "{name}: no record");
        assert_eq!(names(&dir.path().join("d")), [""; 0], "{name}");
    }
}

#[test]
fn a_target_of_a_host_s_own_has_all_names_of_metadata_operations() {
    if !may_unshare(&["--mount"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return;
    }
    let script = r#"exec unshare --mount sh -c 'mount -t tmpfs own own && exec "$@"' sh "$@""#;
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("own")).unwrap();
        let words = "run own --meta create,unlink --threads 2 --duration 0s --no-live --max-skew 60s --records r.jsonl --total-files";
        // Each rank has all names, so that fewer of them than ranks are enough.
        for count in [10, 1] {
            let words = format!("{words} {count}");
            let output = launcher
                .wrapped("2", dir.path(), script, &words)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
            let record = record(dir.path(), name);
            for host in record.by_host() {
                let creates = host.operations.kind("create").map(|kind| kind.count);
                assert_eq!(creates, Some(count), "{name}");
            }
            fs::remove_file(dir.path().join("r.jsonl")).unwrap();
        }
        // Of one directory each rank needs one, whatever is said of it.
        for reach in ["", " --target-is shared", " --target-is local"] {
            let words = format!("{words} 1{reach}");
            let (code, told) = launcher.ended_of("2", dir.path(), &words);
            assert_eq!(code, Some(2), "{name}{reach}: {told}");
            assert_eq!(
                told.matches("error: 2 ranks share 1 file").count(),
                1,
                "{name}{reach}: {told}"
            );
            assert_eq!(names(dir.path()), ["own"], "{name}{reach}");
            assert_eq!(names(&dir.path().join("own")), [""; 0], "{name}{reach}");
        }
    }
}

#[test]
fn a_target_that_is_said_to_be_shared_has_one_name_for_all_ranks() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        for of in ["t", "other", "other/t"] {
            fs::create_dir(dir.path().join(of)).unwrap();
        }
        let files = "run t/a --file-size 4M --duration 200ms --no-live --target-is";
        let meta = "run t --meta create,stat --num-files 10 --no-live --target-is";
        let written = files.replace("--file-size", "--write-percent 100 --file-size");
        for words in [files, meta, &written] {
            let words = format!("{words} shared");
            let (code, told) = launcher.wrapped_ended("2", dir.path(), ELSEWHERE, &words);
            assert_eq!(code, Some(2), "{name}: {words}: {told}");
            assert!(
                told.contains("/t") && told.contains("/other/t") && told.contains("(rank 1)"),
                "{name}: {words}: {told}"
            );
            for of in ["t", "other/t"] {
                assert_eq!(names(&dir.path().join(of)), [""; 0], "{name}: {words}");
            }
        }
        let local = format!("{files} local --max-skew 60s");
        let (code, told) = launcher.wrapped_ended("2", dir.path(), ELSEWHERE, &local);
        assert_eq!(code, Some(0), "{name}: {told}");
        for of in ["t", "other/t"] {
            assert_eq!(names(&dir.path().join(of)), ["a"], "{name}");
        }
    }
}

/// Mounts a file system of a rank's own on `own`, where the rank is one of these.
fn on_own(ranks: &str, options: &str) -> String {
    format!(
        r#"case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in
            {ranks}) exec unshare --mount sh -c 'mount -t tmpfs {options} own own && exec "$@"' sh "$@";;
            *) exec "$@";; esac"#
    )
}

#[test]
fn hosts_with_disks_of_their_own_and_several_ranks_are_told_what_to_say() {
    if !may_unshare(&["--mount"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return;
    }
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("own")).unwrap();
        let words = SHORT.replace("run x", "run own/x");
        let (code, told) = launcher.wrapped_ended("4", dir.path(), &on_own("2|3", ""), &words);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(
            told.contains("(rank 2), ")
                && told.contains("(rank 3) (not mounted?)")
                && told.contains("say --target-is local"),
            "{name}: {told}"
        );
        assert_eq!(names(&dir.path().join("own")), [""; 0], "{name}");
    }
}

#[test]
fn no_rank_makes_names_where_one_may_not() {
    if !may_unshare(&["--mount"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return;
    }
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("own")).unwrap();
        for target in ["own", "own/below"] {
            let words = format!(
                "run {target} --meta create,stat --num-files 10 --no-live --target-is local"
            );
            let script = on_own("1", "-o ro");
            let (code, told) = launcher.wrapped_ended("2", dir.path(), &script, &words);
            assert_eq!(code, Some(2), "{name}: {told}");
            assert!(
                told.contains("(rank 1): cannot change names in ") && told.contains("Read-only"),
                "{name}: {told}"
            );
            assert_eq!(names(&dir.path().join("own")), [""; 0], "{name}");
        }
    }
}
