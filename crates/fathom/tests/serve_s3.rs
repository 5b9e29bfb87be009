//! `fathom serve s3` as its clients see it: the real binary, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it skipped"
)]

#[path = "serve_s3/client.rs"]
mod client;
#[path = "serve_s3/damage.rs"]
mod damage;
#[path = "serve_s3/doors.rs"]
mod doors;
#[path = "serve_s3/forms.rs"]
mod forms;
#[path = "serve_s3/handoff.rs"]
mod handoff;
#[path = "serve_s3/hostile.rs"]
mod hostile;
#[path = "serve_s3/lists.rs"]
mod lists;
#[path = "serve_s3/locks.rs"]
mod locks;
#[path = "serve_s3/options.rs"]
mod options;

use client::{Client, Request, SECRET, Server, noise, sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn memory() -> (Server, Client) {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    (server, client)
}

#[test]
fn what_was_put_is_got_whole_in_ranges_and_by_conditions() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::on(dir.path());
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    for length in [0, 1, 65_536, 65_537, 131_072, 1_048_577, 5_000_000] {
        let bytes = noise(length as u64, length);
        let etag = client.put("/bucket/k", bytes.clone()).ok().headers["etag"].clone();
        let got = client.call("GET", "/bucket/k").ok();
        assert!(got.body == bytes && got.headers["etag"] == etag, "{length}");
        assert_eq!(
            client.call("HEAD", "/bucket/k").ok().headers["content-length"],
            length.to_string()
        );
        if length > 10 {
            let part = client.send(
                Request::new("GET", "/bucket/k")
                    .header("range", &format!("bytes=5-{}", length - 2)),
            );
            assert!(
                part.status == 206 && part.body == bytes[5..length - 1],
                "{length}"
            );
            assert_eq!(
                part.headers["content-range"],
                format!("bytes 5-{}/{length}", length - 2)
            );
            assert_eq!(
                client
                    .send(Request::new("GET", "/bucket/k").header("range", "bytes=-3"))
                    .body,
                bytes[length - 3..]
            );
        }
        let beyond = client
            .send(Request::new("GET", "/bucket/k").header("range", &format!("bytes={length}-")));
        assert_eq!(beyond.error(), (416, "InvalidRange".into()));
        assert_eq!(
            client
                .send(Request::new("GET", "/bucket/k").header("if-none-match", &etag))
                .status,
            304
        );
        let other = client.send(Request::new("GET", "/bucket/k").header("if-match", "\"0\""));
        assert_eq!(other.error(), (412, "PreconditionFailed".into()));
        let again = client.send(
            Request::new("PUT", "/bucket/k")
                .header("if-none-match", "*")
                .body("x"),
        );
        assert_eq!(again.error(), (412, "PreconditionFailed".into()));
    }
}

#[test]
fn keys_are_names_and_never_paths() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let server = Server::on(&data);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    let long = "k".repeat(1024);
    let keys = [
        "../../outside",
        "..",
        ".",
        "a//b",
        "/lead",
        "x/../y",
        "ü ñ+%&?#=",
        "tab\tkey",
        "trail/",
        long.as_str(),
    ];
    for key in keys {
        let path = format!("/bucket/{key}");
        let request = |method| Request {
            path: path.clone(),
            ..Request::new(method, "/")
        };
        client.send(request("PUT").body(key)).ok();
        assert_eq!(client.send(request("GET")).ok().text(), key);
    }
    let listed = client
        .call("GET", "/bucket?list-type=2&encoding-type=url")
        .ok()
        .fields("Key");
    assert_eq!(listed.len(), keys.len());
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["data"], "nothing lies outside the directory");
    let too_long = Request {
        path: format!("/bucket/{long}k"),
        ..Request::new("PUT", "/")
    };
    assert_eq!(
        client.send(too_long).error(),
        (400, "KeyTooLongError".into())
    );
    let nul = Request {
        path: "/bucket/a\0b".into(),
        ..Request::new("PUT", "/")
    };
    assert_eq!(client.send(nul).error(), (400, "InvalidArgument".into()));
}

