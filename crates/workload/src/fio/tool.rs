//! The options of fio as a whole, which stand on a command line only.

/// What becomes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// `--output`, handed to the caller.
    File,
    /// `--output-format`, likewise.
    Formats,
    Minimal,
    AppendTerse,
    TerseVersion,
    Section,
    ReadOnly,
    /// Taken without a word: no result depends on it.
    Silent,
    /// Taken, and said not to be done.
    Noted(&'static str),
    Refused(&'static str),
}

/// Whether a value follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Needed,
    /// Only behind `=`.
    Attached,
}

pub(super) struct ToolOption {
    pub(super) name: &'static str,
    pub(super) argument: Argument,
    pub(super) what: Tool,
}

/// The row of an option by its name.
pub(super) fn find(name: &str) -> Option<&'static ToolOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

macro_rules! options {
    ($($name:literal $argument:ident $what:expr;)*) => {
        &[$(ToolOption { name: $name, argument: Argument::$argument, what: $what }),*]
    };
}

const NO_DISTRIBUTION: Tool = Tool::Refused(
    "fio's server and clients are not spoken here; start one run on each machine and compare the records",
);
const NO_TRIGGER: Tool = Tool::Refused("no command is started by a run");
const OTHER_TASK: Tool = Tool::Refused("this does not run a job");

static OPTIONS: &[ToolOption] = options! {
    "output" Needed Tool::File;
    "output-format" Needed Tool::Formats;
    "section" Needed Tool::Section;
    "readonly" Attached Tool::ReadOnly;
    "eta" Needed Tool::Silent;
    "eta-interval" Needed Tool::Silent;
    "eta-newline" Needed Tool::Silent;
    "max-jobs" Needed Tool::Silent;
    "alloc-size" Needed Tool::Silent;
    "warnings-fatal" Attached Tool::Noted("where fio warns, Fathom either refuses or says so here");
    "minimal" Attached Tool::Minimal;
    "append-terse" Attached Tool::AppendTerse;
    "terse-version" Needed Tool::TerseVersion;
    "status-interval" Needed Tool::Noted("results come once, at the end; the record holds each interval by itself");
    "bandwidth-log" Attached Tool::Refused("no such file is written; the record holds the bandwidth of each interval");
    "latency-log" Needed Tool::Refused("fio has given it up, too");
    "parse-only" Attached Tool::Refused("take fathom run --dry-run");
    "showcmd" Attached Tool::Refused("take fathom run --dry-run");
    "debug" Needed Tool::Refused("there is no tracing of this kind");
    "idle-prof" Needed Tool::Refused("CPU idleness is not calibrated this way; the record holds CPU time and pressure");
    "profile" Needed Tool::Refused("fio's built-in profiles are not there; see fathom profile");
    "aux-path" Needed Tool::Refused("no state files are written");
    "server" Attached NO_DISTRIBUTION;
    "client" Needed NO_DISTRIBUTION;
    "remote-config" Needed NO_DISTRIBUTION;
    "daemonize" Needed NO_DISTRIBUTION;
    "trigger-file" Needed NO_TRIGGER;
    "trigger-timeout" Needed NO_TRIGGER;
    "trigger" Needed NO_TRIGGER;
    "trigger-remote" Needed NO_TRIGGER;
    "version" Attached OTHER_TASK;
    "help" Attached OTHER_TASK;
    "cmdhelp" Attached OTHER_TASK;
    "enghelp" Attached OTHER_TASK;
    "crctest" Attached OTHER_TASK;
    "cpuclock-test" Attached OTHER_TASK;
    "memcpytest" Attached OTHER_TASK;
    "inflate-log" Needed OTHER_TASK;
    "merge-blktrace-only" Attached OTHER_TASK;
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::table;

    #[test]
    fn no_name_is_twice_or_also_that_of_a_job_option() {
        for (index, option) in OPTIONS.iter().enumerate() {
            assert!(
                OPTIONS[index + 1..]
                    .iter()
                    .all(|other| other.name != option.name),
                "{}",
                option.name
            );
            // `profile` is both in fio, and both are refused.
            assert!(
                option.name == "profile" || table::find(option.name).is_none(),
                "{}",
                option.name
            );
        }
    }
}
