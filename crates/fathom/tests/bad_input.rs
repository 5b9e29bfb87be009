//! Bad input: exit code 2, one message that says what, where and what to do, and nothing on disk
//! has changed.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;
use ground::{Ground, NOBODY, is_root, skipped};
use insta::assert_snapshot;
use std::fs;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// `text` with what stands between two marks replaced by a word, because each machine has something
/// else there.
fn with_word(text: &str, after: &str, before: &str, word: &str) -> String {
    let (head, rest) = text
        .split_once(after)
        .unwrap_or_else(|| panic!("{after:?} is not in {text}"));
    let (_, tail) = rest
        .split_once(before)
        .unwrap_or_else(|| panic!("{before:?} is not in {text}"));
    format!("{head}{after}{word}{before}{tail}")
}

#[test]
fn an_unknown_option_is_refused_with_the_nearest_known_one() {
    let ground = Ground::new();
    assert_snapshot!(ground.refused(&["run", "f", "--queue-dept", "32"]), @r"
    unexpected argument '--queue-dept' found

      tip: a similar argument exists: '--queue-depth'
    ");
    assert_snapshot!(ground.refused(&["rum", "f"]), @r"
    unrecognized subcommand 'rum'

      tip: fathom run
    ");
}

/// What may be named is bounded where it is read, and with it the memory: an address space of 8 GiB
/// holds the most that anything takes, and not what never ends.
#[test]
fn what_never_ends_is_refused_by_every_verb_that_reads_a_file() {
    let ground = Ground::new();
    for name in ["z.csv", "z.toml", "z.fio"] {
        symlink("/dev/zero", ground.path(name)).unwrap();
    }
    let commands = [
        "quote z.csv",
        "quote z.toml",
        "lab plan z.toml",
        "lab run z.toml",
        "load ./z.toml --target http://127.0.0.1:9",
        "load upload --target https://127.0.0.1:9 --cacert /dev/zero",
        "run f --config z.toml",
        "run --fio z.fio",
        "run f --hostfile /dev/zero",
        "profile . --rows z.toml",
        "serve s3 --memory --keys /dev/zero",
        "serve share --db x.db --secret-file /dev/zero",
        "check /dev/zero",
    ];
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let mut limited = ground.within("ulimit -v 8388608", &words);
        let ended = limited.output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            message.contains("there is more in it than the "),
            "{command}: {message}"
        );
        assert!(
            matches!(ended.status.code(), Some(1 | 2)),
            "{command}: {:?}",
            ended.status
        );
    }
}

#[test]
fn of_a_file_that_holds_something_else_not_every_line_is_told() {
    let ground = Ground::new();
    ground.write("words.jsonl", "no record\n".repeat(3000));
    let ended = ground.command(&["audit", "words.jsonl"]).output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 22, "{message}");
    assert_eq!(
        lines[0],
        "warning: words.jsonl: 3000 damaged lines, of which the first 19 and the last are told"
    );
    assert!(
        lines[20].contains(", line 3000 is skipped"),
        "{}",
        lines[20]
    );
    assert!(lines[21].contains("holds no records"), "{}", lines[21]);
}

