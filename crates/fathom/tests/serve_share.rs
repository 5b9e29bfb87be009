//! `fathom serve share` as its clients see it: the real binary, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it skipped"
)]

#[path = "serve_share/broken.rs"]
mod broken;
#[path = "serve_share/browser.rs"]
mod browser;
#[path = "serve_share/client.rs"]
mod client;
#[path = "serve_share/full_disk.rs"]
mod full_disk;
#[path = "ground/limited.rs"]
mod limited;
#[path = "serve_share/loads.rs"]
mod loads;
#[path = "serve_share/locked.rs"]
mod locked;
#[path = "serve_share/pages.rs"]
mod pages;
#[path = "serve_share/refusals.rs"]
mod refusals;
#[path = "serve_share/seen.rs"]
mod seen;
#[path = "serve_share/slow.rs"]
mod slow;
#[path = "serve_share/unfinished.rs"]
mod unfinished;

use client::{Client, FORM, SECRET, Server, form, read};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

const LAYOUTS: [&str; 2] = ["file-per-share", "one-database"];

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}

fn served(options: &[&str]) -> (tempfile::TempDir, Server, Client) {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("share.db"), options);
    let owner = server.owner();
    (dir, server, owner)
}

/// Files of uploads that lie below a directory, those that are under way too.
fn files(dir: &Path) -> usize {
    let shares = dir.join("share.db.shares");
    let count = |path: &Path| std::fs::read_dir(path).unwrap().count();
    count(&shares) - 1 + count(&shares.join("incoming"))
}

#[test]
fn what_was_put_up_is_given_back_whole_in_ranges_and_by_conditions() {
    for layout in LAYOUTS {
        let (_dir, server, owner) = served(&["--layout", layout]);
        let guest = server.guest();
        for length in [0, 1, 270_321, 270_322, 3_000_000] {
            let bytes = noise(length as u64, length);
            let id = owner.upload("a b.bin", &bytes).id();
            let path = format!("/-{id}");
            let got = guest.call("GET", &path);
            assert!(got.status == 200 && got.body == bytes, "{layout} {length}");
            let head = guest.call("HEAD", &format!("{path}/any%20name"));
            assert_eq!(
                (head.status, head.headers["content-length"].clone()),
                (200, length.to_string())
            );
            let etag = &got.headers["etag"];
            assert_eq!(*etag, head.headers["etag"]);
            assert_eq!(
                got.headers["content-disposition"],
                "attachment; filename=\"a b.bin\"; filename*=UTF-8''a%20b.bin"
            );
            assert!(got.headers["content-security-policy"].contains("sandbox"));
            assert_eq!(got.headers["x-content-type-options"], "nosniff");
            assert_eq!(
                guest
                    .send("GET", &path, &[("if-none-match", etag)], b"")
                    .status,
                304
            );
            if length > 10 {
                let asked = format!("bytes=5-{}", length - 2);
                for if_range in [etag.as_str(), got.headers["last-modified"].as_str()] {
                    let part = guest.send(
                        "GET",
                        &path,
                        &[("range", &asked), ("if-range", if_range)],
                        b"",
                    );
                    assert!(
                        part.status == 206 && part.body == bytes[5..length - 1],
                        "{layout} {length}"
                    );
                }
                let all = guest.send(
                    "GET",
                    &path,
                    &[("range", &asked), ("if-range", "\"other\"")],
                    b"",
                );
                assert_eq!((all.status, all.body.len()), (200, length));
                let last = guest.send("GET", &path, &[("range", "bytes=-3")], b"");
                assert_eq!(last.body, bytes[length - 3..]);
                let several = guest.send("GET", &path, &[("range", "bytes=0-1,7-8")], b"");
                assert!(several.headers["content-type"].starts_with("multipart/byteranges"));
            }
            let beyond = guest.send("GET", &path, &[("range", &format!("bytes={length}-"))], b"");
            assert_eq!(
                (beyond.status, beyond.headers["content-range"].clone()),
                (416, format!("bytes */{length}"))
            );
        }
    }
}

#[test]
fn the_curl_commands_of_picoshare_work_as_written() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("SKIPPED: needs curl");
        return;
    }
    let (dir, server, _) = served(&[]);
    let bytes = noise(1, 100_000);
    std::fs::write(dir.path().join("f"), &bytes).unwrap();
    let script = r#"set -e
