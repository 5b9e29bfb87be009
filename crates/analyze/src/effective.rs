//! The options of a record, read back.

use record::Record;
use units::{Bytes, Nanos};
use workload::{EngineFeature, EngineName, EngineTarget};

/// What was effective in a record, by the names of the options. A missing option is unknown, never
/// its default.
#[derive(Clone, Copy, Debug)]
pub struct Effective<'a>(&'a Record);

impl<'a> Effective<'a> {
    /// The effective options of `record`.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        Self(record)
    }

    /// The text of an option.
    #[must_use]
    pub fn text(self, key: &str) -> Option<&'a str> {
        self.0.effective.get(key).map(String::as_str)
    }

    /// Whether a switch is known to be on.
    #[must_use]
    pub fn is_on(self, key: &str) -> bool {
        self.text(key) == Some("true")
    }

    /// A whole number.
    #[must_use]
    pub fn number(self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// A number; `None` also for what is no finite number.
    #[must_use]
    pub fn real(self, key: &str) -> Option<f64> {
        self.text(key)?.parse().ok().filter(|x: &f64| x.is_finite())
    }

    /// The one block size in bytes; `None` if there are several.
    #[must_use]
    pub fn block_bytes(self) -> Option<u64> {
        Bytes::parse(self.text("block-size")?)
            .ok()
            .map(|size| size.0)
    }

    /// The one size in bytes of transfers: of operations on names their payload, of others the block size. `None`
    /// if there are several.
    #[must_use]
    pub fn transfer_bytes(self) -> Option<u64> {
        match self.text("meta") {
            None | Some("") => self.block_bytes(),
            Some(_) => Some(Bytes::parse(self.text("payload")?).ok()?.0),
        }
    }

    /// Share of reads among reads and writes, 0 to 1: as configured, else as counted.
    #[must_use]
    pub fn read_share(self) -> Option<f64> {
        let configured = self
            .real("read-percent")
            .or_else(|| self.real("write-percent").map(|writes| 100.0 - writes));
        configured.map(|percent| percent / 100.0).or_else(|| {
            let [reads, writes] =
                ["read", "write"].map(|kind| self.0.operations.kind(kind).map_or(0, |o| o.count));
            (reads + writes > 0).then(|| reads as f64 / (reads + writes) as f64)
        })
    }

    /// Whether workers pause between operations.
    #[must_use]
    pub fn thinks(self) -> bool {
        let fixed = self
            .text("think-time")
            .and_then(|text| Nanos::parse(text).ok());
        fixed.is_some_and(|time| time.0 > 0)
            || self
                .real("think-adaptive-percent")
                .is_some_and(|percent| percent > 0.0)
    }

    /// How long was measured, in nanoseconds: as the clock says, else as was asked.
    #[must_use]
    pub fn measured_ns(self) -> Option<u64> {
        self.0.measured_ns()
    }

    /// Whether operations start by a schedule rather than when another ends.
    #[must_use]
    pub fn is_open_loop(self) -> bool {
        self.0.pace.as_ref().is_some_and(|pace| {
            pace.asked_per_second
                .or(pace.asked_bytes_per_second)
                .is_some()
        })
    }

    /// Whether another tool was told a rate, which it keeps by waiting between operations.
    #[must_use]
    pub fn is_limited(self) -> bool {
        self.is_open_loop()
            || ["rate-iops", "rate-bytes"]
                .iter()
                .any(|key| self.real_or_size(key).is_some_and(|rate| rate > 0.0))
    }

    fn real_or_size(self, key: &str) -> Option<f64> {
        self.real(key)
            .or_else(|| Some(Bytes::parse(self.text(key)?).ok()?.0 as f64))
    }

    /// Workers of all hosts together; `None` if nobody says.
    #[must_use]
    pub fn workers(self) -> Option<f64> {
        let told = self.real("hosts").filter(|hosts| *hosts >= 1.0);
        let hosts = told.unwrap_or_else(|| self.0.generators().count().max(1) as f64);
        Some(self.real("threads")? * hosts)
    }

    /// Whether a start of a program was timed, which is over when it is over: it has no steady
    /// state and no percentiles.
    #[must_use]
    pub fn is_start_of_command(self) -> bool {
        self.0.targets.iter().any(|target| target.kind == "command")
    }

    /// Whether operations go through this machine's file systems and block devices.
    #[must_use]
    pub fn uses_local_storage(self) -> bool {
        let elsewhere = self
            .engine()
            .is_some_and(|it| it.target() != EngineTarget::Files);
        !elsewhere && !self.is_start_of_command()
    }

    /// The engine, where it is one that Fathom knows.
    fn engine(self) -> Option<EngineName> {
        EngineName::of_word(self.text("engine")?)
    }

    /// Whether there is nothing behind the engine: the null engine, or a model.
    #[must_use]
    pub fn has_no_target(self) -> bool {
        self.engine()
            .is_some_and(|it| it.target() == EngineTarget::Nothing)
    }

    /// Whether time is a model's.
    #[must_use]
    pub fn has_virtual_time(self) -> bool {
        self.engine()
            .is_some_and(|it| it.has(EngineFeature::VirtualTime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Record {
        Record {
            effective: pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..Record::default()
        }
    }

    #[test]
    fn an_unknown_option_is_neither_on_nor_off() {
        let record = Record::default();
        let effective = Effective::of(&record);
        assert_eq!(
            (
                effective.text("direct"),
                effective.is_on("direct"),
                effective.read_share()
            ),
            (None, false, None)
        );
    }

    #[test]
    fn several_block_sizes_are_not_one() {
        assert_eq!(
            Effective::of(&with(&[("block-size", "4k")])).block_bytes(),
            Some(4096)
        );
        assert_eq!(
            Effective::of(&with(&[("block-size", "4k/60:64k/40")])).block_bytes(),
            None
        );
    }

    #[test]
    fn operations_on_names_transfer_their_payload() {
        let names = [("block-size", "4k"), ("meta", "create,read")];
        let [read, write] = names;
        let of = |payload| Effective::of(&with(&[read, write, payload])).transfer_bytes();
        assert_eq!(of(("payload", "8192")), Some(8192));
        assert_eq!(of(("dirs", "own")), None);
        assert_eq!(Effective::of(&with(&[read])).transfer_bytes(), Some(4096));
    }

    #[test]
    fn either_percentage_gives_the_share_of_reads() {
        assert_eq!(
            Effective::of(&with(&[("read-percent", "70")])).read_share(),
            Some(0.7)
        );
        assert_eq!(
            Effective::of(&with(&[("write-percent", "100")])).read_share(),
            Some(0.0)
        );
    }

    #[test]
    fn a_think_time_of_zero_is_none() {
        for (time, percent, thinks) in [
            ("0s", "0", false),
            ("0", "0", false),
            ("50us", "0", true),
            ("0s", "20", true),
            ("0s", "0.5", true),
        ] {
            let record = with(&[("think-time", time), ("think-adaptive-percent", percent)]);
            assert_eq!(Effective::of(&record).thinks(), thinks, "{time} {percent}");
        }
        assert!(!Effective::of(&Record::default()).thinks());
    }
}
