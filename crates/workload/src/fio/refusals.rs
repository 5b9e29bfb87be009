//! The fio options that Fathom does not express: a few of no consequence, the rest with the reason.

use super::table::{Row, Takes, What};

macro_rules! options {
    ($($name:literal $([$($alias:literal),+])? $takes:ident $what:ident $(($($part:expr),+))?;)*) => {
        &[$(Row { name: $name, aliases: &[$($($alias),+)?], takes: Takes::$takes, what: What::$what $(($($part),+))? }),*]
    };
}

const OFF: &[&str] = &["0"];
const ON: &[&str] = &["1"];
const LAYOUT: &str = "files are laid out in Fathom's own way";
const LOG: &str =
    "no such file is written; the record holds every interval and the whole histogram";
const NO_LOG: &str = "without effect where no log is written";
const REPLAY: &str = "recorded operations are not replayed";
const ZONES: &str = "zones of a file or device are not expressed";
const TRIM: &str = "trims discard data, for which Fathom has no operation";
const VERIFY: &str = "verification is Fathom's own, and has no such choice";
const CHANGES_MACHINE: &str =
    "a run does not change the machine or its own priority; set it around fathom";
const TARGET_LATENCY: &str =
    "a rate that follows the latency is not expressed; measure several rates, each with rate_iops";
const STEADY: &str = "a run has a fixed end; `fathom compare --run` repeats runs until it knows";
const ALWAYS_MEASURED: &str = "Fathom measures every operation always";
const DIRECTIVES: &str = "hints and directives to the device are not expressed";
const PERCENTILES: &str = "the record holds the whole histogram; a report has Fathom's percentiles";

