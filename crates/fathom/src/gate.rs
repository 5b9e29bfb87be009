//! Files that a job of continuous integration reads, by the ending of their names.

use crate::exit::Usage;
use crate::written;
use clap::{Arg, ArgAction};
use std::path::Path;

/// A form that such jobs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Markdown,
    JUnit,
}

/// The option that says where they go.
pub(crate) fn output_argument(help: &'static str) -> Arg {
    written::output("FILE", help).action(ArgAction::Append)
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
            "-o {}: the ending says the form: .json, .md or .xml (JUnit); a page is made of records: `fathom report RECORDS -o FILE.html`",
            file.display()
        ))),
    }
}
