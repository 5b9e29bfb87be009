//! What a load thread hands back when it ends.

use super::Running;
use crate::payload::Object;
use crate::target::Service;
use crate::verbs::Call;
use record::{EndpointAccount, ErrorCount, Histogram, LoopAccount, RequestPhases, WorkerAccount};

/// What a thread hands back.
#[derive(Default)]
pub(crate) struct ThreadReport {
    pub(crate) account: WorkerAccount,
    pub(crate) loop_account: LoopAccount,
    pub(crate) phases: Vec<(&'static str, RequestPhases)>,
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) endpoints: Vec<EndpointAccount>,
    pub(crate) iterations: Histogram,
    pub(crate) lateness: Histogram,
    pub(crate) unsent: Vec<u64>,
    pub(crate) counts: ThreadCounts,
    pub(crate) last_done: u64,
    /// Until when its schedule asked for arrivals, and when the last turn of them began, from the start of the
    /// measured time.
    pub(crate) asked_until_ns: u64,
    pub(crate) last_begun_ns: u64,
    /// Objects that are, or may be, on the server.
    pub(crate) objects: Vec<Object>,
    /// Multipart uploads that are, or may be, open there.
    pub(crate) uploads: Vec<(Object, String)>,
    /// Uploads that may be open there too, of which only the server knows: what asked for them was not answered.
    pub(crate) hidden_uploads: u64,
    /// Some of the uploads may not be open: an end of one was not answered.
    pub(crate) has_ended_uploads: bool,
    /// Some of the objects may not be there: the last that was asked about them failed.
    pub(crate) is_in_doubt: bool,
}

/// Plain counters of a thread, by name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadCounts {
    pub(crate) skipped: u64,
    pub(crate) queued: u64,
    pub(crate) retries: u64,
    pub(crate) signed: u64,
    pub(crate) signing_ns: u64,
    pub(crate) verified: u64,
    pub(crate) wrong: u64,
    pub(crate) posted: u64,
    /// Files that may be there too: what posted them was not answered.
    pub(crate) maybe_posted: u64,
}

impl Running {
    pub(super) fn collect(&self, worker_ns: u64, abandoned: u64) -> ThreadReport {
        self.close();
        let ledger = &self.thread.ledger;
        let (mut objects, mut uploads) = (Vec::new(), Vec::new());
        let (mut posted, mut is_in_doubt) = (0, false);
        for owned in &self.owned {
            let owned = owned.borrow();
            objects.extend(
                owned
                    .live
                    .iter()
                    .chain(&owned.doubtful)
                    .chain(&owned.pending)
                    .copied(),
            );
            uploads.extend(owned.uploads.iter().cloned());
            is_in_doubt |= owned.pending.is_some() || !owned.doubtful.is_empty();
            posted += owned.posted;
        }
        let in_doubt = |call| ledger.in_doubt(call) + self.thread.warmup.in_doubt(call);
        // A share names its files itself, and nobody heard how.
        let is_share = self.thread.settings.service == Service::Share;
        let unnamed = if is_share { in_doubt(Call::Put) } else { 0 };
        let measured = ledger.live.snapshot();
        let mut loop_account = ledger.loop_account(worker_ns);
        loop_account.abandoned = abandoned;
        ThreadReport {
            account: WorkerAccount {
                operations: measured.count(),
                bytes: measured.bytes(),
                ..WorkerAccount::default()
            },
            loop_account,
            phases: ledger.phases(),
            errors: ledger.errors(&|path| self.thread.settings.told_path(path)),
            endpoints: ledger
                .endpoints(self.thread.peers.iter().map(|peer| peer.authority.as_str())),
            iterations: ledger.iterations.take(),
            lateness: ledger.lateness.take(),
            unsent: self.unsent.take(),
            counts: ThreadCounts {
                skipped: ledger.skipped.get(),
                queued: ledger.queued.get(),
                retries: ledger.retries.get(),
                signed: ledger.signed.get(),
                signing_ns: ledger.signing_ns.get(),
                verified: ledger.verified.get(),
                wrong: ledger.wrong.get(),
                posted,
                maybe_posted: in_doubt(Call::Post) + unnamed,
            },
            last_done: ledger.last_done(),
            asked_until_ns: self.asked.until_ns(),
            last_begun_ns: self.asked.last_begun_ns(),
            objects,
            uploads,
            hidden_uploads: in_doubt(Call::MultipartCreate),
            has_ended_uploads: in_doubt(Call::MultipartComplete) + in_doubt(Call::MultipartAbort)
                > 0,
            is_in_doubt,
        }
    }
}
