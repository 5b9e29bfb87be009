//! When a job ends.
//!
//! In fio each clone ends when it has moved `size` bytes, or `io_size`, or at `runtime`, whichever
//! is first; `time_based` leaves `runtime` alone. A pass over random blocks takes each once, unless
//! `norandommap` or a distribution other than uniform is given.

use super::files::Region;
use super::{data, put};
use crate::fio::job::{Checking, Distribution, Job, Tolerated};
use crate::fio::names::FioDirection;
use crate::{SpecError, Workload};
use units::{Bytes, Nanos};

pub(super) fn lower(
    job: &mut Job,
    region: &Region,
    workload: &mut Workload,
) -> Result<(), SpecError> {
    workload.stop.warmup = Nanos(job.end.ramp);
    workload.stop.duration = (job.end.runtime > 0).then_some(Nanos(job.end.runtime));
    workload.continue_on_error = goes_on(job)?;
    if job.end.time_based && job.end.runtime > 0 {
        return time_based(job, region, workload);
    }
    if job.end.time_based {
        job.note(
            "time_based",
            "without effect where no runtime is given, as in fio",
        );
    }
    match bytes_of_a_clone(job, region, workload)? {
        None if completes(job, workload) && region.disjoint => workload.stop.complete = true,
        None if workload.stop.duration.is_some() => {
            job.note(
                "runtime",
                "ends the job alone; fio also ends a clone that has moved as many bytes as the target has (write size= for that)",
            );
        }
        None => {
            return job.refuse(
                "size",
                "must be written to say when the job ends, or else time_based with a runtime",
            );
        }
        Some(bytes)
            if Some(bytes) == region.bytes && completes(job, workload) && region.disjoint =>
        {
            workload.stop.complete = true
        }
        Some(bytes) => {
            let all = bytes
                .checked_mul(u64::from(job.order.clones))
                .and_then(|all| all.checked_mul(job.end.loops.max(1)))
                .map(Bytes);
            let all =
                all.map_or_else(|| job.refuse("size", "is beyond 16 EiB for all clones"), Ok)?;
            put(job, workload, "size", "total-bytes", &all.exact())?;
            random_map(job, workload);
        }
    }
    if job.end.loops > 1 && job.verify.kind != Checking::None {
        return job.refuse(
            "loops",
            "is beside verify, which reads back once, at the end; leave one of them out",
        );
    }
    Ok(())
}

/// A job that nothing but time ends.
fn time_based(job: &mut Job, region: &Region, workload: &mut Workload) -> Result<(), SpecError> {
    for (option, given) in [
        ("loops", job.end.loops > 1),
        ("number_ios", job.end.number_ios > 0),
        ("io_size", job.end.io_size.is_some()),
    ] {
        if given {
            job.note(option, "without effect on a time_based job, as in fio");
        }
    }
    // What is read back pass after pass is a row of complete passes.
    if !data::alternates(job, region) || workload.blocks.0.len() > 1 {
        random_map(job, workload);
    }
    Ok(())
}

/// No block again before the pass over all is complete, then another pass; also over reads and
/// writes of a mix, and for each clone.
fn random_map(job: &mut Job, workload: &mut Workload) {
    if !job.pattern.random || !takes_each_once(job) {
        return;
    }
    if workload.blocks.0.len() > 1 {
        job.note("norandommap", "not given: fio takes no byte again before the pass over all is complete, and shortens blocks for that; Fathom keeps the shares of the sizes and draws each place anew");
    } else {
        workload.access.no_repeat = true;
    }
}

/// Uniform random without a map, and sequential, use each block once a pass.
fn takes_each_once(job: &Job) -> bool {
    !job.pattern.random
        || (job.pattern.distribution == Distribution::Uniform && !job.pattern.no_random_map)
}

/// Whether `every block once` is what one pass of the job does: in a mix fio takes each block for a
/// read or for a write, not for both.
pub(super) fn one_pass(job: &Job) -> bool {
    takes_each_once(job) && job.pattern.direction != FioDirection::Mixed
}

/// Whether one pass is all that the job does.
fn completes(job: &Job, workload: &Workload) -> bool {
    let once = job.end.loops <= 1 && job.end.ramp == 0 && workload.files.regions.is_none();
    once && one_pass(job) && workload.blocks.0.len() == 1
}

fn bytes_of_a_clone(
    job: &Job,
    region: &Region,
    workload: &Workload,
) -> Result<Option<u64>, SpecError> {
    let bytes = job.end.io_size.filter(|bytes| *bytes > 0).or(region.pass);
    if job.end.number_ios == 0 {
        return Ok(bytes);
    }
    let [(block, _)] = workload.blocks.0.as_slice() else {
        return job.refuse(
            "number_ios",
            "is not a number of bytes where blocks differ in size; write io_size",
        );
    };
    match job.end.number_ios.checked_mul(block.0) {
        Some(limit) => Ok(Some(bytes.map_or(limit, |bytes| bytes.min(limit)))),
        None => job.refuse("number_ios", "is beyond 16 EiB"),
    }
}

