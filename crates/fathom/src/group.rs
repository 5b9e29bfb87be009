//! Several hosts: what the command line says of a rank's place among others.

mod agree;
mod attended;
mod beforehand;
mod connection;
mod course;
mod ending;
mod front;
mod host_list;
mod joining;
mod keeping;
mod launched;
mod launcher;
mod leaving;
mod muster;
mod rows;
mod search;
mod together;
mod view;
mod watched;
mod work;

use crate::exit::Usage;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use host::{CommonStart, Machine, StartBy};
use record::{FileSystem, GroupAccount, Record, TargetReach};
use std::path::Path;
use std::time::SystemTime;
use workload::{FileSharing, Phase, Rank, Shift, Stage, Workload};

pub(crate) use agree::apart;
pub(crate) use course::GroupOutput;
pub(crate) use ending::refuse;
pub(crate) use front::LaunchFront;
pub(crate) use launched::{Launch, is_first, is_launched, refuse_several};
pub(crate) use leaving::leave;
pub(crate) use rows::{KeptByRoot, RootWork};
pub(crate) use together::{GroupAsked, GroupCourse, run};
pub(crate) use work::GroupWork;

const HEADING: &str = "Several hosts";

fn arg(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).value_name(value).help(help);
    arg.help_heading(HEADING)
}

/// The arguments of a rank, connected with the others or not.
pub(crate) fn add(command: Command) -> Command {
    let command = command
        .arg(arg(
            "rank",
            "NUMBER/SIZE",
            "Do the part of one of SIZE processes, counted from 0; `auto/SIZE` takes the number from JOB_COMPLETION_INDEX. `fathom merge` joins what they wrote. Sizes, rates and totals are of all ranks together, --threads and --queue-depth of each",
        ))
        .arg(arg(
            "start-at",
            "TIME",
            "The moment at which all ranks begin, in UTC: 2026-11-22T18:00:00Z",
        ))
        .arg(
            arg(
                "clock",
                "STATE",
                "What the clock of the day must be for --start-at; `unsynchronised` goes without, and the record says so",
            )
            .value_parser(["synchronised", "unsynchronised"])
            .default_value("synchronised"),
        )
        .arg(
            arg(
                "target-is",
                "REACH",
                "Whether all hosts see the same target, or each has its own; auto: as its file system is",
            )
            .value_parser(["auto", "shared", "local"])
            .default_value("auto"),
        );
    add_connected(command)
}

/// The arguments of ranks that a launcher starts.
pub(crate) fn add_connected(command: Command) -> Command {
    command
        .arg(arg(
            "mpi",
            "LIBRARY",
            "Under mpirun or srun: the MPI library that connects the ranks, auto, or none [default: auto: the launcher's]",
        ))
        .arg(arg(
            "lead",
            "TIME",
            "From the agreement on the start to the start; doubled where a rank needs more [default: 200ms]",
        ))
        .arg(arg(
            "max-skew",
            "TIME",
            "Ranks that began further apart are exit code 4 [default: 10ms]",
        ))
        .arg(arg(
            "lost-after",
            "TIME",
            "A rank that is not heard of for so long is lost, and the trial with it; ranks of --hosts that have not begun after six times that are not waited for [default: 10s]",
        ))
        .arg(
            arg(
                "hosts",
                "LIST",
                "Do it from these hosts: a,b:2 is one rank on a and two on b, connected by MPI's launcher. The first writes the records, and each finds this program where it is here",
            )
            .alias("host-list"),
        )
        .arg(
            arg("hostfile", "FILE", "As --hosts, from a file: a host a line")
                .alias("clients-file"),
        )
        .arg(arg(
            "launcher",
            "COMMAND",
            "What starts the ranks of --hosts: mpirun, mpiexec, srun, or a command with its own options [default: auto: in an allocation of Slurm srun, elsewhere mpirun or mpiexec of PATH]",
        ))
        .arg(arg("mode", "MODE", "IOPulse's: standalone is what there is").hide(true))
        .arg(arg("listen-port", "PORT", "IOPulse's").hide(true))
        .arg(arg("worker-port", "PORT", "IOPulse's").hide(true))
        .arg(
            Arg::new(front::MARK)
                .long(front::MARK)
                .value_name("RANKS")
                .value_parser(clap::value_parser!(front::FrontMark))
                .hide(true)
                .help("A process with --hosts started this one, as one of so many")
                .help_heading(HEADING),
        )
}

