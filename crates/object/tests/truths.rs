//! Loads against a server whose behaviour is known: what is measured must be what it did.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

#[path = "truths/http2.rs"]
mod http2;
#[path = "truths/left.rs"]
mod left;
#[path = "truths/ranks.rs"]
mod ranks;
#[path = "store/server.rs"]
mod server;
#[path = "store/tls.rs"]
mod tls;
#[path = "truths/turns.rs"]
mod turns;

use host::{Context, Machine, NoWatch, Observed};
use object::{
    Adjustments, Credentials, HttpVersion, LoadError, LoadPlan, LoadTarget, Scenario, Trust,
    execute,
};
use record::{Calibration, FathomVersion, Operations, Record, Status, Threshold};
use server::{Act, Part, Server};
use std::path::Path;
use sys::MachineClock;

const MS: u64 = 1_000_000;

fn plan(scenario: Scenario, target: &str) -> LoadPlan {
    LoadPlan {
        scenario,
        target: LoadTarget::parse(target).unwrap(),
        headers: Vec::new(),
        credentials: Some(Credentials {
            access_key: "AKIAEXAMPLE".into(),
            secret_key: "hidden-secret".into(),
            session_token: None,
            region: "us-east-1".into(),
        }),
        trust: Trust::Public,
        threads: 2,
        timeout_ns: 5_000 * MS,
        retries: 0,
        new_connections: false,
        version: HttpVersion::One,
        seed: 7,
        keep: false,
        iterations: None,
        warmup_ns: 0,
        secret: None,
        guest: None,
        server_counters: false,
        share: object::LoadShare::default(),
        of_all: None,
        step_per_second: None,
    }
}

fn context() -> Context {
    Context {
        clock: MachineClock::monotonic(),
        machine: Machine::at(Path::new("/")),
        fathom: FathomVersion::default(),
        calibration: Calibration::default(),
        interval_ns: 100 * MS,
        target: None,
        common_start: None,
        snapshots: None,
    }
}

fn adjusted(name: &str, users: u32, ms: u64) -> Adjustments {
    let seeds = Scenario::preset(name)
        .filter(|preset| preset.seed_count() > 20)
        .map(|_| 20);
    Adjustments {
        users: Some(users),
        duration_ns: Some(ms * MS),
        think_ns: Some(0),
        seeds,
        ..Adjustments::default()
    }
}

fn preset(name: &str, users: u32, ms: u64) -> Scenario {
    Scenario::preset(name)
        .unwrap()
        .adjusted(&adjusted(name, users, ms))
        .unwrap()
}

/// Reads of the four quarters of objects.
fn in_parts() -> Scenario {
    let changes = Adjustments {
        range: Some(1024),
        ..adjusted("get", 2, 60_000)
    };
    Scenario::preset("get").unwrap().adjusted(&changes).unwrap()
}

fn run(plan: &LoadPlan) -> Record {
    execute(plan, &context(), &mut NoWatch).unwrap()
}

fn kind(record: &Record, name: &str) -> Operations {
    record.operations.kind(name).cloned().unwrap_or_default()
}

/// Requests of setup, load and teardown, as the generator counts them; the bucket's own apart.
fn claimed(record: &Record) -> u64 {
    let load = record.load.as_ref().unwrap();
    let all = [&record.operations, &load.setup, &load.teardown];
    all.iter()
        .map(|measured| measured.count() + measured.errors())
        .sum::<u64>()
        + load.retries
        - load.connections_failed
}

#[test]
fn a_fixed_number_of_operations_arrives_exactly_and_nothing_is_left() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("get", 4, 60_000), &server.s3("bucket"));
    plan.iterations = Some(500);
    let record = run(&plan);
    let get = kind(&record, "get");
    assert_eq!((get.count, get.errors, get.bytes), (500, 0, 500 * 4096));
    assert_eq!(
        (
            server.count("GET"),
            server.count("PUT"),
            server.count("DELETE")
        ),
        (500, 20, 20)
    );
    // The bucket is asked for, made, and removed.
    assert_eq!((server.count("bucket"), server.objects()), (3, 0));
    assert_eq!(claimed(&record) + 3, server.requests());
    assert_eq!(
        (record.outcome.status, record.outcome.exit_code),
        (Status::Ok, 0)
    );
    let load = record.load.unwrap();
    // On a busy machine the first users may have done all of it before the last has connected.
    assert!(
        (1..=4).contains(&load.connections_opened),
        "{}",
        load.connections_opened
    );
    assert_eq!((load.signing.requests, load.left_behind), (500, 0));
    assert!(load.signing.total_ns > 0 && load.iterations.count() == 500);
}

