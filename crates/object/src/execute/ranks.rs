//! What the ranks of a load tell each other.

use crate::LoadError;
use host::{Context, PeerFault};

/// Waits until all ranks have come so far.
pub(super) fn meet(context: &Context) -> Result<(), LoadError> {
    let met = context.peers().map_or(Ok(()), |peers| peers.meet(Ok(())));
    Ok(met?)
}

/// What this rank cannot do is said to the others, for they wait.
pub(super) fn others_know(context: &Context, error: &LoadError) {
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
