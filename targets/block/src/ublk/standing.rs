//! What devices there are, and how to stop one whose maker is gone.

use super::control::{Commander, block_path, state_name};
use super::error::UblkError;
use super::supervisor::{delete, stop};
use super::wire::{DeviceFacts, SECTOR, feature, state};
use std::path::Path;

/// Who serves a device. The kernel keeps the number of a process that is dead, and that number may be
/// another's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkServer {
    /// A process that has its char device open.
    Seen(u32),
    /// The device is served, and the process that the kernel names is not seen to do it: it has just
    /// died, or belongs to another user or container.
    Unseen(u32),
    None,
}

impl UblkServer {
    fn of(facts: &DeviceFacts, has_it_open: impl FnOnce(u32) -> bool) -> Self {
        match u32::try_from(facts.server).ok().filter(|pid| *pid > 0) {
            Some(pid) if has_it_open(pid) => Self::Seen(pid),
            Some(pid) if facts.state == state::LIVE => Self::Unseen(pid),
            Some(_) | None => Self::None,
        }
    }
}

/// A device of whatever program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UblkStanding {
    pub number: u32,
    pub node: String,
    pub state: &'static str,
    pub bytes: u64,
    pub queues: u16,
    pub depth: u16,
    pub server: UblkServer,
    pub features: Vec<&'static str>,
}

/// What the driver can do, as a number and by name. The number is 0 before Linux 6.5, which does not
/// say.
///
/// # Errors
/// There is no driver, or no permission.
pub fn features() -> Result<(u64, Vec<&'static str>), UblkError> {
    let bits = Commander::open(false)?.features()?;
    Ok((bits, names(bits)))
}

fn names(bits: u64) -> Vec<&'static str> {
    let known = (0..).zip(feature::NAMES);
    known
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, name)| name)
        .collect()
}

/// All devices, in order of their numbers.
///
/// # Errors
/// There is no driver, or no permission.
pub fn standing() -> Result<Vec<UblkStanding>, UblkError> {
    let mut commander = Commander::open(false)?;
    let mut found = Vec::new();
    for number in numbers() {
        let facts = match commander.facts(number) {
            Ok(facts) => facts,
            // It went meanwhile.
            Err(UblkError::NoDevice(_)) => continue,
            Err(other) => return Err(other),
        };
        let parameters = commander.parameters(number)?;
        found.push(UblkStanding {
            number,
            node: block_path(number),
            state: state_name(facts.state),
            bytes: parameters.sectors * SECTOR,
            queues: facts.queues,
            depth: facts.depth,
            server: UblkServer::of(&facts, |pid| serves(pid, number)),
            features: names(facts.flags),
        });
    }
    Ok(found)
}

fn numbers() -> Vec<u32> {
    let classes = ["/sys/class/ublk-char", "/sys/class/ublk"];
    let entries = classes
        .iter()
        .filter_map(|class| std::fs::read_dir(class).ok());
    let mut numbers: Vec<u32> = entries
        .flatten()
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix("ublkc")?
                .parse()
                .ok()
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Stops and removes a device, whoever serves it; one whose requests hang loses its server. `false`
/// when somebody has it open still, and it goes with the last one.
///
/// # Errors
/// There is no such device, no permission, or the kernel does not answer.
pub fn stop_standing(number: u32) -> Result<bool, UblkError> {
    let mut commander = Commander::open(false)?;
    let facts = commander.facts(number)?;
    stop(&mut commander, number, &mut || {
        let pid = u32::try_from(facts.server).unwrap_or(0);
        if serves(pid, number) {
            let _it_may_be_gone_already = sys::signal_process(pid, libc::SIGKILL);
        }
    })?;
    delete(&mut commander, number)
}

/// Whether a process has the char device open: its number may be another's by now.
fn serves(pid: u32, number: u32) -> bool {
    has_open(pid, Path::new(&super::control::char_path(number)))
}

fn has_open(pid: u32, wanted: &Path) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .any(|target| target == *wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_as_the_server_only_where_it_has_the_device_open() {
        let facts = |server, state| DeviceFacts {
            server,
            state,
            ..DeviceFacts::default()
        };
        let (live, without) = (state::LIVE, state::LIVE + 1);
        let of = |server, state, opens| UblkServer::of(&facts(server, state), |_| opens);
        assert_eq!(of(7, live, true), UblkServer::Seen(7));
        assert_eq!(of(7, live, false), UblkServer::Unseen(7));
        assert_eq!(of(7, without, false), UblkServer::None, "it is dead");
        assert_eq!(of(7, state::DEAD, false), UblkServer::None);
        assert_eq!(of(-1, live, true), UblkServer::None);
        assert_eq!(of(0, live, true), UblkServer::None);
    }

    #[test]
    fn what_a_process_has_open_is_seen_until_it_closes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("device");
        let me = std::process::id();
        let file = std::fs::File::create(&path).unwrap();
        assert!(has_open(me, &path));
        drop(file);
        assert!(!has_open(me, &path));
    }

    #[test]
    fn features_have_their_names() {
        assert_eq!(
            names(0x1fe).join(" "),
            "comp_in_task need_get_data user_recovery recovery_reissue unprivileged ioctl_encode \
             user_copy zoned"
        );
        assert!(names(0).is_empty());
        assert_eq!(names(1 << 63), Vec::<&str>::new());
    }
}
