//! What was acknowledged is there after a loss of power: ext4, `fathom serve s3` and `fathom serve
//! share` on a device that keeps a journal, and then on states that the journal says are possible.
//!
//! Run with `cargo test -p fathom --test crash -- --ignored` as root. FATHOM_CRASH_STATES: of how
//! many epochs states are tried, each with the least and the most that may be left of it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it tried"
)]

#[path = "ground/device.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod device;
#[path = "serve_block/disk.rs"]
mod disk;
#[path = "ground/run.rs"]
mod ground;
#[path = "crash/history.rs"]
mod history;
#[path = "serve_s3/client.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod s3;
#[path = "serve_block/served.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod served;
#[path = "serve_share/client.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod share;

use device::{Mount, has, tool};
use disk::{Disk, TOOLS};
use ground::Ground;
use history::{Epoch, History, epochs, until_byte};
use s3::noise;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SIZE: &str = "48m";

/// A place for a file system that lives through losses of power, and the journal of its device.
struct Crashes {
    ground: Ground,
    journal: String,
}

impl Crashes {
    fn new() -> Self {
        let ground = Ground::new();
        let journal = ground.path("journal").to_string_lossy().into_owned();
        Self { ground, journal }
    }

    /// Bytes of the journal: what was acknowledged until then is in it.
    fn written(&self) -> u64 {
        fs::metadata(&self.journal).unwrap().len()
    }

    /// Has a fresh file system filled; `None` where the machine cannot.
    fn fill(&self, fill: impl FnOnce(&Path)) -> Option<()> {
        let words = ["--size", SIZE, "--volatile", "--journal", &self.journal];
        let disk = Disk::of(&self.ground, &words)?;
        disk.make_ext4();
        let mount = Mount::new(&self.ground, "filled", "ext4", disk.node(), "rw");
        // From here on every state is one with a file system.
        tool(&["sync", "-f", &mount.at.to_string_lossy()]).unwrap();
        fill(&mount.at);
        Some(())
    }

    /// Mounts states of the epochs from this byte of the journal on, has each looked at together
    /// with the byte until which it was possible, and sees that the file system is whole afterwards.
    fn each_state(&self, from: u64, mut look: impl FnMut(&Path, u64)) {
        let listed = self
            .ground
            .fathom(&["serve", "block", "--crash-states", &self.journal]);
        let wanted = std::env::var("FATHOM_CRASH_STATES");
        let wanted = wanted.map_or(6, |count| count.parse().unwrap());
        let epochs: Vec<Epoch> = epochs(&listed.stdout);
        let after: Vec<&Epoch> = epochs.iter().filter(|epoch| epoch.begin >= from).collect();
        let states = history::sample(&after, wanted);
        println!("{} states of {} epochs", states.len(), after.len());
        for state in states {
            let number = state.to_string();
            let words = ["--crash-states", &self.journal, "--crash-state", &number];
            let disk = Disk::of(&self.ground, &words).unwrap();
            println!("{}", disk.said());
            let mount = Mount::new(&self.ground, "crashed", "ext4", disk.node(), "rw");
            look(&mount.at, until_byte(disk.said()));
            drop(mount);
            fs::remove_dir(self.ground.path("crashed")).unwrap();
            disk.check()
                .unwrap_or_else(|why| panic!("{}: {why}", disk.said()));
        }
    }
}

fn s3_on(dir: &Path) -> s3::Server {
    let data = dir.join("data");
    s3::Server::start(&["--data", data.to_str().unwrap(), "--reserve", "1MiB"])
}

#[test]
#[ignore = "needs root"]
fn privileged_what_serve_s3_acknowledged_is_whole_after_every_loss_of_power() {
    if !has(&TOOLS) {
        return;
    }
    let crashes = Crashes::new();
    let mut history = History::default();
    let mut from = 0;
    let filled = crashes.fill(|dir| {
        let mut server = s3_on(dir);
        let mut client = server.client();
        client.put("/b", "").ok();
        from = crashes.written();
        for step in 0..40_u64 {
            let key = format!("/b/{}", step % 11);
            // Small ones and such as are files of their own, and every seventh is taken away.
            let length = usize::try_from(1 + step * step * 137 % 300_000).unwrap();
            let content = (step % 7 != 6).then(|| noise(step, length));
            history.begin(&key, content.clone());
            match content {
                Some(content) => client.put(&key, content).ok(),
                None => client.call("DELETE", &key).ok(),
            };
            history.acknowledge(&key, crashes.written());
        }
        server.kill();
    });
    if filled.is_none() {
        return;
    }
    crashes.each_state(from, |dir, until| {
        let mut server = s3_on(dir);
        let mut client = server.client();
        let listed = client.call("GET", "/b?list-type=2").ok().fields("Key");
        for key in history.keys() {
            let answer = client.call("GET", key);
            let content = match answer.status {
                200 => Some(answer.body),
                404 => None,
                _ => panic!("{key}: {} {}", answer.status, answer.text()),
            };
            let is_listed = listed
                .iter()
                .any(|name| Some(&**name) == key.strip_prefix("/b/"));
            assert_eq!(is_listed, content.is_some(), "{key} in {listed:?}");
            history.judge(key, until, content.as_deref());
        }
        assert_eq!(server.end("-TERM"), Some(0));
    });
}

