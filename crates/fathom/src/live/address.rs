//! Where the live page is, as people write it.

use crate::exit::Usage;
use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::net::SocketAddr;
use workload::Stage;

/// Refuses a target that was meant as the address of `--serve`: without `=` it would be a file of
/// that name.
pub(crate) fn check_address(matches: &ArgMatches, stages: &[Stage]) -> Result<()> {
    if matches.value_source("serve") != Some(ValueSource::CommandLine) {
        return Ok(());
    }
    let targets = stages.iter().flat_map(|stage| &stage.0);
    let meant = targets
        .flat_map(|phase| &phase.workload.targets)
        .filter_map(|target| target.to_str())
        .find(|text| text.parse::<SocketAddr>().is_ok() || text.parse::<u16>().is_ok());
    match meant {
        Some(text) => Err(Usage(format!(
            "{text:?} would be a file, as it follows --serve without \"=\"; for an address write --serve={text}, for the file ./{text}"
        ))
        .into()),
        None => Ok(()),
    }
}