#[test]
fn a_part_that_is_not_the_one_that_was_asked_for_is_an_error() {
    for (part, why) in [
        (Part::Right, None),
        (
            Part::First,
            Some("the answer is another part than was asked for"),
        ),
        (
            Part::Unnamed,
            Some("the answer does not say which part it is (Content-Range)"),
        ),
        (
            Part::OfAnother,
            Some("the answer is a part of something of another length than the object"),
        ),
    ] {
        let server = Server::start(move |_| Act::Part(part));
        let mut plan = plan(in_parts(), &server.s3("bucket"));
        plan.iterations = Some(200);
        let record = run(&plan);
        let get = kind(&record, "get");
        assert_eq!(get.count + get.errors, 200, "{part:?}");
        let told: Vec<&str> = record.errors.iter().map(|of| of.error.as_str()).collect();
        assert_eq!(told, Vec::from_iter(why), "{part:?}");
        // A part that lies at the beginning is the right one.
        match part {
            Part::Right => assert_eq!(get.count, 200),
            Part::First => assert!((1..150).contains(&get.count), "{get:?}"),
            Part::Unnamed | Part::OfAnother => assert_eq!(get.count, 0),
        }
    }
}

#[test]
fn pauses_at_the_end_are_measured_time() {
    let server = Server::start(|_| Act::Answer);
    let changes = Adjustments {
        users: Some(1),
        duration_ns: Some(900 * MS),
        think_ns: Some(600 * MS),
        ..Adjustments::default()
    };
    let scenario = Scenario::preset("put").unwrap().adjusted(&changes).unwrap();
    let record = run(&plan(scenario, &server.s3("bucket")));
    // Begun at 0 and at 600 ms: the last answer is long before the end.
    assert!((1..=2).contains(&record.operations.count()));
    assert!(record.elapsed_ns >= 900 * MS, "{}", record.elapsed_ns);
}

#[test]
fn what_was_there_before_stays() {
    let server = Server::start(|_| Act::Answer);
    server
        .state
        .objects
        .lock()
        .unwrap()
        .insert("/bucket".into(), Vec::new());
    server
        .state
        .objects
        .lock()
        .unwrap()
        .insert("/bucket/theirs".into(), b"x".to_vec());
    let mut plan = plan(preset("upload", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(20);
    run(&plan);
    let objects = server.state.objects.lock().unwrap();
    assert_eq!(
        objects.keys().map(String::as_str).collect::<Vec<_>>(),
        ["/bucket", "/bucket/theirs"]
    );
}

#[test]
fn what_shall_be_kept_is_kept() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("put", 2, 60_000), &server.s3("bucket"));
    (plan.iterations, plan.keep) = (Some(10), true);
    let record = run(&plan);
    assert_eq!(
        (server.objects(), record.load.unwrap().left_behind),
        (11, 10)
    );
}

#[test]
fn a_delay_is_waiting_and_not_sending_or_receiving() {
    let server = Server::start(|asked| {
        if asked.method == "GET" {
            Act::Late(5)
        } else {
            Act::Answer
        }
    });
    let mut plan = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(60);
    let record = run(&plan);
    let phases = &record.load.as_ref().unwrap().phases["get"];
    let waiting = phases.waiting.quantile(0.5).unwrap();
    assert!((4e6..100e6).contains(&waiting), "{waiting}");
    // A request may lie in the kernel's hands before this process learns that it was sent, but not
    // before it was issued.
    assert!(kind(&record, "get").latency.min() >= Some(5 * MS));
    assert!(
        phases.sending.quantile(0.5).unwrap() < waiting
            && phases.receiving.quantile(0.5).unwrap() < waiting
    );
    // Two connections were opened by the sixty requests.
    assert_eq!((phases.connecting.count(), phases.sending.count()), (2, 60));
    // Little's law: two users that wait all the time.
    let in_flight = record.loops.in_flight_ns as f64 / record.elapsed_ns as f64;
    assert!((1.5..=2.05).contains(&in_flight), "{in_flight}");
}

