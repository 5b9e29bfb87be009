//! Options of the command, each seen in what the server does.

use super::client::{Client, Request, SECRET, Server};
use super::memory;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

fn metrics(server: &Server) -> String {
    let page =
        Request::new("GET", "/fathom/metrics").header("authorization", &format!("Bearer {SECRET}"));
    server.client().try_send(&page).unwrap().ok().text()
}

/// One counter of the server's.
pub(crate) fn counter(server: &Server, name: &str) -> u64 {
    let text = metrics(server);
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name} in {text}"));
    value.trim().parse().unwrap()
}

/// A certificate, key or authority of the tests.
pub(crate) fn tls_file(name: &str) -> String {
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object/tests/store/tls");
    tls.join(name).to_str().unwrap().to_owned()
}

#[test]
fn listen_is_where_it_listens() {
    let server = Server::start(&["--memory", "--listen", "127.0.0.2:0"]);
    assert!(
        server.address.starts_with("127.0.0.2:") && !server.address.ends_with(":0"),
        "{}",
        server.address
    );
    server.client().call("GET", "/").ok();
    let port = server.address.rsplit(':').next().unwrap();
    assert!(
        std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err(),
        "it listens nowhere else"
    );
}

#[test]
fn memory_ends_with_the_server() {
    let (mut server, mut client) = memory();
    client.put("/bucket/k", "bytes").ok();
    assert_eq!(server.end("-TERM"), Some(0));
    let server = Server::start(&["--memory"]);
    assert!(
        server
            .client()
            .call("GET", "/")
            .ok()
            .fields("Name")
            .is_empty()
    );
}

#[test]
fn sync_decides_whether_a_write_is_durable_before_it_is_answered() {
    let syncs = |policy: &str| {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(&["--data", dir.path().to_str().unwrap(), "--sync", policy]);
        let mut client = server.client();
        client.call("PUT", "/bucket").ok();
        for number in 0..5 {
            client.put(&format!("/bucket/{number}"), "bytes").ok();
        }
        counter(&server, "fathom_s3_storage_syncs_total")
    };
    assert!(syncs("always") >= 6);
    assert_eq!(syncs("never"), 0);
    assert_eq!(syncs("interval=1h"), 0);
}

#[test]
fn region_is_where_buckets_are() {
    let server = Server::start(&["--memory", "--region", "eu-north-7"]);
    let mut client = server.client().in_region("eu-north-7");
    client.call("PUT", "/bucket").ok();
    // Who does not know yet asks as from the first region.
    for mut client in [client, server.client()] {
        let answer = client.call("GET", "/bucket?location").ok().text();
        assert!(answer.contains("eu-north-7"), "{answer}");
    }
}

#[test]
fn tls_is_spoken_with_the_certificate_that_was_given() {
    let server = Server::start(&[
        "--memory",
        "--tls-cert",
        &tls_file("cert.pem"),
        "--tls-key",
        &tls_file("key.pem"),
    ]);
    let load = |trust: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args([
            "load",
            "put",
            "--target",
            &format!("s3://bucket@https://{}", server.address),
        ]);
        command
            .args(["--users", "1", "--iterations", "3", "--duration", "60s"])
            .args(trust);
        let output = command
            .env("AWS_ACCESS_KEY_ID", super::client::ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = load(&["--cacert", &tls_file("ca.pem")]);
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(
        load(&[]).0,
        Some(0),
        "who does not know the authority does not believe the server"
    );
    assert!(
        server
            .client()
            .try_send(&Request::new("GET", "/fathom/health"))
            .is_err(),
        "there is nothing but TLS"
    );
}

#[test]
fn as_many_files_may_be_open_as_the_system_allows() {
    let server = Server::start(&["--memory"]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.process())).unwrap();
    let open = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap();
    let bounds: Vec<&str> = open.split_whitespace().take(2).collect();
    assert_eq!(bounds[0], bounds[1], "soft and hard");
}

#[test]
fn threads_are_as_many_as_were_asked_for() {
    for threads in [1, 3] {
        let server = Server::start(&["--memory", "--threads", &threads.to_string()]);
        let serving = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap();
            let name = |task: &std::fs::DirEntry| {
                std::fs::read_to_string(task.path().join("comm")).unwrap_or_default()
            };
            tasks
                .filter(|task| name(task.as_ref().unwrap()).trim_end() == "s3-serve")
                .count()
        };
        // A thread has its name a moment after it was started. This page needs no thread beside
        // those.
        server
            .client()
            .try_send(&Request::new("GET", "/fathom/health"))
            .unwrap()
            .ok();
        while serving() < threads {
            std::thread::yield_now();
        }
        assert_eq!(serving(), threads);
    }
}

