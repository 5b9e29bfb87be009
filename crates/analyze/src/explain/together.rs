//! Rules of several records together, and of what a document concludes from them.

use super::RuleText;
use crate::Severity;

pub(super) const RULES: [RuleText; 17] = [
    RuleText {
        id: "no_repetition",
        catalogue_number: Some(31),
        severity: Severity::Invalid,
        title: "Too few repetitions for an interval",
        text: "\
Blocks of each arm and row of a plan (trial.block), or records of each name of an
imported set. Fewer than six is invalid where a plan or a document compares, a warning
otherwise. Our own single runs say it of themselves.
From six pairs on the exact signed-rank law has a 95 % interval: with 5, even if all
differences agree, p is 0.0625. One run an arm has no interval: with a run-to-run
deviation of 15 %, two identical arms differ by more than 10 % in about two cases of
three.
What to do: repeat every arm in at least six randomised blocks of fresh runs.",
    },
    RuleText {
        id: "order_aliased",
        catalogue_number: Some(32),
        severity: Severity::Invalid,
        title: "Time and arm cannot be separated",
        text: "\
The order of the slots (trial.slot, else started_at): found if each arm ran in one
window of time, or if one arm ran before another with a probability above 0.9. Invalid
in a plan or a document, a warning for other records.
Machines drift: disks fill, caches warm, neighbours wake. If variant A ran from 20:00 to
23:00 and B from 13:00 to 19:00 next day, \"B is slower\" and \"the machine became slower\"
are one sentence. In simulation a drift to a third turns 98.7 % of identical pairs into
differences of more than 5 %.
What to do: run one slot of every arm in each block, in random order. More runs in the
same order, or leaving the first out, repair nothing.",
    },
    RuleText {
        id: "environment_differs",
        catalogue_number: Some(50),
        severity: Severity::Invalid,
        title: "Arms differ in more than one circumstance",
        text: "\
Machine, CPU, governor, memory, operating system, kernel, container, file system, mount
options, device, firmware, scheduler, and the engine beside them, compared between arms;
unknown differs from known. One part that differs is a warning, several are invalid in a
comparison.
A notebook against a server with 80 cores differs in CPU, disk, system and load at once.
The ratio of 29 is real, its cause is unknown: \"Windows is slow\", \"the disk is slow\" and
\"4 cores are few\" all fit.
What to do: change one thing at a time on one machine. If machines are what is compared,
say so, and conclude nothing about their parts.",
    },
    RuleText {
        id: "environment_unrecorded",
        catalogue_number: Some(51),
        severity: Severity::Warning,
        title: "It is not known where a figure was measured",
        text: "\
For records from elsewhere: CPU, number of CPUs, memory, operating system, file system,
disk, version of the tool, date. What is missing is named once for all records that lack
the same.
\"Disk: unknown (likely SSD)\" makes a figure an anecdote. The same command gives 300
operations a second on a disk, 100,000 on flash and 1,000,000 in a page cache; without
the facts nobody can repeat it, and nobody can tell an improvement from another machine.
What to do: ask for the facts, or repeat the run with a tool that records them.",
    },
    RuleText {
        id: "depth_inversion",
        catalogue_number: Some(18),
        severity: Severity::Warning,
        title: "A deeper queue is slower than depth 1",
        text: "\
Records of one arm and place with equal block size, order, direct flag and threads: the
middle rate at each depth above 1 is compared with that at depth 1. Below 90 % is found.
More operations in flight give a target more choice, never less work. 7,831 a second at
depth 8 beside 24,900 at depth 1 on one machine means that two paths were measured: a
cache in one, a split, copy or lock in the other.
What to do: compare engines, file sizes and device counters of the two rows, and find
the cache at depth 1 or the throttle at depth.",
    },
    RuleText {
        id: "unit_mix",
        catalogue_number: Some(49),
        severity: Severity::Warning,
        title: "Bytes a second are in another unit than they say",
        text: "\
The stated bytes a second over stated operations a second times the block size. 0.954 or
1.049 is MiB against MB, 0.931 or 1.074 is GiB against GB, within the rounding of three
digits, from 1 MB/s and 0.1 GB/s on, and unless the digits of the source explain it.
7,831 \"MB/s\" beside 7,831 operations of 1 MiB are MiB/s; in the same column 3,372 MB/s
beside 3,216 operations are MB/s. The rows are 4.9 % apart by their unit alone, more
than many an improvement that is celebrated.
What to do: state one unit for all rows and divide by the same thousand everywhere.
Fathom computes in bytes and shows powers of 1024.",
    },
    RuleText {
        id: "same_setup_two_numbers",
        catalogue_number: Some(43),
        severity: Severity::Warning,
        title: "One setup gave two results",
        text: "\
Records of one place and tool with the same settings (all effective options but the
seed), the same kinds of operations and fewer than six repetitions: a spread of more than
10 % between the highest and the lowest result is found.
5,960 and 4,000 a second from one command are a fact about the noise: 33 %. No
difference below it between other single runs of this setup means anything, whatever was
changed between them.
What to do: find out what changed between the runs (time of day, credits, free space),
and repeat in blocks until the interval is known.",
    },
    RuleText {
        id: "unequal_durations",
        catalogue_number: Some(29),
        severity: Severity::Warning,
        title: "What is compared was measured for different times",
        text: "\
The measured time of the arms of a row; of imported results, of one job in several files
or on several targets; in a document also of tests that differ only in direction. More
than 2 % apart is found; runs for an amount of data are left out.
5 s and 10 s are at different ages of caches, burst credits and heat. If a buffer takes
the first 4 s, the short run is 80 % buffer and the long one 40 %: \"writes are slightly
faster\" may be just that.
What to do: measure every arm for the same time after the same warm-up.",
    },
    RuleText {
        id: "latency_at_unequal_load",
        catalogue_number: Some(24),
        severity: Severity::Warning,
        title: "Latencies are compared at different loads",
        text: "\
Rows of load tests with a fixed number of users: if the arms' rates differ by more than
5 %, their latencies are of different loads.
In a closed loop a faster target is given more to do. \"29 times lower latency at 2 times
the load\" compares two points of two curves: at 90 % of its capacity a target can wait
ten times as long as at 50 %. The one number that compares is the rate at equal users.
What to do: compare latencies at one offered rate in an open loop, or compare throughput
at equal concurrency.",
    },
    RuleText {
        id: "size_mix",
        catalogue_number: Some(27),
        severity: Severity::Invalid,
        title: "Arms moved other sizes or another mix",
        text: "\
Bytes of an operation of each kind, and the share of reads, of the arms of a row; more
than 2 % apart is found. A block size that was asked for is in plain sight and is left
alone.
2.23 MB/s at 71 downloads a second are 31 KB each; 107.5 MB/s at 36 are 2.98 MB each: 95
times the size. Neither \"48 times slower\" nor \"31 times lower latency\" of the two means
anything.
What to do: give every arm the same sizes and the same mix, from the same seed.",
    },
    RuleText {
        id: "effect_below_mde",
        catalogue_number: Some(39),
        severity: Severity::Warning,
        title: "The effect is smaller than what could be seen",
        text: "\
For each arm beside the baseline of a plan: the estimated effect against 1.43 half-
widths of its interval, which is the effect that is found with 80 % power. In a
document: a claimed effect against the floor that the document itself states.
\"+4.3 %, winner\" beside \"we can only detect more than 25 %\" is a coin that fell. Among
such effects that pass a test by luck the size is exaggerated several times, and the
sign is often wrong.
What to do: say that it is not decided, or run as many more blocks as fathom compare
plans for the effect that matters.",
    },
    RuleText {
        id: "control_fails",
        catalogue_number: Some(44),
        severity: Severity::Invalid,
        title: "Two arms that are the same differ",
        text: "\
An arm whose name ends in \"control\" is compared with the arm that it repeats by the
exact signed-rank test over blocks; p below 0.001 is found.
Both arms run the same thing, so any difference is the harness: the first slot of a
block, a longer name, a directory that is fuller. What the harness adds to a control of
-35 % it may also add to the candidate; no difference of that experiment can be
believed.
What to do: find what favours the position or the name (predecessor, warm-up, placement
of files), and run the experiment again.",
    },
    RuleText {
        id: "baseline_is_outlier",
        catalogue_number: Some(40),
        severity: Severity::Warning,
        title: "All arms moved together: the baseline is the odd one",
        text: "\
Rows with a baseline and at least four other arms: found if the baseline lies outside
all of them and more than 3 scaled median absolute deviations from their middle.
128 MB/s for the baseline and 73 to 88 for five unrelated changes was read as \"all
changes hurt\". Five changes that each cost a third are less likely than one baseline
that ran in a good hour.
What to do: repeat the baseline first, in blocks with the others, before reading any
single arm.",
    },
    RuleText {
        id: "effect_flips_sign",
        catalogue_number: Some(42),
        severity: Severity::Warning,
        title: "An effect changes its sign along the rows",
        text: "\
For each arm the effects beside the baseline in the order of the rows; effects below 5 %
are left out, and more than one change of sign is found.
+4, -43, +21, -20, -22 % from 100 MB to 5 GB is either noise, or an effect that depends
on the size in a way that nobody predicted. Neither supports \"+21 % at 1 GB\", and their
mean describes no row.
What to do: repeat the rows in blocks; test whether the effect depends on the row before
pooling; quote no single row.",
    },
    RuleText {
        id: "many_comparisons",
        catalogue_number: Some(38),
        severity: Severity::Warning,
        title: "Many comparisons without a correction for their number",
        text: "\
In imported or entered tables: arms beside the first, summed over rows; from ten on it
is found. Our own comparisons are corrected (Holm for arms, Benjamini-Hochberg for
cells).
Each comparison at 5 % is wrong in one of 20 cases where nothing differs. Of 120, six
are expected to be wrong, and the chance of at least one is 99.8 %. The largest of them
becomes the headline.
What to do: correct for the number of comparisons, decide beforehand which one is
primary, and crown no winner of a single row.",
    },
    RuleText {
        id: "cells_missing",
        catalogue_number: Some(46),
        severity: Severity::Invalid,
        title: "A part of the planned results is shown",
        text: "\
The numbers of an experiment's slots and blocks (trial.slot, trial.block), which have no
gaps whatever fails; and a claim that names how many results were planned and how many
are shown (figures `planned` and `shown`; a warning).
35 of 140 cells can show anything: the quarter with the clearest story is not a sample
of the rest. Whether the others were left out for space or for their content cannot be
seen, not even by the one who left them out.
What to do: publish every cell, or name the rule, written before the run, by which some
were left out.",
    },
    RuleText {
        id: "compared_with_nothing",
        catalogue_number: Some(62),
        severity: Severity::Warning,
        title: "A baseline is named that no record holds",
        text: "\
A claim with a baseline in bytes a second (figure `baseline_bytes_per_second`): one
record of the same document must have that rate within 2 %.
\"A massive improvement over the earlier 25.4 MB/s\" is a ratio of 78 to a number whose
machine, settings and date are unknown. It may have been another disk, a debug build or
another unit.
What to do: measure the baseline in the same blocks as the candidate, or leave the
comparison out.",
    },
];
