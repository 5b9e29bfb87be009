//! Preparing beside other ranks.

use crate::error::RunError;
use crate::layout::FileSpec;
use crate::probe::RealProbe;
use crate::resolve::Resolved;
use crate::safety::{self, Refusal};
use host::{CommonStart, Context, PeerFault, Peers};
use record::TargetReach;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::path::Path;
use units::Percent;

/// The ranks beside which something is prepared; by default there are none.
#[derive(Default)]
pub(crate) struct Among<'a> {
    start: Option<&'a CommonStart>,
    /// How many there are, connected or not.
    ranks: u32,
    /// What no other machine is called, nor this one by anybody who runs on it.
    machine: String,
    fresh_run: u64,
    /// Whether the others know why this rank cannot go on.
    is_told: Cell<bool>,
    /// Whether one was lost.
    is_one_lost: Cell<bool>,
}

impl<'a> Among<'a> {
    /// What all that starts together writes is of one run: `fresh_run`, or what the ranks agreed on.
    pub(crate) fn of(context: &'a Context, fresh_run: u64) -> Self {
        let start = context.common_start.as_ref();
        let boot = context.machine.boot_id();
        let hostname = || context.machine.hostname();
        Self {
            start: start.filter(|start| start.peers().is_some()),
            ranks: start.map_or(1, |start| start.group.size.max(1)),
            machine: boot.or_else(hostname).unwrap_or_default(),
            fresh_run: start.map_or(fresh_run, |start| start.fresh_run),
            is_told: Cell::new(false),
            is_one_lost: Cell::new(false),
        }
    }

    pub(crate) fn fresh_run(&self) -> u64 {
        self.fresh_run
    }

    fn peers(&self) -> Option<&'a dyn Peers> {
        self.start.and_then(CommonStart::peers)
    }

    pub(super) fn has_peers(&self) -> bool {
        self.peers().is_some()
    }

    /// This rank's number, and how many there are.
    pub(super) fn place(&self) -> (u32, u32) {
        self.start
            .map_or((0, 1), |start| (start.rank, start.group.size.max(1)))
    }

    /// Waits until all have come so far.
    pub(crate) fn meet(&self) -> Result<(), RunError> {
        let met = self.peers().map_or(Ok(()), |peers| peers.meet(Ok(())));
        self.heard(met)
    }

    fn heard<T>(&self, told: Result<T, PeerFault>) -> Result<T, RunError> {
        if told.as_ref().is_err_and(PeerFault::is_loss) {
            self.is_one_lost.set(true);
        }
        Ok(told?)
    }

    /// Whether a rank that was not heard may go on with what it did.
    pub(crate) fn others_may_go_on(&self) -> bool {
        self.is_one_lost.get()
    }

    /// Ends what the others may have begun without this rank.
    pub(crate) fn halt(&self) {
        if let Some(peers) = self.peers() {
            peers.halt();
        }
    }

    /// The same, after a step that this rank may have failed at; where it has, the others have ended
    /// theirs as well when this returns.
    pub(crate) fn meet_after<T>(&self, own: Result<T, RunError>) -> Result<T, RunError> {
        match own {
            Ok(done) => self.meet().map(|()| done),
            Err(error) => {
                self.tell(&error);
                Err(error)
            }
        }
    }

    /// Says once to the others why this rank cannot go on, and waits for them: they have ended what
    /// they did, or one is lost. What the group itself says they know, and of a missed start they
    /// hear when they end.
    pub(crate) fn tell(&self, error: &RunError) {
        let is_known = matches!(error, RunError::Group(_) | RunError::Missed { .. });
        if is_known || self.is_told.replace(true) {
            return;
        }
        let fault = PeerFault {
            text: error.to_string(),
            exit_code: error.exit_code(),
        };
        let told = self.peers().map(|peers| peers.meet(Err(fault)));
        let _they_know_it = told.map(|told| self.heard(told));
    }

    /// A word of every rank for the root, and what it makes of all of them, by rank, for all.
    ///
    /// # Errors
    /// A rank cannot go on.
    pub(crate) fn confer<W: Serialize + DeserializeOwned, A: Serialize + DeserializeOwned>(
        &self,
        own: W,
        decide: impl FnOnce(Vec<W>) -> A,
    ) -> Result<A, RunError> {
        let Some(peers) = self.peers() else {
            return Ok(decide(vec![own]));
        };
        let text = |of: serde_json::Result<String>| of.expect("plain words can be written");
        let mut decide = Some(decide);
        let mut answer = |words: &[String]| {
            let words: serde_json::Result<Vec<W>> = words
                .iter()
                .map(|word| serde_json::from_str(word))
                .collect();
            let decided = words
                .ok()
                .zip(decide.take())
                .map(|(words, decide)| decide(words));
            decided.map_or_else(String::new, |decided| text(serde_json::to_string(&decided)))
        };
        let heard = self.heard(peers.confer(text(serde_json::to_string(&own)), &mut answer))?;
        serde_json::from_str(&heard).map_err(|error| {
            PeerFault::lost(format!("a rank said what nobody understands: {error}")).into()
        })
    }

    /// Whether another rank makes the files that all use.
    pub(crate) fn finds_made(&self) -> bool {
        self.start.is_some_and(CommonStart::finds_files_made)
    }

    /// What all ranks call a file system that those who share it call so; `device` is its number on this host.
    pub(super) fn file_system(&self, shared: &Path, device: u64) -> String {
        match self.share_files() {
            true => shared.display().to_string(),
            false => format!("{device} on {}", self.machine),
        }
    }

    /// Whether other ranks may use the same server: of a name nobody knows whose it is.
    pub(super) fn share_servers(&self) -> bool {
        self.ranks > 1
    }

    /// Whether other ranks use the same files.
    pub(crate) fn share_files(&self) -> bool {
        let share = |start: &CommonStart| start.has_one_target() && start.group.size > 1;
        self.start.is_some_and(share)
    }
}

