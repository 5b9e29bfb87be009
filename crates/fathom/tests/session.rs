//! What several works that start together share, and what belongs to each of them.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

#[path = "../../object/tests/store/server.rs"]
mod server;

use record::{Quantity, QuantityValue, Record, read_records};
use server::{Act, Server};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What two jobs that do no I/O have in common.
const TWO_JOBS: &str = "\
[global]
ioengine=null
rw=randread
size=1g
filename=x
time_based
";

fn fathom(dir: &Path, arguments: &str) -> Command {
    let mut out = Command::new(env!("CARGO_BIN_EXE_fathom"));
    out.args(arguments.split_whitespace())
        .current_dir(dir)
        .env("AWS_ACCESS_KEY_ID", "a")
        .env("AWS_SECRET_ACCESS_KEY", "b")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    out
}

fn records(dir: &Path, arguments: &str) -> Vec<Record> {
    let status = fathom(dir, &format!("{arguments} --records r.jsonl"))
        .status()
        .unwrap();
    assert!(status.success(), "{arguments}: {status}");
    read_records(&dir.join("r.jsonl")).unwrap().records
}

fn two_jobs(runtime: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let jobs = format!("{TWO_JOBS}runtime={runtime}\n[a]\n[b]\n");
    std::fs::write(dir.path().join("two.fio"), jobs).unwrap();
    dir
}

/// CPU time that the threads of a record say of themselves.
fn by_workers(record: &Record) -> u64 {
    let workers = record.workers.iter();
    workers
        .map(|worker| worker.user_ns + worker.system_ns)
        .sum()
}

#[test]
fn jobs_that_run_together_book_their_own_cpu_time_and_name_each_other() {
    let dir = two_jobs("1s");
    let records = records(dir.path(), "run --fio two.fio");
    assert_eq!(records.len(), 2);
    for (record, other) in records.iter().zip(records.iter().rev()) {
        let used = record.generator().process.user_ns + record.generator().process.system_ns;
        assert!(used > 0);
        assert_eq!(used, by_workers(record), "what the other used is its own");
        let in_series: u64 = record.series.iter().map(|interval| interval.cpu_ns).sum();
        let elapsed = record.elapsed_ns;
        assert!(
            in_series < elapsed + elapsed / 10,
            "one thread of this job, not those of both: {in_series} ns in {elapsed} ns"
        );
        assert_eq!(record.companions, std::slice::from_ref(&other.id));
        assert_eq!(record.id.len(), 32);
    }
    assert_ne!(records[0].id, records[1].id);
}

#[test]
fn a_job_alone_books_the_whole_process() {
    let dir = tempfile::tempdir().unwrap();
    let found = records(
        dir.path(),
        "run x --engine null --file-size 1G --duration 300ms",
    );
    let used = found[0].generator().process.user_ns + found[0].generator().process.system_ns;
    assert!(used >= by_workers(&found[0]) && found[0].companions.is_empty());
}

/// A program that is ended when the test is.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _nobody_needs_its_status = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The metrics of a program that runs, once it has counted operations.
fn metrics(program: &mut Running, port: u16) -> String {
    loop {
        assert!(
            program.0.try_wait().unwrap().is_none(),
            "it ended and no operation was told"
        );
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
            std::thread::yield_now();
            continue;
        };
        let mut text = String::new();
        let asked = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
        if asked.is_ok()
            && stream.read_to_string(&mut text).is_ok()
            && text.contains("fathom_operations_total{")
        {
            return text;
        }
    }
}

#[test]
fn live_metrics_count_jobs_that_run_together() {
    let (dir, port) = (two_jobs("20s"), free_port());
    let command =
        format!("run --fio two.fio --live-interval 50ms --prometheus --prometheus-port {port}");
    let mut program = Running(fathom(dir.path(), &command).spawn().unwrap());
    assert!(metrics(&mut program, port).contains("read"));
}

#[test]
fn live_metrics_count_a_load() {
    let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
    let server = Server::start(|_| Act::Answer);
    let command = format!(
        "load get --seeds 3 --users 2 --duration 20s --target {} --live-interval 50ms --prometheus --prometheus-port {port}",
        server.s3("bucket")
    );
    let mut program = Running(fathom(dir.path(), &command).spawn().unwrap());
    assert!(metrics(&mut program, port).contains("get"));
}

#[test]
fn a_load_sees_of_the_machine_and_of_the_server_what_a_run_sees() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(|_| Act::Answer);
    let found = records(
        dir.path(),
        &format!(
            "load get --seeds 3 --users 2 --duration 500ms --series-interval 100ms --target {} --server-pid {}",
            server.s3("bucket"),
            std::process::id()
        ),
    );
    let run = records(
        dir.path(),
        "run x --engine null --file-size 1G --duration 100ms",
    );
    let (load, run) = (&found[0], run.last().unwrap());
    let seen = |record: &Record| {
        let machine = &record.generator().machine;
        [
            machine.throttled_ns.is_some(),
            machine.pressure_cpu_ns.is_some(),
            machine.pressure_io_ns.is_some(),
            machine.pressure_memory_ns.is_some(),
            machine.dirty_before_bytes.is_some(),
            machine.dirty_after_bytes.is_some(),
            machine.swapped_pages.is_some(),
            record.generator().process.storage_written_bytes.is_some(),
            record
                .series
                .iter()
                .all(|interval| interval.steal_share.is_some()),
        ]
    };
    assert_eq!(seen(load), seen(run));
    assert!(seen(load)[4], "the kernel tells everybody what is dirty");
    let used = &load.target().unwrap().process;
    assert!(used.max_resident_bytes > 0);
    assert!(load.series.len() > 2);
    for interval in &load.series {
        assert!(interval.target_cpu_ns.is_some());
        assert!(interval.target_resident_bytes <= Some(used.max_resident_bytes));
    }
}

