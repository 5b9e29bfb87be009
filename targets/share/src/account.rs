//! What this server says of itself on the pages that every target has.

use crate::store::{ShareStore, StoreCounts};
use house::{About, Counter, described};
use std::sync::Arc;

/// One server's account.
pub(crate) struct ShareAccount {
    pub(crate) store: Arc<ShareStore>,
}

impl About for ShareAccount {
    fn check(&self) -> Result<(), String> {
        let outcome = self.store.check().map_err(|error| described(&error))?;
        outcome.map_err(str::to_owned)
    }

    fn counters(&self) -> Vec<Counter> {
        let StoreCounts {
            commits,
            syncs,
            bytes_in,
            bytes_out,
            removed,
        } = self.store.counts();
        vec![
            ("storage_commits_total", commits),
            ("storage_syncs_total", syncs),
            ("storage_bytes_in_total", bytes_in),
            ("storage_bytes_out_total", bytes_out),
            ("storage_bodies_removed_total", removed),
        ]
    }

    /// The owner is known by a slow hash, which the site asks for itself.
    fn is_admin_secret(&self, _: &str) -> bool {
        false
    }
}
