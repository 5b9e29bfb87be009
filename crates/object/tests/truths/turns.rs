//! How long arrivals that were counted out are measured, and which they are.

use super::ranks::both;
use super::server::{Act, Server};
use super::{MS, adjusted, kind, plan, run};
use object::{Adjustments, LoadPlan, Scenario, Spacing};
use record::Record;

/// So many turns at a rate, of a course that is longer than they take.
fn counted_out(server: &Server, turns: u64, (rate, spacing): (f64, Spacing), ms: u64) -> LoadPlan {
    let changes = Adjustments {
        rate: Some(rate),
        spacing: Some(spacing),
        ..adjusted("get", 8, ms)
    };
    let scenario = Scenario::preset("get").unwrap().adjusted(&changes).unwrap();
    let mut plan = plan(scenario, &server.s3("bucket"));
    plan.iterations = Some(turns);
    plan
}

const EVENLY: (f64, Spacing) = (4.0, Spacing::Constant);

/// Of three turns, of which a busy machine may answer the last when its time is over.
fn assert_is_measured_for_three(record: &Record, what: &str) {
    let latency = kind(record, "get").latency.max().unwrap();
    let most = (500 * MS + latency).max(750 * MS);
    let elapsed = record.elapsed_ns;
    assert!((750 * MS..=most).contains(&elapsed), "{what}: {elapsed}");
}

/// Threads see it some time later, each when it looks, and the next of the first would be due after a second.
#[test]
fn turns_that_were_counted_out_are_measured_until_the_next_of_all_would_be_due() {
    let server = Server::start(|_| Act::Answer);
    for threads in [1, 4] {
        // The course may end at that moment.
        for course_ms in [60_000, 750] {
            let mut plan = counted_out(&server, 3, EVENLY, course_ms);
            plan.threads = threads;
            let record = run(&plan);
            assert_eq!(kind(&record, "get").count, 3);
            assert_is_measured_for_three(&record, &format!("{threads} {course_ms}"));
        }
    }
}

#[test]
fn turns_that_were_counted_out_are_measured_until_an_answer_that_comes_later() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "GET" => Act::Late(600),
        _ => Act::Answer,
    });
    let record = run(&counted_out(&server, 3, EVENLY, 60_000));
    let ended = record.workers.iter().map(|worker| worker.ended_ns).max();
    assert!(record.elapsed_ns >= 1100 * MS, "{}", record.elapsed_ns);
    assert!(Some(record.elapsed_ns) < ended, "a thread sees it later");
}

#[test]
fn turns_by_chance_that_were_counted_out_are_measured_until_their_last_answer() {
    let server = Server::start(|_| Act::Answer);
    let by_chance = (400.0, Spacing::Poisson);
    let record = run(&counted_out(&server, 20, by_chance, 60_000));
    assert_eq!(kind(&record, "get").count, 20);
    let ended = record.workers.iter().map(|worker| worker.ended_ns).max();
    assert!(Some(record.elapsed_ns) < ended, "a thread sees it later");
}

/// One arrival is due before the measured time, the first rank's.
#[test]
fn ranks_do_the_turns_that_follow_the_warm_up_and_end_together() {
    let server = Server::start(|_| Act::Answer);
    let mut whole = counted_out(&server, 3, EVENLY, 60_000);
    whole.warmup_ns = 250 * MS;
    let parts = both(&whole, None).map(|part| part.unwrap());
    let done = parts.each_ref().map(|part| kind(part, "get").count);
    assert_eq!(done, [1, 2]);
    for part in &parts {
        assert_is_measured_for_three(part, "a rank");
    }
}