#[test]
fn an_open_loop_counts_from_when_it_should_have_begun() {
    // One answer comes 300 ms late; with one connection, everything due meanwhile is late as well.
    let stalled = std::sync::atomic::AtomicBool::new(false);
    let server = Server::start(move |asked| {
        let is_victim = asked.method == "GET"
            && asked.number > 60
            && !stalled.swap(true, std::sync::atomic::Ordering::SeqCst);
        if is_victim {
            Act::Late(300)
        } else {
            Act::Answer
        }
    });
    let spacing = Some(object::Spacing::Constant);
    let changes = Adjustments {
        rate: Some(200.0),
        spacing,
        ..adjusted("get", 1, 1000)
    };
    let scenario = Scenario::preset("get").unwrap().adjusted(&changes).unwrap();
    let record = run(&plan(scenario, &server.s3("bucket")));
    let get = kind(&record, "get");
    let service = get.service.clone().unwrap();
    assert_eq!(get.count + record.pace.as_ref().unwrap().unsent, 200);
    assert!(
        get.latency.quantile(0.9).unwrap() > 50e6,
        "from the intended start: {:?}",
        get.latency.quantile(0.9)
    );
    let slow = service
        .buckets()
        .filter(|(low, ..)| *low > 200 * MS)
        .map(|(.., count)| count)
        .sum::<u64>();
    assert!(slow <= 2, "only the victim itself was slow: {slow}");
    let load = record.load.unwrap();
    assert!(load.queued >= 40 && load.lateness.unwrap().count() + load.queued == get.count);
}

#[test]
fn an_overloaded_target_leaves_operations_unsent_and_says_how_old_they_are() {
    let server = Server::start(|asked| {
        if asked.method == "GET" {
            Act::Late(50)
        } else {
            Act::Answer
        }
    });
    let changes = Adjustments {
        rate: Some(500.0),
        ..adjusted("get", 2, 500)
    };
    let scenario = Scenario::preset("get").unwrap().adjusted(&changes).unwrap();
    let record = run(&plan(scenario, &server.s3("bucket")));
    let pace = record.pace.as_ref().unwrap();
    assert!(
        pace.unsent > 100 && pace.achieved_per_second < 100.0,
        "{pace:?}"
    );
    assert_eq!(
        record
            .load
            .as_ref()
            .unwrap()
            .unsent_age
            .as_ref()
            .unwrap()
            .count(),
        pace.unsent
    );
}

#[test]
fn the_rate_of_turns_that_were_counted_out_is_that_at_which_they_began() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "GET" => Act::Late(300),
        _ => Act::Answer,
    });
    let of = |users| {
        let spacing = Some(object::Spacing::Constant);
        let changes = Adjustments {
            rate: Some(200.0),
            spacing,
            ..adjusted("get", users, 60_000)
        };
        let scenario = Scenario::preset("get").unwrap().adjusted(&changes).unwrap();
        let mut plan = plan(scenario, &server.s3("bucket"));
        plan.iterations = Some(40);
        let record = run(&plan);
        assert_eq!(kind(&record, "get").count, 40);
        record.pace.unwrap()
    };
    let kept = of(60);
    let wanted = 200 * MS..450 * MS;
    assert!(
        wanted.contains(&kept.over_ns.unwrap()),
        "answers are no part of it: {kept:?}"
    );
    // Two waves of twenty, of which the last begins with the answers to the first.
    let waited = of(20);
    assert!(waited.over_ns.unwrap() >= 300 * MS, "{waited:?}");
    assert!(waited.achieved_per_second < 150.0, "{waited:?}");
}

