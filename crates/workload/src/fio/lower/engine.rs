//! Engine, durability and placement.

use super::put_same;
use crate::fio::job::{Job, Stable};
use crate::{EngineFeature, SpecError, Workload};

pub(super) fn lower(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    workload.engine = job.engine.name;
    queue(job, workload)?;
    ring(job, workload)?;
    let durability = job.durability.clone();
    workload.durability.open.direct = durability.direct;
    workload.durability.open.sync = durability.sync == Stable::DataAndMetadata;
    workload.durability.open.dsync = durability.sync == Stable::Data;
    workload.durability.fsync = durability.fsync;
    workload.durability.fdatasync = durability.fdatasync;
    workload.durability.end_fsync =
        durability.end_fsync || (durability.fsync_on_close && job.writes());
    if durability.fsync_on_close && job.writes() && !durability.end_fsync {
        job.note(
            "fsync_on_close",
            "files are flushed once at the end, within the measured time",
        );
    }
    if !job.has_files() {
        without_files(job, workload);
    }
    placement(job, workload)
}

/// The null engine opens nothing, in fio too.
fn without_files(job: &mut Job, workload: &mut Workload) {
    let open = &mut workload.durability.open;
    for (option, on) in [
        ("direct", &mut open.direct),
        ("sync", &mut open.sync),
        ("sync", &mut open.dsync),
    ] {
        if std::mem::take(on) {
            job.note(option, "without effect: the null engine opens no file");
        }
    }
}

fn queue(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    let has_depth = job.engine.name.has(EngineFeature::Depth);
    let depth = if has_depth { job.engine.depth } else { 1 };
    if depth != job.engine.depth {
        job.note(
            "iodepth",
            format!(
                "the {} engine has one operation in flight, as in fio",
                job.engine.name.word()
            ),
        );
    }
    put_same(job, workload, "iodepth", &depth.to_string())?;
    if depth == 1 {
        return Ok(());
    }
    match job.engine.submit_batch {
        None => {
            job.note("iodepth_batch", "operations are handed over as many at once as there are; fio's default is one (iodepth_batch=1)")
        }
        // 0 is the depth in fio, and more than the depth too.
        Some(0) => {}
        Some(batch) => put_same(job, workload, "iodepth_batch", &batch.min(depth).to_string())?,
    }
    match job.engine.reap_least {
        None => {}
        Some(0) => job.note(
            "iodepth_batch_complete_min",
            "a full queue is waited on for one completion, not polled",
        ),
        Some(least) => put_same(
            job,
            workload,
            "iodepth_batch_complete_min",
            &least.min(depth).to_string(),
        )?,
    }
    if job.engine.reap_most.is_some() {
        job.note(
            "iodepth_batch_complete_max",
            "all completions that are ready are taken, however many",
        );
    }
    Ok(())
}

fn ring(job: &Job, workload: &mut Workload) -> Result<(), SpecError> {
    let ring = job.engine.ring;
    for (option, on) in [
        ("fixedbufs", ring.fixed.buffers == Some(true)),
        ("registerfiles", ring.fixed.files == Some(true)),
        ("sqthread_poll", ring.sqpoll),
        ("hipri", ring.iopoll),
    ] {
        if on && !job.engine.name.has(EngineFeature::Ring) {
            return job.refuse(option, "is for ioengine=io_uring");
        }
    }
    if job.engine.name.has(EngineFeature::Ring) {
        workload.ring = ring;
    }
    Ok(())
}

