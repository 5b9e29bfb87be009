//! How wrong the instrument can be: `fathom run` against a block device whose truth is known.
//!
//! `cargo build --release -p fathom && cargo run --release -p fathom --example calibration -- [REQUESTS [MODEL…]]`
//!
//! For every latency model: the percentiles that were injected (by the law), that the device logged
//! and that `fathom run` reports, at depth 1 over a socket of this machine, with the floor (delay 0)
//! measured right before. For every fault: what verification names, against what must be found by
//! the log of the device. For every run: operations, bytes and errors as client, device, log and
//! import count them. `FATHOM` names another program.
//!
//! Exit code: 0 all agrees, 1 something does not, 2 a model that was asked for is below the floor.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tables are this program's output"
)]

mod faults;
mod latency;
mod log;
mod sides;
mod verified;

use block::{Misbehaviour, VOCABULARY};
use latency::{Calibrated, below_the_floor, calibrated, lossy};
use log::Asked;
use record::Record;
use sides::Device;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verified::verified;

/// `empirical` draws what was measured of the one before it.
const MODELS: [&str; 9] = [
    "100us",
    "1ms",
    "10ms",
    "normal:2ms:200us",
    "lognormal:1ms:0.5",
    "empirical",
    "uniform:500us:3ms",
    "exponential:1ms",
    "mix:95%:500us:5%:20ms",
];
const FAULTS: [&str; 6] = [
    "write.lost",
    "write.torn",
    "write.misdirected",
    "write.corrupt",
    "read.corrupt",
    "read.stale",
];

/// What did not come out as it must.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn add(&mut self, what: &str, found: Vec<String>) {
        self.0
            .extend(found.into_iter().map(|why| format!("{what}: {why}")));
    }
}

/// A run of one kind of operation on a device with this model, or with none, and the record of the
/// client.
fn measured(
    fathom: &Path,
    asked: Asked,
    law: Option<(&str, &Misbehaviour)>,
    requests: u64,
    wrong: &mut Wrong,
) -> Result<(Calibrated, Record), String> {
    let spec = law.map(|(spec, _)| spec);
    let mut device = Device::serve(fathom, "64m", spec)?;
    let bytes = format!("{}", requests * 4096);
    let mut words = vec!["--random", "--total-bytes", &bytes];
    if asked == Asked::Write {
        words.extend(["--write-percent", "100"]);
    }
    let record = device.run(&words)?;
    let sides = device.end()?;
    let what = format!("{}: {}", asked.name(), spec.unwrap_or("delay 0"));
    wrong.add(&what, sides.disagreements());
    let calibrated = calibrated(asked, law.map(|(_, law)| law), &sides)?;
    wrong.add(&what, calibrated.contradictions());
    Ok((calibrated, record))
}

/// The latencies of reads in a file of one record, for the law that draws what was measured.
fn histogram(name: &str) -> Result<Vec<(u64, u64, u64)>, String> {
    let path = name.trim_end_matches("#read");
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let record: Record = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let reads = record
        .operations
        .kind("read")
        .ok_or("a record without reads")?;
    Ok(reads.latency.buckets().collect())
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1000.0)
}