curl -sf -c jar -H 'Content-Type: application/json' -d "{\"sharedSecretKey\":\"$S\"}" $B/api/auth
ID=$(curl -sf -b jar -F file=@f -F note=hello "$B/api/entry?expiration=2040-01-01T00:00:00Z" | sed 's/.*"id":"\([^"]*\)".*/\1/')
curl -sf $B/-$ID -o out
cmp f out
curl -sf -C 5000 $B/-$ID -o rest
curl -sf $B/!$ID -o old && cmp f old
curl -sf -b jar $B/files/$ID/info | grep -q hello
curl -sf -b jar -X DELETE $B/api/entry/$ID
curl -s -o gone -w '%{http_code}' $B/-$ID"#;
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(dir.path())
        .env("B", format!("http://{}", server.address))
        .env("S", SECRET)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success() && out == "404", "{out} {err}");
}

#[test]
fn what_is_no_upload_is_refused_by_its_code_and_leaves_nothing() {
    let (dir, server, owner) = served(&["--keep-deleted", "0s"]);
    let put = |headers: &[(&str, &str)], body: &[u8]| {
        owner.send("POST", "/api/entry", headers, body).status
    };
    let whole = form("f", b"bytes");
    let text = String::from_utf8(whole.clone()).unwrap();
    for (what, body) in [
        ("nothing", String::new()),
        ("another boundary", text.replace("--b", "--c")),
        ("no last boundary", text.replace("--b--\r\n", "")),
        ("more after the end", format!("{text}more")),
        ("two files", text.replace("--b--\r\n", "") + &text),
        ("a directory", text.replace("\"f\"", "\"../f\"")),
        ("a back slash", text.replace("\"f\"", "\"a\\b\"")),
        ("no name", text.replace("name=\"file\"; ", "")),
        ("no file", text.replace("name=\"file\"", "name=\"other\"")),
        (
            "a form in a form",
            text.replace("application/octet-stream", "multipart/mixed; boundary=c"),
        ),
        (
            "a boundary in the data",
            text.replace("bytes", "by\r\n--btes"),
        ),
    ] {
        assert_eq!(put(&[FORM], body.as_bytes()), 400, "{what}");
    }
    assert_eq!(put(&[("content-type", "text/plain")], &whole), 400);
    for (query, status) in [
        ("2000-01-01T00:00:00Z", 400),
        ("soon", 400),
        ("2040-01-01T00:00:00%2B02:00", 200),
    ] {
        let path = format!("/api/entry?expiration={query}");
        assert_eq!(
            owner.send("POST", &path, &[FORM], &whole).status,
            status,
            "{query}"
        );
    }
    let mut short = owner.begin("POST", "/api/entry", &[FORM, ("content-length", "100000")]);
    short.write_all(&whole).unwrap();
    short.shutdown(std::net::Shutdown::Write).unwrap();
    drop(short);
    let guest = server.guest();
    assert_eq!(guest.upload("f", b"x").status, 401);
    assert_eq!(owner.json("POST", "/api/auth", "{").status, 400);
    assert_eq!(
        guest
            .json("POST", "/api/auth", r#"{"sharedSecretKey":"no"}"#)
            .status,
        401
    );
    let wrong = owner.call("PATCH", "/api/entry");
    assert_eq!(
        (wrong.status, wrong.headers["allow"].as_str()),
        (405, "POST")
    );
    assert_eq!(guest.call("GET", "/files").headers["location"], "/login");
    assert_eq!(owner.call("DELETE", "/api/entry/none").status, 404);
    drop(server);
    let _again = Server::start(&dir.path().join("share.db"), &[]);
    assert_eq!(files(dir.path()), 1);
}

#[test]
fn no_space_is_507_before_the_body_comes() {
    let (_dir, _server, owner) = served(&["--reserve", "500TiB"]);
    let answer = owner.upload("f", &noise(1, 3_000_000));
    assert_eq!(answer.status, 507, "{}", answer.text());
    let health = owner.call("GET", "/fathom/health");
    assert_eq!(health.status, 503);
}

#[test]
fn one_of_two_guests_gets_the_last_place_and_sizes_are_of_files() {
    for layout in LAYOUTS {
        let (_dir, server, owner) = served(&["--layout", layout]);
        let new = owner.json(
            "POST",
            "/api/guest-links",
            r#"{"label":"l","maxFileBytes":100000,"maxFileUploads":2,"fileLifetime":"24h0m0s"}"#,
        );
        let path = format!("/api/guest/{}", new.id());
        let guest = server.guest();
        let put = |bytes: &[u8]| {
            guest.send(
                "POST",
                &path,
                &[FORM, ("accept", "application/json")],
                &form("g", bytes),
            )
        };
        assert_eq!(
            put(&noise(1, 100_001)).status,
            413,
            "one byte more than a file may have"
        );
        assert_eq!(put(&noise(1, 2_000_000)).status, 413);
        assert_eq!(
            put(&noise(1, 100_000)).status,
            200,
            "the frame of the form does not count"
        );
        let begin = Barrier::new(4);
        let statuses = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    begin.wait();
                    let status = put(&noise(2, 90_000)).status;
                    statuses.lock().unwrap().push(status);
                });
            }
        });
        let mut statuses = statuses.into_inner().unwrap();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403, 403, 403], "{layout}");
        let text = guest.send("POST", "/api/guest/none", &[FORM], &form("g", b"x"));
        assert_eq!(text.status, 404);
    }
}

