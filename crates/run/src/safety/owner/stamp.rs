//! Times of files, as marks keep them.

use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

/// A file time: seconds since 1970 and nanoseconds within the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    pub seconds: i64,
    pub nanoseconds: i64,
}

impl Stamp {
    /// The time on the clock of files.
    pub(super) fn present() -> Self {
        let since = sys::clock::file_time()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Stamp {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: i64::from(since.subsec_nanos()),
        }
    }

    pub(super) fn after(self, wait: Duration) -> Self {
        let nanoseconds = self
            .nanoseconds
            .saturating_add(i64::from(wait.subsec_nanos()));
        Stamp {
            seconds: self.seconds.saturating_add(nanoseconds / 1_000_000_000),
            nanoseconds: nanoseconds % 1_000_000_000,
        }
    }
}
