//! No option of the table is without effect.

use super::parse;
use crate::fio::table::OPTIONS;

/// A job in which an option has an effect, and a value that has it; lines that the option needs
/// stand before.
fn effect(name: &str) -> (&'static str, &'static str) {
    match name {
        "name" => ("", "x"),
        "filename" => ("", "/x"),
        "directory" => ("", "/x"),
        "fill_device" => ("filename=/dev/x\n", "1"),
        "loops" => ("", "3"),
        "fsync_on_close" => ("rw=write\n", "1"),
        "per_job_logs" => ("write_bw_log=x\n", "0"),
        "log_avg_msec" => ("write_bw_log=x\n", "100"),
        "filename_format" => ("", "$jobname-$filenum"),
        "nrfiles" => ("", "2"),
        "filesize" | "io_size" => ("", "2m"),
        "size" | "offset" => ("", "8k"),
        "offset_increment" => ("filename=x\nnumjobs=2\n", "1m"),
        "buffered" | "invalidate" | "fadvise_hint" | "kb_base" => {
            ("", if name == "kb_base" { "1000" } else { "0" })
        }
        "overwrite" | "zero_buffers" => ("rw=write\n", "1"),
        "fallocate" => ("rw=write\n", "none"),
        "rw" => ("", "randwrite"),
        "bs" => ("", "8k"),
        "bsrange" => ("", "8k-8k"),
        "bssplit" => ("", "4k/50:8k/50"),
        "rwmixread" | "rwmixwrite" => ("rw=rw\n", "30"),
        "random_distribution" => ("rw=randread\n", "zipf"),
        "norandommap" => ("rw=randread\n", "1"),
        "randrepeat" => ("", "0"),
        "ioengine" => ("", "libaio"),
        "iodepth" => ("ioengine=libaio\n", "4"),
        "iodepth_batch" | "iodepth_batch_complete_min" | "iodepth_batch_complete_max" => {
            ("ioengine=libaio\niodepth=8\n", "4")
        }
        "fixedbufs" | "registerfiles" | "sqthread_poll" | "hipri" => ("ioengine=io_uring\n", "1"),
        "time_based" => ("runtime=5\n", "1"),
        "continue_on_error" => ("", "all"),
        "rate_process" => ("", "poisson"),
        "thinktime_spin" | "thinktime_blocks" => ("thinktime=7\n", "7"),
        "refill_buffers" => ("rw=write\nscramble_buffers=0\n", "1"),
        "scramble_buffers" => ("rw=write\n", "0"),
        "buffer_pattern" => ("rw=write\n", "0xff"),
        "buffer_compress_percentage" | "dedupe_percentage" => ("rw=write\n", "50"),
        "verify" => ("rw=write\n", "md5"),
        "verify_pattern" => ("verify=pattern\n", "0"),
        "do_verify" => ("rw=write\nverify=md5\n", "0"),
        "numjobs" => ("", "2"),
        "randseed" => ("", "7"),
        "cpus_allowed_policy" => ("cpus_allowed=0,1\n", "split"),
        "numa_mem_policy" => ("numa_cpu_nodes=7\n", "bind:7"),
        "wait_for" => ("", "before"),
        "new_group" => ("group_reporting\n", "1"),
        _ => ("", "1"),
    }
}

/// Everything that comes of a job, an error too, but for what was typed and where.
fn outcome(lines: &str) -> String {
    match parse(&format!("[before]\nsize=1m\n[j]\nsize=1m\n{lines}")) {
        Ok(jobs) => format!(
            "{:?} {:?} {} {:?}",
            jobs.stages, jobs.notices, jobs.group_reporting, jobs.logs
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_option_of_the_table_has_an_effect() {
    for row in OPTIONS {
        let (needed, value) = effect(row.name);
        let without = outcome(needed);
        let with = outcome(&format!("{needed}{}={value}\n", row.name));
        assert!(without != with, "{} does nothing", row.name);
        for alias in row.aliases {
            let alias_outcome = outcome(&format!("{needed}{alias}={value}\n"));
            assert_eq!(
                alias_outcome.replace(alias, row.name),
                with,
                "{alias} is not {}",
                row.name
            );
        }
    }
}
