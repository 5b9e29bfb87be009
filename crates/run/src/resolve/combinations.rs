//! Options that contradict each other, or that would do nothing: refused, never ignored.

mod ends;
mod names;

use super::unsuitable;
use crate::error::RunError;
use crate::verify::HEADER_UNIT;
use ends::ends;
use names::names;
use workload::{
    Arrival, DataPattern, Distribution, EngineFeature, EngineTarget, FileSharing, LockMode,
    SpecError, ThinkMode, VerifyPattern, VerifyWhen, Workload,
};

fn conflict<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Spec(SpecError::Conflict(text.into())))
}

/// What can be told from the options alone.
pub(super) fn check(asked: &Workload) -> Result<(), RunError> {
    let read = asked.read_percent()?;
    access(asked)?;
    pace(asked)?;
    data(asked, read)?;
    ends(asked)?;
    if asked.submit_batch.is_some_and(|n| n > asked.queue_depth)
        || asked.reap_batch.is_some_and(|n| n > asked.queue_depth)
    {
        return conflict(format!(
            "--submit-batch and --reap-batch cannot exceed --queue-depth {}",
            asked.queue_depth
        ));
    }
    if asked.lock_mode != LockMode::None && asked.queue_depth > 1 {
        return conflict(
            "--lock-mode needs --queue-depth 1: workers that wait for a lock while they hold others would wait for ever",
        );
    }
    if asked.max_errors > 0 && !asked.continue_on_error {
        return conflict(
            "--max-errors needs --continue-on-error; without it the first error ends the run",
        );
    }
    if asked.heat.buckets != Workload::default().heat.buckets && !asked.heat.on {
        return conflict("--heatmap-buckets needs --heatmap");
    }
    placeholder(asked)?;
    interleaved(asked)?;
    regions(asked)?;
    let sizes = asked.files.size;
    if sizes.is_some_and(|size| size.0 < asked.files.offset.0 + asked.blocks.largest().0) {
        return conflict(format!(
            "--block-size {} does not fit into --file-size {}{}",
            asked.blocks.largest(),
            sizes.unwrap_or_default(),
            if asked.files.offset.0 > 0 {
                format!(" after --offset {}", asked.files.offset)
            } else {
                String::new()
            }
        ));
    }
    if asked.files.fill.truncate && sizes.is_none() {
        return conflict("--truncate-to-size needs --file-size");
    }
    names(asked)
}

/// Regions are blocks of one shared file, and the whole file need not be among them.
fn regions(asked: &Workload) -> Result<(), RunError> {
    let Some(regions) = asked.files.regions else {
        return Ok(());
    };
    let block = asked.blocks.largest().0;
    if asked.files.sharing != FileSharing::Shared || asked.targets.len() > 1 {
        return conflict(
            "--worker-regions divides one shared file or device; drop --file-distribution, and give one target",
        );
    }
    if asked.runs_to_completion() {
        return conflict(
            "--worker-regions need not cover the target, which running until complete would; give --total-bytes or --duration",
        );
    }
    if regions.step.0 % block != 0 || regions.length.0 < block {
        return conflict(format!(
            "--worker-regions: the step must be a multiple of --block-size {block}, and the length at least one block"
        ));
    }
    Ok(())
}

/// Blocks that workers take by turns have one size and one order.
fn interleaved(asked: &Workload) -> Result<(), RunError> {
    if asked.files.sharing != FileSharing::Interleaved {
        return Ok(());
    }
    if asked.access.random {
        return conflict(
            "--file-distribution interleaved is an order of its own: worker by worker, block by block; drop --random, or use partitioned",
        );
    }
    if asked.blocks.0.len() > 1 {
        return conflict(
            "--file-distribution interleaved gives workers blocks of one size by turns; give a single --block-size",
        );
    }
    Ok(())
}

/// Without it in every name, workers that must have files of their own would share one.
fn placeholder(asked: &Workload) -> Result<(), RunError> {
    let Some(text) = &asked.files.worker_placeholder else {
        return Ok(());
    };
    if asked.files.sharing != FileSharing::PerWorker {
        return conflict(
            "--worker-placeholder names the files of --file-distribution per-worker; add that",
        );
    }
    match asked
        .targets
        .iter()
        .find(|target| target.to_str().is_none_or(|target| !target.contains(text)))
    {
        Some(target) => conflict(format!(
            "--worker-placeholder {text} does not occur in {}",
            target.display()
        )),
        None => Ok(()),
    }
}

