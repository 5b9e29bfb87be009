//! Many slow clients take little memory, and keep nobody waiting.

use super::client::{FORM, form, read};
use super::{LAYOUTS, noise, served};
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
    let (_dir, server, owner) = served(&["--layout", "one-database"]);
    let bytes = noise(5, 20_000_000);
    let id = owner.upload("large", &bytes).id();
    let path = format!("/-{id}");
    let slow: Vec<_> = (0..200).map(|_| owner.begin("GET", &path, &[])).collect();
    for stream in &slow {
        (&mut &*stream).read_exact(&mut [0]).unwrap();
    }
    // In whole rows by who came first, in pieces by all others.
    let got = server.guest().call("GET", &path);
    assert!(got.body == bytes);
}
