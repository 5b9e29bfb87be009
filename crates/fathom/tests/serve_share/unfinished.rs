//! Uploads that never end, because their client or the server goes: nothing of them is left.

use super::client::{Client, FORM, Server, form};
use super::{LAYOUTS, noise};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Barrier, Mutex};

/// Far more than what two starts and ends leave in their tables.
const UPLOAD: usize = 2_000_000;

/// Bytes and number of all files below a directory.
fn held(dir: &Path) -> (u64, usize) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let more = if path.is_dir() {
            held(&path)
        } else {
            (path.metadata().unwrap().len(), 1)
        };
        sum = (sum.0 + more.0, sum.1 + more.1);
    }
    sum
}

/// The beginning of an upload: so many bytes of its body, and no more.
fn begun(client: &Client, path: &str, bytes: usize) -> TcpStream {
    let body = form("half", &noise(3, UPLOAD));
    let length = body.len().to_string();
    let headers = [FORM, ("content-length", length.as_str())];
    let mut stream = client.begin("POST", path, &headers);
    stream
        .write_all(&body[..bytes.min(body.len() - 1)])
        .unwrap();
    stream
}

fn listed(owner: &Client) -> usize {
    owner
        .call("GET", "/files")
        .text()
        .matches("/edit\"")
        .count()
}

#[test]
fn uploads_that_never_end_leave_no_row_no_file_no_space_and_no_place() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("share.db");
        let start = || Server::start(&db, &["--layout", layout]);
        let server = start();
        let owner = server.owner();
        let bytes = noise(1, UPLOAD);
        let first = owner.upload("first", &bytes).id();
        let link = r#"{"label":"l","maxFileUploads":3,"fileLifetime":"24h0m0s"}"#;
        let link = owner.json("POST", "/api/guest-links", link).id();
        let by_guest = format!("/api/guest/{link}");
        server.end();
        let before = held(dir.path());
        // From within the head of the form to its last byte but one.
        let points = [1, 60, 200, 4096, 65_536, 1_000_000, UPLOAD, usize::MAX];
        for is_killed in [false, true] {
            let server = start();
            let (owner, guest) = (server.owner(), server.guest());
            let streams: Vec<TcpStream> = points
                .iter()
                .flat_map(|at| {
                    [
                        begun(&owner, "/api/entry", *at),
                        begun(&guest, &by_guest, *at),
                    ]
                })
                .collect();
            if is_killed {
                server.kill();
            } else {
                drop(streams);
                assert_eq!(listed(&owner), 1, "{layout}");
                server.end();
            }
        }
        let server = start();
        let owner = server.owner();
        assert_eq!(listed(&owner), 1, "{layout}");
        let got = owner.call("GET", &format!("/-{first}"));
        assert!(got.status == 200 && got.body == bytes, "{layout}");
        server.end();
        let after = held(dir.path());
        assert_eq!(after.1, before.1, "{layout}: files");
        assert!(
            after.0 < before.0 + (UPLOAD / 4) as u64,
            "{layout}: {before:?} {after:?}"
        );
        assert_eq!(race(&start(), &by_guest), 3, "{layout}");
    }
}

/// How many of many guests at once get a place.
fn race(server: &Server, path: &str) -> usize {
    const GUESTS: usize = 16;
    let begin = Barrier::new(GUESTS);
    let statuses = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..GUESTS {
            scope.spawn(|| {
                let body = form("g", &noise(2, 50_000));
                begin.wait();
                let status = server.guest().send("POST", path, &[FORM], &body).status;
                statuses.lock().unwrap().push(status);
            });
        }
    });
    let statuses = statuses.into_inner().unwrap();
    let got = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 403).count();
    assert_eq!(got + refused, GUESTS, "{statuses:?}");
    got
}