#[test]
fn a_flipped_bit_is_found_with_its_place() {
    let server = Server::start(|asked| {
        if asked.method == "GET" && asked.number % 7 == 0 {
            Act::Flip(1234)
        } else {
            Act::Answer
        }
    });
    let changes = Adjustments {
        verify: true,
        ..adjusted("get", 3, 60_000)
    };
    let mut plan = plan(
        Scenario::preset("get").unwrap().adjusted(&changes).unwrap(),
        &server.s3("bucket"),
    );
    plan.iterations = Some(140);
    let record = run(&plan);
    let (get, verification) = (kind(&record, "get"), record.verification.unwrap());
    assert_eq!(
        (get.count + get.errors, verification.operations),
        (140, 140)
    );
    assert_eq!((verification.failures, get.errors), (20, 20));
    assert_eq!(
        record.errors[0].class,
        Some(record::ErrorClass::Verification)
    );
    assert_eq!(verification.first[0].offset, 1234);
    assert_eq!(
        (record.outcome.status, record.outcome.exit_code),
        (Status::Failed, 1)
    );
}

#[test]
fn sound_objects_of_every_kind_pass_verification() {
    for act in [Act::Answer, Act::Chunked] {
        let server = Server::start(move |asked| {
            if asked.method == "GET" {
                act
            } else {
                Act::Answer
            }
        });
        let mut plan = plan(preset("put-get-verify", 3, 60_000), &server.s3("bucket"));
        plan.iterations = Some(30);
        let record = run(&plan);
        let verification = record.verification.clone().unwrap();
        assert_eq!(
            (verification.operations, verification.failures),
            (30, 0),
            "{:?}",
            record.errors
        );
        assert_eq!(
            (
                kind(&record, "put").count,
                kind(&record, "get").count,
                kind(&record, "delete").count
            ),
            (30, 30, 30)
        );
        assert_eq!(kind(&record, "put").bytes, kind(&record, "get").bytes);
    }
}

#[test]
fn short_long_and_broken_answers_are_errors_under_their_own_names() {
    for (act, words) in [
        (Act::Cut, "the connection ended inside the answer"),
        (
            Act::OtherLength,
            "the answer has another length than the object",
        ),
        (Act::Hang, "connection closed before an answer"),
        (Act::Status(503, "SlowDown"), "HTTP 503 SlowDown"),
        (Act::Status(404, "NoSuchKey"), "HTTP 404 NoSuchKey"),
    ] {
        let server = Server::start(move |asked| {
            if asked.method == "GET" && asked.number.is_multiple_of(5) {
                act
            } else {
                Act::Answer
            }
        });
        let mut plan = plan(preset("get", 2, 60_000), &server.s3("bucket"));
        plan.iterations = Some(50);
        let record = run(&plan);
        let get = kind(&record, "get");
        assert_eq!(
            (get.count, get.errors, get.latency.count()),
            (40, 10, 40),
            "{act:?} {:?}",
            record.errors
        );
        assert_eq!(
            record
                .errors
                .iter()
                .map(|error| (error.error.as_str(), error.count))
                .collect::<Vec<_>>(),
            [(words, 10)]
        );
        assert_eq!(claimed(&record) + 3, server.requests(), "{act:?}");
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Failed, 1)
        );
    }
}

#[test]
fn tolerated_failures_do_not_fail_the_run() {
    let server = Server::start(|asked| {
        if asked.method == "GET" && asked.number.is_multiple_of(5) {
            Act::Status(500, "X")
        } else {
            Act::Answer
        }
    });
    let changes = Adjustments {
        thresholds: vec![Threshold::parse("errors<30%").unwrap()],
        ..adjusted("get", 2, 60_000)
    };
    let mut plan = plan(
        Scenario::preset("get").unwrap().adjusted(&changes).unwrap(),
        &server.s3("bucket"),
    );
    plan.iterations = Some(50);
    assert_eq!(run(&plan).outcome.exit_code, 0);
    plan.scenario.thresholds = vec![Threshold::parse("errors<10%").unwrap()];
    let record = run(&plan);
    assert_eq!(record.outcome.exit_code, 3);
    assert!(record.thresholds()[0].measured.ends_with("above the limit"));
}