fn access(asked: &Workload) -> Result<(), RunError> {
    let (access, default) = (&asked.access, Workload::default().access);
    if !access.random && (access.distribution != Distribution::Uniform || access.scatter) {
        return conflict(format!(
            "--distribution {} and --scatter order random operations; add --random",
            access.distribution.word()
        ));
    }
    let unused = [
        (
            "--zipf-theta",
            access.zipf_theta != default.zipf_theta,
            Distribution::Zipf,
        ),
        (
            "--pareto-h",
            access.pareto_h != default.pareto_h,
            Distribution::Pareto,
        ),
        (
            "--gaussian-center or --gaussian-stddev",
            access.gaussian != default.gaussian,
            Distribution::Gaussian,
        ),
    ];
    for (option, given, needs) in unused {
        if given && access.distribution != needs {
            return conflict(format!(
                "{option} does nothing with --distribution {}; add --distribution {}",
                access.distribution.word(),
                needs.word()
            ));
        }
    }
    if access.no_repeat {
        if !access.random || access.distribution != Distribution::Uniform {
            return conflict(
                "--no-repeat is a uniform random order; add --random, and drop --distribution",
            );
        }
        if asked.blocks.0.len() > 1 {
            return conflict("--no-repeat counts blocks of one size; give a single --block-size");
        }
        if asked.runs_to_completion() {
            return conflict(
                "running until complete takes each block once anyway; drop --no-repeat",
            );
        }
    }
    if access.scatter && access.distribution == Distribution::Uniform {
        return conflict("--scatter spreads a hot set, and --distribution uniform has none");
    }
    Ok(())
}

fn pace(asked: &Workload) -> Result<(), RunError> {
    let pace = &asked.pace;
    let open = pace.rate_iops.is_some() || pace.rate_bytes.is_some();
    if pace.rate_iops.is_some_and(|rate| rate.0 <= 0.0)
        || pace.rate_bytes.is_some_and(|rate| rate.0 <= 0.0)
    {
        return conflict(
            "a rate must be above zero; leave the option out to run as fast as completions allow",
        );
    }
    let thinks = pace.think.time.0 > 0 || pace.think.adaptive.0 > 0.0;
    if open && thinks {
        return conflict(
            "--rate-iops and --rate-bytes start operations at their intended times; --think-time would break them. Give one kind of pace",
        );
    }
    if !open && pace.arrival == Arrival::Poisson {
        return conflict("--arrival spaces an open loop; add --rate-iops or --rate-bytes");
    }
    if !thinks && (pace.think.every != 1 || pace.think.mode == ThinkMode::Spin) {
        return conflict(
            "--think-every and --think-mode need --think-time or --think-adaptive-percent",
        );
    }
    Ok(())
}

fn data(asked: &Workload, read: f64) -> Result<(), RunError> {
    let writing = &asked.writing;
    if (writing.compress.is_some() || writing.dedupe.is_some())
        && (writing.pattern != DataPattern::Random || asked.verify.on)
    {
        return conflict(
            "--compress-percent and --dedupe-percent shape random unverified data; drop --verify and --write-pattern",
        );
    }
    if asked.verify.when != VerifyWhen::Reads && (!asked.verify.on || read > 0.0) {
        return conflict(format!(
            "--verify-when {} concerns writes that are verified, and reads are checked whenever they are made; add --verify and --write-percent 100",
            asked.verify.when.word()
        ));
    }
    if asked.verify.on && writing.pattern != DataPattern::Random {
        return conflict(
            "with --verify the written content is --verify-pattern; drop --write-pattern",
        );
    }
    if read >= 100.0 {
        let flush = &asked.durability;
        let unused = [
            ("--fsync", flush.fsync > 0),
            ("--fdatasync", flush.fdatasync > 0),
            ("--end-fsync", flush.end_fsync),
            ("--write-pattern", writing.pattern != DataPattern::Random),
            ("--compress-percent", writing.compress.is_some()),
            ("--dedupe-percent", writing.dedupe.is_some()),
        ];
        if let Some((option, _)) = unused.iter().find(|(_, given)| *given)
            && asked.files.meta.is_empty()
        {
            return conflict(format!(
                "{option} concerns writes, and this workload only reads; add --write-percent"
            ));
        }
    }
    let unit = HEADER_UNIT as u64;
    let is_odd = |bytes: u64| !bytes.is_multiple_of(unit);
    let has_headers = asked.verify.on && asked.verify.pattern == VerifyPattern::Header;
    if has_headers && asked.blocks.0.iter().any(|(size, _)| is_odd(size.0)) {
        return conflict(format!(
            "--verify-pattern header needs blocks that are multiples of {unit} bytes"
        ));
    }
    // Blocks that lie otherwise would break those of another run in two.
    if has_headers && is_odd(asked.files.offset.0) {
        return conflict(format!(
            "--verify-pattern header needs an --offset that is a multiple of {unit} bytes"
        ));
    }
    Ok(())
}

