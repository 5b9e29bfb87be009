//! What people see while an experiment runs: lines of a log, the page that is served, its news, and
//! what a browser makes of them.
//!
//! A slot of these experiments ends when the test opens a gate, so that nothing here depends on how
//! long anything takes.

#[path = "../../report/tests/html/chromium.rs"]
mod chromium;

use chromium::{NO_BROWSER, chromium};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// An experiment under way whose slots wait at a gate.
struct Underway {
    dir: tempfile::TempDir,
    child: Child,
    /// What it has said on standard error before the address of its page.
    said: Vec<String>,
    log: BufReader<std::process::ChildStderr>,
    address: String,
}

/// A thread that opens the gate as often as somebody stands there.
struct Opener {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

fn plan(dir: &Path, length: &str) {
    let text = format!(
        r#"
question = "Is <b>one</b> of them less?"
better = "lower"
passes = {length}
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[workload]
command = "sh slot.sh {{value}}.{{pass}}5"
read = {{ name = "speed", regex = 'speed: ([0-9.]+)', unit = "ms" }}
[[arm]]
name = "first"
set = {{ value = "5" }}
[[arm]]
name = "second"
set = {{ value = "6" }}
"#
    );
    let write = |name: &str, text: &str| {
        fs::write(dir.join(name), text).expect("the test's directory can be written");
    };
    write("p.toml", &text);
    write("slot.sh", "read line < gate\necho speed: $1\n");
    let made = Command::new("mkfifo").arg(dir.join("gate")).status();
    assert!(made.expect("mkfifo is there").success());
}

impl Underway {
    fn start(length: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory can be made");
        plan(dir.path(), length);
        Self::of(dir, &["lab", "run", "p.toml", "--serve"])
    }

    /// Any command that serves a page.
    fn of(dir: tempfile::TempDir, arguments: &[&str]) -> Self {
        let mut child = Command::new(FATHOM)
            .args(arguments)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut said = Vec::new();
        let address = loop {
            let mut line = String::new();
            assert!(
                log.read_line(&mut line).expect("it is text") > 0,
                "{said:?}"
            );
            if let Some(rest) = line.trim().strip_prefix("live page: http://") {
                break rest.trim_end_matches('/').to_owned();
            }
            said.push(line);
        };
        Self {
            dir,
            child,
            said,
            log,
            address,
        }
    }

    fn open_the_gate(&self) -> Opener {
        let is_over = Arc::new(AtomicBool::new(false));
        let (gate, seen) = (self.dir.path().join("gate"), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !seen.load(Ordering::SeqCst) {
                // A reader that has just left takes the line with it; the next gets another.
                let _nobody_stood_there = fs::write(&gate, "go\n");
            }
        });
        Opener { is_over, thread }
    }

    /// Lets it come to its end; what it said on standard output and error, and its exit code.
    fn ended(mut self, opener: Opener) -> (String, String, Option<i32>) {
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("it is text");
        let mut out = String::new();
        let mut stdout = self.child.stdout.take().expect("it is piped");
        stdout.read_to_string(&mut out).expect("it is text");
        let code = self.child.wait().expect("it ends").code();
        opener.is_over.store(true, Ordering::SeqCst);
        // The thread may stand at the gate: let it in.
        let read = fs::File::options()
            .read(true)
            .write(true)
            .open(self.dir.path().join("gate"));
        opener.thread.join().expect("it does not panic");
        drop(read);
        (out, log, code)
    }

