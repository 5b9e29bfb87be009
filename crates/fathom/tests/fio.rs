//! `fathom run --` as scripts use fio: forms of output, entries of jobs, names, notices.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ended, Ground, skipped};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    assert_eq!(
        (
            &json["jobs"][0]["read"]["total_ios"],
            &json["jobs"][0]["jobname"]
        ),
        (&Value::from(16), &Value::from("x"))
    );
    assert!(json["jobs"][0]["read"]["clat_ns"]["bins"].is_null());
    let plus = document(&ran(&ground, &format!("{READ} --output-format=json+")).stdout);
    assert!(plus["jobs"][0]["read"]["clat_ns"]["bins"].is_object());
    for terse in [
        "--minimal",
        "--output-format=terse",
        "--output-format terse --terse-version 3",
    ] {
        let line = ran(&ground, &format!("{READ} {terse}")).stdout;
        assert!(
            line.starts_with("3;fio-3") && line.lines().count() == 1,
            "{line}"
        );
        assert!(line.split(';').count() >= 121, "{line}");
    }
    let text = ran(&ground, READ).stdout;
    assert_eq!(
        ran(&ground, &format!("{READ} --output-format=normal"))
            .stdout
            .lines()
            .next(),
        text.lines().next()
    );
    let both = ran(
        &ground,
        &format!("{READ} --output-format=normal,json,terse"),
    )
    .stdout;
    let lines: Vec<&str> = both.lines().collect();
    let [begins, ends] =
        ["{", "}"].map(|brace| lines.iter().position(|line| *line == brace).unwrap());
    assert!(
        lines[0].starts_with("3;") && begins == 1 && ends + 1 < lines.len(),
        "terse, JSON, text, as fio has them"
    );
    assert_eq!(
        document(&lines[begins..=ends].join("\n"))["jobs"][0]["read"]["total_ios"],
        16
    );
    // Fathom's own words keep their meaning before the dashes.
    assert_eq!(
        document(&ran(&ground, "run f --duration 0s --output-format json").stdout)["kind"],
        "run"
    );
}

