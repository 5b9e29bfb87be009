//! Stages, warm-up, the search for a knee, and the server's own counters.

use super::client::Server;
use super::own_server::{load, ok, target};
use super::{code, fathom, text};
use record::{Record, read_records};

/// How many operations of a kind the server says that it saw.
pub(crate) fn saw(record: &Record, kind: &str) -> u64 {
    let server = record.load.as_ref().unwrap().server.as_ref();
    let saw = server.and_then(|server| server.saw.as_ref());
    let saw = saw.expect("the server told what it saw");
    saw.kind(kind).map_or(0, |operations| operations.count)
}

#[test]
fn stages_and_a_warm_up_are_effective_and_the_warm_up_is_counted_apart() {
    let server = Server::start(&["--memory"]);
    let target = target("http", &[&server.address]);
    for (preset, how) in [
        (
            "get",
            &[
                "--stages",
                "400ms:6,600ms:6,300ms:0",
                "--warmup",
                "700ms",
                "--seeds",
                "3",
            ][..],
        ),
        (
            "upload",
            &[
                "--stages",
                "400ms:6,600ms:6,300ms:0",
                "--warmup",
                "700ms",
                "--think-time",
                "1ms",
                "--no-thresholds",
            ],
        ),
    ] {
        let record = ok(&[&[preset, "--target", &target][..], how].concat());
        let effective = |key: &str| record.effective.get(key).map_or("", String::as_str);
        assert_eq!(
            (effective("stages"), effective("warmup")),
            ("0, 6 in 400ms, 6 in 600ms, 0 in 300ms", "700ms")
        );
        let load = record.load.as_ref().unwrap();
        // At the ends of intervals, which a busy machine may see while users leave again.
        assert!(
            load.users
                .iter()
                .max()
                .is_some_and(|most| (2..=6).contains(most)),
            "{:?}",
            load.users
        );
        assert!(record.warmup.count() > 0 && record.warmup.errors() == 0);
        // The warm-up is before the stages, with the one user that a load has at least.
        assert!(
            (600_000_000..1_900_000_000).contains(&record.elapsed_ns),
            "{}",
            record.elapsed_ns
        );
        let kind = if preset == "get" { "get" } else { "put" };
        let count = |measured: &record::Measurements| {
            measured.kind(kind).map_or(0, |operations| operations.count)
        };
        assert_eq!(
            saw(&record, kind),
            count(&record.operations) + count(&record.warmup)
        );
        assert_eq!(load.phases[kind].waiting.count(), count(&record.operations));
    }
}

#[test]
fn iterations_and_arrivals_of_a_warm_up_are_not_those_of_the_load() {
    let server = Server::start(&["--memory"]);
    let target = target("http", &[&server.address]);
    let start = [
        "get", "--target", &target, "--seeds", "3", "--warmup", "500ms",
    ];
    let record = ok(&[
        &start[..],
        &["--users", "2", "--duration", "60s", "--iterations", "50"],
    ]
    .concat());
    assert!(
        record.operations.count() == 50 && record.warmup.count() > 0,
        "{} {}",
        record.operations.count(),
        record.warmup.count()
    );
    let open = [
        "--users",
        "4",
        "--rate",
        "100",
        "--arrival",
        "constant",
        "--duration",
        "1s",
        "--threads",
        "1",
    ];
    let record = ok(&[&start[..], &open].concat());
    let pace = record.pace.as_ref().unwrap();
    assert_eq!(
        (
            record.operations.count() + pace.unsent,
            record.warmup.count()
        ),
        (100, 50)
    );
}

#[test]
fn stages_and_warm_ups_that_are_none_are_told() {
    let start = ["upload", "--target", "s3://bench@http://127.0.0.1:1"];
    for (arguments, told) in [
        (
            &["--stages", "30s"][..],
            "no colon between a time and a level",
        ),
        (&["--stages", "30x:5"], "--stages \"30x:5\""),
        (&["--stages", "30s:many"], "--stages \"30s:many\""),
        (&["--stages", "30s:0"], "above 0"),
        (&["--stages", "30s:1.5"], "a number of users is whole"),
        (
            &["--stages", "30s:5", "--users", "3"],
            "--users cannot be given",
        ),
        (
            &["--stages", "30s:5", "--duration", "3s"],
            "--duration and --rate cannot",
        ),
        (
            &["--stages", "30s:5", "--find-knee", "p99<1s"],
            "--stages cannot be given",
        ),
        (&["--warmup", "soon"], "--warmup"),
        (&["--http2-connections", "3"], "belongs to --http2"),
        (
            &["--http2", "--http2-connections", "0"],
            "--http2-connections 0",
        ),
        (
            &["--http2", "--http2-connections", "51"],
            "the 50 users share them",
        ),
        (&["--http2", "--new-connections"], "give one of them"),
    ] {
        let (_, output) = load(&[&start[..], arguments].concat());
        assert!(
            code(&output) == 2 && text(&output).contains(told),
            "{arguments:?}: {told}\n{}",
            text(&output)
        );
    }
}

