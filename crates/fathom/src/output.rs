//! Where results go: the terminal, files of several formats, and the record store.

mod places;
mod shown;

use crate::exit::Usage;
use crate::run::{path, switch, time};
use crate::tell::{findings_argument, say, tell, tell_form};
use crate::written::{self, CSV, FIO_LOG, HDR_LOG, HISTOGRAMS, JSON, RECORDS, RESULT, RecordFile};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use record::Record;
use report::TextLayout;
use run::safety::{OutputFile, OutputForm, check_apart};
use std::path::{Path, PathBuf};
use workload::fio::{FioFormat, FioJobs, FioLogs};

/// Form of the result on standard output or in `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    FioJson { plus: bool },
    FioTerse,
    Csv,
    CsvSummary,
}

const USUAL_INTERVAL_NS: u64 = 1_000_000_000;
/// fio averages over so long where nothing is said.
const FIO_INTERVAL_MS: u64 = 500;

const FORMATS: [&str; 7] = [
    "text",
    "json",
    "fio-json",
    "fio-json+",
    "fio-terse",
    "csv",
    "csv-summary",
];

/// What was asked about results.
pub(crate) struct Output {
    /// One, or several of fio's, which stand behind one another.
    formats: Vec<Format>,
    file: Option<PathBuf>,
    records: Option<PathBuf>,
    store: Option<RecordFile>,
    is_forced: bool,
    /// All but the records, checked before the run.
    files: Vec<OutputFile>,
    targets: Vec<PathBuf>,
    json: Option<PathBuf>,
    csv: Option<PathBuf>,
    histogram: Option<PathBuf>,
    hdr_log: Option<PathBuf>,
    text: report::TerminalOptions,
    interval_ns: u64,
    /// Options as typed in a fio job, for its own format.
    fio_options: report::FioOptions,
    /// Logs that a fio job asks for, by phase.
    fio_logs: Vec<FioLogs>,
    fio_log_names: Vec<PathBuf>,
    aside: Aside,
}

/// Where notices go when the result is no text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aside {
    Stderr,
    /// fio says nothing on standard error where `--output` names a file, and drivers of it take
    /// every word there for a failure.
    Stdout,
}

impl Output {
    pub(crate) fn add(command: Command) -> Command {
        command
            .arg(
                Arg::new("output-format")
                    .long("output-format")
                    .value_name("FORMAT")
                    .value_parser(FORMATS)
                    .default_value("text")
                    .help("Form of the result"),
            )
            .arg(path(
                "output",
                "FILE",
                "Write the result there instead of to standard output",
            ))
            .arg(path("records", "FILE.jsonl", "Append one record a run"))
            .arg(path(
                "json-output",
                "FILE",
                "Also write the records as JSON",
            ))
            .arg(path(
                "csv-output",
                "FILE",
                "Also write the series as CSV, one row an interval and kind",
            ))
            .arg(path(
                "json-histogram",
                "FILE",
                "Also write the latency histograms as JSON",
            ))
            .arg(path(
                "hdr-log",
                "FILE",
                "Also write the latencies as an HdrHistogram interval log",
            ))
            .arg(written::force())
            .arg(switch("per-worker-output", "Show every worker"))
            .arg(switch(
                "show-latency",
                "Show the latency of every kind in full",
            ))
            .arg(findings_argument())
            .arg(switch("show-histogram", "Show latency histograms"))
            .arg(
                Arg::new("show-percentiles")
                    .long("show-percentiles")
                    .value_name("LIST")
                    .help("Show these percentiles: 50,99,99.9"),
            )
            .arg(
                Arg::new("series-interval")
                    .long("series-interval")
                    .value_name("TIME")
                    .help("Length of an interval of the series [default: 1s]"),
            )
    }

