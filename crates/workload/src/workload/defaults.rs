//! What a workload is where nothing was asked.

use super::*;
use crate::stonewall::Stonewall;

impl Default for Workload {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            engine: EngineName::Auto,
            threads: 1,
            blocks: BlockSizes::one(Bytes(4096)),
            queue_depth: 1,
            submit_batch: None,
            reap_batch: None,
            ring: Ring {
                fixed: Fixed {
                    buffers: None,
                    files: None,
                },
                sqpoll: false,
                iopoll: false,
            },
            sim_model: "latency=100us".into(),
            files: Files::default(),
            access: Access::default(),
            stop: Stop::default(),
            pace: Pace::default(),
            durability: Durability::default(),
            writing: Writing {
                pattern: DataPattern::Random,
                dedupe: None,
                compress: None,
            },
            verify: Verify {
                on: false,
                pattern: VerifyPattern::Header,
                when: VerifyWhen::Reads,
            },
            placement: Placement {
                cpu_cores: None,
                numa_zones: None,
                affinity: Affinity::Strict,
            },
            heat: Heat {
                on: false,
                buckets: 100,
            },
            worker_series: false,
            cache: Cache::AsIs,
            fadvise: Vec::new(),
            madvise: Vec::new(),
            lock_mode: LockMode::None,
            max_errors: 0,
            continue_on_error: false,
            seed: 1,
            rank: Rank::default(),
            shift: None,
        }
    }
}

impl Default for Files {
    fn default() -> Self {
        Self {
            size: None,
            offset: Bytes(0),
            regions: None,
            sharing: FileSharing::Shared,
            num_files: None,
            num_dirs: None,
            dir_depth: None,
            dir_width: None,
            total_files: None,
            layout_manifest: None,
            export_layout_manifest: None,
            fill: Fill {
                preallocate: false,
                refill: None,
                pattern: DataPattern::Random,
                truncate: false,
            },
            worker_placeholder: None,
            allow_destroy: Vec::new(),
            meta: Vec::new(),
            dirs: None,
            payload: None,
            find: None,
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        Self {
            random: false,
            read_percent: None,
            write_percent: None,
            distribution: Distribution::Uniform,
            zipf_theta: 1.2,
            pareto_h: 0.2,
            gaussian: Gaussian {
                center: 0.5,
                stddev: 0.1,
            },
            scatter: false,
            no_repeat: false,
        }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            duration: None,
            complete: false,
            total_bytes: None,
            warmup: Nanos(0),
            stonewall: Stonewall::default(),
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rate_iops: None,
            rate_bytes: None,
            arrival: Arrival::Constant,
            think: Think {
                time: Nanos(0),
                mode: ThinkMode::Sleep,
                every: 1,
                adaptive: Percent(0.0),
            },
        }
    }
}

impl Default for Durability {
    fn default() -> Self {
        Self {
            open: OpenFlags {
                direct: false,
                sync: false,
                dsync: false,
            },
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
        }
    }
}