#[test]
fn a_run_watches_the_server_of_its_target_as_a_load_does() {
    let dir = tempfile::tempdir().unwrap();
    let command = format!(
        "run x --engine null --file-size 1G --duration 200ms --series-interval 50ms --server-pid {}",
        std::process::id()
    );
    let command = format!("{command} --threshold server.rss.max<1TiB");
    let record = &records(dir.path(), &command)[0];
    assert!(record.thresholds[0].holds, "{:?}", record.thresholds);
    assert!(record.target().unwrap().process.max_resident_bytes > 0);
    assert!(
        record
            .series
            .iter()
            .all(|interval| interval.target_cpu_ns.is_some())
    );
    let nobody = fathom(
        dir.path(),
        "run x --engine null --file-size 1G --server-pid 4194999",
    );
    assert_eq!({ nobody }.status().unwrap().code(), Some(2));
}

#[test]
fn what_jobs_share_is_counted_over_the_time_of_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = format!("{TWO_JOBS}[long]\nruntime=1\n[short]\nruntime=200ms\n");
    std::fs::write(dir.path().join("two.fio"), jobs).unwrap();
    let command = format!("run --fio two.fio --server-pid {}", std::process::id());
    let found = records(dir.path(), &command);
    let [long, short] = found.try_into().unwrap();
    for record in [&long, &short] {
        assert!(record.counted_over_ns() >= long.elapsed_ns);
        let window = record.generator().window_ns;
        assert_eq!(record.target().unwrap().window_ns, window);
        let each = Quantity::named("server.cpu/op").of(record);
        assert_eq!(each, QuantityValue::Unknown, "it worked for both");
    }
    assert!(short.elapsed_ns < long.elapsed_ns / 2);
}

#[test]
fn what_ends_with_its_first_operation_used_cpus_in_the_time_in_which_they_were_counted() {
    let dir = tempfile::tempdir().unwrap();
    let command = "run x --engine null --file-size 4K --run-until-complete";
    let [record] = records(dir.path(), command).try_into().unwrap();
    assert_eq!(record.operations.count(), 1);
    let window = record.generator().window_ns.unwrap();
    assert!(window > record.elapsed_ns, "{window}");
    let host = record.generator();
    let used = host.process.user_ns + host.process.system_ns;
    // One thread and a reader of counters: not the two hundred CPUs of one microsecond.
    let most = host.environment.cpu.logical.unwrap() as u64 * window;
    assert!(used <= most + 20_000_000, "{used} ns in {window}");
    assert!(host.machine.busy_share.is_none_or(|share| share <= 1.0));
}

#[test]
fn a_control_group_that_tells_no_times_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let of_version_1 = "nr_periods 0\nthrottled_time 0\n";
    std::fs::write(dir.path().join("cpu.stat"), of_version_1).unwrap();
    let command = format!(
        "run x --engine null --file-size 1G --server-cgroup {}",
        dir.path().display()
    );
    let refused = fathom(dir.path(), &command).status().unwrap();
    assert_eq!(refused.code(), Some(2));
}

#[test]
fn texts_of_records_cannot_steer_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let command = "run x --engine null --file-size 1G --duration 50ms";
    let mut record = records(dir.path(), command).remove(0);
    let read = record.operations.kind("read").unwrap().clone();
    record.operations.insert("a\u{1b}[31m\u{202e}b", read);
    record.name = "n\u{1b}]0;t\u{7}\u{2066}".into();
    let line = serde_json::to_string(&record).unwrap();
    let hostile = "\"status\":\"\\u001b[2J\\u202e";
    let unread = line.replacen("\"status\":\"", hostile, 1);
    assert_ne!(line, unread);
    let lines = format!("{line}\n{unread}\n{line}\n");
    std::fs::write(dir.path().join("h.jsonl"), lines).unwrap();
    let verbs = [
        "audit --all h.jsonl",
        "compare h.jsonl h.jsonl",
        "report h.jsonl -o h.html",
    ];
    for verb in verbs {
        let mut command = fathom(dir.path(), verb);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let said = command.output().unwrap();
        let said = [said.stdout, said.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(said[1].contains("line 2 is skipped"), "{said:?}");
        for text in said {
            let disturbs = |c| c != '\n' && units::disturbs(c);
            assert!(!text.contains(disturbs), "{verb}: {text:?}");
        }
    }
}