/// Has the exit code told so that whoever started the launcher knows whose it is.
pub(crate) fn note_front(matches: &ArgMatches) {
    let mark = matches.get_one::<front::FrontMark>(front::MARK);
    if let Some(word) = mark.and_then(|mark| mark.word.clone()) {
        crate::exit::speak_to_front(word);
    }
}

/// Whether somebody looks on at a terminal that this process cannot see: a launcher hands on what it says.
pub(crate) fn is_watched(matches: &ArgMatches) -> bool {
    let mark = matches.try_get_one::<front::FrontMark>(front::MARK);
    mark.ok().flatten().is_some_and(|mark| mark.is_watched)
}

/// What is asked of a rank.
pub(crate) struct RankPlace {
    rank: Rank,
    at: SystemTime,
    clock_bound_ns: Option<u64>,
    is_synchronised: bool,
    target_is: Option<TargetReach>,
}

impl RankPlace {
    /// `None` for a run on its own.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Option<Self>> {
        let text = |name: &str| matches.get_one::<String>(name);
        let (rank, start) = match (text("rank"), text("start-at")) {
            (None, None) => return Ok(None),
            (Some(rank), Some(start)) => (rank, start),
            (Some(_), None) => {
                return Err(Usage("--rank needs --start-at TIME: ranks are not connected, and begin together by the clock".into()).into());
            }
            (None, Some(_)) => {
                return Err(Usage(
                    "--start-at needs --rank NUMBER/SIZE, such as 0/1 for a process on its own"
                        .into(),
                )
                .into());
            }
        };
        if matches.get_one::<std::path::PathBuf>("records").is_none() {
            return Err(Usage(
                "--rank needs --records FILE: `fathom merge` joins the files of all ranks".into(),
            )
            .into());
        }
        let index = std::env::var("JOB_COMPLETION_INDEX").ok();
        let rank = Rank::parse(rank, index.as_deref())?;
        let at = humantime::parse_rfc3339(start).map_err(|why| {
            Usage(format!(
                "--start-at {start:?} is not a moment in UTC, such as 2026-11-22T18:00:00Z: {why}"
            ))
        })?;
        let state = sys::wall_clock_state().ok();
        let state = state.filter(|state| state.is_synchronised);
        if state.is_none() && text("clock").is_none_or(|asked| asked != "unsynchronised") {
            return Err(Usage("nothing keeps the clock of this machine in step with others, so that a common start by the clock may be any time off; run chronyd or another NTP client, or give --clock unsynchronised, which the record says".into()).into());
        }
        Ok(Some(Self {
            rank,
            at,
            clock_bound_ns: state.map(|state| state.most_error_ns),
            is_synchronised: state.is_some(),
            target_is: target_is(matches),
        }))
    }

    /// Makes of what all ranks were asked the part of this one.
    pub(crate) fn share(&self, stages: &mut [Stage]) -> Result<CommonStart> {
        let [Stage(phases)] = stages else {
            return Err(Usage("ranks that are not connected cannot wait for each other between phases: give one phase a command, each with a --start-at of its own".into()).into());
        };
        let [phase] = phases.as_mut_slice() else {
            return Err(Usage("a rank does one workload: give one phase a command".into()).into());
        };
        let workload = &phase.workload;
        let reach = self.target_is.unwrap_or_else(|| reach(workload));
        if self.rank.has_others() && reach == TargetReach::Shared {
            check_shared(workload)?;
        }
        let plan = plan(phase);
        // Ranks of one machine may read one file together; what is written or verified is one rank's.
        let is_own = match reach {
            TargetReach::Local => {
                let is_said = self.target_is.is_some();
                is_said || workload.verify.on || workload.read_percent()? < 100.0
            }
            TargetReach::Shared | TargetReach::Unknown => false,
        };
        let rank = match is_own {
            true => self.rank.at_target(0, 1),
            false => self.rank,
        };
        phase.workload = workload::share(workload, rank)?;
        Ok(CommonStart {
            rank: self.rank.number(),
            fresh_run: fresh_run(&plan, self.at),
            group: GroupAccount {
                size: self.rank.size(),
                launcher: "none".into(),
                plan,
                start_at: humantime::format_rfc3339_millis(self.at).to_string(),
                target_is: Some(reach),
                unsynchronised: !self.is_synchronised,
                ..GroupAccount::default()
            },
            by: StartBy::Clock {
                at: self.at,
                bound_ns: self.clock_bound_ns,
            },
        })
    }
}

