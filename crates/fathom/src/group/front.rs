//! `--hosts`: this process starts itself again on all of them, by a launcher, and says how that
//! ended.

mod failure;
mod mark;
mod secrets;

pub(super) use mark::{FrontMark, MARK};

use super::attended::attend;
use super::host_list::HostList;
use super::launched::{has_rank, launched};
use super::launcher::{LaunchGround, Launcher, own_program, quoted};
use super::muster::Muster;
use crate::exit::{self, FrontWord, OptionsRefused, Usage};
use crate::tell::{say, tell};
use anyhow::Result;
use clap::ArgMatches;
use host::PeerFault;
use run::RunError;
use secrets::variables_without_secrets;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Options that are this process's own, with a value each.
pub(super) const OWN: [&str; 6] = [
    "--hosts",
    "--host-list",
    "--hostfile",
    "--clients-file",
    "--launcher",
    "--mode",
];

/// Hosts, and who starts something on them.
pub(crate) struct LaunchFront {
    hosts: HostList,
    launcher: Launcher,
    line: Vec<OsString>,
    word: FrontWord,
    program: PathBuf,
}

/// Whether nothing is to be started; not every verb has the option.
fn is_dry(matches: &ArgMatches) -> bool {
    let flag = matches.try_get_one::<bool>("dry-run");
    matches!(flag, Ok(Some(true)))
}

pub(super) fn names_hosts(matches: &ArgMatches) -> bool {
    let given = |name| super::options::text(matches, name).is_some();
    given("hosts") || given("hostfile")
}

impl LaunchFront {
    /// `None` where no hosts are named.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Option<Self>> {
        if let Some(launched) = launched().filter(|_| names_hosts(matches)) {
            let error = Usage(format!(
                "a launcher started {} of this command already ({}), and --hosts would start a launcher in each of them; leave out one of the two",
                launched.size, launched.variable
            ));
            return Err(OptionsRefused::of(error.into()));
        }
        if names_hosts(matches) {
            sys::wait_for_children();
        }
        Self::asked(matches).map_err(|why| match sys::caught_signal() {
            Some(caught) => RunError::Interrupted {
                signal: caught.signal,
            }
            .into(),
            None => OptionsRefused::of(Usage(why).into()),
        })
    }

    fn asked(matches: &ArgMatches) -> Result<Option<Self>, String> {
        let text = |name: &str| super::options::text(matches, name);
        check_mode(matches)?;
        let hosts = match (text("hosts"), text("hostfile")) {
            (None, None) => {
                return match text("launcher") {
                    Some(_) => Err("--launcher starts ranks on the hosts of --hosts or --hostfile, and none are given".into()),
                    None => Ok(None),
                };
            }
            (Some(_), Some(_)) => {
                return Err("--hosts and --hostfile both name hosts; give one of them".into());
            }
            (Some(list), None) => {
                HostList::parse(list).map_err(|why| format!("--hosts {list}: {why}"))?
            }
            (None, Some(file)) => {
                let told = |why: String| format!("--hostfile {file}: {why}");
                let text = sys::text_at_most(file.as_ref(), sys::MOST_OF_A_TEXT);
                let text = text.map_err(|e| told(format!("it cannot be read: {e}")))?;
                HostList::of_file(&text).map_err(told)?
            }
        };
        if text("rank").or(text("start-at")).is_some() {
            return Err("--hosts starts and numbers ranks, and --rank says which one this is; give one of them".into());
        }
        if text("mpi") == Some("none") {
            return Err("--hosts starts ranks that MPI connects, and with --mpi none they would know nothing of each other: drop it".into());
        }
        let variable = |name: &str| std::env::var_os(name);
        let around = LaunchGround {
            variable: &variable,
            is_root: sys::is_root(),
            has_rank: has_rank(matches),
            named: variables_without_secrets(matches)?,
        };
        let launcher = Launcher::find(text("launcher"), &around)?;
        let program = own_program()?;
        let word = FrontWord::draw();
        let mark = FrontMark {
            ranks: hosts.ranks(),
            word: Some(word.clone()).filter(|_| !is_dry(matches)),
            is_watched: std::io::stderr().is_terminal(),
        };
        let command = command(&program, &mark, std::env::args_os().skip(1));
        let line = launcher.line(&hosts, &around, command)?;
        Ok(Some(Self {
            hosts,
            launcher,
            line,
            word,
            program,
        }))
    }

    /// Starts the launcher and waits for it, or only says what would be started. The code is that of
    /// the ranks.
    ///
    /// # Errors
    /// The launcher cannot be started.
    pub(crate) fn run(&self, matches: &ArgMatches) -> Result<i32> {
        if is_dry(matches) {
            tell(&quoted(&self.line))?;
            return Ok(0);
        }
        sys::catch_signals();
        let lost_after = super::launched::timing(matches)?.lost_after_ns;
        let dialect = self.launcher.dialect;
        let muster = Muster::new(self.hosts.ranks(), lost_after, dialect);
        let muster = Arc::new(muster.of_hosts(self.hosts.clone()));
        let end = attend(&self.line, dialect, &self.word, &muster)?;
        if end.was_killed {
            let names = self.hosts.names().replace(',', ", ");
            say(&format!("look for its processes on {names}"));
        }
        if end.is_given_up {
            say(&format!(
                "error: {}, and nothing is known of the others: {}",
                muster.told(),
                self.way_in()
            ));
            return Ok(PeerFault::LOST);
        }
        if let Some(why) = &end.unwritten {
            say(&format!("error: cannot write to standard output: {why}"));
        }
        let of_launcher = end.status.code().and_then(exit::from_launcher);
        let stopped = sys::caught_signal().map(sys::CaughtSignal::exit_code);
        let said = as_first(end.said, end.handed_on, stopped);
        // Those that lived all the same were told by this process alone.
        let is_own = end.was_silent && stopped.is_none();
        let said = said.map(|said| match sys::stopped_by(said).filter(|_| is_own) {
            Some(_) => PeerFault::LOST,
            None => said,
        });
        if let Some(code) = of_all(said, of_launcher, stopped) {
            // Ranks that have failed say so by their own code.
            let is_unwritten = code == 0 && end.unwritten.is_some();
            let unwritten = stopped.unwrap_or(UNWRITTEN);
            return Ok(if is_unwritten { unwritten } else { code });
        }
        if let Some(caught) = sys::caught_signal() {
            return Ok(caught.exit_code());
        }
        say(&format!("error: {}", self.failure(end.status, &muster)));
        Ok(PeerFault::LOST)
    }
}

