//! Records of hosts that did one workload together, as one record.
//!
//! What can be added is added: counters, histograms, and the series by time. What cannot be, because
//! it is of one host, or because a sum of it would lose digits, stays in the account of the host,
//! and what the whole says of it is made from there: so the order of merging does not matter.

mod accounts;
mod coverage;
mod hosts;
mod load;
mod refusal;
mod series;
mod targets;

use crate::left::by_kind;
use crate::{
    Difference, Fill, GroupAccount, HostAccount, HostSeries, LoadAccount, LockAccount, Outcome,
    PaceAccount, Record, StonewallAccount, ThresholdResult, Verification, WalkAccount,
    WorkerAccount,
};
pub(crate) use accounts::{add_to, sum};
use accounts::{both, by_cause, only};
use hosts::hosts_and_workers;
pub use refusal::NotOneWorkload;
use series::SeriesOfAll;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use targets::TargetUsers;

impl Record {
    /// Makes of this record and that of other hosts, which did their part of the same workload, the
    /// record of all of them. Associative and commutative, with the default as identity; where
    /// the intervals of two series differ in length, what an interval says of a moment (in flight,
    /// users, stolen time) may depend on the order, and what it counts does not. Where a part of a
    /// machine comes to a sum over several machines of which its own is one, what their devices moved
    /// by time is unknown; [`Record::merge_all`] knows it.
    ///
    /// # Errors
    /// They are not of one workload, or not of different hosts; then nothing was changed.
    pub fn merge(&mut self, other: &Self) -> Result<(), NotOneWorkload> {
        let nothing = Self::default();
        if *other == nothing {
            return Ok(());
        }
        if *self == nothing {
            self.clone_from(other);
            return Ok(());
        }
        check(&[&*self, other])?;
        *self = Self::together(vec![std::mem::take(self), other.clone()]);
        Ok(())
    }

    /// The record of all of them, as if they had been merged one by one, in a time that grows with
    /// their number alone.
    ///
    /// # Errors
    /// They are not of one workload, or not of different hosts.
    pub fn merge_all(records: impl IntoIterator<Item = Self>) -> Result<Self, NotOneWorkload> {
        let nothing = Self::default();
        let records = records.into_iter().filter(|record| *record != nothing);
        let mut records: Vec<Self> = records.collect();
        check(&records.iter().collect::<Vec<_>>())?;
        Ok(match records.len() {
            0 | 1 => records.pop().unwrap_or_default(),
            _ => Self::together(records),
        })
    }

