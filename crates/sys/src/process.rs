//! Threads, limits and time.

use crate::checked;
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub(crate) fn monotonic_raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// How long the machine has been suspended since it was booted: `CLOCK_BOOTTIME` counts that,
/// `CLOCK_MONOTONIC` does not. `None` where this thread lost its CPU between the readings again and
/// again, so that they are not of one moment.
pub(crate) fn suspended_ns() -> Option<u64> {
    const ONE_MOMENT_NS: u64 = 10_000_000;
    (0..8).find_map(|_| {
        let before = monotonic_ns();
        let boot = clock_ns(libc::CLOCK_BOOTTIME);
        (monotonic_ns() - before < ONE_MOMENT_NS).then(|| boot.saturating_sub(before))
    })
}

#[inline]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn duration(time: libc::timespec) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// The reading of the clock that stamps files, since 1970: it stands still between the ticks of the
/// kernel.
pub(crate) fn file_clock() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    duration(time)
}

/// Time between two ticks of [`file_clock`].
pub(crate) fn file_clock_tick() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    duration(time)
}

/// What the kernel says of the clock of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClockState {
    /// Something keeps it in step with others.
    pub is_synchronised: bool,
    /// By how much it may differ from the true time, as whoever keeps it in step bounds it.
    pub most_error_ns: u64,
}

/// Asks the kernel how far the clock of the day can be trusted.
///
/// # Errors
/// The kernel does not say.
pub fn wall_clock_state() -> io::Result<WallClockState> {
    // SAFETY: zero is a value of every field, and no mode asks for a change.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel reads and writes one timex.
    let answer = checked(libc::c_long::from(unsafe {
        libc::adjtimex(&raw mut state)
    }))?;
    let is_adrift =
        answer == libc::c_long::from(libc::TIME_ERROR) || state.status & libc::STA_UNSYNC != 0;
    Ok(WallClockState {
        is_synchronised: !is_adrift,
        most_error_ns: u64::try_from(state.maxerror)
            .unwrap_or(0)
            .saturating_mul(1000),
    })
}

/// Sleeps once; a signal ends it early.
pub(crate) fn sleep_ns(ns: u64) {
    let time = libc::timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    };
    // SAFETY: reads one timespec.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            0,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// Sleeps of this thread end on time until it is dropped (timer slack of 1 ns instead of 50 µs). A
/// thread that is started meanwhile inherits that, and what polls in it polls that much more often.
#[derive(Debug)]
#[must_use = "sleeps are as before once it is dropped"]
pub struct PreciseSleeps {
    slack_before: libc::c_ulong,
    /// The slack is the thread's own.
    stays: PhantomData<*const ()>,
}

/// Asks for sleeps of this thread to end on time.
pub fn precise_sleeps() -> PreciseSleeps {
    // SAFETY: no memory is passed; failure leaves what is.
    let before = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    set_slack(1);
    PreciseSleeps {
        // 0 asks for the thread's default.
        slack_before: libc::c_ulong::try_from(before).unwrap_or(0),
        stays: PhantomData,
    }
}

impl Drop for PreciseSleeps {
    fn drop(&mut self) {
        set_slack(self.slack_before);
    }
}

fn set_slack(slack_ns: libc::c_ulong) {
    // SAFETY: no memory is passed; failure leaves what is.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

/// Has the calling thread run before all ordinary ones (`SCHED_RR`, the lowest real-time priority);
/// threads that it starts are ordinary.
///
/// # Errors
/// The right to it is missing: `CAP_SYS_NICE`, or a limit of the real-time priority of 1 or more.
pub fn run_before_others() -> io::Result<()> {
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    let priority: libc::c_int = 1;
    // The call itself: the function of musl says that there is none.
    // SAFETY: the kernel reads one number.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) })
        .map(drop)
}

/// Ends the process without asking anybody in it: what waits for its end may wait for ever.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: the process is gone when this is done.
    unsafe { libc::_exit(code) }
}

/// Whether this process may do what only the superuser may.
#[must_use]
pub fn is_root() -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::geteuid() == 0 }
}