#[test]
fn guesses_of_the_secret_wait_on_every_way_in() {
    let (_dir, server, _) = served(&[]);
    let guest = server.guest();
    let login = |secret: &str| {
        guest.json(
            "POST",
            "/api/auth",
            &format!("{{\"sharedSecretKey\":\"{secret}\"}}"),
        )
    };
    assert_eq!([login("a").status, login("b").status], [401, 401]);
    assert_eq!(
        guest
            .send("GET", "/fathom/seen", &[("authorization", "Bearer c")], b"")
            .status,
        403
    );
    let refused = login(SECRET);
    assert_eq!(refused.status, 429);
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() >= 1);
}

#[test]
fn a_session_that_is_ended_is_worth_nothing() {
    let (_dir, server, owner) = served(&[]);
    let other = server.owner();
    assert_eq!(owner.call("DELETE", "/api/sessions").status, 204);
    assert_eq!(other.upload("f", b"x").status, 401);
    assert_eq!(owner.upload("f", b"x").status, 200);
    assert_eq!(owner.call("DELETE", "/api/auth").status, 200);
    assert_eq!(owner.upload("f", b"x").status, 401);
}

#[test]
fn an_upload_is_edited_replaced_listed_and_its_downloads_count_once() {
    let (_dir, server, owner) = served(&[]);
    let id = owner.upload("first.txt", b"one").id();
    let path = format!("/-{id}");
    let etag = server.guest().call("GET", &path).headers["etag"].clone();
    let edited = r#"{"filename":"<b>.txt","note":"n","expiration":""}"#;
    assert_eq!(
        owner
            .json("PUT", &format!("/api/entry/{id}"), edited)
            .status,
        200
    );
    let replaced = owner.send(
        "POST",
        &format!("/api/entry/{id}"),
        &[FORM],
        &form("second.bin", b"other bytes"),
    );
    assert_eq!(replaced.id(), id);
    let got = server.guest().call("GET", &path);
    assert!(got.body == b"other bytes" && got.headers["etag"] != etag);
    let about = || owner.call("GET", &format!("/files/{id}/info")).text();
    assert!(about().contains("<th>Note</th><td>n</td>"), "{}", about());
    // What is said of the other bytes counts, and what is not said stays.
    let noted = [
        &b"--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nof the new\r\n"[..],
        &form("second.bin", b"other bytes"),
    ];
    let api = format!("/api/entry/{id}");
    owner.send("POST", &api, &[FORM], &noted.concat());
    assert!(about().contains("<td>of the new</td>"), "{}", about());
    assert_eq!(
        owner
            .json("PUT", &api, r#"{"filename":"third.bin"}"#)
            .status,
        200
    );
    assert!(about().contains("<td>of the new</td>"), "{}", about());
    assert_eq!(owner.json("PUT", &api, r#"{"note":"last"}"#).status, 200);
    assert!(about().contains("third.bin") && about().contains("<td>last</td>"));
    for range in ["bytes=5-", "bytes=2-3"] {
        server.guest().send("GET", &path, &[("range", range)], b"");
    }
    let shown = owner.call("GET", &format!("/files/{id}/downloads")).text();
    assert!(shown.contains(": 2 downloads by 1 visitor"), "{shown}");
    assert!(owner.call("GET", "/files").text().contains("third.bin"));
}

#[test]
fn health_says_where_nothing_can_be_kept_until_something_can() {
    let (dir, _server, owner) = served(&[]);
    let health = || owner.call("GET", "/fathom/health");
    let incoming = dir.path().join("share.db.shares/incoming");
    let aside = dir.path().join("aside");
    std::fs::rename(&incoming, &aside).unwrap();
    assert_eq!(owner.upload("f", b"x").status, 500);
    assert_eq!(health().status, 503);
    assert!(health().text().contains("the log says why"));
    // What was refused, or is not there, says nothing of it.
    assert_eq!(owner.call("DELETE", "/api/entry/none").status, 404);
    assert_eq!(health().status, 503);
    std::fs::rename(&aside, &incoming).unwrap();
    assert_eq!(owner.upload("f", b"x").status, 200);
    assert_eq!(health().status, 200);
}

#[test]
fn a_list_of_many_uploads_is_read_a_page_at_a_time() {
    let (_dir, _server, owner) = served(&["--synchronous", "off"]);
    for number in 0..103 {
        owner.upload(&format!("f{number}"), b"x");
    }
    let page = |query: &str| {
        let page = owner.call("GET", &format!("/files{query}"));
        (page.status, page.text().matches("href=\"/-").count())
    };
    assert_eq!(page(""), (200, 100));
    assert_eq!(page("?page=2"), (200, 3));
    for odd in ["?page=3", "?page=18446744073709551615"] {
        assert_eq!(page(odd), (200, 0), "{odd}");
    }
    assert_eq!(page("?page=-1"), (200, 100));
}

#[test]
fn what_is_slow_keeps_nobody_waiting() {
    for layout in LAYOUTS {
        let (_dir, _server, owner) = served(&["--layout", layout]);
        let body = form("slow", &noise(1, 1_000_000));
        let length = body.len().to_string();
        let mut slow = owner.begin("POST", "/api/entry", &[FORM, ("content-length", &length)]);
        slow.write_all(&body[..700_000]).unwrap();
        let fast = owner.upload("fast", &noise(2, 500_000));
        assert_eq!(fast.status, 200, "{layout}");
        slow.write_all(&body[700_000..]).unwrap();
        assert_eq!(read(slow, "POST").status, 200, "{layout}");
    }
}

#[test]
fn memory_does_not_grow_with_files() {
    const SIZE: usize = 150_000_000;
    for layout in LAYOUTS {
        let (_dir, server, owner) = served(&["--layout", layout]);
        let id = owner.upload("large", &vec![7; SIZE]).id();
        assert_eq!(
            owner.call("GET", &format!("/-{id}")).body.len(),
            SIZE,
            "{layout}"
        );
        let most = server.most_memory();
        assert!(most < 64_000_000, "{layout}: {most} bytes");
    }
}

#[test]
fn whoever_is_slow_to_take_a_file_takes_little_memory() {
    let (_dir, server, owner) = served(&[]);
    let id = owner.upload("large", &vec![7; 20_000_000]).id();
    let path = format!("/-{id}");
    assert_eq!(owner.call("GET", &path).body.len(), 20_000_000);
    let before = server.most_memory();
    let slow: Vec<_> = (0..100).map(|_| owner.begin("GET", &path, &[])).collect();
    // Each has its head, so that all are answered.
    for stream in &slow {
        let mut byte = [0];
        std::io::Read::read_exact(&mut &*stream, &mut byte).unwrap();
    }
    let grown = server.most_memory() - before;
    assert!(
        grown < 30_000_000,
        "100 slow clients cost {grown} bytes more"
    );
}

#[test]
fn every_option_is_stated_and_one_that_cannot_hold_ends_the_start() {
    let options = [
        "--layout",
        "one-database",
        "--page-size",
        "16KiB",
        "--chunk-size",
        "1MiB",
        "--journal",
        "delete",
        "--synchronous",
        "normal",
        "--checkpoint",
        "8MiB",
        "--read-batch",
        "7",
        "--connections",
        "3",
        "--stored-size",
        "off",
        "--downloads-index",
        "off",
        "--keep-deleted",
        "5m",
    ];
    let (dir, server, owner) = served(&options);
    let bytes = noise(1, 3_000_000);
    let id = owner.upload("f", &bytes).id();
    assert!(owner.call("GET", &format!("/-{id}")).body == bytes);
    let page = owner.call("GET", "/information").text();
    for pair in options.chunks(2) {
        let name = pair[0].trim_start_matches('-');
        let row = page
            .split(&format!("<th>{name}</th><td>"))
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {page}"));
        let shown = pair[1].replace("KiB", " KiB").replace("MiB", " MiB");
        assert!(row.starts_with(&shown), "{name}: {row:.40}");
    }
    drop(server);
    for (options, told) in [
        (
            &["--layout", "one-database", "--page-size", "32KiB"][..],
            "--page-size 16 KiB",
        ),
        (
            &["--layout", "one-database", "--journal", "off"],
            "--journal",
        ),
        (&["--page-size", "5000"], "--page-size"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["serve", "share", "--listen", "127.0.0.1:0", "--db"])
            .arg(dir.path().join("share.db"))
            .args(options)
            .env("PS_SHARED_SECRET", SECRET)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.contains(told),
            "{options:?}: {error}"
        );
    }
}

#[test]
fn faults_are_done_on_command_and_what_was_seen_is_told() {
    let (_dir, _server, owner) = served(&["--misbehave", "put.errors=100%:503"]);
    assert_eq!(owner.upload("f", b"x").status, 503);
    let seen: serde_json::Value =
        serde_json::from_slice(&owner.call("GET", "/fathom/seen").body).unwrap();
    assert_eq!(seen["operations"]["put"]["errors"], 1);
    assert_eq!(seen["operations"]["login"]["count"], 1);
}

/// Uploads from several threads until so many were answered, then kills the server at once.
fn killed(db: &Path, layout: &str, round: u64) -> Vec<(String, u64)> {
    let server = Server::start(db, &["--layout", layout]);
    let owner = server.owner();
    let (answered, count) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let uploading: Vec<_> = (0..3)
        .map(|thread| {
            let (owner, answered, count) =
                (owner.clone(), Arc::clone(&answered), Arc::clone(&count));
            std::thread::spawn(move || {
                for number in 0.. {
                    let seed = round << 32 | thread << 16 | number;
                    let Some(id) = owner.try_upload(&noise(seed, size_of(seed))) else {
                        return;
                    };
                    answered.lock().unwrap().push((id, seed));
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    while count.load(Ordering::SeqCst) < 12 {
        std::thread::yield_now();
    }
    server.kill();
    uploading
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let answered = answered.lock().unwrap();
    answered.clone()
}

fn size_of(seed: u64) -> usize {
    [0, 10, 70_000, 300_000, 1_500_000][usize::try_from(seed % 5).unwrap()]
}

#[test]
fn a_killed_server_keeps_what_it_answered_and_nothing_else() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("share.db");
        let mut all = Vec::new();
        for round in 0..4 {
            all.extend(killed(&db, layout, round));
        }
        let server = Server::start(&db, &["--layout", layout]);
        let guest = server.guest();
        for (id, seed) in &all {
            let got = guest.call("GET", &format!("/-{id}"));
            assert!(
                got.status == 200 && got.body == noise(*seed, size_of(*seed)),
                "{layout} {id}"
            );
        }
        if layout == "file-per-share" {
            // One upload a thread and round may have ended without its answer.
            assert!(files(dir.path()) <= all.len() + 12);
            let incoming = dir.path().join("share.db.shares/incoming");
            assert_eq!(std::fs::read_dir(incoming).unwrap().count(), 0);
        }
    }
}

#[test]
#[ignore = "writes 10 GB"]
fn privileged_ten_gigabytes_go_in_and_come_out() {
    // So many GB as there is space for.
    let size = std::env::var("FATHOM_LARGE_UPLOAD_GB").map_or(10, |gb| gb.parse().unwrap());
    let size: u64 = size * 1_000_000_000;
    let (_dir, server, owner) = served(&[]);
    let frame = form("large", b"");
    let (head, tail) = frame.split_at(frame.len() - b"\r\n--b--\r\n".len());
    let length = (size + frame.len() as u64).to_string();
    let mut stream = owner.begin("POST", "/api/entry", &[FORM, ("content-length", &length)]);
    stream.write_all(head).unwrap();
    let block = noise(1, 1_000_000);
    for _ in 0..size / 1_000_000 {
        stream.write_all(&block).unwrap();
    }
    stream.write_all(tail).unwrap();
    let id = read(stream, "POST").id();
    let part = owner.send(
        "GET",
        &format!("/-{id}"),
        &[("range", "bytes=-1000000")],
        b"",
    );
    assert!(part.body == block);
    assert!(server.most_memory() < 64_000_000);
}