    /// What each host said, as far as it is not in what all said together: a record a host. A record
    /// of one host is its own.
    #[must_use]
    pub fn by_host(&self) -> Vec<Cow<'_, Self>> {
        let hosts = self.generators().zip(0_u32..);
        let mut workers: BTreeMap<u32, Vec<&WorkerAccount>> = BTreeMap::new();
        for worker in &self.workers {
            workers.entry(worker.host).or_default().push(worker);
        }
        let own = hosts.filter_map(|(host, number)| {
            let part = host.part.as_deref()?;
            let workers = workers.get(&number).map_or(&[][..], Vec::as_slice);
            Some(Cow::Owned(self.of_host(host, part, workers)))
        });
        let own: Vec<Cow<'_, Self>> = own.collect();
        if own.is_empty() {
            return vec![Cow::Borrowed(self)];
        }
        own
    }

    fn of_host(&self, host: &HostAccount, part: &Self, workers: &[&WorkerAccount]) -> Self {
        let mut own = part.clone();
        (own.kind, own.name) = (self.kind.clone(), self.name.clone());
        (own.trial, own.repeat) = (self.trial.clone(), self.repeat.clone());
        own.asked.clone_from(&self.asked);
        let of_all = self.effective.clone();
        let of_part = std::mem::replace(&mut own.effective, of_all);
        own.effective.extend(of_part);
        if let (Some(load), Some(of_all)) = (&mut own.load, &self.load) {
            load.scenario.clone_from(&of_all.scenario);
        }
        own.workers = workers.iter().copied().cloned().collect();
        for worker in &mut own.workers {
            worker.host = 0;
            // Its own record begins with its own start.
            worker.started_ns = worker.started_ns.saturating_sub(host.late_ns);
            worker.ended_ns = worker.ended_ns.saturating_sub(host.late_ns);
        }
        own.hosts = vec![host.without_part()];
        own.stonewall = own.stonewall.filter(StonewallAccount::has_come);
        own
    }

    /// The record in the form in which it can be added to: with what stays with its host there.
    fn joined(mut self) -> Self {
        if self.parts().next().is_some() {
            return self;
        }
        if let Some(load) = &mut self.load {
            self.thresholds.append(&mut load.thresholds);
        }
        let series = HostSeries::of(&self);
        let part = self.part();
        let host = self.generator_mut();
        host.series = series;
        let late_ns = host.late_ns;
        host.part = Some(Box::new(part));
        self.begin_later(late_ns);
        self.workers.iter_mut().for_each(|worker| worker.host = 0);
        self
    }

    /// What is left with the host when everything that adds up has gone.
    fn part(&mut self) -> Self {
        // What is long and adds up is set aside, so that no copy of it is made to be dropped.
        let aside = (take(&mut self.hosts), take(&mut self.warmup));
        let long = (take(&mut self.series), take(&mut self.workers));
        let of_load = self.load.as_mut().map(LoadAccount::set_aside);
        let part = Self {
            asked: BTreeMap::new(),
            locks: None,
            trial: None,
            repeat: None,
            group: None,
            ..self.clone()
        };
        let load = self.load.take().zip(of_load);
        self.load = load.map(|(load, aside)| load.with(aside));
        (self.hosts, self.warmup) = aside;
        (self.series, self.workers) = long;
        part
    }

    /// A part whose times are from the common start began so much later: makes them its own.
    pub fn begins_itself(&mut self, late_ns: u64) {
        self.generator_mut().late_ns = late_ns;
        self.move_edges(|ns| ns.saturating_sub(late_ns));
    }

    /// Its times from a start that was so much earlier.
    fn begin_later(&mut self, late_ns: u64) {
        let had_work = self.had_work();
        self.move_edges(|ns| ns.saturating_add(late_ns));
        // To whom nothing fell, no time of the whole was measured, nor of any kind.
        if !had_work {
            self.elapsed_ns = 0;
            self.spans.clear();
        }
    }

    /// A stop is told by the common start: who stood still then began late by it.
    fn move_edges(&mut self, moved: impl Fn(u64) -> u64) {
        let spans = (self.spans.values_mut()).map(|span| [&mut span.start_ns, &mut span.end_ns]);
        let series = (self.series.iter_mut()).map(|part| [&mut part.start_ns, &mut part.end_ns]);
        let workers = self.workers.iter_mut();
        let workers = workers.map(|worker| [&mut worker.started_ns, &mut worker.ended_ns]);
        let edges = spans.chain(series).chain(workers).flatten();
        for ns in edges.chain([&mut self.elapsed_ns]) {
            *ns = moved(*ns);
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.generators().filter_map(|host| host.part.as_deref())
    }

    /// The ids of the records that it was made of, or its own.
    fn part_ids(&self) -> Result<BTreeSet<&str>, NotOneWorkload> {
        if self.source.is_some() || !self.summaries.is_empty() {
            return Err(NotOneWorkload::Foreign(self.id.clone()));
        }
        let parts: BTreeSet<&str> = self.parts().map(|part| part.id.as_str()).collect();
        match (self.generators().count(), parts.len()) {
            (0 | 1, 0) => Ok([self.id.as_str()].into()),
            (hosts, parts_of) if hosts == parts_of => Ok(parts),
            (_, _) => Err(NotOneWorkload::Unattributed(self.id.clone())),
        }
    }

    /// The record of several that were found to be of one workload.
    fn together(records: Vec<Self>) -> Self {
        let mut records: Vec<Self> = records.into_iter().map(Self::joined).collect();
        let series = SeriesOfAll::of(&mut records);
        let (hosts, workers) = hosts_and_workers(&mut records);
        let all = records.into_iter().reduce(Self::plus);
        let mut all = all.unwrap_or_default();
        (all.hosts, all.workers) = (hosts, workers);
        series.tell(&mut all);
        all.settle();
        all
    }

    /// Adds what adds up.
    fn plus(mut self, other: Self) -> Self {
        self.schema = self.schema.max(other.schema);
        self.started_at = std::mem::take(&mut self.started_at).min(other.started_at);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.operations.merge(&other.operations);
        self.warmup.merge(&other.warmup);
        self.loops.merge(&other.loops);
        for (kind, span) in other.spans {
            let mine = self.spans.entry(kind).or_insert(span);
            mine.merge(span);
        }
        both(
            &mut self.verification,
            other.verification,
            Verification::merge,
        );
        both(&mut self.locks, other.locks, LockAccount::merge);
        both(&mut self.fill, other.fill, Fill::merge);
        both(
            &mut self.stonewall,
            other.stonewall,
            StonewallAccount::merge,
        );
        both(&mut self.walk, other.walk, WalkAccount::merge);
        both(&mut self.load, other.load, LoadAccount::merge);
        both(&mut self.group, other.group, GroupAccount::merge);
        self.differences.extend(other.differences);
        self.notices.extend(other.notices);
        self.left_over.extend(other.left_over);
        self.stops.extend(other.stops);
        self.errors.extend(other.errors);
        self.companions.extend(other.companions);
        self.thresholds.extend(other.thresholds);
        self.outcome = Outcome::graver(self.outcome, other.outcome);
        self
    }

    /// Brings what was added into one order, and says what only the whole can.
    fn settle(&mut self) {
        self.stonewall = self.stonewall.take().filter(StonewallAccount::has_come);
        self.differences.sort_by_cached_key(Difference::key);
        self.differences.dedup();
        self.notices.sort();
        self.notices.dedup();
        self.left_over = by_kind(take(&mut self.left_over));
        self.stops
            .sort_by_key(|stop| (stop.start_ns, stop.end_ns, stop.suspended_ns));
        if let Some(verification) = &mut self.verification {
            verification.settle();
        }
        self.errors = by_cause(std::mem::take(&mut self.errors));
        self.tell_of_parts();
        self.tell_of_group();
        self.judge_again();
    }

    /// What the whole says of what stands with the hosts.
    fn tell_of_parts(&mut self) {
        let mut ids: Vec<String> = self.parts().map(|part| part.id.clone()).collect();
        ids.sort();
        self.id = crate::plan::hash_of(ids.join(" ").as_bytes());
        let companions = std::mem::take(&mut self.companions);
        let strangers = companions.into_iter().filter(|id| !ids.contains(id));
        self.companions = strangers
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect();
        self.pace = PaceAccount::of_all(self.generators());
        let users = TargetUsers::of(self);
        let (targets, coverage) = (users.facts(), users.coverage());
        let (residency, levels) = (users.residency(), users.levels());
        self.residency = residency;
        if let Some(walk) = &mut self.walk {
            walk.levels = levels;
        }
        (self.targets, self.coverage) = (targets, coverage);
        let loads = || self.parts().filter_map(|part| part.load.as_ref());
        let server = only(loads().filter_map(|load| load.server.clone()));
        let search = only(loads().filter_map(|load| load.search.clone()));
        if let Some(load) = &mut self.load {
            (load.server, load.search) = (server, search);
        }
        let mut parts = self.parts().filter(|part| part.has_begun());
        let mut common = parts
            .next()
            .map(|part| part.effective.clone())
            .unwrap_or_default();
        for part in parts {
            common.retain(|key, value| part.effective.get(key) == Some(value));
        }
        let parts = self.hosts.iter_mut().filter_map(|host| host.part.as_mut());
        for part in parts.filter(|part| part.has_begun()) {
            part.effective.retain(|key, _| !common.contains_key(key));
        }
        self.effective = common;
    }

    /// Thresholds are of the whole: what a part of it said of them says nothing.
    fn judge_again(&mut self) {
        let mut judged: BTreeMap<String, ThresholdResult> = BTreeMap::new();
        for result in std::mem::take(&mut self.thresholds) {
            let known = judged.entry(result.threshold.clone());
            let known = known.or_insert_with(|| result.clone());
            // Those that cannot be judged again stand as the host that missed them judged them.
            let text = |result: &ThresholdResult| serde_json::to_string(result).unwrap_or_default();
            if *known != result && (result.holds, text(&result)) < (known.holds, text(known)) {
                *known = result;
            }
        }
        self.thresholds = judged.into_values().collect();
        let judged = self.thresholds();
        self.thresholds.clear();
        self.keep_judged(judged);
    }
}

