//! What the root makes of what the ranks have: one record, at the end and meanwhile.

use super::connection::RankLink;
use group::Word;
use host::PeerFault;
use record::{LostRank, Outcome, PartFault, Record, Status, join};
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::{Clock as _, MachineClock};
use units::{Bytes, Nanos};

/// Of a longer part what each worker measured is left out: ranks carry no message of more than a quarter of
/// a GiB, and the root has those of all in memory.
pub(super) const LONGEST_PART: usize = 200 << 20;

/// A rank's word at the end: what it measured, or why it has nothing.
pub(super) fn part_word(part: &Result<Record, PeerFault>) -> Vec<u8> {
    match part {
        Ok(record) => record_word(record, LONGEST_PART),
        Err(fault) => super::words::fault_word(fault).to_string().into_bytes(),
    }
}

pub(super) fn record_word(record: &Record, longest: usize) -> Vec<u8> {
    let whole = serde_json::to_vec(record).unwrap_or_default();
    if whole.len() <= longest {
        return whole;
    }
    let mut shorter = record.clone();
    for worker in &mut shorter.workers {
        worker.measured = None;
    }
    shorter.notices.push(format!(
        "{}: what it measured is {}, more than ranks send each other ({}): what each worker counted is left out; give a longer --series-interval, or no --worker-series",
        record.generator().called(),
        Bytes(units::lossless::to_u64(whole.len())),
        Bytes(units::lossless::to_u64(longest)),
    ));
    let shorter = serde_json::to_vec(&shorter).unwrap_or_default();
    if shorter.len() <= longest {
        return shorter;
    }
    let text = "what it measured is longer than ranks send each other".to_owned();
    let fault = PeerFault { text, exit_code: 1 };
    super::words::fault_word(&fault).to_string().into_bytes()
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
                    let fault = super::words::fault_of(word);
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

    /// Ranks that a signal had stopped when they said what they have: who hears no more of them has lost
    /// nothing.
    fn stopped(&self) -> Vec<u32> {
        let records = self.records.iter();
        let stopped = records.filter(|(_, of)| of.outcome.status == Status::Interrupted);
        stopped.map(|(rank, _)| *rank).collect()
    }

    /// The record of a rank that could not begin, so that none did; nobody is lost then.
    fn unbegun(&self) -> Option<(u32, Record)> {
        let mut records = self.records.iter();
        let has_any_begun = records.any(|(_, record)| record.elapsed_ns > 0);
        // Of one that has a fault there is only what it said before.
        let mut ended = self.records.iter();
        let known = ended.find(|(rank, _)| !self.faults.contains_key(rank));
        let stopped = self.stopped().first().copied();
        let stopped = stopped.and_then(|rank| self.records.get_key_value(&rank));
        let known = stopped.or(known).or(self.records.iter().next());
        let known = known.filter(|_| !has_any_begun && !self.faults.is_empty());
        known.map(|(rank, record)| (*rank, record.clone()))
    }
}

/// The trial as the root knows it.
pub(super) struct GroupTrial {
    pub(super) connection: Arc<RankLink>,
    /// The id of its record, also while it goes on: a later line takes the place of an earlier.
    pub(super) id: String,
    pub(super) clock: MachineClock,
    /// Ranks that begin further apart do not count.
    pub(super) max_skew: Nanos,
}

