//! What is compared: `--metric`, and `--better` for numbers of which nobody else says it.

use crate::exit::Usage;
use anyhow::Result;
use clap::{Arg, ArgMatches};
use record::{PlannedQuestion, Preference, Quantity, Threshold};

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
    let text = matches
        .get_one::<String>("metric")
        .map_or("iops", String::as_str);
    let metric =
        Quantity::parse(text).map_err(|error| Usage(format!("--metric {text:?}: {error}")))?;
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

/// The thresholds that were asked for, of a verb that knows them.
pub(crate) fn thresholds(matches: &ArgMatches) -> Result<Vec<Threshold>> {
    let texts = matches.try_get_many::<String>("threshold").ok().flatten();
    let read = |text: &String| Ok(Threshold::parse(text).map_err(|e| Usage(e.to_string()))?);
    texts.into_iter().flatten().map(read).collect()
}