pub(super) static REFUSALS: &[Row] = options! {
    "description" Value Silent;
    "thread" Flag Silent;
    "nonvectored" Value Noted("always so in Fathom");
    "verify_fatal" Value Noted("Fathom lists the first mismatches and fails the run either way");
    "verify_state_save" Value Noted("no state file is written");
    "verifysort" Value Noted("without effect");
    "verifysort_nr" Value Noted("without effect");
    "softrandommap" Value Noted("without effect: Fathom keeps no map in memory");
    "random_generator" Value Noted("Fathom has its own generator");
    "clocksource" Value Noted("Fathom has its own clock");
    "unit_base" Value Noted("units of reports are Fathom's");
    "create_serialize" Value Noted(LAYOUT);
    "create_fsync" Value Noted(LAYOUT);
    "gtod_reduce" Value Noted(ALWAYS_MEASURED);
    "disable_lat" Value Noted(ALWAYS_MEASURED);
    "disable_clat" Value Noted(ALWAYS_MEASURED);
    "disable_slat" Value Noted(ALWAYS_MEASURED);
    "disable_bw_measurement" ["disable_bw"] Value Noted(ALWAYS_MEASURED);
    "clat_percentiles" Value Noted(PERCENTILES);
    "lat_percentiles" Value Noted(PERCENTILES);
    "percentile_list" Value Noted(PERCENTILES);
    "significant_figures" Value Noted(PERCENTILES);
    "disk_util" Value Noted("the record holds the device's counters either way");
    "log_entries" Value Noted(NO_LOG);
    "log_hist_msec" Value Noted(NO_LOG);
    "log_hist_coarseness" Value Noted(NO_LOG);
    "log_window_value" ["log_max_value"] Value Noted(NO_LOG);
    "log_offset" Value Noted(NO_LOG);
    "log_prio" Value Noted(NO_LOG);
    "log_issue_time" Value Noted(NO_LOG);
    "log_compression" Value Noted(NO_LOG);
    "log_compression_cpus" Value Noted(NO_LOG);
    "log_store_compressed" Value Noted(NO_LOG);
    "log_alternate_epoch" ["log_unix_epoch"] Value Noted(NO_LOG);
    "log_alternate_epoch_clock_id" Value Noted(NO_LOG);

    "allow_mounted_write" Value Only(OFF, "Fathom never writes to what is mounted");
    "create_only" Value Only(OFF, "a run measures; it does not only make files");
    "create_on_open" Value Only(OFF, LAYOUT);
    "allow_file_create" Value Only(ON, "a target that does not exist is made; see fathom run --no-refill for what reads may need");
    "unlink" Value Noted("a run leaves its files; remove them after it");
    "unlink_each_loop" Value Only(OFF, "a run does not remove its files; remove them after it");
    "file_append" Value Only(OFF, "writing behind the end of a file is not expressed");
    "lockfile" Value Only(&["none"], "locks of files as a whole are not expressed; fathom run --lock-mode locks each operation");
    "filetype" Value Only(&["none", "file", "block"], "targets are files and block devices; which of them is seen when they are opened");
    "unique_filename" Value Only(ON, "clients are not spoken here");
    "file_service_type" Value Only(&["roundrobin"], "files take turns in Fathom");
    "percentage_random" Value Only(&["100", "100,100", "100,100,100"], "a job is random or sequential; write two jobs");
    "rw_sequencer" Value Only(&["sequential"], "an access order that repeats or jumps is not expressed");
    "random_sequence_stride" Value Only(OFF, "sequences of blocks are not expressed");
    "offset_align" Value Only(OFF, "offsets are multiples of the block size");
    "bs_unaligned" ["blocksize_unaligned"] Flag Only(OFF, "blocks are aligned to their size");
    "bs_is_seq_rand" Value Only(OFF, "there is one block size for both orders");
    "num_range" Value Only(ON, TRIM);
    "startdelay" Value Only(OFF, "all jobs of a stage start together");
    "thinktime_blocks_type" Value Only(&["complete"], "pauses are counted in completed operations");
    "thinktime_iotime" Value Only(OFF, "pauses are counted in operations, not in time");
    "thinkcycles" Value Only(OFF, "a pause sleeps or spins; it does not compute");
    "rate_cycle" ["ratecycle"] Value Only(&["1000"], "rates are not averaged over cycles: there is a schedule");
    "rate_ignore_thinktime" Value Only(OFF, "a pause does not move the schedule");
    "latency_run" Value Only(OFF, TARGET_LATENCY);
    "io_submit_mode" Value Only(&["inline"], "operations are submitted by their own worker; with a rate, latency counts from the intended start anyway");
    "serialize_overlap" Value Only(OFF, "overlapping operations in flight are not held back");
    "mem" ["iomem"] Value Only(&["malloc"], "where buffers lie is not a choice");
    "iomem_align" ["mem_align"] Value Only(OFF, "buffers are aligned as direct I/O needs it");
    "atomic" Value Only(OFF, DIRECTIVES);
    "write_hint" Value Only(&["none", "not-set"], DIRECTIVES);
    "fdp" Value Only(OFF, DIRECTIVES);
    "dataplacement" ["data_placement"] Value Only(&["none"], DIRECTIVES);
    "zonemode" Value Only(&["none"], ZONES);
    "end_syncfs" Value Only(OFF, "see end_fsync");
    "write_barrier" Value Only(OFF, "see fsync and fdatasync");
    "dedupe_mode" Value Only(&["repeat"], "repeated blocks are chosen in one way");
    "dedupe_global" Value Only(OFF, "repeated blocks are those of the job itself");
    "stats" Value Only(ON, "a job without results is not expressed");
    "slat_percentiles" Value Only(OFF, "the time of a submission alone is not measured");
    "block_error_percentiles" Value Only(OFF, TRIM);
    "unified_rw_reporting" Value Only(&["none", "0"], "reads and writes are kept apart; they can be merged from the record");
    "error_dump" Value Only(OFF, "the record holds the errors");
    "bwavgtime" Value Only(&["500"], "intervals have one length for all results");
    "iopsavgtime" Value Only(&["500"], "intervals have one length for all results");
    "trim_percentage" Value Only(OFF, TRIM);
    "verify_only" Flag Only(OFF, VERIFY);
    "verify_dump" Value Noted("no blocks are dumped into files; the record lists the first mismatches");
    "verify_async" Value Noted("a block is checked by the worker that read it");
    "verify_backlog" Value Only(OFF, VERIFY);
    "experimental_verify" Value Only(OFF, VERIFY);
    "verify_state_load" Value Only(OFF, VERIFY);
    "sprandom" Value Only(OFF, "preconditioning by regions is not expressed");
    "readfua" Value Only(OFF, DIRECTIVES);
    "writefua" Value Only(OFF, DIRECTIVES);
    "force_async" Value Only(OFF, "the kernel decides where an operation is done");
    "uncached" Value Only(OFF, "RWF_DONTCACHE is not expressed");
    "nowait" Value Only(OFF, "RWF_NOWAIT is not expressed");
    "userspace_reap" Flag Only(OFF, "completions of libaio are taken from the kernel");
    "libaio_vectored" Value Only(OFF, "operations have one buffer");
    "nice" Value Noted("a run does not change its own priority; start fathom under nice");
    "lockmem" Value Only(OFF, CHANGES_MACHINE);
    "flow" Value Only(OFF, "jobs do not wait for one another's operations");

    "ba" ["blockalign"] Value Refused("blocks are aligned to their size");
    "openfiles" Value Noted("all files of a job stay open");
    "opendir" Value Refused("the files of a directory are not searched; see fathom run --layout-manifest");
    "iodepth_low" Value Refused("a queue is refilled as soon as a place is free");
    "buffer_compress_chunk" Value Noted("what is compressible in a block is spread in Fathom's own way");
    "dedupe_working_set_percentage" Value Refused("repeated blocks are chosen in one way");
    "sync_file_range" Value Refused("see fsync and fdatasync");
    "ramp_size" Value Refused("a warm-up has a time; see ramp_time");
    "max_latency" Value Refused("a run is not ended by a slow operation; it is in the record, and a gate can judge it");
    "latency_target" Value Refused(TARGET_LATENCY);
    "latency_window" Value Refused(TARGET_LATENCY);
    "latency_percentile" Value Refused(TARGET_LATENCY);
    "rate_min" ["ratemin"] Value Refused("a run is not ended by a low rate; it is in the record, and a gate can judge it");
    "rate_iops_min" Value Refused("a run is not ended by a low rate; it is in the record, and a gate can judge it");
    "ignore_error" Value Refused("errors are not told apart by their number; see continue_on_error");
    "exitall" Flag Noted("each job has its own end; where one ends early, the others go on");
    "exit_what" Value Refused("each job has its own end");
    "exitall_on_error" Flag Refused("each job has its own end");
    "exec_prerun" Value Refused("a run starts no commands; put them around fathom");
    "exec_postrun" Value Refused("a run starts no commands; put them around fathom");
    "write_hist_log" Flag Refused(LOG);
    "write_iolog" Value Refused(LOG);
    "read_iolog" Value Refused(REPLAY);
    "read_iolog_chunked" Value Refused(REPLAY);
    "replay_no_stall" Value Refused(REPLAY);
    "replay_redirect" Value Refused(REPLAY);
    "replay_scale" Value Refused(REPLAY);
    "replay_align" Value Refused(REPLAY);
    "replay_time_scale" Value Refused(REPLAY);
    "replay_skip" Value Refused(REPLAY);
    "merge_blktrace_file" Value Refused(REPLAY);
    "merge_blktrace_scalars" Value Refused(REPLAY);
    "merge_blktrace_iters" Value Refused(REPLAY);
    "zonesize" Value Refused(ZONES);
    "zonecapacity" Value Refused(ZONES);
    "zonerange" Value Refused(ZONES);
    "zoneskip" Value Refused(ZONES);
    "read_beyond_wp" Value Refused(ZONES);
    "max_open_zones" Value Refused(ZONES);
    "job_max_open_zones" Value Refused(ZONES);
    "ignore_zone_limits" Value Refused(ZONES);
    "zone_reset_threshold" Value Refused(ZONES);
    "zone_reset_frequency" Value Refused(ZONES);
    "recover_zbd_write_error" Value Refused(ZONES);
    "write_zone_remainder" Value Refused(ZONES);
    "trim_verify_zero" Value Refused(TRIM);
    "trim_backlog" Value Refused(TRIM);
    "trim_backlog_batch" Value Refused(TRIM);
    "verify_interval" Value Refused(VERIFY);
    "verify_offset" Value Refused(VERIFY);
    "verify_pattern_interval" Value Refused(VERIFY);
    "verify_backlog_batch" Value Refused(VERIFY);
    "verify_async_cpus" Value Refused(VERIFY);
    "verify_policy" Value Refused(VERIFY);
    "verify_write_sequence" Value Refused(VERIFY);
    "verify_header_seed" Value Refused(VERIFY);
    "verify_mode" Value Refused(VERIFY);
    "verify_bytchk" Value Refused(VERIFY);
    "spr_num_regions" Value Refused("preconditioning by regions is not expressed");
    "spr_op" Value Refused("preconditioning by regions is not expressed");
    "spr_cs" Value Refused("preconditioning by regions is not expressed");
    "plid_select" ["fdp_pli_select"] Value Refused(DIRECTIVES);
    "plids" ["fdp_pli"] Value Refused(DIRECTIVES);
    "dp_scheme" Value Refused(DIRECTIVES);
    "write_mode" Value Refused(DIRECTIVES);
    "cmd_type" Value Refused(DIRECTIVES);
    "cdb_len" Value Refused(DIRECTIVES);
    "hipri_percentage" Value Refused("all operations are polled, or none");
    "sqthread_poll_cpu" Value Refused("the CPU of the polling kernel thread is not a choice");
    "thp" Value Refused("see fathom run --madvise hugepage");
    "hugepage-size" Value Refused("where buffers lie is not a choice");
    "gtod_cpu" Value Refused(ALWAYS_MEASURED);
    "job_start_clock_id" Value Refused("records have wall time in one form");
    "threads" Value Refused("is for fio's tiobench profile and does nothing elsewhere; was numjobs meant?");
    "percentage_sequential" Value Refused("fio has given it up, too; a job is random or sequential");
    "rwmixcycle" Value Refused("fio has given it up, too");
    "cpumask" Value Refused("write cpus_allowed");
    "gpu_dev_id" ["gpu_dev_ids"] Value Refused("buffers lie in main memory");
    "comm" Value Refused(CHANGES_MACHINE);
    "prio" Value Refused(CHANGES_MACHINE);
    "prioclass" Value Refused(CHANGES_MACHINE);
    "priohint" Value Refused(CHANGES_MACHINE);
    "cmdprio_percentage" Value Refused(CHANGES_MACHINE);
    "cmdprio_class" Value Refused(CHANGES_MACHINE);
    "cmdprio_hint" Value Refused(CHANGES_MACHINE);
    "cmdprio" Value Refused(CHANGES_MACHINE);
    "cmdprio_bssplit" Value Refused(CHANGES_MACHINE);
    "ioscheduler" Value Refused(CHANGES_MACHINE);
    "cgroup" Value Refused(CHANGES_MACHINE);
    "cgroup_weight" Value Refused(CHANGES_MACHINE);
    "cgroup_nodelete" Value Refused(CHANGES_MACHINE);
    "uid" Value Refused(CHANGES_MACHINE);
    "gid" Value Refused(CHANGES_MACHINE);
    "profile" Value Refused("fio's built-in profiles are not there; see fathom profile");
    "flow_id" Value Refused("jobs do not wait for one another's operations");
    "flow_watermark" Value Refused("jobs do not wait for one another's operations");
    "flow_sleep" Value Refused("jobs do not wait for one another's operations");
    "steadystate" ["ss"] Value Refused(STEADY);
    "steadystate_duration" ["ss_dur"] Value Refused(STEADY);
    "steadystate_ramp_time" ["ss_ramp"] Value Refused(STEADY);
    "steadystate_check_interval" ["ss_interval"] Value Refused(STEADY);
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::table::OPTIONS;

    #[test]
    fn every_name_is_in_one_row() {
        let mut names: Vec<&str> = OPTIONS
            .iter()
            .chain(REFUSALS)
            .flat_map(|row| row.aliases.iter().copied().chain([row.name]))
            .collect();
        names.sort_unstable();
        let doubled: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert_eq!(doubled, Vec::<&[&str]>::new());
    }
}