#[test]
#[ignore = "needs root"]
fn privileged_what_serve_share_acknowledged_is_whole_after_every_loss_of_power() {
    if !has(&TOOLS) {
        return;
    }
    for layout in ["file-per-share", "one-database"] {
        let crashes = Crashes::new();
        let options = ["--layout", layout, "--reserve", "1MiB"];
        let database = |dir: &Path| dir.join("share.db");
        let mut history = History::default();
        let mut uploads: BTreeMap<u64, String> = BTreeMap::new();
        let mut from = 0;
        let filled = crashes.fill(|dir| {
            let server = share::Server::start(&database(dir), &options);
            let owner = server.owner();
            from = crashes.written();
            for step in 0..24_u64 {
                if let Some(id) = uploads.get(&(step / 2)).filter(|_| step % 6 == 5) {
                    history.begin(id, None);
                    assert_eq!(
                        owner.call("DELETE", &format!("/api/entry/{id}")).status,
                        200
                    );
                    history.acknowledge(id, crashes.written());
                    continue;
                }
                let length = usize::try_from(1 + step * step * 1337 % 700_000).unwrap();
                let content = noise(step, length);
                let id = owner.upload("k", &content).id();
                history.begin(&id, Some(content));
                history.acknowledge(&id, crashes.written());
                uploads.insert(step, id);
            }
            server.kill();
        });
        if filled.is_none() {
            return;
        }
        crashes.each_state(from, |dir, until| {
            let server = share::Server::start(&database(dir), &options);
            let guest = server.guest();
            for id in history.keys() {
                let answer = guest.call("GET", &format!("/-{id}"));
                let content = match answer.status {
                    200 => Some(answer.body),
                    404 => None,
                    _ => panic!("{id}: {} {}", answer.status, answer.text()),
                };
                history.judge(id, until, content.as_deref());
            }
            server.end();
        });
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_files_that_were_synced_on_ext4_are_whole_after_every_loss_of_power() {
    if !has(&TOOLS) {
        return;
    }
    let crashes = Crashes::new();
    let mut history = History::default();
    let mut from = 0;
    let filled = crashes.fill(|dir| {
        from = crashes.written();
        for step in 0..30_u64 {
            let key = (step % 9).to_string();
            let content = noise(step, usize::try_from(1 + step * 3001).unwrap());
            history.begin(&key, Some(content.clone()));
            let new = dir.join("new");
            fs::write(&new, content).unwrap();
            fs::File::open(&new).unwrap().sync_all().unwrap();
            fs::rename(&new, dir.join(&key)).unwrap();
            fs::File::open(dir).unwrap().sync_all().unwrap();
            history.acknowledge(&key, crashes.written());
        }
    });
    if filled.is_none() {
        return;
    }
    crashes.each_state(from, |dir, until| {
        for key in history.keys() {
            history.judge(key, until, fs::read(dir.join(key)).ok().as_deref());
        }
    });
}

#[test]
#[ignore = "needs root"]
fn privileged_a_file_system_is_made_filled_and_checked_without_a_driver() {
    if !has(&TOOLS) {
        return;
    }
    let ground = Ground::new();
    let Some(disk) = Disk::of(&ground, &["--size", "96m"]) else {
        return;
    };
    disk.make_ext4();
    let content = |number: u64| noise(number, usize::try_from(1 + number * 90_001).unwrap());
    let mount = Mount::new(&ground, "first", "ext4", disk.node(), "rw");
    for number in 0..40 {
        fs::write(mount.at.join(number.to_string()), content(number)).unwrap();
    }
    drop(mount);
    disk.check().unwrap();
    let mount = Mount::new(&ground, "second", "ext4", disk.node(), "ro");
    for number in 0..40 {
        let found = fs::read(mount.at.join(number.to_string())).unwrap();
        assert!(found == content(number), "file {number} is another");
    }
}