#[test]
fn retries_are_counted_and_the_operation_once() {
    let server = Server::start(|asked| {
        if asked.method == "GET" && asked.number.is_multiple_of(5) {
            Act::Status(503, "SlowDown")
        } else {
            Act::Answer
        }
    });
    let mut plan = plan(preset("get", 1, 60_000), &server.s3("bucket"));
    (plan.iterations, plan.retries) = (Some(20), 3);
    let record = run(&plan);
    let (get, load) = (kind(&record, "get"), record.load.clone().unwrap());
    assert_eq!((get.count, get.errors), (20, 0));
    assert!(load.retries >= 4);
    assert_eq!(claimed(&record) + 3, server.requests());
}

#[test]
fn a_timeout_is_an_error_and_ends_the_connection() {
    let server = Server::start(|asked| {
        if asked.method == "GET" && asked.number == 30 {
            Act::Late(1000)
        } else {
            Act::Answer
        }
    });
    let mut plan = plan(preset("get", 1, 60_000), &server.s3("bucket"));
    (plan.iterations, plan.timeout_ns) = (Some(20), 200 * MS);
    let record = run(&plan);
    assert_eq!(
        record
            .errors
            .iter()
            .map(|error| (error.error.as_str(), error.count))
            .collect::<Vec<_>>(),
        [("timeout", 1)]
    );
    assert_eq!(record.load.unwrap().connections_opened, 2);
}

#[test]
fn a_server_that_closes_idle_connections_costs_connections_and_no_errors() {
    let server = Server::start(|asked| {
        if asked.number.is_multiple_of(3) {
            Act::AnswerAndClose
        } else {
            Act::Answer
        }
    });
    let mut plan = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(60);
    let record = run(&plan);
    assert_eq!(
        (kind(&record, "get").count, record.operations.errors()),
        (60, 0),
        "{:?}",
        record.errors
    );
    assert!(record.load.unwrap().connections_opened > 10);
}

#[test]
fn new_connections_are_one_a_request() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    (plan.iterations, plan.new_connections) = (Some(40), true);
    let record = run(&plan);
    let load = record.load.unwrap();
    assert_eq!(
        (
            load.connections_opened,
            load.phases["get"].connecting.count()
        ),
        (40, 40)
    );
}

#[test]
fn a_server_that_dies_is_not_asked_in_a_spin_and_what_was_measured_is_kept() {
    let state: std::sync::Arc<std::sync::OnceLock<std::sync::Arc<server::State>>> =
        std::sync::Arc::default();
    let seen = std::sync::Arc::clone(&state);
    let server = Server::start(move |asked| {
        if asked.method == "GET"
            && asked.number > 60
            && let Some(state) = seen.get()
        {
            state.stop();
        }
        Act::Answer
    });
    state
        .set(std::sync::Arc::clone(&server.state))
        .ok()
        .unwrap();
    let record = run(&plan(preset("get", 4, 1000), &server.s3("bucket")));
    let get = kind(&record, "get");
    assert!(
        get.count > 20 && get.errors > 4,
        "{} {}",
        get.count,
        get.errors
    );
    // Pauses of 10, 20, 40, … ms leave each of four users at most a dozen tries in a second.
    assert!(get.errors < 60, "{}", get.errors);
    assert_eq!(record.outcome.exit_code, 1);
    assert!(
        record
            .notes()
            .iter()
            .any(|note| note.contains("could not be removed"))
    );
}

#[test]
fn objects_that_may_never_have_come_to_be_are_at_most_left() {
    for fails in [true, false] {
        let server = Server::start(move |asked| {
            let is_object = asked.path.matches('/').count() > 1;
            match asked.method.as_str() {
                "DELETE" if is_object => Act::Status(403, "AccessDenied"),
                "PUT" if is_object && fails && asked.number % 2 == 0 => {
                    Act::Status(503, "SlowDown")
                }
                _ => Act::Answer,
            }
        });
        let mut plan = plan(preset("put", 2, 60_000), &server.s3("bucket"));
        plan.iterations = Some(20);
        let record = run(&plan);
        let [left] = record.left_over.as_slice() else {
            panic!("{:?}", record.left_over);
        };
        assert_eq!((left.count, left.is_at_most), (20, fails));
        assert_eq!(server.objects() < 20, fails, "{}", server.objects());
    }
}