/// What depends on the engine that was decided.
pub(super) fn check_engine(effective: &Workload) -> Result<(), RunError> {
    let engine = effective.engine;
    if !engine.has(EngineFeature::Depth) && effective.queue_depth > 1 {
        return unsuitable(format!(
            "--engine {} holds one operation at a time, --queue-depth {} cannot be reached; use --engine io_uring or libaio, or more --threads",
            engine.word(),
            effective.queue_depth
        ));
    }
    let ring = &effective.ring;
    let ring_options = [
        (
            "--fixed-buffers and --no-fixed-buffers",
            ring.fixed.buffers.is_some(),
        ),
        (
            "--fixed-files and --no-fixed-files",
            ring.fixed.files.is_some(),
        ),
        ("--sqpoll", ring.sqpoll),
        ("--iopoll", ring.iopoll),
    ];
    if let Some((option, _)) = ring_options.iter().find(|(_, on)| *on)
        && !engine.has(EngineFeature::Ring)
    {
        return unsuitable(format!(
            "{option}: only io_uring has this; add --engine io_uring"
        ));
    }
    if ring.iopoll && !effective.durability.open.direct {
        return unsuitable("--iopoll polls the device, so it needs --direct");
    }
    let is_mapped = engine.has(EngineFeature::Mapping);
    if is_mapped && effective.durability.open.direct {
        return unsuitable(
            "--engine mmap works through the page cache, --direct bypasses it; drop one of them",
        );
    }
    if is_mapped && (effective.durability.open.sync || effective.durability.open.dsync) {
        return unsuitable(
            "--sync and --dsync act on write calls, and mmap makes none; use --fsync N, which flushes the mapping",
        );
    }
    if !effective.madvise.is_empty() && !is_mapped {
        return unsuitable("--madvise advises a mapping; add --engine mmap");
    }
    if effective.sim_model != Workload::default().sim_model
        && !engine.has(EngineFeature::VirtualTime)
    {
        return unsuitable("--sim-model describes the device of --engine sim");
    }
    no_target(effective)
}

/// Engines without files take no option of files.
fn no_target(effective: &Workload) -> Result<(), RunError> {
    let target = effective.engine.target();
    if target == EngineTarget::Files {
        return Ok(());
    }
    let files = &effective.files;
    let open = &effective.durability.open;
    let given = [
        ("--direct", open.direct),
        ("--sync", open.sync),
        ("--dsync", open.dsync && target == EngineTarget::Nothing),
        ("--fadvise", !effective.fadvise.is_empty()),
        ("--lock-mode", effective.lock_mode != LockMode::None),
        ("--cache", effective.cache != workload::Cache::AsIs),
        ("--refill", files.fill.refill == Some(true)),
        ("--preallocate", files.fill.preallocate),
        ("--truncate-to-size", files.fill.truncate),
        ("--meta", !files.meta.is_empty()),
        ("--num-files", files.num_files.is_some()),
        (
            "--file-distribution per-worker",
            files.sharing == FileSharing::PerWorker,
        ),
    ];
    if let Some((option, _)) = given.iter().find(|(_, on)| *on) {
        return unsuitable(format!(
            "{option} concerns files, and --engine {} uses none",
            effective.engine.word()
        ));
    }
    if effective.verify.on && target == EngineTarget::Nothing {
        return unsuitable(format!(
            "--engine {} stores nothing, so there is nothing to verify",
            effective.engine.word()
        ));
    }
    Ok(())
}