    pub(crate) fn new(matches: &ArgMatches) -> Result<Self> {
        let file = |name: &str| matches.get_one::<PathBuf>(name).cloned();
        let interval_ns = time(matches, "series-interval")?.map_or(USUAL_INTERVAL_NS, |t| t.0);
        if interval_ns < 10_000_000 {
            return Err(Usage("--series-interval must be at least 10ms".into()).into());
        }
        if time(matches, "live-interval")?.is_some_and(|t| t.0 < 10_000_000) {
            return Err(Usage("--live-interval must be at least 10ms".into()).into());
        }
        let mut out = Self {
            formats: Vec::new(),
            file: file("output"),
            records: file("records"),
            store: None,
            is_forced: matches.get_flag("force"),
            files: Vec::new(),
            targets: Vec::new(),
            json: file("json-output"),
            csv: file("csv-output"),
            histogram: file("json-histogram"),
            hdr_log: file("hdr-log"),
            text: shown::options(matches, file("output").is_some())?,
            interval_ns,
            fio_options: report::FioOptions::default(),
            fio_logs: Vec::new(),
            fio_log_names: Vec::new(),
            aside: Aside::Stderr,
        };
        out.set_format(
            matches
                .get_one::<String>("output-format")
                .map_or("text", String::as_str),
        )?;
        Ok(out)
    }

    /// Chooses the form by its name.
    pub(crate) fn set_format(&mut self, name: &str) -> Result<()> {
        self.formats = vec![match name {
            "text" => Format::Text,
            "json" => Format::Json,
            "fio-json" => Format::FioJson { plus: false },
            "fio-json+" => Format::FioJson { plus: true },
            "fio-terse" => Format::FioTerse,
            "csv" => Format::Csv,
            "csv-summary" => Format::CsvSummary,
            other => {
                return Err(Usage(format!(
                    "--output-format {other:?} is not one of {}",
                    FORMATS.join(", ")
                ))
                .into());
            }
        }];
        Ok(())
    }

    /// What a fio job says about its results.
    pub(crate) fn follow_fio(&mut self, jobs: &FioJobs) {
        self.fio_options.global_options = jobs.global_options.iter().cloned().collect();
        self.fio_options.job_options = jobs
            .job_options
            .iter()
            .map(|job| job.iter().cloned().collect())
            .collect();
        self.fio_options.groups.clone_from(&jobs.groups);
        self.fio_options.entries = if jobs.group_reporting {
            report::Entries::Group
        } else {
            report::Entries::Worker
        };
        self.fio_logs.clone_from(&jobs.logs);
        self.fio_log_names = crate::fio::log_names(jobs);
        let shortest = jobs
            .logs
            .iter()
            .filter(|logs| logs.any())
            .map(|logs| logs.average_ms.unwrap_or(FIO_INTERVAL_MS))
            .min();
        if let (Some(ms), true) = (shortest, self.interval_ns == USUAL_INTERVAL_NS) {
            self.interval_ns = ms.max(10) * 1_000_000;
        }
        if let Some(file) = &jobs.output.file {
            self.file = Some(file.into());
            self.text.layout = TextLayout::default();
            self.aside = Aside::Stdout;
        }
        if !jobs.output.formats.is_empty() {
            self.formats = jobs
                .output
                .formats
                .iter()
                .map(|format| of_fio(*format))
                .collect();
            // fio writes its forms in this order, however they are named.
            self.formats.sort_by_key(|format| match format {
                Format::FioTerse => 0,
                Format::FioJson { .. } | Format::Json | Format::Csv | Format::CsvSummary => 1,
                Format::Text => 2,
            });
            self.formats.dedup();
        }
    }

    pub(crate) fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Fails before the run if a result could not be written after it, or would destroy something;
    /// `targets` is what the run is about.
    pub(crate) fn check_writable(&mut self, targets: &[PathBuf]) -> Result<()> {
        let is_forced = self.is_forced;
        let output = |path: &Path, form: OutputForm| {
            OutputFile::new(path, form)
                .forced(is_forced)
                .apart_from(targets)
        };
        let asked = [
            (&self.file, RESULT),
            (&self.json, JSON),
            (&self.csv, CSV),
            (&self.histogram, HISTOGRAMS),
            (&self.hdr_log, HDR_LOG),
        ];
        let files: Vec<OutputFile> = asked
            .iter()
            .filter_map(|(path, form)| Some(output(path.as_ref()?, *form)))
            .chain(self.fio_log_names.iter().map(|path| output(path, FIO_LOG)))
            .collect();
        let paths: Vec<&Path> = files
            .iter()
            .map(OutputFile::path)
            .chain(self.records.as_deref())
            .collect();
        check_apart(&paths)?;
        files.iter().try_for_each(OutputFile::check)?;
        self.store = self
            .records
            .as_ref()
            .map(|path| RecordFile::checked(output(path, RECORDS)))
            .transpose()?;
        (self.files, self.targets) = (files, targets.to_vec());
        Ok(())
    }

