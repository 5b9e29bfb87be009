//! Which library belongs to the launcher that started this process.

use std::path::{Path, PathBuf};

/// What the launchers say of a process, in the order in which they are asked: a launcher inside
/// another one's allocation says its own.
const VARIABLES: [(&str, &str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", BY_OPEN_MPI),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH"),
    ("PMI_SIZE", "PMI_RANK", "PMI"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", SLURM),
];

const BY_OPEN_MPI: &str = "Open MPI";
const SLURM: &str = "Slurm";
/// Slurm that lets its processes find each other by `PMIx`, as `srun --mpi=pmix` does.
const SLURM_BY_PMIX: &str = "Slurm by PMIx";

/// Names of launchers' executables and of what they start on each host.
const LAUNCHERS: [&str; 10] = [
    "mpirun",
    "mpiexec",
    "orterun",
    "orted",
    "prterun",
    "prted",
    "prte",
    "hydra",
    "slurmstepd",
    "srun",
];

const STANDARD: &str = "libmpi_abi.so.1";
const OPEN_MPI: &str = "libmpi.so.40";
const MPICH: [&str; 3] = ["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"];

/// What the launcher says of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    pub size: u32,
    pub rank: u32,
    /// The variable that says how many there are.
    pub variable: &'static str,
    /// Whose variable that is.
    pub by: &'static str,
}

impl Launched {
    /// Reads the environment; `None` where no launcher started this process.
    #[must_use]
    pub fn read(environment: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        VARIABLES.into_iter().find_map(|(variable, rank, by)| {
            let number = |name: &str| environment(name)?.trim().parse::<u32>().ok();
            let has_pmix = by == SLURM && environment("PMIX_NAMESPACE").is_some();
            Some(Self {
                size: number(variable)?,
                rank: number(rank)?,
                variable,
                by: if has_pmix { SLURM_BY_PMIX } else { by },
            })
        })
    }

    /// Whether a launcher says of this process which of its own it is, and not of how many: PRRTE's own command. Who
    /// takes the number of all out of another's variables means this process alone.
    #[must_use]
    pub fn is_of_unknown_size(environment: &dyn Fn(&str) -> Option<String>) -> bool {
        let mut ranks = VARIABLES.into_iter().map(|(_, rank, _)| rank);
        environment("PMIX_RANK").is_some() && ranks.all(|rank| environment(rank).is_none())
    }

    /// Whether Slurm started processes that have no means to find each other.
    #[must_use]
    pub fn is_without_means(&self) -> bool {
        self.by == SLURM
    }
}

/// The libraries to try, the first that opens counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiChoice {
    libraries: Vec<PathBuf>,
    /// Whether the launcher is Open MPI's.
    by_open_mpi: bool,
}

impl MpiChoice {
    /// The one that was named.
    #[must_use]
    pub fn named(path: &Path, launched: &Launched) -> Self {
        Self::new(vec![path.to_owned()], launched)
    }

    pub(crate) fn new(libraries: Vec<PathBuf>, launched: &Launched) -> Self {
        let by_open_mpi = launched.by == BY_OPEN_MPI;
        Self {
            libraries,
            by_open_mpi,
        }
    }

    pub(crate) fn libraries(&self) -> &[PathBuf] {
        &self.libraries
    }

    pub(crate) fn is_by_open_mpi(&self) -> bool {
        self.by_open_mpi
    }

    /// Those beside the launcher, then those that the system knows by name.
    #[must_use]
    pub fn of(launched: &Launched) -> Self {
        Self::beside(launched, &launchers())
    }

    fn beside(launched: &Launched, launchers: &[PathBuf]) -> Self {
        let mut names = vec![STANDARD];
        // By its name alone the standard's library may be that of another launcher.
        let mut known: Vec<&str> = match launched.by {
            BY_OPEN_MPI => vec![OPEN_MPI, STANDARD],
            SLURM_BY_PMIX => [OPEN_MPI, STANDARD].into_iter().chain(MPICH).collect(),
            _ => [STANDARD].into_iter().chain(MPICH).collect(),
        };
        names.extend(known.iter().filter(|name| **name != STANDARD));
        let homes = launchers.iter().filter_map(|path| path.parent());
        let places =
            homes.flat_map(|home| ["../lib", "../lib64", "../../lib"].map(|to| home.join(to)));
        let beside = places.flat_map(|place| {
            names
                .iter()
                .map(move |name| place.join(name))
                .collect::<Vec<_>>()
        });
        let beside = beside.filter(|path| path.exists());
        let by_name = known.drain(..).map(PathBuf::from);
        Self::new(beside.chain(by_name).collect(), launched)
    }

