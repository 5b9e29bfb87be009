//! Whole jobs, and what the tests of the parts share.

mod effect;

use super::*;
use crate::settings::shown;
use crate::{Phase, Workload};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result as IoResult};

const KEYWORDS: Keywords = Keywords {
    page_size: 4096,
    memory_mib: 1024,
    cpus: 8,
};

fn variables(name: &str) -> Option<String> {
    [("SIZE", "64"), ("EMPTY", "")]
        .into_iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value.to_owned())
}

/// Every target is there and has 1 GiB, but for those that are called so.
fn length(path: &Path) -> Option<u64> {
    (!path.to_string_lossy().contains("missing")).then_some(1 << 30)
}

/// A world without job files.
pub(super) fn outside() -> Outside<'static> {
    Outside {
        env: &variables,
        read: &|_| Err(ErrorKind::NotFound.into()),
        length: &length,
        keywords: KEYWORDS,
    }
}

/// A world with a few files.
pub(super) struct WithFiles(Reader);

type Reader = Box<dyn Fn(&str) -> IoResult<String>>;

impl WithFiles {
    pub(super) fn outside(&self) -> Outside<'_> {
        Outside {
            env: &variables,
            read: &*self.0,
            length: &length,
            keywords: KEYWORDS,
        }
    }
}

pub(super) fn with_files(files: &[(&str, &str)]) -> WithFiles {
    let files: BTreeMap<String, String> = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    WithFiles(Box::new(move |name| {
        files
            .get(name)
            .cloned()
            .ok_or_else(|| Error::from(ErrorKind::NotFound))
    }))
}

pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

pub(super) fn parse(text: &str) -> Result<FioJobs, SpecError> {
    parse_job_file(text, "job.fio", &[], &outside())
}

fn phases(jobs: &FioJobs) -> Vec<&Phase> {
    jobs.stages.iter().flat_map(|stage| &stage.0).collect()
}

/// The first job's workload.
pub(super) fn only_workload(text: &str) -> Workload {
    let jobs = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    phases(&jobs)[0].workload.clone()
}

/// What `settings` shows for a key of the first job; empty when unset. A size is added where a job
/// has no end without it.
pub(super) fn setting(text: &str, key: &str) -> String {
    let found = shown(&only_workload(text))
        .into_iter()
        .find(|(shown, _)| *shown == key);
    found.map(|(_, value)| value).unwrap_or_default()
}

pub(super) fn notices(text: &str) -> Vec<String> {
    parse(text).unwrap().notices
}

#[test]
fn a_notice_is_about_the_jobs_whose_options_it_names() {
    let jobs =
        parse("[global]\nsize=1m\nrw=randread\n[a]\nioengine=sync\niodepth=32\n[b]\n").unwrap();
    let depth = jobs
        .notices
        .iter()
        .find(|notice| notice.contains("iodepth=32"))
        .unwrap();
    assert!(
        jobs.concerns(depth, "a") && jobs.concerns(depth, "a/verify") && !jobs.concerns(depth, "b")
    );
    assert!(
        jobs.concerns("what was said of the command line", "b"),
        "what is about no job is about all"
    );
}

pub(super) fn refusal(text: &str) -> String {
    parse(text)
        .err()
        .map_or_else(|| "accepted".to_owned(), |e| e.to_string())
}

/// The refusal of one line of a job, without its place.
pub(super) fn refused_line(line: &str) -> String {
    let text = refusal(&format!("[j]\n{line}\n"));
    text.strip_prefix("job.fio:2: ").unwrap_or(&text).to_owned()
}

/// All settings that are not at their default.
fn changed(workload: &Workload) -> Vec<String> {
    let defaults = shown(&Workload::default());
    let pair = |(key, value): (&str, String)| format!("{key}={value}");
    shown(workload)
        .into_iter()
        .filter(|pair| !defaults.contains(pair))
        .map(pair)
        .collect()
}

fn first_of_command_line(line: &str) -> Vec<String> {
    let jobs =
        parse_command_line(&words(line), &outside()).unwrap_or_else(|e| panic!("{line}: {e}"));
    changed(&phases(&jobs)[0].workload)
}

