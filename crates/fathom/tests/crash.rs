//! What was acknowledged is there after a loss of power: ext4, `fathom serve s3` and `fathom serve
//! share` on a device that keeps a journal, and then on states that the journal says are possible.
//!
//! Of long runs some states are tried, of short ones every state that there is.
//!
//! Run with `cargo test -p fathom --test crash -- --ignored` as root. FATHOM_CRASH_STATES: of how
//! many epochs of long runs states are tried, each with the least and the most that may be left of
//! it. FATHOM_CRASH_STEPS: how many things are asked for in short runs.
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

/// How much is asked for before the power is lost, and which states are tried then.
#[derive(Clone, Copy)]
enum Length {
    Long,
    /// Every state of the little that is asked for, of which each epoch lists every choice.
    Short(u64),
}

impl Length {
    /// How many things are asked for.
    fn steps(self, long: u64) -> u64 {
        let wanted = std::env::var("FATHOM_CRASH_STEPS");
        match self {
            Self::Long => long,
            Self::Short(short) => wanted.map_or(short, |count| count.parse().unwrap()),
        }
    }

    fn states(self, epochs: &[&Epoch]) -> Vec<u64> {
        let wanted = std::env::var("FATHOM_CRASH_STATES");
        match self {
            Self::Long => {
                let count = wanted.map_or(5, |count| count.parse().unwrap());
                history::sample(epochs, count)
            }
            Self::Short(_) => history::every(epochs),
        }
    }
}

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

    /// The same with nothing on the way: the first makes all stable, and the second, of nothing, ends
    /// an epoch there.
    fn settled(&self, dir: &Path) -> u64 {
        for _ in 0..2 {
            tool(&["sync", "-f", &dir.to_string_lossy()]).unwrap();
        }
        self.written()
    }

    /// Has a fresh file system filled; `None` where the machine cannot.
    fn fill(&self, fill: impl FnOnce(&Path)) -> Option<()> {
        let words = ["--size", SIZE, "--volatile", "--journal", &self.journal];
        let disk = Disk::of(&self.ground, &words)?;
        disk.make_ext4();
        let mount = Mount::new(&self.ground, "filled", "ext4", disk.node(), "rw");
        fill(&mount.at);
        Some(())
    }

    /// Mounts states of the epochs from this byte of the journal on, and has each looked at together
    /// with the byte until which it was possible. What is wrong with them; the file system is whole.
    fn each_state(
        &self,
        from: u64,
        length: Length,
        mut look: impl FnMut(&Path, u64) -> Vec<String>,
    ) -> Vec<String> {
        let listed = ["serve", "block", "--crash-states", &self.journal];
        let epochs = epochs(&self.ground.fathom(&listed).stdout);
        let after: Vec<&Epoch> = epochs.iter().filter(|epoch| epoch.begin >= from).collect();
        let states = length.states(&after);
        println!("{} states of {} epochs", states.len(), after.len());
        let mut wrong = Vec::new();
        for state in states {
            let number = state.to_string();
            let words = ["--crash-states", &self.journal, "--crash-state", &number];
            let disk = Disk::of(&self.ground, &words).unwrap();
            let said = disk.said().trim().to_owned();
            if said.contains("torn") {
                disk.repair_superblock();
            }
            let mount = Mount::new(&self.ground, "crashed", "ext4", disk.node(), "rw");
            let found = look(&mount.at, until_byte(&said));
            wrong.extend(found.iter().map(|what| format!("{said}: {what}")));
            drop(mount);
            fs::remove_dir(self.ground.path("crashed")).unwrap();
            disk.check().unwrap_or_else(|why| panic!("{said}: {why}"));
        }
        wrong
    }
}

/// What `serve s3` had acknowledged with these options and lost; `None` where the machine cannot tell.
fn lost_by_s3(length: Length, options: &[&str]) -> Option<Vec<String>> {
    let start = |dir: &Path| {
        let data = dir.join("data");
        let words = ["--data", data.to_str().unwrap(), "--reserve", "1MiB"];
        s3::Server::start(&[&words[..], options].concat())
    };
    let crashes = Crashes::new();
    let mut history = History::default();
    let mut from = 0;
    crashes.fill(|dir| {
        let mut server = start(dir);
        let mut client = server.client();
        client.put("/bucket", "").ok();
        from = crashes.settled(dir);
        for step in 0..length.steps(40) {
            let key = format!("/bucket/{}", step % 11);
            // Small ones, such as are files of their own, and every seventh is taken away.
            let bytes = usize::try_from(1 + step * step * 137 % 300_000).unwrap();
            let content = (step % 7 != 6).then(|| noise(step, bytes));
            history.begin(&key, content.clone());
            match content {
                Some(content) => client.put(&key, content).ok(),
                None => client.call("DELETE", &key).ok(),
            };
            history.acknowledge(&key, crashes.written());
        }
        server.kill();
    })?;
    Some(crashes.each_state(from, length, |dir, until| {
        let mut server = start(dir);
        let mut client = server.client();
        let listed = client.call("GET", "/bucket?list-type=2").ok().fields("Key");
        let mut wrong = Vec::new();
        for key in history.keys() {
            let answer = client.call("GET", key);
            let content = match answer.status {
                200 => Some(answer.body),
                404 => None,
                // Found to be damaged, and said: such an object is lost, and not read as another.
                status => {
                    wrong.push(format!("{key}: {status} {}", answer.text()));
                    continue;
                }
            };
            let name = key.strip_prefix("/bucket/").unwrap();
            if listed.iter().any(|listed| listed == name) != content.is_some() {
                wrong.push(format!("{key} in {listed:?}"));
            }
            wrong.extend(history.wrong(key, until, content.as_deref()));
        }
        assert_eq!(server.end("-TERM"), Some(0));
        wrong
    }))
}

