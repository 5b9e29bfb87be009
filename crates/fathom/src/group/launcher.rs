//! The launcher that starts ranks on other hosts: which one it is, and its line.

mod version;

use super::host_list::HostList;
use std::ffi::OsString;
use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;
use sys::{Clock as _, MachineClock};

/// Variables that the launched need and that may be secret, so that launchers are told their names
/// alone. MPICH's and Slurm's hand all variables on by themselves.
const HANDED_ON: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "PS_SHARED_SECRET",
];

/// What Open MPI's launchers understand as where ranks lie and what they are bound to, in the spellings of
/// all versions; one that is given twice is refused.
const MAPS: [&str; 9] = [
    "map-by", "bynode", "byslot", "npernode", "N", "pernode", "ppr", "rankfile", "rf",
];
const BINDS: [&str; 5] = [
    "bind-to",
    "bind-to-core",
    "bind-to-socket",
    "bind-to-none",
    "cpu-set",
];

/// Whose words a launcher understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenMpi,
    /// MPICH's launcher and those that were made of it.
    Hydra,
    Slurm,
}

/// A launcher with the words that were given with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launcher {
    pub(super) program: PathBuf,
    words: Vec<String>,
    pub(super) dialect: Dialect,
}

/// What of this process decides how a launcher is found and called.
pub(super) struct LaunchGround<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) is_root: bool,
    /// Whether ranks of this command could do without a launcher.
    pub(super) has_rank: bool,
    /// Variables that the command names.
    pub(super) named: Vec<String>,
}

impl Launcher {
    /// The one that was asked for, `auto` or none: inside an allocation of Slurm srun, elsewhere the
    /// first MPI launcher of PATH.
    ///
    /// # Errors
    /// There is none, or nobody knows its words.
    pub(super) fn find(asked: Option<&str>, around: &LaunchGround<'_>) -> Result<Self, String> {
        let asked = asked.filter(|asked| *asked != "auto");
        let Some(asked) = asked else {
            let is_in_slurm = (around.variable)("SLURM_JOB_ID").is_some();
            let names = is_in_slurm.then_some("srun");
            let mut names = names.into_iter().chain(["mpirun", "mpiexec"]);
            let program = names.find_map(|name| around.in_path(name)).ok_or_else(|| {
                let without = match around.has_rank {
                    true => ", or start each host by itself with --rank I/N, --start-at TIME and --records FILE",
                    false => "",
                };
                format!("no launcher is found: neither mpirun nor mpiexec is in PATH. Install one here and on every host (Debian and Ubuntu: openmpi-bin or mpich), or name it with --launcher{without}")
            })?;
            return Self::of(program, Vec::new());
        };
        let words = shlex::split(asked)
            .ok_or_else(|| format!("--launcher {asked}: a quote is not closed"))?;
        let mut words = words.into_iter();
        let Some(name) = words.next().filter(|name| !name.is_empty()) else {
            return Err(
                "--launcher is empty; it is auto, mpirun, mpiexec, srun, or a command".into(),
            );
        };
        let program = if name.contains('/') {
            Some(PathBuf::from(&name)).filter(|path| path.is_file())
        } else {
            around.in_path(&name)
        };
        let program = program.ok_or_else(|| format!("--launcher: there is no {name}"))?;
        Self::of(program, words.collect())
    }

    fn of(program: PathBuf, words: Vec<String>) -> Result<Self, String> {
        let said = version::said(&program)?;
        let dialect = Dialect::of(&said).ok_or_else(|| {
            let first = said.lines().find(|line| !line.trim().is_empty());
            let first = first.unwrap_or_default().trim();
            if let Some(why) = first.strip_prefix("srun: error: ") {
                return format!(
                    "{} does not start: {why}; it is of a cluster of Slurm, which this machine is not in",
                    program.display()
                );
            }
            format!(
                "`{} --version` says {first:?}: Fathom knows the words of Open MPI's launcher, of MPICH's and its relatives', and of Slurm's",
                program.display(),
            )
        })?;
        Ok(Self {
            program,
            words,
            dialect,
        })
    }

