//! Many slow clients take little memory, and keep nobody waiting.

use super::client::{FORM, Server, form, read};
use super::{LAYOUTS, noise, served};
use crate::limited::Limited;
use std::io::{Read as _, Write as _};

#[test]
fn two_hundred_slow_uploads_take_little_memory_and_each_arrives_whole() {
    for layout in LAYOUTS {
        let (dir, server, owner) = served(&["--layout", layout]);
        let before = server.most_memory();
        let body = form("slow", &noise(3, 400_000));
        let length = body.len().to_string();
        let mut slow: Vec<_> = (0..200)
            .map(|_| {
                let headers = [FORM, ("content-length", length.as_str())];
                let mut stream = owner.begin("POST", "/api/entry", &headers);
                stream.write_all(&body[..300_000]).unwrap();
                stream
            })
            .collect();
        let beside = owner.upload("beside", &noise(4, 3_000_000));
        assert_eq!(beside.status, 200, "{layout}");
        // Half of them go on, the others leave.
        let left = slow.split_off(100);
        drop(left);
        for mut stream in slow {
            stream.write_all(&body[300_000..]).unwrap();
            let id = read(stream, "POST").id();
            let got = server.guest().call("GET", &format!("/-{id}"));
            assert!(got.body == noise(3, 400_000), "{layout}");
        }
        // Without optimization, tasks are larger and the allocator keeps what it had.
        let grown = server.most_memory() - before;
        assert!(grown < 90_000_000, "{layout}: {grown} bytes more");
        drop(server);
        let again = super::Server::start(&dir.path().join("share.db"), &["--layout", layout]);
        drop(again);
        if layout == "file-per-share" {
            assert_eq!(super::files(dir.path()), 101);
        }
    }
}

#[test]
fn whoever_comes_after_many_slow_downloads_gets_every_byte() {
    // Whole rows for who came first, and pieces for all others, of rows and of files.
    for options in [
        &["--layout", "one-database"][..],
        &["--layout", "one-database", "--read-batch", "3"],
        &["--layout", "file-per-share", "--read-batch", "3"],
    ] {
        let (_dir, server, owner) = served(options);
        let bytes = noise(5, 20_000_000);
        let id = owner.upload("large", &bytes).id();
        let before = server.most_memory();
        let path = format!("/-{id}");
        let slow: Vec<_> = (0..200).map(|_| owner.begin("GET", &path, &[])).collect();
        for stream in &slow {
            (&mut &*stream).read_exact(&mut [0]).unwrap();
        }
        let got = server.guest().call("GET", &path);
        assert!(got.body == bytes, "{options:?}");
        let grown = server.most_memory().saturating_sub(before);
        assert!(grown < 45_000_000, "{options:?}: {grown} bytes more");
    }
}

#[test]
#[ignore = "needs root: makes a control group"]
fn privileged_four_clients_are_served_within_64_mib_whatever_the_length_of_rows() {
    for layout in LAYOUTS {
        for chunk in ["256k", "4m"] {
            let Some(group) = Limited::new(64 << 20) else {
                println!("SKIPPED: needs control groups of version 1 with memory");
                return;
            };
            let dir = tempfile::tempdir().unwrap();
            let db = dir.path().join("share.db");
            let options = ["--layout", layout, "--chunk-size", chunk];
            let server = Server::start_in(&group.0, &db, &options);
            let owner = server.owner();
            let bytes = noise(6, 10_000_000);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..3 {
                            let id = owner.upload("f", &bytes).id();
                            let got = server.guest().call("GET", &format!("/-{id}"));
                            assert!(got.body == bytes, "{layout} {chunk}");
                        }
                    });
                }
            });
            assert_eq!(group.kills(), "oom_kill 0", "{layout} {chunk}");
            server.kill();
        }
    }
}
