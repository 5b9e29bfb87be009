//! Files that a job of continuous integration reads, by the ending of their names.

use crate::exit::Usage;
use clap::{Arg, ArgAction, value_parser};
use std::path::{Path, PathBuf};

/// A form that such jobs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Markdown,
    JUnit,
}

/// The option that says where they go.
pub(crate) fn output_argument(what: &str) -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help(format!(
            "{what}: .json, .md or .xml (JUnit); may be repeated"
        ))
}

/// The form of a file.
pub(crate) fn form(file: &Path) -> Result<Form, Usage> {
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
