//! No option of a workload is dead: each is given to the program, stands in the record as asked and
//! as effective, and leaves a trace that a run without it does not leave, in the record or on the
//! disk.

mod support;

use record::{Coverage, Record, WorkerAccount};
use std::collections::BTreeSet;
use support::content::{distinct_blocks, filled_blocks, is_all, length_and_disk};
use support::laws::{assert_drawn_from, assert_share, gaussian, pareto, zipf};
use support::skip::{has_direct, has_io_uring, has_numa};
use support::{Place, effective, kind, transfers};
use units::IdList;
use workload::Workload;
use workload::settings::{self, Heading, SETTINGS};

/// Options without a case here, and why.
const NOT_SWEPT: [(&str, &str); 2] = [
    (
        "iopoll",
        "works on devices with polling queues alone, and everywhere else operations fail as the kernel decides",
    ),
    (
        "shift",
        "is refused without ranks: what each gets is a law of `workload::share`, and that it is asked for is seen under a launcher",
    ),
];

/// Runs a command with the option and looks for its trace; `None` where the machine lacks what it
/// needs.
type Trace = fn(&Place) -> Option<Record>;

/// One case an option, in the order of the table of options.
static CASES: &[(&str, Trace)] = &[
    ("file-size", |place| {
        let record = place.measure("f --file-size 1M --write-percent 100 --total-bytes 4k");
        assert_eq!(
            (length_and_disk(&place.path("f")).0, record.targets[0].bytes),
            (1 << 20, 1 << 20)
        );
        Some(record)
    }),
    ("offset", |place| {
        let record = place.measure(
            "f --file-size 64k --offset 32k --write-percent 100 --write-pattern ones --duration 0s",
        );
        let bytes = place.bytes("f");
        assert!(
            is_all(&bytes[..32 << 10], 0) && is_all(&bytes[32 << 10..], 0xff),
            "the part before the offset is left alone"
        );
        assert_eq!(kind(&record, "write").count, 8);
        Some(record)
    }),
    ("worker-regions", |place| {
        let command = "f --engine null --file-size 64k --threads 2 --total-bytes 64k --heatmap --heatmap-buckets 16";
        let record = place.measure(&format!("{command} --worker-regions 16k/32k"));
        assert_eq!(
            heat(&record).buckets,
            [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]
        );
        Some(record)
    }),
    ("file-distribution", |place| {
        let record = place.measure("f --file-size 64k --write-percent 100 --duration 0s --threads 2 --file-distribution per-worker");
        assert_eq!(
            (
                place.bytes("f.worker0").len(),
                place.bytes("f.worker1").len()
            ),
            (64 << 10, 64 << 10)
        );
        Some(record)
    }),
    ("worker-placeholder", |place| {
        let command = "f.%.x --file-size 64k --write-percent 100 --duration 0s --threads 2 --file-distribution per-worker";
        let record = place.measure(&format!("{command} --worker-placeholder %"));
        assert_eq!(
            (place.bytes("f.0.x").len(), place.bytes("f.1.x").len()),
            (64 << 10, 64 << 10)
        );
        assert_eq!(record.targets[0].files, 2);
        Some(record)
    }),
    ("num-files", |place| {
        let record =
            place.measure("d --num-files 3 --file-size 8k --write-percent 100 --duration 0s");
        assert_eq!(
            (place.files("d").len(), kind(&record, "write").count),
            (3, 6)
        );
        Some(record)
    }),
    ("num-dirs", |place| {
        let record = place.measure(
            "d --num-dirs 4 --num-files 2 --file-size 4k --write-percent 100 --duration 0s",
        );
        let dirs: BTreeSet<_> = place
            .files("d")
            .iter()
            .map(|file| file.parent().map(std::path::Path::to_path_buf))
            .collect();
        assert_eq!((place.files("d").len(), dirs.len()), (8, 4));
        Some(record)
    }),
    ("dir-depth", |place| {
        let record = place.measure(
            "d --dir-depth 3 --dir-width 2 --file-size 4k --write-percent 100 --duration 0s",
        );
        let files = place.files("d");
        assert!(
            files.len() == 8 && files.iter().all(|file| file.components().count() == 4),
            "{files:?}"
        );
        Some(record)
    }),
    ("dir-width", |place| {
        let record =
            place.measure("d --dir-width 5 --file-size 4k --write-percent 100 --duration 0s");
        assert_eq!(place.files("d").len(), 5);
        Some(record)
    }),
    ("total-files", |place| {
        let record = place.measure(
            "d --num-dirs 3 --total-files 7 --file-size 4k --write-percent 100 --duration 0s",
        );
        assert_eq!((place.files("d").len(), record.targets[0].files), (7, 7));
        Some(record)
    }),
    ("layout-manifest", |place| {
        place.write("list", b"# a remark\na/b\t8192\nc\t4096\n");
        let record = place.measure("d --layout-manifest list --write-percent 100 --duration 0s");
        assert_eq!(place.files("d"), ["a/b", "c"].map(std::path::PathBuf::from));
        assert_eq!(length_and_disk(&place.path("d/a/b")).0, 8192);
        Some(record)
    }),
    ("export-layout-manifest", |place| {
        let record = place.measure("d --num-files 2 --file-size 8k --write-percent 100 --duration 0s --export-layout-manifest list");
        let exported = String::from_utf8(place.bytes("list")).expect("a manifest is text");
        let listed: Vec<&str> = exported
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert!(
            listed.len() == 2 && listed.iter().all(|line| line.ends_with("\t8192")),
            "{listed:?}"
        );
        place.measure("e --layout-manifest list --write-percent 100 --duration 0s");
        assert_eq!(
            place.files("d"),
            place.files("e"),
            "what was exported can be used"
        );
        Some(record)
    }),
    ("meta", |place| {
        let record = place.measure("d --meta create,stat,open,readdir,rename,unlink --total-files 20 --num-dirs 2 --file-size 4k");
        for operation in ["create", "stat", "open", "rename", "unlink"] {
            assert_eq!(kind(&record, operation).latency.count(), 20, "{operation}");
        }
        assert!(
            kind(&record, "readdir").count >= 2,
            "every directory is read"
        );
        assert_eq!(place.files("d").len(), 0, "what was created was unlinked");
        Some(record)
    }),
    ("dirs", |place| {
        let command = "--meta create,stat,readdir --total-files 10 --threads 3";
        let record = place.measure(&format!("own {command} --dirs own"));
        let held = |dir: String| place.files(&dir).len();
        let mut each = [0, 1, 2].map(|worker| held(format!("own/worker{worker}")));
        each.sort_unstable();
        assert_eq!((each, held("own".into())), ([3, 3, 4], 10));
        assert_eq!(kind(&record, "create").count, 10);
        assert_eq!(
            kind(&record, "readdir").count,
            3,
            "each worker reads its own"
        );
        place.measure(&format!("shared {command} --dirs shared"));
        assert_eq!(held("shared".into()), 10);
        Some(record)
    }),
    ("payload", |place| {
        let record = place.measure(
            "d --meta create,stat,read --num-files 20 --payload 3901 --threads 2 --dirs shared",
        );
        for operation in ["create", "read"] {
            let counted = kind(&record, operation);
            assert_eq!(
                (counted.count, counted.bytes),
                (20, 20 * 3901),
                "{operation}"
            );
        }
        assert_eq!(kind(&record, "stat").bytes, 0);
        let held: Vec<u8> = place.bytes("d/file.000007");
        assert!(held.len() == 3901 && held.iter().any(|byte| *byte != held[0]));
        // What somebody made longer or shorter meanwhile is what a later run meets.
        place.write("d/file.000007", b"short");
        let again = place.iopulse("d --meta read --num-files 20 --payload 3901");
        assert_eq!(again.code, Some(1), "{}", again.complained);
        Some(record)
    }),
    ("where", |place| {
        for dir in ["a/b", "a/c"] {
            std::fs::create_dir_all(place.path("tree").join(dir)).expect("a directory of the test");
        }
        for (name, content) in [
            ("a/b/x01", "four"),
            ("a/c/01", "four"),
            ("a/c/02", "four"),
            ("01", "longer"),
        ] {
            place.write(&format!("tree/{name}"), content.as_bytes());
        }
        let count = |options: &str| {
            let record = place.measure(&format!("tree --meta walk --threads 3 {options}"));
            let walk = record.walk.expect("there is a walk");
            assert_eq!(kind(&record, "walk").count, 4, "a directory each");
            (record, (walk.entries, walk.matched))
        };
        assert_eq!(count("").1, (7, 4));
        assert_eq!(count("--where name=*01*").1, (7, 3));
        let (record, found) = count("--where name=*01*,size=4");
        assert_eq!(found, (7, 2));
        assert_eq!(place.files("tree").len(), 4, "nothing is made or removed");
        let cut = place.measure("tree --meta walk --think-time 200ms --duration 300ms");
        let told = [&record, &cut].map(|record| {
            let mut notices = record.notices.iter();
            notices.any(|of| of.contains("before all of the tree was seen"))
        });
        assert_eq!(told, [false, true]);
        Some(record)
    }),
    ("preallocate", |place| {
        let command = "--file-size 4M --write-percent 100 --total-bytes 4k";
        place.measure(&format!("sparse {command}"));
        let record = place.measure(&format!("f {command} --preallocate"));
        let disk = [place.path("sparse"), place.path("f")].map(|path| length_and_disk(&path).1);
        assert!(disk[0] < 4 << 20 && disk[1] >= 4 << 20, "{disk:?}");
        Some(record)
    }),
    ("refill", |place| {
        let command = "f --file-size 1M --read-percent 100 --total-bytes 4k";
        place.measure(command);
        assert_eq!(place.measure(command).fill, None, "nothing was missing");
        let record = place.measure(&format!("{command} --refill"));
        assert_eq!(record.fill.as_ref().map(|fill| fill.bytes), Some(1 << 20));
        Some(record)
    }),
    ("no-refill", |place| {
        place.measure("f --file-size 4M --write-percent 100 --total-bytes 4k");
        let record = place.measure("f --read-percent 100 --random --duration 0s --no-refill");
        assert!(
            record.fill.is_none() && length_and_disk(&place.path("f")).1 < 4 << 20,
            "holes stay holes"
        );
        assert!(
            place
                .measure("f --read-percent 100 --random --duration 0s")
                .fill
                .is_some(),
            "and without it they are filled"
        );
        Some(record)
    }),
    ("refill-pattern", |place| {
        let record = place
            .measure("f --file-size 64k --read-percent 100 --total-bytes 4k --refill-pattern ones");
        assert!(is_all(&place.bytes("f"), 0xff));
        Some(record)
    }),
    ("truncate-to-size", |place| {
        let length = || length_and_disk(&place.path("f")).0;
        place.measure("f --file-size 1M --write-percent 100 --total-bytes 4k");
        place.measure("f --file-size 64k --write-percent 100 --total-bytes 4k");
        assert_eq!(length(), 1 << 20, "a longer file is left as long");
        let record = place
            .measure("f --file-size 64k --write-percent 100 --total-bytes 4k --truncate-to-size");
        assert_eq!(length(), 64 << 10);
        Some(record)
    }),
    ("allow-destroy", |place| {
        place.write("foreign", &[7; 64 << 10]);
        let command = "foreign --write-percent 100 --duration 0s";
        place
            .iopulse(command)
            .ended_with(2)
            .says("--allow-destroy foreign");
        assert!(
            is_all(&place.bytes("foreign"), 7),
            "a refusal writes nothing"
        );
        let record = place.measure(&format!("{command} --allow-destroy foreign"));
        assert_eq!(distinct_blocks(&place.bytes("foreign")), 16);
        Some(record)
    }),
    ("block-size", |place| {
        let mix =
            place.measure("f --engine null --block-size 4k/60:64k/40 --total-bytes 256M --random");
        let reads = kind(&mix, "read");
        let large = (reads.bytes - reads.count * 4096) / (61_440);
        assert_share("large blocks", large, reads.count, 0.4);
        assert_eq!(
            (reads.smallest_bytes, reads.largest_bytes),
            (Some(4096), Some(65_536))
        );
        Some(mix)
    }),
    ("read-percent", |place| {
        let record = place.measure("f --engine null --read-percent 30 --total-bytes 64M");
        assert_share(
            "reads",
            kind(&record, "read").count,
            transfers(&record),
            0.3,
        );
        Some(record)
    }),
    ("write-percent", |place| {
        let record = place.measure("f --engine null --write-percent 10 --total-bytes 64M");
        assert_share(
            "writes",
            kind(&record, "write").count,
            transfers(&record),
            0.1,
        );
        Some(record)
    }),
    ("random", |place| {
        let command =
            "f --engine null --file-size 4M --total-bytes 256k --heatmap --heatmap-buckets 1024";
        let in_order: Vec<u64> = (0..1024).map(|block| u64::from(block < 64)).collect();
        assert_eq!(
            heat(&place.measure(command)).buckets,
            in_order,
            "one after the other"
        );
        let record = place.measure(&format!("{command} --random"));
        assert_ne!(heat(&record).buckets, in_order);
        Some(record)
    }),
    ("distribution", |place| {
        Some(drawn(
            place,
            "--distribution gaussian",
            &gaussian(1024, 0.5, 0.1),
        ))
    }),
    ("zipf-theta", |place| {
        Some(drawn(
            place,
            "--distribution zipf --zipf-theta 0.7",
            &zipf(1024, 0.7),
        ))
    }),
    ("pareto-h", |place| {
        Some(drawn(
            place,
            "--distribution pareto --pareto-h 0.35",
            &pareto(1024, 0.35),
        ))
    }),
    ("gaussian-center", |place| {
        Some(drawn(
            place,
            "--distribution gaussian --gaussian-center 0.9",
            &gaussian(1024, 0.9, 0.1),
        ))
    }),
    ("gaussian-stddev", |place| {
        Some(drawn(
            place,
            "--distribution gaussian --gaussian-stddev 0.4",
            &gaussian(1024, 0.5, 0.4),
        ))
    }),
    ("scatter", |place| {
        let record = place.measure("f --engine null --file-size 4M --total-bytes 64M --heatmap --random --distribution zipf --scatter");
        let coverage = heat(&record);
        let first_fifth: u64 = coverage.buckets[..20].iter().sum();
        assert!(
            first_fifth * 2 < coverage.uses,
            "the hot set is not at the start: {first_fifth} of {}",
            coverage.uses
        );
        assert!(coverage.hottest_fifth_share > 0.5, "and it is still hot");
        Some(record)
    }),
    ("no-repeat", |place| {
        let command = "f --engine null --file-size 4M --total-bytes 8M --random --write-percent 30 --heatmap --heatmap-buckets 1024";
        assert!(
            heat(&place.measure(command)).touched < 1000,
            "drawn anew, some are missed"
        );
        let record = place.measure(&format!("{command} --no-repeat"));
        assert_eq!(
            (
                heat(&record).touched,
                heat(&record).buckets.iter().all(|uses| *uses == 2)
            ),
            (1024, true)
        );
        Some(record)
    }),
    ("seed", |place| {
        let with = |seed| {
            place.measure(&format!(
                "f --engine null --file-size 4M --total-bytes 1M --heatmap --random --seed {seed}"
            ))
        };
        let record = with(7);
        assert_eq!(
            heat(&record).buckets,
            heat(&with(7)).buckets,
            "same seed, same offsets"
        );
        assert_ne!(heat(&record).buckets, heat(&with(8)).buckets);
        Some(record)
    }),
    ("engine", |place| {
        let record = place.measure("f --engine null --total-bytes 1M");
        assert!(!place.path("f").exists(), "the null engine touches nothing");
        Some(record)
    }),
    ("queue-depth", |place| {
        let record = sim(
            place,
            "latency=1ms,servers=8",
            "--queue-depth 8 --duration 100ms",
        );
        let depth = record.loops.in_flight_ns as f64 / record.loops.worker_ns as f64;
        assert!((depth - 8.0).abs() < 0.1, "{depth} in flight");
        Some(record)
    }),
    ("submit-batch", |place| {
        let per_submission =
            |record: &Record| record.loops.submitted as f64 / record.loops.submissions as f64;
        let whole = place.measure("f --engine null --queue-depth 8 --total-bytes 4M");
        let record =
            place.measure("f --engine null --queue-depth 8 --submit-batch 2 --total-bytes 4M");
        assert!(
            per_submission(&record) <= 2.0 && per_submission(&whole) > 4.0,
            "{} {}",
            per_submission(&record),
            per_submission(&whole)
        );
        Some(record)
    }),
    ("reap-batch", |place| {
        let model = "latency=1ms,jitter=exponential,servers=8";
        let per_reap = |record: &Record| transfers(record) as f64 / record.loops.reaps as f64;
        let single = sim(place, model, "--queue-depth 8 --duration 100ms");
        let record = sim(
            place,
            model,
            "--queue-depth 8 --reap-batch 4 --duration 100ms",
        );
        assert!(
            per_reap(&single) < 2.0 && per_reap(&record) > 3.5,
            "{} {}",
            per_reap(&single),
            per_reap(&record)
        );
        Some(record)
    }),
    ("fixed-buffers", |place| ring(place, "--fixed-buffers")),
    ("no-fixed-buffers", |place| {
        ring(place, "--no-fixed-buffers")
    }),
    ("fixed-files", |place| ring(place, "--fixed-files")),
    ("no-fixed-files", |place| ring(place, "--no-fixed-files")),
    ("sqpoll", |place| {
        let record = ring(place, "--sqpoll")?;
        let features = record.workers[0]
            .engine_features
            .clone()
            .unwrap_or_default();
        assert!(
            !features.contains("single_issuer"),
            "a polled ring has two submitters: {features}"
        );
        Some(record)
    }),
    ("sim-model", |place| {
        let record = sim(place, "latency=50us", "--duration 10ms");
        assert_eq!(kind(&record, "read").latency.max(), Some(50_000));
        Some(record)
    }),
    ("direct", |place| {
        if !has_direct(place) {
            return None;
        }
        let record = place.measure("f --file-size 4M --write-percent 100 --duration 0s --direct");
        let left = record
            .residency
            .as_ref()
            .and_then(|residency| residency.after_bytes);
        assert!(
            left.is_none_or(|bytes| bytes < 2 << 20),
            "{left:?} bytes in the page cache"
        );
        Some(record)
    }),
    ("sync", |place| Some(stable(place, "--sync"))),
    ("dsync", |place| Some(stable(place, "--dsync"))),
    ("fsync", |place| {
        let record =
            place.measure("f --file-size 1M --write-percent 100 --total-bytes 80k --fsync 4");
        assert!(matches!(kind(&record, "fsync").count, 4..=5), "20 writes");
        Some(record)
    }),
    ("fdatasync", |place| {
        let record =
            place.measure("f --file-size 1M --write-percent 100 --total-bytes 80k --fdatasync 5");
        assert!(
            matches!(kind(&record, "fdatasync").count, 3..=4),
            "20 writes"
        );
        Some(record)
    }),
    ("end-fsync", |place| {
        let record =
            place.measure("f --file-size 1M --write-percent 100 --total-bytes 80k --end-fsync");
        assert_eq!(kind(&record, "fsync").count, 1);
        Some(record)
    }),
    ("cache", |place| {
        let command = "f --file-size 4M --read-percent 100 --total-bytes 4k";
        let cold = place.measure(&format!("{command} --cache cold"));
        let resident = |record: &Record| {
            record
                .residency
                .as_ref()
                .and_then(|residency| residency.before_bytes)
        };
        if effective(&cold, "cache") == Some("cold") {
            assert!(
                resident(&cold).is_none_or(|bytes| bytes == 0),
                "{:?} stayed",
                resident(&cold)
            );
        }
        let record = place.measure(&format!("{command} --cache warm"));
        assert!(
            resident(&record).is_none_or(|bytes| bytes == 4 << 20),
            "{:?} of 4 MiB came",
            resident(&record)
        );
        Some(record)
    }),
    ("fadvise", |place| {
        // The one advice whose effect the kernel documents and shows: a random reader gets no
        // read-ahead.
        let record = place.measure(
            "f --file-size 4M --read-percent 100 --total-bytes 4k --cache cold --fadvise rand",
        );
        let after = record
            .residency
            .as_ref()
            .and_then(|residency| residency.after_bytes);
        assert!(
            effective(&record, "cache") != Some("cold")
                || after.is_none_or(|bytes| bytes <= 16 << 10),
            "{after:?} were read ahead"
        );
        Some(record)
    }),
    ("madvise", |place| {
        let record = place.measure("f --engine mmap --file-size 4M --read-percent 100 --total-bytes 4k --cache cold --madvise rand");
        let after = record
            .residency
            .as_ref()
            .and_then(|residency| residency.after_bytes);
        assert!(
            effective(&record, "cache") != Some("cold")
                || after.is_none_or(|bytes| bytes <= 16 << 10),
            "{after:?} were read ahead"
        );
        Some(record)
    }),
    ("lock-mode", |place| {
        let record = place.measure("f --file-size 1M --write-percent 50 --random --threads 2 --total-bytes 1M --lock-mode range");
        let locks = record.locks.as_ref().expect("locks were asked for");
        assert_eq!(
            (locks.mode.as_str(), locks.wait.count()),
            ("range", transfers(&record))
        );
        Some(record)
    }),
    ("duration", |place| {
        let record = sim(place, "latency=1ms", "--duration 123ms");
        assert!(
            matches!(transfers(&record), 122..=124),
            "{} operations",
            transfers(&record)
        );
        Some(record)
    }),
    ("run-until-complete", |place| {
        let record = place.measure("f --file-size 1M --random --heatmap --run-until-complete");
        assert_eq!((transfers(&record), heat(&record).touched), (256, 256));
        Some(record)
    }),
    ("stonewall", |place| {
        let record = sim(place, "latency=1ms", "--duration 0s --stonewall 100ms");
        let stonewall = record.stonewall.as_ref().expect("it came");
        assert!(matches!(transfers(&record), 99..=101), "{stonewall:?}");
        assert_eq!(stonewall.operations, transfers(&record));
        assert_eq!((stonewall.wear_out_ns, stonewall.cut), (None, 0));
        Some(record)
    }),
    ("wear-out", |place| {
        let record = uneven(place, "200ms", "");
        let stonewall = record.stonewall.as_ref().expect("it came");
        assert!(stonewall.fewest < stonewall.most, "{stonewall:?}");
        assert!(
            record
                .workers
                .iter()
                .all(|worker| worker.operations == stonewall.most)
        );
        assert!(
            stonewall.at_ns.abs_diff(200_000_000) < 20_000_000,
            "{stonewall:?}"
        );
        let wear_out = stonewall.wear_out_ns.expect("somebody was slower");
        assert_eq!(stonewall.at_ns + wear_out, record.elapsed_ns);
        Some(record)
    }),
    ("wear-out-limit", |place| {
        let record = uneven(place, "2ms", "--wear-out-limit 2ms");
        let stonewall = record.stonewall.as_ref().expect("it came");
        assert!(stonewall.cut > 0, "{stonewall:?}");
        let ended = record.workers.iter().map(|worker| worker.operations);
        assert!(ended.min() < Some(stonewall.most), "{stonewall:?}");
        Some(record)
    }),
    ("total-bytes", |place| {
        let record = place.measure("f --engine null --threads 3 --total-bytes 1M");
        assert_eq!(record.operations.bytes(), 1 << 20);
        Some(record)
    }),
    ("warmup", |place| {
        let record = sim(place, "latency=1ms", "--warmup 50ms --duration 100ms");
        assert!(
            matches!(
                (record.warmup.count(), transfers(&record)),
                (49..=51, 99..=101)
            ),
            "{}",
            record.warmup.count()
        );
        assert!(
            record.elapsed_ns.abs_diff(100_000_000) < 2_000_000,
            "{}",
            record.elapsed_ns
        );
        Some(record)
    }),
    ("continue-on-error", |place| {
        assert_eq!(
            failing(place, "").operations.errors(),
            1,
            "the first error ends a run"
        );
        let record = failing(place, "--continue-on-error");
        assert_eq!(
            (record.operations.errors(), kind(&record, "write").count),
            (128, 128)
        );
        Some(record)
    }),
    ("max-errors", |place| {
        let record = failing(place, "--continue-on-error --max-errors 3");
        assert_eq!(record.operations.errors(), 3);
        Some(record)
    }),
    ("rate-iops", |place| {
        let record = sim(place, "latency=100us", "--rate-iops 1000 --duration 200ms");
        assert!(
            matches!(transfers(&record), 199..=201),
            "{} operations",
            transfers(&record)
        );
        assert_eq!(
            record.pace.as_ref().and_then(|pace| pace.asked_per_second),
            Some(1000.0)
        );
        Some(record)
    }),
    ("rate-bytes", |place| {
        let record = sim(place, "latency=100us", "--rate-bytes 4M --duration 250ms");
        assert!(
            matches!(transfers(&record), 255..=257),
            "{} operations",
            transfers(&record)
        );
        Some(record)
    }),
    ("arrival", |place| {
        let longest = |record: &Record| kind(record, "read").latency.max();
        let constant = sim(
            place,
            "latency=100us",
            "--rate-iops 5000 --duration 200ms --arrival constant",
        );
        assert_eq!(longest(&constant), Some(100_000), "nobody waits");
        let record = sim(
            place,
            "latency=100us",
            "--rate-iops 5000 --duration 200ms --arrival poisson",
        );
        assert!(
            longest(&record) > Some(100_000),
            "those that arrive together wait"
        );
        Some(record)
    }),
    ("think-time", |place| {
        let record = sim(place, "latency=1ms", "--think-time 4ms --duration 100ms");
        assert!(
            matches!(transfers(&record), 19..=21),
            "{} operations of 5 ms",
            transfers(&record)
        );
        Some(record)
    }),
    ("think-mode", |place| {
        let command =
            "f --file-size 64k --read-percent 100 --total-bytes 400k --think-time 1ms --think-mode";
        let waits = |record: &Record| record.workers[0].voluntary_switches;
        let record = place.measure(&format!("{command} spin"));
        let sleeping = place.measure(&format!("{command} sleep"));
        assert!(
            waits(&sleeping) >= 99 && waits(&record) < 50,
            "{} sleeping, {} spinning",
            waits(&sleeping),
            waits(&record)
        );
        Some(record)
    }),
    ("think-every", |place| {
        let record = sim(
            place,
            "latency=1ms",
            "--think-time 5ms --think-every 5 --duration 100ms",
        );
        assert!(
            matches!(transfers(&record), 49..=51),
            "{} operations, 5 in 10 ms",
            transfers(&record)
        );
        Some(record)
    }),
    ("think-adaptive-percent", |place| {
        let record = sim(
            place,
            "latency=1ms",
            "--think-adaptive-percent 100 --duration 100ms",
        );
        assert!(
            matches!(transfers(&record), 49..=51),
            "{} operations of 2 ms",
            transfers(&record)
        );
        Some(record)
    }),
    ("write-pattern", |place| {
        let record = place
            .measure("f --file-size 64k --write-percent 100 --duration 0s --write-pattern ones");
        assert!(is_all(&place.bytes("f"), 0xff));
        Some(record)
    }),
    ("compress-percent", |place| {
        let repeats = |bytes: &[u8]| {
            let words: Vec<&[u8]> = bytes.chunks(8).collect();
            words.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / words.len() as f64
        };
        place.measure("plain --file-size 1M --write-percent 100 --duration 0s");
        let record = place
            .measure("f --file-size 1M --write-percent 100 --duration 0s --compress-percent 50");
        let shares = ["plain", "f"].map(|name| repeats(&place.bytes(name)));
        assert!(
            shares[0] < 0.001 && (shares[1] - 0.5).abs() < 0.05,
            "{shares:?} of the words repeat"
        );
        Some(record)
    }),
    ("dedupe-percent", |place| {
        let record =
            place.measure("f --file-size 4M --write-percent 100 --duration 0s --dedupe-percent 75");
        let bytes = place.bytes("f");
        let (all, distinct) = (filled_blocks(&bytes), distinct_blocks(&bytes));
        assert!(
            all == 1024 && (256..400).contains(&distinct),
            "{distinct} of {all} differ"
        );
        Some(record)
    }),
    ("verify", |place| {
        let record = place.measure("f --file-size 1M --read-percent 100 --duration 0s --verify");
        assert_eq!(
            record
                .verification
                .as_ref()
                .map(|v| (v.operations, v.failures)),
            Some((256, 0))
        );
        Some(record)
    }),
    ("verify-pattern", |place| {
        let record = place.measure("f --file-size 1M --write-percent 100 --duration 0s --verify --verify-pattern sequential");
        assert!(
            place
                .bytes("f")
                .chunks(256)
                .all(|part| part.iter().copied().eq(0..=255))
        );
        Some(record)
    }),
    ("verify-when", |place| {
        let record = place.measure("f --file-size 1M --write-percent 100 --duration 0s --verify --verify-when passes --threads 2");
        assert_eq!(
            record
                .verification
                .as_ref()
                .map(|v| (v.operations, v.failures)),
            Some((256, 0))
        );
        assert_eq!(
            record.operations.kind("write").map(|writes| writes.count),
            Some(256)
        );
        Some(record)
    }),
    ("threads", |place| {
        let record = place.measure("f --engine null --threads 3 --total-bytes 1M");
        assert!(
            record.workers.len() == 3 && record.workers.iter().all(|worker| worker.operations > 0)
        );
        Some(record)
    }),
    ("cpu-cores", |place| {
        let cpu = last_allowed_cpu();
        let record = place.measure(&format!(
            "f --engine null --threads 2 --total-bytes 1M --cpu-cores {cpu}"
        ));
        assert!(record.workers.iter().all(|worker| worker.cpus == [cpu]));
        Some(record)
    }),
    ("numa-zones", |place| {
        if !has_numa() {
            return None;
        }
        let record = place.measure("f --engine null --threads 2 --total-bytes 1M --numa-zones 0");
        assert!(
            record
                .workers
                .iter()
                .all(|worker| worker.nodes == [0] && !worker.cpus.is_empty())
        );
        Some(record)
    }),
    ("affinity", |place| {
        let record = place
            .measure("f --engine null --total-bytes 1M --cpu-cores 60000 --affinity best-effort");
        assert!(
            record
                .differences
                .iter()
                .any(|difference| difference.key == "cpu-cores"),
            "{:?}",
            record.differences
        );
        Some(record)
    }),
    ("heatmap", |place| {
        assert_eq!(
            place.measure("f --engine null --total-bytes 1M").coverage,
            None
        );
        let record = place.measure("f --engine null --total-bytes 1M --heatmap");
        assert_eq!((heat(&record).uses, heat(&record).touched), (256, 256));
        Some(record)
    }),
    ("heatmap-buckets", |place| {
        let record =
            place.measure("f --engine null --total-bytes 1M --heatmap --heatmap-buckets 7");
        assert_eq!(heat(&record).buckets.len(), 7);
        Some(record)
    }),
    ("worker-series", |place| {
        let record = place.measure("f --engine null --total-bytes 1M --threads 2 --worker-series");
        for worker in &record.workers {
            let measured = worker.measured.as_ref().expect("each is kept apart");
            let counted: u64 = measured
                .series
                .iter()
                .map(|interval| interval.operations.count())
                .sum();
            assert_eq!(
                (measured.operations.count(), counted),
                (worker.operations, worker.operations)
            );
        }
        Some(record)
    }),
];

