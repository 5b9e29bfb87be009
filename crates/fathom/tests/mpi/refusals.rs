//! What is refused before ranks have met: libraries that cannot connect them, and mistakes of the command
//! line, which are said once where all ranks make them.

use super::{Launcher, SHORT, launchers, launchers_by_kind, nobody_is_left, place, said};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What ranks said that were refused for so many mistakes. Each is said once by ranks that are there at the
/// same time: where the launcher gets no CPU for a tenth of a second, the rank that has said it may be gone
/// when another begins, which says it again in the same words; and of ranks that are not connected the
/// launcher may end one that has said nothing yet. That is told, and they are begun anew.
#[track_caller]
fn refused(mistakes: usize, name: &str, ended: impl Fn() -> (Option<i32>, String)) -> String {
    const MOST_TIMES: u32 = 3;
    for _ in 0..MOST_TIMES {
        let (code, said) = ended();
        assert_eq!(code, Some(2), "{name}: {said}");
        let lines = said.lines().filter(|line| line.contains("error: "));
        let different = lines.collect::<BTreeSet<_>>().len();
        if [different, said.matches("error: ").count()] == [mistakes; 2] {
            return said;
        }
        println!("begun anew: {name}: {said}");
    }
    panic!("{name}: not each of {mistakes} mistakes is said, or one of all ranks more than once");
}

/// Half of a library that is here in any case.
fn half_a_library(dir: &Path) -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let of_c = maps.lines().find(|line| line.contains("libc.so"));
    let whole = fs::read(of_c.unwrap().split_whitespace().last().unwrap()).unwrap();
    let half = dir.join("libmpi.so.40");
    fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    half
}

#[test]
fn a_library_that_is_cut_short_is_refused_by_name_and_no_rank_dies_of_it() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let half = half_a_library(dir.path());
        let words = format!("{SHORT} --mpi {}", half.display());
        let said = refused(1, name, || launcher.ended(dir.path(), &words));
        let named = format!("{}: it is cut short", half.display());
        assert!(said.contains(&named), "{name}: {said}");
        assert!(!dir.path().join("x").exists(), "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn an_error_that_several_ranks_say_in_the_same_words_is_handed_on_once() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let half = half_a_library(dir.path());
        let words = format!("{SHORT} --mpi {}", half.display());
        let output = launcher.by_front(dir.path(), &words).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert_eq!(said.matches("it is cut short").count(), 1, "{name}: {said}");
    }
}

/// Libraries of MPICH's family that are here.
fn of_mpich() -> Vec<PathBuf> {
    let homes = launchers()
        .into_iter()
        .filter(|launcher| !is_open_mpi(launcher));
    let beside = homes.flat_map(|launcher| {
        let home = launcher.program.parent().unwrap().join("../lib");
        let names = ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"];
        let of_system = format!("{}-linux-gnu", std::env::consts::ARCH);
        let places = [home.clone(), home.join(of_system)];
        places
            .into_iter()
            .flat_map(move |place| names.map(|name| place.join(name)))
    });
    beside.filter(|path| path.exists()).collect()
}

fn is_open_mpi(launcher: &Launcher) -> bool {
    launcher.name.contains("Open MPI")
}

#[test]
fn the_library_of_another_launcher_is_refused_before_it_can_end_the_process_in_its_own_words() {
    for launcher in launchers().into_iter().filter(is_open_mpi) {
        for library in of_mpich() {
            let (name, dir) = (launcher.name, place());
            let library = library.display().to_string();
            let words = format!("{SHORT} --mpi {library}");
            let said = refused(1, name, || launcher.ended(dir.path(), &words));
            let both = [library.as_str(), "knows no PMIx"];
            assert!(both.iter().all(|one| said.contains(one)), "{name}: {said}");
            assert!(!said.contains("Abort("), "{name}: {said}");
            assert!(!dir.path().join("x").exists(), "{name}");
        }
    }
}

