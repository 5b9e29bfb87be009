//! `--out json`: a line for each metric, then a line for each sample, with its tags.
//!
//! Requests are operations by method: a sample of `http_req_duration` whose tag `expected_response`
//! is not `false` succeeded. k6 counts bytes for the run as a whole, so that requests have none
//! here. Samples carry the time at which they ended.

use super::{REQUESTS, is_built_in_time};
use crate::bins::Bins;
use crate::error::{Fault, Location};
use crate::input::{Input, syntax};
use crate::node::sound;
use crate::origin::Origin;
use record::{ErrorCount, Operations, Record, Summary, TargetFact};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use units::time;

const MILLI_NS: f64 = 1e6;
/// The longest line; a point with every tag that k6 knows takes a few hundred bytes.
const MOST_LINE_BYTES: usize = 1 << 20;
/// The most metrics, methods and names told apart: each with times takes 60 kB.
const MOST_SERIES: usize = 200;
/// The most servers that are named.
const MOST_ENDPOINTS: usize = 16;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: Body<'a>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default, borrow)]
    time: Option<Cow<'a, str>>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default, borrow)]
    contains: Option<Cow<'a, str>>,
    #[serde(default, borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tags: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

impl Body<'_> {
    fn tag(&self, name: &str) -> Option<&str> {
        self.tags
            .as_ref()?
            .get(name)
            .map(AsRef::as_ref)
            .filter(|value| !value.is_empty())
    }
}

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let mut points = Points::default();
    for (index, text) in input.text.lines().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        let at = |reason: String| {
            Fault::new(
                Location::Line {
                    line: index + 1,
                    column: None,
                },
                reason,
            )
        };
        if text.len() > MOST_LINE_BYTES {
            return Err(at(format!(
                "{} bytes are more than the {MOST_LINE_BYTES} of a line that are read",
                text.len()
            )));
        }
        let line: Line<'_> =
            serde_json::from_str(text).map_err(|error| syntax(&error, index + 1))?;
        points.add(&line).map_err(at)?;
    }
    points.into_record(origin).map(|record| vec![record])
}

/// What the samples of a metric are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Declared {
    /// Shares, levels, and distributions of what is no time.
    #[default]
    Other,
    /// A distribution of milliseconds.
    Times,
    /// Amounts of bytes.
    Bytes,
    /// Amounts of anything else.
    Counter,
}

/// Samples of one metric, or of a part of it.
#[derive(Default)]
struct Series {
    declared: Declared,
    times: Bins,
    count: u64,
    sum: f64,
    nonzero: u64,
    min: f64,
    max: f64,
    last: f64,
}

#[derive(Default)]
struct Points {
    declared: BTreeMap<String, Declared>,
    series: BTreeMap<String, Series>,
    methods: BTreeMap<String, (Bins, u64)>,
    errors: BTreeMap<(String, String), u64>,
    scenarios: BTreeMap<String, u64>,
    /// Scheme and authority of the URLs.
    endpoints: BTreeSet<String>,
    first: Option<i128>,
    last: Option<i128>,
    /// Samples that would have needed more series than there may be.
    left_out: u64,
}

impl Points {
    fn add(&mut self, line: &Line<'_>) -> Result<(), String> {
        match line.kind.as_ref() {
            "Metric" => self.declare(line),
            "Point" => self.point(line),
            other => Err(format!(
                "a line of type {other:?}; k6 writes Metric and Point"
            )),
        }
    }

    fn declare(&mut self, line: &Line<'_>) -> Result<(), String> {
        if self.declared.len() >= MOST_SERIES {
            return Err(format!("more than {MOST_SERIES} metrics"));
        }
        let contains = line.data.contains.as_deref();
        let declared = match (line.data.kind.as_deref(), contains) {
            (Some("trend"), Some("time")) => Declared::Times,
            (Some("counter"), Some("data")) => Declared::Bytes,
            (Some("counter"), _) => Declared::Counter,
            _ => Declared::Other,
        };
        self.declared
            .insert(line.metric.clone().into_owned(), declared);
        Ok(())
    }

    fn point(&mut self, line: &Line<'_>) -> Result<(), String> {
        let value = line
            .data
            .value
            .filter(sound)
            .ok_or("a point without a value, or with one that is too large")?;
        let text = line.data.time.as_deref().ok_or("a point without a time")?;
        let moment = time::parse(text).ok_or_else(|| format!("{text:?} is not a date and time"))?;
        self.first = self.first.into_iter().chain([moment]).min();
        self.last = self.last.max(Some(moment));
        let metric = line.metric.as_ref();
        let undeclared = || match is_built_in_time(metric) {
            Some(true) => Declared::Times,
            _ if metric.starts_with("data_") => Declared::Bytes,
            _ => Declared::Other,
        };
        let declared = self
            .declared
            .get(metric)
            .copied()
            .unwrap_or_else(undeclared);
        if metric == "http_req_duration" {
            self.request(&line.data, value)?;
            // A request's name is its URL unless the script names it; then its URL is that name.
            if let Some(name) = line.data.tag("name").filter(|name| !name.contains("://")) {
                self.sample(format!("{metric}{{name:{name}}}"), declared, value)?;
            }
        }
        self.sample(metric.to_owned(), declared, value)
    }

