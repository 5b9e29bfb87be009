//! What is compared: `--metric`, and `--better` for numbers of which nobody else says it.

use crate::exit::Usage;
use crate::tell::say;
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use record::{PlannedQuestion, Preference, Quantity, Record, Threshold};

/// The options.
pub(crate) fn arguments() -> [Arg; 2] {
    let metric = Arg::new("metric")
        .long("metric")
        .value_name("NAME")
        .default_value("iops")
        .help("What is compared: iops, throughput, mean, p50, p99, p99.9, cpu/op; of one kind of operation or a part of requests: read.p99, write.rate, put.waiting.p99; or any other quantity");
    let better = Arg::new("better")
        .long("better")
        .value_name("WHICH")
        .value_parser(["higher", "lower"])
        .help("Which values of the metric are better, where only you know it: of value:NAME and of settings");
    [metric, better]
}

/// The quantity that a plan asks for, if this version knows it.
pub(crate) fn registered(question: &PlannedQuestion) -> Option<Quantity> {
    let metric = Quantity::parse(&question.metric).ok()?;
    Some(match question.better.as_deref() {
        Some("higher") => metric.preferring(Preference::Higher),
        Some(_) => metric.preferring(Preference::Lower),
        None => metric,
    })
}

/// The quantity that was asked for.
pub(crate) fn asked(matches: &ArgMatches) -> Result<Quantity> {
    preferred(matches, named(matches)?)
}

/// As [`asked`], before anything is said of what is better.
pub(crate) fn named(matches: &ArgMatches) -> Result<Quantity> {
    let text = matches
        .get_one::<String>("metric")
        .map_or("iops", String::as_str);
    Ok(Quantity::parse(text).map_err(|error| Usage(format!("--metric {text:?}: {error}")))?)
}

/// A quantity with what the command line says is better of it.
fn preferred(matches: &ArgMatches, metric: Quantity) -> Result<Quantity> {
    let better = match matches.get_one::<String>("better").map(String::as_str) {
        Some("higher") => Preference::Higher,
        Some(_) => Preference::Lower,
        None => return Ok(metric),
    };
    if ![Preference::Unsaid, better].contains(&metric.better()) {
        return Err(Usage(format!("--better: of {metric} the other is better")).into());
    }
    Ok(metric.preferring(better))
}

/// What is asked of records: by the command line, or by the plan of their experiment.
pub(crate) struct AskedOfRecords {
    pub(crate) metric: Quantity,
    /// A ratio, 0.05 for 5 %.
    pub(crate) margin: f64,
    /// The question in words; empty: none was registered.
    pub(crate) words: String,
}

impl AskedOfRecords {
    /// What the plan of an experiment asks, but for what the command line says, which is told where
    /// it is another metric: a verdict on it was chosen afterwards.
    ///
    /// # Errors
    /// Of the metric the other values are better.
    pub(crate) fn or_as_registered(self, matches: &ArgMatches, records: &[Record]) -> Result<Self> {
        let unregistered = |asked: Self| {
            let metric = preferred(matches, asked.metric.clone())?;
            Ok(Self { metric, ..asked })
        };
        let Some(planned) = question_of(records) else {
            return unregistered(self);
        };
        // Older versions wrote the metric in words.
        let Some(registered) = registered(planned) else {
            return unregistered(self);
        };
        let is_given = |key: &str| matches.value_source(key) == Some(ValueSource::CommandLine);
        if is_given("metric") && self.metric.key() != registered.key() {
            say(&format!(
                "not what was registered: the plan asks for {}, so a verdict on {} was chosen afterwards",
                registered.key(),
                self.metric.key()
            ));
        }
        let metric = if is_given("metric") {
            self.metric
        } else {
            registered
        };
        Ok(Self {
            metric: preferred(matches, metric)?,
            margin: if is_given("margin") {
                self.margin
            } else {
                planned.margin
            },
            words: planned.text.clone(),
        })
    }
}

/// What the plan of an experiment asks, or who imported it.
fn question_of(records: &[Record]) -> Option<&PlannedQuestion> {
    let mut trials = records.iter().filter_map(|record| record.trial.as_ref());
    trials.find_map(|trial| {
        let plan = trial.written_plan.as_deref();
        plan.and_then(|plan| plan.plan.question.as_ref())
            .or(trial.question.as_ref())
    })
}

/// The thresholds that were asked for, of a verb that knows them.
pub(crate) fn thresholds(matches: &ArgMatches) -> Result<Vec<Threshold>> {
    let texts = matches.try_get_many::<String>("threshold").ok().flatten();
    let read = |text: &String| Ok(Threshold::parse(text).map_err(|e| Usage(e.to_string()))?);
    texts.into_iter().flatten().map(read).collect()
}
