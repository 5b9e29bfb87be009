//! Files of verdicts, and the gate that they and the exit code tell of.

use crate::card::{self, CardFiles};
use crate::exit::OptionsRefused;
use crate::gate::{Form, form, output_argument};
use crate::tell::{annotate, annotate_argument, findings_argument, layout, tell};
use crate::written::{self, VERDICTS};
use analyze::{ArmsComparison, Comparison, Located, Question, StudyOptions, hold_against, study};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use record::{Quantity, Record, Threshold};
use report::{Gate, TextLayout, VerdictFailure, Verdicts};
use run::safety::{OutputFile, check_apart};
use std::path::{Path, PathBuf};

/// The arguments that say where verdicts go, and which fail.
pub(crate) fn verdict_arguments(command: Command) -> Command {
    command
        .arg(findings_argument())
        .arg(
            Arg::new("threshold")
                .long("threshold")
                .value_name("CONDITION")
                .action(ArgAction::Append)
                .help("A condition on the median of every row of the candidates, such as p99<5ms; a miss ends with exit code 3; may be repeated"),
        )
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
        .arg(output_argument(
            "Write the verdicts there: .json, .md or .xml (JUnit); may be repeated",
        ))
        .arg(annotate_argument())
        .arg(card::argument())
}

/// Where verdicts go, and what makes them fail.
pub(crate) struct VerdictFiles {
    files: Vec<(OutputFile, Form)>,
    gate: Gate,
    thresholds: Vec<Threshold>,
    layout: TextLayout,
    annotates: bool,
    cards: CardFiles,
}

impl VerdictFiles {
    /// The files that were asked for, each checked: verdicts take no place of anything else.
    ///
    /// # Errors
    /// A file that could not be written, or holds something else.
    pub(crate) fn new(matches: &ArgMatches, inputs: &[&str]) -> Result<Self> {
        let mut checked = Vec::new();
        for file in matches.get_many::<PathBuf>("output").into_iter().flatten() {
            let form = form(file).map_err(|why| OptionsRefused::of(why.into()))?;
            written::check_is_no_input(file, inputs.iter().map(Path::new), "one of the sides")?;
            let output = OutputFile::new(file, VERDICTS).forced(matches.get_flag("force"));
            output.check()?;
            checked.push((output, form));
        }
        let cards = CardFiles::new(matches, inputs.iter().map(Path::new))?;
        let records = matches.get_one::<PathBuf>("records").map(PathBuf::as_path);
        check_apart(
            &checked
                .iter()
                .map(|(output, _)| output.path())
                .chain(cards.paths())
                .chain(records)
                .collect::<Vec<_>>(),
        )?;
        Ok(Self {
            files: checked,
            gate: gate(matches),
            thresholds: crate::metric::thresholds(matches)?,
            layout: layout(matches),
            annotates: matches.get_flag("annotate"),
            cards,
        })
    }

    /// The same, which annotate the log as well.
    pub(crate) fn annotating(self) -> Self {
        Self {
            annotates: true,
            ..self
        }
    }

    /// These files, and others.
    ///
    /// # Errors
    /// As [`VerdictFiles::new`].
    pub(crate) fn and(mut self, more: &[PathBuf], matches: &ArgMatches) -> Result<Self> {
        for file in more {
            let output = OutputFile::new(file, VERDICTS).forced(matches.get_flag("force"));
            output.check()?;
            self.files.push((output, form(file)?));
        }
        Ok(self)
    }

    /// The same files, none of which is what is measured.
    ///
    /// # Errors
    /// One of them is a target, whatever its name.
    pub(crate) fn apart_from(self, targets: &[PathBuf]) -> Result<Self> {
        let files: Vec<_> = self
            .files
            .into_iter()
            .map(|(file, form)| (file.apart_from(targets), form))
            .collect();
        files.iter().try_for_each(|(file, _)| file.check())?;
        let cards = self.cards.apart_from(targets)?;
        Ok(Self {
            files,
            cards,
            ..self
        })
    }