/// What `serve share` had acknowledged with these options and lost.
fn lost_by_share(length: Length, options: &[&str]) -> Option<Vec<String>> {
    let options = [&["--reserve", "1MiB"], options].concat();
    let start = |dir: &Path| share::Server::start(&dir.join("share.db"), &options);
    let crashes = Crashes::new();
    let mut history = History::default();
    let mut uploads: BTreeMap<u64, String> = BTreeMap::new();
    let mut from = 0;
    crashes.fill(|dir| {
        let server = start(dir);
        let owner = server.owner();
        from = crashes.settled(dir);
        for step in 0..length.steps(24) {
            if let Some(id) = uploads.get(&(step / 2)).filter(|_| step % 6 == 5) {
                history.begin(id, None);
                let deleted = owner.call("DELETE", &format!("/api/entry/{id}"));
                assert_eq!(deleted.status, 200);
                history.acknowledge(id, crashes.written());
                continue;
            }
            let bytes = usize::try_from(1 + step * step * 1337 % 700_000).unwrap();
            let content = noise(step, bytes);
            let id = owner.upload("k", &content).id();
            history.begin(&id, Some(content));
            history.acknowledge(&id, crashes.written());
            uploads.insert(step, id);
        }
        server.kill();
    })?;
    Some(crashes.each_state(from, length, |dir, until| {
        let server = start(dir);
        let guest = server.guest();
        let found = history.keys().filter_map(|id| {
            let answer = guest.call("GET", &format!("/-{id}"));
            let content = match answer.status {
                200 => Some(answer.body),
                404 => None,
                status => return Some(format!("{id}: {status} {}", answer.text())),
            };
            history.wrong(id, until, content.as_deref())
        });
        let wrong = found.collect();
        server.end();
        wrong
    }))
}

#[test]
#[ignore = "needs root"]
fn privileged_what_serve_s3_acknowledged_is_whole_after_a_loss_of_power() {
    if has(&TOOLS) {
        assert_eq!(
            lost_by_s3(Length::Long, &[]).unwrap_or_default(),
            Vec::<String>::new()
        );
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_what_serve_share_acknowledged_is_whole_after_a_loss_of_power() {
    if has(&TOOLS) {
        for layout in ["file-per-share", "one-database"] {
            let lost = lost_by_share(Length::Long, &["--layout", layout]);
            assert_eq!(lost.unwrap_or_default(), Vec::<String>::new(), "{layout}");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_every_state_of_a_short_run_of_serve_s3_has_what_it_acknowledged() {
    if has(&TOOLS) {
        let lost = lost_by_s3(Length::Short(8), &[]);
        assert_eq!(lost.unwrap_or_default(), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_every_state_of_a_short_run_of_serve_share_has_what_it_acknowledged() {
    if has(&TOOLS) {
        let lost = lost_by_share(Length::Short(1), &["--layout", "one-database"]);
        assert_eq!(lost.unwrap_or_default(), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_what_was_acknowledged_without_being_kept_is_found_to_be_lost() {
    if has(&TOOLS) {
        let lost = lost_by_s3(Length::Long, &["--sync", "never"]);
        assert!(lost.is_none_or(|lost| !lost.is_empty()));
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_files_that_were_synced_on_ext4_are_whole_after_a_loss_of_power() {
    if has(&TOOLS) {
        assert_eq!(lost_by_ext4(Length::Long), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_every_state_of_a_short_run_on_ext4_has_the_files_that_were_synced() {
    if has(&TOOLS) {
        assert_eq!(lost_by_ext4(Length::Short(2)), Vec::<String>::new());
    }
}

/// What was synced on ext4 and is lost; nothing where the machine cannot tell.
fn lost_by_ext4(length: Length) -> Vec<String> {
    let crashes = Crashes::new();
    let mut history = History::default();
    let mut from = 0;
    let filled = crashes.fill(|dir| {
        from = crashes.settled(dir);
        for step in 0..length.steps(30) {
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
        return Vec::new();
    }
    crashes.each_state(from, length, |dir, until| {
        let found = |key: &str| fs::read(dir.join(key)).ok();
        let keys = history.keys();
        keys.filter_map(|key| history.wrong(key, until, found(key).as_deref()))
            .collect()
    })
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
