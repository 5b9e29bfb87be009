//! What bounds the belief in an IO500-like score.

use super::{IO500_STONEWALL, Io500Role, Nanos, Placed, Record};
use record::WalkLevels;
use std::collections::BTreeSet;
use units::lossless::u64_to_f64;
use units::{counted, grouped};

/// A share of a file in the cache below which reads count as coming from storage.
const LITTLE_CACHED: f64 = 0.01;

/// A sentence for each thing that makes it less than an IO500 score would be, the gravest first.
pub(super) fn bounds(phases: &[Placed<'_>]) -> Vec<String> {
    let all = [
        shortened(phases),
        ended_early(phases),
        cut(phases),
        own_cache(phases),
        names_of_its_own(phases),
        alone(phases),
        found_nothing(phases),
        found_others(phases),
        changed(phases),
    ];
    all.into_iter().flatten().collect()
}

fn names<'a>(phases: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = phases.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn shortened(phases: &[Placed<'_>]) -> Option<String> {
    let writing = phases.iter().filter(|placed| placed.writes());
    let planned = writing.filter(|placed| placed.planned.is_some());
    let asked = planned.map(|placed| {
        let text = placed.option("stonewall")?;
        Nanos::parse(text).ok()
    });
    // One without a stonewall is shorter than any.
    let shortest = asked.map(Option::unwrap_or_default).min()?;
    (shortest < IO500_STONEWALL).then(|| {
        format!(
            "It is of a shortened run: its stonewall is {shortest}, and IO500 demands {} s.",
            IO500_STONEWALL.0 / 1_000_000_000
        )
    })
}

/// Writing phases that had nothing left to write before their time was over.
fn ended_early(phases: &[Placed<'_>]) -> Option<String> {
    let early = |placed: &&Placed<'_>| {
        let hosts = placed.record.map(Record::by_host).unwrap_or_default();
        // What failed or was cut short had not.
        let is_done = |record: &Record| record.outcome.status.has_done_all();
        placed.record.is_some_and(is_done)
            && placed.writes()
            && hosts.iter().any(|host| host.stonewall.is_none())
    };
    let early = names(phases.iter().filter(early).map(|placed| placed.phase.name))?;
    Some(format!(
        "Had written all before the stonewall: {early}; IO500 would call the run invalid, and more is written with --size or --files."
    ))
}

fn cut(phases: &[Placed<'_>]) -> Option<String> {
    let is_cut = |placed: &&Placed<'_>| {
        let stonewall = placed.record.and_then(|record| record.stonewall.as_ref());
        stonewall.is_some_and(|stonewall| stonewall.cut > 0)
    };
    let cut = names(phases.iter().filter(is_cut).map(|placed| placed.phase.name))?;
    Some(format!(
        "Some workers were ended before they had written as much as the fastest: {cut}; what follows uses what all had written."
    ))
}

/// Machines that took part: as the group counted them, for several may have one name.
fn machines(record: &Record) -> usize {
    let group = record.group.as_ref();
    if let Some(counted) = group.and_then(|group| group.machines) {
        return counted as usize;
    }
    let machines: BTreeSet<&str> = record.machines().into_iter().collect();
    machines.len()
}

fn own_cache(phases: &[Placed<'_>]) -> Option<String> {
    let cached = |placed: &Placed<'_>| {
        let residency = placed.record?.residency.as_ref()?;
        let before = u64_to_f64(residency.before_bytes?);
        let share = before / u64_to_f64(residency.total_bytes.max(1));
        let is_read = matches!(placed.phase.role, Io500Role::Uses(_));
        (is_read && share > LITTLE_CACHED)
            .then(|| format!("{:.0} % of {}", share * 100.0, placed.phase.name))
    };
    let shares: Vec<String> = phases.iter().filter_map(cached).collect();
    if shares.is_empty() {
        return None;
    }
    Some(format!(
        "Reads were of what lay in the readers' own page cache, {}: they measure memory as far as that. From storage reads come where a plan has cache = \"cold\", or other hosts wrote.",
        shares.join(" and ")
    ))
}

fn names_of_its_own(phases: &[Placed<'_>]) -> Option<String> {
    let mut using = phases.iter().filter(|placed| {
        let uses = matches!(placed.phase.role, Io500Role::Uses(_));
        uses && placed.phase.target.starts_with("mdtest")
    });
    let is_alone = using.any(|placed| placed.record.is_some_and(|record| machines(record) == 1));
    is_alone.then(|| {
        "Names were looked up, read and removed by the one machine that had made them, which may know them without asking the storage.".to_owned()
    })
}

fn alone(phases: &[Placed<'_>]) -> Option<String> {
    let ranks = |placed: &Placed<'_>| placed.record?.group.as_ref().map(|group| group.size);
    let most = phases.iter().filter_map(ranks).max()?;
    let walk = phases
        .iter()
        .find(|placed| placed.phase.role == Io500Role::Walks)?;
    let is_alone = walk.record.is_some() && ranks(walk).is_none();
    is_alone.then(|| format!("find was done by one rank of {most}; IO500 has all of them walk."))
}

fn found_nothing(phases: &[Placed<'_>]) -> Option<String> {
    let walks = phases.iter().filter_map(|placed| placed.record?.walk);
    let mut walks = walks.filter(|walk| walk.matched == 0);
    walks.next().map(|_| {
        "find found nothing of what it looked for; IO500 would call the run invalid.".to_owned()
    })
}

/// A walk that looked at fewer or more than there was: it began when everything had been made, and
/// nothing had been removed.
fn found_others(phases: &[Placed<'_>]) -> Option<String> {
    let mut walks = phases.iter().filter_map(|placed| placed.record);
    let record = walks.find(|record| record.walk.is_some())?;
    let walk = record.walk?;
    if !walk.levels.is_none_or(WalkLevels::agree) {
        return Some(
            "Ranks of find saw different directories, and its entries may be counted twice or not at all."
                .to_owned(),
        );
    }
    let entries = walk.entries;
    let made = |placed: &Placed<'_>| Some(placed.record?.operations.kind("create")?.count);
    let made: u64 = phases.iter().filter_map(made).sum();
    // Of data there is a file of each worker, and one of all.
    let dirs = record.operations.kind("walk").map_or(0, |of| of.count);
    let most = made + dirs + record.workers.len() as u64 + 1;
    let says = |most| {
        format!(
            "find looked at {}, and {most} had been made: ranks saw different directories, or somebody else changed them, and its rate is of something else.",
            counted(entries, "entry")
        )
    };
    if entries < made {
        return Some(says(counted(made, "file")));
    }
    (entries > most).then(|| says(format!("{} at most", grouped(most))))
}

fn changed(phases: &[Placed<'_>]) -> Option<String> {
    let changed = phases.iter().filter_map(|placed| {
        let options = &placed.planned?.workloads.first()?.options;
        let keys = placed.phase.changed_in(options);
        // Where the mark lies is the run's own.
        let keys: Vec<&str> = keys.into_iter().filter(|key| *key != "where").collect();
        (!keys.is_empty()).then(|| format!("{} of {}", keys.join(" and "), placed.phase.name))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| format!("The plan was changed: {}.", changed.join("; ")))
}
