//! What each host did where records are of several.

use super::Figure;
use super::cells::figure;
use super::rows::Slot;
use record::{Quantity, QuantityValue};
use std::collections::{BTreeMap, BTreeSet};
use units::counted;

/// What one of several hosts did in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFigures {
    pub name: String,
    /// What it is told of where it did much less than the others in some record.
    pub slow: Option<String>,
    /// Of all kinds of operations together, levels without an interval.
    pub figures: Vec<Figure>,
}

/// What is told of a host beside the others.
const TOLD: [&str; 7] = [
    "throughput",
    "iops",
    "walk.entries",
    "p50",
    "p99",
    "max",
    "cpu/op",
];

/// The hosts of the records that are of several; none where each is of one.
pub(super) fn of(slots: &[Slot<'_>]) -> Vec<HostFigures> {
    let quantities = TOLD.map(Quantity::named);
    type Columns = [Vec<(u32, QuantityValue)>; TOLD.len()];
    let mut by_host: BTreeMap<(Option<u32>, String), Columns> = BTreeMap::new();
    let mut slow: BTreeMap<String, String> = BTreeMap::new();
    for slot in slots {
        let found = crate::slow_hosts(slot.record).into_iter();
        slow.extend(found.map(|host| (host.name.clone(), host.text())));
        let hosts = slot.record.by_host();
        for host in hosts.iter().filter(|_| hosts.len() > 1) {
            let own = host.generator();
            let name = own.called().into_owned();
            let columns = by_host.entry((own.rank, name)).or_default();
            for (column, quantity) in columns.iter_mut().zip(&quantities) {
                column.push((slot.block, quantity.of(host)));
            }
        }
    }
    let told = |((_, name), columns): ((Option<u32>, String), Columns)| {
        let figures = quantities.iter().zip(&columns);
        let figures = figures.filter_map(|(quantity, column)| {
            let found = figure("", quantity.clone(), column)?;
            Some(Figure {
                bounds: None,
                ..found
            })
        });
        HostFigures {
            slow: slow.get(&name).cloned(),
            name,
            figures: figures.collect(),
        }
    };
    let mut hosts: Vec<HostFigures> = by_host.into_iter().map(told).collect();
    // Of a thousand hosts those are sought.
    hosts.sort_by_key(|host| host.slow.is_none());
    hosts
}

/// On how many machines the ranks were, as records know it: `4 ranks on 2 machines`; each once, and
/// `None` where one does not say it, as that of one host.
pub(super) fn sizes(slots: &[Slot<'_>]) -> BTreeSet<Option<String>> {
    let groups = slots.iter().map(|slot| {
        let group = slot.record.group.as_ref()?;
        let there = (group.size as usize).saturating_sub(slot.record.lost_ranks());
        // One that was lost on the way was there.
        let parts = slot.record.host_parts();
        let measured = parts.iter().filter(|own| own.part.has_begun()).count();
        Some((there.max(measured), group.machines?))
    });
    let text = |(ranks, machines): (usize, u32)| {
        format!(
            "{} on {}",
            counted(ranks, "rank"),
            counted(machines, "machine")
        )
    };
    groups.map(|of| of.map(text)).collect()
}