#[test]
fn a_target_that_is_not_there_is_told() {
    let port = { Server::start(|_| Act::Answer).port };
    let error = execute(
        &plan(
            preset("get", 1, 100),
            &format!("s3://bucket@http://127.0.0.1:{port}"),
        ),
        &context(),
        &mut NoWatch,
    );
    assert!(
        matches!(&error, Err(LoadError::Target(said)) if said.contains("is the server running")),
        "{error:?}"
    );
    let server = Server::start(|_| Act::Status(403, "InvalidAccessKeyId"));
    let error = execute(
        &plan(preset("get", 1, 100), &server.s3("bucket")),
        &context(),
        &mut NoWatch,
    );
    assert!(
        matches!(&error, Err(LoadError::Asked(said)) if said.contains("InvalidAccessKeyId") && said.contains("AWS_SECRET_ACCESS_KEY")),
        "{error:?}"
    );
}

#[test]
fn buckets_that_were_made_before_a_server_refused_are_removed_again_or_told() {
    for is_removable in [true, false] {
        let first = Server::start(move |asked| match asked.method.as_str() {
            "DELETE" if !is_removable => Act::Status(409, "BucketNotEmpty"),
            _ => Act::Answer,
        });
        let second = Server::start(|_| Act::Status(403, "AccessDenied"));
        let target = format!("{},http://127.0.0.1:{}", first.s3("bucket"), second.port);
        let plan = plan(preset("get", 2, 60_000), &target);
        let error = execute(&plan, &context(), &mut NoWatch).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("refuses access to bucket"), "{error}");
        assert_eq!(first.objects() == 0, is_removable, "{error}");
        let left = format!("; it is left at 127.0.0.1:{}/bucket", first.port);
        assert_eq!(error.contains(&left), !is_removable, "{error}");
    }
}

#[test]
fn the_mix_is_kept_within_binomial_bounds_and_users_follow_the_ramp() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("mixed", 8, 60_000), &server.s3("bucket"));
    plan.iterations = Some(2000);
    let record = run(&plan);
    let skipped = record.load.as_ref().unwrap().skipped;
    for (name, share) in [
        ("put", 0.40),
        ("get", 0.50),
        ("list", 0.07),
        ("delete", 0.03),
    ] {
        let seen = kind(&record, name).count as f64;
        let slack = 5.0 * (2000.0 * share * (1.0_f64 - share)).sqrt()
            + if name == "delete" {
                skipped as f64
            } else {
                0.0
            };
        assert!((seen - 2000.0 * share).abs() <= slack, "{name} {seen}");
    }
    assert_eq!(record.operations.count() + skipped, 2000);
    assert_eq!(
        (record.operations.errors(), server.objects()),
        (0, 0),
        "{:?}",
        record.errors
    );
}

#[test]
fn a_ramp_brings_users_one_after_another() {
    let server = Server::start(|asked| {
        if asked.method == "GET" {
            Act::Late(2)
        } else {
            Act::Answer
        }
    });
    let scenario = Scenario::preset("download").unwrap();
    let changes = Adjustments {
        scale: Some(0.005),
        users: Some(10),
        think_ns: Some(0),
        ..Adjustments::default()
    };
    let record = run(&plan(
        scenario.adjusted(&changes).unwrap(),
        &server.s3("bucket"),
    ));
    let load = record.load.unwrap();
    assert!(
        load.users.first() < load.users.iter().max() && load.users.iter().max() == Some(&10),
        "{:?}",
        load.users
    );
    assert_eq!(load.connections_opened, 10);
    assert_eq!(load.users.len(), record.series.len());
}

#[test]
fn a_multipart_upload_is_whole() {
    let server = Server::start(|_| Act::Answer);
    let sizes = object::ObjectSizes::parse("12MiB").ok();
    let changes = Adjustments {
        sizes,
        ..adjusted("multipart", 1, 60_000)
    };
    let mut plan = plan(
        Scenario::preset("multipart")
            .unwrap()
            .adjusted(&changes)
            .unwrap(),
        &server.s3("bucket"),
    );
    (plan.iterations, plan.keep) = (Some(2), true);
    let record = run(&plan);
    assert_eq!(
        (
            kind(&record, "multipart_part").count,
            kind(&record, "multipart_complete").count
        ),
        (6, 2),
        "{:?}",
        record.errors
    );
    assert_eq!(kind(&record, "multipart_part").bytes, 24 << 20);
    let objects = server.state.objects.lock().unwrap();
    let sizes: Vec<usize> = objects
        .values()
        .map(Vec::len)
        .filter(|length| *length > 0)
        .collect();
    assert_eq!(sizes, [12 << 20, 12 << 20]);
}

