//! What network links have carried.

use super::tree::Tree;

/// The counters of a network link, as Documentation/networking/statistics.rst defines them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    pub name: String,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// `None` where the driver does not say, and of virtual links.
    pub bytes_per_second: Option<u64>,
}

/// The kind of device that leads to this machine itself (`ARPHRD_LOOPBACK`).
const LOOPBACK: u32 = 772;
/// The kernel says megabits a second.
const MEGABIT_BYTES: u64 = 125_000;

pub(super) fn links(tree: &Tree) -> Vec<LinkCounters> {
    const LINKS: &str = "/sys/class/net";
    let names = tree.names(LINKS).into_iter();
    names
        .filter_map(|name| {
            let own = format!("{LINKS}/{name}");
            let number = |file: &str| tree.number::<u64>(format!("{own}/{file}"));
            if tree.number::<u32>(format!("{own}/type")) == Some(LOOPBACK) {
                return None;
            }
            // What has no speed says -1, or cannot be read. What no hardware stands behind says one
            // that it does not keep to: veth says 10 Gbit/s, and carries 15.
            let is_real = tree.exists(format!("{own}/device"));
            let speed = number("speed").filter(|megabits| is_real && *megabits > 0);
            Some(LinkCounters {
                received_bytes: number("statistics/rx_bytes")?,
                sent_bytes: number("statistics/tx_bytes")?,
                bytes_per_second: speed.map(|megabits| megabits.saturating_mul(MEGABIT_BYTES)),
                name,
            })
        })
        .collect()
}

impl LinkCounters {
    /// What it carried since `earlier`; `None` where nothing, and where it is another one by the same
    /// name that has counted less.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let grown = Self {
            received_bytes: self.received_bytes.checked_sub(earlier.received_bytes)?,
            sent_bytes: self.sent_bytes.checked_sub(earlier.sent_bytes)?,
            ..self.clone()
        };
        (grown.received_bytes > 0 || grown.sent_bytes > 0).then_some(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn links_say_what_they_carried_and_some_how_fast_they_are() {
        let root = tempfile::tempdir().unwrap();
        let link = |name: &str, kind: &str, speed: &str, received: &str| {
            let own = root.path().join("sys/class/net").join(name);
            fs::create_dir_all(own.join("statistics")).unwrap();
            for (file, text) in [("type", kind), ("speed", speed)] {
                fs::write(own.join(file), text).unwrap();
            }
            fs::write(own.join("statistics/rx_bytes"), received).unwrap();
            fs::write(own.join("statistics/tx_bytes"), "7\n").unwrap();
        };
        link("lo", "772\n", "", "9\n");
        link("eth0", "1\n", "10000\n", "1000\n");
        link("eth1", "1\n", "-1\n", "2000\n");
        link("veth", "1\n", "10000\n", "3000\n");
        for name in ["eth0", "eth1"] {
            fs::create_dir(root.path().join("sys/class/net").join(name).join("device")).unwrap();
        }
        fs::create_dir_all(root.path().join("sys/class/net/gone")).unwrap();
        let found = links(&Tree::at(root.path()));
        let told = found.iter().map(|link| {
            (
                link.name.as_str(),
                link.received_bytes,
                link.sent_bytes,
                link.bytes_per_second,
            )
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("eth0", 1000, 7, Some(1_250_000_000)),
                ("eth1", 2000, 7, None),
                ("veth", 3000, 7, None)
            ]
        );
        let later = LinkCounters {
            received_bytes: 1500,
            ..found[0].clone()
        };
        let grown = later.since(&found[0]).unwrap();
        assert_eq!((grown.received_bytes, grown.sent_bytes), (500, 0));
        assert_eq!(found[0].since(&found[0]), None);
        assert_eq!(
            found[0].since(&later),
            None,
            "it was taken away and came back"
        );
    }
}
