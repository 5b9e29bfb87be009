//! Which commit a release was built at. Other builds leave it out: each commit would make them
//! again.
#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=FATHOM_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var("FATHOM_COMMIT").ok();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| is_release.then(checked_out).flatten());
    if let Some(commit) = commit {
        println!("cargo::rustc-env=FATHOM_COMMIT={commit}");
    }
}

/// None outside a repository.
fn checked_out() -> Option<String> {
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["rev-parse", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| text.trim().to_owned())
}
