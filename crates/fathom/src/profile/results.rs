//! The files that what was measured goes to.

use super::check_ending;
use crate::card::CardFiles;
use crate::check;
use crate::group::GroupOutput;
use crate::written::{self, RECORDS, RecordFile, STUDY};
use analyze::StudyOptions;
use anyhow::Result;
use clap::ArgMatches;
use lab::Kept;
use record::Record;
use run::safety::{OutputFile, check_apart};
use std::path::PathBuf;
use std::rc::Rc;

/// Of a series, where nothing says another.
pub(super) const INTERVAL_NS: u64 = 1_000_000_000;

/// By default what was measured goes nowhere.
#[derive(Default)]
pub(super) struct Results {
    store: Option<RecordFile>,
    report: Option<OutputFile>,
    pub(super) cards: CardFiles,
}

impl Results {
    /// What the command line names, none of it one of the `targets`.
    pub(super) fn new(matches: &ArgMatches, targets: &[PathBuf]) -> Result<Self> {
        let records = matches.get_one::<PathBuf>("records");
        let file = |path: &PathBuf, form| {
            OutputFile::new(path, form)
                .forced(matches.get_flag("force"))
                .apart_from(targets)
        };
        let store = records
            .map(|path| RecordFile::checked(file(path, RECORDS)))
            .transpose()?;
        let report = matches.get_one::<PathBuf>("report");
        report.map_or(Ok(()), |path| check_ending(path))?;
        let report = report.map(|path| file(path, STUDY));
        report.as_ref().map_or(Ok(()), OutputFile::check)?;
        let cards = CardFiles::new(matches, std::iter::empty())?.apart_from(targets)?;
        let written = records.map(PathBuf::as_path).into_iter();
        let written = written.chain(report.as_ref().map(OutputFile::path));
        check_apart(&written.chain(cards.paths()).collect::<Vec<_>>())?;
        Ok(Self {
            store,
            report,
            cards,
        })
    }

    /// Appends a line to the records.
    pub(super) fn keep(&self, line: Kept<'_>) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |store| store.keep(line))
    }

    /// Writes the page of these records.
    pub(super) fn write_page(&self, records: &[Record]) -> Result<()> {
        let Some(file) = &self.report else {
            return Ok(());
        };
        let page = check::page(records, &StudyOptions::default(), file.path())?;
        written::write(file, &page)
    }
}

impl GroupOutput for Rc<Results> {
    fn interval_ns(&self) -> u64 {
        INTERVAL_NS
    }

    fn check_writable(&mut self, _targets: &[PathBuf]) -> Result<()> {
        Ok(())
    }

    fn save(&self, record: &Record) -> Result<()> {
        self.keep(Kept::Record(record))
    }

    fn finish(&self, _records: &[Record], _after: &str) -> Result<()> {
        Ok(())
    }
}