#[test]
fn listings_come_in_pages_and_common_prefixes() {
    let (_server, mut client) = memory();
    for key in ["a/1", "a/2", "b", "c/1", "d"] {
        client.put(&format!("/bucket/{key}"), "").ok();
    }
    let (mut keys, mut token) = (Vec::new(), String::new());
    loop {
        let mut request = Request::new("GET", "/bucket?list-type=2&max-keys=2");
        if !token.is_empty() {
            request.query.insert("continuation-token".into(), token);
        }
        let page = client.send(request).ok();
        keys.extend(page.fields("Key"));
        token = page
            .fields("NextContinuationToken")
            .pop()
            .unwrap_or_default();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(keys, ["a/1", "a/2", "b", "c/1", "d"]);
    let grouped = client.call("GET", "/bucket?list-type=2&delimiter=/").ok();
    assert_eq!(
        (grouped.fields("Key"), grouped.fields("KeyCount")),
        (vec!["b".to_owned(), "d".into()], vec!["4".to_owned()])
    );
    assert!(
        grouped
            .text()
            .contains("<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>")
    );
    assert_eq!(
        client
            .call("GET", "/bucket?list-type=2&continuation-token=!")
            .error(),
        (400, "InvalidArgument".into())
    );
    assert_eq!(
        client.call("GET", "/absent?list-type=2").error(),
        (404, "NoSuchBucket".into())
    );
}

#[test]
fn parts_become_one_object_and_wrong_ones_do_not() {
    let (_server, mut client) = memory();
    let upload = client
        .call("POST", "/bucket/big?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    let parts = [noise(1, 5 << 20), noise(2, 77)];
    let mut etags = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let answer = client
            .put(
                &format!("/bucket/big?partNumber={}&uploadId={upload}", index + 1),
                part.clone(),
            )
            .ok();
        etags.push(answer.headers["etag"].clone());
    }
    let named = |list: &[(usize, &str)]| {
        let part = |(number, etag): &(usize, &str)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        };
        format!(
            "<CompleteMultipartUpload>{}</CompleteMultipartUpload>",
            list.iter().map(part).collect::<String>()
        )
    };
    let complete = Request::new("POST", &format!("/bucket/big?uploadId={upload}"));
    let mut refused = |body: String| client.send(complete.clone().body(body)).error();
    assert_eq!(
        refused(named(&[(1, &etags[1])])),
        (400, "InvalidPart".into())
    );
    assert_eq!(
        refused(named(&[(2, &etags[1]), (1, &etags[0])])),
        (400, "InvalidPartOrder".into())
    );
    assert_eq!(refused(named(&[(2, &etags[1]), (3, &etags[0])])).0, 400);
    assert_eq!(
        refused("<CompleteMultipartUpload><Part>".into()),
        (400, "MalformedXML".into())
    );
    assert_eq!(refused(named(&[])), (400, "MalformedXML".into()));
    client
        .send(
            complete
                .clone()
                .body(named(&[(1, &etags[0]), (2, &etags[1])])),
        )
        .ok();
    assert!(client.call("GET", "/bucket/big").ok().body == parts.concat());
    assert_eq!(
        client
            .call("GET", &format!("/bucket/big?uploadId={upload}"))
            .error(),
        (404, "NoSuchUpload".into())
    );
}

#[test]
fn versions_stay_until_they_are_named() {
    let (_server, mut client) = memory();
    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    client.put("/bucket?versioning", on).ok();
    let first = client.put("/bucket/k", "1").ok().headers["x-amz-version-id"].clone();
    client.put("/bucket/k", "2").ok();
    let marker = client.call("DELETE", "/bucket/k").ok();
    assert_eq!(marker.headers["x-amz-delete-marker"], "true");
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (404, "NoSuchKey".into())
    );
    assert_eq!(
        client
            .call("GET", &format!("/bucket/k?versionId={first}"))
            .ok()
            .text(),
        "1"
    );
    let named = marker.headers["x-amz-version-id"].clone();
    assert_eq!(
        client
            .call("GET", &format!("/bucket/k?versionId={named}"))
            .error(),
        (405, "MethodNotAllowed".into())
    );
    assert_eq!(
        client
            .call("GET", "/bucket?versions")
            .ok()
            .fields("VersionId")
            .len(),
        3
    );
    client
        .call("DELETE", &format!("/bucket/k?versionId={named}"))
        .ok();
    assert_eq!(client.call("GET", "/bucket/k").ok().text(), "2");
}

