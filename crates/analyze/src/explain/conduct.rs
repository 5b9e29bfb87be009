//! Rules of how a run went by itself: its generator, its series, its data and what was below it.

use super::RuleText;
use crate::Severity;

pub(super) const RULES: [RuleText; 16] = [
    RuleText {
        id: "never_written",
        catalogue_number: Some(7),
        severity: Severity::Invalid,
        title: "Blocks that were read may never have been written",
        text: "\
Invalid if verification met holes (verification.by_kind). A warning if zeros are the
pattern, or --no-refill left holes in the target (targets.hole_bytes) or nobody looked,
and neither a fill of the whole target nor the bytes that the device counted shows that
the blocks were there.
A hole in a sparse file is read without any I/O: of a file of 1 GiB with 38 % of holes,
38 % of the random reads are copies of a page of zeros, and the average is of nothing.
Zeros also pass a verification with the pattern zeros.
What to do: write every block before reading it (--refill), and verify with a pattern
that no hole has: --verify-pattern header or random.",
    },
    RuleText {
        id: "not_steady",
        catalogue_number: Some(11),
        severity: Severity::Invalid,
        title: "The rate moved within the run",
        text: "\
The rate of each second, from 30 s on, after the warm-up that MSER-5 finds: a jump by
more than 1.25 times with 10 s on both sides; or five windows that differ by more than
20 %, or slope by more than 10 % (the limits of SNIA). A jump is invalid in a run of its
own; of an arm more than a fifth of the slots must fail. Figures from elsewhere of less
than 30 s without a series are a warning: they cannot show it.
A disk with a fast part writes 3 GB/s for 80 s and 1 GB/s after that. The mean of 120 s,
2.3 GB/s, is a speed that it never had.
What to do: write until the rate has settled (--warmup), then measure. If the burst is
what is meant, quote how long it lasts.",
    },
    RuleText {
        id: "generator_bound",
        catalogue_number: Some(21),
        severity: Severity::Invalid,
        title: "The generator, not the target, set the rate",
        text: "\
The cost of a null operation (calibration.null_operation_ns) against the time of each
operation: above half it is the instrument that is measured. CPU time of the process
against the CPUs that it may use: above 80 %. A warning where memory answers, and for
users on the target's own machine whose CPU time nobody recorded. Above 100 % the run
refutes the calibration, which was disturbed: a note, and no word against the run.
At 10,000 operations a second and worker, a null operation of 60 us is 60 % of the time:
no target whatever could show more than 1.7 times this rate.
What to do: spread the load over more --threads or machines, and compare with the null
engine at the same settings; `fathom calibrate` prints what the instrument costs.",
    },
    RuleText {
        id: "generator_late",
        catalogue_number: Some(25),
        severity: Severity::Invalid,
        title: "The generator started operations late",
        text: "\
In an open loop: how much later than intended the generator started operations for which
a connection was free (load.lateness), p99 against the p99 latency over all operations, or
the highest percentile below that ten operations lie above in both. Above 5 % it is found.
Latency counts from the intended start, so that this delay is part of it and looks like the
target's. With a p99 of 2 ms, 0.4 ms of which the generator took to wake up, a server that
is twice as fast shows 1.2 ms: its gain seems to be 1.7 times.
What to do: give the generator CPUs of its own, more --threads, or a lower rate. Until
then quote the service time, which counts from the real start.",
    },
    RuleText {
        id: "generator_stopped",
        catalogue_number: None,
        severity: Severity::Invalid,
        title: "The generator itself stood still for a time",
        text: "\
The thread that watches the workers wakes up every 20 ms. Where a wait took 100 ms longer
than it should, and neither CPU time nor waiting for a CPU explains that (the scheduler's
account of the thread), or CLOCK_BOOTTIME moved away from CLOCK_MONOTONIC, nobody ran: the
process was stopped or frozen, the machine suspended or paused (stops).
At 1000 operations a second a stop of 3 s makes 3000 operations late, the p99 of a minute
2.95 s, and the storage had no part in it. In a closed loop it is one very long operation.
What to do: repeat the run undisturbed. Other rules leave such a time out.",
    },
    RuleText {
        id: "target_on_same_host",
        catalogue_number: Some(22),
        severity: Severity::Warning,
        title: "Generator and server share a machine",
        text: "\
Addresses of targets, and the option `network`: localhost, 127.0.0.0/8, ::1, and sockets
of this machine.
Whatever the client computes, copies and caches, the server lacks. 50 users that sign and
hash uploads may take 4 of 8 cores, and a server that needs 5 then seems to be slower by
the client's appetite. The network is absent too: no interrupts, no limit, no latency.
What to do: load the server from another machine. If it must be one, give each side CPUs
of its own, and report how much the client used.",
    },
    RuleText {
        id: "paced_by_kernel",
        catalogue_number: None,
        severity: Severity::Warning,
        title: "The kernel paces what goes over loopback",
        text: "\
The machine's TCP congestion control (sysctl net.ipv4.tcp_congestion_control), the address of
the target, and the mean size of operations from 64 KiB on.
BBR sends at the rate that it believes the network to have, by timers. Over loopback there is
no network: the timers and the wake-ups are all that is left. A server that sent 1 MiB from
the page cache did 3,500 a second under BBR and 13,000 without, at a quarter of the CPU time,
and two servers may differ by how they meet the timers. Whoever sends decides: downloads are
paced by the server's side, uploads by the client's. `fathom serve s3` on loopback does not pace.
What to do: compare under cubic, on the whole machine or in a network namespace.",
    },
    RuleText {
        id: "coordinated_omission",
        catalogue_number: Some(23),
        severity: Severity::Warning,
        title: "A stall counts once where many operations would have waited",
        text: "\
In a closed loop: the longest latency times the rate against the number of samples above
the highest percentile that is shown. Found if more were due within the stall than lie
above it, and it is at least 3 times the median. A note for queues of a device, where it
must be 5 times that percentile.
Who waits asks nothing. At 342 requests a second a stall of 343 ms is one sample, where
117 requests would have been due; counted, they would have moved the p99.9.
What to do: call such percentiles those of the service. For what clients see give a rate
(--rate-iops): latency then counts from the intended start of each operation.",
    },
    RuleText {
        id: "ramp_in_percentile",
        catalogue_number: Some(26),
        severity: Severity::Warning,
        title: "One percentile over a load that changed",
        text: "\
The options `ramp` and `stages`: found if the number of users changes by more than 10 %
within the time over which percentiles are taken.
Latency follows load. A p95 over 25, 100 and again 25 users is no p95 of 25 users and
none of 100: how much of the time was spent at each decides it, which the plan of the ramp
chose and the target did not.
What to do: measure each level on its own, with the ramp as its warm-up, and give one
percentile a level.",
    },
    RuleText {
        id: "failures_in_latency",
        catalogue_number: Some(58),
        severity: Severity::Warning,
        title: "Latencies of failures are not kept apart",
        text: "\
For records from elsewhere with failures: as many latencies as successes are fine, and so
is a series of successes alone (k6: expected_response:true). Otherwise it is found. Our
own failures are never in a histogram.
A server that is overloaded refuses within 1 ms what it would serve in 100: with 5 % of
failures the median improves while the service fails. A timeout of 30 s does the reverse.
What to do: take percentiles over successes, and show failures beside them with their own
number and time.",
    },
    RuleText {
        id: "warm_up_in_data",
        catalogue_number: Some(34),
        severity: Severity::Warning,
        title: "The warm-up is part of the result",
        text: "\
The rate of each second, from 30 s on: found if the seconds that MSER-5 would cut are off
by 10 % and move the mean by 1 %. In an experiment: the first block beside the later ones,
beyond 5 deviations and 10 %. In a document: the scatter of a first iteration that is
shown apart and kept.
Caches fill, connections open, code is compiled. 10 slow seconds at half the rate take
8 % from a minute, and from each arm another 8 %.
What to do: --warmup, the same for every arm. A first block that is not counted must be
in the plan; it must not be dropped when the results are known.",
    },
    RuleText {
        id: "provider_limit",
        catalogue_number: Some(12),
        severity: Severity::Warning,
        title: "A quota was measured",
        text: "\
The limits of the own control group, within 5 %. On disks of virtual machines: a rate
that varies by less than 1 % from second to second with at least 8 in flight of 1 ms.
Where only a rate is known, operations on a volume of a provider that take 10 ms in a
queue of their own, by Little's law.
Volumes are sold by operations a second, with credit for bursts. 128 in flight at 5.96 K/s
are 21 ms each, where flash needs 0.1 and a network 0.5: they queue before the limit. An
hour later, with the credit spent, the same command gives 4.00 K/s.
What to do: look up the limits of volume and machine, quote them with the result, and
measure for longer than the credit lasts.",
    },
    RuleText {
        id: "foreign_io",
        catalogue_number: Some(55),
        severity: Severity::Warning,
        title: "Others used the device",
        text: "\
Bytes of the device against those of this run (direct) or of this process (buffered
reads): above 5 %, and above 4 MiB. Arrays that resync or check themselves
(raid_activity); for records from elsewhere also arrays of which nobody wrote it down.
What others take, the run lacks, and they take it at times of their own. An array that
checks itself reads at 100 MB/s from each of its disks, and moves their heads.
What to do: stop other work, wait until arrays are idle and trims are done, and repeat.",
    },
    RuleText {
        id: "cpu_frequency",
        catalogue_number: Some(53),
        severity: Severity::Warning,
        title: "The CPUs change their frequency",
        text: "\
The governor (cpu.governor) is another than performance, and the frequencies that it
permits differ.
A CPU that sleeps between operations takes tens of microseconds to wake and runs slowly
at first, so that a light load has longer latencies than a heavy one. At 800 instead of
3600 MHz a null operation of 0.4 us costs 1.8.
What to do: set the governor to performance for the time of the measurement; otherwise
compare only within randomised blocks, where each arm meets the same CPU.",
    },
    RuleText {
        id: "compressible_data",
        catalogue_number: Some(8),
        severity: Severity::Warning,
        title: "The data can be compressed away",
        text: "\
The pattern of what is written or verified: zeros or ones is a warning; --compress-percent
and --dedupe-percent, which were asked for, are a note.
File systems, controllers and object stores that compress keep next to nothing of 1 GiB
of zeros: a thousand to one. The medium is then written a thousandth of the time, and the
result is that of the compressor.
What to do: write random data (--write-pattern random), or data as compressible as those
of the application, and say so.",
    },
    RuleText {
        id: "hidden_layers",
        catalogue_number: Some(56),
        severity: Severity::Note,
        title: "Something lies between the target and the medium",
        text: "\
The layers of storage under the target: loop devices, arrays, mappings, network devices,
overlays; that this is a virtual machine; for records from elsewhere, that it ran in a
container.
Each layer may cache, split, copy or delay. A database in a virtual machine on an ext4
image on a loop device on a mirror of 2 disks has five of them, and a result names one.
What to do: name the layers with the number. To learn what one of them costs, measure
above and below it in the same randomised blocks.",
    },
];
