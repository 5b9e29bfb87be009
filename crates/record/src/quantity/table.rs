//! Every measure, a row each.

use super::sources::{self, Counts, Times};
use super::{Preference, QuantityValue, Shown};
use crate::stonewall::of_stonewall;
use crate::{Record, StonewallAccount};
use Preference::{Higher, Lower, Unsaid};
use Source::{Counts as Counted, Record as Whole, Stated, Times as Timed};
use units::ValueUnit::{
    self, Bytes, BytesPerSecond, PerSecond, Percent, Ratio, Time, Whole as Number,
};

/// How a measure is named and shown, and where its value comes from. `{}` stands for the parameter.
#[derive(Debug)]
pub(super) struct Measure {
    /// What people write.
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// Its heading.
    pub(super) title: &'static str,
    /// Its name in files for other programs.
    pub(super) column: &'static str,
    /// Its name in a sentence.
    pub(super) words: &'static str,
    pub(super) unit: ValueUnit,
    pub(super) better: Preference,
    pub(super) shown: Shown,
    /// Whether it says how many operations failed, or did not.
    pub(super) is_of_failures: bool,
    pub(super) source: Source,
}

/// What a value is of, which decides what may stand before the name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Counters of one kind of operation, or of all.
    Counts(fn(&Counts) -> Option<f64>),
    /// Times of one kind of operation, of all, or of a part of a request; and the parameter.
    Times(fn(&Times<'_>, &str) -> QuantityValue),
    /// What a record has once.
    Record(fn(&Record) -> Option<f64>),
    /// What another tool states of a kind, or of anything, under a name.
    Stated(fn(&Record, Option<&str>, &str) -> Option<f64>),
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Measure {
    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn named(self, column: &'static str, words: &'static str) -> Self {
        Self {
            column,
            words,
            ..self
        }
    }

    const fn studied(self) -> Self {
        Self {
            shown: Shown::InStudies,
            ..self
        }
    }

    const fn of_loads(self) -> Self {
        Self {
            shown: Shown::OfLoads,
            ..self
        }
    }

    const fn of_failures(self) -> Self {
        Self {
            is_of_failures: true,
            ..self
        }
    }

    pub(super) fn has_parameter(&self) -> bool {
        self.name.contains("{}")
    }

    pub(super) fn is_of_times(&self) -> bool {
        matches!(self.source, Source::Times(_))
    }

    pub(super) fn is_of_record(&self) -> bool {
        matches!(self.source, Source::Record(_))
    }
}

const fn row(
    name: &'static str,
    title: &'static str,
    unit: ValueUnit,
    better: Preference,
    source: Source,
) -> Measure {
    Measure {
        name,
        aliases: &[],
        title,
        column: title,
        words: title,
        unit,
        better,
        shown: Shown::WhenAsked,
        is_of_failures: false,
        source,
    }
}

/// In the order in which tables show them.
pub(super) static TABLE: &[Measure] = &[
    row(
        "throughput",
        "Bandwidth",
        BytesPerSecond,
        Higher,
        Counted(|of| of.bytes_per_second),
    )
    .named("bandwidth", "bytes a second")
    .studied(),
    row(
        "iops",
        "IOPS",
        PerSecond,
        Higher,
        Counted(|of| of.per_second),
    )
    .also(&["rate"])
    .named("operations", "operations a second")
    .studied(),
    row(
        "mean",
        "Mean latency",
        Time,
        Lower,
        Timed(|of, _| of.mean()),
    )
    .also(&["avg"])
    .named("latency mean", "mean latency")
    .studied(),
    row("min", "Min latency", Time, Lower, Timed(|of, _| of.min()))
        .named("latency min", "least latency"),
    row(
        "p{}",
        "p{} latency",
        Time,
        Lower,
        Timed(|of, percent| of.percentile(percent)),
    )
    .named("latency p{}", "p{} latency")
    .studied(),
    row("max", "Max latency", Time, Lower, Timed(|of, _| of.max()))
        .named("latency max", "maximum latency")
        .studied(),
    row("cpu/op", "CPU/op", Time, Lower, Whole(sources::cpu_each))
        .also(&["cpu"])
        .named("cpu per operation", "CPU time an operation")
        .studied(),
    row("count", "succeeded", Number, Higher, Counted(|of| of.count)),
    row("errors", "failed", Number, Lower, Counted(|of| of.errors)).of_failures(),
    row("bytes", "data", Bytes, Higher, Counted(|of| of.bytes)),
    row(
        "success",
        "succeeded",
        Number,
        Higher,
        Counted(|of| of.count),
    )
    .of_failures(),
    row(
        "errors/op",
        "failed share",
        Percent,
        Lower,
        Counted(|of| of.share(of.errors)),
    )
    .of_failures(),
    row(
        "success/op",
        "success share",
        Percent,
        Higher,
        Counted(|of| of.share(of.count)),
    )
    .of_failures(),
    row("n", "n", Number, Higher, Timed(|of, _| of.number())),
    row("time", "elapsed time", Time, Lower, Whole(sources::elapsed)),
    row(
        "rss.max",
        "peak memory",
        Bytes,
        Lower,
        Whole(|record| sources::seen(record.process().max_resident_bytes)),
    ),
    row(
        "disk.bytes/byte",
        "device bytes a byte",
        Ratio,
        Lower,
        Whole(sources::device_bytes_each),
    ),
    row(
        "stonewall.iops",
        "IOPS to the stonewall",
        PerSecond,
        Higher,
        Whole(|record| of_stonewall(record, StonewallAccount::per_second)),
    ),
    row(
        "stonewall.throughput",
        "bandwidth to the stonewall",
        BytesPerSecond,
        Higher,
        Whole(|record| of_stonewall(record, StonewallAccount::bytes_per_second)),
    ),
    row(
        "walk.entries",
        "entries a second of a walk",
        PerSecond,
        Higher,
        Whole(crate::walk::entries_per_second),
    ),
    row(
        "walk.matched",
        "entries found by a walk",
        Number,
        Unsaid,
        Whole(crate::walk::matched),
    ),
    row(
        "users",
        "users asked",
        Number,
        Unsaid,
        Whole(|record| {
            // Each rank has as many.
            Some(sources::option(record, "users")? * f64::from(record.ranks()))
        }),
    )
    .of_loads(),
    row(
        "users.mean",
        "users there, mean",
        Number,
        Unsaid,
        Whole(sources::users_there),
    )
    .of_loads(),
    row(
        "users.waiting",
        "users waiting, mean",
        Number,
        Unsaid,
        Whole(sources::users_waiting),
    )
    .of_loads(),
    row(
        "in-flight",
        "requests in flight, mean",
        Number,
        Unsaid,
        Whole(sources::in_flight),
    )
    .of_loads(),
    row(
        "iterations",
        "iterations",
        Number,
        Higher,
        Whole(sources::iterations),
    )
    .of_loads(),
    row(
        "iterations.skipped",
        "turns with nothing to act on",
        Number,
        Lower,
        Whole(|record| sources::seen(record.load.as_ref()?.skipped)),
    )
    .of_loads(),
    row(
        "arrivals.asked",
        "arrivals asked",
        PerSecond,
        Unsaid,
        Whole(|record| record.pace.as_ref()?.asked_per_second),
    )
    .of_loads(),
    row(
        "arrivals.begun",
        "arrivals begun",
        PerSecond,
        Higher,
        Whole(|record| Some(record.pace.as_ref()?.achieved_per_second)),
    )
    .of_loads(),
    row(
        "arrivals.unsent",
        "due and never begun",
        Number,
        Lower,
        Whole(sources::unsent),
    )
    .of_loads(),
    row(
        "arrivals.queued",
        "due while every connection waited",
        Number,
        Lower,
        Whole(sources::queued),
    )
    .of_loads(),
    row(
        "connections.opened",
        "connections opened",
        Number,
        Unsaid,
        Whole(sources::connections_opened),
    )
    .of_loads(),
    row(
        "connections.failed",
        "connections refused",
        Number,
        Lower,
        Whole(|record| sources::seen(record.load.as_ref()?.connections_failed)),
    )
    .of_loads(),
    row(
        "retries",
        "retries",
        Number,
        Lower,
        Whole(|record| sources::seen(record.load.as_ref()?.retries)),
    )
    .of_loads(),
    row(
        "left-behind",
        "objects left behind",
        Number,
        Lower,
        Whole(|record| sources::seen(record.load.as_ref()?.left_behind)),
    )
    .of_loads(),
    row(
        "client.cpu/op",
        "client CPU an operation",
        Time,
        Lower,
        Whole(sources::cpu_each),
    )
    .of_loads(),
    row(
        "server.cpu/op",
        "server CPU an operation",
        Time,
        Lower,
        Whole(sources::server_cpu_each),
    )
    .of_loads(),
    row(
        "server.rss.max",
        "server peak memory",
        Bytes,
        Lower,
        Whole(sources::server_memory),
    ),
    row(
        "signing/op",
        "signing a request",
        Time,
        Lower,
        Whole(sources::signing_each),
    )
    .of_loads(),
    row("value:{}", "{}", Number, Unsaid, Stated(sources::stated)),
];