fn goes_on(job: &Job) -> Result<bool, SpecError> {
    match (job.end.goes_on_after, job.pattern.direction) {
        (Tolerated::None, _) => Ok(false),
        (Tolerated::All, _)
        | (Tolerated::Reads, FioDirection::Read)
        | (Tolerated::Writes, FioDirection::Write) => Ok(true),
        (Tolerated::Reads | Tolerated::Writes, _) => job.refuse(
            "continue_on_error",
            "the job goes on after failed operations of both kinds, or of none",
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{only_workload, refusal};
    use units::{Bytes, Nanos};

    /// duration in seconds, completion, total bytes.
    fn end(lines: &str) -> (Option<u64>, bool, Option<u64>) {
        let stop = only_workload(&format!("[j]\n{lines}\n")).stop;
        (
            stop.duration.map(|Nanos(n)| n / 1_000_000_000),
            stop.complete,
            stop.total_bytes.map(|Bytes(b)| b),
        )
    }

    #[test]
    fn a_job_ends_as_in_fio() {
        const MIB: u64 = 1 << 20;
        for (lines, expected) in [
            ("size=1m", (None, true, None)),
            ("filename=x\nrw=randread", (None, true, None)),
            ("size=1m\nrw=randread\nruntime=10", (Some(10), true, None)),
            (
                "size=1m\nrw=randread\nruntime=5m\ntime_based",
                (Some(300), false, None),
            ),
            ("size=1m\ntime_based", (None, true, None)),
            ("size=1m\ntime_based=0\nruntime=10s", (Some(10), true, None)),
            (
                "size=1m\nrw=randread\nnorandommap",
                (None, false, Some(MIB)),
            ),
            (
                "size=1m\nrw=randread\nrandom_distribution=zipf:1.2",
                (None, false, Some(MIB)),
            ),
            ("size=1m\nrw=randrw", (None, false, Some(MIB))),
            ("size=1m\nfilesize=4m", (None, false, Some(MIB))),
            ("size=8m\nfilesize=4m", (None, true, None)),
            ("size=1m\nio_size=3m", (None, false, Some(3 * MIB))),
            ("size=1m\nnumber_ios=10", (None, false, Some(40_960))),
            ("size=1m\nnumber_ios=10000", (None, true, None)),
            ("size=1m\nnumjobs=4", (None, true, None)),
            (
                "size=1m\nfilename=x\nnumjobs=4",
                (None, false, Some(4 * MIB)),
            ),
            (
                "size=1m\nfilename=x\nnumjobs=4\noffset_increment=1m",
                (None, true, None),
            ),
            (
                "filename=x\nnumjobs=4\nruntime=10",
                (Some(10), false, Some(4096 * MIB)),
            ),
            ("size=1m\nloops=3", (None, false, Some(3 * MIB))),
            ("size=1m\nramp_time=2", (None, false, Some(MIB))),
            (
                "size=1m\nrw=randread\nbssplit=4k/50:8k/50",
                (None, false, Some(MIB)),
            ),
            (
                "size=2m\nfilename=x\nnumjobs=4\noffset_increment=512k",
                (None, false, Some(8 * MIB)),
            ),
            ("size=100k\nnrfiles=3\nnumber_ios=99", (None, true, None)),
            (
                "size=1m\nio_size=2m\nruntime=10\ntime_based",
                (Some(10), false, None),
            ),
        ] {
            assert_eq!(end(lines), expected, "{lines}");
        }
    }

    #[test]
    fn an_end_that_is_not_known_is_refused() {
        assert_eq!(
            refusal("[j]\nsize=1m\nbssplit=4k/50:8k/50\nnumber_ios=4\n"),
            "job.fio:4: number_ios=4: is not a number of bytes where blocks differ in size; write io_size"
        );
        assert_eq!(
            refusal("[j]\nsize=1m\nrw=rw\ncontinue_on_error=read\n"),
            "job.fio:4: continue_on_error=read: the job goes on after failed operations of both kinds, or of none"
        );
    }

    #[test]
    fn no_block_comes_again_before_the_pass_is_over_wherever_fio_keeps_a_map() {
        for (lines, rounds) in [
            ("rw=randrw", true),
            ("rw=randread\nruntime=9\ntime_based", true),
            ("rw=randwrite\nfilename=x\nnumjobs=4", true),
            ("rw=randread\nloops=2", true),
            ("rw=randread\nrate_iops=100\nruntime=9\ntime_based", true),
            ("rw=randrw\nnorandommap", false),
            (
                "rw=randread\nruntime=9\ntime_based\nrandom_distribution=zipf",
                false,
            ),
            ("rw=randread\nbssplit=4k/50:8k/50", false),
            ("rw=read\nruntime=9\ntime_based", false),
            ("rw=randread", false),
        ] {
            assert_eq!(
                only_workload(&format!("[j]\nsize=1m\n{lines}\n"))
                    .access
                    .no_repeat,
                rounds,
                "{lines}"
            );
        }
        assert!(
            only_workload("[j]\nsize=1m\nrw=randread\n").stop.complete,
            "a single pass is a complete run"
        );
    }

    #[test]
    fn warm_up_and_tolerance_are_kept() {
        let workload = only_workload("[j]\nsize=1m\nramp_time=5\ncontinue_on_error=io\n");
        assert_eq!(
            (
                workload.stop.warmup,
                workload.continue_on_error,
                workload.max_errors
            ),
            (Nanos(5_000_000_000), true, 0)
        );
    }
}
