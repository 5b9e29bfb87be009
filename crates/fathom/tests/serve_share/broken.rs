//! Bodies that break off on their way in and out: who can still listen is told, and so is the
//! operator, once.

use super::client::{Client, FORM, Server, form, read};
use super::{LAYOUTS, files, noise, served};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::path::Path;

/// What the log says once it has so many lines.
fn said(log: &Path, lines: usize) -> Vec<String> {
    loop {
        let text = std::fs::read_to_string(log).unwrap();
        if text.lines().count() >= lines && text.ends_with('\n') {
            return text.lines().map(str::to_owned).collect();
        }
        std::thread::yield_now();
    }
}

/// What comes to whoever closes its half of the connection after a body.
fn half_closed(owner: &Client, headers: &[(&str, &str)], body: &[u8]) -> super::client::Answer {
    let headers = [&[FORM], headers].concat();
    let mut stream = owner.begin("POST", "/api/entry", &headers);
    stream.write_all(body).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read(stream, "POST")
}

#[test]
fn an_upload_whose_client_says_no_more_before_the_last_boundary_is_refused_and_not_kept() {
    for layout in LAYOUTS {
        let (dir, server, owner) = served(&["--layout", layout]);
        for length in [0, 10, 300_000, 3_000_000] {
            let whole = form("f", &noise(1, length));
            let cut = &whole[..whole.len() - b"\r\n--b--\r\n".len()];
            let (announced, more) = (cut.len().to_string(), whole.len().to_string());
            let chunk = [format!("{:x}\r\n", cut.len()).as_bytes(), cut, b"\r\n"].concat();
            let ended = [&chunk[..], b"0\r\n\r\n"].concat();
            let chunked = ("transfer-encoding", "chunked");
            // The request is whole and its form is not; or the request is not whole either.
            for (framing, sent, told) in [
                (("content-length", &announced[..]), cut, "boundary"),
                (chunked, &ended, "boundary"),
                (("content-length", &more), cut, "length"),
                (chunked, &chunk, "length"),
            ] {
                let answer = half_closed(&owner, &[framing], sent);
                let what = format!("{layout} {length} {framing:?}: {}", answer.text());
                assert_eq!(answer.status, 400, "{what}");
                assert!(answer.text().contains(told), "{what}");
            }
        }
        let whole = form("f", b"all of it");
        let length = whole.len().to_string();
        let id = half_closed(&owner, &[("content-length", &length)], &whole).id();
        let page = owner.call("GET", "/files").text();
        assert_eq!(page.matches("href=\"/-").count(), 1, "{page}");
        let mut stream = owner.begin("GET", &format!("/-{id}"), &[]);
        stream.shutdown(Shutdown::Write).unwrap();
        stream.flush().unwrap();
        assert_eq!(read(stream, "GET").body, b"all of it", "{layout}");
        drop(server);
        let _again = Server::start(&dir.path().join("share.db"), &["--layout", layout]);
        if layout == "file-per-share" {
            assert_eq!(files(dir.path()), 1);
        }
    }
}

#[test]
fn who_leaves_in_the_middle_is_in_the_log_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let server = Server::start_logged(&dir.path().join("share.db"), &[], &log);
    let owner = server.owner();
    let body = form("f", &noise(1, 2_000_000));
    let length = body.len().to_string();
    let mut upload = owner.begin("POST", "/api/entry", &[FORM, ("content-length", &length)]);
    upload.write_all(&body[..1_000_000]).unwrap();
    drop(upload);
    let expected = "POST /api/entry from 127.0.0.1: the body ended early after 1000000 bytes of it";
    assert_eq!(said(&log, 1), [expected]);
    // More than the kernel's buffers on both sides take together.
    let id = owner.upload("large", &noise(2, 50_000_000)).id();
    let mut download = owner.begin("GET", &format!("/-{id}"), &[]);
    download.read_exact(&mut [0; 1000]).unwrap();
    drop(download);
    let expected =
        format!("GET /-{id} from 127.0.0.1: the client left before it had all of the answer");
    assert_eq!(said(&log, 2)[1..], [expected]);
    // Whoever asks for a part or for the head alone, and gets it, breaks nothing off.
    let path = format!("/-{id}");
    owner.call("HEAD", &path);
    owner.send("GET", &path, &[("range", "bytes=5-9")], b"");
    assert_eq!(owner.upload("small", b"x").status, 200);
    server.end();
    assert_eq!(said(&log, 2).len(), 2);
}

#[test]
fn an_upload_that_the_disk_has_lost_is_in_the_log_once_for_each_who_wants_it() {
    // Sent by the kernel, and read by the server.
    for options in [&[][..], &["--read-batch", "3"]] {
        let dir = tempfile::tempdir().unwrap();
        let (log, db) = (dir.path().join("log"), dir.path().join("share.db"));
        let server = Server::start_logged(&db, options, &log);
        let id = server.owner().upload("large", &noise(1, 8_000_000)).id();
        let kept = std::fs::read_dir(dir.path().join("share.db.shares")).unwrap();
        let kept = kept.map(|entry| entry.unwrap().path());
        let kept = kept
            .filter(|path| path.is_file())
            .max_by_key(|path| path.metadata().unwrap().len());
        let kept = std::fs::File::options()
            .write(true)
            .open(kept.unwrap())
            .unwrap();
        kept.set_len(4_000_000).unwrap();
        let mut got = Vec::new();
        let mut download = server.guest().begin("GET", &format!("/-{id}"), &[]);
        let _however_it_ends = download.read_to_end(&mut got);
        assert!(got.len() < 8_000_000);
        server.end();
        let lines = said(&log, 1);
        let begins = format!("GET /-{id} from 127.0.0.1: ");
        assert!(
            lines.len() == 1 && lines[0].starts_with(&begins),
            "{options:?} {lines:?}"
        );
        assert!(!lines[0].contains("client"), "{lines:?}");
    }
}
