//! Hosts that are not alike do not do alike.

use super::MOST_NAMED;
use crate::audit::rule::{Check, Rule};
use crate::{DifferingFact, Finding, Severity};
use record::{Environment, HostAccount, Record};
use std::collections::BTreeMap;
use units::few;
use units::lossless::u64_to_f64;
use units::{ByteRate, Bytes};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "hosts_differ",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "The hosts of a group differ",
    text: "\
Kernel, CPU and their number, memory, file system, mount options, speed of the fastest link
that carried something, MPI library and version of Fathom of the hosts of a joined record,
and the options that took effect on some of them alone.
A mount with rsize=64k instead of 1M, an older kernel or half of the memory makes a host another
client: what it did is no repetition of what the others did, and the sum is that of a
mixture that nobody else has.
What to do: make the hosts alike, or say that they are not where the number is quoted.",
    checks: &[Check::Alone(check)],
};

/// What is compared: what people call it, and where it stands.
type Fact = (&'static str, fn(&Environment) -> Option<String>);
/// The same where it need not be known of all: those of which it is not are not compared.
type KnownFact = (&'static str, fn(&HostAccount) -> Option<String>);

const KNOWN: [KnownFact; 2] = [
    ("speed of the fastest link", |of| {
        let speeds = of.links.iter().filter_map(|link| link.bytes_per_second);
        let fastest = speeds.max()?;
        Some(ByteRate(u64_to_f64(fastest)).to_string())
    }),
    ("MPI library", |of| of.library.clone()),
];

const FACTS: [Fact; 7] = [
    ("kernel", |of| of.system.kernel_release.clone()),
    ("CPU", |of| of.cpu.model.clone()),
    ("number of CPUs", |of| {
        of.cpu.logical.map(|count| count.to_string())
    }),
    ("memory", |of| {
        of.memory.total_bytes.map(|bytes| Bytes(bytes).to_string())
    }),
    ("file system", |of| {
        Some(of.storage.as_ref()?.file_system.as_ref()?.kind.clone())
    }),
    ("mount options", |of| {
        Some(of.storage.as_ref()?.file_system.as_ref()?.options.clone())
    }),
    ("version of fathom", |of| Some(of.fathom.version.clone())),
];

fn check(record: &Record) -> Vec<Finding> {
    let hosts: Vec<&HostAccount> = record.generators().collect();
    if hosts.len() < 2 {
        return Vec::new();
    }
    let facts = FACTS
        .iter()
        .filter_map(|(name, of)| differing(name, &hosts, |host| of(&host.environment)));
    let known = KNOWN.iter().filter_map(|(name, of)| {
        let hosts = hosts.iter().copied().filter(|host| of(host).is_some());
        differing(name, &hosts.collect::<Vec<_>>(), of)
    });
    let facts = facts.chain(known);
    // What was effective on all of them does not stand with each, and of one that never began nothing
    // is known.
    let begun = |host: &&HostAccount| host.part.as_ref().is_none_or(|part| part.has_begun());
    let begun: Vec<&HostAccount> = hosts.iter().copied().filter(begun).collect();
    let options = begun.iter().filter_map(|host| host.part.as_ref());
    let mut keys: Vec<&String> = options.flat_map(|part| part.effective.keys()).collect();
    keys.sort();
    keys.dedup();
    let option = |key: &&String| {
        let of = |host: &HostAccount| host.part.as_ref()?.effective.get(*key).cloned();
        differing(&format!("--{key}"), &begun, of)
    };
    let found: Vec<DifferingFact> = facts.chain(keys.iter().filter_map(option)).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let named = found.iter().map(|fact| fact.what.clone());
    let message = format!(
        "hosts differ in {}",
        few(&named.collect::<Vec<_>>(), MOST_NAMED)
    );
    let advice = "make the hosts alike, or say that they are not where the number is quoted";
    vec![Finding {
        differing: found,
        ..RULE.finding(Severity::Warning, message, advice)
    }]
}

/// So many values of one thing are told, each with so many hosts.
const MOST_VALUES: usize = 4;
const MOST_HOSTS: usize = 3;

/// The values of a fact with those that have each, where there are several.
fn differing(
    name: &str,
    hosts: &[&HostAccount],
    of: impl Fn(&HostAccount) -> Option<String>,
) -> Option<DifferingFact> {
    let mut values: BTreeMap<String, Vec<&HostAccount>> = BTreeMap::new();
    for host in hosts {
        let value = of(host).unwrap_or_else(|| "unknown".to_owned());
        values.entry(value).or_default().push(host);
    }
    if values.len() < 2 {
        return None;
    }
    let mut values: Vec<(String, Vec<&HostAccount>)> = values.into_iter().collect();
    values.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    let more = values.len().saturating_sub(MOST_VALUES);
    let shown = values.iter().take(MOST_VALUES).map(|(value, hosts)| {
        let hosts = hosts.iter().map(|host| host.called().into_owned());
        format!("{value} on {}", few(&hosts.collect::<Vec<_>>(), MOST_HOSTS))
    });
    let more = (more > 0).then(|| format!("{more} other values"));
    Some(DifferingFact {
        what: name.to_owned(),
        values: shown.chain(more).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only, sound};
    use super::*;

    #[test]
    fn what_differs_is_named_with_the_hosts_that_have_it() {
        let record = group_of(3, |rank, part| {
            if rank == 2 {
                part.generator_mut().environment.system.kernel_release = Some("6.8".into());
                part.effective.insert("engine".into(), "sync".into());
            }
        });
        let found = check(&record);
        assert_eq!(only(&found), "hosts differ in kernel, --engine");
        let told: Vec<String> = found[0].differing.iter().map(ToString::to_string).collect();
        let both = "node0 (rank 0), node1 (rank 1)";
        assert_eq!(
            told,
            [
                format!("kernel: unknown on {both}; 6.8 on node2 (rank 2)"),
                format!("--engine: io_uring on {both}; sync on node2 (rank 2)"),
            ]
        );
    }

    #[test]
    fn links_and_libraries_are_compared_where_they_are_known() {
        let link = |speed| record::LinkAccount {
            name: "eth0".into(),
            received_bytes: 1,
            sent_bytes: 1,
            bytes_per_second: speed,
        };
        let of = |speeds: [Option<u64>; 3], libraries: [Option<&str>; 3]| {
            check(&group_of(3, |rank, part| {
                let at = rank as usize;
                let host = part.generator_mut();
                host.links = vec![link(speeds[at])];
                host.library = libraries[at].map(str::to_owned);
            }))
        };
        let (fast, slow) = (Some(1_250_000_000), Some(125_000_000));
        assert_eq!(of([fast, None, fast], [Some("a"), Some("a"), None]), []);
        let found = of([fast, slow, fast], [Some("a"), Some("b"), None]);
        let text = found[0].in_full();
        assert!(text.contains(" | speed of the fastest link: "), "{text}");
        let libraries = " | MPI library: a on node0 (rank 0); b on node1 (rank 1)";
        assert!(text.ends_with(libraries), "{text}");
    }

    #[test]
    fn of_a_thousand_hosts_few_are_named_and_the_rest_counted() {
        let record = group_of(1000, |rank, part| {
            let host = part.generator_mut();
            let kernel = if rank % 10 == 7 { "6.6" } else { "6.1" };
            host.environment.system.kernel_release = Some(kernel.into());
            host.environment.memory.total_bytes = Some(u64::from(rank) << 20);
        });
        let found = check(&record);
        let told: Vec<String> = found[0].differing.iter().map(ToString::to_string).collect();
        assert_eq!(
            told[0],
            "kernel: 6.1 on node0 (rank 0), node1 (rank 1), node2 (rank 2) and 897 more; \
             6.6 on node7 (rank 7), node17 (rank 17), node27 (rank 27) and 97 more"
        );
        assert!(told[1].ends_with("; 996 other values"), "{}", told[1]);
        assert!(found[0].in_full().len() < 500);
    }

    #[test]
    fn a_host_that_never_began_has_no_options_that_differ() {
        let record = group_of(3, |rank, part| {
            if rank == 2 {
                (part.elapsed_ns, part.operations) = <_>::default();
                part.effective.clear();
            } else {
                part.effective.insert("engine".into(), "sync".into());
            }
        });
        assert_eq!(record.effective.get("engine").unwrap(), "sync");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn hosts_that_are_alike_and_one_host_do_not_differ() {
        assert_eq!(check(&group_of(3, |_, _| ())), []);
        assert_eq!(check(&sound()), []);
    }
}
