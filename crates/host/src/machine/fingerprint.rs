//! Names of machines and devices that tell them apart without naming them.

use std::hash::Hasher;
#[allow(
    deprecated,
    reason = "the successor DefaultHasher may change between releases; a fingerprint must not"
)]
use std::hash::SipHasher;

use super::tree::Tree;

/// The machine id as a secret key: SipHash-2-4 with it does not reveal it (Aumasson and Bernstein
/// 2012), and machine-id(5) asks that the id itself be kept on the machine.
#[derive(Clone, Copy)]
pub(super) struct Fingerprint {
    key: (u64, u64),
}

impl Fingerprint {
    /// `None` where the machine has no id.
    pub(super) fn of_machine(tree: &Tree) -> Option<Self> {
        ["/etc/machine-id", "/var/lib/dbus/machine-id"]
            .into_iter()
            .find_map(|at| Self::parse(&tree.text(at)?))
    }

    fn parse(id: &str) -> Option<Self> {
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let id = u128::from_str_radix(id, 16).ok().filter(|&id| id != 0)?;
        let bytes = id.to_be_bytes();
        let (high, low) = bytes.split_at(8);
        let word = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
        Some(Self {
            key: (word(high)?, word(low)?),
        })
    }

    /// Sixteen hexadecimal digits for a value of this kind.
    pub(super) fn of(self, kind: &str, value: &str) -> String {
        format!(
            "{:016x}",
            self.hash(format!("fathom {kind} {value}").as_bytes())
        )
    }

    #[allow(deprecated, reason = "see the import")]
    fn hash(self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher::new_with_keys(self.key.0, self.key.1);
        hasher.write(bytes);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example in appendix A of the SipHash paper.
    #[test]
    fn the_hash_is_siphash_2_4() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(Fingerprint { key }.hash(&bytes), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_fingerprint_depends_on_machine_kind_and_value() {
        let here = Fingerprint::parse("0123456789abcdef0123456789abcdef").unwrap();
        let there = Fingerprint::parse("0123456789abcdef0123456789abcdee").unwrap();
        let all = [
            here.of("serial", "S1"),
            here.of("serial", "S2"),
            here.of("machine", "S1"),
            there.of("serial", "S1"),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(here.of("serial", "S1"), all[0]);
    }

    #[test]
    fn no_proper_id_is_no_fingerprint() {
        for id in [
            "",
            "uninitialized",
            "00000000000000000000000000000000",
            "+123456789abcdef0123456789abcdef",
            "0123",
        ] {
            assert!(Fingerprint::parse(id).is_none(), "{id}");
        }
    }
}
