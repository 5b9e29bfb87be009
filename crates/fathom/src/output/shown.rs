//! How much the text of a result shows, and where.

use crate::exit::Usage;
use crate::tell::layout;
use anyhow::Result;
use clap::ArgMatches;
use report::{TerminalOptions, TextLayout};

/// What was asked for; what goes to a file is laid out for no terminal.
pub(super) fn options(matches: &ArgMatches, has_file: bool) -> Result<TerminalOptions> {
    Ok(TerminalOptions {
        show_latency: matches.get_flag("show-latency"),
        show_histogram: matches.get_flag("show-histogram"),
        show_percentiles: percentiles(matches)?,
        per_worker: matches.get_flag("per-worker-output"),
        layout: match has_file {
            true => TextLayout::default(),
            false => layout(matches),
        },
    })
}

fn percentiles(matches: &ArgMatches) -> Result<Vec<f64>> {
    let Some(list) = matches.get_one::<String>("show-percentiles") else {
        return Ok(Vec::new());
    };
    list.split(',')
        .map(|text| match text.trim().parse::<f64>() {
            Ok(p) if (0.0..=100.0).contains(&p) => Ok(p),
            Ok(_) | Err(_) => Err(Usage(format!(
                "--show-percentiles: {text:?} is not a number from 0 to 100; example: 50,99,99.9"
            ))
            .into()),
        })
        .collect()
}