/// How the ranks ended: what they said, or what their launcher ended with where that says more. The
/// code of a signal counts only beside ranks that said nothing, or that lost each other, for the launcher
/// kills them then: what ranks otherwise say of their end was decided before the signal. A launcher's 0 tells
/// nothing of ranks that said nothing.
fn of_ranks(said: Option<i32>, of_launcher: Option<i32>) -> Option<i32> {
    let says_more = |code: &i32| match said {
        Some(said) => sys::stopped_by(*code).is_none() || said == PeerFault::LOST,
        None => *code > 0,
    };
    said.max(of_launcher.filter(says_more))
}

/// The same where a signal has stopped this process. What ranks have said of one stands in their record;
/// otherwise they may have been told by another signal than this process.
fn of_all(said: Option<i32>, of_launcher: Option<i32>, stopped: Option<i32>) -> Option<i32> {
    let code = of_ranks(said, of_launcher);
    let is_of_launcher = code != said && code.and_then(sys::stopped_by).is_some();
    stopped.filter(|_| is_of_launcher).or(code)
}

/// What ranks said as the first of them says it. That was told which signal stopped this process, and so says its
/// record; another rank that leaves alone knows the signal that the launcher handed on.
fn as_first(said: Option<i32>, handed_on: Option<i32>, stopped: Option<i32>) -> Option<i32> {
    let is_of_launcher = handed_on.is_some() && said.and_then(sys::stopped_by) == handed_on;
    stopped.filter(|_| is_of_launcher).or(said)
}