#[test]
fn a_clone_is_an_entry_unless_the_job_groups_them() {
    let ground = Ground::new();
    let jobs =
        "run -- --name=x --filename=f --rw=randread --size=64k --numjobs=4 --output-format=json";
    let apart = document(&ran(&ground, jobs).stdout);
    let entries = apart["jobs"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        assert_eq!(
            (
                &entry["jobname"],
                &entry["groupid"],
                &entry["read"]["total_ios"]
            ),
            (&"x".into(), &0.into(), &16.into())
        );
        assert_eq!(entry["read"]["clat_ns"]["N"], 16);
    }
    let together = document(&ran(&ground, &format!("{jobs} --group_reporting")).stdout);
    assert_eq!(together["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(together["jobs"][0]["read"]["total_ios"], 64);
    let lines = ran(
        &ground,
        "run -- --name=x --filename=f --rw=randread --size=64k --numjobs=3 --minimal",
    )
    .stdout;
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn jobs_that_run_together_are_one_entry_with_group_reporting_and_a_stonewall_parts_them() {
    let ground = Ground::new();
    ground.write(
        "j.fio",
        "[global]\nsize=64k\nrw=read\ngroup_reporting\n[a]\n[b]\nnumjobs=2\n[c]\nstonewall\n",
    );
    let found = document(&ran(&ground, "run -- j.fio --output-format=json").stdout);
    let shape = |entry: &Value| {
        (
            entry["jobname"].clone(),
            entry["groupid"].clone(),
            entry["read"]["total_ios"].clone(),
        )
    };
    let entries: Vec<_> = found["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(shape)
        .collect();
    assert_eq!(
        entries,
        [
            ("a".into(), 0.into(), 48.into()),
            ("c".into(), 1.into(), 16.into())
        ]
    );
    let names: Vec<&str> = found["disk_util"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|disk| disk["name"].as_str())
        .collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "each device once: {names:?}");
    for disk in found["disk_util"].as_array().unwrap() {
        assert!(
            disk.as_object()
                .unwrap()
                .iter()
                .all(|(key, value)| key == "name" || value.is_number()),
            "{disk}"
        );
    }
}

#[test]
fn notices_reach_whoever_reads_a_form_for_machines() {
    const NOTED: &str = "run -- --name=x --filename=f --rw=read --size=64k --gtod_reduce=1";
    const NOTICE: &str = "gtod_reduce=1: Fathom measures every operation always";
    let ground = Ground::new();
    for form in ["json", "json+", "terse"] {
        let ended = ran(&ground, &format!("{NOTED} --output-format={form}"));
        assert!(
            ended
                .stderr
                .contains(&format!("note: argument 5: {NOTICE}")),
            "{form}: {}",
            ended.stderr
        );
        assert!(!ended.stdout.contains("note:"), "{form}");
    }
    for form in ["json", "csv", "csv-summary", "fio-json", "fio-terse"] {
        let ended = ran(
            &ground,
            &NOTED.replace("run --", &format!("run --output-format {form} --")),
        );
        assert_eq!(
            ended.stderr.matches(NOTICE).count(),
            1,
            "{form}: {}",
            ended.stderr
        );
    }
    // fio is silent on standard error where --output names a file, and drivers take what stands
    // there for a failure.
    let ended = ran(
        &ground,
        &format!("{NOTED} --output-format=json --output=o.json"),
    );
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains(NOTICE));
    let kept = document(&String::from_utf8(ground.read("o.json")).unwrap());
    assert!(
        kept["fathom"]["notices"][0]
            .as_str()
            .unwrap()
            .contains(NOTICE)
    );
    let ended = ran(&ground, NOTED);
    assert_eq!(ended.stderr, "", "the text has it");
    assert!(
        ended
            .stdout
            .contains("Fathom measures every operation always")
    );
}

#[test]
fn a_section_names_its_job_and_its_files_as_in_fio() {
    let ground = Ground::new();
    ground.write(
        "j.fio",
        "[global]\nname=common\nsize=64k\nrw=write\n[one]\nnumjobs=2\nnrfiles=2\n[two]\nname=own\nfilename_format=$jobname-$jobnum\n",
    );
    let found = document(&ran(&ground, "run -- j.fio --output-format=json").stdout);
    let names: Vec<&str> = found["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|job| job["jobname"].as_str())
        .collect();
    assert_eq!(names, ["one", "one", "own"]);
    for (file, bytes) in [
        ("one.0.0", 32),
        ("one.0.1", 32),
        ("one.1.0", 32),
        ("one.1.1", 32),
        ("two-0", 64),
    ] {
        assert_eq!(ground.read(file).len(), bytes << 10, "{file}");
    }
}

#[test]
fn files_that_fio_laid_out_are_found() {
    let ground = Ground::new();
    for file in ["j.0.0", "j.1.0"] {
        ground.write(file, vec![1; 64 << 10]);
    }
    ran(
        &ground,
        "run --records r.jsonl -- --name=j --rw=randread --size=64k --numjobs=2",
    );
    let record = document(&String::from_utf8(ground.read("r.jsonl")).unwrap());
    assert_eq!(
        (
            &record["fill"],
            &record["targets"][0]["files"],
            &record["targets"][0]["bytes"]
        ),
        (&Value::Null, &2.into(), &(128 << 10).into())
    );
}

#[test]
fn a_driver_that_asks_for_the_version_finds_a_fio_of_three() {
    assert!(
        ran(&Ground::new(), "run -- --version")
            .stdout
            .starts_with("fio-3.")
    );
}

#[test]
fn logs_over_time_are_files_of_each_clone() {
    let ground = Ground::new();
    let line = "run -- --name=x --filename=f --rw=randrw --size=1m --numjobs=2 --runtime=300ms --time_based --rate_iops=400 --group_reporting \
                --write_bw_log=l --write_iops_log=l --write_lat_log=l --log_avg_msec=100 --output-format=json";
    ran(&ground, line);
    for clone in 1..=2 {
        for log in ["bw", "iops", "lat", "clat"] {
            let text = String::from_utf8(ground.read(&format!("l_{log}.{clone}.log"))).unwrap();
            let rows: Vec<Vec<u64>> = text
                .lines()
                .map(|row| {
                    row.split(", ")
                        .map(|field| field.parse().unwrap())
                        .collect()
                })
                .collect();
            assert!(
                rows.len() >= 4 && rows.iter().all(|row| row.len() == 5 && row[2] <= 1),
                "{text}"
            );
        }
    }
    ran(
        &ground,
        "run -- --name=x --filename=f --rw=read --size=64k --numjobs=2 --write_bw_log=m --per_job_logs=0",
    );
    assert!(ground.exists("m_bw.log") && !ground.exists("m_bw.1.log"));
}

#[test]
fn a_log_in_the_place_of_something_else_is_refused_before_the_job_runs() {
    let ground = Ground::new();
    ground.write("l_clat.2.log", "somebody's notes");
    let line = "run -- --name=x --filename=f --rw=write --size=64k --numjobs=2";
    for log in [
        "--write_lat_log=l",
        "--write_bw_log=f --filename=f_bw.1.log",
    ] {
        let line = format!("{line} {log}");
        let told = ground.refused(&line.split_whitespace().collect::<Vec<_>>());
        assert!(told.starts_with("cannot write "), "{told}");
    }
    assert!(!ground.exists("f") && !ground.exists("l_lat.1.log"));
    assert_eq!(ground.read("l_clat.2.log"), b"somebody's notes");
}

#[test]
fn a_new_file_without_a_size_is_refused_as_in_fio() {
    let ground = Ground::new();
    for line in [
        "run -- --name=x --filename=mistyped --rw=randread",
        "run -- --name=x --rw=write --numjobs=2",
    ] {
        let told = ground.refused(&line.split_whitespace().collect::<Vec<_>>());
        assert!(
            told.ends_with("does not exist, and nothing says how large it shall be; write size="),
            "{told}"
        );
    }
}

/// Coverage of a run over a file of 256 blocks.
fn coverage(line: &str) -> (u64, u64) {
    let ground = Ground::new();
    ran(
        &ground,
        &format!(
            "run --heatmap --records r.jsonl -- --name=x --filename=f --size=1m --bs=4k {line}"
        ),
    );
    let record = ground.record("r.jsonl");
    let coverage = record.coverage.unwrap();
    (coverage.touched, coverage.uses)
}

#[test]
fn a_pass_takes_every_block_once_whatever_the_job() {
    for (line, uses) in [
        ("--rw=randread --numjobs=4", 4 * 256),
        ("--rw=randrw --rwmixread=75", 256),
        ("--rw=randwrite --loops=3", 3 * 256),
        ("--rw=randread --rate_iops=100k --number_ios=256", 256),
        (
            "--rw=randread --ioengine=libaio --iodepth=16 --numjobs=2",
            2 * 256,
        ),
    ] {
        assert_eq!(coverage(line), (256, uses), "{line}");
    }
    assert!(
        coverage("--rw=randread --norandommap").0 < 250,
        "drawn anew, some blocks are missed"
    );
}

#[test]
fn regions_of_clones_begin_at_even_distances() {
    let ground = Ground::new();
    ran(
        &ground,
        "run --heatmap --heatmap-buckets 16 --records r.jsonl -- --name=x --filename=f --size=32k --rw=read --numjobs=3 --offset_increment=16k",
    );
    let record = ground.record("r.jsonl");
    assert_eq!(record.targets[0].bytes, 64 << 10);
    assert_eq!(
        record.coverage.unwrap().buckets,
        [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    );
}

/// fio-plot's driver, where `.ci/run` or the system has put it.
fn bench_fio() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()?
        .join("tools/fio-plot/bin/bench-fio");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(own)
        .chain(std::env::split_paths(&paths).map(|dir| dir.join("bench-fio")))
        .find(|path| path.is_file())
}

#[test]
fn bench_fio_drives_it_as_it_drives_fio() {
    let Some(driver) = bench_fio() else {
        return skipped("bench-fio (pip install fio-plot==1.1.21)");
    };
    let ground = Ground::new();
    for dir in ["bin", "target"] {
        std::fs::create_dir(ground.path(dir)).unwrap();
    }
    let shim = ground.path("bin/fio");
    ground.write(
        "bin/fio",
        format!(
            "#!/bin/sh\nexec {} run -- \"$@\"\n",
            env!("CARGO_BIN_EXE_fathom")
        ),
    );
    std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
    // The driver names its job file in the system's directory after the target.
    let target = ground
        .path("target")
        .with_file_name(format!("target-{}", std::process::id()));
    std::fs::rename(ground.path("target"), &target).unwrap();
    let own = std::env::join_paths(
        [ground.path("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let options = "--type directory --size 1M --mode randread randrw --rwmixread 75 --iodepth 4 --numjobs 1 2 --runtime 1 --loginterval 100 \
                   --direct 0 --destructive --output out --target";
    let output = Command::new(driver)
        .args(options.split_whitespace())
        .arg(&target)
        .current_dir(ground.path("."))
        .env("PATH", own)
        .output()
        .unwrap();
    let ended = Ended::of(output);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(
        !ended.stdout.contains("An error occurred"),
        "{}",
        ended.stdout
    );
    let name = target.file_name().unwrap().to_string_lossy().into_owned();
    let _left_by_the_driver = std::fs::remove_file(format!("/tmp/{name}-tmpjobfile.fio"));
    for (mode, clones) in [
        ("4k/randread", 1),
        ("4k/randread", 2),
        ("randrw75/4k/randrw", 2),
    ] {
        let result = document(
            &String::from_utf8(ground.read(&format!("out/{name}/{mode}-4-{clones}.json"))).unwrap(),
        );
        assert_eq!(
            result["jobs"].as_array().unwrap().len(),
            clones,
            "an entry a clone"
        );
        assert!(result["jobs"][0]["read"]["total_ios"].as_u64().unwrap() > 0);
        assert!(
            ground.exists(&format!(
                "out/{name}/{mode}-iodepth-4-numjobs-{clones}_bw.{clones}.log"
            )),
            "{mode}"
        );
    }
}
