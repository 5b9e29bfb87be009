//! Arms that are git refs: cloned and built once a commit, kept in a cache.

use crate::child::{Env, Program, Waited, failure, tail};
use crate::git::{Git, is_remote};
use host::Context;
use lab::BuildSpec;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use sys::Clock as _;
use units::Nanos;

/// A tree in which the build has run.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) tree: PathBuf,
    /// What its `identity` command printed.
    pub(crate) identity: Option<String>,
}

/// Where builds are kept.
fn cache() -> Result<PathBuf, String> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = base.filter(|base| base.is_absolute()).or_else(home);
    base.map(|base| base.join("fathom/builds"))
        .ok_or_else(|| "there is no HOME to keep builds in".into())
}

/// Hexadecimal digits that stand for a text.
pub(crate) fn digest(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    sum.iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The tree of a commit, built: from the cache, or anew.
///
/// # Errors
/// Cloning or building failed, with the end of what it printed.
pub(crate) fn built(
    spec: &BuildSpec,
    commit: &str,
    dir: &Path,
    mark: &str,
    context: &Context,
) -> Result<Built, String> {
    let how = format!(
        "{:?} {:?} {:?} {}",
        spec.command, spec.env, spec.identity, spec.directory
    );
    let home = cache()?
        .join(digest(&spec.repository))
        .join(format!("{}-{}", commit, digest(&how)));
    let told = |e: std::io::Error| format!("cannot write {}: {e}", home.display());
    fs::create_dir_all(&home).map_err(told)?;
    let lock = File::create(home.join("lock")).map_err(told)?;
    held(&lock, spec.within_ns, context).map_err(|why| format!("{}: {why}", home.display()))?;
    let (tree, done, log) = (home.join("tree"), home.join("done"), home.join("log"));
    if !done.is_file() {
        let _an_unfinished_one = fs::remove_dir_all(&tree);
        let source = if is_remote(&spec.repository) {
            spec.repository.clone()
        } else {
            dir.join(&spec.repository).display().to_string()
        };
        let within_ns = spec.within_ns;
        let git = Git { within_ns, mark };
        let clone = ["clone", "--quiet", "--no-checkout", "--", &source, "tree"];
        git.run(&home, &clone)
            .and_then(|_| git.run(&tree, &["checkout", "--quiet", "--detach", commit]))
            .map_err(|why| format!("no clone of {source} at {commit}: {why}"))?;
        run(spec, &spec.command, &tree, &log, mark, context).map_err(|why| {
            format!(
                "the build of {} ({commit}) {why}; it is logged in {}",
                spec.git_ref,
                log.display()
            )
        })?;
        fs::write(&done, commit).map_err(told)?;
    }
    let identity = match &spec.identity {
        None => None,
        Some(words) => {
            let prints = home.join("identity");
            run(spec, words, &tree, &prints, mark, context)
                .map_err(|why| format!("identity {why}"))?;
            Some(without_place(&tail(&prints), &tree))
        }
    };
    Ok(Built { tree, identity })
}

/// What a build says of itself without where it lies: that holds the commit, so that a tool which
/// names the directory (`cargo tree` does) would differ between any two refs.
fn without_place(said: &str, tree: &Path) -> String {
    let resolved = tree.canonicalize().unwrap_or_else(|_| tree.to_owned());
    let said = said.replace(&*tree.to_string_lossy(), "{tree}");
    said.replace(&*resolved.to_string_lossy(), "{tree}")
}

/// Time between two looks whether another runner has built the same.
const LOOK_NS: u64 = 20_000_000;

/// Takes the lock of a build, which another runner may have for as long as its own build takes.
fn held(lock: &File, within_ns: u64, context: &Context) -> Result<(), String> {
    let clock = &context.clock;
    let until_ns = clock.now().saturating_add(within_ns);
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.to_string()),
            Err(TryLockError::WouldBlock) if sys::caught_signal().is_some() => {
                return Err("a signal ended the wait for another runner that builds it".into());
            }
            Err(TryLockError::WouldBlock) if clock.now() >= until_ns => {
                return Err(format!(
                    "another runner that builds it was not ready within {}",
                    Nanos(within_ns)
                ));
            }
            Err(TryLockError::WouldBlock) => clock.sleep_until(clock.now() + LOOK_NS),
        }
    }
}

fn run(
    spec: &BuildSpec,
    words: &[String],
    tree: &Path,
    prints: &Path,
    mark: &str,
    context: &Context,
) -> Result<(), String> {
    let clock = &context.clock;
    let env: BTreeMap<String, String> = spec.env.clone();
    let temporary = std::env::temp_dir();
    let program = Program {
        words,
        env: Env {
            is_bare: false,
            own: &env,
            scratch: &temporary,
            mark,
        },
        dir: &tree.join(&spec.directory),
        input: None,
        output: Some(prints),
        errors: Some(prints),
        groups: &[],
    };
    let running = program.start(clock)?;
    let waited = running.wait(clock, clock.now().saturating_add(spec.within_ns));
    let spent = running.close()?;
    let failure = match waited {
        Waited::Ended => failure(spent.status, &[0]),
        Waited::TimeOver => Some(format!("did not end within {}", Nanos(spec.within_ns))),
        Waited::Stopped => Some("was stopped by a signal".into()),
    };
    failure.map_or(Ok(()), |why| {
        Err(format!("failed: {why}; it printed: {}", tail(prints)))
    })
}

/// The file of a program, found as it will be started: along `searched`, the path that its own
/// environment has, else along ours.
pub(crate) fn program_at(program: &str, dir: &Path, searched: Option<&str>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(dir.join(program));
    }
    let all = match searched {
        Some(own) => own.into(),
        None => std::env::var_os("PATH")?,
    };
    std::env::split_paths(&all)
        .map(|at| dir.join(at).join(program))
        .find(|at| at.is_file())
}

/// The SHA-256 and the length of a program.
pub(crate) fn identity_of(path: &Path) -> Option<String> {
    let bytes = sys::read_at_most(path, MOST_HASHED).ok()?;
    let sum: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Some(format!("sha256:{sum}, {} bytes", bytes.len()))
}

/// No program or list of versions is longer; what never ends has no hash.
const MOST_HASHED: u64 = 4 << 30;

/// Files that say which versions of other people's code a build takes.
const LOCKS: [&str; 6] = [
    "Cargo.lock",
    "go.sum",
    "package-lock.json",
    "yarn.lock",
    "poetry.lock",
    "uv.lock",
];

/// The hashes of those that a tree has.
pub(crate) fn locks_of(tree: &Path) -> Vec<(String, String)> {
    let of = |name: &&str| {
        let bytes = sys::read_at_most(&tree.join(name), MOST_HASHED).ok()?;
        let sum: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Some(((*name).to_owned(), format!("sha256:{sum}")))
    };
    LOCKS.iter().filter_map(of).collect()
}