#[test]
fn values_that_cannot_be_read_are_refused_with_an_example() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --file-size 12q",
        "run f --block-size 0",
        "run f --block-size 4k/60:8k/30",
        "run f --block-size 4k/50:6k/50",
        "run f --duration tomorrow",
        "run f --cpu-cores 3-1",
        "run f --numa-zones 0,,1",
        "run f --threads 0",
        "run f --read-percent 101",
        "run f --rate-iops fast",
        "run f --zipf-theta 9",
        "run f --engine uring",
        "run f --distribution normal",
        "run f --fadvise quick",
        "run f --engine mmap --madvise quick",
        "run f --verify-pattern fives",
        "run f --show-percentiles=50,101",
        "run f --series-interval 1ms",
        "run f --live-interval 1ms",
        "run --engine sim --sim-model latency=fast",
        "run",
    ];
    assert_snapshot!(ground.refusals(commands), @r#"
    $ fathom run f --file-size 12q
    --file-size: `12q` ends in `q`, which is no unit of a size (k m g t p e or KiB MiB … for powers of 1024, kB MB GB … for powers of 1000); write for example 4k, 4KiB or 1.5G
    $ fathom run f --block-size 0
    --block-size: a block of 0 B is outside 1 byte to 1 GiB
    $ fathom run f --block-size 4k/60:8k/30
    --block-size: the weights of "4k/60:8k/30" add to 90, not 100
    $ fathom run f --block-size 4k/50:6k/50
    --block-size: 6 KiB is not a multiple of the smallest block, 4 KiB
    $ fathom run f --duration tomorrow
    --duration: `tomorrow` is not a duration: expected a number and an optional unit; write for example 10s, 1.5ms or 2m
    $ fathom run f --cpu-cores 3-1
    --cpu-cores: the range `3-1` in `3-1` runs downwards; write it as 1-3
    $ fathom run f --numa-zones 0,,1
    --numa-zones: `0,,1` is not a list of ids: expected ids and ranges of ids, separated by commas; write for example 0-31 or 0,2,4-7
    $ fathom run f --threads 0
    --threads: "0" is not a whole number from 1 to 65536
    $ fathom run f --read-percent 101
    --read-percent: `101` is outside the limits of a percentage (0 to 100); write for example 70 or 70%
    $ fathom run f --rate-iops fast
    --rate-iops: `fast` is not a rate in operations per second: expected a number and an optional k, m or g; write for example 500, 10k or 0.5
    $ fathom run f --zipf-theta 9
    --zipf-theta: "9" is not a number from 0 to 3
    $ fathom run f --engine uring
    --engine: "uring" is not one of auto, sync, io_uring, libaio, mmap, null, sim, nbd, did you mean "io_uring"?
    $ fathom run f --distribution normal
    --distribution: "normal" is not one of uniform, zipf, pareto, gaussian
    $ fathom run f --fadvise quick
    --fadvise: "quick" is not one of seq, rand, willneed, dontneed, noreuse
    $ fathom run f --engine mmap --madvise quick
    --madvise: "quick" is not one of seq, rand, willneed, dontneed, hugepage, nohugepage
    $ fathom run f --verify-pattern fives
    --verify-pattern: "fives" is not one of zeros, ones, sequential, random, header
    $ fathom run f --show-percentiles=50,101
    --show-percentiles: "101" is not a number from 0 to 100; example: 50,99,99.9
    $ fathom run f --series-interval 1ms
    --series-interval must be at least 10ms
    $ fathom run f --live-interval 1ms
    --live-interval must be at least 10ms
    $ fathom run --engine sim --sim-model latency=fast
    sim model "latency=fast": `fast` is not a duration: expected a number and an optional unit; write for example 10s, 1.5ms or 2m; example: latency=100us,jitter=exponential,servers=4,stall=3s+2s
    $ fathom run
    no target; name a file, a directory, a block device or an nbd:// URL
    "#);
}

#[test]
fn batches_locks_sizes_and_errors_that_contradict_each_other_are_refused() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --read-percent 70 --write-percent 40",
        "run f --queue-depth 4 --submit-batch 5",
        "run f --queue-depth 4 --reap-batch 5",
        "run f --queue-depth 4 --lock-mode range",
        "run f --max-errors 5",
        "run f --heatmap-buckets 7",
        "run f --file-size 4k --block-size 8k",
        "run f --file-size 8k --block-size 8k --offset 4k",
        "run f --truncate-to-size",
        "run d --meta rename",
        "run d --meta create,stat --verify",
        "run d --dirs own",
        "run d --dirs shared --meta create --file-distribution partitioned",
        "run d --meta create,read",
        "run d --payload 4k",
        "run d --meta create --payload 0",
        "run d --meta create --payload 4k --file-size 4k",
        "run d --total-files 4 --num-files 4",
        "run d --num-dirs 4 --dir-depth 2",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run f --read-percent 70 --write-percent 40
    --read-percent 70 and --write-percent 40 add to 110, not 100; give one of them and the other follows
    $ fathom run f --queue-depth 4 --submit-batch 5
    --submit-batch and --reap-batch cannot exceed --queue-depth 4
    $ fathom run f --queue-depth 4 --reap-batch 5
    --submit-batch and --reap-batch cannot exceed --queue-depth 4
    $ fathom run f --queue-depth 4 --lock-mode range
    --lock-mode needs --queue-depth 1: workers that wait for a lock while they hold others would wait for ever
    $ fathom run f --max-errors 5
    --max-errors needs --continue-on-error; without it the first error ends the run
    $ fathom run f --heatmap-buckets 7
    --heatmap-buckets needs --heatmap
    $ fathom run f --file-size 4k --block-size 8k
    --block-size 8 KiB does not fit into --file-size 4 KiB
    $ fathom run f --file-size 8k --block-size 8k --offset 4k
    --block-size 8 KiB does not fit into --file-size 8 KiB after --offset 4 KiB
    $ fathom run f --truncate-to-size
    --truncate-to-size needs --file-size
    $ fathom run d --meta rename
    --meta rename acts only on files that the same run created; put create before it, or give up the files of these names that are there with --allow-destroy and the directory
    $ fathom run d --meta create,stat --verify
    --meta measures metadata operations one at a time: it takes no --queue-depth, --verify or --heatmap
    $ fathom run d --dirs own
    --dirs own says whose the directories of --meta are; add --meta, or give workers files of their own by --file-distribution per-worker
    $ fathom run d --dirs shared --meta create --file-distribution partitioned
    --dirs shared and --file-distribution partitioned both say which files are a worker's; give one of them
    $ fathom run d --meta create,read
    --meta read reads what --payload SIZE says; add that
    $ fathom run d --payload 4k
    --payload is what --meta create writes and --meta read reads; add one
    $ fathom run d --meta create --payload 0
    --payload is from 1 byte to 64 MiB; without it files hold no data, and larger files are written without --meta
    $ fathom run d --meta create --payload 4k --file-size 4k
    --file-size makes files of --meta that hold no data, and --payload says what they hold; give one of them
    $ fathom run d --total-files 4 --num-files 4
    --total-files and --num-files (a directory) both count files; give one of them
    $ fathom run d --num-dirs 4 --dir-depth 2
    --num-dirs lays directories side by side, --dir-depth and --dir-width make a tree; give one kind
    ");
}

