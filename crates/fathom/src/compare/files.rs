//! Files of verdicts, and the gate that they and the exit code tell of.

use crate::exit::Usage;
use anyhow::{Context as _, Result};
use clap::ArgMatches;
use report::{Gate, Verdicts};
use std::path::{Path, PathBuf};

/// A form of the verdicts, by the ending of their file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Markdown,
    JUnit,
}

/// Where verdicts go.
pub(super) struct VerdictFiles(Vec<(PathBuf, Form)>);

impl VerdictFiles {
    /// The files that were asked for, each checked: verdicts take no place of anything else.
    ///
    /// # Errors
    /// A file that could not be written, or holds something else.
    pub(super) fn new(matches: &ArgMatches, inputs: &[&str]) -> Result<Self> {
        let files = matches.get_many::<PathBuf>("output").into_iter().flatten();
        let checked = files.map(|file| {
            let form = form(file)?;
            check_replaceable(file, inputs, matches.get_flag("force"))?;
            Ok((file.clone(), form))
        });
        Ok(Self(checked.collect::<Result<_>>()?))
    }

    /// Writes them all, the rest also where one cannot be written.
    ///
    /// # Errors
    /// The first that could not be written.
    pub(super) fn write(&self, verdicts: &Verdicts<'_>) -> Result<()> {
        let written: Vec<Result<()>> = self
            .0
            .iter()
            .map(|(file, form)| {
                let text = match form {
                    Form::Json => report::verdicts_json(verdicts),
                    Form::Markdown => report::verdicts_markdown(verdicts),
                    Form::JUnit => report::verdicts_junit(verdicts),
                };
                std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
            })
            .collect();
        written.into_iter().collect()
    }
}

/// Which verdicts fail: a loss always does.
pub(super) fn gate(matches: &ArgMatches) -> Gate {
    let asked = matches.get_many::<String>("fail-on").into_iter().flatten();
    if asked.into_iter().any(|what| what == "undecided") { Gate::SlowerOrUndecided } else { Gate::Slower }
}

fn form(file: &Path) -> Result<Form, Usage> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("json") => Ok(Form::Json),
        Some("md" | "markdown") => Ok(Form::Markdown),
        Some("xml") => Ok(Form::JUnit),
        Some(_) | None => Err(Usage(format!("-o {}: the ending says the form: .json, .md or .xml (JUnit)", file.display()))),
    }
}

fn check_replaceable(file: &Path, inputs: &[&str], is_forced: bool) -> Result<()> {
    let itself = file.canonicalize().ok();
    if itself.is_some() && inputs.iter().any(|input| Path::new(input).canonicalize().ok() == itself) {
        return Err(Usage(format!("{} is one of the sides; give -o another name", file.display())).into());
    }
    run::check_output(file)?;
    let Ok(facts) = std::fs::metadata(file) else { return Ok(()) };
    if !facts.is_file() {
        return Err(Usage(format!("{} is no regular file; give -o another name", file.display())).into());
    }
    if is_forced || std::fs::read(file).is_ok_and(|bytes| bytes.is_empty() || std::str::from_utf8(&bytes).is_ok_and(report::is_verdicts)) {
        return Ok(());
    }
    Err(Usage(format!("{} exists and holds no verdicts; give -o another name, or --force", file.display())).into())
}