fn heat(record: &Record) -> &Coverage {
    record.coverage.as_ref().expect("a heat map was asked for")
}

/// Operations of the null engine over 1024 blocks, held against the law that they are to follow.
fn drawn(place: &Place, options: &str, masses: &[f64]) -> Record {
    let record = place.measure(&format!(
        "f --engine null --file-size 4M --total-bytes 128M --heatmap --random {options}"
    ));
    assert_drawn_from(options, &record, masses);
    record
}

/// A run on a modelled device under a virtual clock, where every number is known beforehand.
fn sim(place: &Place, model: &str, options: &str) -> Record {
    place.measure(&format!(
        "--engine sim --file-size 4M --sim-model {model} {options}"
    ))
}

/// Workers of which chance makes some faster, until each has done what the fastest had.
fn uneven(place: &Place, stonewall: &str, options: &str) -> Record {
    let options = format!("--threads 4 --stonewall {stonewall} --wear-out {options}");
    sim(place, "latency=1ms,jitter=exponential", &options)
}

/// A run of io_uring. What is registered with a ring leaves no trace but the record's own word.
fn ring(place: &Place, option: &str) -> Option<Record> {
    has_io_uring().then(|| {
        place.measure(&format!(
            "f --engine io_uring --file-size 1M --total-bytes 1M --write-percent 50 {option}"
        ))
    })
}

