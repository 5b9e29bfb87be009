//! Real output of each tool, read whole; the figures expected here were read off the files.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use import::{Format, import, import_as, recognise};
use record::{LatencyRange, Record, Status, Summary, parse_records};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name),
    )
    .unwrap()
}

fn records(name: &str) -> Vec<Record> {
    import(&sample(name), name).unwrap()
}

fn one(name: &str) -> Record {
    let mut all = records(name);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn all_samples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

fn percentile(summary: &Summary, key: &str) -> f64 {
    summary.percentiles_ns[key]
}

#[test]
fn every_sample_is_told_by_its_content() {
    for (name, format) in [
        ("fio-3.42.json", Format::Fio),
        ("fio-3.42-notices.txt", Format::Fio),
        ("fio-3.42-client.json", Format::Fio),
        ("fio-2.19.json", Format::Fio),
        ("fio-3.33-terse3.txt", Format::FioTerse),
        ("k6-1.3-summary.json", Format::K6Summary),
        ("k6-1.3-handle.json", Format::K6Summary),
        ("k6-1.3-points.json", Format::K6Points),
        ("warp-1-analyze.json", Format::WarpAnalysis),
        ("warp-1-benchdata.json", Format::WarpAnalysis),
        ("warp-1.csv", Format::WarpOperations),
        ("iopulse.json", Format::IoPulse),
        ("hyperfine-1.20.json", Format::Hyperfine),
        ("elbencho-3.1.json", Format::ElbenchoJson),
        ("elbencho-3.1.csv", Format::ElbenchoCsv),
    ] {
        assert_eq!(recognise(&sample(name), name).unwrap(), format, "{name}");
    }
}

#[test]
fn every_record_of_every_sample_survives_the_store() {
    for path in all_samples() {
        let bytes = std::fs::read(&path).unwrap();
        let records = import(&bytes, "x").unwrap();
        assert_eq!(
            records,
            import(&bytes, "x").unwrap(),
            "the same bytes give the same records"
        );
        let mut ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), records.len());
        let text: String = records
            .iter()
            .map(|record| serde_json::to_string(record).unwrap() + "\n")
            .collect();
        let read = parse_records(text.as_bytes());
        assert!(
            read.damaged.is_empty(),
            "{}: {:?}",
            path.display(),
            read.damaged
        );
        assert_eq!(read.records.len(), records.len());
        for record in records {
            assert_eq!(record.kind, "import");
            assert!(
                record
                    .source
                    .is_some_and(|source| source.file.as_deref() == Some("x"))
            );
        }
    }
}

#[test]
fn fio_json_has_moments_and_no_histogram() {
    let record = one("fio-3.42.json");
    assert!(record.operations.is_empty(), "no bins, no operations");
    let read = &record.summaries["read"];
    assert_eq!(
        (read.count, read.bytes, read.samples),
        (Some(2000), Some(8_192_000), Some(2000))
    );
    assert_eq!(
        (read.per_second, read.bytes_per_second),
        (Some(2_000_000.0), Some(8_192_000_000.0))
    );
    assert_eq!(
        (read.min_ns, read.max_ns, read.mean_ns),
        (Some(193.0), Some(8453.0), Some(209.333))
    );
    assert_eq!(
        read.percentiles_ns, read.parts["clat"].percentiles_ns,
        "fio has percentiles of the completion alone here"
    );
    assert!(
        record
            .notices
            .iter()
            .any(|notice| notice.starts_with("percentiles are of fio's completion latency"))
    );
    assert_eq!(
        percentile(&record.summaries["read"].parts["clat"], "99.9"),
        378.0
    );
    assert_eq!(record.summaries["read"].parts["slat"].mean_ns, Some(36.624));
    assert_eq!(
        record.source.as_ref().unwrap().version.as_deref(),
        Some("3.42-135-gf5344")
    );
    assert_eq!(record.started_at, "2026-11-20T12:21:44.714Z");
    assert_eq!(
        (
            record.effective["block-size"].as_str(),
            record.effective["queue-depth"].as_str()
        ),
        ("4k", "8")
    );
    assert!(
        !record.summaries.contains_key("write"),
        "fio prints zeros of directions that it did not use"
    );
}

