//! Loads as arms of an experiment: `fathom compare --run --load`.

use super::client::{ACCESS, SECRET, Server};
use super::own_server::target;
use super::{code, text};
use record::{Record, Status, read_records};
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn compare(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["compare", "--run", "--load", "get"])
        .args(["--set", "seeds=4", "--set", "object-size=4KiB"])
        // A machine on which other tests run gives shorter slots no time for twenty operations.
        .args(["--slot", "800ms", "--settle", "0s"])
        // Of eight orders drawn by lot nearly all are one in seven of a hundred; then no verdict comes.
        .args(["--order-seed", "2"])
        .args(arguments)
        .env_clear()
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .output()
        .unwrap()
}

#[test]
fn a_server_that_is_slowed_is_found_slower_and_its_objects_are_gone() {
    let fast = Server::start(&["--memory"]);
    let slow = Server::start(&["--memory", "--misbehave", "get.latency=15ms"]);
    let [base, candidate] = [&fast, &slow].map(|server| target("http", &[&server.address]));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let kept = ["--records", file.to_str().unwrap()];
    let asked = ["--set", "users=4", "--blocks", "8", "--metric", "get.p50"];
    let all = [&[base.as_str(), &candidate][..], &asked, &kept].concat();
    let output = compare(&all);
    assert_eq!(code(&output), 3, "{}", text(&output));
    assert!(text(&output).contains("Slower"), "{}", text(&output));
    let mut records: Vec<Record> = read_records(&file).unwrap().records;
    records.retain(|record| record.outcome.status == Status::Ok);
    let slots = records.iter().filter_map(|record| record.trial.as_ref());
    let slots: BTreeSet<_> = slots.map(|trial| (trial.block, &trial.arm)).collect();
    // On a busy machine a slot may fail, and its block is run again.
    assert_eq!(slots.len(), 16, "{}", text(&output));
    let seeds: BTreeSet<&str> = records
        .iter()
        .map(|r| r.effective["seed"].as_str())
        .collect();
    assert_eq!(seeds.len(), 8, "a block has a seed of its own");
    for record in &records {
        let trial = record.trial.as_ref().unwrap();
        assert!(trial.lead_in_ns.is_some_and(|ns| ns >= 400_000_000));
        let load = record.load.as_ref().unwrap();
        assert_eq!(load.left_behind, 0, "what a slot made is gone with it");
        assert_eq!(record.asked["target"], trial.arm);
    }
    for server in [&fast, &slow] {
        let listed = server.client().call("GET", "/bench?list-type=2");
        assert!(!String::from_utf8_lossy(&listed.body).contains("<Key>"));
    }
    // The records alone say the same.
    let again = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["compare", file.to_str().unwrap(), "--metric", "get.p50"])
        .output()
        .unwrap();
    assert_eq!(code(&again), 3, "{}", text(&again));
}

#[test]
fn options_of_a_load_can_be_what_is_compared() {
    let server = Server::start(&["--memory", "--misbehave", "get.latency=20ms"]);
    let url = target("http", &[&server.address]);
    let more = ["--target", &url, "--blocks", "8", "--margin", "10"];
    let output = compare(&[&["users=1", "users=4"][..], &more].concat());
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert!(text(&output).contains("Faster"), "{}", text(&output));
}

#[test]
fn what_cannot_be_an_arm_is_refused_before_anything_is_loaded() {
    let refused = |arguments: &[&str], told: &str| {
        let output = compare(arguments);
        assert_eq!(code(&output), 2, "{}", text(&output));
        assert!(text(&output).contains(told), "{}", text(&output));
    };
    let url = "s3://bench@http://127.0.0.1:1";
    let other = "s3://bench@http://127.0.0.1:2";
    refused(&[url, "user=3"], "did you mean \"users\"?");
    refused(&["users=3", "users=4"], "no --target");
    refused(
        &[url, other, "--set", "users=many"],
        "is no number that fits",
    );
    refused(&[url, other, "--set", "find-knee=p99<1s"], "unknown option");
    refused(
        &[url, other, "--metric", "put.p99"],
        "the kinds there are get",
    );
    refused(&[url, other, "--profile"], "cannot be used with");
}