    fn ask(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    fn answer(&self, method: &str, path: &str, host: &str) -> String {
        let mut text = String::new();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let mut stream = self.ask(&request);
        stream.read_to_string(&mut text).expect("it is text");
        text
    }

    fn events(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let host = &self.address;
        let request = format!("GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let lines = BufReader::new(self.ask(&request)).lines();
        let mut kind = String::new();
        lines.map_while(Result::ok).filter_map(move |line| {
            if let Some(rest) = line.strip_prefix("event: ") {
                rest.clone_into(&mut kind);
            }
            let data = line.strip_prefix("data: ")?;
            Some((kind.clone(), data.to_owned()))
        })
    }
}

#[test]
fn an_experiment_is_watched_from_its_first_slot_to_its_verdict() {
    let run = Underway::start("[1, 30]");
    let mut events = run.events();
    let (kind, first) = events.next().expect("there is a first");
    assert_eq!(kind, "whole");
    assert!(
        first.contains("pass 1 of at most 30") || first.contains("passes complete"),
        "{first}"
    );
    let opener = run.open_the_gate();
    let mut has_waited = false;
    let mut last = None;
    for (kind, data) in events.by_ref() {
        let html =
            serde_json::from_str::<serde_json::Value>(&data).unwrap_or_default()["html"].take();
        assert!(
            !html.as_str().unwrap_or_default().contains("<b>one</b>"),
            "{html}"
        );
        has_waited |= data.contains("not judged yet");
        last = Some((kind.clone(), data));
        if kind == "end" {
            break;
        }
    }
    let (kind, text) = last.expect("there are more");
    assert_eq!(kind, "end");
    assert!(text.contains("fathom report p.jsonl"), "{text}");
    assert!(has_waited && events.next().is_none());
    let (out, log, code) = run.ended(opener);
    assert_eq!(code, Some(3), "{out}{log}");
    assert!(out.contains("Slower by"), "{out}");
}

/// The bar and the time left are of the measured time: a warm-up is told as that, and is over then.
#[test]
fn a_warm_up_is_told_while_it_lasts_and_is_no_part_of_the_time_that_is_measured() {
    let words = "run x --file-size 1M --rate-iops 100 --warmup 5s --duration 60s --serve";
    let arguments: Vec<&str> = words.split(' ').collect();
    let mut run = Underway::of(tempfile::tempdir().unwrap(), &arguments);
    let mut told = String::new();
    for (_, data) in run.events() {
        told += &data;
        if data.contains(" of 60.0 s") {
            break;
        }
    }
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert!(told.contains("warming up for 5 s"), "{told}");
    // What is shown first is the first interval behind the warm-up.
    let first = told.split(" of 60.0 s").next().unwrap();
    let elapsed = first.rsplit(' ').nth(1).unwrap();
    assert!(elapsed.parse::<f64>().is_ok_and(|of| of < 5.0), "{told}");
    assert!(!told.contains("65.0 s"), "{told}");
}

#[test]
fn who_comes_again_gets_the_whole_page_and_nobody_else_a_word() {
    let run = Underway::start("[1, 30]");
    let (host, port) = run.address.rsplit_once(':').expect("it has a port");
    let page = run.answer("GET", "/", &run.address);
    let (head, body) = page.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let policy = head
        .lines()
        .find(|line| line.starts_with("Content-Security-Policy"));
    let policy = policy.expect("there is a policy");
    assert!(
        policy.contains("script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(
        body.contains("src=\"/live.js\"") && !body.contains("<script>"),
        "{body}"
    );
    for _ in 0..2 {
        let (kind, _) = run.events().next().expect("there is a first");
        assert_eq!(kind, "whole");
    }
    let status = |method: &str, path: &str, host: &str| {
        let text = run.answer(method, path, host);
        text.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(host, "127.0.0.1");
    assert_eq!(status("GET", "/metrics", &run.address), "200");
    assert_eq!(status("GET", "/", &format!("localhost:{port}")), "200");
    assert_eq!(status("GET", "/", "rebound.example"), "421");
    assert_eq!(status("GET", "/metrics", "rebound.example"), "421");
    assert_eq!(status("GET", "/nothing", &run.address), "404");
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(status(method, "/", &run.address), "405");
    }
    let opener = run.open_the_gate();
    run.ended(opener);
}

#[test]
fn a_log_has_a_line_a_pass_without_escapes_and_a_fixed_length_no_verdict_before_its_end() {
    let run = Underway::start("9");
    let opener = run.open_the_gate();
    assert!(run.said.iter().any(|line| line.starts_with("experiment")));
    let (_, log, _) = run.ended(opener);
    let passes: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("pass "))
        .collect();
    assert!(!passes.is_empty() && !log.contains('\u{1b}'), "{log}");
    // Of the last pass the judgement stands below, in the answer.
    let is_open = |line: &&str| {
        let is_last = line.starts_with("pass 9 of 9") && line.contains("judged below");
        is_last || line.contains("not judged yet")
    };
    assert!(passes.iter().all(is_open), "{log}");
}

/// A door in front of a page, which says when somebody asks for its news.
fn door(to: String, has_asked: impl Fn() + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener
        .local_addr()
        .expect("it has an address")
        .to_string();
    let has_asked = Arc::new(has_asked);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let (to, has_asked) = (to.clone(), Arc::clone(&has_asked));
            thread::spawn(move || -> std::io::Result<()> {
                let mut head = [0; 4096];
                let n = client.read(&mut head)?;
                let mut server = TcpStream::connect(to)?;
                server.write_all(&head[..n])?;
                if head.starts_with(b"GET /events") {
                    has_asked();
                }
                std::io::copy(&mut server, &mut client)?;
                Ok(())
            });
        }
    });
    at
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test is counted by its line")]
fn a_browser_shows_the_verdict_when_it_is_there_without_a_word_on_its_console() {
    let Some(browser) = chromium() else {
        return println!("{NO_BROWSER}");
    };
    let run = Underway::start("[1, 30]");
    let (opened, asked) = std::sync::mpsc::channel();
    let opened = std::sync::Mutex::new(opened);
    let at = door(run.address.clone(), move || {
        let sender = opened.lock().expect("nobody panics with it");
        let _only_the_first_is_waited_for = sender.send(());
    });
    let profile = tempfile::tempdir().expect("a directory can be made");
    let browser = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg("--virtual-time-budget=60000")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{at}/"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the browser starts");
    asked.recv().expect("the browser asks for news");
    let opener = run.open_the_gate();
    let (_, log, code) = run.ended(opener);
    assert_eq!(code, Some(3), "{log}");
    let shown = browser.wait_with_output().expect("the browser ends");
    let dom = String::from_utf8_lossy(&shown.stdout).into_owned();
    let console = String::from_utf8_lossy(&shown.stderr).into_owned();
    let console: Vec<&str> = console
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(console.is_empty(), "{console:?}");
    assert!(dom.contains("class=\"over\">It has ended"), "{dom}");
    assert!(
        dom.contains("passes complete") && dom.contains("Slower by"),
        "{dom}"
    );
}