    /// The words that start `command` on all hosts.
    ///
    /// # Errors
    /// The launcher cannot give hosts these ranks.
    pub(super) fn line(
        &self,
        hosts: &HostList,
        around: &LaunchGround<'_>,
        command: Vec<OsString>,
    ) -> Result<Vec<OsString>, String> {
        let mut line = vec![self.program.clone().into_os_string()];
        line.extend(self.words.iter().map(OsString::from));
        let mut add = |words: &[&str]| line.extend(words.iter().map(OsString::from));
        let binds = self.names_any(&BINDS);
        let ranks = hosts.ranks().to_string();
        match self.dialect {
            Dialect::OpenMpi => {
                if around.is_root && !self.names_any(&["allow-run-as-root"]) {
                    add(&["--allow-run-as-root"]);
                }
                add(&["--host", &hosts.with_ranks(), "-n", &ranks]);
                if !self.names_any(&MAPS) {
                    add(&["--map-by", "slot"]);
                }
                if !binds {
                    add(&["--bind-to", "none"]);
                }
                let known = HANDED_ON.into_iter();
                let known = known.chain(around.named.iter().map(String::as_str));
                let known = known.filter(|name| !self.hands_on(name));
                for name in known.filter(|name| (around.variable)(name).is_some()) {
                    add(&["-x", name]);
                }
            }
            Dialect::Hydra => {
                add(&["-hosts", &hosts.with_ranks(), "-n", &ranks]);
                if !binds {
                    add(&["-bind-to", "none"]);
                }
            }
            Dialect::Slurm => {
                let each = hosts.hosts().first().map_or(1, |host| host.ranks);
                if hosts.hosts().iter().any(|host| host.ranks != each) {
                    return Err(
                        "srun starts as many ranks on each host: give all the same number, or none"
                            .into(),
                    );
                }
                let (number, each) = (hosts.hosts().len().to_string(), each.to_string());
                add(&["-N", &number, "-n", &ranks, "--ntasks-per-node", &each]);
                add(&["-w", &hosts.names()]);
                if !self.names_any(&["cpu-bind", "cpu_bind"]) {
                    add(&["--cpu-bind=none"]);
                }
                // A step has one CPU a task otherwise, where Slurm confines it.
                if !self.names_any(&["whole", "exact", "cpus-per-task", "c"]) {
                    add(&["--whole"]);
                }
                if !self.names_any(&["kill-on-bad-exit", "K"]) {
                    add(&["--kill-on-bad-exit=1"]);
                }
                // Without it the first Ctrl-C is answered with a status, and nobody hears of it.
                if !self.names_any(&["quit-on-interrupt", "q"]) {
                    add(&["--quit-on-interrupt"]);
                }
            }
        }
        line.extend(command);
        Ok(line)
    }

    /// Whether the words that were given with it name one of these options, with one dash or two.
    fn names_any(&self, options: &[&str]) -> bool {
        self.words.iter().any(|word| {
            let word = word.strip_prefix('-');
            let name = word.map(|word| word.strip_prefix('-').unwrap_or(word));
            let name = name.map(|name| name.split_once('=').map_or(name, |(name, _)| name));
            name.is_some_and(|name| options.contains(&name))
        })
    }

    /// Whether they name this variable for all ranks.
    fn hands_on(&self, variable: &str) -> bool {
        let mut pairs = self.words.iter().zip(self.words.iter().skip(1));
        pairs.any(|(option, value)| {
            let name = value
                .split_once('=')
                .map_or(value.as_str(), |(name, _)| name);
            option == "-x" && name == variable
        })
    }
}

/// What Open MPI's launcher hands on to its ranks: SIGUSR1.
pub(super) const SIGNAL_HANDED_ON: i32 = 10;