#[test]
fn an_everyday_random_read_is_read() {
    assert_eq!(
        first_of_command_line(
            "fio --name=randread --ioengine=io_uring --iodepth=32 --rw=randread --bs=4k --direct=1 --size=1G --numjobs=4 --runtime=60 \
             --time_based --group_reporting --filename=/data/test"
        ),
        [
            "file-size=1g",
            "read-percent=100",
            "random=true",
            "no-repeat=true",
            "engine=io_uring",
            "queue-depth=32",
            "no-fixed-buffers=true",
            "no-fixed-files=true",
            "direct=true",
            "fadvise=rand",
            "duration=1m",
            "threads=4"
        ]
    );
}

#[test]
fn an_everyday_mix_is_read() {
    let line = "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test --filename=test --bs=4k --iodepth=64 --size=4G \
                --readwrite=randrw --rwmixread=75";
    assert_eq!(
        first_of_command_line(line),
        [
            "file-size=4g",
            "preallocate=true",
            "read-percent=75",
            "random=true",
            "no-repeat=true",
            "engine=libaio",
            "queue-depth=64",
            "direct=true",
            "fadvise=rand",
            "total-bytes=4g"
        ]
    );
    assert_eq!(
        parse_command_line(&words(line), &outside())
            .unwrap()
            .notices,
        [
            "argument 4: gtod_reduce=1: Fathom measures every operation always",
            "argument 5: job test: iodepth_batch: operations are handed over as many at once as there are; fio's default is one (iodepth_batch=1)",
            "argument 5: job test: refill_buffers: not given: fio writes one random buffer again and again with a few bytes changed, Fathom fresh random data, which no storage compresses",
        ]
    );
}

#[test]
fn an_everyday_verify_job_is_read() {
    let text = "[write-and-verify]\nrw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=16\nsize=4g\nverify=crc32c\nfilename=/dev/sdx\n";
    let jobs = parse(text).unwrap();
    assert_eq!(
        phases(&jobs)
            .iter()
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>(),
        ["write-and-verify", "write-and-verify/verify"]
    );
    assert_eq!(
        changed(&phases(&jobs)[0].workload),
        [
            "file-size=4g",
            "read-percent=0",
            "random=true",
            "engine=libaio",
            "queue-depth=16",
            "direct=true",
            "fadvise=rand",
            "run-until-complete=true",
            "verify=true"
        ]
    );
    assert_eq!(
        changed(&phases(&jobs)[1].workload),
        [
            "file-size=4g",
            "no-refill=true",
            "read-percent=100",
            "random=true",
            "engine=libaio",
            "queue-depth=16",
            "direct=true",
            "fadvise=rand",
            "run-until-complete=true",
            "verify=true"
        ]
    );
    assert_eq!(jobs.job_options[0], jobs.job_options[1]);
}

#[test]
fn an_everyday_rate_job_is_read() {
    assert_eq!(
        first_of_command_line(
            "--name=r --rw=write --bs=128k --rate=10m --size=1g --fsync=32 --end_fsync=1 --directory=/data --numjobs=2"
        ),
        [
            "file-size=1g",
            "file-distribution=per-worker",
            "worker-placeholder={clone}",
            "preallocate=true",
            "block-size=128k",
            "read-percent=0",
            "engine=sync",
            "fsync=32",
            "end-fsync=true",
            "cache=cold",
            "fadvise=seq",
            "run-until-complete=true",
            "rate-bytes=20971520",
            "threads=2",
            "worker-series=true"
        ]
    );
}

#[test]
fn jobs_run_together_until_a_stonewall() {
    let text = "[global]\nsize=1m\nfilename=/x\nioengine=psync\n[a]\nrw=read\n[b]\nrw=write\n[c]\nstonewall\nrw=randread\nname=third\n";
    let jobs = parse(text).unwrap();
    let names: Vec<Vec<&str>> = jobs
        .stages
        .iter()
        .map(|stage| stage.0.iter().map(|p| p.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["a", "b"], vec!["third"]]);
    assert_eq!(
        phases(&jobs)
            .iter()
            .map(|p| p.workload.seed)
            .collect::<Vec<_>>(),
        [1, 2, 1]
    );
    assert_eq!(
        jobs.global_options
            .iter()
            .map(|(key, _)| key.as_str())
            .collect::<Vec<_>>(),
        ["size", "filename", "ioengine"]
    );
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        jobs.job_options[2],
        [
            pair("stonewall", ""),
            pair("rw", "randread"),
            pair("name", "third")
        ]
    );
}

