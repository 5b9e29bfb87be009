//! Content of writes, and verification.

use super::files::Region;
use super::stop::one_pass;
use super::{invalidated, put};
use crate::fio::job::{Checking, Job};
use crate::{DataPattern, Durability, Pace, SpecError, VerifyPattern, VerifyWhen, Workload};
use units::Percent;

pub(super) fn lower(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    if job.writes() {
        buffers(job, workload)?;
    }
    match pattern(job)? {
        None => {}
        Some(pattern) => {
            workload.verify.on = true;
            workload.verify.pattern = pattern;
        }
    }
    if job.verify.kind == Checking::Header {
        let what = if job.writes() {
            "blocks carry Fathom's own header, which tells corrupt, torn, misdirected and stale ones apart"
        } else {
            "blocks must carry Fathom's own header, not fio's"
        };
        job.note("verify", what);
    }
    Ok(())
}

fn buffers(job: &Job, workload: &mut Workload) -> Result<(), SpecError> {
    let buffers = &job.buffers;
    let all_compressible = buffers.compress == Some(100.0);
    // A pattern is stronger than zero_buffers in fio, and fully compressible data are zeros.
    let pattern = match (buffers.pattern, buffers.zero || all_compressible) {
        (Some(0), _) | (None, true) => DataPattern::Zeros,
        (Some(_), _) => DataPattern::Ones,
        (None, false) => DataPattern::Random,
    };
    if pattern == DataPattern::Random
        && buffers.scramble == Some(false)
        && !buffers.refill
        && job.verify.kind == Checking::None
    {
        return job
            .refuse("scramble_buffers", "the same random data in each write are not expressed; write zero_buffers or leave this out");
    }
    workload.writing.pattern = pattern;
    workload.files.fill.pattern = pattern;
    for (option, key, percent) in [
        (
            "buffer_compress_percentage",
            "compress-percent",
            buffers.compress.filter(|_| !all_compressible),
        ),
        ("dedupe_percentage", "dedupe-percent", buffers.dedupe),
    ] {
        let Some(percent) = percent.filter(|percent| *percent > 0.0) else {
            continue;
        };
        if pattern != DataPattern::Random {
            return job.refuse(option, "is beside a pattern that is the same everywhere");
        }
        put(job, workload, option, key, &percent.to_string())?;
    }
    Ok(())
}

/// What a verifying job writes and expects.
fn pattern(job: &Job) -> Result<Option<VerifyPattern>, SpecError> {
    match (job.verify.kind, job.verify.pattern) {
        (Checking::None, _) => Ok(None),
        (Checking::Header, None) => Ok(Some(VerifyPattern::Header)),
        (Checking::Header, Some(_)) => job.refuse(
            "verify_pattern",
            "is for verify=pattern; a header has its own payload",
        ),
        (Checking::Pattern, Some(0)) => Ok(Some(VerifyPattern::Zeros)),
        (Checking::Pattern, Some(_)) => Ok(Some(VerifyPattern::Ones)),
        (Checking::Pattern, None) => {
            job.refuse("verify", "needs verify_pattern=0x00 or verify_pattern=0xff")
        }
    }
}

/// Whether a job of a fixed time writes all of its blocks pass after pass, so that each pass can be
/// read back.
pub(super) fn alternates(job: &Job, region: &Region) -> bool {
    let whole = region.pass.is_none() || region.pass == region.bytes;
    let timed = job.end.time_based && job.end.runtime > 0 && job.end.ramp == 0;
    let checks = job.verify.kind != Checking::None && !job.verify.skip_reading_back;
    timed && checks && job.writes() && one_pass(job) && region.disjoint && whole
}

