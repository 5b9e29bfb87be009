//! Servers that do not last a slot, and what they leave.

use super::{in_dir, names, records, text, with_plan};

/// Two arms of a server without a network, and a number that its client states.
fn plan(server: &str, client: &str) -> String {
    format!(
        r#"
better = "lower"
metric = "value:speed"
passes = 6
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[server]
command = '''sh -c "{server}"'''
ready = {{ line = "^ready {{value}}", within = "60s" }}
[workload]
command = '''sh -c "{client}"'''
read = {{ name = "speed", regex = "speed: ([0-9.]+)", unit = "ms" }}
[[arm]]
name = "first"
set = {{ value = "10" }}
[[arm]]
name = "second"
set = {{ value = "12" }}
"#
    )
}

const SERVES: &str = "echo ready {value}; exec sleep 1000";

#[test]
fn a_server_that_dies_while_it_is_asked_fails_the_slot_whatever_the_client_says() {
    // What has ended and was not waited for yet is still there, and says so.
    let client = "kill -9 {pid}; while grep -q '^State:.[^Z]' /proc/{pid}/status; do :; done; echo speed: {value}.{pass}5";
    let dir = with_plan(&plan(SERVES, client));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let why = "the server ended during the slot: ended by signal 9; it printed: ready 1";
    assert!(told.contains(why), "{told}");
    let records = records(dir.path());
    let slots = records.iter().filter(|record| !record["trial"].is_null());
    assert!(slots.clone().count() >= 3, "{told}");
    for slot in slots {
        assert_eq!(slot["outcome"]["status"], "failed", "{slot}");
    }
}

#[test]
fn what_a_server_leaves_on_the_disk_is_gone_before_the_next_slot_and_its_children_with_it() {
    let server = "ls -A {scratch} > {scratch}/found; head -c 1000000 /dev/zero > {scratch}/leak-{value}; sleep 1000 & echo ready {value}; wait";
    let client = "if grep -q leak {scratch}/found; then exit 9; fi; echo speed: {value}.{pass}5";
    let dir = with_plan(&plan(server, client));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{told}");
    let records = records(dir.path());
    let slots = records.iter().filter(|record| !record["trial"].is_null());
    assert_eq!(slots.count(), 12, "{told}");
    assert_eq!(names(dir.path()), ["p.jsonl", "p.plan.toml", "p.toml"]);
}

#[test]
fn a_foreign_server_in_the_place_of_an_arm_is_never_measured() {
    let foreign = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = foreign.local_addr().unwrap();
    for ready in [
        format!("ready = {{ tcp = \"{address}\", within = \"60s\" }}"),
        format!("ready = {{ http = \"http://{address}/\", within = \"60s\" }}"),
    ] {
        let plan = plan("exec sleep {value}00", "echo speed: {value}.{pass}5");
        let own = plan.lines().find(|line| line.starts_with("ready")).unwrap();
        let dir = with_plan(&plan.replace(own, &ready));
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let why = format!("another server listens on {address} already");
        assert!(told.contains(&why), "{told}");
        for slot in records(dir.path()) {
            assert_ne!(slot["outcome"]["status"], "ok", "{slot}");
        }
    }
}

/// A server that says which port it got, and never listens there itself; the test does, as a
/// program would that took the port between the look at it and the start.
#[test]
fn who_takes_the_port_after_the_look_at_it_is_never_measured() {
    let plan = plan(
        "echo {port} > ports; exec sleep {value}00",
        "echo speed: {value}.{pass}5",
    );
    let own = plan.lines().find(|line| line.starts_with("ready")).unwrap();
    let ready =
        "ready = { tcp = \"127.0.0.1:{port}\", within = \"60s\" }\ndirectory = \"../../..\"";
    let dir = with_plan(&plan.replace(own, ready));
    let ports = dir.path().join("ports");
    let made = std::process::Command::new("mkfifo").arg(&ports).status();
    assert!(made.unwrap().success());
    let fifo = ports.clone();
    let taker = std::thread::spawn(move || {
        let mut taken = Vec::new();
        loop {
            let said = std::fs::read_to_string(&fifo).unwrap();
            match said.trim().parse::<u16>().unwrap() {
                0 => return taken.len(),
                port => taken.push(std::net::TcpListener::bind(("127.0.0.1", port)).unwrap()),
            }
        }
    });
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    std::fs::write(&ports, "0\n").unwrap();
    assert!(taker.join().unwrap() >= 3);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let why = format!("itself: process {} (lab-", std::process::id());
    assert!(told.contains(&why), "{told}");
    for slot in records(dir.path()) {
        assert_ne!(slot["outcome"]["status"], "ok", "{slot}");
    }
}