#[test]
fn orders_paces_and_ends_that_contradict_each_other_are_refused() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --distribution zipf",
        "run f --scatter",
        "run f --random --zipf-theta 1.1",
        "run f --random --pareto-h 0.3",
        "run f --random --gaussian-center 0.3",
        "run f --random --scatter",
        "run f --rate-iops 0",
        "run f --rate-iops 10 --think-time 1ms",
        "run f --arrival poisson",
        "run f --think-every 5",
        "run f --duration 0s --block-size 4k/50:8k/50",
        "run f --duration 0s --random --distribution zipf",
        "run f --run-until-complete --warmup 1s",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run f --distribution zipf
    --distribution zipf and --scatter order random operations; add --random
    $ fathom run f --scatter
    --distribution uniform and --scatter order random operations; add --random
    $ fathom run f --random --zipf-theta 1.1
    --zipf-theta does nothing with --distribution uniform; add --distribution zipf
    $ fathom run f --random --pareto-h 0.3
    --pareto-h does nothing with --distribution uniform; add --distribution pareto
    $ fathom run f --random --gaussian-center 0.3
    --gaussian-center or --gaussian-stddev does nothing with --distribution uniform; add --distribution gaussian
    $ fathom run f --random --scatter
    --scatter spreads a hot set, and --distribution uniform has none
    $ fathom run f --rate-iops 0
    a rate must be above zero; leave the option out to run as fast as completions allow
    $ fathom run f --rate-iops 10 --think-time 1ms
    --rate-iops and --rate-bytes start operations at their intended times; --think-time would break them. Give one kind of pace
    $ fathom run f --arrival poisson
    --arrival spaces an open loop; add --rate-iops or --rate-bytes
    $ fathom run f --think-every 5
    --think-every and --think-mode need --think-time or --think-adaptive-percent
    $ fathom run f --duration 0s --block-size 4k/50:8k/50
    running until complete counts blocks of one size; give a single --block-size or an end by --duration
    $ fathom run f --duration 0s --random --distribution zipf
    running until complete uses every block once, which leaves no room for a --distribution
    $ fathom run f --run-until-complete --warmup 1s
    --warmup would use up blocks that running until complete must measure
    ");
}

#[test]
fn stonewalls_and_turns_that_contradict_the_rest_are_refused() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --wear-out",
        "run f --stonewall 1s --wear-out-limit 1s",
        "run f --stonewall 5s --wear-out --wear-out-limit 1s",
        "run f --stonewall 0",
        "run f --stonewall soon",
        "run f --stonewall 1s --duration 5s",
        "run f --stonewall 1s --warmup 5s",
        "run f --stonewall 1s --wear-out --block-size 4k/50:8k/50",
        "run f --stonewall 1s --write-percent 100 --verify --verify-when passes",
        "run f --file-distribution interleaved --random",
        "run f --file-distribution interleaved --block-size 4k/50:8k/50",
        "run f --file-distribution interleaved --block-size 47008 --file-size 94016 --threads 3 --engine null",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run f --wear-out
    --wear-out goes on after --stonewall TIME; add that
    $ fathom run f --stonewall 1s --wear-out-limit 1s
    --wear-out-limit needs --wear-out: without it nobody goes on
    $ fathom run f --stonewall 5s --wear-out --wear-out-limit 1s
    --wear-out-limit 1s is shorter than --stonewall 5s: a worker half as fast as the fastest needs as long again; give 5s or more, or drop it for ten times that
    $ fathom run f --stonewall 0
    --stonewall and --wear-out-limit are times above zero, such as 30s
    $ fathom run f --stonewall soon
    --stonewall: `soon` is not a duration: expected a number and an optional unit; write for example 10s, 1.5ms or 2m
    $ fathom run f --stonewall 1s --duration 5s
    --duration and --stonewall both end the run by time; give one of them
    $ fathom run f --stonewall 1s --warmup 5s
    --stonewall counts from the first operation; drop --warmup
    $ fathom run f --stonewall 1s --wear-out --block-size 4k/50:8k/50
    --wear-out counts operations of one size; give a single --block-size
    $ fathom run f --stonewall 1s --write-percent 100 --verify --verify-when passes
    --stonewall would cut a pass of --verify-when passes, which then could not be read back; use --verify-when later
    $ fathom run f --file-distribution interleaved --random
    --file-distribution interleaved is an order of its own: worker by worker, block by block; drop --random, or use partitioned
    $ fathom run f --file-distribution interleaved --block-size 4k/50:8k/50
    --file-distribution interleaved gives workers blocks of one size by turns; give a single --block-size
    $ fathom run f --file-distribution interleaved --block-size 47008 --file-size 94016 --threads 3 --engine null
    2 blocks of 45.9 KiB are fewer than the 3 workers that would share them (group 0); lower --threads or raise --file-size
    ");
}