#[test]
fn an_older_library_than_the_launcher_s_is_refused_by_both_their_names_where_it_would_end_the_process()
 {
    let [older, launcher] = ["Open MPI of the system", "Open MPI 5"].map(|name| {
        launchers()
            .into_iter()
            .find(|launcher| launcher.name == name)
    });
    let (Some(older), Some(launcher)) = (older, launcher) else {
        return;
    };
    let of_system = format!("../lib/{}-linux-gnu/libmpi.so.40", std::env::consts::ARCH);
    let library = older.program.parent().unwrap().join(of_system);
    if !library.exists() {
        println!("SKIPPED: needs {}", library.display());
        return;
    }
    let (name, dir) = (launcher.name, place());
    let words = format!("{SHORT} --mpi {}", library.display());
    let said = refused(1, name, || launcher.ended(dir.path(), &words));
    let both = ["(Open MPI v4.", "the launcher's Open MPI 5."];
    assert!(both.iter().all(|one| said.contains(one)), "{name}: {said}");
    assert!(!said.contains("opal_init"), "{name}: {said}");
    assert!(!dir.path().join("x").exists(), "{name}");
    nobody_is_left(dir.path(), name);
}

/// What ranks are told that know nothing of each other.
const BY_CLOCK: &str = "--rank 0/4 --start-at 2099-01-01T00:00:00Z --clock unsynchronised";

#[test]
fn a_mistake_of_all_ranks_is_said_once_and_that_of_one_beside_it() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        for (more, error) in [
            ("--lost-after 1s", "error: --lost-after must be at least"),
            ("--no-such-option", "error: unexpected argument"),
            ("--hosts a,b", "error: a launcher started 4 of this command"),
            ("--rank 3", "error: --rank needs --start-at"),
        ] {
            let words = format!("{SHORT} {more}");
            let said = refused(1, name, || launcher.ended(dir.path(), &words));
            assert!(said.contains(error), "{name}: {said}");
        }
        let words = "compare a b --run -o verdicts.jsonl";
        let said = refused(1, name, || launcher.ended(dir.path(), words));
        assert!(said.contains("the ending says the form"), "{name}: {said}");
        let script = r#"[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 2 ] && exec "$@" --lead 1us; exec "$@" --no-such-option"#;
        let said = refused(2, name, || {
            launcher.wrapped_ended("4", dir.path(), script, SHORT)
        });
        for of_one in ["unexpected argument", "error: --lead must"] {
            assert_eq!(said.matches(of_one).count(), 1, "{name}: {said}");
        }
        // Ranks that are not connected.
        let words = SHORT.replace("--max-skew 60s", BY_CLOCK);
        let script = r#"[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" -gt 1 ] && exec "$@" --engine x; exec "$@" --threshold x"#;
        let said = refused(2, name, || {
            launcher.wrapped_ended("4", dir.path(), script, &words)
        });
        for of_two in ["threshold", "engine"] {
            assert!(said.contains(of_two), "{name}: {said}");
        }
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_pipe_that_all_ranks_were_to_read_is_refused_where_it_is_named_before_any_waits_for_it() {
    let dir = place();
    let made = Command::new("mkfifo").arg(dir.path().join("pipe")).status();
    assert!(made.unwrap().success());
    let toml = "target = 'd'\nfile-size = '64k'\nlayout-manifest = 'pipe'\n";
    fs::write(dir.path().join("w.toml"), toml).unwrap();
    let job = "[a]\nfilename=x\nsize=64k\ninclude pipe\n";
    fs::write(dir.path().join("j.fio"), job).unwrap();
    let ways = ["run -c w.toml --no-live", "run --fio j.fio --no-live"];
    for (launcher, words) in launchers_by_kind().into_iter().zip(ways) {
        let name = format!("{}, {words}", launcher.name);
        let once = |said: &str| {
            let told = said.matches("is a pipe and no regular file").count();
            assert_eq!(told, 1, "{name}: {said}");
        };
        let (code, by_hand) = launcher.ended(dir.path(), words);
        assert_eq!(code, Some(2), "{name}: {by_hand}");
        once(&by_hand);
        let output = launcher.by_front(dir.path(), words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
        once(&said(&output));
        nobody_is_left(dir.path(), &name);
    }
}