#[test]
fn a_failed_part_aborts_the_upload() {
    let server = Server::start(|asked| {
        if asked.query.contains("partNumber=2") {
            Act::Status(500, "InternalError")
        } else {
            Act::Answer
        }
    });
    let mut plan = plan(preset("multipart", 1, 60_000), &server.s3("bucket"));
    plan.iterations = Some(1);
    let record = run(&plan);
    assert_eq!(
        (
            kind(&record, "multipart_abort").count,
            kind(&record, "multipart_part").errors
        ),
        (1, 1)
    );
}

#[test]
fn deleting_ends_when_nothing_is_left() {
    let server = Server::start(|_| Act::Answer);
    let record = run(&plan(preset("delete", 4, 60_000), &server.s3("bucket")));
    assert_eq!(
        (kind(&record, "delete").count, server.count("DELETE")),
        (20, 20)
    );
    assert!(record.elapsed_ns < 30_000 * MS);
}

#[test]
fn plain_http_takes_forms_and_urls() {
    let server = Server::start(|_| Act::Answer);
    let url = format!("http://127.0.0.1:{}/api/entry", server.port);
    let mut plan = plan(preset("post", 2, 60_000), &url);
    plan.iterations = Some(10);
    let record = run(&plan);
    assert_eq!(
        (kind(&record, "post").count, kind(&record, "post").bytes),
        (10, 10 * 65_536)
    );
    assert_eq!(record.load.unwrap().left_behind, 10);
    server
        .state
        .objects
        .lock()
        .unwrap()
        .insert("/api/entry".into(), vec![1; 300]);
    plan.scenario = preset("fetch", 2, 60_000);
    let record = run(&plan);
    assert_eq!(
        (kind(&record, "get").count, kind(&record, "get").bytes),
        (10, 3000)
    );
    assert!(server.requests() == 20);
}

/// Two servers that have the bucket, as one target.
fn two_with_a_bucket() -> ([Server; 2], String) {
    let servers = [
        Server::start(|_| Act::Answer),
        Server::start(|_| Act::Answer),
    ];
    for server in &servers {
        let mut objects = server.state.objects.lock().unwrap();
        objects.insert("/bucket".into(), Vec::new());
    }
    let target = format!(
        "{},http://127.0.0.1:{}",
        servers[0].s3("bucket"),
        servers[1].port
    );
    (servers, target)
}

#[test]
fn several_endpoints_share_the_users() {
    let (servers, target) = two_with_a_bucket();
    let mut plan = plan(preset("put", 4, 1000), &target);
    plan.keep = true;
    let record = run(&plan);
    let counts = [&servers[0], &servers[1]].map(|server| server.count("PUT"));
    assert!(
        counts.iter().all(|count| *count >= 2)
            && counts.iter().sum::<u64>() == record.operations.count(),
        "{counts:?}"
    );
}

/// The first endpoint would else have one user more of each rank.
#[test]
fn the_users_of_all_ranks_take_the_endpoints_in_turn() {
    let (servers, target) = two_with_a_bucket();
    let mut plan = plan(preset("put", 3, 1000), &target);
    plan.keep = true;
    for (rank, most) in [(0, 0), (1, 1)] {
        let record = run(&plan.shared(object::LoadShare { rank, size: 2 }).unwrap());
        let accounts = record.load.unwrap().endpoints;
        let opened = [&servers[0], &servers[1]].map(|server| {
            let address = format!("127.0.0.1:{}", server.port);
            let mut of_it = accounts.iter().filter(|account| account.address == address);
            of_it.next().map_or(0, |account| account.connections_opened)
        });
        assert_eq!(opened, [2 - most, 1 + most], "{rank}");
    }
}