    /// Them in words.
    #[must_use]
    pub fn told(&self) -> String {
        let names: Vec<String> = self
            .libraries
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        names.join(", ")
    }
}

/// The executables of those that started this process and are launchers, the nearest first.
fn launchers() -> Vec<PathBuf> {
    const MOST: usize = 12;
    let mut out = Vec::new();
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..MOST {
        if process <= 1 {
            break;
        }
        let home = PathBuf::from(format!("/proc/{process}"));
        out.extend(executable(&home));
        let Some(parent) = parent_of(&home) else {
            break;
        };
        process = parent;
    }
    out
}

/// What a process runs, if that is a launcher: by the name it has, or the one it was called by.
fn executable(process: &Path) -> Option<PathBuf> {
    let path = std::fs::read_link(process.join("exe")).ok()?;
    let is_launcher = |name: &str| LAUNCHERS.iter().any(|known| name.contains(known));
    let name = path.file_name()?.to_string_lossy().into_owned();
    let called = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let called = called.split(|byte| *byte == 0).next().unwrap_or_default();
    let called = String::from_utf8_lossy(called).into_owned();
    let called = Path::new(&called)
        .file_name()?
        .to_string_lossy()
        .into_owned();
    (is_launcher(&name) || is_launcher(&called)).then_some(path)
}

fn parent_of(process: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name of a process may hold anything, and stands in brackets.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(pairs: &[(&str, &str)]) -> Option<Launched> {
        Launched::read(&|name| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_launcher_is_known_by_its_variables_and_the_inner_one_counts() {
        assert_eq!(launched(&[]), None);
        assert_eq!(
            launched(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]),
            None,
            "a batch script is no step"
        );
        let inner = [
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_PROCID", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "3"),
        ];
        let inner = launched(&inner).unwrap();
        assert_eq!((inner.size, inner.rank, inner.by), (4, 3, "Open MPI"));
        let hydra = launched(&[("PMI_SIZE", " 2"), ("PMI_RANK", "0")]).unwrap();
        assert_eq!((hydra.size, hydra.variable), (2, "PMI_SIZE"));
        assert_eq!(launched(&[("PMI_SIZE", "many"), ("PMI_RANK", "0")]), None);
        let step = [("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")];
        assert!(launched(&step).unwrap().is_without_means());
        let pmix = launched(&[&step[..], &[("PMIX_NAMESPACE", "slurm.pmix.1.0")]].concat());
        assert_eq!(pmix.unwrap().by, "Slurm by PMIx");
    }

    #[test]
    fn the_library_beside_the_launcher_comes_before_those_that_have_the_name() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["bin", "lib"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        for name in ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40"] {
            std::fs::write(place.path().join("lib").join(name), "").unwrap();
        }
        let of = |by: &'static str| {
            let launched = Launched {
                size: 2,
                rank: 0,
                variable: "",
                by,
            };
            let choice = MpiChoice::beside(&launched, &[place.path().join("bin/mpirun")]);
            choice
                .told()
                .replace(&place.path().join("bin/..").display().to_string(), "~")
        };
        assert_eq!(
            of("PMI"),
            "~/lib/libmpi_abi.so.1, ~/lib/libmpi.so.12, libmpi_abi.so.1, libmpi.so.12, libmpich.so.12, libmpi_cray.so.12"
        );
        assert_eq!(
            of("Open MPI"),
            "~/lib/libmpi_abi.so.1, ~/lib/libmpi.so.40, libmpi.so.40, libmpi_abi.so.1"
        );
        assert_eq!(
            of("Slurm by PMIx").split(", ").nth(3),
            Some("libmpi.so.40"),
            "of those that the system knows, the one that speaks PMIx"
        );
    }
}
