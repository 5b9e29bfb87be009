//! A disk that is full: what is kept is given back and can be deleted.

use super::client::{Client, FORM, Server, form, read};
use super::{LAYOUTS, noise};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// A small file system in memory, unmounted at the end.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=60m", "tmpfs"])
            .arg(dir.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves not a byte free.
    fn fill(&self) {
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.path().join("of others"))
            .unwrap();
        for block in [1 << 20, 4096, 1] {
            while file.write_all(&vec![1; block]).is_ok() {}
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg(self.path()).status();
    }
}

/// Uploads until there is no space for one more; their ids.
fn fill_up(layout: &str, owner: &Client, bytes: &[u8]) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let answer = owner.upload("f", bytes);
        if answer.status != 200 {
            assert!(
                answer.status == 507 && ids.len() > 7,
                "{layout}: {}",
                ids.len()
            );
            return ids;
        }
        ids.push(answer.id());
        assert!(ids.len() < 30, "{layout}: there is no end to it");
    }
}

#[test]
#[ignore = "needs root: mounts a small file system"]
fn privileged_a_full_disk_still_serves_and_deletes() {
    let bytes = noise(1, 3_000_000);
    for layout in LAYOUTS {
        let Some(small) = Small::mount() else {
            println!("SKIPPED: needs mount(8) of tmpfs");
            return;
        };
        let db = small.path().join("share.db");
        let options = ["--layout", layout, "--keep-deleted", "0s"];
        let server = Server::start(&db, &options);
        let owner = server.owner();
        let mut ids = fill_up(layout, &owner, &bytes);
        let free = rustix::fs::statvfs(small.path()).unwrap();
        assert!(
            free.f_bavail * free.f_frsize > 2_000_000,
            "{layout}: the reserve is kept"
        );
        let delete =
            |owner: &Client, id: &str| owner.call("DELETE", &format!("/api/entry/{id}")).status;
        // Its own uploads, then others, while it runs and after it was killed or ended.
        assert_eq!(
            delete(&owner, &ids.pop().unwrap()),
            200,
            "{layout}: full of uploads"
        );
        assert_eq!(
            owner.upload("f", &bytes).status,
            200,
            "{layout}: space is given back"
        );
        small.fill();
        assert_eq!(
            delete(&owner, &ids.pop().unwrap()),
            200,
            "{layout}: full of others"
        );
        small.fill();
        server.kill();
        small.fill();
        let server = Server::start(&db, &options);
        let got = server.guest().call("GET", &format!("/-{}", ids[0]));
        assert!(got.status == 200 && got.body == bytes, "{layout}");
        assert_eq!(
            delete(&server.owner(), &ids.pop().unwrap()),
            200,
            "{layout}: killed"
        );
        server.end();
        small.fill();
        let server = Server::start(&db, &options);
        assert_eq!(
            delete(&server.owner(), &ids.pop().unwrap()),
            200,
            "{layout}: ended"
        );
        for id in &ids {
            let got = server.guest().call("GET", &format!("/-{id}"));
            assert!(got.status == 200 && got.body == bytes, "{layout}");
        }
    }
}

#[test]
#[ignore = "needs root: mounts a small file system"]
fn privileged_an_upload_that_fills_the_disk_is_in_the_log_once() {
    for layout in LAYOUTS {
        let Some(small) = Small::mount() else {
            println!("SKIPPED: needs mount(8) of tmpfs");
            return;
        };
        let logs = tempfile::tempdir().unwrap();
        let log = logs.path().join("log");
        let options = ["--layout", layout, "--keep-deleted", "0s"];
        let server = Server::start_logged(&small.path().join("share.db"), &options, &log);
        let owner = server.owner();
        // Its length is not announced, so that it is refused where the disk is full and not before.
        let form = form("f", &noise(1, 5_000_000));
        let headers = [FORM, ("transfer-encoding", "chunked")];
        let mut upload = owner.begin("POST", "/api/entry", &headers);
        write!(upload, "{:x}\r\n", form.len()).unwrap();
        upload.write_all(&form[..1_000_000]).unwrap();
        small.fill();
        // The server may answer before it has all.
        let _sent = upload.write_all(&[&form[1_000_000..], b"\r\n0\r\n\r\n"].concat());
        let answer = read(upload, "POST");
        assert_eq!(answer.status, 507, "{layout}: {}", answer.text());
        server.end();
        let said = std::fs::read_to_string(&log).unwrap();
        let of_upload = said.matches("POST /api/entry from 127.0.0.1: ").count();
        assert_eq!(of_upload, 1, "{layout}: {said}");
    }
}
