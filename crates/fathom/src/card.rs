//! The answer as a picture to post, for every verb that has one.

use crate::exit::Usage;
use crate::written::{self, CARD};
use analyze::Study;
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use run::safety::OutputFile;
use std::path::{Path, PathBuf};

/// The option that says where it goes.
pub(crate) fn argument() -> Arg {
    Arg::new("card")
        .long("card")
        .value_name("FILE")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help("Write the answer as a picture of 1200 × 630 there: .svg or .png; may be repeated")
}

/// A form of the picture, by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CardForm {
    Svg,
    Png,
}

/// Where pictures go.
#[derive(Default)]
pub(crate) struct CardFiles(Vec<(OutputFile, CardForm)>);

impl CardFiles {
    /// The files that were asked for, each checked: a picture takes no place of anything else.
    ///
    /// # Errors
    /// A file that could not be written, or holds something else.
    pub(crate) fn new<'a>(
        matches: &ArgMatches,
        inputs: impl Iterator<Item = &'a Path> + Clone,
    ) -> Result<Self> {
        let mut files = Vec::new();
        for path in matches.get_many::<PathBuf>("card").into_iter().flatten() {
            let form = form(path)?;
            written::check_is_no_input(path, inputs.clone(), "one of the records")?;
            let file = OutputFile::new(path, CARD).forced(matches.get_flag("force"));
            file.check()?;
            files.push((file, form));
        }
        Ok(Self(files))
    }

    /// The same files, none of which is what is measured.
    ///
    /// # Errors
    /// One of them is a target, whatever its name.
    pub(crate) fn apart_from(self, targets: &[PathBuf]) -> Result<Self> {
        let files = self.0.into_iter();
        let files: Vec<_> = files
            .map(|(file, form)| (file.apart_from(targets), form))
            .collect();
        files.iter().try_for_each(|(file, _)| file.check())?;
        Ok(Self(files))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(file, _)| file.path())
    }

    /// Draws what a study says, where a picture was asked for.
    ///
    /// # Errors
    /// A file that could not be written.
    pub(crate) fn write(&self, study: impl FnOnce() -> Study) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let study = study();
        self.0.iter().try_for_each(|(file, form)| {
            let bytes = match form {
                CardForm::Svg => report::card_svg(&study).into_bytes(),
                CardForm::Png => report::card_png(&study),
            };
            written::write_bytes(file, &bytes)
        })
    }
}

fn form(file: &Path) -> Result<CardForm, Usage> {
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("svg") => Ok(CardForm::Svg),
        Some("png") => Ok(CardForm::Png),
        Some(_) | None => Err(Usage(format!(
            "{}: the ending says the form of a card: .svg or .png",
            file.display()
        ))),
    }
}