fn placement(job: &mut Job, workload: &mut Workload) -> Result<(), SpecError> {
    let placement = job.placement.clone();
    if let Some(cpus) = placement.cpus {
        put_same(job, workload, "cpus_allowed", &cpus)?;
        if !placement.split
            && workload
                .placement
                .cpu_cores
                .as_ref()
                .is_some_and(|list| list.0.len() > 1)
        {
            job.note("cpus_allowed", "each worker has one CPU of the list (cpus_allowed_policy=split); fio lets it move over all of them");
        }
    }
    match (placement.nodes, placement.memory) {
        (None, None) => {}
        (None, Some(_)) => {
            return job.refuse(
                "numa_mem_policy",
                "CPUs and memory are bound to the same nodes; write numa_cpu_nodes, too",
            );
        }
        (Some(nodes), Some(memory)) if nodes != memory => {
            return job.refuse(
                "numa_mem_policy",
                "CPUs and memory are bound to the same nodes, and numa_cpu_nodes names others",
            );
        }
        (Some(nodes), memory) => {
            put_same(job, workload, "numa_cpu_nodes", &nodes)?;
            if memory.is_none() {
                job.note(
                    "numa_cpu_nodes",
                    "the memory of a worker is bound to its node, too",
                );
            }
            if workload
                .placement
                .numa_zones
                .as_ref()
                .is_some_and(|list| list.0.len() > 1)
            {
                job.note(
                    "numa_cpu_nodes",
                    "each worker has one node of the list; fio lets it move over all of them",
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{notices, refusal, setting};

    #[test]
    fn a_sync_engine_has_depth_one_and_says_so() {
        let text = "[j]\nsize=1m\niodepth=32\nioengine=pvsync2\n";
        assert_eq!(
            (setting(text, "engine"), setting(text, "queue-depth")),
            ("sync".into(), "1".into())
        );
        assert_eq!(
            notices(text),
            ["job.fio:3: iodepth=32: the sync engine has one operation in flight, as in fio"]
        );
        assert_eq!(
            setting("[j]\niodepth=32\nioengine=libaio\n", "queue-depth"),
            "32"
        );
        assert_eq!(
            refusal("[j]\niodepth=8k\nioengine=libaio\n"),
            "job.fio:2: iodepth=8k: --queue-depth: \"8192\" is not a whole number from 1 to 4096"
        );
    }

    #[test]
    fn batches_are_at_most_the_depth() {
        let text = "[j]\niodepth=8\nioengine=io_uring\niodepth_batch_submit=16\niodepth_batch_complete=4\niodepth_batch_complete_max=8\n";
        assert_eq!(
            (setting(text, "submit-batch"), setting(text, "reap-batch")),
            ("8".into(), "4".into())
        );
        let text =
            "[j]\niodepth=8\nioengine=io_uring\niodepth_batch_complete_min=0\niodepth_batch=8\n";
        assert_eq!(setting(text, "reap-batch"), "");
        assert_eq!(
            notices(text),
            [
                "job.fio:4: iodepth_batch_complete_min=0: a full queue is waited on for one completion, not polled"
            ]
        );
    }

    #[test]
    fn options_of_io_uring_are_for_io_uring() {
        let text = "[j]\nioengine=io_uring\nfixedbufs\nregisterfiles=1\nhipri=1\nsqthread_poll=1\n";
        for key in ["fixed-buffers", "fixed-files", "iopoll", "sqpoll"] {
            assert_eq!(setting(text, key), "true", "{key}");
        }
        assert_eq!(
            refusal("[j]\nioengine=libaio\nfixedbufs\n"),
            "job.fio:3: fixedbufs: is for ioengine=io_uring"
        );
    }

    #[test]
    fn cpus_and_nodes_are_those_of_the_workers() {
        let text = "[j]\nsize=1m\ncpus_allowed=0-1,4\ncpus_allowed_policy=split\nnuma_cpu_nodes=1\nnuma_mem_policy=bind:1\n";
        assert_eq!(
            (setting(text, "cpu-cores"), setting(text, "numa-zones")),
            ("0-1,4".into(), "1".into())
        );
        assert_eq!(notices(text), Vec::<String>::new());
        assert_eq!(
            refusal("[j]\nnuma_mem_policy=bind:1\n"),
            "job.fio:2: numa_mem_policy=bind:1: CPUs and memory are bound to the same nodes; write numa_cpu_nodes, too"
        );
        assert_eq!(
            refusal("[j]\nnuma_mem_policy=interleave:0\n"),
            "job.fio:2: numa_mem_policy=interleave:0: is not one of default, local, bind:NODES"
        );
    }
}