/// Writes that return when they are stable: a device that is known has then seen each of them.
fn stable(place: &Place, option: &str) -> Record {
    let record = place.measure(&format!(
        "f --file-size 1M --write-percent 100 --total-bytes 64k {option}"
    ));
    let device = record
        .generator()
        .devices
        .first()
        .map(|device| device.written_bytes);
    assert!(
        device.is_none_or(|bytes| bytes >= record.operations.bytes()),
        "{device:?} of {} bytes",
        record.operations.bytes()
    );
    record
}

/// A complete run over 1 MiB where files may not grow beyond 512 KiB: the second half of the writes
/// fails.
fn failing(place: &Place, options: &str) -> Record {
    place.measure("f --file-size 1M --write-percent 100 --duration 0s");
    // POSIX counts this limit in 512 bytes; the signal that would end the program is ignored, so
    // that writes return an error.
    let limit = "trap '' XFSZ; ulimit -f 1024";
    place
        .iopulse_after(
            limit,
            &format!("f --file-size 1M --write-percent 100 --duration 0s {options}"),
        )
        .ended_with(1)
        .into_record()
}

fn last_allowed_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("the kernel tells the allowed CPUs");
    let cpus = IdList::parse(list.trim())
        .expect("the kernel's list is a list")
        .0;
    *cpus.last().expect("a process may use some CPU")
}

