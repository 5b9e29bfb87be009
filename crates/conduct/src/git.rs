//! Questions to git about the repositories that a plan names, each with an end.

use crate::child::{MARK, OF_A_REPOSITORY, Running, Waited, end_orphans};
use lab::BuildSpec;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use sys::{Clock as _, MachineClock};
use units::Nanos;

/// SIGKILL.
const KILL: i32 = 9;
/// A repository that has not said by then what its refs are does not answer.
const ANSWER_NS: u64 = 60_000_000_000;

/// How git is asked.
pub(crate) struct Git<'a> {
    pub(crate) within_ns: u64,
    /// By which what it leaves behind is known.
    pub(crate) mark: &'a str,
}

impl Git<'_> {
    /// What it prints.
    ///
    /// # Errors
    /// It failed, in its own words, or it did not end.
    pub(crate) fn run(&self, dir: &Path, words: &[&str]) -> Result<String, String> {
        let clock = MachineClock::monotonic();
        let told = |e: std::io::Error| format!("git in {}: {e}", dir.display());
        let mut command = Command::new("git");
        // It stays in the group of the caller, whose terminal may be asked for a pass phrase.
        command
            .args(words)
            .current_dir(dir)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env(MARK, self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in OF_A_REPOSITORY {
            command.env_remove(name);
        }
        let began_ns = clock.now();
        let mut child = command.spawn().map_err(told)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (output, errors) = (output.map(collected), errors.map(collected));
        let pid = child.id();
        // Its account is taken by `close`.
        drop(child);
        let running = Running::of(pid, began_ns).map_err(told)?;
        let waited = running.wait(&clock, began_ns.saturating_add(self.within_ns));
        if waited != Waited::Ended {
            let _gone = sys::signal_process(pid, KILL);
        }
        let status = running.close()?.status;
        let what = format!("git {}", words.first().unwrap_or(&""));
        match waited {
            Waited::Ended if status.success() => Ok(joined(output)),
            Waited::Ended => Err(joined(errors).trim().to_owned()),
            // Nobody waits for what it printed: a helper of its own may hold that open.
            Waited::TimeOver => {
                end_orphans(self.mark);
                Err(format!(
                    "{what} did not end within {}",
                    Nanos(self.within_ns)
                ))
            }
            Waited::Stopped => {
                end_orphans(self.mark);
                Err(format!("{what} was stopped by a signal"))
            }
        }
    }
}

/// What a stream says, read beside the process so that it never waits for a reader.
fn collected(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _what_came_until_then = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn joined(from: Option<JoinHandle<String>>) -> String {
    from.and_then(|from| from.join().ok()).unwrap_or_default()
}

/// The commit that a ref is.
///
/// # Errors
/// There is no such repository or ref, in git's words.
pub(crate) fn resolved(spec: &BuildSpec, dir: &Path, mark: &str) -> Result<String, String> {
    let within_ns = spec.within_ns.min(ANSWER_NS);
    let git = Git { within_ns, mark };
    if is_remote(&spec.repository) {
        let peeled = format!("{}^{{}}", spec.git_ref);
        let words = ["ls-remote", "--", &spec.repository, &spec.git_ref, &peeled];
        let listed = git
            .run(dir, &words)
            .map_err(|why| format!("{}: {why}", spec.repository))?;
        let is_commit =
            spec.git_ref.len() == 40 && spec.git_ref.bytes().all(|byte| byte.is_ascii_hexdigit());
        return named(&listed, &spec.git_ref)
            .or(is_commit.then(|| spec.git_ref.clone()))
            .ok_or_else(|| format!("{} has no ref {:?}", spec.repository, spec.git_ref));
    }
    let repository = dir.join(&spec.repository);
    let peeled = format!("{}^{{commit}}", spec.git_ref);
    let words = ["rev-parse", "--verify", "--end-of-options", &peeled];
    let commit = git.run(&repository, &words);
    commit
        .map(|commit| commit.trim().to_owned())
        .map_err(|why| {
            format!(
                "{} has no ref {:?}: {why}",
                repository.display(),
                spec.git_ref
            )
        })
}

/// The commit of the one ref that git itself would take of a list of all whose names end alike: a
/// listing for `main` has `refs/heads/other/main` too, and first.
fn named(listed: &str, git_ref: &str) -> Option<String> {
    let of = |name: String| {
        listed.lines().find_map(|line| {
            let (commit, found) = line.split_once('\t')?;
            (found == name).then(|| commit.to_owned())
        })
    };
    let places = ["", "refs/", "refs/tags/", "refs/heads/"];
    // What an annotated tag points to is the commit, the tag itself another object.
    places.into_iter().find_map(|place| {
        of(format!("{place}{git_ref}^{{}}")).or_else(|| of(format!("{place}{git_ref}")))
    })
}

pub(crate) fn is_remote(repository: &str) -> bool {
    repository.contains("://")
        || repository
            .split_once(':')
            .is_some_and(|(host, _)| host.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_refs_whose_names_end_alike_the_one_is_taken_that_git_means() {
        let listed = "\
aa\trefs/heads/feature/main
bb\trefs/heads/main
cc\trefs/heads/v1
dd\trefs/tags/v1
ee\trefs/tags/v1^{}
ff\tHEAD
";
        let commit = |name: &str| named(listed, name);
        assert_eq!(commit("main").as_deref(), Some("bb"));
        assert_eq!(commit("feature/main").as_deref(), Some("aa"));
        assert_eq!(commit("heads/v1").as_deref(), Some("cc"));
        assert_eq!(commit("v1").as_deref(), Some("ee"));
        assert_eq!(commit("HEAD").as_deref(), Some("ff"));
        assert_eq!(commit("ain"), None);
    }
}
