//! Rules of a record against its own accounts and settings.

use super::RuleText;
use crate::Severity;

pub(super) const RULES: [RuleText; 20] = [
    RuleText {
        id: "bytes_and_blocks",
        catalogue_number: Some(59),
        severity: Severity::Invalid,
        title: "Bytes, operations and latencies of a kind contradict each other",
        text: "\
For each kind of operation: the bytes must lie between the count times the smallest and
times the largest transfer, no transfer may exceed the one block size, and every
operation must have exactly one latency in the histogram.
These counters are kept apart on purpose, so that one can catch the other. 100,001
operations of 4096 bytes are 409,604,096 bytes; a record with 409,604,095 has lost a
byte somewhere, and then no other number of it can be trusted either: the same fault may
have lost an operation in ten.
What to do: do not use the record, and report it as a bug with the record attached.",
    },
    RuleText {
        id: "clock_drift",
        catalogue_number: Some(61),
        severity: Severity::Warning,
        title: "The clock of the run and the kernel's clock moved apart",
        text: "\
The clock that timed the operations is compared with CLOCK_MONOTONIC at both ends of the
run (calibration.clock_drift_ns). More than 1 ms, and more than the 500 parts in a
million by which the kernel slews its clock, is found.
Rates and latencies are differences of this clock. If it stepped by 40 ms within 10 s,
the rate is wrong by 0.4 %, and one operation seems to have taken 40 ms: enough to move
a p99.9. Suspended laptops, migrated virtual machines and broken time stamp counters do
it.
What to do: check the clock source of the machine (clocksource in sysfs), keep it from
sleeping or migrating, and repeat the run.",
    },
    RuleText {
        id: "depth_not_reached",
        catalogue_number: Some(16),
        severity: Severity::Invalid,
        title: "Fewer operations were in flight than the queue depth asked for",
        text: "\
The mean number in flight a worker (generator.in_flight_ns over worker_ns; for foreign
records rate times mean latency, by Little's law) is compared with the effective queue-
depth. Below 80 % is found, unless pauses or a schedule explain it; with flushes, which
wait for all before them, it is a warning.
A depth is an upper bound, not a fact. 4061 operations of 0.25 ms a second at \"depth 8\"
are 1.02 in flight: the engine worked at depth 1 and the row measures that. Such a row
seems to show that depth does not help, when it was never tried.
What to do: call the result by the depth that was reached. A smaller --reap-batch keeps
the queue fuller; cached files and flushes complete inline and empty it, so use
--direct.",
    },
    RuleText {
        id: "device_disagrees",
        catalogue_number: Some(6),
        severity: Severity::Invalid,
        title: "The block device counted other bytes than the run",
        text: "\
Direct I/O is counted twice: by the run, and by the kernel for the block device under
the target (devices[0].read_bytes and written_bytes). A ratio outside 0.9 to 1.1 is
found beyond 1 MiB of slack. Invalid if the device saw less, a warning if it saw more.
If the application says 324 MiB/s and the device 32, a layer between them answered: a
cache, a compressing file system, a hole in a sparse file. If the device saw more,
another process used it, or a layer amplifies, as RAID does with small writes.
What to do: for less, name the layer that you want to measure and measure it directly.
For more, stop other work on the device, or report the amplification as the result.",
    },
    RuleText {
        id: "dirty_at_end",
        catalogue_number: Some(10),
        severity: Severity::Warning,
        title: "Written data was still in memory at the end",
        text: "\
For buffered writes: how much the kernel's dirty memory grew over the run
(machine.dirty_before_bytes and dirty_after_bytes), but no more than the run itself left
unflushed, and whether any fsync or fdatasync took place or was asked for. More than 10 %
still dirty, or no flush at all, is found.
A buffered write returns when the data is in memory; the kernel writes it up to 30 s
later. Ten seconds at 1.42 GB/s \"wrote\" 14 GB into a file of 1 GB: each block was
overwritten in memory 14 times, and the device saw a fraction of it after the clock had
stopped.
What to do: put the flush inside the measured time with --end-fsync or --fsync N, or
write with --direct or --dsync.",
    },
    RuleText {
        id: "volatile_writes",
        catalogue_number: None,
        severity: Severity::Warning,
        title: "Direct writes ended in a cache that a loss of power empties",
        text: "\
For writes with O_DIRECT and without O_SYNC or O_DSYNC, to a device whose cache the kernel
calls volatile (environment.storage: write_cache is \"write back\"): whether the run flushed
at all. And where it flushed, direct or not: whether the device counted a flush
(devices.flushes). In an experiment it is a note.
O_DIRECT passes the page cache and nothing below it. A disk with 1 GiB of memory takes the
first 1 GiB at the speed of its link; a flush after each write may cost a consumer's disk
1 ms and more, fifty times the write. Both are true, of different promises.
What to do: put the flushes of the application into the measured time (--fsync N,
--end-fsync) or write with --dsync; else say that the cache was part of it.",
    },
    RuleText {
        id: "elapsed",
        catalogue_number: None,
        severity: Severity::Invalid,
        title: "The measured time is not the time in which the workers worked",
        text: "\
Each worker's start and end (workers[].started_ns, ended_ns) are held against the
measured time. Invalid if the last worker ended more than 5 % off; a warning if some
worker was absent for more than 5 %, beyond the gap of a slow one.
A rate is operations over one common time. If one of two workers stops after 6 of 10 s,
the rate mixes 6 s of two workers with 4 s of one: 20 % too low for two, 60 % too high
for one, and right for nothing.
What to do: give each worker the same amount of work, or run all of them for a fixed
--duration.",
    },
    RuleText {
        id: "inline_completion",
        catalogue_number: None,
        severity: Severity::Warning,
        title: "Operations completed while they were submitted",
        text: "\
If more than 95 % of reaps left the queue empty (generator.reaps_to_empty of reaps),
with a queue deeper than 1, buffered and not told to wait for the whole batch, every
operation ended inside its own submission.
A buffered read that hits the page cache is a copy during the submission: 32 operations
one after the other, none beside another. Throughput is that of depth 1, and the latency
of the last includes waiting for 31 copies: 32 times 2 us looks like 64 us.
What to do: measure cached access at --queue-depth 1, where it is honest, or use
--direct on a target that completes asynchronously.",
    },
    RuleText {
        id: "little_law",
        catalogue_number: Some(17),
        severity: Severity::Warning,
        title: "Rate, latency and concurrency do not fit each other",
        text: "\
By Little's law (L = X W) the rate times the mean latency is the mean number of
operations in flight. For our records that number was counted (generator.in_flight_ns);
for foreign ones it is 1 at depth 1, flushes included and unless a rate or pauses were
asked for, and at most depth times threads times hosts. More than 10 % off is found.
The law needs no assumption, so a gap is an error of measurement. 1,826,000 operations
of 0.43 us a second are 0.79 in flight at depth 1: a fifth of the time belongs to no
operation, so the latency leaves out part of it, or the rate is of another run.
What to do: trust the rate rather than the latency, use the whole latency of a tool and
not its completion part, and take both from one run.",
    },
    RuleText {
        id: "memory_target",
        catalogue_number: Some(3),
        severity: Severity::Warning,
        title: "The target lies in memory",
        text: "\
The storage under the target as the machine describes it
(environment.storage.is_memory): tmpfs, ramfs, brd, zram, pmem, null_blk or a device of
user space that is known to keep its data in memory.
Such a target has no medium: what is measured is the kernel's path, the copy and the
CPU. 26.1 GB/s \"sequential read\" on tmpfs is memcpy at 40 us a MiB; another CPU gives
another number, and neither says anything about a disk.
What to do: for storage, name a target on a disk. For the overhead of software, this is
what you want: then call it that.",
    },
    RuleText {
        id: "percentile_from_few_samples",
        catalogue_number: Some(35),
        severity: Severity::Warning,
        title: "A percentile has fewer than ten samples above it",
        text: "\
For each percentile shown, N (1 - q) samples lie above it. Below ten the percentile is
found, from the counts of the record or of the source, where it shows percentiles.
The p99 of 234 deletes is decided by the two slowest: one more slow delete moves it to
another value. A p99 needs 1000 operations, a p99.9 needs 10,000. With fewer, a
difference of a factor of 2 between two such percentiles is ordinary luck.
What to do: run longer, or quote the highest percentile that has ten samples above it.",
    },
    RuleText {
        id: "rate_not_kept",
        catalogue_number: Some(25),
        severity: Severity::Invalid,
        title: "The open loop did not start what it was asked to",
        text: "\
For paced runs the achieved rate is compared with the asked one (pace), and the
operations that were due and never started are counted. A shortfall of 5 % or 1 % unsent
is invalid; beyond 0.5 % (or the scatter of Poisson arrivals) it is a warning.
A latency at 10,000/s belongs to 10,000/s. If only 8,000/s started, the target was
overloaded or the generator starved, and a fifth of the operations that would have
waited longest were never counted: the latency shown is too good exactly where it
matters.
What to do: ask for less, allow a greater --queue-depth, or call it an overload test.",
    },
    RuleText {
        id: "served_from_cache",
        catalogue_number: Some(1),
        severity: Severity::Invalid,
        title: "The page cache answered instead of the device",
        text: "\
Of reads without O_DIRECT, the bytes that reached a device (devices[0].read_bytes or the
process's own account) must be at least half. Of another tool's runs of 1 s and more, the
most that all its devices can have read counts: their sectors, else 1280 KiB a request,
or 128 KiB, the usual read-ahead, where the file was passed over more than 1.5 times.
Among several records, a buffered result more than twice the direct result of the same
work on the same target is found as well.
A page cache is 10 to 1000 times faster than what lies below. 363,000 buffered writes a
second against 5,960 direct ones of the same command are 61 times: the first measures
memory. Both numbers are true; only one is the storage.
What to do: for the device, use --direct, or --cache cold with a file of at least twice
the memory; for the cache, say so with --cache warm.",
    },
    RuleText {
        id: "shared_random_writes",
        catalogue_number: None,
        severity: Severity::Note,
        title: "Several workers wrote the same blocks in random order",
        text: "\
More than one thread, a shared file, random offsets and writes: two workers may write
one block at the same time (effective threads, file-distribution, random).
As a load that is fine, and databases do it. What a block holds afterwards depends on
timing, though: two runs with one seed leave different files, and 4 workers that verify
what they wrote would find each other's blocks.
What to do: for comparable content use --file-distribution partitioned, for exclusion
--lock-mode range; otherwise nothing.",
    },
    RuleText {
        id: "server_disagrees",
        catalogue_number: None,
        severity: Severity::Invalid,
        title: "The server counted other requests or bytes than the load generator",
        text: "\
A server of ours shows its own counters to an admin key. They are read before and after a
load (load.server.counters), and successful requests of each kind and the bytes of bodies
are compared with what the generator counted (operations and warmup). Less on the server
is invalid. More is a warning, unless failures and retries may explain it.
Two accounts that are kept apart can catch each other. A generator that counts 100
answers where the server gave 99 counts something else than answers, and its rate and its
latencies are of that. More on the server means that somebody else used it, or that the
generator has lost operations.
What to do: let nobody else use the server during the run, and repeat it. If it stays,
report it as a bug with the record attached.",
    },
    RuleText {
        id: "short_run",
        catalogue_number: Some(28),
        severity: Severity::Warning,
        title: "The run was too short to show a steady state",
        text: "\
The measured time (elapsed_ns, or the duration that was asked for) is held against 5 s
for our own runs, a note, and against 30 s for figures that somebody published, a
warning.
Caches fill, SLC buffers empty, burst credits run out and the kernel writes back after
30 s. A drive that takes 3 GB/s for 5 s and 0.6 GB/s after 20 s is a 0.6 GB/s drive with
a buffer; 5 s show only the buffer.
What to do: run for 30 s or longer, with --warmup, and look at the series for steps
before quoting one rate.",
    },
    RuleText {
        id: "single_observation",
        catalogue_number: Some(31),
        severity: Severity::Note,
        title: "One run has no interval",
        text: "\
Every record says it of itself: it is one run, whatever its own scatter looks like.
The scatter within a run is not the scatter between runs. A run whose seconds vary by
0.3 % can differ from the next by 30 %: another placement of the file, another neighbour
on the host, another boot. Two single runs that differ by 5 % show nothing at all.
What to do: repeat in at least six fresh runs before quoting, and in randomised blocks
before comparing; fathom compare does both.",
    },
    RuleText {
        id: "starved",
        catalogue_number: Some(54),
        severity: Severity::Warning,
        title: "The generator did not get the CPU that it needed",
        text: "\
The time that workers were runnable without a CPU (workers[].run_queue_wait_ns, above 5
%), the share taken by the hypervisor (machine.steal_share, above 1 %), and the time
stopped by a CPU quota (machine.throttled_ns, above 1 %).
An operation that is finished but not yet seen counts as in flight. A worker that waits
10 % of its time for a CPU adds that wait to its latencies and takes it from its rate:
the storage seems slower than it is, most of all in the tail.
What to do: use no more --threads than idle CPUs, stop other work, raise the container's
CPU limit, or repeat when the host is quiet.",
    },
    RuleText {
        id: "verified_nothing",
        catalogue_number: Some(9),
        severity: Severity::Invalid,
        title: "Verification was asked for and nothing was checked",
        text: "\
A run with --verify must have checked at least one operation (verification.operations).
Invalid if there were reads and none was checked; a warning if there were only writes.
\"Failures: 0\" of 0 checks is true and worthless. A run of writes that puts a pattern
down proves that writes were accepted, not that anything can be read back: 100.00 %
success of nothing.
What to do: read the same target again with the same --seed and --verify-pattern:
--read-percent 100 --verify --run-until-complete.",
    },
    RuleText {
        id: "verify_cannot_tell_holes",
        catalogue_number: Some(9),
        severity: Severity::Invalid,
        title: "The verification would pass on a file that was never written",
        text: "\
The pattern that was verified (verification.pattern, or the option of a foreign record)
is zeros.
Zeros are also what a hole, a trimmed block and a fresh file give. A device that drops
every write and returns zeros passes with 100.00 %. A pattern that names its own file,
offset and generation fails on the first block that was lost, moved or is old: 1 of
262,144 in 1 GiB is enough. Where this run itself wrote the whole file, or the device saw the
reads, it is a warning.
What to do: use --verify-pattern header, which tells lost, moved and stale blocks apart,
or random.",
    },
];