#[test]
fn the_server_counts_what_the_generator_counts() {
    let server = Server::start(&["--memory"]);
    let run = [
        "mixed",
        "--target",
        &target("http", &[&server.address]),
        "--users",
        "6",
        "--duration",
        "60s",
        "--think-time",
        "0s",
    ];
    let (mut records, output) = load(&[&run[..], &["--iterations", "1500"]].concat());
    let said = text(&output);
    assert!(
        code(&output) == 0 && !said.contains("server_disagrees"),
        "{said}"
    );
    let mut record = records.remove(0);
    let server = record.load.as_ref().unwrap().server.as_ref().unwrap();
    let told = server.saw.as_ref().expect("the server told what it saw");
    for kind in ["put", "get", "list", "delete"] {
        let own = record.operations.kind(kind).unwrap();
        let theirs = told.kind(kind).unwrap();
        assert!(own.count > 0);
        assert_eq!(
            (theirs.count, theirs.latency.count(), theirs.errors),
            (own.count, own.count, 0),
            "{kind}"
        );
        if kind != "delete" {
            assert_eq!(theirs.bytes, own.bytes, "{kind}");
        }
        // What a client waits for is more than what its server does.
        assert!(theirs.latency.sum() <= own.latency.sum(), "{kind}");
    }
    let counters = &server.counters;
    let put = record.operations.kind("put").unwrap().bytes;
    assert_eq!(counters["fathom_s3_storage_bytes_in_total"], put as f64);
    // One operation that the server knows nothing of.
    let mut gets = record.operations.kind("get").cloned().unwrap();
    gets.count += 1;
    record.operations.insert("get", gets);
    assert!(
        analyze::self_check(&record)
            .iter()
            .any(|finding| finding.rule == "server_disagrees")
    );
}

#[test]
fn copies_hold_what_their_seeds_do_and_are_removed() {
    let server = Server::start(&["--memory"]);
    let run = [
        "copy",
        "--target",
        &target("http", &[&server.address]),
        "--seeds",
        "10",
        "--users",
        "4",
        "--iterations",
        "100",
        "--verify",
    ];
    let (mut records, output) = load(&run);
    let said = text(&output);
    assert!(
        code(&output) == 0 && !said.contains("server_disagrees"),
        "{said}"
    );
    let record = records.remove(0);
    let counts = ["copy", "get", "delete"].map(|kind| {
        let done = record.operations.kind(kind).unwrap();
        (done.count, done.errors)
    });
    assert_eq!(counts, [(100, 0); 3]);
    let bytes = |kind| record.operations.kind(kind).unwrap().bytes;
    assert_eq!((bytes("copy"), bytes("get")), (0, 100 * (64 << 10)));
    assert_eq!(record.load.unwrap().left_behind, 0);
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn a_search_makes_its_objects_once_and_its_last_record_holds_the_curve() {
    let server = Server::start(&["--memory", "--misbehave", "get.latency=5ms"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    for (preset, seeds) in [("get", 7), ("delete", 40)] {
        let run = [
            preset,
            "--target",
            &target("http", &[&server.address]),
            "--seeds",
            &seeds.to_string(),
            "--users",
            "8",
        ]
        .map(str::to_owned);
        let run: Vec<&str> = run.iter().map(String::as_str).collect();
        let search = [
            "--find-knee",
            "p50<1s",
            "--rate",
            "20",
            "--most-rate",
            "80",
            "--step-duration",
            "400ms",
            "--arrival",
            "constant",
        ];
        let output = super::own_server::command(
            &[&run[..], &search, &["--records", file.to_str().unwrap()]].concat(),
        )
        .output()
        .unwrap();
        // On a busy machine a rate may not be kept, and the search goes another way.
        assert!(matches!(code(&output), 0 | 3), "{}", text(&output));
    }
    let records = read_records(&file).unwrap().records;
    let of = |name: &str| {
        records
            .iter()
            .filter(|record| record.name.starts_with(name))
            .collect::<Vec<_>>()
    };
    for (name, made) in [("get@", 7), ("delete@", 40)] {
        let steps = of(name);
        let setups: Vec<u64> = steps
            .iter()
            .map(|record| record.load.as_ref().unwrap().setup.count())
            .collect();
        assert!(setups.len() >= 2 && setups[0] == made, "{setups:?}");
        // A step that deletes finds all objects again.
        assert!(
            setups[1..].iter().all(|again| if name == "get@" {
                *again == 0
            } else {
                (1..=made).contains(again)
            }),
            "{setups:?}"
        );
        let last = steps
            .last()
            .unwrap()
            .load
            .as_ref()
            .unwrap()
            .search
            .as_ref()
            .unwrap();
        for (index, step) in steps.iter().enumerate() {
            let search = step.load.as_ref().unwrap().search.as_ref().unwrap();
            assert_eq!(search.points, last.points[..=index], "{name}");
            assert!(search.threshold == "p50<1s" && search.points[0].asked_per_second == 20.0);
            assert!(
                search
                    .points
                    .iter()
                    .all(|point| point.latency_p50_ns.is_some())
            );
            let held = search
                .points
                .iter()
                .filter(|point| point.holds)
                .map(|point| point.asked_per_second);
            assert_eq!(search.holds_at, held.reduce(f64::max));
        }
    }
    // Each search is one thing to its reader: a curve and what is said of its knee.
    let told = text(
        &fathom(&["report", file.to_str().unwrap()])
            .output()
            .unwrap(),
    );
    let curves = told.matches("Arrival rates of ").count();
    let searches = ["get", "delete"].map(|scenario| {
        let steps = of(&format!("{scenario}@"));
        assert!(
            steps
                .iter()
                .all(|step| step.load.as_ref().unwrap().scenario == scenario)
        );
        usize::from(steps.len() >= 3)
    });
    assert_eq!(curves, searches.iter().sum::<usize>(), "{told}");
    assert!(
        server.client().call("HEAD", "/bench").status == 404,
        "what was made is gone"
    );
}