#[test]
fn fio_bins_stand_at_their_values_and_clones_are_one_record() {
    let records = records("fio-3.42-plus.json");
    assert_eq!(records.len(), 2, "two clones and one job");
    let read = records[0].operations.kind("read").unwrap();
    assert_eq!(
        (read.count, read.bytes, read.smallest_bytes),
        (2000, 8_192_000, Some(4096))
    );
    assert_eq!(read.latency.count(), 2000);
    assert_eq!(records[0].effective["threads"], "2");
    assert!(
        records[0]
            .notices
            .iter()
            .any(|notice| notice.contains("2 clones"))
    );
    let mixed = &records[1];
    assert_eq!(
        (
            mixed.operations.kind("read").unwrap().count,
            mixed.operations.kind("write").unwrap().count
        ),
        (688, 312)
    );
    // With lat_percentiles the whole latency is taken: the bins of clat end at 119.
    assert_eq!(
        mixed.operations.kind("read").unwrap().latency.max(),
        Some(235)
    );
    assert_eq!(mixed.effective["read-percent"], "70");
    assert!(
        !mixed
            .notices
            .iter()
            .any(|notice| notice.contains("at the same time")),
        "{:?}",
        mixed.notices
    );
}

#[test]
fn fio_syncs_are_named_after_the_call() {
    let record = one("fio-3.42-sync.json");
    let sync = record.operations.kind("fdatasync").unwrap();
    assert_eq!((sync.count, sync.bytes), (63, 0));
    assert_eq!(record.summaries["fdatasync"].max_ns, Some(10_075_827.0));
    assert!(
        record.generator().devices.is_empty(),
        "fio polls devices too rarely for a run of 204 ms"
    );
    assert_eq!(
        record.summaries["device vda"].figures["write_sectors"],
        2416.0
    );
}

#[test]
fn fio_text_around_the_json_is_reported() {
    let record = one("fio-3.42-notices.txt");
    assert!(
        record
            .notices
            .iter()
            .any(|notice| notice.starts_with("fio printed 30 lines besides its JSON")),
        "{:?}",
        record.notices
    );
    assert_eq!(record.summaries["read"].count, Some(382));
    assert_eq!(record.effective["block-size"], "4k-16k");
    assert_eq!(record.effective["threads"], "3");
}

#[test]
fn fio_clients_are_records_and_their_sum_is_not() {
    let records = records("fio-3.42-client.json");
    assert_eq!(
        records
            .iter()
            .map(|record| record.name.as_str())
            .collect::<Vec<_>>(),
        ["one", "two"]
    );
    assert_eq!(
        records[0]
            .generator()
            .environment
            .system
            .hostname
            .as_deref(),
        Some("127.0.0.1")
    );
    assert_eq!(
        records[1].effective["block-size"], "8k",
        "of the global options"
    );
    assert_eq!(records[1].summaries["write"].count, Some(300));
    let several = crate::records("fio-3.42-clients.json");
    assert_eq!(
        several
            .iter()
            .map(|record| record.name.as_str())
            .collect::<Vec<_>>(),
        ["one", "two", "one", "two"]
    );
    assert!(
        several
            .iter()
            .all(|record| record.effective["block-size"] == "8k"),
        "each client has global options of its own"
    );
}

