//! Whose the socket is that answers in the place of a server: its own, or that of a program which
//! took the port after the look at it.

use crate::child::has_mark;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a socket that listens, in the tables of the kernel.
const LISTENS: &str = "0A";

/// A process that is none of the server's, and listens where the server should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stranger {
    pid: u32,
    name: String,
}

impl Stranger {
    pub(super) fn told(&self, address: SocketAddr) -> String {
        format!(
            "does not listen on {address} itself: process {} ({}) does, which it did not start, and which would be measured in its place. If it hands its work to that process, say by a line when it is ready (ready = {{ line = … }})",
            self.pid, self.name
        )
    }
}

/// Who listens there in the place of the server with this group and mark; `None` too where that
/// cannot be known: a socket of another network namespace, or of a user whose files are not shown.
pub(super) fn stranger(address: SocketAddr, group: u32, mark: &str) -> Option<Stranger> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets = listening(&tables.join("\n"), address);
    if sockets.is_empty() {
        return None;
    }
    let others = |pid: &u32| group_of(*pid) != Some(group);
    let (foreign, own): (Vec<u32>, Vec<u32>) = processes().into_iter().partition(others);
    let mut unowned = sockets;
    for pid in own {
        let held = sockets_of(pid);
        unowned.retain(|socket| !held.contains(socket));
    }
    if unowned.is_empty() {
        return None;
    }
    let mut holder = None;
    for pid in foreign {
        let held = sockets_of(pid);
        if !unowned.iter().any(|socket| held.contains(socket)) {
            continue;
        }
        if has_mark(pid, mark) {
            // It left the group, and is the server's all the same.
            unowned.retain(|socket| !held.contains(socket));
        } else {
            holder = holder.or(Some((pid, held)));
        }
    }
    let (pid, held) = holder?;
    let is_still = unowned.iter().any(|socket| held.contains(socket));
    is_still.then(|| Stranger {
        pid,
        name: name_of(pid),
    })
}

/// The numbers of the sockets that take what comes to an address: those of exactly this one, or, if
/// there are none, those of all addresses.
fn listening(tables: &str, address: SocketAddr) -> BTreeSet<u64> {
    let mut exact = BTreeSet::new();
    let mut every = BTreeSet::new();
    for line in tables.lines() {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, LISTENS, _, _, _, _, _, socket, ..] = columns[..] else {
            continue;
        };
        let (Some((ip, port)), Ok(socket)) = (local_address(local), socket.parse()) else {
            continue;
        };
        if port != address.port() {
            continue;
        }
        if ip.to_canonical() == address.ip().to_canonical() {
            exact.insert(socket);
        } else if ip.is_unspecified() {
            every.insert(socket);
        }
    }
    if exact.is_empty() { every } else { exact }
}

/// `0100007F:1F90`: words of four bytes in the order of this machine, then the port.
fn local_address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut all = [0; 16];
            for at in 0..4 {
                all[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(all))
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    named.collect()
}

/// The group of a process: the third column after its name.
fn group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(2)?.parse().ok()
}

fn sockets_of(pid: u32) -> BTreeSet<u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = open
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    let number = |link: std::path::PathBuf| {
        let socket = link.to_str()?.strip_prefix("socket:[")?;
        socket.strip_suffix(']')?.parse().ok()
    };
    links.filter_map(number).collect()
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
   4: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0
   5: 0000000000000000FFFF00000100007F:0052 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 16 1 0 100 0 0 10 0
";

    #[test]
    fn the_socket_of_exactly_this_address_comes_before_one_of_all() {
        let found = |address: &str| {
            let sockets = listening(TABLE, address.parse().unwrap());
            sockets.into_iter().collect::<Vec<u64>>()
        };
        if cfg!(target_endian = "little") {
            assert_eq!(found("127.0.0.1:8080"), [11]);
            assert_eq!(found("127.0.0.1:82"), [16]);
        }
        assert_eq!(found("127.0.0.2:8080"), [12]);
        assert_eq!(found("127.0.0.1:80"), [14]);
        assert_eq!(found("127.0.0.1:81"), [15]);
        assert_eq!(found("127.0.0.1:83"), [0; 0]);
    }

    #[test]
    fn a_socket_of_this_process_is_its_own_and_a_stranger_to_others() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let own = std::process::id();
        let group = group_of(own).unwrap();
        assert_eq!(stranger(address, group, "no mark"), None);
        let found = stranger(address, u32::MAX, "no mark").unwrap();
        assert_eq!((found.pid, found.name), (own, name_of(own)));
        drop(socket);
        assert_eq!(stranger(address, u32::MAX, "no mark"), None);
    }
}