/// Kernel id of the calling thread.
#[must_use]
pub fn thread_id() -> u32 {
    // SAFETY: no memory is passed.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// Binds the calling thread to these CPUs.
///
/// # Errors
/// None of them exists or is allowed.
pub fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    // SAFETY: an all-zero set is valid and empty.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if (cpu as usize) < 8 * size_of::<libc::cpu_set_t>() {
            // SAFETY: the index was checked.
            unsafe { libc::CPU_SET(cpu as usize, &mut set) };
        }
    }
    // SAFETY: the set is as long as said.
    checked(libc::c_long::from(unsafe {
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    }))
    .map(drop)
}

/// The limit of open files that this process was started with, once it was raised.
static LIMIT_BEFORE: OnceLock<libc::rlimit> = OnceLock::new();

/// Raises the limit of open files to what the system allows, and returns it.
#[must_use]
pub fn raise_file_limit() -> u64 {
    let found = file_limit();
    if found.rlim_cur < found.rlim_max {
        LIMIT_BEFORE.get_or_init(|| found);
        let raised = libc::rlimit {
            rlim_cur: found.rlim_max,
            ..found
        };
        // SAFETY: reads one rlimit; failure leaves the limit as it was.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    }
    file_limit().rlim_cur
}

fn file_limit() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes one rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit
}

/// Has a program begin with the limit of open files that this process was started with.
pub fn with_limits_before(command: &mut Command) {
    let Some(before) = LIMIT_BEFORE.get() else {
        return;
    };
    let lower = move || {
        // SAFETY: reads one rlimit, and may be called between fork and exec.
        let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const *before) };
        checked(libc::c_long::from(done)).map(drop)
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(lower) };
}

/// CPU time, faults and switches, as `getrusage` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub max_resident_kib: u64,
}

impl Usage {
    /// The growth since `earlier`; the largest size is the present one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            max_resident_kib: self.max_resident_kib,
        }
    }
}

impl Usage {
    /// What this and another thread used.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            max_resident_kib: self.max_resident_kib.max(other.max_resident_kib),
        }
    }
}

fn usage(who: libc::c_int) -> Usage {
    // SAFETY: an all-zero rusage is valid, and the kernel fills it.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is valid for the call.
    unsafe { libc::getrusage(who, &raw mut raw) };
    of_account(&raw)
}

/// What an account of the kernel says.
pub(crate) fn of_account(raw: &libc::rusage) -> Usage {
    let ns = |t: libc::timeval| {
        u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(t.tv_usec).unwrap_or(0) * 1000
    };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    Usage {
        user_ns: ns(raw.ru_utime),
        system_ns: ns(raw.ru_stime),
        minor_faults: count(raw.ru_minflt),
        major_faults: count(raw.ru_majflt),
        voluntary_switches: count(raw.ru_nvcsw),
        involuntary_switches: count(raw.ru_nivcsw),
        max_resident_kib: count(raw.ru_maxrss),
    }
}

/// Use of the calling thread so far.
#[must_use]
pub fn usage_of_thread() -> Usage {
    usage(libc::RUSAGE_THREAD)
}

/// CPU time of a thread of this process; `None` where it has ended.
#[must_use]
pub fn cpu_of_thread(id: u32) -> Option<u64> {
    // A clock id made of a thread's number, as the kernel's MAKE_THREAD_CPUCLOCK does: 6 is the
    // scheduler's clock of one thread.
    let clock = (!i32::try_from(id).ok()? << 3) | 6;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let ns = duration(time).as_nanos();
    (answer == 0).then(|| u64::try_from(ns).unwrap_or(u64::MAX))
}

/// 128 bits of the kernel's randomness.
///
/// # Panics
/// The kernel has none, which it never says of so few bytes once it has started.
#[must_use]
pub fn random_bits() -> u128 {
    let mut bytes = [0_u8; 16];
    // SAFETY: the kernel writes as many bytes as the buffer is long.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert!(got == 16, "the kernel gives 16 random bytes at once");
    u128::from_ne_bytes(bytes)
}

/// Use of the whole process so far, io_uring's kernel workers included.
#[must_use]
pub fn usage_of_process() -> Usage {
    usage(libc::RUSAGE_SELF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_cpu_time_grows_until_it_ends() {
        let own = thread_id();
        let before = cpu_of_thread(own).unwrap();
        while cpu_of_thread(own).unwrap() == before {}
        let other = std::thread::spawn(thread_id).join().unwrap();
        assert_ne!(other, own);
        assert_eq!(cpu_of_thread(u32::MAX), None);
    }

    #[test]
    fn random_bits_differ() {
        assert_ne!(random_bits(), random_bits());
    }
}
