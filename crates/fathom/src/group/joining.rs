//! What the root makes of what the ranks have: one record, at the end and meanwhile.

use super::connection::RankLink;
use group::Word;
use host::PeerFault;
use record::{LostRank, Outcome, Record, Status, join};
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::{Clock as _, MachineClock};
use units::Nanos;

/// A rank's word at the end: what it measured, or why it has nothing.
pub(super) fn part_word(part: &Result<Record, PeerFault>) -> Vec<u8> {
    match part {
        Ok(record) => serde_json::to_vec(record).unwrap_or_default(),
        Err(fault) => super::connection::fault_word(fault)
            .to_string()
            .into_bytes(),
    }
}

/// What ranks said at the end, read.
pub(super) struct RankParts {
    records: BTreeMap<u32, Record>,
    faults: BTreeMap<u32, PeerFault>,
}

/// A record in the words of another rank.
fn read(word: &[u8]) -> Option<Record> {
    let record: Record = serde_json::from_slice(word).ok()?;
    record.group.is_some().then_some(record)
}

impl RankParts {
    pub(super) fn read(words: &[Option<Word>]) -> Self {
        let mut out = Self {
            records: BTreeMap::new(),
            faults: BTreeMap::new(),
        };
        for (word, rank) in words.iter().zip(0_u32..) {
            let Some(word) = word else { continue };
            match read(word) {
                Some(record) => {
                    out.records.insert(rank, record);
                }
                None => {
                    let fault = super::connection::fault_of(word);
                    out.faults.extend(fault.map(|fault| (rank, fault)));
                }
            }
        }
        out
    }

    /// What ranks said while they measured, where it is all there is.
    pub(super) fn snapshots(words: &BTreeMap<u32, Word>) -> Self {
        let records = words
            .iter()
            .filter_map(|(rank, word)| Some((*rank, read(word)?)));
        Self {
            records: records.collect(),
            faults: BTreeMap::new(),
        }
    }

    /// Of ranks that have no part, what they said last.
    pub(super) fn or(mut self, said: Self) -> Self {
        for (rank, record) in said.records {
            self.records.entry(rank).or_insert(record);
        }
        self
    }

    /// The record of a rank that could not begin, so that none did; nobody is lost then.
    fn unbegun(&self) -> Option<(u32, Record)> {
        let mut records = self.records.iter();
        let has_any_begun = records.any(|(_, record)| record.elapsed_ns > 0);
        let known = self.records.iter().next();
        let known = known.filter(|_| !has_any_begun && !self.faults.is_empty());
        known.map(|(rank, record)| (*rank, record.clone()))
    }

    pub(super) fn first_fault(&self) -> Option<&PeerFault> {
        self.faults.values().next()
    }
}

/// The trial as the root knows it.
pub(super) struct GroupTrial {
    pub(super) connection: Arc<RankLink>,
    /// The id of its record, also while it goes on: a later line takes the place of an earlier.
    pub(super) id: String,
}

impl GroupTrial {
    /// The record of what there is; `None` where there is nothing.
    pub(super) fn record(&self, parts: RankParts) -> Option<Record> {
        if self.connection.seen().lost().is_empty()
            && let Some((rank, mut record)) = parts.unbegun()
        {
            record.id.clone_from(&self.id);
            let called = self.connection.called(rank);
            let message = record.outcome.message.take().unwrap_or_default();
            record.outcome.message = Some(format!("{called}: {message}"));
            return Some(record);
        }
        let faults = parts.faults;
        let given = parts.records.into_iter();
        let given = given.map(|(rank, record)| (self.connection.called(rank), record));
        let joined = join(given.collect());
        let mut record = joined.record?;
        record.id.clone_from(&self.id);
        self.name_lost(&mut record, &faults);
        Some(record)
    }

    /// Who is lost, where and why, which the parts themselves do not say.
    fn name_lost(&self, record: &mut Record, faults: &BTreeMap<u32, PeerFault>) {
        let silent = self.connection.seen().lost();
        let Some(group) = &mut record.group else {
            return;
        };
        group.lost.retain(|lost| !silent.contains(&lost.rank));
        group.lost.extend(silent.iter().map(|rank| LostRank {
            rank: *rank,
            host: None,
            why: "nothing was heard of it any more".into(),
        }));
        group.lost.sort();
        for lost in &mut group.lost {
            let host = lost.host.take();
            lost.host = host.or_else(|| self.connection.host_of(lost.rank));
            if let Some(fault) = faults.get(&lost.rank) {
                lost.why.clone_from(&fault.text);
            }
        }
        let names = group
            .lost
            .iter()
            .map(|lost| self.connection.called(lost.rank));
        let names: Vec<String> = names.collect();
        if !names.is_empty() && record.outcome.status != Status::Interrupted {
            let also = record.outcome.message.take();
            let lost = format!("lost: {}", names.join(", "));
            record.outcome = Outcome {
                status: Status::Incomplete,
                exit_code: PeerFault::LOST,
                message: Some(also.map_or_else(|| lost.clone(), |also| format!("{lost}; {also}"))),
            };
        }
    }

    /// What there is while it goes on, as what is kept if nothing more comes.
    pub(super) fn so_far(&self, elapsed_ns: u64) -> Option<Record> {
        let seen = self.connection.seen();
        let mut record = self.record(RankParts::snapshots(&seen.snapshots()))?;
        if seen.lost().is_empty()
            && let Some(group) = &mut record.group
        {
            group.lost.clear();
        }
        record.outcome = Outcome {
            status: Status::Incomplete,
            exit_code: PeerFault::LOST,
            message: Some(format!(
                "the run had not ended when this was written, {} after it began: what its ranks did later is not here",
                Nanos(elapsed_ns)
            )),
        };
        Some(record)
    }
}

/// What the clock of the day showed when this machine's clock showed `at`.
pub(super) fn wall_time_of(clock: &MachineClock, at: u64) -> String {
    let ago = std::time::Duration::from_nanos(clock.now().saturating_sub(at));
    let wall = sys::clock::wall_time();
    let then = wall.checked_sub(ago).unwrap_or(wall);
    humantime::format_rfc3339_millis(then).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_could_not_begin_speaks_for_all_and_one_that_did_for_itself() {
        let parts = |elapsed_ns| RankParts {
            records: [(
                2,
                Record {
                    elapsed_ns,
                    ..Record::default()
                },
            )]
            .into(),
            faults: [(
                0,
                PeerFault {
                    text: "rank 2: the disk is full".into(),
                    exit_code: 1,
                },
            )]
            .into(),
        };
        assert_eq!(parts(0).unbegun().map(|(rank, _)| rank), Some(2));
        assert!(parts(1).unbegun().is_none());
        let all = RankParts {
            faults: BTreeMap::new(),
            ..parts(0)
        };
        assert!(all.unbegun().is_none(), "each has its own record");
    }
}
