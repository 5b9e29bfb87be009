//! Where the live page is, as people write it.

use crate::exit::Usage;
use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::net::SocketAddr;
use workload::Stage;

/// Refuses a target that was meant as the address of `--serve` or `--prometheus`: without `=`, and
/// of an option that takes no value, it would be a file of that name.
pub(crate) fn check_address(matches: &ArgMatches, stages: &[Stage]) -> Result<()> {
    let given = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
    let (serves, counts) = (given("serve"), given("prometheus"));
    if !serves && !counts {
        return Ok(());
    }
    let targets = stages.iter().flat_map(|stage| &stage.0);
    let meant = targets
        .flat_map(|phase| &phase.workload.targets)
        .filter_map(|target| target.to_str())
        .find(|text| text.parse::<SocketAddr>().is_ok() || text.parse::<u16>().is_ok());
    match meant {
        Some(text) if serves => Err(Usage(format!(
            "{text:?} would be a file, as it follows --serve without \"=\"; for an address write --serve={text}, for the file ./{text}"
        ))
        .into()),
        Some(text) => Err(Usage(format!(
            "{text:?} would be a file: --prometheus takes no value; for an address write {}, for the file ./{text}",
            as_prometheus(text)
        ))
        .into()),
        None => Ok(()),
    }
}

/// An address as the options of `--prometheus` say it.
fn as_prometheus(text: &str) -> String {
    match text.parse::<SocketAddr>() {
        Ok(at) => format!(
            "--prometheus --prometheus-address {} --prometheus-port {}",
            at.ip(),
            at.port()
        ),
        Err(_) => format!("--prometheus --prometheus-port {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_after_prometheus_is_shown_as_its_options() {
        assert_eq!(
            as_prometheus("[::1]:9"),
            "--prometheus --prometheus-address ::1 --prometheus-port 9"
        );
        assert_eq!(as_prometheus("9090"), "--prometheus --prometheus-port 9090");
    }
}