#[test]
fn data_that_could_not_be_written_or_verified_as_asked_is_refused() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --write-percent 50 --compress-percent 50 --verify",
        "run f --write-percent 50 --dedupe-percent 50 --write-pattern zeros",
        "run f --write-percent 50 --write-pattern zeros --verify",
        "run f --block-size 1000 --verify --verify-pattern header",
        "run f --fsync 1",
        "run f --fdatasync 1",
        "run f --end-fsync",
        "run f --write-pattern ones",
        "run f --compress-percent 50",
        "run f --dedupe-percent 50",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run f --write-percent 50 --compress-percent 50 --verify
    --compress-percent and --dedupe-percent shape random unverified data; drop --verify and --write-pattern
    $ fathom run f --write-percent 50 --dedupe-percent 50 --write-pattern zeros
    --compress-percent and --dedupe-percent shape random unverified data; drop --verify and --write-pattern
    $ fathom run f --write-percent 50 --write-pattern zeros --verify
    with --verify the written content is --verify-pattern; drop --write-pattern
    $ fathom run f --block-size 1000 --verify --verify-pattern header
    --verify-pattern header needs blocks that are multiples of 512 bytes
    $ fathom run f --fsync 1
    --fsync concerns writes, and this workload only reads; add --write-percent
    $ fathom run f --fdatasync 1
    --fdatasync concerns writes, and this workload only reads; add --write-percent
    $ fathom run f --end-fsync
    --end-fsync concerns writes, and this workload only reads; add --write-percent
    $ fathom run f --write-pattern ones
    --write-pattern concerns writes, and this workload only reads; add --write-percent
    $ fathom run f --compress-percent 50
    --compress-percent concerns writes, and this workload only reads; add --write-percent
    $ fathom run f --dedupe-percent 50
    --dedupe-percent concerns writes, and this workload only reads; add --write-percent
    ");
}

#[test]
fn options_that_an_engine_cannot_serve_are_refused_one_by_one() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run f --engine sync --queue-depth 32",
        "run f --engine mmap --queue-depth 2",
        "run f --engine sync --sqpoll",
        "run f --engine libaio --iopoll",
        "run f --engine sync --fixed-buffers",
        "run f --engine sync --no-fixed-files",
        "run f --engine io_uring --iopoll",
        "run f --engine mmap --direct",
        "run f --engine mmap --write-percent 50 --sync",
        "run f --engine mmap --write-percent 50 --dsync",
        "run f --engine sync --madvise rand",
        "run f --engine sync --sim-model latency=5us",
        "run f --engine nbd",
        "run nbd://localhost/x --engine sync",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run f --engine sync --queue-depth 32
    --engine sync holds one operation at a time, --queue-depth 32 cannot be reached; use --engine io_uring or libaio, or more --threads
    $ fathom run f --engine mmap --queue-depth 2
    --engine mmap holds one operation at a time, --queue-depth 2 cannot be reached; use --engine io_uring or libaio, or more --threads
    $ fathom run f --engine sync --sqpoll
    --sqpoll: only io_uring has this; add --engine io_uring
    $ fathom run f --engine libaio --iopoll
    --iopoll: only io_uring has this; add --engine io_uring
    $ fathom run f --engine sync --fixed-buffers
    --fixed-buffers and --no-fixed-buffers: only io_uring has this; add --engine io_uring
    $ fathom run f --engine sync --no-fixed-files
    --fixed-files and --no-fixed-files: only io_uring has this; add --engine io_uring
    $ fathom run f --engine io_uring --iopoll
    --iopoll polls the device, so it needs --direct
    $ fathom run f --engine mmap --direct
    --engine mmap works through the page cache, --direct bypasses it; drop one of them
    $ fathom run f --engine mmap --write-percent 50 --sync
    --sync and --dsync act on write calls, and mmap makes none; use --fsync N, which flushes the mapping
    $ fathom run f --engine mmap --write-percent 50 --dsync
    --sync and --dsync act on write calls, and mmap makes none; use --fsync N, which flushes the mapping
    $ fathom run f --engine sync --madvise rand
    --madvise advises a mapping; add --engine mmap
    $ fathom run f --engine sync --sim-model latency=5us
    --sim-model describes the device of --engine sim
    $ fathom run f --engine nbd
    --engine nbd does not fit the target; nbd:// URLs need --engine nbd or auto, and nothing else does
    $ fathom run nbd://localhost/x --engine sync
    --engine sync does not fit the target; nbd:// URLs need --engine nbd or auto, and nothing else does
    ");
}

