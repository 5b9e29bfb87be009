//! What a client says that would mean something else than it thinks is refused.

use super::client::{FORM, SECRET, Server, form};
use super::served;
use std::process::Command;

#[test]
fn keys_parameters_and_headers_that_nobody_knows_are_refused() {
    let (_dir, _server, owner) = served(&[]);
    let id = owner.upload("f", b"x").id();
    let entry = format!("/api/entry/{id}");
    for (method, path, body) in [
        ("POST", "/api/guest-links", r#"{"maxuploads":3}"#),
        (
            "POST",
            "/api/guest-links",
            r#"{"maxFileUploads":3,"maxFileUploads":4}"#,
        ),
        (
            "POST",
            "/api/guest-links",
            r#"{"maxFileBytes":18446744073709551615}"#,
        ),
        (
            "POST",
            "/api/guest-links",
            r#"{"maxFileUploads":9223372036854775808}"#,
        ),
        ("POST", "/api/guest-links", r#"{"maxFileUploads":-1}"#),
        (
            "PUT",
            "/api/settings",
            r#"{"defaultExpirationDays":3,"never":true}"#,
        ),
        ("PUT", &entry, r#"{"name":"g"}"#),
        ("POST", "/api/auth", r#"{"sharedSecretKey":"a","more":1}"#),
    ] {
        let answer = owner.json(method, path, body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
    assert!(!owner.call("GET", "/guest-links").text().contains("/g/"));
    let file = form("f", b"x");
    for query in [
        "expires=",
        "expiration=2040-01-01T00:00:00Z&expiration=2041-01-01T00:00:00Z",
        "note=x",
    ] {
        let path = format!("/api/entry?{query}");
        assert_eq!(
            owner.send("POST", &path, &[FORM], &file).status,
            400,
            "{query}"
        );
    }
    assert_eq!(
        owner
            .send("POST", &format!("{entry}?expiration="), &[FORM], &file)
            .status,
        400
    );
}

#[test]
fn a_body_that_is_not_the_file_as_it_is_is_refused() {
    let (_dir, _server, owner) = served(&[]);
    let file = form("f", b"x");
    for (header, status) in [
        (("content-range", "bytes 0-0/9"), 400),
        (("content-encoding", "gzip"), 415),
        (("content-encoding", "identity"), 200),
        (("expect", "more"), 417),
        (("content-type", "multipart/form-data; boundary=c"), 400),
    ] {
        let answer = owner.send("POST", "/api/entry", &[FORM, header], &file);
        assert_eq!(answer.status, status, "{header:?}: {}", answer.text());
    }
    let text = String::from_utf8(file).unwrap();
    for other in [
        text.replace("filename=\"f\"", "filename=\"f\"; filename=\"g\""),
        text.replace(
            "\r\n\r\nx",
            "\r\nContent-Transfer-Encoding: base64\r\n\r\nx",
        ),
        text.replacen(
            "--b",
            "--b\r\ncontent-disposition: form-data; name=notes\r\n\r\n\r\n--b",
            1,
        ),
    ] {
        let answer = owner.send("POST", "/api/entry", &[FORM], other.as_bytes());
        assert_eq!(answer.status, 400, "{other}");
    }
}

#[test]
fn guests_may_ask_for_less_time_and_not_for_more() {
    let (_dir, server, owner) = served(&[]);
    let link = owner
        .json("POST", "/api/guest-links", r#"{"fileLifetime":"24h"}"#)
        .id();
    let put = |query: &str| {
        let path = format!("/api/guest/{link}{query}");
        server
            .guest()
            .send("POST", &path, &[FORM], &form("g", b"x"))
            .status
    };
    for (query, status) in [
        ("", 200),
        ("?expiration=", 200),
        ("?expiration=2999-12-31T00:00:00Z", 400),
        ("?expiration=2000-01-01T00:00:00Z", 400),
        ("?expires=1", 400),
    ] {
        assert_eq!(put(query), status, "{query}");
    }
}

/// What a start says that fails.
fn refusal(db: &std::path::Path, secret: &str, options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "share", "--listen", "127.0.0.1:0", "--db"])
        .arg(db)
        .args(options)
        .env("PS_SHARED_SECRET", secret)
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_start_that_cannot_be_says_what_can_be_done() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("a.db");
    // What it was made with stands in its head once its log was moved there.
    let first = Server::start(&db, &["--layout", "one-database", "--page-size", "16KiB"]);
    first.end();
    for (options, told) in [
        (&[][..], "--layout one-database"),
        (&["--layout", "one-database"], "--page-size 16 KiB"),
    ] {
        let said = refusal(&db, SECRET, options);
        assert!(said.contains(told), "{said}");
    }
    assert!(refusal(&dir.path().join("new.db"), " \t", &[]).contains("no secret"));
    std::os::unix::fs::symlink("a.db", dir.path().join("b.db")).unwrap();
    let options = ["--layout", "one-database", "--page-size", "16KiB"];
    let _served = Server::start(&db, &options);
    let said = refusal(&dir.path().join("b.db"), SECRET, &options);
    assert!(said.contains("in use by another server"), "{said}");
}

#[test]
fn a_start_that_cannot_listen_changes_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let refused = |verb: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args(["serve", verb]).args(options);
        command
            .env("PS_SHARED_SECRET", "another")
            .env("AWS_ACCESS_KEY_ID", "reader")
            .env("AWS_SECRET_ACCESS_KEY", "only-on-loopback");
        assert_eq!(
            command.output().unwrap().status.code(),
            Some(1),
            "{verb} {options:?}"
        );
    };
    let db = dir.path().join("s.db");
    let db = db.to_str().unwrap();
    refused("share", &["--listen", &taken, "--db", db]);
    let free = ["--listen", "127.0.0.1:0", "--db", db];
    let no_certificate = ["--tls-cert", "/nope", "--tls-key", "/nope"];
    refused("share", &[free, no_certificate].concat());
    let data = dir.path().join("objects");
    refused(
        "s3",
        &["--listen", &taken, "--data", data.to_str().unwrap()],
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // Sessions of the secret that was there before go on.
    let mut server = Server::start(std::path::Path::new(db), &[]);
    let mut owner = server.owner();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    refused("share", &["--listen", &taken, "--db", db]);
    let again = Server::start(std::path::Path::new(db), &[]);
    owner.address = again.address;
    assert_eq!(owner.call("GET", "/settings").status, 200);
}
