//! A link of the client that is full is what was measured.

use super::percent;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{HostPart, LinkAccount, Record};
use units::ByteRate;
use units::lossless::u64_to_f64;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "client_link",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "A network link of the client was full",
    text: "\
What each network link of a host carried either way (links[]), beside what its driver says
that it can (links[].bytes_per_second): 90 % of that and more. What virtual links carry at
most is not known, and then nothing is said.
A link of 10 Gbit/s carries 1.25 GB/s, and 1.17 GB/s of data over TCP. What a target does
beyond that cannot be seen from this host: the number is that of the link, and two targets
that fill it are equally fast.
What to do: measure from more hosts (--hosts), over a faster link, or with less data an
operation; quote the result as what the clients can take.",
    checks: &[Check::OfHostByMost(check, fullest_share)],
};

const FULL: f64 = 0.9;

fn check(record: &Record) -> Vec<Finding> {
    let part = record.host_parts();
    let fullest = part.first().and_then(|own| fullest(*own));
    let Some((link, share)) = fullest.filter(|(_, share)| *share >= FULL) else {
        return Vec::new();
    };
    let most = link.bytes_per_second.map_or(0.0, u64_to_f64);
    let message = format!(
        "{} carried {} of the {} that it can, {}: the link of the client was measured",
        link.name,
        ByteRate(share * most),
        ByteRate(most),
        percent(share)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "measure from more hosts or over a faster link, or quote it as what the clients can take",
    )]
}

fn fullest_share(record: &Record) -> f64 {
    let part = record.host_parts();
    let fullest = part.first().and_then(|own| fullest(*own));
    fullest.map_or(0.0, |(_, share)| share)
}

/// The link of a host that was nearest to what it can carry, and its share of that.
pub(super) fn fullest(own: HostPart<'_>) -> Option<(&LinkAccount, f64)> {
    let seconds = u64_to_f64(own.counted_over_ns()) / 1e9;
    let shares = own.host.links.iter().filter_map(|link| {
        let most = u64_to_f64(link.bytes_per_second?) * seconds;
        let carried = u64_to_f64(link.received_bytes.max(link.sent_bytes));
        (most > 0.0).then(|| (link, carried / most))
    });
    shares.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only, sound};
    use super::super::self_check;
    use super::*;

    fn with(received_bytes: u64, sent_bytes: u64, speed: Option<u64>) -> Record {
        let mut record = sound();
        record.generator_mut().links = vec![
            LinkAccount {
                name: "eth0".into(),
                received_bytes,
                sent_bytes,
                bytes_per_second: speed,
            },
            LinkAccount {
                name: "eth1".into(),
                received_bytes: 1,
                sent_bytes: 1,
                bytes_per_second: Some(1_250_000_000),
            },
        ];
        record
    }

    #[test]
    fn of_many_hosts_those_with_the_fullest_links_are_told_first() {
        let record = group_of(20, |rank, part| {
            part.generator_mut().links = vec![LinkAccount {
                name: "eth0".into(),
                received_bytes: 1_150_000_000 + u64::from(rank) * 4_000_000,
                sent_bytes: 1,
                bytes_per_second: Some(125_000_000),
            }];
        });
        let found = self_check(&record).into_iter();
        let told = found.filter(|finding| finding.rule == RULE.id);
        let told: Vec<String> = told.map(|finding| finding.message).collect();
        let first = |at: usize| told[at].split_once(": eth0").unwrap().0;
        assert_eq!(
            (first(0), first(1)),
            ("on node19 (rank 19)", "on node18 (rank 18)")
        );
    }

    #[test]
    fn a_link_that_is_full_either_way_is_found() {
        let gigabit = Some(125_000_000);
        for record in [
            with(1_170_000_000, 9, gigabit),
            with(9, 1_170_000_000, gigabit),
        ] {
            assert_eq!(
                only(&check(&record)),
                "eth0 carried 112 MiB/s of the 119 MiB/s that it can, 93.6%: the link of the client was measured"
            );
        }
        assert_eq!(
            check(&with(1_120_000_000, 1_120_000_000, gigabit)),
            [],
            "each way has its own"
        );
        assert_eq!(check(&with(1_170_000_000, 9, None)), []);
        assert_eq!(check(&with(1_170_000_000, 9, Some(0))), []);
    }
}
