//! Rules of how an experiment was conducted, and of what is said of one.

use super::RuleText;
use crate::Severity;

pub(super) const RULES: [RuleText; 11] = [
    RuleText {
        id: "verified_elsewhere",
        catalogue_number: Some(9),
        severity: Severity::Invalid,
        title: "Verified data, but not those of the measured runs",
        text: "\
What is said of verified data (a claim with a verification) against the measured records
of the same source: found if none of them checked a read.
A test that passes before or after shows that the target can store data, not that it did
so at 482,000 operations a second. Lost and misplaced writes come with depth and speed.
What to do: measure with --verify, which checks every read of the timed run, or read all
of the target of that run back and verify it then.",
    },
    RuleText {
        id: "change_not_exercised",
        catalogue_number: Some(30),
        severity: Severity::Invalid,
        title: "The workload does not reach the change",
        text: "\
The option `expects` of an arm (the operations that its change is for) against the kinds
of operations that ran. None of them is invalid.
A branch that reads 10 chunks at a time for downloads cannot change an upload. Measured
with uploads it is the baseline under another name, and its \"-35 %\" is the error of the
experiment, no effect of the branch.
What to do: measure the operations that the change is for. Keep the arm as a control:
what it shows is how wrong the other arms may be.",
    },
    RuleText {
        id: "provenance_mismatch",
        catalogue_number: Some(52),
        severity: Severity::Invalid,
        title: "It is not clear which version was measured",
        text: "\
The options `subject` with `subject-version` or `subject-commit`: two of them in one arm,
or another one in what is said of the results. A warning if the slots of one experiment
were measured with different versions of the tool.
A report with 0.9.0-beta and January in its head, 0.8.0-beta and December at its foot is
of one of them, or of both. Nobody can repeat it, and nobody can compare with it.
What to do: write the commit or the hash of the binary into every record, and discard
what cannot be assigned to one.",
    },
    RuleText {
        id: "pseudo_replication",
        catalogue_number: Some(37),
        severity: Severity::Invalid,
        title: "One start is counted as several repetitions",
        text: "\
Records of one arm and row with the same id, as when a file is given twice; and documents
that name more samples than starts.
What varies from start to start (layout, placement, caches, neighbours) is the same for
all seconds of one run. 60 seconds of one start are one observation: with a deviation of
2 % between starts, a t-test over the seconds calls 54 % of identical pairs different.
What to do: count fresh starts. Seconds show how a run went, not how the next would.",
    },
    RuleText {
        id: "plan_contradicted",
        catalogue_number: None,
        severity: Severity::Invalid,
        title: "Records do not fit the plan of their experiment",
        text: "\
The plan is the first line of an experiment's file: arms, rows, every option, when it may
end, the seed of the order. Its hash is computed again; each record's arm, role, row,
block and rule (trial) must be the plan's, and each block that ran once must have run in
the order that the seed gives.
A rule that is edited afterwards, or labels that are exchanged in blocks that displease,
give any result: of 40 blocks the best 10 always show a difference.
What to do: judge the file as it was written; what was planned otherwise is measured anew.",
    },
    RuleText {
        id: "unregistered_stopping",
        catalogue_number: Some(47),
        severity: Severity::Invalid,
        title: "The rule of when to stop changed on the way",
        text: "\
The rule in the place of each slot (trial.stopping): found if one plan has two of them;
and documents that took more looks than were planned.
Who looks after every block and stops when it looks good finds a difference between
identical arms in 31 of 100 cases instead of 5. A plan that may be looked at pays for it
with a stricter threshold at each look.
What to do: say before the first slot when to look. An open plan may be extended at will;
a fixed one is judged once, at its end.",
    },
    RuleText {
        id: "drift",
        catalogue_number: Some(33),
        severity: Severity::Warning,
        title: "The level moved over the experiment",
        text: "\
The levels of complete blocks, without the effects of arms and rows, over time: a Theil-
Sen change of more than 10 % with a Mann-Kendall p below 1 %. In a document: the levels
that it gives for its first and its last results.
The same upload that took 5 s in the evening took 17 s a day later. In randomised blocks
both arms meet every state of the machine and their ratio holds; \"92 MB/s\" does not.
What to do: compare only within blocks, quote no absolute number, and look for what
fills, heats or wears.",
    },
    RuleText {
        id: "carry_over",
        catalogue_number: Some(45),
        severity: Severity::Invalid,
        title: "A slot leaves something to the next",
        text: "\
Whether it matters which arm ran before (predecessor test, p below 1 %); and slots that
begin while more than 64 MiB of the slot before wait to be written. Invalid if a control
of the same experiment fails as well.
Randomising does not help against it: if A is 4 % slower right after B, identical arms
are called different in 58 % of experiments of 30 blocks.
What to do: reset and drain between slots: delete the data, sync, wait until nothing is
dirty and the device is idle. Then repeat the experiment.",
    },
    RuleText {
        id: "ageing",
        catalogue_number: Some(14),
        severity: Severity::Warning,
        title: "The target filled up while it was measured",
        text: "\
Free space of the file system, first slot against last: a loss of more than 1 % of its
size and of 1 GiB. In a document: files that it says were left over.
A disk that fills is slower on its inner tracks, a file system that fills splits its
files, and flash without free blocks must erase before it writes: up to 80 % of the speed.
What runs last then looks slow.
What to do: bring the target into the same state before every slot, delete what is left
over, and write the free space into every record.",
    },
    RuleText {
        id: "one_sided",
        catalogue_number: Some(41),
        severity: Severity::Warning,
        title: "Nearly everything differs to the same side",
        text: "\
Where the order was not random: results of at least 3 arms that are more than 5 % off the
baseline, slower against faster, by a sign test at 1 %.
Six independent changes are seldom all bad. If 18 results are slower and 2 faster, what
they share is the likelier cause: the baseline ran first on a fresh disk, or was lucky.
What to do: repeat the baseline among the arms, in randomised blocks, before believing it
of any of them.",
    },
    RuleText {
        id: "saturation_not_seen",
        catalogue_number: Some(20),
        severity: Severity::Warning,
        title: "Saturation is claimed, and nothing was full",
        text: "\
What is said to be saturated against the fullest resource of the measured records: users
that waited, CPUs, devices. Found if none of what is recorded is above 90 %.
342 requests a second of 3 ms are 1 request at a time, of 100 users. A target that serves
one at a time while 99 sleep is not saturated, whatever its throughput.
What to do: raise the load until the rate no longer follows it, and show the resource that
is full there.",
    },
];
