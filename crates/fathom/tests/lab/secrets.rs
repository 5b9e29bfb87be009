//! What lets somebody in stands in no file, page and output of an experiment.

use super::{FATHOM, names, text, with_plan};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

/// A load on a port that nobody listens on: its slots fail, which is all that is needed.
fn load(target: &str, set: &str) -> String {
    format!(
        r#"
metric = "get.p50"
passes = [1, 1]
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[factors]
p = [1, 2]
[workload]
load = "fetch"
target = "{target}"
set = {{ seed = "{{p}}", iterations = 1, users = "{{n}}", {set} }}
[[arm]]
name = "first"
set = {{ n = 1 }}
[[arm]]
name = "second"
set = {{ n = 2 }}
"#
    )
}

fn fathom(dir: &Path, words: &[&str]) -> Output {
    let variables = [
        ("TG", "http://127.0.0.1:9/hunter2"),
        ("HZ", "Authorization: Bearer hunter2"),
        ("NO_TARGET", "https://h/x,AKIA:hunter2"),
        ("NO_HEADER", "a hunter2: b"),
    ];
    Command::new(FATHOM)
        .args(words)
        .current_dir(dir)
        .envs(variables)
        .output()
        .expect("the test can do this")
}

fn all(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_experiment_keeps_and_shows_no_secret_of_a_load() {
    let direct = (
        "http://127.0.0.1:9/{p}?token=hunter2",
        "header = \"Cookie: a=hunter2\\nAccept: blue\"",
        [
            "http://127.0.0.1:9/1?token=(not recorded)",
            "Cookie: (not recorded), Accept: blue",
        ],
    );
    let named = ("@TG", "header = \"@HZ\"", ["@TG", "@HZ"]);
    for (target, set, wanted) in [direct, named] {
        let dir = with_plan(&load(target, set));
        let plan = fathom(dir.path(), &["lab", "plan", "p.toml"]);
        assert_eq!(plan.status.code(), Some(0), "{}", all(&plan));
        let run = fathom(dir.path(), &["lab", "run", "p.toml"]);
        let page = fathom(dir.path(), &["report", "p.jsonl", "-o", "p.html"]);
        let source = fathom(dir.path(), &["check", "p.html", "--records", "back.jsonl"]);
        for output in [&plan, &run, &page, &source] {
            assert!(!all(output).contains("hunter2"), "{}", all(output));
        }
        let written = names(dir.path());
        let wrote = ["back.jsonl", "p.html", "p.jsonl", "p.plan.toml", "p.toml"];
        assert_eq!(written, wrote, "{}{}", all(&run), all(&source));
        for name in written.iter().filter(|name| *name != "p.toml") {
            let held = fs::read(dir.path().join(name)).expect("the test can do this");
            assert!(!text(&held).contains("hunter2"), "{name}");
        }
        let kept = fs::read_to_string(dir.path().join("p.jsonl")).expect("the test can do this");
        for wanted in wanted {
            assert!(all(&plan).contains(wanted), "{wanted}: {}", all(&plan));
            assert!(kept.contains(wanted), "{wanted}: {kept}");
        }
        // A slot was asked with what the variable holds, and tells where it went.
        assert!(kept.contains("http://127.0.0.1:9/"), "{kept}");
    }
}

#[test]
fn what_is_no_header_of_a_plan_is_refused_without_it() {
    let plain = "http://127.0.0.1:9/x";
    for (target, set, why) in [
        (
            plain,
            "header = [\"Accept: a\", \"X-A: hunter2\"]",
            "header is a text",
        ),
        (
            plain,
            "header = \"Bearer hunter2: x\"",
            "is no name of a header",
        ),
        (plain, "header = \"@NO_HEADER\"", "the variable NO_HEADER"),
        ("@NO_TARGET", "header = \"@HZ\"", "the variable NO_TARGET"),
        (
            "http://u:hunter2@h",
            "header = \"@HZ\"",
            "keys do not belong",
        ),
    ] {
        let dir = with_plan(&load(target, set));
        let output = fathom(dir.path(), &["lab", "plan", "p.toml"]);
        let said = all(&output);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{why}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn no_error_about_a_load_tells_a_secret() {
    let dir = tempfile::tempdir().expect("the test can do this");
    let compared = ["--run", "--load", "fetch"];
    for (words, told) in [
        (
            "load|fetch|--target|http://h/x?format=json,sig:hunter2",
            "each of its servers",
        ),
        ("load|fetch|--target|@NO_TARGET", "@NO_TARGET"),
        (
            "load|fetch|--target|http://h/|--header|@NO_HEADER",
            "@NO_HEADER",
        ),
        (
            "load|fetch|--target|http://h/|--header|Bearer hunter2: x",
            "is no name of a header",
        ),
        ("compare|http://u:hunter2@h|http://h/", "keys do not belong"),
        ("compare|guest=hunter2|users=2", "guest=(not recorded)"),
        ("compare|u:hunter2@h|users=2", "neither a server nor"),
        (
            "load|fetch|--target|http://127.0.0.1:9/x|--cacert|missing.pem",
            "missing.pem",
        ),
    ] {
        let words: Vec<&str> = words.split('|').collect();
        let more = if words[0] == "compare" {
            &compared[..]
        } else {
            &[]
        };
        let output = fathom(dir.path(), &[&words[..], more].concat());
        let said = all(&output)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told), "{told}: {said}");
        assert!(!said.contains("hunter2"), "{words:?}: {said}");
    }
}

/// A server of which nothing is there.
fn empty_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the test can do this");
    let address = listener.local_addr().expect("the test can do this");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let asked = BufReader::new(&stream).lines().map_while(Result::ok);
            let _head = asked.take_while(|line| !line.is_empty()).count();
            let _gone = stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    format!("http://{address}")
}

#[test]
fn where_a_request_failed_is_told_without_what_lets_somebody_in() {
    let dir = tempfile::tempdir().expect("the test can do this");
    let server = empty_server();
    let direct = format!("{server}/a/sid=hunter2");
    let held = format!("{server}/g/hunter2?q=hunter2");
    for (number, target, told) in [
        (1, direct.as_str(), "first at /a/(not recorded)"),
        (2, "@HELD", "first at /(not recorded)"),
    ] {
        let file = format!("{number}.jsonl");
        let words = ["load", "fetch", "--users", "1", "--iterations", "2"];
        let more = ["--target", target, "--records", &file];
        let output = Command::new(FATHOM)
            .args([&words[..], &more].concat())
            .current_dir(dir.path())
            .env("HELD", &held)
            .output()
            .expect("the test can do this");
        let kept = fs::read_to_string(dir.path().join(&file)).expect("the test can do this");
        assert!(all(&output).contains(told), "{told}: {}", all(&output));
        assert!(!all(&output).contains("hunter2"), "{}", all(&output));
        assert!(!kept.contains("hunter2"), "{kept}");
    }
}
