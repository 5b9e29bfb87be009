//! Memory and its nodes.

use record::{MemoryFacts, NumaNode};

use super::cpu;
use super::tree::{self, Tree};

const NODES: &str = "/sys/devices/system/node";

/// The text of /proc/meminfo, empty where there is none.
pub(super) fn meminfo(tree: &Tree) -> String {
    tree.text("/proc/meminfo").unwrap_or_default()
}

/// One value of /proc/meminfo: bytes, or a count where the line has no unit.
pub(super) fn size(meminfo: &str, key: &str) -> Option<u64> {
    tree::after(meminfo, key, ':').and_then(tree::kilobytes)
}

pub(super) fn facts(tree: &Tree, meminfo: &str) -> MemoryFacts {
    MemoryFacts {
        total_bytes: size(meminfo, "MemTotal"),
        page_bytes: auxiliary(tree, AT_PAGESZ),
        swap_total_bytes: size(meminfo, "SwapTotal"),
        huge_pages: size(meminfo, "HugePages_Total"),
        huge_page_bytes: size(meminfo, "Hugepagesize"),
        transparent_huge_pages: tree.choice("/sys/kernel/mm/transparent_hugepage/enabled"),
    }
}

/// The online nodes by id.
pub(super) fn nodes(tree: &Tree) -> Vec<NumaNode> {
    let online = cpu::list(tree, format!("{NODES}/online")).unwrap_or_default();
    online
        .ids()
        .iter()
        .filter_map(|&id| node(tree, id))
        .collect()
}

/// `None` where the node does not state its CPUs: an empty list would claim that it has none.
fn node(tree: &Tree, id: u32) -> Option<NumaNode> {
    let cpus = cpu::list(tree, format!("{NODES}/node{id}/cpulist"))?;
    let meminfo = tree
        .text(format!("{NODES}/node{id}/meminfo"))
        .unwrap_or_default();
    let memory_total_bytes = size(&meminfo, &format!("Node {id} MemTotal"));
    Some(NumaNode {
        id,
        cpus,
        memory_total_bytes,
    })
}

/// Entries of the auxiliary vector, see getauxval(3).
pub(super) const AT_PAGESZ: usize = 6;
pub(super) const AT_CLKTCK: usize = 17;

/// One entry of this process's auxiliary vector: pairs of native words.
pub(super) fn auxiliary(tree: &Tree, wanted: usize) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    let bytes = tree.head("/proc/self/auxv", 4096)?;
    let word = |word: &[u8]| word.try_into().ok().map(usize::from_ne_bytes);
    let mut pairs = bytes.chunks_exact(2 * WORD).map(|pair| pair.split_at(WORD));
    let (_, value) = pairs.find(|(key, _)| word(key) == Some(wanted))?;
    u64::try_from(word(value)?).ok().filter(|&value| value > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tree::fixture::Fixture;
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let fixture = Fixture::new();
        fixture.file(
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        );
        let meminfo =
            "MemTotal: 100 kB\nSwapTotal: 0 kB\nHugePages_Total: 3\nHugepagesize: 2048 kB\n";
        let expected = MemoryFacts {
            total_bytes: Some(102_400),
            page_bytes: None,
            swap_total_bytes: Some(0),
            huge_pages: Some(3),
            huge_page_bytes: Some(2 << 20),
            transparent_huge_pages: Some("madvise".to_owned()),
        };
        assert_eq!(facts(&fixture.tree(), meminfo), expected);
    }

    #[test]
    fn a_node_may_have_no_cpus_but_must_say_so() {
        let fixture = Fixture::new();
        let files = [
            ("online", "0,2-3\n"),
            ("node0/cpulist", "0-1\n"),
            ("node2/cpulist", "\n"),
        ];
        fixture.files("sys/devices/system/node", &files);
        fixture.file(
            "sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:  4 kB\nNode 0 MemFree: 1 kB\n",
        );
        let nodes = nodes(&fixture.tree());
        assert_eq!(nodes.len(), 2);
        assert_eq!(
            (nodes[0].cpus.ids(), nodes[0].memory_total_bytes),
            (&[0, 1][..], Some(4096))
        );
        assert_eq!(
            (
                nodes[1].id,
                nodes[1].cpus.ids(),
                nodes[1].memory_total_bytes
            ),
            (2, &[][..], None)
        );
    }

    #[test]
    fn the_auxiliary_vector_is_read_by_key() {
        let fixture = Fixture::new();
        let words = [6_usize, 4096, 17, 100, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        fixture.file("proc/self/auxv", &bytes);
        assert_eq!(auxiliary(&fixture.tree(), AT_PAGESZ), Some(4096));
        assert_eq!(auxiliary(&fixture.tree(), AT_CLKTCK), Some(100));
        assert_eq!(auxiliary(&fixture.tree(), 100), None);
        fixture.file("proc/self/auxv", &bytes[..11]);
        assert_eq!(auxiliary(&fixture.tree(), AT_PAGESZ), None);
    }
}