impl GroupTrial {
    /// The record of what there is.
    ///
    /// # Errors
    /// There is nothing, and why.
    pub(super) fn record(&self, parts: RankParts) -> Result<Record, PeerFault> {
        if self.connection.seen().lost().is_empty()
            && let Some((rank, mut record)) = parts.unbegun()
        {
            record.id.clone_from(&self.id);
            name_signal(&mut record.outcome, sys::named_signal());
            let called = self.connection.called(rank);
            let message = record.outcome.message.take().unwrap_or_default();
            record.outcome.message = Some(format!("{called}: {message}"));
            return Ok(record);
        }
        let mut whys: BTreeMap<u32, String> = BTreeMap::new();
        let stopped = parts.stopped();
        let first = parts.faults.values().next().cloned();
        for (rank, fault) in parts.faults {
            whys.insert(rank, fault.text);
        }
        let ranks: Vec<u32> = parts.records.keys().copied().collect();
        let given = parts.records.into_iter().map(|(rank, mut record)| {
            // Of a rank that has no part there is what it said last, and why there is no more.
            let why = whys.get(&rank).filter(|_| !stopped.contains(&rank));
            if let Some(why) = why {
                record.outcome.message = Some(why.clone());
            }
            (self.connection.called(rank), record)
        });
        let joined = join(given.collect());
        for fault in &joined.faults {
            if let PartFault::NoPart { place, why } = fault
                && let Some(rank) = ranks
                    .iter()
                    .find(|rank| self.connection.called(**rank) == *place)
            {
                whys.insert(*rank, format!("its part {why}"));
            }
        }
        let Some(mut record) = joined.record else {
            let refused = joined.faults.iter().map(ToString::to_string);
            let refused: Vec<String> = refused.collect();
            return Err(first.unwrap_or_else(|| match refused.is_empty() {
                true => self.connection.loss(),
                false => PeerFault::lost(refused.join("; ")),
            }));
        };
        record.id.clone_from(&self.id);
        name_signal(&mut record.outcome, sys::named_signal());
        let is_begun = record.elapsed_ns > 0 || self.connection.seen().lost().is_empty();
        if !is_begun && record.outcome.status == Status::Incomplete {
            self.spare_the_waiting(&mut record);
            record.outcome.message = Some("no rank had begun to measure".into());
        }
        let mut lost = self.connection.seen().lost();
        lost.retain(|rank| !stopped.contains(rank));
        self.name(&mut record, &lost, &whys);
        Ok(record)
    }

