//! `fathom run --` as scripts use fio: forms of output, entries of jobs, names, notices.
#![allow(clippy::unwrap_used, reason = "a test ends at the first thing that does not work")]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ended, Ground};
use serde_json::Value;

fn ran(ground: &Ground, line: &str) -> Ended {
    let ended = ground.fathom(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
    ended
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

const READ: &str = "run -- --name=x --filename=f --rw=randread --size=64k";

#[test]
fn forms_of_output_are_fios_behind_the_dashes() {
    let ground = Ground::new();
    let json = document(&ran(&ground, &format!("{READ} --output-format=json")).stdout);
    assert_eq!((&json["jobs"][0]["read"]["total_ios"], &json["jobs"][0]["jobname"]), (&Value::from(16), &Value::from("x")));
    assert!(json["jobs"][0]["read"]["clat_ns"]["bins"].is_null());
    let plus = document(&ran(&ground, &format!("{READ} --output-format=json+")).stdout);
    assert!(plus["jobs"][0]["read"]["clat_ns"]["bins"].is_object());
    for terse in ["--minimal", "--output-format=terse", "--output-format terse --terse-version 3"] {
        let line = ran(&ground, &format!("{READ} {terse}")).stdout;
        assert!(line.starts_with("3;fio-3") && line.lines().count() == 1, "{line}");
        assert!(line.split(';').count() >= 121, "{line}");
    }
    let text = ran(&ground, READ).stdout;
    assert_eq!(ran(&ground, &format!("{READ} --output-format=normal")).stdout.lines().next(), text.lines().next());
    let both = ran(&ground, &format!("{READ} --output-format=normal,json,terse")).stdout;
    let lines: Vec<&str> = both.lines().collect();
    let [begins, ends] = ["{", "}"].map(|brace| lines.iter().position(|line| *line == brace).unwrap());
    assert!(lines[0].starts_with("3;") && begins == 1 && ends + 1 < lines.len(), "terse, JSON, text, as fio has them");
    assert_eq!(document(&lines[begins..=ends].join("\n"))["jobs"][0]["read"]["total_ios"], 16);
    // Fathom's own words keep their meaning before the dashes.
    assert_eq!(document(&ran(&ground, "run f --duration 0s --output-format json").stdout)["kind"], "run");
}

#[test]
fn a_clone_is_an_entry_unless_the_job_groups_them() {
    let ground = Ground::new();
    let jobs = "run -- --name=x --filename=f --rw=randread --size=64k --numjobs=4 --output-format=json";
    let apart = document(&ran(&ground, jobs).stdout);
    let entries = apart["jobs"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        assert_eq!((&entry["jobname"], &entry["groupid"], &entry["read"]["total_ios"]), (&"x".into(), &0.into(), &16.into()));
        assert_eq!(entry["read"]["clat_ns"]["N"], 16);
    }
    let together = document(&ran(&ground, &format!("{jobs} --group_reporting")).stdout);
    assert_eq!(together["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(together["jobs"][0]["read"]["total_ios"], 64);
    let lines = ran(&ground, "run -- --name=x --filename=f --rw=randread --size=64k --numjobs=3 --minimal").stdout;
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn jobs_that_run_together_are_one_entry_with_group_reporting_and_a_stonewall_parts_them() {
    let ground = Ground::new();
    ground.write("j.fio", "[global]\nsize=64k\nrw=read\ngroup_reporting\n[a]\n[b]\nnumjobs=2\n[c]\nstonewall\n");
    let found = document(&ran(&ground, "run -- j.fio --output-format=json").stdout);
    let shape = |entry: &Value| (entry["jobname"].clone(), entry["groupid"].clone(), entry["read"]["total_ios"].clone());
    let entries: Vec<_> = found["jobs"].as_array().unwrap().iter().map(shape).collect();
    assert_eq!(entries, [("a".into(), 0.into(), 48.into()), ("c".into(), 1.into(), 16.into())]);
    let names: Vec<&str> = found["disk_util"].as_array().unwrap().iter().filter_map(|disk| disk["name"].as_str()).collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "each device once: {names:?}");
    for disk in found["disk_util"].as_array().unwrap() {
        assert!(disk.as_object().unwrap().iter().all(|(key, value)| key == "name" || value.is_number()), "{disk}");
    }
}

#[test]
fn notices_reach_whoever_reads_a_form_for_machines() {
    const NOTED: &str = "run -- --name=x --filename=f --rw=read --size=64k --gtod_reduce=1";
    const NOTICE: &str = "gtod_reduce=1: Fathom measures every operation always";
    let ground = Ground::new();
    for form in ["json", "json+", "terse"] {
        let ended = ran(&ground, &format!("{NOTED} --output-format={form}"));
        assert!(ended.stderr.contains(&format!("note: argument 5: {NOTICE}")), "{form}: {}", ended.stderr);
        assert!(!ended.stdout.contains("note:"), "{form}");
    }
    for form in ["json", "csv", "csv-summary", "fio-json", "fio-terse"] {
        let ended = ran(&ground, &NOTED.replace("run --", &format!("run --output-format {form} --")));
        assert_eq!(ended.stderr.matches(NOTICE).count(), 1, "{form}: {}", ended.stderr);
    }
    // fio is silent on standard error where --output names a file, and drivers take what stands there for a failure.
    let ended = ran(&ground, &format!("{NOTED} --output-format=json --output=o.json"));
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains(NOTICE));
    let kept = document(&String::from_utf8(ground.read("o.json")).unwrap());
    assert!(kept["fathom"]["notices"][0].as_str().unwrap().contains(NOTICE));
    let ended = ran(&ground, NOTED);
    assert_eq!(ended.stderr, "", "the text has it");
    assert!(ended.stdout.contains("Fathom measures every operation always"));
}

#[test]
fn a_section_names_its_job_and_its_files_as_in_fio() {
    let ground = Ground::new();
    ground.write(
        "j.fio",
        "[global]\nname=common\nsize=64k\nrw=write\n[one]\nnumjobs=2\nnrfiles=2\n[two]\nname=own\nfilename_format=$jobname-$jobnum\n",
    );
    let found = document(&ran(&ground, "run -- j.fio --output-format=json").stdout);
    let names: Vec<&str> = found["jobs"].as_array().unwrap().iter().filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(names, ["one", "one", "own"]);
    for (file, bytes) in [("one.0.0", 32), ("one.0.1", 32), ("one.1.0", 32), ("one.1.1", 32), ("two-0", 64)] {
        assert_eq!(ground.read(file).len(), bytes << 10, "{file}");
    }
}

#[test]
fn files_that_fio_laid_out_are_found() {
    let ground = Ground::new();
    for file in ["j.0.0", "j.1.0"] {
        ground.write(file, vec![1; 64 << 10]);
    }
    ran(&ground, "run --records r.jsonl -- --name=j --rw=randread --size=64k --numjobs=2");
    let record = document(&String::from_utf8(ground.read("r.jsonl")).unwrap());
    assert_eq!(
        (&record["fill"], &record["targets"][0]["files"], &record["targets"][0]["bytes"]),
        (&Value::Null, &2.into(), &(128 << 10).into())
    );
}

#[test]
fn a_driver_that_asks_for_the_version_finds_a_fio_of_three() {
    assert!(ran(&Ground::new(), "run -- --version").stdout.starts_with("fio-3."));
}
