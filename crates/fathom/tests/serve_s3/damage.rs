//! What the server answers where what it keeps is damaged, gone, or too much to keep open.

use super::client::{Client, Request, Server, noise};
use super::{largest_file, memory};
use std::path::Path;
use std::process::Command;

fn on(dir: &Path) -> (Server, Client) {
    // Each read is compared, so that damage is seen at once.
    let server = Server::start(&["--data", dir.to_str().unwrap(), "--verify-every", "0s"]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    (server, client)
}

#[test]
fn an_object_that_cannot_be_read_is_an_error_and_no_answer_that_breaks_off() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut client) = on(dir.path());
    client.put("/bucket/k", noise(1, 500_000)).ok();
    let file = largest_file(dir.path());
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (500, "InternalError".into())
    );
    for copy in [
        Request::new("PUT", "/bucket/copy"),
        Request::new("PUT", "/bucket/k").header("x-amz-metadata-directive", "REPLACE"),
    ] {
        assert_eq!(
            client
                .send(copy.header("x-amz-copy-source", "/bucket/k"))
                .error(),
            (500, "InternalError".into())
        );
    }
    assert_eq!(
        client.call("GET", "/bucket/copy").error(),
        (404, "NoSuchKey".into())
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (500, "InternalError".into())
    );
}

#[test]
fn a_damaged_end_is_not_copied_either() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut client) = on(dir.path());
    client.put("/bucket/k", noise(1, 500_000)).ok();
    let file = largest_file(dir.path());
    let mut damaged = std::fs::read(&file).unwrap();
    damaged[450_000] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    let copy = Request::new("PUT", "/bucket/copy").header("x-amz-copy-source", "/bucket/k");
    assert_eq!(client.send(copy).error(), (500, "InternalError".into()));
    assert_eq!(
        client.call("GET", "/bucket/copy").error(),
        (404, "NoSuchKey".into())
    );
}

#[test]
fn more_objects_than_files_may_be_open_are_read_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let server = Server::start_after("ulimit -n 64", &["--data", data]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    for number in 0..80 {
        client
            .put(&format!("/bucket/{number}"), noise(number, 150_000))
            .ok();
    }
    for _ in 0..2 {
        for number in 0..80 {
            assert!(
                client.call("GET", &format!("/bucket/{number}")).ok().body
                    == noise(number, 150_000),
                "{number}"
            );
        }
    }
}

#[test]
fn a_directory_that_is_gone_is_said_and_nothing_is_written() {
    let ground = tempfile::tempdir().unwrap();
    let dir = ground.path().join("data");
    let (_server, mut client) = on(&dir);
    client.put("/bucket/k", "bytes").ok();
    let health = Request::new("GET", "/fathom/health");
    client.try_send(&health).unwrap().ok();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(client.try_send(&health).unwrap().status, 503);
    for length in [5, 500_000] {
        assert_eq!(
            client.put("/bucket/k", noise(1, length)).error(),
            (503, "ServiceUnavailable".into()),
            "{length}"
        );
    }
    // Another directory in its place is not the one that was lost.
    std::fs::create_dir(&dir).unwrap();
    assert_eq!(
        client.put("/bucket/k", "more").error(),
        (503, "ServiceUnavailable".into())
    );
    assert_eq!(client.try_send(&health).unwrap().status, 503);
}

#[test]
fn clients_that_complete_an_upload_at_once_hear_the_same() {
    let (server, mut client) = memory();
    for round in 0..10 {
        let upload = client
            .call("POST", "/bucket/big?uploads")
            .ok()
            .fields("UploadId")
            .remove(0);
        let path = format!("/bucket/big?uploadId={upload}");
        let etag = client
            .put(&format!("{path}&partNumber=1"), format!("round {round}"))
            .ok()
            .headers["etag"]
            .clone();
        let body = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
        );
        let complete = Request::new("POST", &path).body(body);
        let asking: Vec<_> = (0..5)
            .map(|_| {
                let (mut client, complete) = (server.client(), complete.clone());
                std::thread::spawn(move || client.send(complete).ok().fields("ETag"))
            })
            .collect();
        let heard: Vec<_> = asking
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(
            heard
                .iter()
                .all(|etag| *etag == heard[0] && etag.len() == 1),
            "{heard:?}"
        );
        // Later, when something else is there.
        client.put("/bucket/big", "newer").ok();
        assert_eq!(client.send(complete).ok().fields("ETag"), heard[0]);
        assert_eq!(client.call("GET", "/bucket/big").ok().text(), "newer");
    }
}

#[test]
fn a_range_that_is_not_understood_is_the_whole_object() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", "0123456789").ok();
    for range in [
        "bytes=abc",
        "bytes=,",
        "items=0-1",
        "bytes=5-2",
        "bytes=0-1,3-4",
    ] {
        let request = Request::new("GET", "/bucket/k").header("range", range);
        let answer = client.send(request.clone());
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "0123456789"),
            "{range}"
        );
        assert!(!answer.headers.contains_key("content-range"));
        assert_eq!(
            client.try_send(&request).unwrap().status,
            403,
            "nobody known"
        );
        let mut forged = client.signed(request);
        forged.headers.insert("range".into(), "bytes=cde".into());
        assert_eq!(
            client.try_send(&forged).unwrap().error(),
            (403, "SignatureDoesNotMatch".into())
        );
    }
    let presigned = client
        .presigned(Request::new("GET", "/bucket/k"), 60)
        .header("range", "bytes=0-1,3-4");
    assert_eq!(
        client.try_send(&presigned).unwrap().ok().text(),
        "0123456789"
    );
    assert_eq!(
        client
            .send(Request::new("GET", "/bucket/k").header("range", "bytes=10-"))
            .status,
        416
    );
}

#[test]
fn head_says_what_get_would() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", "0123456789").ok();
    let part = client.send(Request::new("HEAD", "/bucket/k").header("range", "bytes=0-1"));
    assert_eq!(
        (part.status, part.headers["content-range"].as_str()),
        (206, "bytes 0-1/10")
    );
    let typed = Request::new("HEAD", "/bucket/k?response-content-type=text/html");
    assert_eq!(
        client.send(typed.clone()).ok().headers["content-type"],
        "text/html"
    );
    let open = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::bucket/*"}}"#;
    client.put("/bucket?policy", open).ok();
    assert_eq!(
        client
            .try_send(&Request::new("GET", "/bucket/k"))
            .unwrap()
            .status,
        200
    );
    let anonymous = Request {
        method: "GET".into(),
        ..typed
    };
    assert_eq!(
        client.try_send(&anonymous).unwrap().error(),
        (400, "InvalidRequest".into())
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_small_file_system_takes_objects_and_its_reserve_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
        .arg(dir.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("SKIPPED: needs to mount a tmpfs");
        return;
    }
    let _mount = super::Unmount(dir.path());
    let data = dir.path().join("data");
    let server = Server::on(&data);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    client.put("/bucket/k", noise(1, 10 << 20)).ok();
    drop(server);
    let server = Server::start(&["--data", data.to_str().unwrap(), "--reserve", "60MiB"]);
    assert_eq!(
        server.client().put("/bucket/k", noise(1, 1 << 20)).error(),
        (507, "InsufficientStorage".into())
    );
}