impl Dialect {
    /// The signal that asks ranks to end, and lets them write what they have: of another srun kills
    /// them at once. Open MPI's launcher hands SIGUSR1 on to its ranks and goes on itself. At SIGINT and
    /// SIGTERM it kills them, and prints nothing more of theirs; it is sent those where no rank is known to
    /// catch the other.
    pub(super) fn asking(self, signal: i32, is_caught: bool) -> i32 {
        const INTERRUPT: i32 = 2;
        const TERM: i32 = 15;
        const ALARM: i32 = 14;
        // Of another the launcher dies, and its ranks with it, or the ranks do.
        let survived = match self {
            Self::Slurm => return INTERRUPT,
            Self::OpenMpi if is_caught => return SIGNAL_HANDED_ON,
            Self::OpenMpi => [INTERRUPT, TERM, SIGNAL_HANDED_ON].as_slice(),
            Self::Hydra => &[INTERRUPT, TERM, SIGNAL_HANDED_ON, ALARM],
        };
        if survived.contains(&signal) {
            signal
        } else {
            TERM
        }
    }

    /// Whether ranks are told by this signal itself where nobody tells them which it was: Open MPI's launcher
    /// makes SIGTERM of all that end it.
    pub(super) fn hands_on_as_it_is(self, signal: i32) -> bool {
        self != Self::OpenMpi && self.asking(signal, false) == signal
    }

    /// By what a launcher says of its version.
    fn of(said: &str) -> Option<Self> {
        let said = said.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if has(&["open mpi", "openrte", "openmpi", "prrte"]) {
            Some(Self::OpenMpi)
        } else if has(&["hydra", "mpich", "intel(r) mpi", "mvapich"]) {
            Some(Self::Hydra)
        } else {
            has(&["slurm"]).then_some(Self::Slurm)
        }
    }
}

impl LaunchGround<'_> {
    fn in_path(&self, name: &str) -> Option<PathBuf> {
        let path = (self.variable)("PATH")?;
        let found = std::env::split_paths(&path).map(|dir| dir.join(name));
        let mut found = found.filter(|file| file.is_file());
        found.next()
    }
}