/// Runs the cases of one heading.
#[allow(
    clippy::print_stdout,
    reason = "the runner shows it where a case fails, and so which"
)]
fn sweep(heading: Heading) {
    for setting in SETTINGS.iter().filter(|setting| setting.heading == heading) {
        let Some((key, trace)) = CASES.iter().find(|(key, _)| *key == setting.key) else {
            continue;
        };
        println!("--{key}");
        let place = Place::new();
        let Some(record) = trace(&place) else {
            continue;
        };
        let asked = record.asked.get(*key);
        assert!(
            asked.is_some() && asked.cloned() != setting.show(&Workload::default()),
            "--{key} was not given: {asked:?}"
        );
        assert_eq!(record.effective.get(*key), asked, "--{key} in the record");
        assert_planned(&place, key, asked.map_or("", String::as_str));
    }
}

/// Dry runs of the commands that had the option show it, one of them as the run had it, which is not
/// as it is without the option.
fn assert_planned(place: &Place, key: &str, asked: &str) {
    let line = format!("  {key} = {asked}");
    let mut plans = Vec::new();
    for command in place.commands_with(key) {
        let plan = place.iopulse(&format!("{command} --dry-run")).succeeded();
        assert!(plan.record.is_none(), "{}", plan.text());
        plans.push(plan.said);
    }
    let shows_it = |plan: &String| plan.lines().any(|said| said == line);
    assert!(
        plans.iter().any(shows_it),
        "{line:?} is not planned: {plans:?}"
    );
}

