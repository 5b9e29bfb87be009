//! A server on the generator's own machine gives it what it takes from itself.

use super::measured_nothing;
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "target_on_same_host",
    catalogue_number: Some(22),
    severity: Severity::Warning,
    title: "Generator and server share a machine",
    text: "\
Addresses of targets, and the option `network`: localhost, 127.0.0.0/8, ::1, and sockets
of this machine.
Whatever the client computes, copies and caches, the server lacks. 50 users that sign and
hash uploads may take 4 of 8 cores, and a server that needs 5 then seems to be slower by
the client's appetite. The network is absent too: no interrupts, no limit, no latency.
What to do: load the server from another machine. If it must be one, give each side CPUs
of its own, and report how much the client used.",
    checks: &[Check::Each(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // What was not measured was not disturbed.
    let Some(place) = named_here(record).filter(|_| !measured_nothing(record)) else {
        return Vec::new();
    };
    let message = format!(
        "generator and target share one machine ({place}): the client takes CPU and memory from the server"
    );
    let advice = "as a comparison of servers this may do if the client's share is known; for what a server can do, load it from another machine";
    vec![RULE.finding(Severity::Warning, message, advice)]
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
    fn a_server_that_nobody_reached_lacks_nothing() {
        let mut record = at("s3://bucket@http://127.0.0.1:9000");
        record.elapsed_ns = 0;
        assert_eq!(check(&record), []);
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
