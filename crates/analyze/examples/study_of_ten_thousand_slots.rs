//! Joins 10,080 simulated slots into one study; to be run under `time`. An argument leaves out the
//! joining, for the cost of the records.
#![allow(clippy::print_stdout, reason = "the counts are this program's output")]

#[path = "../tests/study/synthetic.rs"]
mod synthetic;

use analyze::{StudyOptions, study};
use synthetic::{Shape, experiment};

fn main() {
    let records = experiment(
        Shape {
            arms: 8,
            rows: 20,
            blocks: 63,
            with_latency: true,
        },
        1.1,
    );
    println!("{} records", records.len());
    match std::env::args().nth(1).as_deref() {
        Some("records") => {}
        Some("audit") => println!("{} findings", analyze::audit(&records).len()),
        Some(_) | None => {
            let study = study(&records, &StudyOptions::default());
            let decided = study
                .rows
                .iter()
                .flat_map(|row| &row.comparisons)
                .flatten()
                .filter(|c| c.effect.is_some())
                .count();
            println!(
                "{} rows, {} arms, {decided} comparisons, {} findings",
                study.rows.len(),
                study.arms.len(),
                study.findings.len()
            );
        }
    }
}