#[test]
fn only_what_was_signed_by_a_known_key_at_about_this_time_is_answered() {
    let (server, mut client) = memory();
    client.put("/bucket/k", "bytes").ok();
    let refused =
        |client: &mut Client, request: &Request| client.try_send(request).unwrap().error();
    let denied = |code: &str| (403, code.to_owned());
    let get = Request::new("GET", "/bucket/k");
    assert_eq!(refused(&mut client, &get), denied("AccessDenied"));
    let wrong = server
        .client()
        .with(client::ACCESS, "another-secret")
        .signed(get.clone());
    assert_eq!(
        refused(&mut client, &wrong),
        denied("SignatureDoesNotMatch")
    );
    let unknown = server.client().with("NOBODY", SECRET).signed(get.clone());
    assert_eq!(refused(&mut client, &unknown), denied("InvalidAccessKeyId"));
    for skew_s in [-1200, 1200] {
        let late = server.client().skewed(skew_s).signed(get.clone());
        assert_eq!(refused(&mut client, &late), denied("RequestTimeTooSkewed"));
    }
    let mut moved = client.signed(get.clone());
    moved.path = "/bucket/other".into();
    assert_eq!(
        refused(&mut client, &moved),
        denied("SignatureDoesNotMatch")
    );
    // A replay whose body was changed: the signature is over the hash of the first body.
    let mut replayed = client.signed(Request::new("PUT", "/bucket/k").body("first"));
    replayed.body = b"other".to_vec();
    assert_eq!(
        refused(&mut client, &replayed),
        (400, "XAmzContentSHA256Mismatch".into())
    );
    let mut document = client.signed(Request::new("PUT", "/bucket?versioning").body("<a/>"));
    document.body = b"<b/>".to_vec();
    assert_eq!(
        refused(&mut client, &document),
        (400, "XAmzContentSHA256Mismatch".into())
    );
    let version_2 = get
        .clone()
        .header("authorization", "AWS AKIATEST:c2lnbmF0dXJl");
    assert_eq!(
        refused(&mut client, &version_2),
        (400, "InvalidRequest".into())
    );
    assert_eq!(client.call("GET", "/bucket/k").ok().text(), "bytes");
}

#[test]
fn a_presigned_request_holds_for_its_time_and_no_other_request() {
    let (server, mut client) = memory();
    let put = client.presigned(Request::new("PUT", "/bucket/k").body("from a page"), 60);
    client.try_send(&put).unwrap().ok();
    let get = Request::new("GET", "/bucket/k");
    let presigned = client.presigned(get.clone(), 60);
    assert_eq!(
        client.try_send(&presigned).unwrap().ok().text(),
        "from a page"
    );
    let expired = server.client().skewed(-100).presigned(get.clone(), 60);
    let answer = client.try_send(&expired).unwrap();
    assert!(
        answer.error() == (403, "AccessDenied".into()) && answer.text().contains("expired"),
        "{}",
        answer.text()
    );
    let mut longer = presigned.clone();
    longer.query.insert("X-Amz-Expires".into(), "600".into());
    assert_eq!(
        client.try_send(&longer).unwrap().error(),
        (403, "SignatureDoesNotMatch".into())
    );
    let other = Request {
        method: "DELETE".into(),
        ..presigned
    };
    assert_eq!(
        client.try_send(&other).unwrap().error(),
        (403, "SignatureDoesNotMatch".into())
    );
}

#[test]
fn keys_of_a_file_do_what_they_were_given() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys.toml");
    let text = "[[key]]\naccess = \"root\"\nsecret = \"root-secret\"\nadmin = true\n\n[[key]]\naccess = \"reader\"\nsecret = \"reader-secret\"\n[key.buckets]\n\"logs-*\" = [\"read\", \"list\"]\n";
    std::fs::write(&keys, text).unwrap();
    let server = Server::start(&["--memory", "--keys", keys.to_str().unwrap()]);
    let mut root = server.client().with("root", "root-secret");
    let mut reader = server.client().with("reader", "reader-secret");
    for bucket in ["logs-1", "other"] {
        root.call("PUT", &format!("/{bucket}")).ok();
        root.put(&format!("/{bucket}/k"), "bytes").ok();
    }
    assert_eq!(reader.call("GET", "/logs-1/k").ok().text(), "bytes");
    assert_eq!(reader.call("GET", "/").ok().fields("Name"), ["logs-1"]);
    for (method, path) in [
        ("GET", "/other/k"),
        ("PUT", "/logs-1/k"),
        ("DELETE", "/logs-1/k"),
        ("PUT", "/logs-2"),
        ("GET", "/fathom/metrics"),
    ] {
        assert_eq!(
            reader.call(method, path).error(),
            (403, "AccessDenied".into()),
            "{method} {path}"
        );
    }
    let copy = Request::new("PUT", "/logs-1/copy").header("x-amz-copy-source", "/other/k");
    assert_eq!(reader.send(copy).status, 403);
}