#[test]
fn every_option_has_a_case_or_a_reason() {
    let cases: BTreeSet<&str> = CASES.iter().map(|(key, _)| *key).collect();
    let excused: BTreeSet<&str> = NOT_SWEPT.iter().map(|(key, _)| *key).collect();
    assert_eq!(cases.len(), CASES.len(), "an option has one case");
    assert_eq!(
        cases.intersection(&excused).next(),
        None,
        "an option with a case needs no reason"
    );
    for setting in SETTINGS {
        assert!(
            cases.contains(setting.key) || excused.contains(setting.key),
            "--{} has neither a case nor a reason",
            setting.key
        );
    }
    for key in cases.union(&excused) {
        assert!(settings::find(key).is_some(), "--{key} is no option");
    }
}

#[test]
fn options_of_the_target_leave_their_trace() {
    sweep(Heading::Target);
}

#[test]
fn options_of_the_access_pattern_leave_their_trace() {
    sweep(Heading::Access);
}

#[test]
fn options_of_the_engine_leave_their_trace() {
    sweep(Heading::Engine);
}

#[test]
fn options_of_the_end_leave_their_trace() {
    sweep(Heading::Stop);
}

#[test]
fn options_of_the_pace_leave_their_trace() {
    sweep(Heading::Pace);
}