/// Why a rank cannot begin, with what it cannot know where the others are not connected: each takes a
/// target of its own, and two of one machine may have been given the same.
pub(crate) fn beside_unknown(mut error: RunError, start: Option<&CommonStart>) -> RunError {
    let is_alone = start.is_some_and(|start| {
        let is_local = start.group.target_is == Some(TargetReach::Local);
        is_local && start.group.size > 1 && start.peers().is_none()
    });
    if !is_alone {
        return error;
    }
    let hint = |doing: &str| {
        format!(
            "another rank of this machine may {doing} it: ranks that are not connected need targets of their own"
        )
    };
    if let RunError::Refused(refusal @ Refusal::Written { .. }) = &error {
        return RunError::Unsuitable(format!("{refusal}; {}", hint("write")));
    }
    if let RunError::Io { source, .. } = &mut error
        && source.kind() == ErrorKind::AlreadyExists
    {
        let text = format!("{source}; {}", hint("have made"));
        *source = io::Error::new(source.kind(), text);
    }
    error
}

/// Refuses files that are in use on this host, where another rank asks all else.
///
/// # Errors
/// One is mounted, swapped to or written by somebody else here.
pub(super) fn check_unused(
    resolved: &Resolved,
    is_made_elsewhere: impl Fn(&FileSpec) -> bool,
) -> Result<(), RunError> {
    let workload = &resolved.effective;
    let fill = &workload.files.fill;
    let changes = fill.refill == Some(true) || fill.truncate || fill.preallocate;
    if !super::use_of(workload).writes && !changes {
        return Ok(());
    }
    let files = resolved.layout.files.iter();
    for file in files.filter(|file| is_made_elsewhere(file)) {
        safety::check_unused(&file.path, Path::new("/"), &RealProbe)?;
    }
    Ok(())
}

/// The same work on files that another rank has approved, made, marked and filled: here they are
/// looked at as if they were only read. Workers open them as the work asks.
pub(super) fn as_found(resolved: &Resolved) -> Resolved {
    let mut found = resolved.clone();
    let workload = &mut found.effective;
    workload.access.read_percent = Some(Percent(100.0));
    workload.verify.on = false;
    let fill = &mut workload.files.fill;
    (fill.preallocate, fill.truncate, fill.refill) = (false, false, Some(false));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::StartBy;
    use record::GroupAccount;
    use std::time::SystemTime;

    #[test]
    fn a_rank_that_sees_no_other_is_told_whose_a_file_may_be() {
        let start = |size: u32, target_is| CommonStart {
            rank: 0,
            group: GroupAccount {
                size,
                target_is: Some(target_is),
                ..GroupAccount::default()
            },
            fresh_run: 1,
            target_set: None,
            by: StartBy::Clock {
                at: SystemTime::UNIX_EPOCH,
                bound_ns: None,
            },
        };
        let exists = || RunError::io("cannot open", "t")(ErrorKind::AlreadyExists.into());
        let written = || {
            let by = "process 7".to_owned();
            RunError::Refused(Refusal::Written {
                path: "t".into(),
                by,
            })
        };
        let local = start(2, TargetReach::Local);
        for (error, code, what) in [(exists(), 1, "have made it"), (written(), 2, "write it")] {
            let told = beside_unknown(error, Some(&local));
            assert_eq!(told.exit_code(), code, "{told}");
            let wanted = format!(
                "; another rank of this machine may {what}: ranks that are not connected need targets of their own"
            );
            assert!(told.to_string().ends_with(&wanted), "{told}");
        }
        for start in [
            None,
            Some(start(1, TargetReach::Local)),
            Some(start(2, TargetReach::Shared)),
        ] {
            let told = beside_unknown(exists(), start.as_ref()).to_string();
            assert!(!told.contains("another rank"), "{told}");
        }
    }
}