/// One model with the floor beside it, and the record of its client; `None` where it is below that.
fn model(
    fathom: &Path,
    asked: Asked,
    (name, model): (&str, &str),
    requests: u64,
    wrong: &mut Wrong,
) -> Result<Option<Record>, String> {
    let spec = format!("latency={model},seed=20261122");
    let law = Misbehaviour::parse(&spec, &VOCABULARY.with_histograms(histogram));
    let law = law.map_err(|error| error.to_string())?;
    let (floor, _) = measured(fathom, asked, None, requests, wrong)?;
    let name = format!("{} `{name}`", asked.name());
    if let Some(why) = below_the_floor(asked, &law, &floor) {
        println!("| {name} | refused: {why} |");
        return Ok(None);
    }
    let (found, record) = measured(fathom, asked, Some((&spec, &law)), requests, wrong)?;
    for (percentile, floor) in found.percentiles.iter().zip(&floor.percentiles) {
        let injected = lossy(percentile.drawn);
        println!(
            "| {name} | p{} | {} | {} | {} | {} | {} | {:+.2} % | {:+.1} % |",
            100.0 * percentile.share,
            us(lossy(percentile.injected)),
            us(injected),
            us(lossy(percentile.logged)),
            us(percentile.reported),
            us(floor.reported),
            100.0 * (lossy(percentile.logged) / injected - 1.0),
            100.0 * (percentile.reported / injected - 1.0),
        );
    }
    let [median, tail] = found.late.map(|late| us(lossy(late)));
    println!(
        "| {name} | late by | {median} at the median, {tail} at p99; {:.2} % of requests within 1 % of what was drawn |",
        100.0 * found.exact
    );
    Ok(Some(record))
}

fn fault(fathom: &Path, fault: &str, wrong: &mut Wrong) -> Result<(), String> {
    let verified = verified(fathom, fault)?;
    wrong.add(fault, verified.wrong);
    let traces = &verified.traces;
    let named: Vec<String> = verified
        .found
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    println!(
        "| `{fault}` | {} | {} | {} | {} | {} | {} |",
        traces.injected,
        traces.reads,
        traces.places.len(),
        named.join(", "),
        verified.missed,
        verified.invented
    );
    Ok(())
}

fn all(fathom: &Path, requests: u64, models: &[String]) -> Result<(Wrong, bool), String> {
    let (mut wrong, mut all_measured) = (Wrong::default(), true);
    println!(
        "{requests} reads, and then writes, of 4 KiB a model, at depth 1; times in µs; the floor is delay 0, measured right before\n"
    );
    println!(
        "| latency | percentile | law | drawn | device's log | reported | reported at the floor | log / drawn | reported / drawn |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let measured = directory.path().join("measured.json");
    for name in models {
        let model_text = match name.as_str() {
            "empirical" => format!("empirical:{}#read", measured.display()),
            model => model.to_owned(),
        };
        let named = (name.as_str(), model_text.as_str());
        let record = model(fathom, Asked::Read, named, requests, &mut wrong)?;
        let writes = model(fathom, Asked::Write, named, requests, &mut wrong)?;
        all_measured &= record.is_some() && writes.is_some();
        if let Some(record) = record {
            let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
            std::fs::write(&measured, text).map_err(|error| error.to_string())?;
        }
    }
    println!(
        "\n| fault, 2 % of requests | done | blocks read | with a trace, by the log | named by verification | missed | invented |"
    );
    println!("|---|---|---|---|---|---|---|");
    for name in FAULTS {
        fault(fathom, name, &mut wrong)?;
    }
    Ok((wrong, all_measured))
}

fn main() -> ExitCode {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.ancestors().nth(2)?.join("fathom")));
    let fathom = std::env::var_os("FATHOM")
        .map(PathBuf::from)
        .or(beside)
        .unwrap_or_else(|| "fathom".into());
    let mut words = std::env::args().skip(1);
    let requests = words.next().map_or(Ok(5000), |count| count.parse());
    let Some(requests) = requests.ok().filter(|requests| *requests >= 100) else {
        eprintln!("a number of requests, at least 100, comes first");
        return ExitCode::from(2);
    };
    let asked: Vec<String> = words.collect();
    let models = if asked.is_empty() {
        MODELS.map(str::to_owned).to_vec()
    } else {
        asked
    };
    match all(&fathom, requests, &models) {
        Ok((wrong, all_measured)) => {
            wrong.0.iter().for_each(|why| println!("WRONG {why}"));
            println!(
                "\n{} contradictions between client, device, log and import",
                wrong.0.len()
            );
            ExitCode::from(match (wrong.0.is_empty(), all_measured) {
                (false, _) => 1,
                (true, false) => 2,
                (true, true) => 0,
            })
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(1)
        }
    }
}