#[test]
fn tls_is_spoken_to_whom_is_believed_and_to_nobody_else() {
    let server = Server::start(|_| Act::Answer);
    let target = format!("s3://bucket@https://127.0.0.1:{}", tls::start(server.port));
    let mut plan = plan(preset("put-get-verify", 2, 60_000), &target);
    plan.iterations = Some(20);
    let error = execute(&plan, &context(), &mut NoWatch).unwrap_err();
    assert!(
        matches!(&error, LoadError::Asked(said) if said.contains("certificate")),
        "{error}"
    );
    for trust in [Trust::File(tls::authority()), Trust::Anybody] {
        plan.trust = trust;
        let record = run(&plan);
        assert_eq!(
            (kind(&record, "get").count, record.operations.errors()),
            (20, 0),
            "{:?}",
            record.errors
        );
        assert!(record.load.unwrap().phases["put"].connecting.count() == 2);
    }
}

#[test]
fn the_cpu_of_a_local_server_is_reported() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("get", 1, 60_000), &server.s3("bucket"));
    plan.iterations = Some(5);
    let context = Context {
        target: Some(Observed::Process(std::process::id())),
        ..context()
    };
    let record = execute(&plan, &context, &mut NoWatch).unwrap();
    let server = record.target().unwrap();
    assert_eq!(server.pid, Some(std::process::id()));
    assert!(server.process.max_resident_bytes > 0);
}

#[test]
fn an_object_larger_than_every_buffer_arrives_whole() {
    let server = Server::start(|_| Act::Answer);
    let sizes = object::ObjectSizes::parse("9MiB").ok();
    let changes = Adjustments {
        sizes,
        ..adjusted("put-get-verify", 1, 60_000)
    };
    let mut plan = plan(
        Scenario::preset("put-get-verify")
            .unwrap()
            .adjusted(&changes)
            .unwrap(),
        &server.s3("bucket"),
    );
    plan.iterations = Some(3);
    let record = run(&plan);
    assert_eq!(
        (kind(&record, "put").bytes, kind(&record, "get").bytes),
        (27 << 20, 27 << 20),
        "{:?}",
        record.errors
    );
    assert_eq!(record.verification.unwrap().failures, 0);
}

#[test]
fn a_large_object_that_nobody_looks_at_is_counted_whole_and_a_cut_one_is_an_error() {
    let server = Server::start(|asked| {
        if asked.method == "GET" && asked.number.is_multiple_of(4) {
            Act::Cut
        } else {
            Act::Answer
        }
    });
    let sizes = object::ObjectSizes::parse("3MiB").ok();
    let changes = Adjustments {
        sizes,
        seeds: Some(2),
        ..adjusted("get", 2, 60_000)
    };
    let mut plan = plan(
        Scenario::preset("get").unwrap().adjusted(&changes).unwrap(),
        &server.s3("bucket"),
    );
    plan.iterations = Some(20);
    let record = run(&plan);
    let get = kind(&record, "get");
    assert_eq!(
        (get.count, get.errors, get.bytes),
        (15, 5, 15 * (3 << 20)),
        "{:?}",
        record.errors
    );
    assert_eq!(
        record.errors[0].error,
        "the connection ended inside the answer"
    );
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let paths = |seed: u64| {
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&asked);
        let server = Server::start(move |asked| {
            let key = asked.path.rsplit('/').next().unwrap_or_default().to_owned();
            seen.lock().unwrap().push(format!("{} {key}", asked.method));
            Act::Answer
        });
        let mut plan = plan(preset("mixed", 1, 60_000), &server.s3("bucket"));
        // The setup has several connections, and no order.
        (plan.iterations, plan.seed, plan.keep) = (Some(60), seed, true);
        run(&plan);
        asked.lock().unwrap().split_off(22)
    };
    assert_eq!(paths(3), paths(3));
    assert_ne!(paths(3), paths(4));
}

#[test]
fn a_record_holds_no_key() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("get", 1, 60_000), &server.s3("bucket"));
    plan.iterations = Some(1);
    let text = serde_json::to_string(&run(&plan)).unwrap();
    assert!(!text.contains("hidden-secret") && !text.contains("AKIAEXAMPLE"));
}
