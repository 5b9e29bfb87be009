//! What a refusal advises works: each advice is provoked and then followed to the letter, beside
//! every source of a workload.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::Ground;

/// A place with what the commands speak of: a foreign file, a second one, a sparse foreign one, a
/// file of Fathom's own, jobs and workloads.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.write("foreign", vec![7; 64 << 10]);
    ground.write("second", vec![7; 64 << 10]);
    ground.write("short", vec![7; 8 << 10]);
    std::fs::File::create(ground.path("sparse"))
        .unwrap()
        .set_len(64 << 10)
        .unwrap();
    ground.write(
        "job.fio",
        "[write]\nfilename=foreign\nrw=randwrite\nsize=64k\n",
    );
    ground.write(
        "both.fio",
        "[global]\nrw=randwrite\nsize=64k\n[a]\nfilename=foreign\n[b]\nfilename=second\n",
    );
    ground.write(
        "write.toml",
        "target = \"foreign\"\nwrite-percent = 100\nfile-size = \"64k\"\nduration = \"0s\"\n",
    );
    ground
}

/// A command that is refused, a part of what it is told, and the command as the advice makes it.
const ADVICE: &[(&str, &str, &str)] = &[
    // Permission, for every source of a workload, on both sides of the `--`.
    (
        "run foreign --write-percent 100 --total-bytes 4k",
        "add --allow-destroy foreign",
        "run foreign --write-percent 100 --total-bytes 4k --allow-destroy foreign",
    ),
    (
        "run -c write.toml",
        "add --allow-destroy foreign",
        "run -c write.toml --allow-destroy foreign",
    ),
    (
        "run --fio job.fio",
        "add --allow-destroy foreign",
        "run --fio job.fio --allow-destroy foreign",
    ),
    (
        "run -- job.fio",
        "add --allow-destroy foreign",
        "run -- job.fio --allow-destroy foreign",
    ),
    (
        "run -- --name=x --filename=foreign --rw=write --size=64k",
        "add --allow-destroy foreign",
        "run -- --name=x --filename=foreign --rw=write --size=64k --allow-destroy foreign",
    ),
    (
        "run -- --name=x --filename=foreign --rw=write --size=64k",
        "add --allow-destroy foreign",
        "run --allow-destroy foreign -- --name=x --filename=foreign --rw=write --size=64k",
    ),
    // Two targets want two permissions.
    (
        "run --fio both.fio --allow-destroy foreign",
        "add --allow-destroy second",
        "run --fio both.fio --allow-destroy foreign --allow-destroy second",
    ),
    (
        "run foreign second --write-percent 100 --total-bytes 4k --allow-destroy foreign",
        "add --allow-destroy second",
        "run foreign second --write-percent 100 --total-bytes 4k --allow-destroy foreign --allow-destroy second",
    ),
    // Reads of holes that are not Fathom's to fill.
    (
        "run sparse --duration 0s",
        "fill it with --allow-destroy sparse",
        "run sparse --duration 0s --allow-destroy sparse",
    ),
    (
        "run sparse --duration 0s",
        "measure the holes with --no-refill",
        "run sparse --duration 0s --no-refill",
    ),
    (
        "run short --file-size 64k --duration 0s",
        "give --file-size within its 8192 bytes",
        "run short --file-size 8192 --duration 0s",
    ),
    (
        "run -- --name=x --filename=sparse --rw=read",
        "measure the holes with --no-refill",
        "run -- --name=x --filename=sparse --rw=read --no-refill",
    ),
    (
        "run -- --name=x --filename=sparse --rw=read",
        "fill it with --allow-destroy sparse",
        "run -- --name=x --filename=sparse --rw=read --allow-destroy sparse",
    ),
    (
        "run new --no-refill --file-size 4k",
        "drop --no-refill",
        "run new --file-size 4k --duration 0s",
    ),
    // Options that do nothing alone.
    (
        "run --engine null --total-bytes 4k --scatter",
        "add --random",
        "run --engine null --total-bytes 4k --random --distribution zipf --scatter",
    ),
    (
        "run --engine null --total-bytes 4k --random --zipf-theta 0.5",
        "add --distribution zipf",
        "run --engine null --total-bytes 4k --random --zipf-theta 0.5 --distribution zipf",
    ),
    (
        "run --engine null --total-bytes 4k --arrival poisson",
        "add --rate-iops or --rate-bytes",
        "run --engine null --total-bytes 4k --arrival poisson --rate-iops 1000",
    ),
    (
        "run --engine null --total-bytes 4k --fsync 2",
        "add --write-percent",
        "run --engine null --total-bytes 4k --fsync 2 --write-percent 100",
    ),
    (
        "run --engine null --duration 0s --block-size 4k/50:8k/50",
        "give a single --block-size or an end by --duration",
        "run --engine null --duration 100ms --block-size 4k/50:8k/50",
    ),
    (
        "run f --file-size 64k --engine sync --sqpoll",
        "add --engine io_uring",
        "run f --file-size 64k --duration 0s --engine io_uring --sqpoll",
    ),
    (
        "run f --file-size 64k --engine sync --madvise rand",
        "add --engine mmap",
        "run f --file-size 64k --duration 0s --engine mmap --madvise rand",
    ),
    (
        "run f --file-size 64k --engine sync --queue-depth 4",
        "use --engine io_uring or libaio, or more --threads",
        "run f --file-size 64k --duration 0s --engine libaio --queue-depth 4",
    ),
    (
        "run --engine null --max-errors 3 --total-bytes 4k",
        "needs --continue-on-error",
        "run --engine null --max-errors 3 --total-bytes 4k --continue-on-error",
    ),
    (
        "run f --file-size 8k --threads 4 --duration 0s",
        "lower --threads or raise --file-size",
        "run f --file-size 16k --threads 4 --duration 0s",
    ),
    // Of the front end for fio.
    (
        "run -- --name=x --parse-only",
        "take fathom run --dry-run",
        "run --dry-run -- --name=x --size=4k",
    ),
    (
        "run foreign -- --name=x --rw=read --size=4k",
        "write filename=foreign into the job",
        "run -- --name=x --rw=read --size=4k --filename=foreign",
    ),
];