/// A line as a shell would read it.
pub(super) fn quoted(line: &[OsString]) -> String {
    let words = line
        .iter()
        .map(|word| units::shell_word(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// How long this machine is asked for addresses: whoever waits for them hears no signal.
const ADDRESS_PATIENCE_NS: u64 = 2_000_000_000;

/// Those of these hosts of which this machine knows no address, as far as it finds out in time.
pub(super) fn without_address(hosts: &HostList) -> Vec<String> {
    const ANY_PORT: u16 = 22;
    let names = hosts.hosts().iter().map(|host| host.name.clone());
    let names: Vec<String> = names.collect();
    let (told, unknown) = channel();
    std::thread::spawn(move || {
        let is_known = |name: &str| (name, ANY_PORT).to_socket_addrs().is_ok();
        for name in names.into_iter().filter(|name| !is_known(name)) {
            let _nobody_waits_any_more = told.send(name);
        }
    });
    let clock = MachineClock::monotonic();
    let until = clock.now().saturating_add(ADDRESS_PATIENCE_NS);
    let rest = || Duration::from_nanos(until.saturating_sub(clock.now()));
    std::iter::from_fn(|| unknown.recv_timeout(rest()).ok()).collect()
}

/// Whether a program is at this path, where every host looks for it.
pub(super) fn own_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe();
    let own = own.map_err(|e| format!("the program's own path cannot be read: {e}"))?;
    match Path::new(&own).is_file() {
        true => Ok(own),
        false => Err(format!(
            "{} is not there any more; start the new one",
            own.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(dialect: Dialect, hosts: &str, words: &[&str]) -> String {
        let launcher = Launcher {
            program: "/usr/bin/launcher".into(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            dialect,
        };
        let known = |name: &str| (name == "AWS_REGION").then(|| OsString::from("secret"));
        let around = LaunchGround {
            variable: &known,
            is_root: true,
            has_rank: true,
            named: Vec::new(),
        };
        let command = ["/opt/fathom", "run", "x y"].map(OsString::from).to_vec();
        let hosts = HostList::parse(hosts).unwrap();
        let line = launcher.line(&hosts, &around, command);
        line.map_or_else(|why| why, |line| quoted(&line))
    }

    #[test]
    fn each_launcher_is_spoken_to_in_its_own_words() {
        assert_eq!(
            line(Dialect::OpenMpi, "a,b:2", &[]),
            "/usr/bin/launcher --allow-run-as-root --host a:1,b:2 -n 3 --map-by slot --bind-to none -x AWS_REGION /opt/fathom run 'x y'"
        );
        assert_eq!(
            line(Dialect::Hydra, "a,b:2", &["-iface", "eth1"]),
            "/usr/bin/launcher -iface eth1 -hosts a:1,b:2 -n 3 -bind-to none /opt/fathom run 'x y'"
        );
        assert_eq!(
            line(Dialect::Slurm, "a:2,b:2", &[]),
            "/usr/bin/launcher -N 2 -n 4 --ntasks-per-node 2 -w a,b --cpu-bind=none --whole --kill-on-bad-exit=1 --quit-on-interrupt /opt/fathom run 'x y'"
        );
        assert!(line(Dialect::Slurm, "a,b:2", &[]).contains("as many ranks on each host"));
    }

    #[test]
    fn what_the_given_words_name_is_not_named_again() {
        let words = ["--bind-to", "core", "-x", "AWS_REGION=here"];
        assert_eq!(
            line(Dialect::OpenMpi, "a", &words),
            "/usr/bin/launcher --bind-to core -x AWS_REGION=here --allow-run-as-root --host a:1 -n 1 --map-by slot /opt/fathom run 'x y'"
        );
        let words = ["-map-by", ":OVERSUBSCRIBE", "--allow-run-as-root"];
        assert_eq!(
            line(Dialect::OpenMpi, "a", &words),
            "/usr/bin/launcher -map-by :OVERSUBSCRIBE --allow-run-as-root --host a:1 -n 1 --bind-to none -x AWS_REGION /opt/fathom run 'x y'"
        );
        assert_eq!(
            line(Dialect::Hydra, "a", &["-bind-to", "core"]),
            "/usr/bin/launcher -bind-to core -hosts a:1 -n 1 /opt/fathom run 'x y'"
        );
        assert_eq!(
            line(Dialect::Slurm, "a", &["--cpu-bind=cores", "-q"]),
            "/usr/bin/launcher --cpu-bind=cores -q -N 1 -n 1 --ntasks-per-node 1 -w a --whole --kill-on-bad-exit=1 /opt/fathom run 'x y'"
        );
    }

    #[test]
    fn a_launcher_is_sent_no_signal_that_it_dies_of() {
        // SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM and SIGXCPU.
        let signals = [1, 2, 10, 12, 14, 15, 24];
        let asked = |dialect: Dialect| signals.map(|signal| dialect.asking(signal, false));
        assert_eq!(asked(Dialect::Hydra), [15, 2, 10, 15, 14, 15, 15]);
        assert_eq!(asked(Dialect::OpenMpi), [15, 2, 10, 15, 15, 15, 15]);
        assert_eq!(asked(Dialect::Slurm), [2; 7]);
        assert_eq!(Dialect::OpenMpi.asking(12, true), SIGNAL_HANDED_ON);
        let as_it_is = [Dialect::OpenMpi, Dialect::Hydra, Dialect::Slurm]
            .map(|dialect| [1, 2].map(|signal| dialect.hands_on_as_it_is(signal)));
        assert_eq!(as_it_is, [[false, false], [false, true], [false, true]]);
    }

    #[test]
    fn launchers_are_known_by_what_they_say_of_themselves() {
        for (said, dialect) in [
            ("mpirun (Open MPI) 4.1.4\n", Some(Dialect::OpenMpi)),
            ("mpirun.real (OpenRTE) 2.1.1\n", Some(Dialect::OpenMpi)),
            ("prterun (PRRTE) 3.0\n", Some(Dialect::OpenMpi)),
            (
                "HYDRA build details:\n  Version: 4.0.2\n",
                Some(Dialect::Hydra),
            ),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.5",
                Some(Dialect::Hydra),
            ),
            ("slurm 23.11.4\n", Some(Dialect::Slurm)),
            ("ssh: no such option\n", None),
        ] {
            assert_eq!(Dialect::of(said), dialect, "{said}");
        }
    }
}
