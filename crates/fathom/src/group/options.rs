//! The options of several hosts.

use super::front::{FrontMark, MARK};
pub(super) use crate::flags::text;
use clap::{Arg, ArgMatches, Command, ValueHint};

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
        .arg(
            arg(
                "mpi",
                "LIBRARY",
                "Under mpirun or srun: the MPI library that connects the ranks, auto, or none [default: auto: the launcher's]",
            )
            .value_hint(ValueHint::FilePath),
        )
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
            arg("hostfile", "FILE", "As --hosts, from a file: a host a line, with slots=N or once a rank")
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
            Arg::new(MARK)
                .long(MARK)
                .value_name("RANKS")
                .value_parser(clap::value_parser!(FrontMark))
                .hide(true)
                .help("A process with --hosts started this one, as one of so many")
                .help_heading(HEADING),
        )
}

/// Has the exit code told so that whoever started the launcher knows whose it is.
pub(crate) fn note_front(matches: &ArgMatches) {
    let mark = matches.get_one::<FrontMark>(MARK);
    if let Some(word) = mark.and_then(|mark| mark.word.clone()) {
        crate::exit::speak_to_front(word);
    }
}

/// Whether somebody looks on at a terminal that this process cannot see: a launcher hands on what it says.
pub(crate) fn is_watched(matches: &ArgMatches) -> bool {
    let mark = matches.try_get_one::<FrontMark>(MARK);
    mark.ok().flatten().is_some_and(|mark| mark.is_watched)
}
