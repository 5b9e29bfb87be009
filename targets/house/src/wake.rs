//! Waiting until a moment as exactly as the kernel can: the runtime's own timers have a resolution
//! of a millisecond, which a latency that is given on command must not.

use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

/// How long before its moment somebody is woken, and then waits awake: what a kernel takes to wake
/// a thread, which would come on top.
const EARLY: Duration = Duration::from_micros(100);

/// A timer of the kernel with nanoseconds.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[allow(
        deprecated,
        reason = "the replacement is unsafe, for types whose descriptor may change; an OwnedFd's does not"
    )]
    fn new() -> std::io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        Ok(Self(AsyncFd::new(fd)?))
    }

    async fn wait(&self, span: Duration) -> std::io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let it_value = Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(span.subsec_nanos()),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value,
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        let mut ready = self.0.readable().await?;
        let mut count = [0; 8];
        let _how_often = rustix::io::read(self.0.get_ref(), &mut count);
        ready.clear_ready();
        Ok(())
    }
}

/// By what somebody who waits is woken.
#[derive(Clone)]
pub struct Wakes {
    /// Timers that nobody waits for; `None` where the runtime wakes, whose clock a test can turn.
    idle: Option<Arc<Mutex<Vec<Timer>>>>,
}

/// A wait that can be part of a body.
pub(crate) type Wait = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

impl Wakes {
    pub fn of_kernel() -> Self {
        Self {
            idle: Some(Arc::default()),
        }
    }

    pub fn of_runtime() -> Self {
        Self { idle: None }
    }

    /// Ends at this moment, never before.
    pub(crate) async fn until(self, moment: Instant) {
        let timer = self.idle.as_ref().and_then(|idle| {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            kept.or_else(|| Timer::new().ok())
        });
        // Where there is no timer to be had, later than asked is all that is left.
        let (Some(timer), Some(idle)) = (timer, self.idle) else {
            return sleep_until(moment).await;
        };
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match left.checked_sub(EARLY).filter(|span| !span.is_zero()) {
                Some(span) if timer.wait(span).await.is_err() => return sleep_until(moment).await,
                Some(_) => {}
                // Others have their turn, and then the clock is looked at again.
                None => yield_now().await,
            }
        }
        idle.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(timer);
    }

    /// The same as a part of a body.
    pub(crate) fn wait(&self, moment: Instant) -> Wait {
        Box::pin(self.clone().until(moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_is_woken_early_and_the_punctual_are_not_late() {
        let wakes = Wakes::of_kernel();
        for span in [
            Duration::from_micros(100),
            Duration::from_millis(1),
            Duration::from_micros(5300),
        ] {
            let mut least_late = Duration::MAX;
            for _ in 0..50 {
                let moment = Instant::now() + span;
                wakes.clone().until(moment).await;
                let now = Instant::now();
                assert!(now >= moment, "{:?} too early", moment - now);
                least_late = least_late.min(now - moment);
            }
            // A busy machine makes many of them late, but not each of fifty.
            assert!(
                least_late < Duration::from_micros(100),
                "{span:?}: the most punctual was {least_late:?} late"
            );
        }
        assert_eq!(
            wakes.idle.unwrap().lock().unwrap().len(),
            1,
            "one after the other they need one timer"
        );
    }
}
