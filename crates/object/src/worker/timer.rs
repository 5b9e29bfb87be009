use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A timer of the kernel with nanoseconds.
pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[allow(
        deprecated,
        reason = "the replacement is unsafe, for types whose descriptor may change; an OwnedFd's does not"
    )]
    pub(super) fn new() -> std::io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        Ok(Self(AsyncFd::new(fd)?))
    }

    pub(super) async fn wait(&self, ns: u64) {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let it_value = Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value,
        };
        if timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once).is_err() {
            return;
        }
        if let Ok(mut ready) = self.0.readable().await {
            let mut count = [0; 8];
            let _how_often = rustix::io::read(self.0.get_ref(), &mut count);
            ready.clear_ready();
        }
    }
}