    /// The file of a result, as it was checked.
    fn checked(&self, path: Option<&PathBuf>) -> Option<&OutputFile> {
        path.and_then(|path| self.files.iter().find(|file| file.path() == path))
    }

    /// Keeps a record as soon as it exists.
    pub(crate) fn save(&self, record: &Record) -> Result<()> {
        self.store
            .as_ref()
            .map_or(Ok(()), |store| store.append(record))
    }

    fn form(
        &self,
        format: Format,
        records: &[Record],
        text: &dyn Fn() -> String,
    ) -> Result<String> {
        Ok(match format {
            Format::Text => text(),
            Format::Json => report::json(records),
            Format::FioJson { plus } => {
                let document = report::fio_json(
                    records,
                    &report::FioOptions {
                        bins: plus,
                        ..self.fio_options.clone()
                    },
                );
                report::json_without_commands(&serde_json::to_string_pretty(&document)?)
            }
            Format::FioTerse => report::fio_terse(records, &self.fio_options),
            Format::Csv => report::csv(records),
            Format::CsvSummary => report::csv_summary(records),
        })
    }

    /// What a reader must know and a form for machines has no place for, or one that nobody looks
    /// at.
    fn tell_notices(&self, records: &[Record]) {
        let mut told: Vec<String> = Vec::new();
        for notice in records.iter().flat_map(Record::notes) {
            if told.contains(&notice) {
                continue;
            }
            let note = format!("note: {notice}");
            told.push(notice);
            let _nobody_reads_a_closed_terminal = match self.aside {
                Aside::Stderr => {
                    say(&note);
                    Ok(())
                }
                Aside::Stdout => tell(&note),
            };
        }
    }

    /// Writes everything that was asked for, the rest also where one part cannot be written;
    /// `after` follows the texts of all records.
    pub(crate) fn finish(&self, records: &[Record], after: &str) -> Result<()> {
        let text = |record| report::terminal(record, &analyze::self_check(record), &self.text);
        let texts = || {
            let texts = records
                .iter()
                .map(text)
                .chain((!after.is_empty()).then(|| after.to_owned()));
            texts.collect::<Vec<_>>().join("\n")
        };
        let forms: Vec<String> = self
            .formats
            .iter()
            .map(|format| self.form(*format, records, &texts))
            .collect::<Result<_>>()?;
        let is_text = self.formats == [Format::Text];
        let mut written = vec![match self.checked(self.file.as_ref()) {
            None if is_text => tell(&forms.join("\n")),
            file => write(file, &forms.join("\n")),
        }];
        if !self.formats.contains(&Format::Text) {
            self.tell_notices(records);
        }
        let extra = [
            (&self.json, report::json as fn(&[Record]) -> String),
            (&self.csv, report::csv),
            (&self.histogram, report::histograms_json),
        ];
        for (path, form) in extra {
            if let Some(file) = self.checked(path.as_ref()) {
                written.push(write(Some(file), &form(records)));
            }
        }
        if let Some(file) = self.checked(self.hdr_log.as_ref()) {
            let logs = records
                .iter()
                .map(report::hdr_log)
                .collect::<Result<Vec<_>, _>>()?;
            written.push(write(Some(file), &logs.concat()));
        }
        for (file, text) in crate::fio::log_files(records, &self.fio_logs) {
            let file = PathBuf::from(file);
            written.push(write(self.checked(Some(&file)), &text));
        }
        written.into_iter().collect()
    }
}

/// fio's own name of a form, which is another one's elsewhere: its json is not Fathom's.
fn of_fio(format: FioFormat) -> Format {
    match format {
        FioFormat::Normal => Format::Text,
        FioFormat::Json => Format::FioJson { plus: false },
        FioFormat::JsonPlus => Format::FioJson { plus: true },
        FioFormat::Terse => Format::FioTerse,
    }
}

fn write(file: Option<&OutputFile>, form: &str) -> Result<()> {
    match file {
        Some(file) if form.ends_with('\n') => written::write(file, form),
        Some(file) => written::write(file, &format!("{form}\n")),
        None => tell_form(form),
    }
}
