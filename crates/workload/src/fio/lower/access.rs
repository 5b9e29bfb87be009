//! Direction, order and block sizes.

use super::{put, put_same};
use crate::fio::job::{Distribution, Job, Split};
use crate::fio::names::FioDirection;
use crate::fio::value::PerDirection;
use crate::{SpecError, Workload};
use units::{Bytes, Percent};

pub(super) fn lower(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    let reads = match job.pattern.direction {
        FioDirection::Read => 100.0,
        FioDirection::Write => 0.0,
        FioDirection::Mixed => job.pattern.mix,
    };
    workload.access.read_percent = Some(Percent(reads));
    workload.access.random = job.pattern.random;
    blocks(job, workload)?;
    if job.pattern.random {
        distribution(job, workload)?;
    }
    if let Some(seed) = job.pattern.seed {
        workload.seed = seed;
    } else if job.pattern.other_seed_each_run {
        job.note(
            "randrepeat",
            "a run has the seed that --seed says, and the same each time if nothing is said",
        );
    }
    Ok(())
}

fn blocks(job: &Job, workload: &mut Workload) -> Result<(), SpecError> {
    match &job.pattern.split {
        Some(split) => {
            // What a list leaves out is of the size that bs says.
            let absent: PerDirection<Split> = job
                .pattern
                .blocks
                .map(|bytes| Some(vec![(bytes.unwrap_or(4096), None)]));
            let split = both(
                job,
                "bssplit",
                [
                    split[0].clone().or(absent[0].clone()),
                    split[1].clone().or(absent[1].clone()),
                ],
            )?;
            put(
                job,
                workload,
                "bssplit",
                "block-size",
                &weighted(job, split.unwrap_or_default())?,
            )
        }
        None => {
            let blocks = job.pattern.blocks.map(|bytes| Some(bytes.unwrap_or(4096)));
            let bytes = both(job, "bs", blocks)?.unwrap_or(4096);
            put_same(job, workload, "bs", &Bytes(bytes).exact())
        }
    }
}

/// The one value that serves all directions of the job.
fn both<T: PartialEq>(
    job: &Job,
    option: &str,
    [reads, writes]: PerDirection<T>,
) -> Result<Option<T>, SpecError> {
    match job.pattern.direction {
        FioDirection::Read => Ok(reads),
        FioDirection::Write => Ok(writes),
        FioDirection::Mixed if reads == writes => Ok(reads),
        FioDirection::Mixed => job.refuse(
            option,
            "reads and writes of one job have the same block sizes in Fathom; write a job for each",
        ),
    }
}

/// `4k/60:64k/40`; sizes without a share divide what is left evenly, as in fio.
fn weighted(job: &Job, split: Split) -> Result<String, SpecError> {
    let given: u32 = split.iter().filter_map(|(_, share)| *share).sum();
    let open = u32::try_from(split.iter().filter(|(_, share)| share.is_none()).count())
        .unwrap_or(u32::MAX);
    let left = 100_u32.saturating_sub(given);
    if open > 0 && !left.is_multiple_of(open) {
        return job.refuse(
            "bssplit",
            format!("{open} sizes without a share cannot divide {left} % evenly; write the shares"),
        );
    }
    let share_of = |share: Option<u32>| share.unwrap_or_else(|| left / open.max(1));
    let parts = split
        .into_iter()
        .map(|(bytes, share)| (bytes, share_of(share)))
        .filter(|(_, share)| *share > 0);
    Ok(parts
        .map(|(bytes, share)| format!("{}/{share}", Bytes(bytes).exact()))
        .collect::<Vec<_>>()
        .join(":"))
}

fn distribution(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    const OPTION: &str = "random_distribution";
    let (name, key, parameter) = match job.pattern.distribution {
        Distribution::Uniform => return Ok(()),
        Distribution::Zipf(theta) => ("zipf", "zipf-theta", theta),
        Distribution::Pareto(h) => ("pareto", "pareto-h", h),
        Distribution::Normal(percent) if (0.0..=100.0).contains(&percent) => {
            ("gaussian", "gaussian-stddev", deviation(percent))
        }
        Distribution::Normal(_) => {
            return job.refuse(OPTION, "the deviation is not a number from 0 to 100");
        }
    };
    put(job, workload, OPTION, "distribution", name)?;
    put(job, workload, OPTION, key, &parameter.to_string())?;
    workload.access.scatter = true;
    job.note(
        OPTION,
        "ranks are spread over the blocks by a permutation; fio hashes them, so that some blocks share a place and some are never used",
    );
    if name == "gaussian" {
        job.note(OPTION, format!("what fio draws has a standard deviation of {parameter:.4} of the range, which is taken"));
    }
    Ok(())
}

/// Standard deviation, as a share of the range, of what fio draws for `normal:percent`.
///
/// It draws the mean of 12 uniform numbers over the range, whose variance is 1/12/12, and adds a
/// uniform number from an interval as wide as `percent` of the range, half the range at most, whose
/// variance is the squared width/12.
fn deviation(percent: f64) -> f64 {
    let width = (percent / 100.0).min(0.5);
    ((1.0 / 12.0 + width * width) / 12.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::deviation;
    use crate::fio::tests::{refusal, setting};

    #[test]
    fn shares_that_are_not_written_divide_the_rest() {
        for (split, expected) in [
            ("4k/60:64k/40", "4k/60:64k/40"),
            ("4k/50:8k", "4k/50:8k/50"),
            ("4k/50:8k:16k", "4k/50:8k/25:16k/25"),
            ("4k/100:8k/0", "4k"),
            ("4k/50:8k/50,16k", "4k/50:8k/50"),
        ] {
            assert_eq!(
                setting(&format!("[j]\nbssplit={split}\n"), "block-size"),
                expected,
                "{split}"
            );
        }
        assert_eq!(
            refusal("[j]\nbssplit=4k:8k:16k\n"),
            "job.fio:2: bssplit=4k:8k:16k: 3 sizes without a share cannot divide 100 % evenly; write the shares"
        );
        assert_eq!(
            refusal("[j]\nbssplit=4k/60:64k/30\n"),
            "job.fio:2: bssplit=4k/60:64k/30: --block-size: the weights of \"4k/60:64k/30\" add to 90, not 100"
        );
    }

    #[test]
    fn a_job_uses_the_block_size_of_its_direction() {
        assert_eq!(setting("[j]\nbs=4k,8k\nrw=write\n", "block-size"), "8k");
        assert_eq!(setting("[j]\nbs=,8k\nrw=read\n", "block-size"), "4k");
        assert_eq!(
            setting("[j]\nbs=8k,8k\nrw=rw\nsize=1m\n", "block-size"),
            "8k"
        );
        assert_eq!(
            refusal("[j]\nbs=4k,8k\nrw=rw\nsize=1m\n"),
            "job.fio:2: bs=4k,8k: reads and writes of one job have the same block sizes in Fathom; write a job for each"
        );
    }

    #[test]
    fn the_deviation_of_a_normal_job_is_that_of_what_fio_draws() {
        assert!((deviation(0.0) - 1.0 / 12.0).abs() < 1e-12);
        assert!((deviation(10.0) - 0.088_192).abs() < 1e-6);
        assert_eq!(deviation(60.0), deviation(50.0));
    }
}
