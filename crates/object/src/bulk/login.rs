//! Logging in, before a load.

use super::{Bulk, interrupted, patiently};
use crate::LoadError;
use crate::client::Client;
use crate::verbs::Call;
use tokio::task::LocalSet;

impl Bulk {
    /// Logs in at a share, once for all that the load does there.
    ///
    /// # Errors
    /// The share does not know the secret, or is none.
    pub(crate) fn log_in(&self, secret: &str) -> Result<(), LoadError> {
        let thread = self.thread(Call::Head);
        let cookie = LocalSet::new().block_on(&self.runtime, async {
            patiently(Client::new(&thread, 0).log_in(secret)).await
        });
        let cookie = cookie.ok_or_else(interrupted)?;
        let cookie = cookie.map_err(|failure| {
            let what = failure.what;
            LoadError::Asked(format!(
                "the share refuses the login: {what}; check PS_SHARED_SECRET"
            ))
        })?;
        // Nobody else logs in.
        let _first = self.settings.cookie.set(cookie);
        Ok(())
    }
}