/// Whether records are of one workload on several hosts.
fn check(records: &[&Record]) -> Result<(), NotOneWorkload> {
    let mut ids = BTreeSet::new();
    for record in records {
        for id in record.part_ids()? {
            if !ids.insert(id) {
                return Err(NotOneWorkload::Twice(id.to_owned()));
            }
        }
    }
    let mut ranks = BTreeSet::new();
    for rank in records
        .iter()
        .flat_map(|record| record.generators().filter_map(|host| host.rank))
    {
        if !ranks.insert(rank) {
            return Err(NotOneWorkload::SameRank(rank));
        }
    }
    // One that never began says nothing of it.
    let begun = records.iter().filter(|record| record.has_begun());
    let scenarios = begun.map(|record| record.load.as_ref().map(|load| &load.scenario));
    let scenarios: BTreeSet<Option<&String>> = scenarios.collect();
    if scenarios.len() > 1 {
        return Err(NotOneWorkload::Differ("scenario"));
    }
    for (one, other) in records.iter().zip(records.iter().skip(1)) {
        let same = [
            ("kind", one.kind == other.kind),
            ("name", one.name == other.name),
            ("what was asked", one.asked == other.asked),
            ("place in an experiment", one.trial == other.trial),
            ("repetition", one.repeat == other.repeat),
        ];
        let differs = same
            .into_iter()
            .find(|(_, same)| !same)
            .map(|(what, _)| what);
        let groups = || GroupAccount::differ(one.group.as_ref(), other.group.as_ref());
        if let Some(what) = differs.or_else(groups) {
            return Err(NotOneWorkload::Differ(what));
        }
    }
    Ok(())
}