    /// What the metric and the thresholds are of.
    pub(crate) fn quantities<'a>(
        &'a self,
        question: &'a Question,
    ) -> impl Iterator<Item = &'a Quantity> {
        let limited = self.thresholds.iter().map(Threshold::quantity);
        std::iter::once(&question.metric).chain(limited)
    }

    /// Tells the verdicts of an experiment, writes them, and gives the exit code.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub(crate) fn conclude_arms(&self, found: &ArmsComparison, records: &[Record]) -> Result<i32> {
        let of_arm = |name: &str| {
            let trial = |record: &&Record| record.trial.as_ref().is_some_and(|of| of.arm == name);
            records.iter().filter(trial).collect::<Vec<&Record>>()
        };
        let candidates = found.candidates.iter().map(|of| of.candidate.as_str());
        let held = candidates.flat_map(|name| hold_against(name, &of_arm(name), &self.thresholds));
        let verdicts = Verdicts::of_arms(found, records.iter().collect(), self.gate);
        let verdicts = verdicts.held_against(held.collect());
        let code = self.conclude(&report::arms_text(found, self.layout), &verdicts)?;
        self.cards
            .write(|| study(records, &asked(&found.question, Vec::new())))?;
        Ok(code)
    }

    /// Tells the verdict between two sides, each a name and its records, writes it, and gives the
    /// exit code.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub(crate) fn conclude_sides(
        &self,
        [base, candidate]: [(&str, &[Record]); 2],
        found: &Comparison,
        findings: &[Located],
    ) -> Result<i32> {
        let all: Vec<&Record> = base.1.iter().chain(candidate.1).collect();
        let text =
            report::comparison_text(base.0, candidate.0, found, findings, all.len(), self.layout);
        let of_candidate: Vec<&Record> = candidate.1.iter().collect();
        let held = hold_against(candidate.0, &of_candidate, &self.thresholds);
        let verdicts = Verdicts::of_sides([base.0, candidate.0], found, findings, all, self.gate);
        let code = self.conclude(&text, &verdicts.held_against(held))?;
        self.cards.write(|| {
            let names = |side: (&str, &[Record])| vec![side.0.to_owned(); side.1.len()];
            let labels = [names(base), names(candidate)].concat();
            let all = [base.1, candidate.1].concat();
            study(&all, &asked(&found.question, labels))
        })?;
        Ok(code)
    }

    /// Says everywhere that there is no verdict because something failed.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub(crate) fn fail(&self, failure: &VerdictFailure<'_>) -> Result<()> {
        if self.annotates {
            annotate(&report::failure_annotation(failure));
        }
        self.write_each(|form| match form {
            Form::Json => report::failure_json(failure),
            Form::Markdown => report::failure_markdown(failure),
            Form::JUnit => report::failure_junit(failure),
        })
    }

    fn conclude(&self, text: &str, verdicts: &Verdicts<'_>) -> Result<i32> {
        tell(&format!("{text}{}", verdicts.thresholds_text()))?;
        if self.annotates {
            annotate(&report::verdicts_annotations(verdicts));
        }
        self.write(verdicts)?;
        Ok(verdicts.outcome().exit_code())
    }

    fn write(&self, verdicts: &Verdicts<'_>) -> Result<()> {
        self.write_each(|form| match form {
            Form::Json => report::verdicts_json(verdicts),
            Form::Markdown => report::verdicts_markdown(verdicts),
            Form::JUnit => report::verdicts_junit(verdicts),
        })
    }

    /// Writes them all, the rest also where one cannot be written.
    fn write_each(&self, text: impl Fn(Form) -> String) -> Result<()> {
        let files = self.files.iter();
        let written: Vec<Result<()>> = files
            .map(|(file, form)| written::write(file, &text(*form)))
            .collect();
        written.into_iter().collect()
    }
}

/// What a study of the same records is asked; `labels` name the records' files.
fn asked(question: &Question, labels: Vec<String>) -> StudyOptions {
    StudyOptions {
        labels,
        metric: question.metric.clone(),
        margin: question.margin,
        factors: question.factors.clone(),
        ..StudyOptions::default()
    }
}

/// Which verdicts fail: a loss always does.
fn gate(matches: &ArgMatches) -> Gate {
    let asked = matches.get_many::<String>("fail-on").into_iter().flatten();
    if asked.into_iter().any(|what| what == "undecided") {
        Gate::SlowerOrUndecided
    } else {
        Gate::Slower
    }
}