#[test]
fn fio_reports_of_one_run_are_one_and_of_two_runs_are_two() {
    let one = String::from_utf8(sample("fio-3.42.json")).unwrap();
    let twice = import(format!("{one}{one}").as_bytes(), "x").unwrap();
    assert_eq!(twice.len(), 1);
    assert!(
        twice[0]
            .notices
            .iter()
            .any(|notice| notice.starts_with("1 of 2 reports")),
        "{:?}",
        twice[0].notices
    );
    let other = one.replacen("\"job_start\" : 1", "\"job_start\" : 2", 1);
    assert_eq!(
        import(format!("{one}{other}").as_bytes(), "x")
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn fio_before_2_21_is_in_microseconds_and_kib() {
    let record = one("fio-2.19.json");
    // Its report is of 12:24:44.642, and the job had run for a millisecond.
    assert_eq!(record.started_at, "2026-11-20T12:24:44.641Z");
    let read = &record.summaries["read"];
    assert_eq!((read.count, read.bytes), (Some(2000), Some(8_192_000)));
    assert_eq!(read.bytes_per_second, Some(8_192_000_000.0));
    let completion = &record.summaries["read"].parts["clat"];
    assert_eq!(
        (completion.max_ns, completion.min_ns),
        (Some(12_000.0), None)
    );
    assert_eq!(
        (
            percentile(completion, "99.99"),
            percentile(completion, "90")
        ),
        (12_000.0, 1000.0)
    );
    assert!(
        !completion.percentiles_ns.contains_key("50")
            && !completion.percentiles_ns.contains_key("0"),
        "0 µs is below a microsecond"
    );
    assert_eq!(completion.samples, None, "that version does not say");
}

#[test]
fn fio_bins_by_number_are_read_too() {
    let record = one("fio-2.19-plus.json");
    let read = record.operations.kind("read").unwrap();
    assert_eq!(
        (read.count, read.latency.min(), read.latency.max()),
        (256, Some(40_000), Some(6_432_000))
    );
    assert_eq!(
        percentile(&record.summaries["read"].parts["clat"], "99.9"),
        6_432_000.0
    );
}

#[test]
fn k6_summaries_agree_in_both_shapes() {
    for name in ["k6-1.3-summary.json", "k6-1.3-handle.json"] {
        let record = one(name);
        let request = &record.summaries["request"];
        assert_eq!(
            (request.count, request.errors, request.samples),
            (Some(14), Some(0), Some(14)),
            "{name}"
        );
        assert_eq!(record.summaries["data_sent"].bytes, Some(2569));
        assert!(
            record
                .notices
                .iter()
                .any(|notice| notice == "threshold crossed: http_req_duration p(99)<0.001"),
            "{:?}",
            record.notices
        );
        assert_eq!(
            record
                .notices
                .iter()
                .filter(|notice| notice.starts_with("threshold"))
                .count(),
            1
        );
        assert_eq!(
            record.summaries["object_bytes"].figures["avg"], 200.0,
            "not a time"
        );
        assert_eq!(
            record.summaries["checks"].per_second, None,
            "the rate of checks is a share"
        );
    }
    let summary = one("k6-1.3-summary.json");
    assert_eq!(
        summary.elapsed_ns, 262_219_611,
        "14 requests at 53.39036217241585 a second"
    );
    assert_eq!(
        summary.summaries["http_req_duration"].max_ns,
        Some(45_710_765.0)
    );
    assert_eq!(
        summary.summaries["upload_latency"].figures["max"], 45.710765,
        "the export does not say that it is a time"
    );
    let handle = one("k6-1.3-handle.json");
    assert_eq!(handle.elapsed_ns, 265_163_916);
    assert_eq!(
        handle.summaries["upload_latency"].max_ns,
        Some(45_708_806.0)
    );
    assert_eq!(
        percentile(&handle.summaries["upload_latency"], "50"),
        43.295855 * 1e6
    );
}

#[test]
fn k6_points_are_exact() {
    let record = one("k6-1.3-points.json");
    let put = record.operations.kind("put").unwrap();
    assert_eq!((put.count, put.errors, put.latency.count()), (7, 0, 7));
    assert_eq!(put.latency.max(), Some(45_708_806));
    // The same run as the other sample.
    let handle = one("k6-1.3-handle.json");
    let duration = record.summaries["http_req_duration"]
        .latency
        .as_ref()
        .unwrap();
    assert_eq!((duration.count(), duration.max()), (14, Some(53_862_369)));
    assert_eq!(
        handle.summaries["http_req_duration"].max_ns,
        Some(53_862_369.0)
    );
    assert_eq!(record.summaries["http_reqs"].count, Some(14));
    assert_eq!(
        record.summaries["data_received"].bytes,
        handle.summaries["data_received"].bytes
    );
    assert!(
        record
            .summaries
            .contains_key("http_req_duration{name:download}")
    );
    assert_eq!(record.started_at, "2026-11-20T12:21:51.006077361Z");
}

#[test]
fn warp_operations_are_exact() {
    let record = one("warp-1.csv");
    let get = record.operations.kind("get").unwrap();
    assert_eq!(
        (get.count, get.bytes, get.errors, get.smallest_bytes),
        (91, 93_184, 0, Some(1024))
    );
    assert_eq!(record.operations.count(), 200);
    assert_eq!(record.operations.kind("stat").unwrap().bytes, 0);
    assert_eq!(
        record.summaries["get first byte"]
            .latency
            .as_ref()
            .unwrap()
            .count(),
        91
    );
    assert!(record.asked["command"].starts_with("warp mixed --host"));
    assert_eq!(
        (
            record.effective["users"].as_str(),
            record.effective["hosts"].as_str()
        ),
        ("2", "1")
    );
}

#[test]
fn warp_throughput_is_of_its_own_window() {
    let record = one("warp-1-analyze.json");
    let get = &record.summaries["get"];
    assert_eq!(
        (get.count, get.errors, get.bytes),
        (Some(782), Some(0), Some(800_768))
    );
    assert_eq!(get.per_second, Some(152.0), "304 in 2 s");
    assert_eq!(get.max_ns, Some(47_001_026.0));
    assert_eq!(percentile(get, "99"), 27.074436 * 1e6);
    assert!(record.notices.iter().any(|notice| notice
        == "get: warp's throughput is of 2000 ms out of 5001 ms, its counts are of all"));
    let sizes = one("warp-1-benchdata.json");
    assert_eq!(sizes.summaries["get"].mean_ns, Some(4_953_916.0));
    assert!(
        sizes.summaries["get"].percentiles_ns.is_empty(),
        "objects of several sizes have percentiles of throughput only"
    );
}

#[test]
fn iopulse_leaves_out_what_is_rounded_to_nothing() {
    let record = one("iopulse.json");
    let read = &record.summaries["read"];
    assert_eq!(
        (read.count, read.bytes, read.bytes_per_second),
        (Some(693_277), Some(2_839_662_592), Some(1_417_704_738.0))
    );
    assert_eq!(
        (read.min_ns, read.mean_ns, read.max_ns),
        (None, Some(1000.0), Some(36_094_000.0))
    );
    assert_eq!(read.percentiles_ns.keys().collect::<Vec<_>>(), ["99.9"]);
    assert_eq!(read.as_written["p99"], "0µs");
    assert_eq!(record.elapsed_ns, 2_003_996_000);
    assert_eq!(record.started_at, "", "its calendar has months of 30 days");
    assert_eq!(record.summaries["open"].count, Some(2));
    assert!(!record.summaries.contains_key("fsync"));
}

#[test]
fn every_start_of_hyperfine_is_a_record_and_the_command_its_target() {
    let records = records("hyperfine-1.20.json");
    assert_eq!(records.len(), 10);
    let commands: Vec<&str> = records
        .iter()
        .map(|record| record.targets[0].path.as_str())
        .collect();
    assert_eq!(
        (commands[0], commands[4], commands[5], commands[9]),
        ("true", "true", "sleep 0.01", "sleep 0.01")
    );
    let run = records[1].operations.kind("run").unwrap();
    assert_eq!(
        (run.count, run.latency.max(), records[1].elapsed_ns),
        (1, Some(880_636), 880_636)
    );
    let repeats: Vec<_> = records
        .iter()
        .map(|record| record.repeat.clone().unwrap())
        .collect();
    assert_eq!(
        repeats
            .iter()
            .map(|repeat| repeat.number)
            .collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    );
    assert!(repeats[0].of == repeats[4].of && repeats[4].of != repeats[5].of);
    assert_eq!(
        records[0].summaries["all starts"].figures["median ns"],
        892_352.0
    );
    assert_eq!(
        crate::records("hyperfine-1.20-parameters.json")
            .last()
            .unwrap()
            .asked["parameter n"],
        "2"
    );
    let failing = crate::records("hyperfine-1.20-failing.json");
    assert_eq!(
        (
            failing.len(),
            failing[0].operations.count(),
            failing[0].operations.errors()
        ),
        (4, 0, 1)
    );
    assert_eq!(
        (
            failing[3].errors[0].error.as_str(),
            failing[3].outcome.status
        ),
        ("exit code 1", Status::Failed)
    );
}

#[test]
fn fio_terse_is_read_in_versions_3_to_5() {
    for (name, percentile) in [
        ("fio-3.33-terse3.txt", 1_318_000.0),
        ("fio-3.33-terse4.txt", 79_000.0),
        ("fio-3.33-terse5.txt", 1_695_000.0),
    ] {
        let record = one(name);
        let read = &record.summaries["read"];
        assert_eq!(
            read.parts["clat"].percentiles_ns["95"], percentile,
            "{name}"
        );
        let product = record.elapsed_ns as f64 / 1e9 * read.bytes_per_second.unwrap();
        assert!(
            (product / read.bytes.unwrap() as f64 - 1.0).abs() < 1e-3,
            "{name}: {product}"
        );
        assert!(
            !record.summaries.contains_key("trim"),
            "{name}: nothing was trimmed"
        );
        assert!(
            record.summaries["device vda"].figures["read_ios"] > 0.0,
            "{name}"
        );
    }
    let record = one("fio-3.33-terse3.txt");
    let (read, write) = (&record.summaries["read"], &record.summaries["write"]);
    assert_eq!(
        (read.bytes, read.per_second, read.bytes_per_second),
        (Some(15_528 * 1024), Some(3874.0), Some(15_497.0 * 1024.0))
    );
    assert_eq!(
        (read.min_ns, read.max_ns, read.mean_ns.map(f64::round)),
        (Some(35_000.0), Some(9_832_000.0), Some(203_286.0))
    );
    assert_eq!(
        (write.per_second, write.max_ns),
        (Some(3973.0), Some(55_000.0))
    );
    assert_eq!(
        (record.elapsed_ns, record.name.as_str()),
        (1_002_000_000, "a")
    );
    assert_eq!(record.summaries["device vda"].figures["util"], 9.03);
    let text = String::from_utf8(sample("fio-3.33-terse3.txt")).unwrap();
    assert!(
        import(&text.as_bytes()[..text.len() / 2], "x")
            .unwrap_err()
            .to_string()
            .contains("ends early")
    );
    let error = import(text.replacen(";3874;", ";fast;", 1).as_bytes(), "x")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("read iops") && error.contains("fast"),
        "{error}"
    );
}

#[test]
fn two_results_appended_to_one_file_are_two_records_that_repeat_the_same_work() {
    let one = String::from_utf8(sample("fio-3.42.json"))
        .unwrap()
        .replacen("\"job_start\" : 1", "\"job_start_unknown\" : 1", 1);
    let later = one.replacen("\"timestamp_ms\" : 1", "\"timestamp_ms\" : 2", 1);
    assert_ne!(one, later);
    let both = import(format!("{one}{later}").as_bytes(), "x").unwrap();
    assert_eq!(both.len(), 2);
    let repeats: Vec<_> = both
        .iter()
        .map(|record| record.repeat.clone().unwrap())
        .collect();
    assert_eq!(
        (
            repeats[0].number,
            repeats[1].number,
            repeats[0].of == repeats[1].of
        ),
        (0, 1, true)
    );
    let other = later.replace("\"iodepth\" : \"8\"", "\"iodepth\" : \"16\"");
    let different = import(format!("{one}{other}").as_bytes(), "x").unwrap();
    assert!(
        different.iter().all(|record| record.repeat.is_none()),
        "other options are other work"
    );
}

#[test]
fn jobs_that_ran_together_name_each_other_and_their_targets() {
    let job = |name: &str, start: u64, device: &str| {
        format!(
            r#"{{"jobname":"{name}","groupid":0,"job_start":{start},"job options":{{"filename":"{device}"}},"read":{{"total_ios":5,"io_bytes":20480,"runtime":1000}}}}"#
        )
    };
    let jobs = [
        job("a", 1000, "/dev/sda"),
        job("a", 1500, "/dev/sdb"),
        job("later", 9000, "/dev/sda"),
    ]
    .join(",");
    let records = import(
        format!(r#"{{"fio version":"fio-3.42","jobs":[{jobs}]}}"#).as_bytes(),
        "x",
    )
    .unwrap();
    assert_eq!(records[0].companions, [records[1].id.clone()]);
    assert_eq!(records[1].companions, [records[0].id.clone()]);
    assert!(
        records[2].companions.is_empty()
            && records[2]
                .notices
                .iter()
                .all(|notice| !notice.contains("same time"))
    );
    let targets: Vec<&str> = records
        .iter()
        .map(|record| record.targets[0].path.as_str())
        .collect();
    assert_eq!(targets, ["/dev/sda", "/dev/sdb", "/dev/sda"]);
    assert!(records.iter().all(|record| record.repeat.is_none()));
}

#[test]
fn the_failures_of_k6_are_tried_and_no_successes() {
    let text = String::from_utf8(sample("k6-1.3-summary.json")).unwrap();
    let failed = text.replacen("\"passes\": 0", "\"passes\": 4", 1);
    let record = import(failed.as_bytes(), "x").unwrap().remove(0);
    let (request, all) = (&record.summaries["request"], &record.summaries["http_reqs"]);
    assert_eq!(
        (request.count, request.errors, all.count),
        (Some(10), Some(4), Some(14))
    );
    let rate = all.per_second.unwrap();
    assert!(
        (request.per_second.unwrap() - rate * 10.0 / 14.0).abs() < 1e-9,
        "a request that failed is no result"
    );
    assert_eq!(
        one("k6-1.3-points.json").targets[0].path,
        "http://127.0.0.1:8123"
    );
}

#[test]
fn compressed_results_are_read_as_their_tools_write_them() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&sample("k6-1.3-points.json")).unwrap();
    let records = import(&encoder.finish().unwrap(), "k.json.gz").unwrap();
    assert_eq!(records[0].operations.kind("put").unwrap().count, 7);
    assert_eq!(
        one("warp-1.csv.zst").operations,
        one("warp-1.csv").operations
    );
}

