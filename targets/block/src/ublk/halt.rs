//! Why a device is served no longer, and waiting that hears of it.

use super::error::UblkError;
use super::server::wait_readable;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub(super) const MOMENT: Duration = Duration::from_millis(10);

/// Why a supervisor does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// A signal came, or somebody else stopped the device.
    Asked,
    Failed(UblkError),
}

impl From<UblkError> for Halt {
    fn from(error: UblkError) -> Self {
        Self::Failed(error)
    }
}

/// Waits a moment, unless a signal comes first.
pub(super) fn moment(end: &OwnedFd) -> Result<(), Halt> {
    if has_come(end, MOMENT)? {
        return Err(Halt::Asked);
    }
    Ok(())
}

/// Whether a signal comes within so long.
pub(super) fn has_come(end: &OwnedFd, limit: Duration) -> Result<bool, UblkError> {
    wait_readable([end, end], Some(limit))
        .map(|[signal, _]| signal)
        .map_err(UblkError::system("wait for signals"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn whoever_waits_is_told_of_a_signal_and_of_nothing_else() {
        let (read, mut write) = std::io::pipe().unwrap();
        let end = OwnedFd::from(read);
        assert!(moment(&end).is_ok());
        write.write_all(&[1]).unwrap();
        assert!(matches!(moment(&end), Err(Halt::Asked)));
        assert!(has_come(&end, Duration::ZERO).unwrap());
    }
}
