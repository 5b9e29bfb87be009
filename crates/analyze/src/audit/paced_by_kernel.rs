//! A congestion control that paces holds large transfers back where there is no network to be kind
//! to.

use super::target_on_same_host::named_here;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "paced_by_kernel",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "The kernel paces what goes over loopback",
    text: "\
The machine's TCP congestion control (sysctl net.ipv4.tcp_congestion_control), the address of
the target, and the mean size of operations from 64 KiB on.
BBR sends at the rate that it believes the network to have, by timers. Over loopback there is
no network: the timers and the wake-ups are all that is left. A server that sent 1 MiB from
the page cache did 3,500 a second under BBR and 13,000 without, at a quarter of the CPU time,
and two servers may differ by how they meet the timers. Whoever sends decides: downloads are
paced by the server's side, uploads by the client's. `fathom serve s3` on loopback does not pace.
What to do: compare under cubic, on the whole machine or in a network namespace.",
    checks: &[Check::OfHost(check)],
};

/// Below this many bytes an answer or an upload leaves at once, in one piece, and there is nothing
/// to pace.
const ONE_PIECE: u64 = 64 << 10;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let control = record
        .generator()
        .environment
        .system
        .sysctls
        .get("net.ipv4.tcp_congestion_control");
    let Some(control) = control.filter(|name| name.starts_with("bbr")) else {
        return Vec::new();
    };
    let over_tcp = |place: &&str| {
        ["http://", "https://"]
            .iter()
            .any(|scheme| place.contains(scheme))
    };
    let Some(place) = named_here(record).filter(over_tcp) else {
        return Vec::new();
    };
    let large = |bytes: u64, count: u64| count > 0 && bytes / count >= ONE_PIECE;
    if !record
        .operations
        .kinds()
        .any(|(_, operations)| large(operations.bytes, operations.count))
    {
        return Vec::new();
    }
    let message = format!(
        "TCP on this machine paces what it sends ({control}), and {place} is reached over loopback: for large objects the kernel's timers \
         may be the limit, in rate and in CPU time"
    );
    let advice = "compare under a congestion control that does not pace, such as cubic (sysctl net.ipv4.tcp_congestion_control, also in a \
                  network namespace), or load from another machine";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;
    use record::{Operations, TargetFact};

    fn load(control: Option<&str>, target: &str, mean_bytes: u64) -> Record {
        let mut record = sound();
        let name = "net.ipv4.tcp_congestion_control".to_owned();
        record.generator_mut().environment.system.sysctls = control
            .map(|control| (name, control.to_owned()))
            .into_iter()
            .collect();
        record.targets = vec![TargetFact {
            path: target.into(),
            ..TargetFact::default()
        }];
        record.operations = record::Measurements::default();
        record.operations.insert(
            "get",
            Operations {
                count: 10,
                bytes: mean_bytes * 10,
                ..Operations::default()
            },
        );
        record
    }

    #[test]
    fn large_transfers_over_loopback_are_paced_where_the_machine_paces() {
        let here = "s3://bucket@http://127.0.0.1:9000";
        assert!(only(&check(&load(Some("bbr"), here, 1 << 20))).contains("(bbr)"));
        for silent in [
            load(Some("cubic"), here, 1 << 20),
            load(None, here, 1 << 20),
            load(Some("bbr"), "s3://bucket@http://10.0.0.7:9000", 1 << 20),
            load(
                Some("bbr"),
                "nbd+unix:///disk?socket=/run/nbd.sock",
                1 << 20,
            ),
            load(Some("bbr"), here, 4096),
        ] {
            assert_eq!(check(&silent), []);
        }
    }
}