    /// Who is lost, where and why, which the parts themselves do not say.
    pub(super) fn name(&self, record: &mut Record, silent: &[u32], whys: &BTreeMap<u32, String>) {
        let Some(group) = &mut record.group else {
            return;
        };
        group.lost.retain(|lost| !silent.contains(&lost.rank));
        group.lost.extend(silent.iter().map(|rank| LostRank {
            rank: *rank,
            why: "nothing was heard of it any more".into(),
            ..LostRank::default()
        }));
        group.lost.sort();
        let began = self.connection.began_at();
        for lost in &mut group.lost {
            let heard = self.connection.seen().heard_at(lost.rank);
            let heard = heard.filter(|at| began > 0 && *at >= began);
            lost.last_heard_ns = heard.map(|at| at.saturating_sub(began));
            let host = lost.host.take();
            lost.host = host.or_else(|| self.connection.host_of(lost.rank));
            if let Some(why) = whys.get(&lost.rank) {
                lost.why.clone_from(why);
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

    /// Whoever was not waited for is not lost: it had not begun, or had nothing to say yet.
    pub(super) fn spare_the_waiting(&self, record: &mut Record) {
        let lost = self.connection.seen().lost();
        if let Some(group) = &mut record.group {
            group.lost.retain(|of| lost.contains(&of.rank));
        }
    }

    /// Says when all began, and whether that counts.
    pub(super) fn date(&self, record: &mut Record) {
        let began = self.connection.began_at();
        if let Some(group) = record.group.as_mut().filter(|_| began > 0) {
            group.start_at = wall_time_of(&self.clock, began);
            let agreed = self.connection.agreed();
            group.lead_ns = agreed.map(|agreed| agreed.lead_ns);
            group.start_tries = agreed.map(|agreed| agreed.tries);
        }
        record.hold_to_start(self.max_skew);
    }
}

/// Ranks say by which signal they were stopped; the front may have had another, and its exit code is of that.
fn name_signal(outcome: &mut Outcome, named: Option<i32>) {
    let had = sys::stopped_by(outcome.exit_code);
    let had = had.filter(|_| outcome.status == Status::Interrupted);
    if let (Some(had), Some(named)) = (had, named)
        && named != had
    {
        let also = outcome.message.take().unwrap_or_default();
        outcome.exit_code = sys::stopped_code(named);
        outcome.message = Some(format!(
            "stopped by signal {named}, which reached ranks as {had}: {also}"
        ));
    }
}

/// What the clock of the day showed when this machine's clock showed `at`.
fn wall_time_of(clock: &MachineClock, at: u64) -> String {
    let ago = std::time::Duration::from_nanos(clock.now().saturating_sub(at));
    let wall = sys::clock::wall_time();
    let then = wall.checked_sub(ago).unwrap_or(wall);
    humantime::format_rfc3339_millis(then).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_too_long_is_sent_without_what_each_worker_counted_and_says_so() {
        let counted = record::WorkerMeasured {
            series: vec![record::Interval::default(); 100],
            ..record::WorkerMeasured::default()
        };
        let part = Record {
            workers: vec![record::WorkerAccount {
                measured: Some(counted),
                ..record::WorkerAccount::default()
            }],
            ..Record::default()
        };
        let whole = serde_json::to_vec(&part).unwrap();
        let sent = |longest| -> Option<Record> {
            serde_json::from_slice(&record_word(&part, longest)).ok()
        };
        assert_eq!(sent(whole.len()), Some(part.clone()));
        let shorter = sent(whole.len() - 1).unwrap();
        assert_eq!(shorter.workers[0].measured, None);
        assert!(shorter.notices[0].contains("what each worker counted is left out"));
        let nothing = record_word(&part, 10);
        let fault = super::super::words::fault_of(&nothing).unwrap();
        assert!(
            fault.text.contains("longer than ranks send"),
            "{}",
            fault.text
        );
    }

    #[test]
    fn a_record_says_the_signal_that_the_front_had() {
        let stopped = |status, exit_code| Outcome {
            status,
            exit_code,
            message: Some("stopped by signal 15".into()),
        };
        let mut outcome = stopped(Status::Interrupted, 143);
        name_signal(&mut outcome, Some(2));
        assert_eq!(outcome.exit_code, 130);
        assert_eq!(
            outcome.message.as_deref(),
            Some("stopped by signal 2, which reached ranks as 15: stopped by signal 15")
        );
        for (status, code, named) in [
            (Status::Interrupted, 143, Some(15)),
            (Status::Interrupted, 143, None),
            (Status::Interrupted, 1, Some(2)),
            (Status::Incomplete, 143, Some(2)),
        ] {
            let mut outcome = stopped(status, code);
            name_signal(&mut outcome, named);
            assert_eq!(outcome, stopped(status, code));
        }
    }

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
        let mut said = parts(0);
        said.records.insert(0, Record::default());
        let speaks = said.unbegun().map(|(rank, _)| rank);
        assert_eq!(speaks, Some(2), "of the first there is what it said before");
        let mut told_twice = parts(0);
        for (rank, status) in [(0, Status::Interrupted), (1, Status::Ok)] {
            let mut record = Record::default();
            record.outcome.status = status;
            told_twice.records.insert(rank, record);
        }
        let speaks = told_twice.unbegun().map(|(rank, _)| rank);
        assert_eq!(speaks, Some(0), "it says why all have ended");
        let all = RankParts {
            faults: BTreeMap::new(),
            ..parts(0)
        };
        assert!(all.unbegun().is_none(), "each has its own record");
    }

    #[test]
    fn who_has_said_that_a_signal_stopped_it_is_not_lost() {
        let of = |status| Record {
            outcome: Outcome {
                status,
                ..Outcome::default()
            },
            ..Record::default()
        };
        let ends = [
            Status::Ok,
            Status::Interrupted,
            Status::Incomplete,
            Status::Interrupted,
        ];
        let parts = RankParts {
            records: (0..).zip(ends.map(of)).collect(),
            faults: BTreeMap::new(),
        };
        assert_eq!(parts.stopped(), [1, 3]);
    }
}