#[test]
fn options_of_data_leave_their_trace() {
    sweep(Heading::Data);
}

#[test]
fn options_of_placement_leave_their_trace() {
    sweep(Heading::Placement);
}

#[test]
fn options_of_observation_leave_their_trace() {
    sweep(Heading::Observation);
}

/// Holds an account of a run against what the run itself did: it may miss the first moments, and
/// has no room for a warm-up of many times the work.
#[track_caller]
fn assert_of_the_measured_part(what: &str, counted: u64, measured: u64) {
    let share = counted as f64 / measured as f64;
    assert!(
        (0.02..2.0).contains(&share),
        "{what}: {counted} counted, {measured} measured"
    );
}

#[test]
fn a_warm_up_is_left_out_of_the_bytes_that_the_kernel_counts() {
    let place = Place::new();
    if !has_direct(&place) {
        return;
    }
    let record =
        place.measure("f --file-size 8M --direct --random --write-percent 50 --rate-iops 1000 --warmup 2s --duration 400ms --seed 1");
    let moved = |name: &str| kind(&record, name).bytes;
    assert!(
        record.warmup.bytes() > 3 * record.operations.bytes(),
        "the warm-up does far more: {}",
        record.warmup.bytes()
    );
    // Sandboxes may withhold /proc/self/io.
    if let (Some(read), Some(written)) = (
        record.generator().process.storage_read_bytes,
        record.generator().process.storage_written_bytes,
    ) {
        assert_of_the_measured_part("bytes read", read, moved("read"));
        assert_of_the_measured_part("bytes written", written, moved("write"));
    }
}

