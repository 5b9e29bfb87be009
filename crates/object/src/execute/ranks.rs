//! What the ranks of a load tell each other.

use super::Setup;
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
        Self::made(plan, context, watch).inspect_err(|error| others_know(context, error))
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

    /// Removes what the setup made, unless it shall stay, at the same time as all other ranks, and
    /// tells the record.
    pub fn remove_with_others(self, context: &Context, record: &mut Record) {
        let bucket = self.remove_objects(record);
        // What others have put into the bucket goes first.
        let _who_is_lost_is_not_waited_for = meet(context);
        bucket.remove(record);
    }
}