#[test]
fn pages_of_the_server_need_an_admin_and_count_what_was_done() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", noise(1, 1000)).ok();
    for _ in 0..3 {
        client.call("GET", "/bucket/k").ok();
    }
    client.call("GET", "/bucket/none");
    let plain = |path: &str| Request::new("GET", path);
    assert_eq!(
        client.try_send(&plain("/fathom/health")).unwrap().status,
        200
    );
    assert_eq!(
        client.try_send(&plain("/fathom/metrics")).unwrap().status,
        403
    );
    assert_eq!(
        client
            .try_send(&plain("/fathom/metrics").header("authorization", "Bearer wrong-secret"))
            .unwrap()
            .status,
        403
    );
    let bearer = plain("/fathom/metrics").header("authorization", &format!("Bearer {SECRET}"));
    let metrics = client.try_send(&bearer).unwrap().ok().text();
    for expected in [
        "fathom_s3_requests_total{operation=\"GetObject\",status=\"200\"} 3\n",
        "fathom_s3_requests_total{operation=\"GetObject\",status=\"404\"} 1\n",
        "fathom_s3_requests_total{operation=\"PutObject\",status=\"200\"} 1\n",
        "fathom_s3_storage_bytes_in_total 1000\n",
    ] {
        assert!(metrics.contains(expected), "{expected}{metrics}");
    }
    assert!(
        client
            .call("GET", "/fathom/profile")
            .ok()
            .text()
            .contains("thread_cpu_seconds")
    );
    assert!(!metrics.contains(SECRET));
    // In the form of a record's measurements, which their own reader takes.
    let mut seen: serde_json::Value =
        serde_json::from_str(&client.call("GET", "/fathom/seen").ok().text()).unwrap();
    let seen: record::Measurements = serde_json::from_value(seen["operations"].take()).unwrap();
    let of = |kind: &str| {
        let operations = seen.kind(kind).unwrap();
        assert_eq!(operations.latency.count(), operations.count);
        (operations.count, operations.bytes, operations.errors)
    };
    assert_eq!((of("put"), of("get")), ((1, 1000, 0), (3, 3000, 1)));
    assert_eq!(
        seen.kinds().map(|(kind, _)| kind).collect::<Vec<_>>(),
        ["CreateBucket", "get", "put"]
    );
}