#[test]
fn a_warm_up_is_left_out_of_the_cpu_time_of_process_and_workers() {
    let place = Place::new();
    let record = place.measure("--engine null --warmup 2s --duration 400ms");
    assert!(record.warmup.count() > 0);
    let worker = &record.workers[0];
    // One thread without I/O is always on a CPU or waits for one, so that its operations take the
    // time that it was given.
    let per_operation = |user: u64, system: u64| (user + system) / transfers(&record).max(1);
    let elapsed = record.elapsed_ns / transfers(&record).max(1);
    assert_of_the_measured_part(
        "CPU of the process an operation",
        per_operation(
            record.generator().process.user_ns,
            record.generator().process.system_ns,
        ),
        elapsed,
    );
    assert_of_the_measured_part(
        "CPU of the worker an operation",
        per_operation(worker.user_ns, worker.system_ns),
        elapsed,
    );
    let waited = worker.run_queue_wait_ns;
    // There are kernels that do not say it.
    let cpu_ns = worker.user_ns + worker.system_ns;
    assert!(
        waited.is_none_or(|ns| ns <= record.elapsed_ns.saturating_sub(cpu_ns)),
        "{waited:?}"
    );
}

#[test]
fn workers_to_which_nothing_fell_count_for_no_time() {
    let command = "f --engine null --file-size 64k --threads 3 --total-bytes 4k";
    for warmup in ["", "--warmup 100ms"] {
        let record = Place::new().measure(&format!("{command} {warmup}"));
        let moments = |of: &WorkerAccount| (of.operations, of.started_ns, of.ended_ns);
        let of_all = record.workers.iter();
        let (worked, idle): (Vec<_>, Vec<_>) = of_all.partition(|of| of.operations > 0);
        assert_eq!((worked.len(), idle.len()), (1, 2));
        assert_eq!(moments(worked[0]), (1, 0, record.elapsed_ns), "{warmup}");
        for idle in idle {
            assert_eq!(moments(idle), (0, 0, 0), "{warmup}");
            assert_eq!(idle.run_queue_wait_ns, None, "{warmup}");
        }
    }
}

#[test]
fn a_target_that_the_engine_does_not_use_is_told_and_not_made() {
    let place = Place::new();
    for engine in ["null", "sim"] {
        let record = place.measure(&format!("unused --engine {engine} --total-bytes 1M"));
        let notice =
            format!("the target unused is not used by engine {engine}: nothing is opened or made");
        assert!(record.notices.contains(&notice), "{:?}", record.notices);
        assert!(!place.path("unused").exists());
    }
}

/// The achieved share of the rate that was asked.
fn kept(record: &Record) -> f64 {
    let pace = record.pace.as_ref().expect("a rate was asked");
    assert_eq!(pace.unsent, 0, "{pace:?}");
    pace.achieved_per_second / pace.asked_per_second.expect("of operations")
}

#[test]
fn a_worker_that_waits_for_others_between_passes_owes_nothing_meanwhile() {
    let place = Place::new();
    let record = place.measure(
        "x --file-size 512k --write-percent 100 --verify --verify-when passes --rate-iops 200 --threads 2 --arrival poisson --seed 5 --duration 4s",
    );
    let kept = kept(&record);
    assert!((0.7..1.4).contains(&kept), "{:?}", record.pace);
    let waited_ns = record.pace.as_ref().map(|pace| pace.waited_ns);
    assert!(waited_ns > Some(0), "{:?}", record.pace);
    for kind in ["read", "write"] {
        // The one of the workers that chance gave fewer pauses waits for some tenths of a second.
        let p90 = record.operations.kind(kind).unwrap().latency.quantile(0.9);
        assert!(p90.unwrap() < 100e6, "{kind}: {p90:?}");
    }
}

#[test]
fn what_a_stall_at_the_stonewall_holds_back_is_late_and_what_was_due_by_then_is_owed() {
    let place = Place::new();
    let at = |rate: u32, threads: u32, stall: &str| {
        place.measure(&format!(
            "x --file-size 40M --engine sim --sim-model latency=1ms,servers=4,stall={stall} --write-percent 100 --rate-iops {rate} --threads {threads} --stonewall 2s --wear-out --run-until-complete"
        ))
    };
    // The operation of one worker is held, and nothing else is due meanwhile: all have begun 20.
    let one = at(40, 4, "1.95s+1s");
    let kept = |record: &Record| record.kept_schedule().unwrap().judged();
    assert_eq!(kept(&one), 1.0, "{:?}", one.workers);
    // Half of what is due of a worker by the stonewall is begun, and nobody sets a mark that it has to reach.
    let half = at(100, 1, "1s+3s");
    assert_eq!(half.pace.as_ref().map(|pace| pace.waited_ns), Some(0));
    assert!((0.49..0.52).contains(&kept(&half)), "{:?}", half.workers);
    // Its own operation is no other's: what it begins later than it was due is late.
    let late = at(200, 4, "1.95s+1s");
    let writes = late.operations.kind("write").unwrap();
    let [from_due, served] =
        [&writes.latency, writes.service.as_ref().unwrap()].map(|times| times.mean().unwrap());
    assert!(from_due > served + 4e6, "{from_due} {served}");
}

