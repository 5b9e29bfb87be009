//! What the ranks of a load tell each other.

use super::Setup;
use super::removal::BucketPatience;
use crate::LoadError;
use crate::plan::LoadPlan;
use host::{Context, PeerFault, Peers, Watch};
use record::Record;

/// Waits until all ranks have come so far.
pub(super) fn meet(context: &Context) -> Result<(), LoadError> {
    let met = context.peers().map_or(Ok(()), |peers| peers.meet(Ok(())));
    Ok(met?)
}

/// Whether the others do not begin what this rank makes objects for.
pub(super) fn is_ended_by_others(context: &Context) -> bool {
    context.peers().is_some_and(Peers::is_halted)
}

/// Why they do not, which they say where they would have begun.
pub(super) fn why_others_ended(context: &Context) -> LoadError {
    let ended = PeerFault::lost("other ranks ended before all that the load needs was made");
    meet(context).err().unwrap_or_else(|| ended.into())
}

/// What this rank cannot do is said to the others, for they wait.
fn others_know(context: &Context, error: &LoadError) {
    if let Some(peers) = context.peers()
        && !matches!(error, LoadError::Group(_))
    {
        let fault = PeerFault {
            text: error.to_string(),
            exit_code: error.exit_code(),
        };
        let _they_know_it = peers.meet(Err(fault));
    }
}

/// When all ranks begin, where there are others.
pub(super) fn common_start(context: &Context) -> Result<Option<u64>, LoadError> {
    let Some(peers) = context.peers() else {
        return Ok(None);
    };
    peers.meet(Ok(()))?;
    Ok(Some(peers.start()?))
}

/// What ranks could not remove, each under its number; of those that do not come any more nothing
/// is known.
fn left_by_all(peers: &dyn Peers, own: &[String]) -> Vec<String> {
    let told = peers.confer(own.join("; "), &mut |all| {
        let ranks = all.iter().enumerate();
        let left = ranks.filter(|(_, left)| !left.is_empty());
        let left: Vec<String> = left
            .map(|(rank, left)| format!("rank {rank}: {left}"))
            .collect();
        left.join("; ")
    });
    match told {
        Ok(told) => Some(told)
            .into_iter()
            .filter(|told| !told.is_empty())
            .collect(),
        Err(_) => own.to_vec(),
    }
}

/// Whatever one rank cannot do the others hear of at their next meeting, which all have as often.
impl Setup {
    /// Looks the servers up, and makes what the plan needs on them.
    ///
    /// # Errors
    /// What was asked makes no sense, the target is not there, or a signal came.
    pub fn make(
        plan: &LoadPlan,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Self, LoadError> {
        let found = Self::found(plan, context);
        let mut setup = found.inspect_err(|error| others_know(context, error))?;
        match setup.fill(plan, context, watch) {
            Ok(()) => Ok(setup),
            Err(error) => Err(setup.given_up_with(context, error, others_know)),
        }
    }

    /// The same, where what one rank cannot make none begins with: each says what any of them has left.
    ///
    /// # Errors
    /// As there, on all ranks.
    pub fn make_with_others(
        plan: &LoadPlan,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Self, LoadError> {
        let setup = Self::make(plan, context, watch)?;
        match meet(context) {
            Ok(()) => Ok(setup),
            Err(error) => Err(setup.given_up(context, error)),
        }
    }

    /// One load, and the removal of what its users made. What an earlier one has deleted of the
    /// setup's objects is made again before.
    ///
    /// # Errors
    /// The plan makes no sense, or what was deleted cannot be made again.
    pub fn run(
        &mut self,
        plan: &LoadPlan,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, LoadError> {
        let record = self.ran(plan, context, watch);
        match &record {
            Err(error) if !error.comes_after_the_start() => others_know(context, error),
            Err(_) => {
                // Fewer ranks are another load: what the others began is ended.
                context.peers().into_iter().for_each(Peers::halt);
                let _who_is_lost_is_not_waited_for = meet(context);
            }
            Ok(_) => {
                let _who_is_lost_is_not_waited_for = meet(context);
            }
        }
        record
    }

    /// Removes what the setup made where no rank begins, which all of them know or hear from
    /// `first`, and puts into the error what any of them could not remove: of the errors of
    /// several ranks people read one.
    pub(super) fn given_up_with(
        self,
        context: &Context,
        error: LoadError,
        first: impl FnOnce(&Context, &LoadError),
    ) -> LoadError {
        let mut own = Record::default();
        let bucket = self.remove_objects(&mut own);
        first(context, &error);
        let met = meet(context);
        bucket.remove(&mut own, BucketPatience::None);
        let left = match (met, context.peers()) {
            (Ok(()), Some(peers)) => left_by_all(peers, &own.notes()),
            (Ok(()), None) | (Err(_), _) => own.notes(),
        };
        error.with_left(&left)
    }

    /// The same where all know it.
    pub(super) fn given_up(self, context: &Context, error: LoadError) -> LoadError {
        self.given_up_with(context, error, |_, _| ())
    }

    /// Removes what the setup made, unless it shall stay, at the same time as all other ranks, and
    /// tells the record.
    pub fn remove_with_others(self, context: &Context, record: &mut Record) {
        let bucket = self.remove_objects(record);
        // What others have put into the bucket goes first.
        let _who_is_lost_is_not_waited_for = meet(context);
        bucket.remove(record, BucketPatience::None);
    }
}