/// How often a request failed before it was answered, and the answer.
fn until_ok(client: &mut Client, request: &Request) -> (usize, String) {
    for tries in 0.. {
        let answer = client.try_send(request).unwrap();
        if answer.status == 200 {
            return (tries, answer.text());
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn misbehaviour_is_what_was_asked_and_is_counted() {
    let server = Server::start(&[
        "--memory",
        "--misbehave",
        "get.errors=50%:503,head.errors=100%:500,list.truncate=100%",
    ]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    client.put("/bucket/k", "bytes").ok();
    let failed = (0..100)
        .filter(|_| client.call("GET", "/bucket/k").status == 503)
        .count();
    assert_eq!(client.call("HEAD", "/bucket/k").status, 500);
    let list = client.signed(Request::new("GET", "/bucket?list-type=2"));
    assert!(
        server.client().try_send(&list).is_err(),
        "an answer that was cut is not whole"
    );
    // The page of counters is a GET itself and fails as often; what it says is what was done before
    // it.
    let page =
        Request::new("GET", "/fathom/metrics").header("authorization", &format!("Bearer {SECRET}"));
    let (tries, text) = until_ok(&mut client, &page);
    assert!(
        text.contains(&format!(
            "fathom_s3_misbehaved_total{{how=\"failed\"}} {}\n",
            failed + 1 + tries
        )),
        "{failed} {tries} {text}"
    );
    assert!(text.contains("fathom_s3_misbehaved_total{how=\"truncated\"} 1\n"));
    assert!((20..=80).contains(&failed), "{failed}");
}

#[test]
fn malformed_requests_are_refused_and_the_server_stays() {
    let (server, mut client) = memory();
    let raw = |bytes: &[u8]| {
        server
            .client()
            .exchange(bytes, false)
            .map_or(0, |answer| answer.status)
    };
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: x\r\nauthorization: AWS4-HMAC-SHA256 nonsense\r\n\r\n"[..],
        b"GET /%zz HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /bucket/%ff%fe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"PUT /bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"PUT /bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST /bucket HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 3\r\n\r\n--b",
        b"POST /bucket HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data\r\ncontent-length: 0\r\n\r\n",
    ] {
        let status = raw(bytes);
        assert!((400..500).contains(&status) || status == 0, "{status} for {}", String::from_utf8_lossy(bytes));
    }
    for path in [
        "/bucket?versioning",
        "/bucket?cors",
        "/bucket?policy",
        "/bucket?lifecycle",
        "/bucket?tagging",
    ] {
        for body in [
            "",
            "<",
            "{",
            "<a></b>",
            "<!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>",
            "\u{0}",
        ] {
            let answer = client.put(path, body);
            assert!(
                (400..500).contains(&answer.status),
                "{path} {body} {}",
                answer.text()
            );
        }
    }
    let huge =
        client.send(Request::new("GET", "/bucket/k").header("x-amz-meta-big", &"x".repeat(20_000)));
    assert_eq!(huge.status, 400);
    assert_eq!(
        client.call("GET", "/bucket?website").error(),
        (501, "NotImplemented".into())
    );
    client.put("/bucket/k", "still here").ok();
}

#[test]
fn a_body_that_ends_early_leaves_no_object() {
    let (server, mut client) = memory();
    let mut lying = client.signed(Request::new("PUT", "/bucket/k").body(noise(1, 200_000)));
    lying
        .headers
        .insert("content-length".into(), "300000".into());
    lying.headers.insert("connection".into(), "close".into());
    let head: String = lying
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(
        &mut stream,
        format!("PUT /bucket/k HTTP/1.1\r\n{head}\r\n").as_bytes(),
    )
    .unwrap();
    std::io::Write::write_all(&mut stream, &lying.body).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Whatever is answered, the connection ends before the request is done with.
    let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (404, "NoSuchKey".into())
    );
}

/// Sends a request to a server that may be gone; `None` where it did not say that all is well.
fn attempt(client: &mut Client, request: Request) -> Option<client::Answer> {
    let request = client.signed(request);
    client
        .try_send(&request)
        .ok()
        .filter(|answer| answer.status == 200 && answer.fields("Error").is_empty())
}

fn put(client: &mut Client, key: &str, seed: u64) -> Option<()> {
    attempt(
        client,
        Request::new("PUT", &format!("/bucket/{key}")).body(content(seed)),
    )
    .map(drop)
}

/// The same object as an upload of one part.
fn assemble(client: &mut Client, key: &str, seed: u64) -> Option<()> {
    let upload = attempt(
        client,
        Request::new("POST", &format!("/bucket/{key}?uploads")),
    )?
    .fields("UploadId")
    .remove(0);
    let part = Request::new(
        "PUT",
        &format!("/bucket/{key}?partNumber=1&uploadId={upload}"),
    );
    let etag = attempt(client, part.body(content(seed)))?.headers["etag"].clone();
    let body = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    );
    attempt(
        client,
        Request::new("POST", &format!("/bucket/{key}?uploadId={upload}")).body(body),
    )
    .map(drop)
}

/// Puts and assembles objects over several connections until the server is gone; answers what was
/// acknowledged, and what was only sent.
fn put_until_killed(
    server: &mut Server,
    round: u64,
    enough: usize,
) -> (BTreeMap<String, u64>, Vec<(String, u64)>) {
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let kept = Arc::new(Mutex::new((BTreeMap::new(), Vec::new())));
    let putting: Vec<_> = (0..4_u64)
        .map(|worker| {
            let (acknowledged, kept, mut client) = (
                Arc::clone(&acknowledged),
                Arc::clone(&kept),
                server.client(),
            );
            std::thread::spawn(move || {
                for number in 0.. {
                    let (key, seed) = (
                        format!("r{round}-w{worker}-{number}"),
                        round << 40 | worker << 32 | number,
                    );
                    let made = if number % 2 == 0 {
                        put(&mut client, &key, seed)
                    } else {
                        assemble(&mut client, &key, seed)
                    };
                    if made.is_none() {
                        return kept.lock().unwrap().1.push((key, seed));
                    }
                    kept.lock().unwrap().0.insert(key, seed);
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    while acknowledged.load(Ordering::Relaxed) < enough {
        std::thread::yield_now();
    }
    server.kill();
    putting
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    Arc::try_unwrap(kept).unwrap().into_inner().unwrap()
}

/// Sizes on both sides of all that the server treats apart.
fn content(seed: u64) -> Vec<u8> {
    const SIZES: [usize; 6] = [0, 100, 4096, 65_536, 70_000, 300_000];
    noise(seed, SIZES[usize::try_from(seed % 6).unwrap()])
}

#[test]
fn every_acknowledged_object_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = BTreeMap::new();
    for (round, enough) in [(0, 1), (1, 25), (2, 90)] {
        let mut server = Server::on(dir.path());
        server.client().call("PUT", "/bucket");
        let (kept, sent) = put_until_killed(&mut server, round, enough);
        all.extend(kept);
        let server = Server::on(dir.path());
        let mut client = server.client();
        for (key, seed) in &all {
            assert!(
                client.call("GET", &format!("/bucket/{key}")).ok().body == content(*seed),
                "{key}"
            );
        }
        for (key, seed) in sent {
            let answer = client.call("GET", &format!("/bucket/{key}"));
            assert!(
                answer.status == 404 || answer.ok().body == content(seed),
                "half of {key} is there"
            );
        }
    }
    let scrub = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "s3", "--scrub", "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(
        scrub.status.success(),
        "{}",
        String::from_utf8_lossy(&scrub.stdout)
    );
    assert!(String::from_utf8_lossy(&scrub.stdout).contains("0 corrupt"));
}

#[test]
fn a_signal_ends_the_server_cleanly_and_what_was_kept_is_there() {
    let dir = tempfile::tempdir().unwrap();
    for (signal, policy) in [("-TERM", "never"), ("-INT", "interval=1h")] {
        let mut server = Server::start(&["--data", dir.path().to_str().unwrap(), "--sync", policy]);
        let mut client = server.client();
        client.call("PUT", "/bucket");
        client.put("/bucket/k", signal).ok();
        assert_eq!(server.end(signal), Some(0));
        assert_eq!(
            Server::on(dir.path())
                .client()
                .call("GET", "/bucket/k")
                .ok()
                .text(),
            signal
        );
    }
}

#[test]
fn a_damaged_file_is_found_by_the_scrub() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::on(dir.path());
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    client.put("/bucket/k", noise(1, 500_000)).ok();
    assert_eq!(server.end("-TERM"), Some(0));
    let file = largest_file(dir.path());
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[250_000] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let scrub = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "s3", "--scrub", "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert_eq!(scrub.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&scrub.stdout).contains("corrupt: bucket/k"));
}

/// The largest file whose bytes are those of an object: the metadata's own files are elsewhere.
fn largest_file(dir: &Path) -> std::path::PathBuf {
    let mut found = (0, dir.to_owned());
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() && entry.file_name() != "metadata" {
                dirs.push(entry.path());
            } else if meta.is_file() && meta.len() > found.0 {
                found = (meta.len(), entry.path());
            }
        }
    }
    found.1
}

#[test]
fn mistakes_in_the_command_are_named() {
    let run = |args: &[&str], keys: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command
            .args(["serve", "s3"])
            .args(args)
            .env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY");
        if keys {
            command
                .env("AWS_ACCESS_KEY_ID", client::ACCESS)
                .env("AWS_SECRET_ACCESS_KEY", SECRET);
        }
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for (args, says) in [
        (
            &["--memory", "--misbehave", "latency=5ms,slow=1"][..],
            "`slow` in `slow=1` is not a model",
        ),
        (
            &["--memory", "--sync", "often"],
            "`often` is none of always",
        ),
        (&["--memory", "--listen", "nowhere"], "--listen"),
        (&["--memory", "--data", "x"], "cannot be used with"),
        (&[], "--data"),
        (&["--memory", "--tls-cert", "x"], "--tls-key"),
        (&["--memory", "--idle", "0"], "--idle"),
    ] {
        let (code, stderr) = run(args, true);
        assert!(
            code == Some(2) && stderr.contains(says),
            "{args:?}: {code:?} {stderr}"
        );
    }
    let (code, stderr) = run(&["--memory"], false);
    assert!(
        code == Some(2) && stderr.contains("AWS_ACCESS_KEY_ID"),
        "{stderr}"
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_full_disk_refuses_objects_and_keeps_those_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=400m", "tmpfs"])
        .arg(dir.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("SKIPPED: needs to mount a tmpfs");
        return;
    }
    let _mount = Unmount(dir.path());
    let server = Server::on(&dir.path().join("data"));
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    let mut kept = Vec::new();
    let refused = loop {
        let seed = kept.len() as u64;
        let answer = client.put(&format!("/bucket/{seed}"), noise(seed, 20 << 20));
        if answer.status != 200 {
            break answer;
        }
        kept.push(sha256(&noise(seed, 20 << 20)));
        assert!(kept.len() < 30, "the disk does not fill");
    };
    assert_eq!(refused.error(), (507, "InsufficientStorage".into()));
    assert!(!kept.is_empty());
    for (seed, sum) in kept.iter().enumerate() {
        assert_eq!(
            &sha256(&client.call("GET", &format!("/bucket/{seed}")).ok().body),
            sum
        );
    }
    // Of what was refused there is nothing, a part is refused as well, and with room again the
    // server goes on.
    let seed = kept.len();
    assert_eq!(
        client.call("GET", &format!("/bucket/{seed}")).error(),
        (404, "NoSuchKey".into())
    );
    assert_eq!(
        client
            .call("GET", "/bucket?list-type=2")
            .ok()
            .fields("Key")
            .len(),
        seed
    );
    let upload = client
        .call("POST", "/bucket/parts?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    let part = client.put(
        &format!("/bucket/parts?partNumber=1&uploadId={upload}"),
        noise(1, 20 << 20),
    );
    assert_eq!(part.error(), (507, "InsufficientStorage".into()));
    assert_eq!(
        client
            .call("GET", &format!("/bucket/parts?uploadId={upload}"))
            .ok()
            .fields("PartNumber"),
        [""; 0]
    );
    client.call("DELETE", "/bucket/0").ok();
    // The bytes of what was deleted are freed after the answer.
    while client.put("/bucket/again", noise(7, 10 << 20)).status == 507 {
        std::thread::yield_now();
    }
    assert!(client.call("GET", "/bucket/again").ok().body == noise(7, 10 << 20));
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_refusal_reaches_a_client_that_is_still_sending() {
    let (_server, mut client) = memory();
    for _ in 0..5 {
        let answer = client.put("/absent/k", noise(1, 8 << 20));
        assert_eq!(answer.error(), (404, "NoSuchBucket".into()));
        let wrong = client
            .signed(Request::new("PUT", "/bucket/k").body(noise(1, 8 << 20)))
            .header("x-amz-date", "20200101T000000Z");
        assert_eq!(client.try_send(&wrong).unwrap().status, 403);
    }
}

#[test]
fn who_does_not_speak_is_not_listened_to() {
    let server = Server::start(&["--memory", "--idle", "300ms"]);
    let unsent = server.client().signed(
        Request::new("PUT", "/bucket/k")
            .header("content-length", "10")
            .header("expect", "100-continue"),
    );
    server.client().call("PUT", "/bucket").ok();
    let head: String = unsent
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    for (sent, answered) in [
        (String::new(), false),
        ("GET / HT".into(), false),
        (format!("PUT /bucket/k HTTP/1.1\r\n{head}\r\n"), true),
    ] {
        let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
        std::io::Write::write_all(&mut stream, sent.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // Ends when the server closes the connection; a test that hangs here has failed.
        let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
        assert_eq!(
            String::from_utf8_lossy(&answer).contains("RequestTimeout"),
            answered,
            "{sent}"
        );
    }
}