/// What is said of an option, which not every verb has.
fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    let known = matches.try_get_one::<String>(name).ok().flatten();
    known.map(String::as_str)
}

/// How far the target reaches, where the command line says it.
fn target_is(matches: &ArgMatches) -> Option<TargetReach> {
    match text(matches, "target-is") {
        Some("shared") => Some(TargetReach::Shared),
        Some("local") => Some(TargetReach::Local),
        Some(_) | None => None,
    }
}

/// Where no rank is further on, there is nothing that belongs to it.
pub(crate) fn check_shift(stages: &[Stage], place: Option<&RankPlace>) -> Result<()> {
    let mut phases = stages.iter().flat_map(|stage| &stage.0);
    if place.is_none()
        && phases.any(|phase| {
            phase
                .workload
                .shift
                .is_some_and(|shift| shift != Shift::By(0))
        })
    {
        return Err(Usage("--shift says how many ranks further on lies what a rank uses, and this is one process; start it by --hosts or under mpirun, or drop it".into()).into());
    }
    Ok(())
}

/// What only connected ranks could do to files that all of them use.
fn check_shared(workload: &Workload) -> Result<()> {
    let has_own =
        workload.files.sharing == FileSharing::PerWorker || !workload.files.meta.is_empty();
    let writes = workload.read_percent()? < 100.0;
    if has_own || !(writes || workload.verify.on) {
        return Ok(());
    }
    let what = if writes { "write to" } else { "verify" };
    Err(Usage(format!(
        "ranks that are not connected cannot {what} files that all of them use: give --file-distribution per-worker, or --target-is local where each host has its own"
    ))
    .into())
}

/// Whether other hosts see the target, as far as its file system tells.
fn reach(workload: &Workload) -> TargetReach {
    let target = workload.targets.first();
    if target.is_some_and(|target| run::is_server(target)) {
        return TargetReach::Unknown;
    }
    let place = target.and_then(|target| target.ancestors().find(|path| path.exists()));
    let kind = kind_of(place.unwrap_or(Path::new(".")));
    if kind.is_some_and(|kind| FileSystem::may_be_of_several_hosts(&kind)) {
        TargetReach::Shared
    } else {
        TargetReach::Local
    }
}

/// The kind of the file system at this place.
fn kind_of(place: &Path) -> Option<String> {
    let storage = Machine::at(Path::new("/")).storage(place);
    Some(storage.file_system?.kind)
}

/// The same text for all ranks that were asked for the same.
fn plan(phase: &Phase) -> String {
    let asked = workload::settings::shown(&phase.workload);
    let targets = &phase.workload.targets;
    record::hash_of(format!("{} {targets:?} {asked:?}", phase.name).as_bytes())
}

/// A number for the writes of ranks that cannot ask each other: the same work does not begin twice at
/// one moment.
fn fresh_run(plan: &str, at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let moment = record::hash_of(format!("{plan} {}", since.as_nanos()).as_bytes());
    u64::from_str_radix(&moment, 16).expect("a hash is sixteen hexadecimal digits")
}

/// What the reader of a part must know of its place.
pub(crate) fn notice(record: &Record) -> Option<String> {
    let group = record.group.as_ref()?;
    let adrift = group.unsynchronised.then_some(
        "nothing keeps this machine's clock in step with others: how far apart ranks began is not known",
    )?;
    Some(adrift.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_writes_of_all_ranks_have_one_number_and_those_of_another_start_another() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_123);
        let phase = Phase {
            name: "a".to_owned(),
            workload: Workload::default(),
        };
        let of_rank = || fresh_run(&plan(&phase), at);
        assert_eq!(of_rank(), of_rank());
        let later = fresh_run(&plan(&phase), at + Duration::from_millis(1));
        assert_ne!(of_rank(), later);
    }
}