#[test]
fn a_stage_that_verifies_is_read_back_before_the_next() {
    let text = "[global]\nsize=1m\n[a]\nrw=write\nverify=md5\n[b]\nrw=read\n[c]\nstonewall\n";
    let names: Vec<String> = phases(&parse(text).unwrap())
        .iter()
        .map(|p| p.name.clone())
        .collect();
    assert_eq!(names, ["a", "b", "a/verify", "c"]);
}

#[test]
fn defaults_variables_includes_and_kilos_hold_as_in_fio() {
    let files = with_files(&[("x/common.inc", "bs=4KiB\nruntime=2m\ntime_based\n")]);
    let text = "[global]\ninclude common.inc\n[a]\nsize=${SIZE}m\n[global]\nbs=8k\n[b]\nkb_base=1000\nbs=8k\nsize=1m\n[c]\nsize=1m\n";
    let jobs = parse_job_file(text, "x/job.fio", &[], &files.outside()).unwrap();
    let shown: Vec<(u64, u64)> = phases(&jobs)
        .iter()
        .map(|p| {
            (
                p.workload.blocks.largest().0,
                p.workload.files.size.unwrap().0,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [(4000, 64 << 20), (8000, 1_000_000), (8192, 1 << 20)]
    );
    assert!(
        phases(&jobs)
            .iter()
            .all(|p| p.workload.stop.duration == Some(units::Nanos(120_000_000_000)))
    );
    // What is there and cannot be read is not looked for elsewhere.
    let with_pipe = Outside {
        read: &|path| {
            Err(match path {
                "pipe" => Error::new(ErrorKind::InvalidInput, "it is a pipe"),
                _ => ErrorKind::NotFound.into(),
            })
        },
        ..outside()
    };
    let refused = |text| parse_job_file(text, "x/job.fio", &[], &with_pipe).unwrap_err();
    for (text, told) in [
        ("[a]\ninclude pipe\n", "cannot include pipe: it is a pipe"),
        ("[a]\ninclude gone\n", "cannot include x/gone: "),
    ] {
        let error = refused(text).to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn sections_choose_among_jobs_and_others_are_not_even_read() {
    let text = "[global]\nsize=1m\n[a]\nrw=trim\n[b]\nrw=read\n";
    let jobs = parse_job_file(text, "job.fio", &["b".to_owned()], &outside()).unwrap();
    assert_eq!(
        phases(&jobs)
            .iter()
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn wait_for_is_a_new_stage_where_nothing_else_runs() {
    let text = "[global]\nsize=1m\n[a]\n[b]\nwait_for=a\n[c]\nwait_for=a\n";
    let names: Vec<usize> = parse(text)
        .unwrap()
        .stages
        .iter()
        .map(|stage| stage.0.len())
        .collect();
    assert_eq!(names, [1, 2]);
    for (text, expected) in [
        (
            "[a]\n[b]\n[c]\nwait_for=a\n",
            "job.fio:4: wait_for=a: other jobs run beside the awaited one; stonewall waits for all of them",
        ),
        (
            "[a]\nwait_for=b\n",
            "job.fio:2: wait_for=b: there is no such job before this one",
        ),
        (
            "[global]\ngroup_reporting\n[a]\n[b]\nnew_group\n",
            "job.fio:5: new_group: results are merged over the jobs that run together; write stonewall, or leave out group_reporting",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn the_command_line_gives_its_defaults_to_job_files() {
    let files = with_files(&[("a.fio", "[a]\nrw=write\n"), ("b.fio", "[b]\n")]);
    let jobs = parse_command_line(
        &words("--size=2m --group_reporting a.fio b.fio --output=o.json"),
        &files.outside(),
    )
    .unwrap();
    assert_eq!(jobs.stages.len(), 2);
    assert!(
        jobs.group_reporting
            && phases(&jobs)
                .iter()
                .all(|p| p.workload.files.size == Some(units::Bytes(2 << 20)))
    );
    assert_eq!(jobs.output.file.as_deref(), Some("o.json"));
    let error =
        parse_command_line(&words("--size=2m --readonly a.fio"), &files.outside()).unwrap_err();
    assert_eq!(error.to_string(), "--readonly: job a writes");
    let error = parse_command_line(&words("--size=2m"), &files.outside()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no job: a job file needs a [section], a command line needs --name=JOB"
    );
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn what_fathom_cannot_express_is_refused_by_name() {
    for (line, expected) in [
        (
            "rw=randtrim",
            "rw=randtrim: trims discard data, for which Fathom has no operation",
        ),
        (
            "rw=read:8",
            "rw=read:8: an access order that jumps after every so many operations is not expressed",
        ),
        (
            "rw=reed",
            "rw=reed: is not one of read, write, randread, randwrite, rw, readwrite, randrw",
        ),
        (
            "bs=4x",
            "bs=4x: `4x` ends in `x`, which is no unit of a size as fio writes it (k kb ki kib and the same for m g t p, or %); write for example 4k, 0x1000 or 50%",
        ),
        ("bs=", "bs=: needs a value"),
        (
            "bsrange=4k-8k",
            "bsrange=4k-8k: sizes drawn evenly from a range are not expressed; name them with shares in bssplit",
        ),
        (
            "random_distribution=zipf:1.2,pareto:0.3",
            "random_distribution=zipf:1.2,pareto:0.3: reads and writes are drawn from one distribution",
        ),
        (
            "random_distribution=zipf:1.2:0.5",
            "random_distribution=zipf:1.2:0.5: the centre cannot be chosen; fio spreads the hot blocks by a hash, so that it hardly matters",
        ),
        ("direct", "direct: needs a value"),
        ("direct=2", "direct=2: is neither 0 nor 1"),
        (
            "ioengine=rbd",
            "ioengine=rbd: is not one of posixaio, psync, sync, vsync, pvsync, pvsync2, io_uring, libaio, mmap, null",
        ),
        (
            "startdelay=5",
            "startdelay=5: all jobs of a stage start together",
        ),
        (
            "create_only=1",
            "create_only=1: a run measures; it does not only make files",
        ),
        (
            "lockfile=exclusive",
            "lockfile=exclusive: locks of files as a whole are not expressed; fathom run --lock-mode locks each operation",
        ),
        (
            "allow_mounted_write=1",
            "allow_mounted_write=1: Fathom never writes to what is mounted",
        ),
        (
            "max_latency=10ms",
            "max_latency=10ms: a run is not ended by a slow operation; it is in the record, and a gate can judge it",
        ),
        (
            "write_hist_log=x",
            "write_hist_log=x: no such file is written; the record holds every interval and the whole histogram",
        ),
        (
            "random_distribution=zoned:60/10:40/90",
            "random_distribution=zoned:60/10:40/90: is not one of random, zipf:THETA, pareto:H, normal:DEVIATION; zones and sequences are not expressed",
        ),
        (
            "fallocate=truncate",
            "fallocate=truncate: is not one of none, 0, native, posix, keep, 1",
        ),
        (
            "no_such_thing=1",
            "\"no_such_thing\" is no option of fio, or one of an engine that Fathom does not have",
        ),
    ] {
        assert_eq!(refused_line(line), expected);
    }
}

#[test]
fn a_value_that_a_job_replaces_is_not_read_but_one_that_it_completes_is_refused() {
    assert_eq!(
        setting(
            "[global]\nioengine=rbd\nsize=1m\n[j]\nioengine=libaio\n",
            "engine"
        ),
        "libaio"
    );
    assert_eq!(
        refusal("[global]\nbs=16k\nsize=1m\n[j]\nbs=,8k\n"),
        "job.fio:5: bs=,8k: leaves a direction to an earlier value of the same option; write all directions"
    );
}

#[test]
fn direct_and_buffered_and_both_shares_of_a_mix_go_by_the_last() {
    assert_eq!(
        setting("[j]\nsize=1m\ndirect=1\nbuffered=1\n", "direct"),
        "false"
    );
    assert_eq!(setting("[j]\nsize=1m\nbuffered=0\n", "direct"), "true");
    assert_eq!(
        setting(
            "[j]\nsize=1m\nrw=rw\nrwmixwrite=30\nrwmixread=60\n",
            "read-percent"
        ),
        "60"
    );
    assert_eq!(
        setting(
            "[j]\nsize=1m\nrw=rw\nrwmixread=60\nrwmixwrite=30\n",
            "read-percent"
        ),
        "70"
    );
}

#[test]
fn logs_are_named_as_asked_or_after_their_section() {
    let jobs = parse("[global]\nsize=1m\nlog_avg_msec=250\n[a]\nname=n\nwrite_bw_log\nwrite_lat_log=l\nnumjobs=2\ngroup_reporting\n[b]\nwrite_iops_log=i\nper_job_logs=0\n").unwrap();
    let logs =
        |bandwidth: Option<&str>, iops: Option<&str>, latency: Option<&str>, merged| FioLogs {
            bandwidth: bandwidth.map(str::to_owned),
            iops: iops.map(str::to_owned),
            latency: latency.map(str::to_owned),
            merged,
            average_ms: Some(250),
        };
    assert_eq!(
        jobs.logs,
        [
            logs(Some("a"), None, Some("l"), false),
            logs(None, Some("i"), None, true)
        ]
    );
    assert!(
        phases(&jobs)[0].workload.worker_series,
        "each clone has logs of its own"
    );
    let line =
        parse_command_line(&words("--name=a --size=1m --write_bw_log b"), &outside()).unwrap();
    assert_eq!(line.logs[0].bandwidth.as_deref(), Some("b"));
}

#[test]
fn posix_aio_is_any_engine_that_fits_and_the_null_engine_opens_no_file() {
    let text = "[j]\nsize=1m\nioengine=posixaio\niodepth=16\niodepth_batch=16\n";
    assert_eq!(
        (setting(text, "engine"), setting(text, "queue-depth")),
        ("auto".into(), "16".into())
    );
    assert!(notices(text)[0].contains("POSIX AIO is threads of the C library"));
    let text = "[j]\nsize=1m\nioengine=null\nnumjobs=4\ndirect=1\nrw=randread\n";
    let read = changed(&only_workload(text));
    assert!(
        !read
            .iter()
            .any(|option| option.starts_with("direct") || option.starts_with("file-distribution")),
        "{read:?}"
    );
    assert!(
        read.contains(&"total-bytes=4m".to_owned()) && read.contains(&"no-repeat=true".to_owned()),
        "{read:?}"
    );
}

#[test]
fn distributions_are_scattered_and_their_difference_is_said() {
    let text = "[j]\nsize=1m\nrw=randread\nrandom_distribution=zipf:1.1\n";
    let read = changed(&only_workload(text));
    assert_eq!(
        read[1..6],
        [
            "read-percent=100",
            "random=true",
            "distribution=zipf",
            "zipf-theta=1.1",
            "scatter=true"
        ]
    );
    assert_eq!(
        notices(text),
        [
            "job.fio:4: random_distribution=zipf:1.1: ranks are spread over the blocks by a permutation; fio hashes them, so that some blocks \
             share a place and some are never used"
        ]
    );
    assert_eq!(
        setting(
            "[j]\nsize=1m\nrw=randread\nrandom_distribution=pareto:0.3\n",
            "pareto-h"
        ),
        "0.3"
    );
    assert!(
        !only_workload("[j]\nsize=1m\nrandom_distribution=zipf:1.1\n")
            .access
            .scatter,
        "a sequential job has no distribution"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", name in "\\PC{0,8}") {
        let _ = parse_job_file(&text, &name, &[], &outside());
        let _ = parse_command_line(&words(&text), &outside());
    }

    #[test]
    fn no_text_that_looks_like_a_job_makes_it_panic(
        lines in prop::collection::vec((0..table::OPTIONS.len(), "[0-9a-z:/,.%$\\{\\}=# -]{0,12}"), 0..12),
    ) {
        let text: String = lines.iter().map(|(row, value)| format!("{}={value}\n", table::OPTIONS[*row].name)).collect();
        let _ = parse(&format!("[j]\n{text}"));
        let args: Vec<String> = lines.iter().map(|(row, value)| format!("--{}={value}", table::OPTIONS[*row].name)).collect();
        let _ = parse_command_line(&args, &outside());
    }

    #[test]
    fn numbers_at_the_limits_do_not_overflow(
        size in prop::sample::select(vec!["0", "1", "18446744073709551615", "16383p", "4k"]),
        other in prop::sample::select(vec!["0", "1", "18446744073709551615", "16383p", "4k"]),
        option in prop::sample::select(vec!["offset", "filesize", "io_size", "number_ios", "rate", "offset_increment", "nrfiles", "bs", "randseed"]),
        clones in prop::sample::select(vec!["1", "3", "65536", "4294967295"]),
    ) {
        let _ = parse(&format!("[j]\nfilename=x\nsize={size}\n{option}={other}\nnumjobs={clones}\n[k]\n{option}={other}\nsize={size}\n"));
    }
}
