//! Rates and pauses. In fio they are those of each clone; in Fathom a rate is that of all workers
//! together.

use super::put;
use crate::fio::job::Job;
use crate::fio::names::FioDirection;
use crate::fio::value::PerDirection;
use crate::{Arrival, SpecError, ThinkMode, Workload};
use units::lossless::u64_to_f64;
use units::{ByteRate, Nanos, Rate};

pub(super) fn lower(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    let bytes = total(job, "rate", job.pace.rate)?;
    let operations = total(job, "rate_iops", job.pace.rate_iops)?;
    if bytes.is_some() && operations.is_some() {
        return job.refuse(
            "rate_iops",
            "is beside rate, which fio does not take either",
        );
    }
    if let Some(option) = bytes.map(|_| "rate").or(operations.map(|_| "rate_iops")) {
        job.note(option, "operations have a schedule, and latency counts from the intended start; in fio it counts from the actual one");
        if job.order.clones > 1 {
            job.note(option, format!("is the rate of each clone in fio; all {} workers together have it so many times", job.order.clones));
        }
    }
    workload.pace.rate_bytes = bytes.map(ByteRate);
    workload.pace.rate_iops = operations.map(Rate);
    if job.pace.poisson {
        workload.pace.arrival = Arrival::Poisson;
    }
    think(job, workload)
}

/// The rate of all clones and both directions.
fn total(job: &Job, option: &str, rate: PerDirection<u64>) -> Result<Option<f64>, SpecError> {
    let [reads, writes] = rate.map(|rate| rate.filter(|rate| *rate > 0).map(u64_to_f64));
    let one = match job.pattern.direction {
        FioDirection::Read => reads,
        FioDirection::Write => writes,
        FioDirection::Mixed => match (reads, writes) {
            (None, None) => None,
            (Some(reads), Some(writes)) => Some(mixed(job, option, reads, writes)?),
            (Some(_), None) | (None, Some(_)) => {
                return job.refuse(
                    option,
                    "limits one direction of a mix; write both, or a job for each",
                );
            }
        },
    };
    Ok(one.map(|rate| rate * f64::from(job.order.clones)))
}

/// Measured: where reads and writes each have a rate, fio keeps both whatever the mix says.
fn mixed(job: &Job, option: &str, reads: f64, writes: f64) -> Result<f64, SpecError> {
    let both = reads + writes;
    let share = 100.0 * reads / both;
    if (share - job.pattern.mix).abs() < 0.5 {
        return Ok(both);
    }
    let mix = job.pattern.mix;
    job.refuse(
        option,
        format!(
            "fio would keep {reads} a second for reads and {writes} for writes, {share:.0} % reads, against the {mix} % of the mix; \
             write the rates as reads,writes in the proportion of rwmixread"
        ),
    )
}

fn think(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    let (time, spin) = (job.pace.think, job.pace.think_spin);
    if time == 0 {
        return Ok(());
    }
    workload.pace.think.time = Nanos(time);
    workload.pace.think.mode = match spin {
        0 => ThinkMode::Sleep,
        spin if spin >= time => ThinkMode::Spin,
        _ => {
            return job.refuse(
                "thinktime_spin",
                "a pause is spent asleep or spinning as a whole; write 0 or the thinktime",
            );
        }
    };
    match job.pace.think_blocks {
        None => Ok(()),
        Some(blocks) => put(
            job,
            workload,
            "thinktime_blocks",
            "think-every",
            &blocks.to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{refusal, refused_line, setting};

    #[test]
    fn rates_are_those_of_all_clones_and_both_directions() {
        for (lines, key, expected) in [
            ("rate_iops=1000", "rate-iops", "1000"),
            ("rate_iops=1000\nnumjobs=4", "rate-iops", "4000"),
            ("rate_iops=1000,500", "rate-iops", "1000"),
            ("rate_iops=1000,500\nrw=write", "rate-iops", "500"),
            (
                "rate_iops=700,300\nrw=randrw\nrwmixread=70",
                "rate-iops",
                "1000",
            ),
            ("rate=1m\nrw=rw", "rate-bytes", "2097152"),
            ("rate=1m\nkb_base=1000", "rate-bytes", "1000000"),
            ("rate=1m\nrate_process=poisson", "arrival", "poisson"),
        ] {
            assert_eq!(
                setting(&format!("[j]\nsize=1m\n{lines}\n"), key),
                expected,
                "{lines}"
            );
        }
    }

    #[test]
    fn rates_that_contradict_one_another_are_refused() {
        assert_eq!(
            refusal("[j]\nrate_iops=1000\nrw=randrw\nrwmixread=70\nsize=1m\n"),
            "job.fio:2: rate_iops=1000: fio would keep 1000 a second for reads and 1000 for writes, 50 % reads, against the 70 % of the mix; \
             write the rates as reads,writes in the proportion of rwmixread"
        );
        assert_eq!(
            refusal("[j]\nrate=1m,\nrw=rw\nsize=1m\n"),
            "job.fio:2: rate=1m,: limits one direction of a mix; write both, or a job for each"
        );
        assert_eq!(
            refusal("[j]\nsize=1m\nrate=1m\nrate_iops=7\n"),
            "job.fio:4: rate_iops=7: is beside rate, which fio does not take either"
        );
    }

    #[test]
    fn a_bare_pause_is_microseconds_and_is_slept_or_spun() {
        let text = "[j]\nsize=1m\nthinktime=50\nthinktime_blocks=4\n";
        assert_eq!(
            (
                setting(text, "think-time"),
                setting(text, "think-every"),
                setting(text, "think-mode")
            ),
            ("50us".into(), "4".into(), "sleep".into())
        );
        assert_eq!(
            setting(
                "[j]\nsize=1m\nthinktime=2ms\nthinktime_spin=2000\n",
                "think-mode"
            ),
            "spin"
        );
        assert_eq!(
            refusal("[j]\nsize=1m\nthinktime=50\nthinktime_spin=10\n"),
            "job.fio:4: thinktime_spin=10: a pause is spent asleep or spinning as a whole; write 0 or the thinktime"
        );
        assert_eq!(
            refused_line("thinktime=5x"),
            "thinktime=5x: `5x` ends in `x`, which is no unit of a time as fio writes it (d h m s sec ms msec us usec); write for example 30s, 500ms or 2m"
        );
    }
}