#[test]
fn work_that_about_fills_the_time_is_kept_whoever_chance_leaves_an_operation_of_it() {
    let place = Place::new();
    let kept = |options: &str| {
        let record = place.measure(&format!("x --engine sim --file-size 64M {options}"));
        record.kept_schedule().unwrap().judged()
    };
    for seed in 1..=4 {
        for work in [
            "--arrival poisson --rate-iops 320 --threads 32 --duration 10s --total-bytes 11520k --sim-model latency=1ms,servers=32 --queue-depth 64",
            "--rate-iops 50 --threads 32 --duration 2s --total-bytes 400k --sim-model latency=1ms,servers=64 --queue-depth 4",
            "--block-size 4k/50:64k/50 --random --rate-iops 1000 --threads 8 --total-bytes 2176k --warmup 500ms --sim-model latency=1ms,servers=64 --queue-depth 16",
            "--arrival poisson --rate-iops 100 --threads 5 --total-bytes 360k --warmup 1s --sim-model latency=500ms,servers=2048 --queue-depth 64",
        ] {
            assert_eq!(kept(&format!("{work} --seed {seed}")), 1.0, "{work}");
        }
    }
    // Gaps of no whole number of nanoseconds, and a block that is read and written more than another worker's.
    for uneven in [
        "--rate-iops 300 --threads 4",
        "--rate-iops 50 --threads 2 --read-percent 50",
    ] {
        let file = "x --engine sim --sim-model latency=100us,servers=9 --file-size 52k --run-until-complete";
        let record = place.measure(&format!("{file} {uneven}"));
        let kept = record.kept_schedule().unwrap().judged();
        assert_eq!(kept, 1.0, "{uneven}");
    }
    // The last of all is in flight when the time is over, and nobody asks for another.
    let last = "--queue-depth 1 --rate-iops 100 --threads 2 --duration 10s --total-bytes 2000k --sim-model latency=1ms,servers=4,stall=4985ms+6s";
    assert_eq!(kept(last), 1.0);
}

#[test]
fn every_kind_of_metadata_operation_has_a_time_and_a_rate_of_its_own() {
    let place = Place::new();
    for threads in [1, 4] {
        let options = format!(
            "tree{threads} --num-files 400 --file-size 4k --threads {threads} --meta create,stat,open,readdir,stat,unlink"
        );
        let record = place.measure(&options);
        let mut spans: Vec<_> = record
            .spans
            .iter()
            .map(|(kind, span)| (span.start_ns, kind.as_str(), *span))
            .collect();
        spans.sort_by_key(|(start, ..)| *start);
        let order: Vec<&str> = spans.iter().map(|(_, kind, _)| *kind).collect();
        assert_eq!(order, ["create", "stat", "open", "readdir", "unlink"]);
        // One kind after the other: no time belongs to two of them, and none is lost.
        let [create, stat, open, readdir, unlink] =
            <[_; 5]>::try_from(spans).unwrap().map(|(_, _, span)| span);
        assert_eq!(
            (create.end_ns, open.end_ns),
            (stat.start_ns, readdir.start_ns)
        );
        assert_eq!(
            stat.end_ns, unlink.start_ns,
            "the second time that files are looked up"
        );
        let together: u64 = record.spans.values().map(|span| span.elapsed_ns).sum();
        assert_eq!(
            (together, unlink.end_ns),
            (record.elapsed_ns, record.elapsed_ns)
        );
        assert_eq!(record.operations.kind("stat").unwrap().count, 800);
        assert_eq!(record.operations_per_second(), None);
    }
    let text = place
        .iopulse("again --num-files 50 --meta create,unlink")
        .succeeded()
        .said;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let of = |kind: &str| rows.iter().find(|row| row.first() == Some(&kind)).unwrap();
    assert_eq!(of("all")[1..], ["-", "-", "100", "-", "0", "-"]);
    assert_ne!(of("create")[1], of("unlink")[1]);
    assert!(!text.contains("working_set"), "{text}");
}

#[test]
fn blocks_by_turns_say_which_bytes_are_none() {
    let place = Place::new();
    let command = "--file-distribution interleaved --block-size 47008 --write-percent 100 --duration 0s --threads 2";
    let tail = |record: &Record| {
        let said = record.notices.iter();
        said.filter(|notice| notice.contains("less than a block"))
            .count()
    };
    assert_eq!(
        tail(&place.measure(&format!("f --file-size 1M {command}"))),
        1
    );
    assert_eq!(
        tail(&place.measure(&format!("g --file-size 470080 {command}"))),
        0
    );
}

#[test]
fn a_threshold_that_is_missed_is_exit_code_3_and_stands_in_the_record() {
    let place = Place::new();
    let sim = "f --engine sim --sim-model latency=100us --duration 200ms --file-size 1M";
    for (threshold, code, said) in [
        ("read.p50<10ms", 0, "threshold     met read.p50<10ms: "),
        ("iops>=10M", 3, "1 of 1 threshold missed"),
        (
            "write.p99<1s",
            2,
            "no operations of the kind \"write\"; the kinds there are read",
        ),
        ("speed>1", 2, "\"speed\" is no metric"),
    ] {
        let ran = place.iopulse(&format!("{sim} --threshold {threshold}"));
        let text = format!("{}{}", ran.said, ran.complained);
        assert!(
            ran.code == Some(code) && text.contains(said),
            "{threshold}: {code} {text}"
        );
        if let Some(record) = ran.record {
            let [result] = record.thresholds().try_into().unwrap();
            assert_eq!((result.holds, record.outcome.exit_code), (code == 0, code));
        }
    }
}