#[test]
fn a_day_of_lifecycle_rules_is_as_long_as_was_said() {
    let server = Server::start(&["--memory", "--lifecycle-day", "1ms"]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    client.put("/bucket/old/k", "bytes").ok();
    client.put("/bucket/kept", "bytes").ok();
    let rules = "<LifecycleConfiguration><Rule><ID>r</ID><Filter><Prefix>old/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
    client.put("/bucket?lifecycle", rules).ok();
    // A day of 24 hours would not end before the test is given up.
    while client.call("GET", "/bucket/old/k").status == 200 {
        std::thread::yield_now();
    }
    client.call("GET", "/bucket/kept").ok();
    assert!(metrics(&server).contains("fathom_s3_lifecycle_removed_total 1\n"));
}

#[test]
fn a_certificate_that_a_server_made_for_itself_is_believed_where_it_is_named() {
    let server = Server::start(&[
        "--memory",
        "--tls-cert",
        &tls_file("own.pem"),
        "--tls-key",
        &tls_file("own-key.pem"),
    ]);
    let load = |trust: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args([
            "load",
            "put",
            "--target",
            &format!("s3://bucket@https://{}", server.address),
        ]);
        command
            .args(["--users", "1", "--iterations", "3", "--duration", "60s"])
            .args(trust);
        let output = command
            .env("AWS_ACCESS_KEY_ID", super::client::ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = load(&["--cacert", &tls_file("own.pem")]);
    assert_eq!(code, Some(0), "{said}");
    for trust in [&[][..], &["--cacert", &tls_file("ca.pem")]] {
        let (code, said) = load(trust);
        assert!(
            code == Some(2) && said.contains("--cacert") && said.contains("--insecure"),
            "{trust:?} {said}"
        );
    }
}

/// What the server says on its outputs until it is told to end, and what a client did meanwhile.
fn said(args: &[&str], act: impl FnOnce(&str)) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(["serve", "s3", "--listen", "127.0.0.1:0"])
        .args(args);
    command
        .env("AWS_ACCESS_KEY_ID", super::client::ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    act(first.trim().rsplit_once("//").unwrap().1);
    assert!(
        Command::new("kill")
            .arg(child.id().to_string())
            .status()
            .unwrap()
            .success()
    );
    let (mut rest, mut errors) = (String::new(), String::new());
    out.read_to_string(&mut rest).unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    child.wait().unwrap();
    (first + &rest, errors)
}

#[test]
fn the_start_says_what_a_newcomer_asks_and_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let (out, errors) = said(
        &["--data", data, "--sync", "never", "--region", "eu-north-7"],
        |_| {},
    );
    for expected in [
        &format!("data: {data}, "),
        " free, of which objects leave ",
        "durable: when the system likes",
        "keys: AKIATEST (everything)\n",
        "region: eu-north-7\n",
        "try: AWS_REGION=eu-north-7 aws --endpoint-url http://127.0.0.1:",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    assert!(!out.contains(SECRET) && errors.is_empty(), "{out}{errors}");
    assert!(said(&["--memory"], |_| {}).0.contains("data: in memory"));
    assert!(
        said(&["--data", data, "--reserve", "1EiB"], |_| {})
            .0
            .contains("NO ROOM")
    );
}

#[test]
fn requests_are_a_line_each_where_that_is_asked_for() {
    let act = |address: &str| {
        let mut client = Client::new(address);
        client.call("PUT", "/bucket").ok();
        client.put("/bucket/k", "bytes").ok();
        client.call("GET", "/bucket/k").ok();
        let presigned = client.presigned(Request::new("GET", "/bucket/none"), 60);
        client.try_send(&presigned).unwrap();
        client.try_send(&Request::new("GET", "/bucket/k")).unwrap();
    };
    let (_, errors) = said(&["--memory", "--log", "requests"], act);
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 5, "{errors}");
    for (line, parts) in lines.iter().zip([
        " 127.0.0.1 AKIATEST CreateBucket 200 - 0 B ",
        " 127.0.0.1 AKIATEST PutObject 200 - 0 B ",
        " 127.0.0.1 AKIATEST GetObject 200 - 5 B ",
        " 127.0.0.1 AKIATEST GetObject 404 NoSuchKey ",
        " 127.0.0.1 - GetObject 403 AccessDenied ",
    ]) {
        assert!(
            line.contains(parts) && line.contains(" /bucket") && !line.contains("Signature"),
            "{parts}\n{line}"
        );
    }
    assert!(said(&["--memory"], act).1.is_empty());
}

#[test]
fn every_error_has_a_message() {
    let (server, mut client) = memory();
    for (method, path) in [
        ("PUT", "/a"),
        ("GET", "/bucket/none"),
        ("PUT", "/bucket?website"),
    ] {
        assert_eq!(
            client.call(method, path).fields("Message").len(),
            1,
            "{method} {path}"
        );
    }
    let wrong = server
        .client()
        .with(super::client::ACCESS, "another-secret")
        .signed(Request::new("GET", "/bucket"));
    let answer = client.try_send(&wrong).unwrap();
    assert_eq!(
        (
            answer.fields("Message").len(),
            answer.fields("AWSAccessKeyId")
        ),
        (1, vec!["AKIATEST".to_owned()])
    );
}

#[test]
fn a_server_that_runs_is_told_to_misbehave_by_an_admin_alone() {
    let (server, mut client) = memory();
    client.put("/bucket/k", "12345").ok();
    let order = |secret: &str, text: &str| {
        let order = Request::new("POST", "/fathom/misbehave").body(text);
        let order = order.header("authorization", &format!("Bearer {secret}"));
        server.client().try_send(&order).unwrap()
    };
    assert_eq!(order("another", "errors=100%:507").status, 403);
    let bare = || Request::new("POST", "/fathom/misbehave").body("errors=100%:507");
    assert_eq!(server.client().try_send(&bare()).unwrap().status, 403);
    assert_eq!(client.send(bare()).status, 403, "a signature is no secret");
    let told = order(SECRET, "get.errors=100%:507");
    assert_eq!(told.status, 200);
    assert!(told.text().starts_with("generation 1 from request "));
    assert_eq!(client.call("GET", "/bucket/k").status, 507);
    let wrong = order(SECRET, "get.lost=1%");
    assert_eq!((wrong.status, wrong.text().is_empty()), (400, false));
    assert_eq!(client.call("GET", "/bucket/k").status, 507);
    assert_eq!(order(SECRET, "none").status, 200);
    assert_eq!(client.call("GET", "/bucket/k").ok().text(), "12345");
    assert_eq!(counter(&server, "fathom_s3_misbehave_generation "), 2);
    let failed = "fathom_s3_misbehaved_total{how=\"failed\"} ";
    assert_eq!(counter(&server, failed), 2);
}
