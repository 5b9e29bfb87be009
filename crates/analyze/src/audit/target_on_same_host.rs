//! A server on the generator's own machine gives it what it takes from itself.

use super::finding;
use crate::{Effective, Finding, Severity};
use record::Record;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(place) = named_here(record) else {
        return Vec::new();
    };
    let message = format!(
        "generator and target share one machine ({place}): the client takes CPU and memory from the server"
    );
    let advice = "as a comparison of servers this may do if the client's share is known; for what a server can do, load it from another machine";
    vec![finding(
        "target_on_same_host",
        Severity::Warning,
        message,
        advice,
    )]
}

/// The address of a served target on this machine, as it is named.
pub(super) fn named_here(record: &Record) -> Option<&str> {
    let effective = Effective::of(record);
    let network = effective
        .text("network")
        .filter(|text| matches!(*text, "localhost" | "loopback"));
    let paths = record
        .targets
        .iter()
        .map(|target| target.path.as_str())
        .chain(effective.text("target"));
    network.or_else(|| {
        paths
            .filter_map(|path| Some((path, path.rsplit_once("://")?)))
            .find(|(_, (scheme, rest))| is_here(scheme, rest))
            .map(|(path, _)| path)
    })
}

fn is_here(scheme: &str, rest: &str) -> bool {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    };
    scheme.ends_with("+unix") || host == "localhost" || host == "::1" || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;
    use record::TargetFact;

    fn at(path: &str) -> Record {
        let mut record = sound();
        record.targets = vec![TargetFact {
            path: path.into(),
            ..TargetFact::default()
        }];
        record
    }

    #[test]
    fn addresses_of_this_machine_are_found() {
        let here = [
            "nbd://localhost:10809/x",
            "s3://bucket@http://127.0.0.1:9000",
            "http://[::1]:8080/path",
            "nbd+unix:///disk?socket=/run/nbd.sock",
        ];
        for path in here {
            assert!(only(&check(&at(path))).contains(path), "{path}");
        }
        let mut stated = sound();
        set(&mut stated, "network", "localhost");
        assert!(only(&check(&stated)).contains("(localhost)"));
    }

    #[test]
    fn other_machines_and_files_are_silent() {
        for path in [
            "s3://bucket@http://10.0.0.7:9000",
            "nbd://server/x",
            "/mnt/localhost/file",
            "file",
        ] {
            assert_eq!(check(&at(path)), [], "{path}");
        }
    }
}