#[test]
fn an_engine_without_files_refuses_every_option_of_files() {
    let ground = Ground::new();
    let commands: &[&str] = &[
        "run --engine null --verify",
        "run --engine sim --verify",
        "run --engine null --direct",
        "run --engine null --write-percent 50 --sync",
        "run --engine null --write-percent 50 --dsync",
        "run --engine sim --cache cold",
        "run --engine null --fadvise rand",
        "run --engine null --lock-mode full",
        "run --engine null --refill",
        "run --engine null --preallocate",
        "run --engine null --file-size 1M --truncate-to-size",
        "run --engine null --meta create",
        "run --engine null --num-files 3",
        "run --engine null --file-distribution per-worker",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run --engine null --verify
    --engine null stores nothing, so there is nothing to verify
    $ fathom run --engine sim --verify
    --engine sim stores nothing, so there is nothing to verify
    $ fathom run --engine null --direct
    --direct concerns files, and --engine null uses none
    $ fathom run --engine null --write-percent 50 --sync
    --sync concerns files, and --engine null uses none
    $ fathom run --engine null --write-percent 50 --dsync
    --dsync concerns files, and --engine null uses none
    $ fathom run --engine sim --cache cold
    --cache concerns files, and --engine sim uses none
    $ fathom run --engine null --fadvise rand
    --fadvise concerns files, and --engine null uses none
    $ fathom run --engine null --lock-mode full
    --lock-mode concerns files, and --engine null uses none
    $ fathom run --engine null --refill
    --refill concerns files, and --engine null uses none
    $ fathom run --engine null --preallocate
    --preallocate concerns files, and --engine null uses none
    $ fathom run --engine null --file-size 1M --truncate-to-size
    --truncate-to-size concerns files, and --engine null uses none
    $ fathom run --engine null --meta create
    --meta concerns files, and --engine null uses none
    $ fathom run --engine null --num-files 3
    --num-files concerns files, and --engine null uses none
    $ fathom run --engine null --file-distribution per-worker
    --file-distribution per-worker concerns files, and --engine null uses none
    ");
}

#[test]
fn sizes_that_the_target_does_not_have_are_refused() {
    let ground = Ground::new();
    ground.write("small", "six by");
    let commands: &[&str] = &[
        "run small",
        "run small --block-size 3 --offset 4",
        "run new --file-size 1M --no-refill",
        "run small --file-size 1M --no-refill",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run small
    small has 6 bytes, less than one block of 4 KiB at --offset 0 B; lower these, or choose a longer target
    $ fathom run small --block-size 3 --offset 4
    small has 6 bytes, less than one block of 3 B at --offset 4 B; lower these, or choose a longer target
    $ fathom run new --file-size 1M --no-refill
    new holds nothing to read, and --no-refill forbids to write it; drop --no-refill
    $ fathom run small --file-size 1M --no-refill
    small has 6 of 1048576 bytes and --no-refill forbids to write the rest; give --file-size 6
    ");
}

#[test]
fn placement_on_what_the_machine_lacks_is_refused_and_says_what_it_has() {
    let ground = Ground::new();
    let cpu = ground.refused(&["run", "f", "--file-size", "1M", "--cpu-cores", "4096"]);
    assert_snapshot!(with_word(&cpu, "this machine has CPUs ", ", not", "[CPUS]"), @"--cpu-cores 4096: this machine has CPUs [CPUS], not 4096; choose among them, or map the list onto them with --affinity best-effort");
    let node = ground.refused(&["run", "f", "--file-size", "1M", "--numa-zones", "1000"]);
    assert_snapshot!(with_word(&node, "this machine has NUMA nodes ", ", not", "[NODES]"), @"--numa-zones 1000: this machine has NUMA nodes [NODES], not 1000; choose among them, or map the list onto them with --affinity best-effort");
}

/// Whether files of a directory can be opened past the page cache, and the file system says how
/// they must be aligned.
fn aligned_direct(ground: &Ground) -> bool {
    ground.write("probe", "");
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(sys::direct_flag())
        .open(ground.path("probe"));
    fs::remove_file(ground.path("probe")).unwrap();
    file.is_ok_and(|file| sys::direct_alignment(&file).is_some_and(|(_, offset)| offset > 1))
}

#[test]
fn direct_io_off_its_alignment_is_refused_on_new_and_on_present_files() {
    let ground = Ground::new();
    if !aligned_direct(&ground) {
        return skipped("a build directory on a file system with aligned O_DIRECT");
    }
    let sector = |text: String| with_word(&text, "is not a multiple of ", " bytes", "[SECTOR]");
    let direct = ["run", "f", "--file-size", "1M", "--direct"];
    let blocks = sector(ground.refused(&[&direct[..], &["--block-size", "1000"]].concat()));
    assert_snapshot!(blocks, @"--block-size 1000 is not a multiple of [SECTOR] bytes, the sector of the device under the target, which --direct needs");
    let offset = sector(ground.refused(&[&direct[..], &["--offset", "100"]].concat()));
    assert_snapshot!(offset, @"--offset 100 is not a multiple of [SECTOR] bytes, the sector of the device under the target, which --direct needs");
    ground.write("f", vec![1; 1 << 20]);
    assert_eq!(
        sector(ground.refused(&[&direct[..], &["--block-size", "1000"]].concat())),
        blocks
    );
    assert_eq!(
        sector(ground.refused(&[&direct[..], &["--offset", "100"]].concat())),
        offset
    );
}

#[test]
fn direct_io_in_memory_is_refused() {
    let ground = Ground::new();
    let in_memory = fs::read_to_string("/proc/mounts")
        .unwrap()
        .lines()
        .any(|line| line.contains(" /dev/shm tmpfs "));
    if !in_memory {
        return skipped("a tmpfs at /dev/shm");
    }
    let target = format!("/dev/shm/fathom-test-{}", std::process::id());
    assert_snapshot!(ground.refused(&["run", &target, "--direct", "--file-size", "1M"]), @"--direct bypasses the page cache, but the target lies on tmpfs, which is the page cache; choose a target on a disk or drop --direct");
    assert!(!Path::new(&target).exists());
}

#[test]
fn a_directory_or_anything_else_that_is_no_storage_is_refused() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    ground.write("f", "content");
    let commands: &[&str] = &[
        "run d --file-size 1M",
        "run f --num-files 3",
        "run no/such/file --file-size 1M",
        "run f/x --file-size 1M",
        "run d f --file-size 1M",
        "run /dev/tty --write-percent 100 --file-size 1M",
        "run /proc/self/comm --write-percent 100 --file-size 1M",
        "run job.fio --file-size 1M",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run d --file-size 1M
    d is a directory, and a file is meant; name a file in it, e.g. d/fathom.dat, or say how many files it should hold with --num-files N
    $ fathom run f --num-files 3
    f is a file, and --num-files, --num-dirs, --meta and their like need a directory
    $ fathom run no/such/file --file-size 1M
    no/such/file cannot be created, its directory does not exist; run `mkdir -p no/such`
    $ fathom run f/x --file-size 1M
    cannot look at f/x: Not a directory (os error 20); a part of this path is a file: check the spelling
    $ fathom run d f --file-size 1M
    d is a directory, and a file is meant; name a file in it, e.g. d/fathom.dat, or say how many files it should hold with --num-files N
    $ fathom run /dev/tty --write-percent 100 --file-size 1M
    /dev/tty is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    $ fathom run /proc/self/comm --write-percent 100 --file-size 1M
    /proc/self/comm lies on proc, an interface of the kernel, not storage; name a file on a disk
    $ fathom run job.fio --file-size 1M
    job.fio is named like a job file of fio, which --fio job.fio runs; a target needs another name
    ");
}

/// The program as a user whom permissions bind; `None` where that user cannot reach it.
fn as_user_without_rights(ground: &Ground, args: &[&str]) -> Option<Command> {
    let bound = |mut command: Command| {
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let reached = bound(ground.command(&["--version"]))
        .output()
        .is_ok_and(|output| output.status.success());
    reached.then(|| bound(ground.command(args)))
}

#[test]
fn missing_permission_is_refused_by_name() {
    let ground = Ground::new();
    for (name, mode) in [("closed", 0o000), ("read-only", 0o444)] {
        ground.write(name, vec![1; 1 << 20]);
        fs::set_permissions(ground.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, mode) in [("closed-dir", 0o000), ("read-only-dir", 0o555)] {
        fs::create_dir(ground.path(name)).unwrap();
        fs::set_permissions(ground.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(ground.path("open-dir")).unwrap();
    fs::set_permissions(ground.path("open-dir"), fs::Permissions::from_mode(0o777)).unwrap();
    let commands: &[&str] = &[
        "run closed",
        "run closed --write-percent 100",
        "run read-only --write-percent 100 --allow-destroy read-only",
        "run read-only-dir/f --file-size 1M",
        "run closed-dir/f --file-size 1M",
        "run open-dir/first read-only-dir/second --file-size 1M",
        "run open-dir/f --file-size 1M --records read-only-dir/r.jsonl",
        "run open-dir/f --file-size 1M --json-output read-only",
    ];
    let mut messages = String::new();
    for line in commands {
        let args: Vec<&str> = line.split(' ').collect();
        let Some(mut command) = as_user_without_rights(&ground, &args) else {
            return skipped("a build directory that other users can reach");
        };
        messages += &format!("$ fathom {line}\n{}\n", ground.refused_by(&mut command));
    }
    assert_snapshot!(messages, @r"
    $ fathom run closed
    cannot open closed: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run closed --write-percent 100
    cannot open closed: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run read-only --write-percent 100 --allow-destroy read-only
    cannot open for writing read-only: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run read-only-dir/f --file-size 1M
    cannot open for writing read-only-dir/f: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run closed-dir/f --file-size 1M
    cannot look at closed-dir/f: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run open-dir/first read-only-dir/second --file-size 1M
    cannot open for writing read-only-dir/second: Permission denied (os error 13); run as a user who may, or choose another target
    $ fathom run open-dir/f --file-size 1M --records read-only-dir/r.jsonl
    cannot write read-only-dir/r.jsonl: Permission denied (os error 13); choose another place
    $ fathom run open-dir/f --file-size 1M --json-output read-only
    cannot write read-only: Permission denied (os error 13); choose another place
    ");
    // Else the directory could not be removed by its owner.
    fs::set_permissions(ground.path("closed-dir"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_run_that_cannot_start_removes_what_it_made() {
    let ground = Ground::new();
    let Some(nobody) = as_user_without_rights(&ground, &[]).filter(|_| is_root()) else {
        return skipped("root, and a build directory that other users can reach");
    };
    fs::set_permissions(ground.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    let limited = format!(
        "ulimit -l 64; exec {} run d --num-files 2 --num-dirs 2 --file-size 1M --engine io_uring --queue-depth 64 --fixed-buffers",
        nobody.get_program().display()
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &limited])
        .current_dir(ground.path("."))
        .uid(NOBODY)
        .gid(NOBODY);
    let message = ground.refused_by(&mut command);
    assert!(message.starts_with("io_uring refuses"), "{message}");
}

#[test]
fn a_foreign_file_is_not_written_to_unless_it_is_named() {
    let ground = Ground::new();
    ground.write("foreign", "written by somebody else\n");
    ground.write("other", "another file\n");
    symlink("foreign", ground.path("link")).unwrap();
    let write = [
        "--write-percent",
        "100",
        "--block-size",
        "1",
        "--total-bytes",
        "10",
    ];
    let refused = |target: &str, more: &[&str]| {
        ground.refused(&[&["run", target], &write[..], more].concat())
    };
    assert_snapshot!(refused("foreign", &[]), @"foreign holds 25 bytes that Fathom did not write, data of an unknown kind (first byte at offset 0); choose another file, or, if its content may be destroyed, add --allow-destroy foreign");
    assert_snapshot!(refused("link", &[]), @"link holds 25 bytes that Fathom did not write, data of an unknown kind (first byte at offset 0); choose another file, or, if its content may be destroyed, add --allow-destroy link");
    assert_eq!(
        refused("foreign", &["--allow-destroy", "other"]),
        refused("foreign", &[]),
        "another path is no permission"
    );
    assert_eq!(
        refused("link", &["--allow-destroy", "other"]),
        refused("link", &[])
    );
    assert_snapshot!(ground.refused(&["run", "foreign", "--file-size", "1M"]), @"foreign: 100 % of 1048576 bytes are holes or beyond its end (1048551 bytes), so reads would measure no storage, and the file is not Fathom's to fill; give --file-size within its 25 bytes, fill it with --allow-destroy foreign, or measure the holes with --no-refill");

    let before = ground.read("foreign");
    let inode = fs::metadata(ground.path("foreign")).unwrap().ino();
    ground
        .fathom(
            &[
                &["run", "link"],
                &write[..],
                &["--allow-destroy", "foreign", "--no-live"],
            ]
            .concat(),
        )
        .expect(0);
    let after = ground.read("foreign");
    assert_eq!(fs::metadata(ground.path("foreign")).unwrap().ino(), inode);
    assert_eq!(after.len(), before.len());
    assert_ne!(
        after[..10],
        before[..10],
        "it was named, so it was written to"
    );
    assert_eq!(after[10..], before[10..], "10 bytes were asked for");
    assert_eq!(ground.read("other"), b"another file\n");
}

#[test]
fn a_foreign_file_is_read_without_being_changed() {
    let ground = Ground::new();
    ground.write("foreign", vec![7; 1 << 20]);
    let before = ground.tree();
    ground
        .fathom(&["run", "foreign", "--random", "--total-bytes", "1M"])
        .expect(0);
    assert_eq!(ground.tree(), before);
}

#[test]
fn results_that_could_not_be_written_stop_the_run_before_it_starts() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    let mut messages = String::new();
    for option in [
        "--output",
        "--records",
        "--json-output",
        "--csv-output",
        "--json-histogram",
        "--hdr-log",
        "--export-layout-manifest",
    ] {
        let message = ground.refused(&[
            "run",
            "f",
            "--file-size",
            "1M",
            "--duration",
            "60s",
            option,
            "none/result",
        ]);
        assert_eq!(
            ground.refused(&[
                "run",
                "f",
                "--file-size",
                "1M",
                "--duration",
                "60s",
                option,
                "d"
            ]),
            "cannot write d: it is a directory; name a file in it"
        );
        messages += &format!("{option}: {message}\n");
    }
    assert_snapshot!(messages, @r"
    --output: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --records: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --json-output: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --csv-output: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --json-histogram: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --hdr-log: cannot write none/result: its directory does not exist; run `mkdir -p none`
    --export-layout-manifest: cannot write none/result: its directory does not exist; run `mkdir -p none`
    ");
}

#[test]
fn a_broken_configuration_is_refused_with_its_place() {
    let ground = Ground::new();
    ground.write(
        "broken.toml",
        "target = \"f\"\nfile-size = \"1M\"\nqueue-depth = = 3\n",
    );
    ground.write("unknown.toml", "target = \"f\"\nqueue-dept = 3\n");
    ground.write(
        "phase.toml",
        "target = \"f\"\n[[phase]]\nname = \"load\"\nthreads = 0\n",
    );
    ground.write("table.toml", "phase = 3\n");
    let commands: &[&str] = &[
        "run --config broken.toml",
        "run --config unknown.toml",
        "run --config phase.toml",
        "run --config table.toml",
        "run --config none.toml",
    ];
    assert_snapshot!(ground.refusals(commands), @r#"
    $ fathom run --config broken.toml
    broken.toml:3: extra `=`, expected nothing
    $ fathom run --config unknown.toml
    unknown.toml:2: unknown option "queue-dept", did you mean "queue-depth"?
    $ fathom run --config phase.toml
    phase.toml:4: phase load: --threads: "0" is not a whole number from 1 to 65536
    $ fathom run --config table.toml
    table.toml:1: --phase: must be written as [[phase]] tables
    $ fathom run --config none.toml
    cannot read none.toml: No such file or directory (os error 2)
    "#);
}

#[test]
fn a_fio_job_that_cannot_be_run_as_written_is_refused_with_file_and_line() {
    let ground = Ground::new();
    ground.write(
        "unknown.fio",
        "[global]\nsize=1m\n[a]\nfilename=f\nfrobnicate=1\n",
    );
    ground.write("value.fio", "[a]\nfilename=f\nsize=1m\nrw=tango\n");
    ground.write("refused.fio", "[a]\nfilename=f\nsize=1m\nioengine=rados\n");
    let commands: &[&str] = &[
        "run --fio unknown.fio",
        "run --fio value.fio",
        "run --fio refused.fio",
        "run --fio none.fio",
        "run f --fio value.fio",
        "run -- --name=a --filename=f --size=1m --frobnicate=1",
    ];
    assert_snapshot!(ground.refusals(commands), @r#"
    $ fathom run --fio unknown.fio
    unknown.fio:5: "frobnicate" is no option of fio, or one of an engine that Fathom does not have
    $ fathom run --fio value.fio
    value.fio:4: rw=tango: is not one of read, write, randread, randwrite, rw, readwrite, randrw
    $ fathom run --fio refused.fio
    refused.fio:4: ioengine=rados: is not one of posixaio, psync, sync, vsync, pvsync, pvsync2, io_uring, libaio, mmap, null
    $ fathom run --fio none.fio
    cannot read the job file none.fio: No such file or directory (os error 2)
    $ fathom run f --fio value.fio
    f is beside a fio job, which names its own files; write filename=f into the job
    $ fathom run -- --name=a --filename=f --size=1m --frobnicate=1
    argument 4: "frobnicate" is no option of fio, or one of an engine that Fathom does not have
    "#);
}

#[test]
fn the_second_name_refuses_the_same() {
    let ground = Ground::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iopulse"));
    command
        .args(["f", "--file-size", "12q"])
        .current_dir(ground.path("."));
    assert_eq!(
        ground.refused_by(&mut command),
        ground.refused(&["run", "f", "--file-size", "12q"])
    );
}