#[test]
fn elbencho_phases_are_records_in_both_files() {
    let (json, table) = (records("elbencho-3.1.json"), records("elbencho-3.1.csv"));
    assert_eq!((json.len(), table.len()), (10, 10));
    let first = &json[0].summaries["write"];
    assert_eq!(
        (first.bytes, first.per_second, first.mean_ns),
        (Some(2_097_152), Some(3688.0), Some(25_000.0))
    );
    assert_eq!(
        first.ranges[0],
        LatencyRange {
            from_ns: 19_000.0,
            to_ns: 23_000.0,
            count: 7
        }
    );
    assert_eq!(first.samples, Some(32));
    assert_eq!(table[0].summaries["write"].mean_ns, Some(25_000.0));
    assert_eq!(
        table[0].summaries["write"].bytes_per_second,
        Some(230.0 * 1_048_576.0)
    );
    assert_eq!(json[3].summaries["write entries"].count, Some(6));
    let mix = &json[9];
    assert_eq!(mix.name, "mix RWMIX50");
    assert_eq!(
        (
            mix.summaries["write"].samples,
            mix.summaries["read"].samples
        ),
        (Some(213), Some(299))
    );
    assert_eq!(table[9].summaries["read"].per_second, Some(103_819.0));
    assert_eq!(json[0].started_at, "2026-11-20T12:21:49.516Z");
    assert_eq!(json[8].effective["direct"], "true");
    for records in [&json, &table] {
        assert_eq!(
            (
                records[0].targets[0].path.as_str(),
                records[0].targets[0].kind.as_str()
            ),
            ("file1", "file")
        );
        assert_eq!(
            (
                records[3].targets[0].path.as_str(),
                records[3].targets[0].kind.as_str()
            ),
            ("d", "directory")
        );
        assert_eq!(
            records[0].source.as_ref().unwrap().elapsed_step_ns,
            Some(1_000_000)
        );
    }
}

