//! An experiment of one process, of which the command of each arm starts ranks by `--hosts`.

use super::{FATHOM, launchers, nobody_is_left, place, said};
use record::{Status, read_records};
use std::fs;
use std::process::Command;

#[test]
fn the_command_of_an_arm_of_an_experiment_may_start_ranks() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        // A program that is built anew meanwhile is another, which an experiment does not take.
        let own = dir.path().join("fathom").display().to_string();
        fs::hard_link(FATHOM, &own).unwrap();
        let program = launcher.program.display().to_string();
        let by = [&[program.as_str()], &launcher.words[..]]
            .concat()
            .join(" ");
        let plan = format!(
            r#"
question = "Do three ranks do more than two?"
better = "higher"
metric = "value:ranks"
passes = [2, 2]
settle = "0s"
keep-free = "1MiB"
calibrate = 1
[workload]
command = '{own} run {{scratch}}/x --file-size 4M --rate-iops {{rate}} --duration 1s --no-live --lead 1s --max-skew 60s --lost-after 30s --hosts localhost:{{ranks}} --launcher "{by}" --records {{scratch}}/r.jsonl'
read = {{ name = "ranks", json = "/group/size", file = "{{scratch}}/r.jsonl" }}
[[arm]]
name = "two"
set = {{ ranks = 2, rate = 200 }}
[[arm]]
name = "three"
set = {{ ranks = 3, rate = 300 }}
"#
        );
        fs::write(dir.path().join("p.toml"), plan).unwrap();
        let mut lab = Command::new("timeout");
        let lab = lab.args(["-k", "5", "200", &own, "lab", "run", "p.toml"]);
        let output = lab.current_dir(dir.path()).output().unwrap();
        let told = said(&output);
        // Two blocks have no verdict.
        assert_eq!(output.status.code(), Some(4), "{name}: {told}");
        assert!(told.contains("three +50.0 %"), "{name}: {told}");
        let read = read_records(&dir.path().join("p.jsonl")).unwrap();
        // A block in which a rank got no CPU is measured again.
        let (whole, lost): (Vec<_>, Vec<_>) =
            (read.records.iter()).partition(|record| record.outcome.status == Status::Ok);
        for record in lost {
            let why = record.outcome.message.as_deref().unwrap_or_default();
            assert!(why.contains("exit code 5"), "{name}: {why}");
        }
        assert!(whole.len() >= 4, "{name}: {told}");
        for record in whole {
            let arm = &record.trial.as_ref().unwrap().arm;
            let ranks = if arm == "two" { 2.0 } else { 3.0 };
            let stated = record.summaries["run"].figures.get("ranks");
            assert_eq!(stated, Some(&ranks), "{name}: {arm}: {told}");
        }
        nobody_is_left(dir.path(), name);
    }
}
