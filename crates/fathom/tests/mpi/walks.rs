//! One tree walked by all ranks: every entry is looked at once.

use super::{launchers, launchers_by_kind, nobody_is_left, place, record};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directories as workers of mdtest have them, one with many files, and one in another for a while.
fn tree(root: &Path) {
    let made = |dir: String, files: u32| {
        let dir = root.join(dir);
        fs::create_dir_all(&dir).unwrap();
        for number in 0..files {
            fs::write(dir.join(format!("file.{number:06}")), "four").unwrap();
        }
    };
    (0..6).for_each(|worker| made(format!("easy/worker{worker}"), 150));
    made("hard".into(), 1200);
    made("deep/a/b/c/d".into(), 3);
    std::os::unix::fs::symlink("easy", root.join("round")).unwrap();
}

/// Lines of what `find` finds below the tree, beside the tree itself.
fn found(dir: &Path, more: &[&str]) -> u64 {
    let mut find = Command::new("find");
    let output = find
        .args(["tree", "-mindepth", "1"])
        .args(more)
        .current_dir(dir);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64
}

const WALK: &str = "run tree --meta walk --where name=*01*,size=4 --threads 2 --no-live --lead 1s --max-skew 60s --lost-after 60s --records r.jsonl";

#[test]
fn ranks_find_together_what_find_finds() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        tree(&dir.path().join("tree"));
        let (code, said) = launcher.ended_of("3", dir.path(), WALK);
        assert_eq!(code, Some(0), "{name}: {said}");
        let whole = record(dir.path(), name);
        let walk = whole.walk.unwrap();
        let entries = found(dir.path(), &[]);
        assert_eq!(walk.entries, entries, "{name}");
        let wanted = ["-name", "*01*", "-size", "4c", "!", "-type", "d"];
        assert_eq!(walk.matched, found(dir.path(), &wanted), "{name}");
        let dirs = whole.operations.kind("walk").map(|walk| walk.count);
        assert_eq!(dirs, Some(1 + found(dir.path(), &["-type", "d"])), "{name}");
        assert!(walk.levels.is_some_and(record::WalkLevels::agree), "{name}");
        let each = whole.by_host();
        let each: Vec<u64> = each.iter().map(|own| own.walk.unwrap().entries).collect();
        let fair = entries / 3;
        let is_fair = |own: &u64| own.abs_diff(fair) < fair / 4;
        assert!(
            each.len() == 3 && each.iter().all(is_fair),
            "{name}: {each:?}"
        );
        assert!(
            said.contains("every rank read the first "),
            "{name}: {said}"
        );
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn ranks_of_one_host_deal_out_a_tree_that_no_other_host_sees() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        tree(&dir.path().join("tree"));
        let words = format!("{WALK} --target-is local");
        let (code, said) = launcher.ended_of("3", dir.path(), &words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let walk = record(dir.path(), name).walk.unwrap();
        assert_eq!(walk.entries, found(dir.path(), &[]), "{name}");
    }
}

/// One rank has more to read than its time allows, and the others have not.
#[test]
fn a_walk_that_its_time_ended_on_one_rank_says_that_it_did_not_see_all() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        for number in 0..32 {
            fs::create_dir_all(dir.path().join(format!("tree/{number}"))).unwrap();
        }
        for number in 0..80 {
            fs::create_dir_all(dir.path().join(format!("tree/0/{number}"))).unwrap();
        }
        let walk = WALK.replace("--where name=*01*,size=4 --threads 2", "--think-time 100ms");
        let part = "the walk ended before all of the tree was seen";
        let (code, said) = launcher.ended_of("2", dir.path(), &format!("{walk} --duration 4s"));
        assert_eq!(code, Some(0), "{name}: {said}");
        let whole = record(dir.path(), name);
        let told: Vec<&String> = whole
            .notices
            .iter()
            .filter(|of| of.contains(part))
            .collect();
        assert!(told.len() == 1 && said.contains(part), "{name}: {said}");
        let ended = whole.workers.iter().map(|worker| worker.ended_ns);
        assert!(
            ended.clone().min() < Some(3_900_000_000),
            "{name}: {ended:?}"
        );
        fs::remove_dir_all(dir.path().join("tree/0")).unwrap();
        fs::remove_file(dir.path().join("r.jsonl")).unwrap();
        let (code, said) = launcher.ended_of("2", dir.path(), &walk);
        assert_eq!(code, Some(0), "{name}: {said}");
        assert!(!said.contains(part), "{name}: {said}");
    }
}