    fn request(&mut self, data: &Body<'_>, millis: f64) -> Result<(), String> {
        let method = data
            .tag("method")
            .map_or_else(|| REQUESTS.to_owned(), str::to_lowercase);
        if self.methods.len() >= MOST_SERIES && !self.methods.contains_key(&method) {
            return Err(format!("more than {MOST_SERIES} methods"));
        }
        if let Some(scenario) = data
            .tag("scenario")
            .filter(|name| self.scenarios.len() < MOST_SERIES || self.scenarios.contains_key(*name))
        {
            *self.scenarios.entry(scenario.to_owned()).or_default() += 1;
        }
        if let Some(endpoint) = data
            .tag("url")
            .and_then(endpoint)
            .filter(|_| self.endpoints.len() < MOST_ENDPOINTS)
        {
            self.endpoints.insert(endpoint.to_owned());
        }
        let (times, failed) = self.methods.entry(method.clone()).or_default();
        if data.tag("expected_response") == Some("false") {
            *failed += 1;
            let error = match (data.tag("error_code"), data.tag("status")) {
                (Some(code), _) => format!("error code {code}"),
                (None, Some(status)) => format!("status {status}"),
                (None, None) => "unexpected response".into(),
            };
            if self.errors.len() < MOST_SERIES
                || self.errors.contains_key(&(method.clone(), error.clone()))
            {
                *self.errors.entry((method, error)).or_default() += 1;
            }
            return Ok(());
        }
        let ns =
            time::nanos(millis, MILLI_NS).ok_or_else(|| format!("{millis} ms is no duration"))?;
        if times.add(ns, 1) {
            Ok(())
        } else {
            Err("more samples than 64 bits count".into())
        }
    }

    fn sample(&mut self, name: String, declared: Declared, value: f64) -> Result<(), String> {
        if self.series.len() >= MOST_SERIES && !self.series.contains_key(&name) {
            self.left_out += 1;
            return Ok(());
        }
        let series = self.series.entry(name).or_default();
        series.declared = declared;
        (series.min, series.max) = match series.count {
            0 => (value, value),
            _ => (series.min.min(value), series.max.max(value)),
        };
        series.count += 1;
        series.sum += value;
        series.nonzero += u64::from(value != 0.0);
        series.last = value;
        if declared == Declared::Times {
            let ns =
                time::nanos(value, MILLI_NS).ok_or_else(|| format!("{value} ms is no duration"))?;
            if !series.times.add(ns, 1) {
                return Err("more samples than 64 bits count".into());
            }
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    fn into_record(self, origin: &Origin<'_>) -> Result<Record, Fault> {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return Err(Fault::whole("holds no points"));
        };
        let mut record = origin.record(0, origin.stem(), None);
        record.started_at = time::format(first);
        record.elapsed_ns = u64::try_from(last - first).unwrap_or(u64::MAX);
        let seconds = record.elapsed_ns as f64 / 1e9;
        if !self.methods.is_empty() {
            let (count, errors) = self
                .methods
                .values()
                .fold((0, 0), |(count, errors), (times, failed)| {
                    (count + times.count(), errors + failed)
                });
            let per_second = (seconds > 0.0).then(|| count as f64 / seconds);
            record.summaries.insert(
                REQUESTS.into(),
                Summary {
                    count: Some(count),
                    errors: Some(errors),
                    per_second,
                    ..Summary::default()
                },
            );
        }
        for (method, (times, errors)) in self.methods {
            let count = times.count();
            record.operations.insert(
                &method,
                Operations {
                    count,
                    errors,
                    latency: times.into_histogram(),
                    ..Operations::default()
                },
            );
        }
        for ((operation, error), count) in self.errors {
            record.errors.push(ErrorCount {
                operation,
                error,
                count,
                ..ErrorCount::default()
            });
        }
        if let Some(users) = self
            .series
            .get("vus")
            .map(|series| series.max)
            .filter(|users| *users > 0.0)
        {
            record.effective.insert("users".into(), users.to_string());
        }
        let service = |path: String| TargetFact {
            path,
            kind: "service".into(),
            ..TargetFact::default()
        };
        record.targets = self.endpoints.into_iter().map(service).collect();
        if !self.scenarios.is_empty() {
            record.effective.insert(
                "scenario".into(),
                self.scenarios.keys().cloned().collect::<Vec<_>>().join(","),
            );
        }
        for (name, series) in self.series {
            record.summaries.insert(name, series.into_summary(seconds));
        }
        record
            .notices
            .push("k6 counts bytes for the run as a whole: the operations have no bytes".into());
        record.notices.push("points carry the time at which they ended: the run is from the first of them to the last".into());
        if self.left_out > 0 {
            record.notices.push(format!(
                "{} samples of metrics and names beyond the first {MOST_SERIES} are left out",
                self.left_out
            ));
        }
        Ok(record)
    }
}

/// Scheme and authority of a URL, without a user and a password.
fn endpoint(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    (!authority.is_empty() && !authority.contains('@'))
        .then(|| &url[..url.len() - rest.len() + authority.len()])
}

impl Series {
    fn into_summary(self, seconds: f64) -> Summary {
        let mut summary = Summary::default();
        if self.declared == Declared::Times {
            let latency = self.times.into_histogram();
            (summary.min_ns, summary.max_ns) = (
                latency.min().map(|ns| ns as f64),
                latency.max().map(|ns| ns as f64),
            );
            (summary.mean_ns, summary.samples) = (latency.mean(), Some(latency.count()));
            summary.latency = Some(latency);
            return summary;
        }
        if self.declared == Declared::Bytes {
            summary.bytes = time::nanos(self.sum, 1.0);
            summary.bytes_per_second = (seconds > 0.0).then(|| self.sum / seconds);
            return summary;
        }
        if self.declared == Declared::Counter && self.sum >= 0.0 && self.sum.fract() == 0.0 {
            summary.count = time::nanos(self.sum, 1.0);
            summary.per_second = (seconds > 0.0).then(|| self.sum / seconds);
            return summary;
        }
        summary.samples = Some(self.count);
        summary.figures = [
            ("sum", self.sum),
            ("not zero", self.nonzero as f64),
            ("min", self.min),
            ("max", self.max),
            ("last", self.last),
        ]
        .into_iter()
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        summary
    }
}