#[test]
fn every_advice_of_a_refusal_can_be_followed() {
    let words = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    for (refused, advice, followed) in ADVICE {
        let ground = ground();
        let told = ground.refused(&words(refused));
        assert!(told.contains(advice), "{refused}: {told}");
        let ended = ground.fathom(&words(followed));
        assert_eq!(ended.code, Some(0), "{followed}: {}", ended.stderr);
    }
}

#[test]
fn options_of_the_call_go_with_every_source_of_a_workload() {
    for source in [
        "run f --file-size 64k --duration 0s --write-percent 100",
        "run -c f.toml",
        "run --fio f.fio",
        "run -- f.fio",
        "run -- --name=a --filename=f --rw=write --size=64k",
    ] {
        let ground = Ground::new();
        ground.write(
            "f.toml",
            "target = \"f\"\nwrite-percent = 100\nfile-size = \"64k\"\nduration = \"0s\"\n",
        );
        ground.write("f.fio", "[a]\nfilename=f\nrw=write\nsize=64k\n");
        let call = "--seed 9 --affinity best-effort --records r.jsonl --heatmap --json-output j.json --hdr-log h.log --no-live --series-interval 100ms";
        let args: Vec<&str> = source
            .split_whitespace()
            .chain(call.split_whitespace())
            .collect();
        let ended = ground.fathom(&args);
        assert_eq!(ended.code, Some(0), "{source}: {}", ended.stderr);
        let record: serde_json::Value = serde_json::from_slice(&ground.read("r.jsonl")).unwrap();
        for (key, value) in [
            ("seed", "9"),
            ("affinity", "best-effort"),
            ("heatmap", "true"),
        ] {
            assert_eq!(record["asked"][key], value, "{source}");
        }
        assert!(
            ground.exists("j.json") && ground.exists("h.log"),
            "{source}"
        );
    }
}

#[test]
fn a_seed_of_the_call_keeps_jobs_of_a_stage_apart_and_what_they_wrote_readable() {
    let ground = Ground::new();
    ground.write(
        "two.fio",
        "[global]\nsize=64k\nrw=randwrite\nverify=crc32c\n[a]\n[b]\n",
    );
    let ended = ground.fathom(&[
        "run",
        "--fio",
        "two.fio",
        "--seed",
        "40",
        "--records",
        "r.jsonl",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = String::from_utf8(ground.read("r.jsonl")).unwrap();
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let seeds: Vec<(String, String)> = records
        .map(|record| {
            (
                record["name"].as_str().unwrap().to_owned(),
                record["asked"]["seed"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let pair = |name: &str, seed: &str| (name.to_owned(), seed.to_owned());
    assert_eq!(
        seeds,
        [
            pair("a", "40"),
            pair("b", "41"),
            pair("a/verify", "40"),
            pair("b/verify", "41")
        ]
    );
}

#[test]
fn what_describes_the_workload_is_refused_beside_a_fio_job_by_its_name() {
    let ground = ground();
    let told = ground.refused(&["run", "--fio", "job.fio", "--block-size", "8k"]);
    assert_eq!(
        told,
        "--block-size describes the workload, which a fio job does in fio's own options; put it into the job, or leave the job out"
    );
    let told = ground.refused(&["run", "--fio", "job.fio", "-c", "write.toml"]);
    assert_eq!(
        told,
        "--config and a fio job both describe the workload; give one of them"
    );
}
