//! Programs that are other ones than the plan says.

use super::{in_dir, said, stated, text, with_plan};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

fn program(dir: &Path, name: &str, script: &str) {
    let at = dir.join(name);
    fs::write(&at, format!("#!/bin/sh\n{script}\n")).expect("the test can do this");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("the test can do this");
}

/// Both streams of a command that ended with this code.
fn all_of(output: &Output, code: i32) -> String {
    said(output, code) + &text(&output.stderr)
}

/// A factor chooses the program.
fn chosen() -> String {
    stated("10", "12")
        .replace(
            "[workload]",
            "[factors]\ntool = [\"one\", \"two\"]\n[workload]",
        )
        .replace("[1, 30]", "6")
        .replace("calibrate = 1", "calibrate = 0")
        .replace("echo speed", "./{tool} speed")
}

#[test]
fn every_program_that_a_factor_chooses_is_known_and_its_exchange_seen_wherever_it_happens() {
    let says = "echo \"$@\"";
    // Between slots, by the program of the other row; and in its own slot, the last of all.
    let exchanges = "cp other two.new && mv two.new two";
    let between = format!("{says}\ncase $2 in *.25) {exchanges};; esac");
    let at_the_end = format!("{says}\ncase $2 in *.55) {exchanges};; esac");
    for (one, two) in [(between.as_str(), says), (says, at_the_end.as_str())] {
        let dir = with_plan(&chosen());
        for (name, script) in [("one", one), ("two", two), ("other", "echo \"$@\" # other")] {
            program(dir.path(), name, script);
        }
        let planned = text(&in_dir(dir.path(), &["lab", "plan", "p.toml"]).stdout);
        let each = ["tool=one", "tool=two"].map(|row| format!("command in {row} sha256:"));
        // Of the baseline, its control is not shown apart from it with one candidate.
        let known = each.map(|each| planned.matches(&each).count());
        assert_eq!(known, [2, 2], "{planned}");
        let told = all_of(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 1);
        assert!(
            told.contains("/two was exchanged after the plan was made"),
            "{told}"
        );
        assert!(!told.contains("/one was exchanged"), "{told}");
    }
}

#[test]
fn a_program_that_is_exchanged_in_the_very_last_slot_fails_it() {
    let dir = with_plan(
        &stated("10", "12")
            .replace("[1, 30]", "6")
            .replace("calibrate = 1", "calibrate = 0")
            .replace("echo speed", "./say speed"),
    );
    program(
        dir.path(),
        "say",
        "echo \"$@\"\necho x >> slots\ntest $(wc -l < slots) -lt 12 || { cp other say.new && mv say.new say; }",
    );
    program(dir.path(), "other", "echo \"$@\"");
    let told = all_of(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 1);
    assert!(
        told.contains("was exchanged after the plan was made"),
        "{told}"
    );
    let slots = fs::read_to_string(dir.path().join("slots")).expect("the test can do this");
    assert_eq!(
        slots.lines().count(),
        12,
        "the slot after it does not begin"
    );
}

#[test]
fn a_program_of_a_later_row_that_is_exchanged_before_a_resume_is_another_plan() {
    let dir = with_plan(&chosen());
    for name in ["one", "two"] {
        program(dir.path(), name, "echo \"$@\"");
    }
    let first = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    assert_eq!(first.status.code(), Some(3), "{}", text(&first.stderr));
    let again = in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    program(dir.path(), "two", "echo \"$@\" # other");
    let told = all_of(
        &in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]),
        2,
    );
    assert!(told.contains("identity.command"), "{told}");
}

#[test]
fn a_program_is_known_as_the_path_of_its_own_environment_finds_it() {
    let dir = with_plan(
        &stated("10", "12")
            .replace(
                "echo speed: {value}.{pass}5\"",
                "say speed: {value}.{pass}5\"\nenv = { PATH = \"bin:/usr/bin:/bin\" }",
            )
            .replace("[1, 30]", "6"),
    );
    fs::create_dir(dir.path().join("bin")).expect("the test can do this");
    program(&dir.path().join("bin"), "say", "echo \"$@\"");
    let planned = text(&in_dir(dir.path(), &["lab", "plan", "p.toml"]).stdout);
    assert!(planned.contains("command sha256:"), "{planned}");
}

#[test]
fn a_program_that_is_exchanged_in_the_middle_fails_its_slots_by_name() {
    let dir = with_plan(&stated("10", "12").replace("echo speed", "./say speed"));
    let say = dir.path().join("say");
    // The program puts another in its place, as a build that goes on meanwhile does.
    fs::write(
        &say,
        "#!/bin/sh\necho \"$@\"\ncase $1$2 in *.25) cp other say.new && mv say.new say;; esac\n",
    )
    .unwrap();
    fs::write(dir.path().join("other"), "#!/bin/sh\necho \"$@\"\n").unwrap();
    for name in ["say", "other"] {
        let path = dir.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let (told, beside) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}{beside}");
    assert!(
        told.contains("No verdict") && told.contains("was exchanged after the plan was made"),
        "{told}{beside}"
    );
    // Whoever goes on does so with another plan, and is told which arm it is.
    let resumed = in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]);
    let beside = text(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(2), "{beside}");
    assert!(beside.contains("identity.command was"), "{beside}");
}