/// The other tool's ways to have several hosts: only the one without a service is here.
fn check_mode(matches: &ArgMatches) -> Result<(), String> {
    let mode = matches.get_one::<String>("mode").map(String::as_str);
    let port = ["listen-port", "worker-port"]
        .into_iter()
        .find(|name| matches.contains_id(name));
    let asked = match (mode, port) {
        (Some("standalone") | None, None) => return Ok(()),
        (_, Some(port)) => format!("--{port}"),
        (Some(mode), None) => format!("--mode {mode}"),
    };
    Err(format!(
        "{asked}: no host needs a service that waits for work; `fathom run … --hosts a,b` starts what is needed by MPI's launcher"
    ))
}

/// The exit code where all ranks have ended well, and what they print could not be written.
const UNWRITTEN: i32 = 1;

/// Only this process is dry: the line that it shows is one that measures.
const DRY_RUN: &str = "--dry-run";

/// The command of each rank: what this process was called with, without what is its own.
fn command(
    program: &std::path::Path,
    mark: &FrontMark,
    given: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let mut given = given.peekable();
    let mut out = vec![program.as_os_str().to_owned()];
    out.extend(given.next_if(|word| !word.to_string_lossy().starts_with('-')));
    out.push(format!("--{MARK}={mark}").into());
    while let Some(word) = given.next() {
        if word == "--" {
            out.push(word);
            out.extend(given);
            return out;
        }
        if OWN.iter().any(|own| word == *own) {
            let _its_value = given.next();
        } else if word != DRY_RUN && !is_own_with_value(&word) {
            out.push(word);
        }
    }
    out
}

fn is_own_with_value(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| OWN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_leaves_alone_means_the_signal_that_this_process_had() {
        for (said, handed_on, stopped, wanted) in [
            // Open MPI's launcher hands on SIGUSR1, and MPICH's has SIGTERM for what hangs up.
            (Some(138), Some(10), Some(130), Some(130)),
            (Some(143), Some(15), Some(129), Some(129)),
            (Some(143), Some(10), Some(130), Some(143)),
            (Some(138), None, Some(130), Some(138)),
            (Some(0), Some(10), Some(130), Some(0)),
            (Some(5), None, Some(130), Some(5)),
            (None, Some(10), Some(130), None),
        ] {
            assert_eq!(as_first(said, handed_on, stopped), wanted, "{said:?}");
        }
    }

    fn of(words: &str) -> String {
        let given = words.split(' ').map(OsString::from);
        let mark = "3".parse().unwrap();
        quoted(&command(std::path::Path::new("/f"), &mark, given))
    }

    #[test]
    fn a_launcher_that_was_stopped_takes_nothing_from_what_its_ranks_have_said() {
        for (said, of_launcher, wanted) in [
            (Some(0), Some(130), Some(0)),
            (Some(1), Some(143), Some(1)),
            (Some(0), Some(1), Some(1)),
            (Some(130), Some(143), Some(130)),
            // Who was killed for the signal is lost to the others.
            (Some(5), Some(130), Some(130)),
            (Some(3), None, Some(3)),
            (None, Some(130), Some(130)),
            (None, Some(0), None),
            (None, None, None),
        ] {
            assert_eq!(
                of_ranks(said, of_launcher),
                wanted,
                "{said:?} {of_launcher:?}"
            );
        }
    }

    #[test]
    fn the_code_of_a_signal_is_that_of_the_record_where_ranks_have_said_it() {
        assert_eq!(of_all(Some(143), Some(130), Some(130)), Some(143));
        assert_eq!(of_all(Some(5), Some(143), Some(130)), Some(130));
        assert_eq!(of_all(None, Some(143), Some(130)), Some(130));
        assert_eq!(of_all(Some(0), Some(143), Some(130)), Some(0));
        assert_eq!(of_all(None, Some(0), Some(130)), None);
    }

    #[test]
    fn ranks_have_the_command_without_what_is_the_front_s_own() {
        assert_eq!(
            of("run x --hosts a,b --random --dry-run --launcher=srun --duration 1s"),
            "/f run --under-front=3 x --random --duration 1s"
        );
        assert_eq!(
            of("run --hostfile f --mode standalone x -- --hosts --bs=4k"),
            "/f run --under-front=3 x -- --hosts --bs=4k"
        );
        assert_eq!(of("-t 1 --host-list=a x"), "/f --under-front=3 -t 1 x");
    }
}