#[test]
fn a_failed_job_is_a_failed_record() {
    let text = String::from_utf8(sample("fio-3.42.json"))
        .unwrap()
        .replacen("\"error\" : 0", "\"error\" : 5", 1);
    let record = import(text.as_bytes(), "x").unwrap().remove(0);
    assert_eq!(
        (record.outcome.status, record.errors[0].error.as_str()),
        (Status::Failed, "errno 5")
    );
}

#[test]
fn a_forced_format_that_does_not_fit_is_an_error_not_a_guess() {
    let error = import_as(Format::Fio, &sample("iopulse.json"), "iopulse.json")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error.split(';').next().unwrap(),
        "iopulse.json, read as fio: the file: neither \"jobs\" nor \"client_stats\" is in it"
    );
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let fio = String::from_utf8(sample("fio-3.42.json")).unwrap();
    let wrong = fio.replacen("\"iops\" : 2000000.000000", "\"iops\" : \"fast\"", 1);
    assert_eq!(
        import(wrong.as_bytes(), "f.json").unwrap_err().to_string(),
        "f.json, read as fio: jobs[0].read.iops: expected a number, found \"fast\"; if fio wrote it so, its version has a shape that is \
         not known here: please report it"
    );
    let cut = import_as(Format::Fio, &fio.as_bytes()[..2000], "f.json")
        .unwrap_err()
        .to_string();
    assert!(
        cut.contains("line ")
            && cut.ends_with("; the file ends early: copy it again, or repeat the run"),
        "{cut}"
    );
    let points = sample("k6-1.3-points.json");
    let cut = import(&points[..points.len() - 100], "p.json")
        .unwrap_err()
        .to_string();
    assert!(
        cut.contains("line 199") && cut.contains("ends early"),
        "{cut}"
    );
    let table = String::from_utf8(sample("warp-1.csv"))
        .unwrap()
        .replacen("\t1024\t", "\tmany\t", 1);
    let error = import(table.as_bytes(), "w.csv").unwrap_err().to_string();
    assert!(
        error.contains("line 2, \"bytes\": \"many\" is not a whole number"),
        "{error}"
    );
    let table = String::from_utf8(sample("elbencho-3.1.csv"))
        .unwrap()
        .replacen(",WRITE,", ",", 1);
    let error = import(table.as_bytes(), "e.csv").unwrap_err().to_string();
    assert!(
        error.contains("line 2: 54 fields under 55 labels"),
        "{error}"
    );
}

#[test]
fn counts_beyond_64_bits_are_refused() {
    let text = String::from_utf8(sample("fio-3.42-plus.json")).unwrap();
    let (start, end) = (
        text.find("\"bins\" : {").unwrap(),
        text.find("\"lat_ns\"").unwrap(),
    );
    let bins = format!(
        "\"bins\" : {{ \"5\" : {max}, \"{max}\" : {max} }} }},\n",
        max = u64::MAX
    );
    let hostile = format!("{}{bins}{}", &text[..start], &text[end..]);
    let error = import(hostile.as_bytes(), "x").unwrap_err().to_string();
    assert!(
        error.contains("bins") && error.contains("64 bits"),
        "{error}"
    );
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let long = vec![b' '; import::MOST_BYTES + 1];
    let error = import(&long, "x").unwrap_err().to_string();
    assert!(
        error.contains("more than the") && error.contains("split the file"),
        "{error}"
    );
}
