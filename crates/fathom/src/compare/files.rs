//! Files of verdicts, and the gate that they and the exit code tell of.

use crate::exit::Usage;
use crate::written::{self, VERDICTS};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use report::{Gate, Verdicts};
use run::safety::{OutputFile, check_apart};
use std::path::{Path, PathBuf};

/// The arguments that say where verdicts go, and which fail.
pub(crate) fn verdict_arguments(command: Command) -> Command {
    command
        .arg(
            Arg::new("fail-on")
                .long("fail-on")
                .value_name("WHAT")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(["slower", "undecided"])
                .default_value("slower")
                .help("What ends with exit code 3; slower always does"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help("Write the verdicts there: .json, .md or .xml (JUnit); may be repeated"),
        )
}

/// A form of the verdicts, by the ending of their file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Markdown,
    JUnit,
}

/// Where verdicts go.
pub(crate) struct VerdictFiles(Vec<(OutputFile, Form)>);

impl VerdictFiles {
    /// The files that were asked for, each checked: verdicts take no place of anything else.
    ///
    /// # Errors
    /// A file that could not be written, or holds something else.
    pub(crate) fn new(matches: &ArgMatches, inputs: &[&str]) -> Result<Self> {
        let mut checked = Vec::new();
        for file in matches.get_many::<PathBuf>("output").into_iter().flatten() {
            let form = form(file)?;
            written::check_is_no_input(file, inputs.iter().map(Path::new), "one of the sides")?;
            let output = OutputFile::new(file, VERDICTS).forced(matches.get_flag("force"));
            output.check()?;
            checked.push((output, form));
        }
        let records = matches.get_one::<PathBuf>("records").map(PathBuf::as_path);
        check_apart(
            &checked
                .iter()
                .map(|(output, _)| output.path())
                .chain(records)
                .collect::<Vec<_>>(),
        )?;
        Ok(Self(checked))
    }

    /// The same files, none of which is what is measured.
    ///
    /// # Errors
    /// One of them is a target, whatever its name.
    pub(crate) fn apart_from(self, targets: &[PathBuf]) -> Result<Self> {
        let files: Vec<_> = self
            .0
            .into_iter()
            .map(|(file, form)| (file.apart_from(targets), form))
            .collect();
        files.iter().try_for_each(|(file, _)| file.check())?;
        Ok(Self(files))
    }

    /// Writes them all, the rest also where one cannot be written.
    ///
    /// # Errors
    /// The first that could not be written.
    pub(crate) fn write(&self, verdicts: &Verdicts<'_>) -> Result<()> {
        let written: Vec<Result<()>> = self
            .0
            .iter()
            .map(|(file, form)| {
                let text = match form {
                    Form::Json => report::verdicts_json(verdicts),
                    Form::Markdown => report::verdicts_markdown(verdicts),
                    Form::JUnit => report::verdicts_junit(verdicts),
                };
                written::write(file, &text)
            })
            .collect();
        written.into_iter().collect()
    }
}

/// Which verdicts fail: a loss always does.
pub(crate) fn gate(matches: &ArgMatches) -> Gate {
    let asked = matches.get_many::<String>("fail-on").into_iter().flatten();
    if asked.into_iter().any(|what| what == "undecided") {
        Gate::SlowerOrUndecided
    } else {
        Gate::Slower
    }
}

fn form(file: &Path) -> Result<Form, Usage> {
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("json") => Ok(Form::Json),
        Some("md" | "markdown") => Ok(Form::Markdown),
        Some("xml") => Ok(Form::JUnit),
        Some(_) | None => Err(Usage(format!(
            "-o {}: the ending says the form: .json, .md or .xml (JUnit)",
            file.display()
        ))),
    }
}
