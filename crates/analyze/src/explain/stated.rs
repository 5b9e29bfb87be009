//! Rules of figures that a record or its source states.

use super::RuleText;
use crate::Severity;

pub(super) const RULES: [RuleText; 9] = [
    RuleText {
        id: "latency_below_io",
        catalogue_number: Some(5),
        severity: Severity::Invalid,
        title: "A latency shorter than any real I/O",
        text: "\
The mean latency of reads and writes, or one over the rate at depth 1: below 1 us, or
below 1.5 times the instrument's own null operation (calibration.null_operation_ns), it
is a copy. Direct or published figures below 3 us are found too. A record that says
memory or warm is warned only.
A PCIe round trip alone takes about 1 us and the fastest devices answer 4 KiB after
about 5 us. 0.43 us is 4 KiB copied within the CPU's caches; 482,000 direct reads a
second at depth 1 are 2.07 us each, which no flash can do.
What to do: for a device, use --direct on a file of at least twice the memory; otherwise
call it a test of memory or of software.",
    },
    RuleText {
        id: "label_vs_pattern",
        catalogue_number: Some(15),
        severity: Severity::Invalid,
        title: "The name says random and the offsets were sequential, or the reverse",
        text: "\
Words of the record's name, or of its row (random, rand, rnd; sequential, seq), against
the effective option `random`. Names with both words or neither are left alone.
Sequential offsets are merged, prefetched and kept in caches: on a disk they are 100
times as fast as random ones, on flash 2 to 5 times. \"4K Random Read\" with --rw=read is
a sequential result under the name of the harder test.
What to do: rename the result, or run the pattern that its name promises.",
    },
    RuleText {
        id: "pacing_bound",
        catalogue_number: Some(19),
        severity: Severity::Invalid,
        title: "The users slept instead of waiting for the target",
        text: "\
Rate times mean latency is how many users were waiting at a time. It is divided by the
users (or by threads times depth where a think time was asked for); below 20 % is found.
Of users that were allocated those count that ran: iterations a second times their mean
duration. Where only a p95 is known it stands for the mean, as an upper bound.
23.2 requests of 11.5 ms a second are 0.27 of 50 users: the other 49.7 were in the
script's sleep. The target could have done ten times as much, so the rate says nothing
about it, and two targets with the same sleep give the same rate.
What to do: take the pauses out, or give a rate in an open loop; and do not call the
latency of an idle target its latency under load.",
    },
    RuleText {
        id: "errors_as_success",
        catalogue_number: Some(57),
        severity: Severity::Invalid,
        title: "Failures stand beside a success of 100 %",
        text: "\
Failed operations of a kind against what the source calls success (a figure or a printed
text with \"success\" in its name). Without such a claim, an imported run that counts as
passed in spite of failures is a warning.
1 of 2,605 is 99.96 %, not 100 %. It matters because failures are often fast: an error
after 1 ms improves the mean of a target of 50 ms, and the arm that fails more looks
better.
What to do: show the number of failures beside the rate, find out what failed, and
compare only arms that fail equally.",
    },
    RuleText {
        id: "counts_inconsistent",
        catalogue_number: Some(59),
        severity: Severity::Invalid,
        title: "Stated counts, rates and sizes do not fit each other",
        text: "\
What a source states: operations (those that succeeded, or all that were tried) against
rate times time, bytes against bytes a second times time, bytes against operations times
the one block size, each within 10 %; and objects against requests. A time in whole
milliseconds that are rounded down may be one longer.
An object costs at least one request, so 3,014 objects from 2,605 requests cannot be:
one of the two is of another test, another time or another definition. Until it is known
which, every ratio that uses either is open.
What to do: take the figures from the raw output of the tool, and ask which of them is
not what it is called.",
    },
    RuleText {
        id: "summary_contradicts_data",
        catalogue_number: Some(48),
        severity: Severity::Invalid,
        title: "A summary says what its data do not",
        text: "\
Where a record has data and a summary of the same operations, counts must agree within 1
%. Of a document's claims, those are recomputed that name their parts: rows won by the
baseline, totals, changes in per cent of two rates.
\"Baseline wins 4 of 5\" over a table in which it wins 3, or \"100,000+ requests\" of
93,639: small errors, always in the direction of the story. Who sums up by hand has also
chosen by hand.
What to do: recompute every derived number from the data, best by a program, and quote
none that does not follow.",
    },
    RuleText {
        id: "working_set",
        catalogue_number: Some(2),
        severity: Severity::Warning,
        title: "The data fits into a cache",
        text: "\
The bytes of all targets, or file-size times files, against the CPU's L2 and L3 caches,
against 64 MiB if they were passed over more than 100 times, and, for buffered runs
without an account of the kernel, against twice the memory; where the memory is unknown,
512 MiB that were passed over more than 1.5 times are found.
4 MiB read for 10 s at 1.97 GB/s are read 4,710 times: after the first pass any cache of
4 MiB has them. 11 objects of 502 KB on a host of 125 GB are never read from a disk
twice.
What to do: use a --file-size of at least twice the memory and larger than every cache
below, or say that this is the cache.",
    },
    RuleText {
        id: "no_io",
        catalogue_number: None,
        severity: Severity::Invalid,
        title: "The engine of another tool did no I/O",
        text: "\
The effective engine of an imported record is one that completes operations without
doing them (fio's null, noop and cpuio). Records of Fathom's own null engine are not
accused: its name stands beside every number.
fio's null engine reports millions of operations a second at 0.2 us each, with a bandwidth
and percentiles like those of a disk. They are the cost of fio's own loop: a good ceiling
to hold a result against, and no result.
What to do: name an engine that does I/O (io_uring, libaio, psync), and keep the null run
as what the tool could have done at most.",
    },
    RuleText {
        id: "faster_than_medium",
        catalogue_number: Some(4),
        severity: Severity::Invalid,
        title: "A result faster than the medium or its link",
        text: "\
On a known SATA device: more than 600 MB/s, or more than 2,000 random operations a
second on a rotating disk. Among records of one target: a buffered result more than 300
times the best direct one, or 10 times one with blocks as large, as much in flight and
random order too.
No path is faster than its narrowest part. 14.67 GB/s on a volume whose best direct
result is 23.3 MB/s is 630 times; larger blocks and sequential order explain a factor of
50 on flash and 200 on a disk, not that.
What to do: measure the same block size with --direct and compare with the device's own
counters before quoting it.",
    },
];
