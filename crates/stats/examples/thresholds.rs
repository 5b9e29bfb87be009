//! Writes the shipped table of thresholds: `cargo run -p stats --example thresholds >
//! crates/stats/src/thresholds/shipped.rs`.
#![allow(clippy::print_stdout, reason = "the table is this program's output")]

use stats::Thresholds;

fn main() {
    let table = Thresholds::regenerate_open();
    println!(
        "//! Written by `cargo run -p stats --example thresholds`; row j - 1 holds the thresholds for alpha / j at each look."
    );
    println!("#[rustfmt::skip]");
    println!(
        "pub(super) const OPEN: [[f64; {}]; {}] = [",
        table.looks().len(),
        table.family()
    );
    for undecided in 1..=table.family() {
        let row: Vec<String> = table
            .looks()
            .iter()
            .map(|n| format!("{:?}", table.at(*n as usize, undecided).unwrap_or(0.0)))
            .collect();
        println!("    [");
        for line in row.chunks(11) {
            println!("        {},", line.join(", "));
        }
        println!("    ],");
    }
    println!("];");
}