/// The phase in which fio reads back what a job wrote.
pub(super) fn read_back(
    job: &mut Job,
    region: &Region,
    written: &mut Workload,
) -> Result<Option<Workload>, SpecError> {
    if !written.verify.on || !job.writes() {
        return Ok(None);
    }
    if job.verify.skip_reading_back {
        if !job.reads() {
            written.verify.when = VerifyWhen::Later;
        }
        return Ok(None);
    }
    if alternates(job, region) && written.blocks.0.len() == 1 {
        written.verify.when = VerifyWhen::Passes;
        written.stop.complete = true;
        job.note("verify", "each pass of writes is read back, pass after pass while time is left; one that does not end in time is not");
        return Ok(None);
    }
    if job.end.time_based && job.end.runtime > 0 && job.reads() {
        job.note("verify", "blocks are checked when the mix reads them, and not read back afterwards: the job uses all of its runtime");
        return Ok(None);
    }
    // A mix has read its blocks before, so that all of them have been laid out with the pattern.
    let all_written = written.stop.complete && written.stop.duration.is_none();
    if !all_written && !job.reads() {
        return job.refuse(
            "verify",
            "what was written is read back as a whole, and this job need not write all (runtime, io_size, norandommap, a distribution, \
             or clones that share a file); change that, or write do_verify=0",
        );
    }
    let mut reading = written.clone();
    reading.access.read_percent = Some(Percent(100.0));
    reading.access.no_repeat = false;
    reading.stop = crate::Stop {
        complete: true,
        ..crate::Stop::default()
    };
    reading.pace = Pace {
        rate_iops: None,
        rate_bytes: None,
        ..Workload::default().pace
    };
    reading.durability = Durability {
        open: written.durability.open,
        fsync: 0,
        fdatasync: 0,
        end_fsync: false,
    };
    reading.files.fill.preallocate = false;
    // What is missing has been lost; to write it would hide that.
    reading.files.fill.refill = Some(false);
    reading.cache = invalidated(job);
    Ok(Some(reading))
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{notices, only_workload, parse, refusal, setting};
    use units::Percent;

    #[test]
    fn buffers_are_random_unless_a_job_says_otherwise() {
        for (lines, pattern) in [
            ("", "random"),
            ("refill_buffers", "random"),
            ("scramble_buffers=0\nrefill_buffers=1", "random"),
            ("zero_buffers", "zeros"),
            ("zero_buffers=0", "random"),
            ("zero_buffers\nbuffer_pattern=0xff", "ones"),
            ("buffer_compress_percentage=100", "zeros"),
        ] {
            assert_eq!(
                setting(
                    &format!("[j]\nsize=1m\nrw=write\n{lines}\n"),
                    "write-pattern"
                ),
                pattern,
                "{lines}"
            );
        }
        let workload = only_workload(
            "[j]\nsize=1m\nrw=write\nbuffer_compress_percentage=50\ndedupe_percentage=30\n",
        );
        assert_eq!(
            (workload.writing.compress, workload.writing.dedupe),
            (Some(Percent(50.0)), Some(Percent(30.0)))
        );
    }

    #[test]
    fn data_that_cannot_be_expressed_are_refused() {
        for (line, expected) in [
            (
                "scramble_buffers=0",
                "scramble_buffers=0: the same random data in each write are not expressed; write zero_buffers or leave this out",
            ),
            (
                "buffer_pattern=0xdeadface",
                "buffer_pattern=0xdeadface: Fathom fills blocks with zeros (0x00) or ones (0xff), or with fresh random data, and with no other pattern",
            ),
            (
                "verify=pattern",
                "verify=pattern: needs verify_pattern=0x00 or verify_pattern=0xff",
            ),
            ("verify=null", "verify=null: this only pretends to verify"),
        ] {
            assert_eq!(
                refusal(&format!("[j]\nsize=1m\nrw=write\n{line}\n")),
                format!("job.fio:4: {expected}")
            );
        }
    }

    #[test]
    fn a_verifying_write_is_followed_by_a_phase_that_reads() {
        let jobs =
            parse("[w]\nsize=1m\nrw=randwrite\nverify=crc32c\nfsync=8\nrate_iops=1k\n").unwrap();
        assert_eq!(jobs.stages.len(), 2);
        let (write, read) = (&jobs.stages[0].0[0], &jobs.stages[1].0[0]);
        assert_eq!((write.name.as_str(), read.name.as_str()), ("w", "w/verify"));
        assert_eq!(
            (
                write.workload.access.read_percent,
                read.workload.access.read_percent
            ),
            (Some(Percent(0.0)), Some(Percent(100.0)))
        );
        assert!(write.workload.verify.on && read.workload.verify.on && read.workload.stop.complete);
        assert_eq!(
            (
                read.workload.durability.fsync,
                read.workload.pace.rate_iops,
                read.workload.files.fill.refill
            ),
            (0, None, Some(false))
        );
        assert_eq!(read.workload.seed, write.workload.seed);
    }

    #[test]
    fn what_is_not_written_whole_is_not_read_back() {
        assert_eq!(
            parse("[w]\nsize=1m\nrw=write\nverify=crc32c\ndo_verify=0\n")
                .unwrap()
                .stages
                .len(),
            1
        );
        let timed =
            "[w]\nsize=1m\nrw=write\nverify=pattern\nverify_pattern=0\nruntime=9\ntime_based\n";
        let alternating = "each pass of writes is read back, pass after pass while time is left; one that does not end in time is not";
        assert_eq!(
            notices(timed),
            [format!("job.fio:4: verify=pattern: {alternating}")]
        );
        assert_eq!(setting(timed, "verify-when"), "passes");
        assert_eq!(
            setting(
                "[w]\nsize=1m\nrw=write\nverify=crc32c\ndo_verify=0\n",
                "verify-when"
            ),
            "later"
        );
        let mixed = "[w]\nsize=1m\nrw=randrw\nverify=crc32c\nruntime=9\ntime_based\n";
        assert_eq!(setting(mixed, "verify-when"), "reads");
        let expected = "job.fio:4: verify=md5: what was written is read back as a whole, and this job need not write all (runtime, io_size, \
                        norandommap, a distribution, or clones that share a file); change that, or write do_verify=0";
        for line in [
            "runtime=9",
            "io_size=4k",
            "norandommap",
            "filename=x\nnumjobs=2",
            "norandommap\nruntime=9\ntime_based",
        ] {
            assert_eq!(
                refusal(&format!("[w]\nsize=1m\nrw=randwrite\nverify=md5\n{line}\n")),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_mix_is_checked_while_it_runs_and_afterwards() {
        let jobs = parse("[m]\nsize=1m\nrw=randrw\nverify=md5\n").unwrap();
        assert_eq!(
            jobs.stages
                .iter()
                .map(|s| s.0[0].name.as_str())
                .collect::<Vec<_>>(),
            ["m", "m/verify"]
        );
        assert!(jobs.stages[0].0[0].workload.verify.on);
    }
}
