//! Every fio option that Fathom expresses, one row each; those that it does not are in `refusals`.

use super::job::{Advice, Checking, Distribution, Job, Split, Stable, Tolerated};
use super::names::{FioDirection, PATTERNS};
use super::refusals::REFUSALS;
use super::section::Place;
use super::value::Value;
use crate::{EngineName, SpecError};
use units::fio::FioTimeUnit::{Micros, Seconds};
use units::fio::ranges;

/// Whether an option can stand without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Value,
    /// Alone it is on.
    Flag,
    /// Alone in a job file it is on; a command line has a value behind it.
    ValueOrAlone,
}

/// What becomes of an option.
#[derive(Clone, Copy)]
pub(super) enum What {
    Set(fn(&mut Job, Value<'_>) -> Result<(), SpecError>),
    /// Only these values are taken, and they ask for what happens anyway; the text says why no
    /// other.
    Only(&'static [&'static str], &'static str),
    /// Any value is taken, no result depends on it, and the text says so.
    Noted(&'static str),
    /// Any value is taken; there is nothing to say.
    Silent,
    /// No value is taken.
    Refused(&'static str),
}

pub(super) struct Row {
    /// fio's first name for it, under which it is recorded.
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) takes: Takes,
    pub(super) what: What,
}

/// The row of an option by its name or an alias.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    OPTIONS
        .iter()
        .chain(REFUSALS)
        .find(|row| row.name == name || row.aliases.contains(&name))
}

/// The error for a name that is in no row.
pub(super) fn unknown(name: &str, place: &Place) -> SpecError {
    place.error(format!(
        "{name:?} is no option of fio, or one of an engine that Fathom does not have"
    ))
}

impl Row {
    /// Does to `job` what the option asks.
    pub(super) fn apply(&self, job: &mut Job, value: Value<'_>) -> Result<(), SpecError> {
        match self.what {
            What::Set(set) => set(job, value),
            What::Only(values, why) => match values.contains(&value.text)
                || (value.text.is_empty() && values.contains(&"1"))
            {
                true => Ok(()),
                false => value.refuse(why),
            },
            What::Noted(what) => {
                job.note(self.name, what);
                Ok(())
            }
            What::Silent => Ok(()),
            What::Refused(why) => value.refuse(why),
        }
    }
}

macro_rules! options {
    ($($name:literal $([$($alias:literal),+])? $takes:ident |$job:ident, $value:ident| $set:expr;)*) => {
        &[$(Row {
            name: $name,
            aliases: &[$($($alias),+)?],
            takes: Takes::$takes,
            what: What::Set(|$job, $value| { $set; Ok(()) }),
        }),*]
    };
}

/// Tests walk through it.
pub(super) static OPTIONS: &[Row] = options! {
    "name" Value |job, v| job.name = Some(v.word()?.to_owned());
    "filename" Value |job, v| job.target.filename = Some(v.paths()?);
    "directory" Value |job, v| job.target.directory = Some(v.paths()?);
    "filename_format" Value |job, v| job.target.format = Some(v.word()?.to_owned());
    "nrfiles" ["nr_files"] Value |job, v| job.target.files = Some(v.number(1, 1 << 24)?);
    "fill_device" ["fill_fs"] Value |job, v| job.target.fill = v.switch()?;
    "size" Value |job, v| job.target.size = Some(v.size()?);
    "filesize" Value |job, v| job.target.file_size = Some(v.bytes()?);
    "offset" ["fileoffset"] Value |job, v| job.target.offset = v.size()?;
    "offset_increment" Value |job, v| job.target.offset_increment = v.bytes()?;
    "direct" Value |job, v| job.durability.direct = v.switch()?;
    "buffered" Value |job, v| job.durability.direct = !v.switch()?;
    "invalidate" Value |job, v| job.opening.invalidate = Some(v.switch()?);
    "pre_read" Value |job, v| job.opening.pre_read = v.switch()?;
    "overwrite" Value |job, v| job.opening.overwrite = v.switch()?;
    "fallocate" Value |job, v| job.opening.preallocate = Some(preallocate(v)?);
    "fadvise_hint" Value |job, v| job.opening.advice = advice(v)?;

    "rw" ["readwrite"] Value |job, v| (job.pattern.random, job.pattern.direction) = direction(v)?;
    "bs" ["blocksize"] Value |job, v| job.pattern.blocks = v.directions(|part| part.bytes())?;
    "bsrange" ["blocksize_range"] Value |job, v| job.pattern.blocks = v.directions(one_size)?;
    "bssplit" Value |job, v| job.pattern.split = Some(v.directions(split)?);
    "rwmixread" Value |job, v| job.pattern.mix = v.percent()?;
    "rwmixwrite" Value |job, v| job.pattern.mix = 100.0 - v.percent()?;
    "random_distribution" Value |job, v| job.pattern.distribution = distribution(v)?;
    "norandommap" Flag |job, v| job.pattern.no_random_map = v.switch()?;
    "randrepeat" ["allrandrepeat"] Value |job, v| job.pattern.other_seed_each_run = !v.switch()?;
    "randseed" Value |job, v| job.pattern.seed = Some(v.number(0, u64::MAX)?);

    "ioengine" Value |job, v| {
        job.engine.name = engine(v)?;
        if v.text == "posixaio" {
            job.note("ioengine", "POSIX AIO is threads of the C library; plain calls take its place at depth 1, io_uring or libaio beyond");
        }
    };
    "iodepth" Value |job, v| job.engine.depth = v.number(1, u64::MAX)?;
    "iodepth_batch" ["iodepth_batch_submit"] Value |job, v| job.engine.submit_batch = Some(v.number(0, u64::MAX)?);
    "iodepth_batch_complete_min" ["iodepth_batch_complete"] Value |job, v| job.engine.reap_least = Some(v.number(0, u64::MAX)?);
    "iodepth_batch_complete_max" Value |job, v| job.engine.reap_most = Some(v.number(0, u64::MAX)?);
    "fixedbufs" Flag |job, v| job.engine.ring.fixed.buffers = Some(v.switch()?);
    "registerfiles" Flag |job, v| job.engine.ring.fixed.files = Some(v.switch()?);
    "sqthread_poll" Flag |job, v| job.engine.ring.sqpoll = v.switch()?;
    "hipri" Flag |job, v| job.engine.ring.iopoll = v.switch()?;

    "runtime" ["timeout"] Value |job, v| job.end.runtime = v.nanos(Seconds)?;
    "time_based" Flag |job, v| job.end.time_based = v.switch()?;
    "loops" Value |job, v| job.end.loops = v.number(1, u64::from(u32::MAX))?;
    "ramp_time" Value |job, v| job.end.ramp = v.nanos(Seconds)?;
    "io_size" ["io_limit"] Value |job, v| job.end.io_size = Some(v.bytes()?);
    "number_ios" Value |job, v| job.end.number_ios = v.number(0, u64::MAX)?;
    "continue_on_error" Value |job, v| job.end.goes_on_after = tolerated(v)?;

    "fsync" Value |job, v| job.durability.fsync = v.count()?;
    "fdatasync" Value |job, v| job.durability.fdatasync = v.count()?;
    "end_fsync" Value |job, v| job.durability.end_fsync = v.switch()?;
    "fsync_on_close" Value |job, v| job.durability.fsync_on_close = v.switch()?;
    "sync" Value |job, v| job.durability.sync = v.one_of(&[
        ("0", Stable::Nothing), ("none", Stable::Nothing), ("1", Stable::DataAndMetadata), ("sync", Stable::DataAndMetadata), ("dsync", Stable::Data),
    ])?;

    "rate" Value |job, v| job.pace.rate = v.directions(|part| part.bytes())?;
    "rate_iops" Value |job, v| job.pace.rate_iops = v.directions(|part| part.number(0, u64::from(u32::MAX)))?;
    "rate_process" Value |job, v| job.pace.poisson = v.one_of(&[("linear", false), ("poisson", true)])?;
    "thinktime" Value |job, v| job.pace.think = v.nanos(Micros)?;
    "thinktime_spin" Value |job, v| job.pace.think_spin = v.nanos(Micros)?;
    "thinktime_blocks" Value |job, v| job.pace.think_blocks = Some(v.count()?);

    "zero_buffers" Flag |job, v| job.buffers.zero = v.switch()?;
    "refill_buffers" Flag |job, v| job.buffers.refill = v.switch()?;
    "scramble_buffers" Value |job, v| job.buffers.scramble = Some(v.switch()?);
    "buffer_pattern" Value |job, v| job.buffers.pattern = Some(whole_block_byte(v)?);
    "buffer_compress_percentage" Value |job, v| job.buffers.compress = Some(v.percent()?);
    "dedupe_percentage" Value |job, v| job.buffers.dedupe = Some(v.percent()?);

    "verify" Value |job, v| job.verify.kind = checking(v)?;
    "verify_pattern" Value |job, v| job.verify.pattern = Some(whole_block_byte(v)?);
    "do_verify" Value |job, v| job.verify.skip_reading_back = !v.switch()?;

    "cpus_allowed" Value |job, v| job.placement.cpus = Some(v.word()?.to_owned());
    "cpus_allowed_policy" Value |job, v| job.placement.split = v.one_of(&[("shared", false), ("split", true)])?;
    "numa_cpu_nodes" Value |job, v| job.placement.nodes = Some(v.word()?.to_owned());
    "numa_mem_policy" Value |job, v| job.placement.memory = memory_nodes(v)?;

    "write_bw_log" ValueOrAlone |job, v| job.logs.bandwidth = Some(log_name(job, v));
    "write_iops_log" ValueOrAlone |job, v| job.logs.iops = Some(log_name(job, v));
    "write_lat_log" ValueOrAlone |job, v| job.logs.latency = Some(log_name(job, v));
    "per_job_logs" Value |job, v| job.logs.merged = !v.switch()?;
    "log_avg_msec" Value |job, v| job.logs.average_ms = Some(v.number(0, u64::from(u32::MAX))?).filter(|ms| *ms > 0);

    "numjobs" Value |job, v| job.order.clones = v.count()?;
    "stonewall" ["wait_for_previous"] Flag |job, v| job.order.stonewall = v.switch()?;
    "wait_for" Value |job, v| job.order.wait_for = Some(v.word()?.to_owned());
    "new_group" Flag |job, v| job.order.new_group = v.switch()?;
    "group_reporting" Flag |job, v| job.order.group_reporting = v.switch()?;
    // The value is read before any other option, since it says how to read them.
    "kb_base" Value |_job, v| v.one_of(&[("1024", ()), ("1000", ())])?;
};

fn preallocate(value: Value<'_>) -> Result<bool, SpecError> {
    value.one_of(&[
        ("none", false),
        ("0", false),
        ("native", true),
        ("posix", true),
        ("keep", true),
        ("1", true),
    ])
}

fn advice(value: Value<'_>) -> Result<Advice, SpecError> {
    value.one_of(&[
        ("none", Advice::None),
        ("0", Advice::None),
        ("1", Advice::ByPattern),
        ("sequential", Advice::Sequential),
        ("random", Advice::Random),
        ("noreuse", Advice::NoReuse),
    ])
}

fn direction(value: Value<'_>) -> Result<(bool, FioDirection), SpecError> {
    if value.text.contains("trim") {
        return value.refuse("trims discard data, for which Fathom has no operation");
    }
    if value.text.contains(':') {
        return value
            .refuse("an access order that jumps after every so many operations is not expressed");
    }
    value.one_of(&PATTERNS)
}

/// A range that holds one size.
fn one_size(value: Value<'_>) -> Result<u64, SpecError> {
    match ranges(value.text, value.kb_base)?.as_slice() {
        [only] if only.low == only.high => Ok(only.low),
        _ => value.refuse(
            "sizes drawn evenly from a range are not expressed; name them with shares in bssplit",
        ),
    }
}

fn split(value: Value<'_>) -> Result<Split, SpecError> {
    let part = |text: &str| {
        let (size, share) = text
            .split_once('/')
            .map_or((text, ""), |(size, share)| (size.trim(), share.trim()));
        let bytes = Value {
            text: size,
            ..value
        }
        .bytes()?;
        let share = Value {
            text: share,
            ..value
        };
        Ok((
            bytes,
            if share.text.is_empty() {
                None
            } else {
                Some(u32::try_from(share.number(0, 100)?).expect("at most 100"))
            },
        ))
    };
    value.text.split(':').map(part).collect()
}

fn distribution(value: Value<'_>) -> Result<Distribution, SpecError> {
    let (kind, parameter) = value
        .text
        .split_once(':')
        .map_or((value.text, None), |(kind, parameter)| {
            (kind, Some(parameter))
        });
    if !matches!(kind, "random" | "zipf" | "pareto" | "normal") {
        return value.refuse("is not one of random, zipf:THETA, pareto:H, normal:DEVIATION; zones and sequences are not expressed");
    }
    if value.text.contains(',') {
        return value.refuse("reads and writes are drawn from one distribution");
    }
    if parameter.is_some_and(|parameter| parameter.contains(':')) {
        return value.refuse("the centre cannot be chosen; fio spreads the hot blocks by a hash, so that it hardly matters");
    }
    let parameter = parameter
        .map(|text| Value { text, ..value }.real())
        .transpose()?;
    // Without a parameter fio takes 1.1, 0.2 and 0.
    Ok(match kind {
        "zipf" => Distribution::Zipf(parameter.unwrap_or(1.1)),
        "pareto" => Distribution::Pareto(parameter.unwrap_or(0.2)),
        "normal" => Distribution::Normal(parameter.unwrap_or(0.0)),
        _ => Distribution::Uniform,
    })
}

fn engine(value: Value<'_>) -> Result<EngineName, SpecError> {
    if let Some(engine) = EngineName::of_fio(value.text) {
        return Ok(engine);
    }
    if matches!(value.text, "http" | "nbd") {
        return value.refuse("objects and network block devices are targets of their own in Fathom; see fathom load and nbd:// targets");
    }
    let names = EngineName::ALL.iter().flat_map(|engine| engine.in_fio());
    let names: Vec<&str> = names.copied().collect();
    value.refuse(format!("is not one of {}", names.join(", ")))
}

/// The name of a log, or where none was said that of the job's section.
fn log_name(job: &Job, value: Value<'_>) -> String {
    if value.text.is_empty() {
        job.section.clone()
    } else {
        value.text.to_owned()
    }
}

fn tolerated(value: Value<'_>) -> Result<Tolerated, SpecError> {
    if value.text == "verify" {
        return value.refuse("Fathom counts every mismatch anyway, and goes on after failed operations with io or all");
    }
    value.one_of(&[
        ("none", Tolerated::None),
        ("0", Tolerated::None),
        ("read", Tolerated::Reads),
        ("write", Tolerated::Writes),
        ("io", Tolerated::All),
        ("all", Tolerated::All),
        ("1", Tolerated::All),
    ])
}

fn whole_block_byte(value: Value<'_>) -> Result<u8, SpecError> {
    match value.pattern_byte() {
        Some(byte) => Ok(byte),
        None => value.refuse("Fathom fills blocks with zeros (0x00) or ones (0xff), or with fresh random data, and with no other pattern"),
    }
}

/// The kinds of checksums whose place Fathom's own header takes.
const CHECKSUMS: &[&str] = &[
    "md5",
    "crc7",
    "crc16",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc64",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
];

fn checking(value: Value<'_>) -> Result<Checking, SpecError> {
    match value.text {
        "0" => Ok(Checking::None),
        "pattern" => Ok(Checking::Pattern),
        kind if CHECKSUMS.contains(&kind) => Ok(Checking::Header),
        "null" => value.refuse("this only pretends to verify"),
        "pattern_hdr" => value.refuse(
            "a header within a pattern is not expressed; take verify=crc32c or verify=pattern",
        ),
        _ => value.refuse(format!("is not one of pattern, {}", CHECKSUMS.join(", "))),
    }
}

fn memory_nodes(value: Value<'_>) -> Result<Option<String>, SpecError> {
    match value.text.split_once(':') {
        Some(("bind", nodes)) => Ok(Some(nodes.to_owned())),
        None if matches!(value.text, "default" | "local") => Ok(None),
        Some(_) | None => value.refuse("is not one of default, local, bind:NODES"),
    }
}
