//! A rule of the audit: its text, and what finds it.

use super::set::{Experiment, Located};
use super::{MOST_NAMED, RULES};
use crate::{Finding, Severity};
use record::{Record, by_machine};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use units::few;

/// A rule as its reader must know it, and what looks for it.
pub struct Rule {
    /// The name that findings carry.
    pub id: &'static str,
    /// Its number in the catalogue of known errors; `None` for one that the catalogue lacks.
    pub catalogue_number: Option<u8>,
    /// The gravest that it finds.
    pub severity: Severity,
    pub title: &'static str,
    /// What it checks, from which fields, why that matters, and what to do: lines of at most 100
    /// columns.
    pub text: &'static str,
    pub(super) checks: &'static [Check],
}

/// A way in which a rule looks at records.
pub(super) enum Check {
    /// At each record alone, as a whole.
    Alone(fn(&Record) -> Vec<Finding>),
    /// At each record as a whole and at what each of its hosts says: what is wrong on one of several
    /// may be too little to show in the sum. Of a rule that looks for several causes each is a way of
    /// its own, as hosts are named that show the same.
    Each(fn(&Record) -> Vec<Finding>),
    /// The same of what chance moves more on one host than in the sum, which shows what no host does by itself. Whether a
    /// host does by the chance of the sum.
    EachOrSum(fn(&Record) -> Vec<Finding>, HostInSum),
    /// At what each host of a record says, because it asks for something that is of one host.
    OfHost(fn(&Record) -> Vec<Finding>),
    /// The same, the host with the most of a figure first.
    OfHostByMost(fn(&Record) -> Vec<Finding>, fn(&Record) -> f64),
    /// At what the ranks of each machine say, because it asks for something that they share.
    OfMachine(fn(&[&Record]) -> Vec<Finding>),
    /// At the records that may be compared.
    Together(fn(&Experiment<'_>) -> Vec<Located>),
    /// At what one host says in all records that may be compared, host after host.
    OnHost(fn(&Experiment<'_>) -> Vec<Located>),
}

/// Whether a host shows what is found of the whole.
pub(super) type HostInSum = fn(host: &Record, whole: &Record) -> bool;

impl Rule {
    pub(super) fn finding(&self, severity: Severity, message: String, advice: &str) -> Finding {
        Finding {
            rule: self.id,
            severity,
            message,
            advice: advice.to_owned(),
            differing: Vec::new(),
        }
    }

    /// A finding about the record with this index, or about several together.
    pub(super) fn about(
        &self,
        record: Option<usize>,
        severity: Severity,
        message: String,
        advice: &str,
    ) -> Located {
        Located {
            record,
            finding: self.finding(severity, message, advice),
        }
    }
}

/// What the rules find in a record alone.
pub(super) fn alone(record: &Record) -> impl Iterator<Item = Finding> {
    let hosts = record.by_host();
    let checks = RULES.iter().flat_map(|rule| rule.checks);
    checks.flat_map(move |check| match check {
        Check::Alone(check) => check(record),
        Check::Each(check) => of_whole_and_hosts(record, &hosts, *check, |_, _| false),
        Check::EachOrSum(check, in_sum) => of_whole_and_hosts(record, &hosts, *check, *in_sum),
        Check::OfHost(check) => of_hosts(&hosts, *check, None),
        Check::OfHostByMost(check, figure) => of_hosts(&hosts, *check, Some(*figure)),
        Check::OfMachine(check) => of_machines(&hosts, *check),
        Check::Together(_) | Check::OnHost(_) => Vec::new(),
    })
}

/// What is found in the whole, with the hosts that show it as gravely where not all of them do; else
/// what is found on hosts. What no host shows is no fault of the measurement, but of hosts that were
/// added, but for what some host shows in the sum.
fn of_whole_and_hosts(
    record: &Record,
    hosts: &[Cow<'_, Record>],
    check: fn(&Record) -> Vec<Finding>,
    in_sum: HostInSum,
) -> Vec<Finding> {
    let mut whole = check(record);
    if hosts.len() < 2 {
        return whole;
    }
    if whole.is_empty() {
        return of_hosts(hosts, check, None);
    }
    let of_each: Vec<Vec<Finding>> = hosts.iter().map(|host| check(host)).collect();
    let severities = of_each.iter().flatten().map(|finding| finding.severity);
    let Some(gravest) = severities.min() else {
        let is_shown = hosts.iter().any(|host| in_sum(host, record));
        return if is_shown { whole } else { Vec::new() };
    };
    for finding in &mut whole {
        // The whole may be judged more gravely than any of its hosts.
        let least = finding.severity.max(gravest);
        let shows = |found: &[Finding]| found.iter().any(|own| own.severity <= least);
        let showing = hosts.iter().zip(&of_each);
        let showing = showing.filter(|(_, found)| shows(found));
        let names: Vec<&Record> = showing.map(|(host, _)| &**host).collect();
        if !names.is_empty() && names.len() < hosts.len() {
            let names = called(&names, hosts);
            finding.message += &format!("; of the hosts, {names} alone");
        }
    }
    whole
}

/// How people call these of several hosts: all ranks of a machine together.
fn called(these: &[&Record], all: &[Cow<'_, Record>]) -> String {
    type BootAndName<'h> = (&'h str, &'h str);
    fn machine(of: &Record) -> Option<BootAndName<'_>> {
        let host = of.generator();
        Some((host.boot()?, host.machine_called()))
    }
    fn ranks<'h>(hosts: impl Iterator<Item = &'h Record>) -> BTreeMap<BootAndName<'h>, usize> {
        let mut out = BTreeMap::new();
        hosts
            .filter_map(machine)
            .for_each(|machine| *out.entry(machine).or_default() += 1);
        out
    }
    let (shown, there) = (
        ranks(these.iter().copied()),
        ranks(all.iter().map(|host| &**host)),
    );
    let mut told = BTreeSet::new();
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    for host in these {
        let whole = machine(host).filter(|machine| shown.get(machine) == there.get(machine));
        let several = whole.and_then(|whole| Some((whole, *shown.get(&whole)?)));
        match several.filter(|(_, ranks)| *ranks > 1) {
            None => names.push(host.generator().called()),
            Some((machine, ranks)) if told.insert(machine) => {
                names.push(format!("{} ({ranks} ranks)", machine.1).into());
            }
            Some(_) => {}
        }
    }
    few(&names, MOST_NAMED)
}

/// What is found on each of several hosts, said once where it is the same, with their names. Those with
/// the most of `figure` are the first, where there is one.
fn of_hosts(
    hosts: &[Cow<'_, Record>],
    check: fn(&Record) -> Vec<Finding>,
    figure: Option<fn(&Record) -> f64>,
) -> Vec<Finding> {
    if let [only] = hosts {
        return check(only);
    }
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    if let Some(figure) = figure {
        order.sort_by(|a, b| figure(&hosts[*b]).total_cmp(&figure(&hosts[*a])));
    }
    let found = order.into_iter().flat_map(|at| {
        let found = check(&hosts[at]).into_iter();
        found.map(move |finding| (at, finding))
    });
    in_short(said_once(found), |these| {
        let these: Vec<&Record> = these.iter().map(|at| &*hosts[*at]).collect();
        called(&these, hosts)
    })
}

/// What is found on each machine, with the names of those that show it where there are several.
fn of_machines(hosts: &[Cow<'_, Record>], check: fn(&[&Record]) -> Vec<Finding>) -> Vec<Finding> {
    let ranks = |machine: &[&Cow<'_, Record>]| -> Vec<Finding> {
        let ranks: Vec<&Record> = machine.iter().map(|own| &***own).collect();
        check(&ranks)
    };
    let machines = by_machine(hosts, |own| own.generator());
    if let [only] = machines.as_slice() {
        return ranks(only);
    }
    let found = machines.iter().enumerate().flat_map(|(at, machine)| {
        let found = ranks(machine).into_iter();
        found.map(move |finding| (at, finding))
    });
    let name = |at: &usize| {
        let host = machines[*at][0].generator();
        match machines[*at].len() {
            1 => host.called().into_owned(),
            _ => host.machine_called().to_owned(),
        }
    };
    in_short(said_once(found), |these| {
        few(&these.iter().map(name).collect::<Vec<_>>(), MOST_NAMED)
    })
}

/// Each finding with the numbers of the hosts that show it; where many hosts each have figures of their
/// own, of each severity and advice some are told, and who else shows the same.
fn in_short(
    mut told: Vec<(Vec<usize>, Finding)>,
    called: impl Fn(&[usize]) -> String,
) -> Vec<Finding> {
    const MOST_TOLD: usize = 8;
    told.sort_by_key(|(_, finding)| finding.severity);
    let are_many = told.len() > MOST_TOLD;
    let mut alike: Vec<Vec<(Vec<usize>, Finding)>> = Vec::new();
    for (hosts, finding) in told {
        let is_alike = |all: &&mut Vec<(Vec<usize>, Finding)>| {
            let first = &all[0].1;
            (first.severity, &first.advice) == (finding.severity, &finding.advice)
        };
        match alike.iter_mut().find(is_alike) {
            Some(all) => all.push((hosts, finding)),
            None => alike.push(vec![(hosts, finding)]),
        }
    }
    for all in alike.iter_mut().filter(|_| are_many) {
        let rest = all.split_off(all.len().min(MOST_TOLD / 2));
        all.extend(likewise(rest));
    }
    let told = alike.into_iter().flatten();
    told.map(|(hosts, finding)| on(&called(&hosts), finding))
        .collect()
}

/// Several findings that differ in their figures as one, about each host once.
fn likewise(mut rest: Vec<(Vec<usize>, Finding)>) -> Option<(Vec<usize>, Finding)> {
    if rest.len() < 2 {
        return rest.pop();
    }
    let finding = Finding {
        message: "likewise, each with figures of its own".into(),
        differing: Vec::new(),
        ..rest[0].1.clone()
    };
    let hosts: BTreeSet<usize> = rest.into_iter().flat_map(|(hosts, _)| hosts).collect();
    Some((hosts.into_iter().collect(), finding))
}

/// What is found on several hosts, each finding once, with those that show it.
fn said_once<H: PartialEq, F: PartialEq>(found: impl Iterator<Item = (H, F)>) -> Vec<(Vec<H>, F)> {
    let mut out: Vec<(Vec<H>, F)> = Vec::new();
    for (host, finding) in found {
        match out.iter_mut().find(|(_, known)| *known == finding) {
            Some((hosts, _)) if hosts.last() == Some(&host) => {}
            Some((hosts, _)) => hosts.push(host),
            None => out.push((vec![host], finding)),
        }
    }
    out
}

fn on(hosts: &str, finding: Finding) -> Finding {
    Finding {
        message: format!("on {hosts}: {}", finding.message),
        ..finding
    }
}

/// What the rules find in records that may be compared.
pub(super) fn together(experiment: &Experiment<'_>) -> impl Iterator<Item = Located> {
    let checks = RULES.iter().flat_map(|rule| rule.checks);
    checks.flat_map(move |check| match check {
        Check::Alone(_)
        | Check::Each(_)
        | Check::EachOrSum(..)
        | Check::OfHost(_)
        | Check::OfHostByMost(..)
        | Check::OfMachine(_) => Vec::new(),
        Check::Together(check) => check(experiment),
        Check::OnHost(check) => on_hosts(experiment, *check),
    })
}

/// What is found in the records of each host, where a record is of several.
fn on_hosts(
    experiment: &Experiment<'_>,
    check: fn(&Experiment<'_>) -> Vec<Located>,
) -> Vec<Located> {
    let slots = experiment.slots.iter();
    let parts: Vec<_> = slots
        .map(|(index, record)| (*index, record.by_host()))
        .collect();
    if parts.iter().all(|(_, hosts)| hosts.len() == 1) {
        return check(experiment);
    }
    let mut by_host: BTreeMap<Cow<'_, str>, Vec<(usize, &Record)>> = BTreeMap::new();
    for (index, hosts) in &parts {
        for host in hosts {
            let slots = by_host.entry(host.generator().called()).or_default();
            slots.push((*index, host));
        }
    }
    let found = by_host.into_iter().flat_map(|(host, slots)| {
        let found = check(&experiment.of_slots(slots)).into_iter();
        found.map(move |located| (host.clone(), located))
    });
    let told = said_once(found).into_iter();
    told.map(|(names, located)| Located {
        finding: on(
            &few(&names.into_iter().collect::<Vec<_>>(), MOST_NAMED),
            located.finding,
        ),
        ..located
    })
    .collect()
}

/// Every rule.
#[must_use]
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// The long text of the rule with this name.
#[must_use]
pub fn explain(rule: &str) -> Option<&'static str> {
    rules()
        .iter()
        .find(|known| known.id == rule)
        .map(|known| known.text)
}

/// What the rule with this name says in a few words.
#[must_use]
pub fn title(rule: &str) -> Option<&'static str> {
    let known = rules().iter().find(|known| known.id == rule);
    known.map(|known| known.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::example::sound;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_rule_has_a_name_of_its_own_and_the_one_of_its_file() {
        let known: BTreeSet<&str> = rules().iter().map(|rule| rule.id).collect();
        assert_eq!(known.len(), rules().len(), "a name is used twice");
        for file in files() {
            let source = std::fs::read_to_string(&file).unwrap();
            let name = file.file_stem().unwrap().to_str().unwrap();
            if source.contains("\npub(in crate::audit) const RULE: Rule =") {
                assert!(known.contains(name), "{name} is not in RULES");
            }
        }
        assert!(rules().iter().all(|rule| !rule.checks.is_empty()));
    }

    fn files() -> Vec<PathBuf> {
        let audit = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit");
        [audit.clone(), audit.join("set")]
            .into_iter()
            .flat_map(|directory| std::fs::read_dir(directory).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect()
    }

    #[test]
    fn of_many_hosts_with_figures_of_their_own_some_are_told_and_the_rest_named_together() {
        let record = crate::audit::example::group_of(40, |rank, part| {
            let waited = 4_000_000_000 + u64::from(rank) * 100_000_000;
            part.workers[0].run_queue_wait_ns = Some(waited);
        });
        let found: Vec<Finding> = alone(&record).filter(|of| of.rule == "starved").collect();
        assert_eq!(found.len(), 5);
        assert!(found[0].message.starts_with("on node0 (rank 0): worker 0"));
        assert_eq!(
            found[4].message,
            "on node4 (rank 4), node5 (rank 5), node6 (rank 6), node7 (rank 7) and 32 more: \
             likewise, each with figures of its own"
        );
        assert!(!found[4].advice.is_empty());
    }

    #[test]
    fn what_is_told_in_short_keeps_its_severity_and_advice_and_names_each_host_once() {
        let rule = &rules()[0];
        let of = |severity, figure: usize, advice| {
            rule.finding(severity, format!("figure {figure}"), advice)
        };
        // Each host has one of the gravest, and two others.
        let found = (0..6).flat_map(|host| {
            let own = [
                of(Severity::Note, host, "wait"),
                of(Severity::Warning, host, "mend"),
                of(Severity::Warning, host + 100, "mend"),
                of(Severity::Warning, host, "drop"),
            ];
            own.map(|finding| (host, finding))
        });
        let named = |these: &[usize]| format!("{these:?}");
        let told = in_short(said_once(found), named);
        let last = |severity, advice: &str| {
            let own = told
                .iter()
                .filter(|of| of.severity == severity && of.advice == advice);
            let own: Vec<&str> = own.map(|of| of.message.as_str()).collect();
            (own.len(), own[4])
        };
        let likewise = "likewise, each with figures of its own";
        assert_eq!(
            last(Severity::Warning, "mend"),
            (5, format!("on [2, 3, 4, 5]: {likewise}").as_str())
        );
        let two = format!("on [4, 5]: {likewise}");
        assert_eq!(last(Severity::Warning, "drop"), (5, two.as_str()));
        assert_eq!(last(Severity::Note, "wait"), (5, two.as_str()));
        assert_eq!(told.len(), 15);
        let few = (0..9).map(|host| {
            let advice = if host < 5 { "mend" } else { "drop" };
            (host, of(Severity::Warning, host, advice))
        });
        let told = in_short(said_once(few), named);
        assert!(
            told.iter().all(|of| of.message.contains("figure")),
            "{told:?}"
        );
    }

    #[test]
    fn a_text_has_a_page_and_fits_the_terminal() {
        for rule in rules() {
            let lines: Vec<&str> = rule.text.lines().collect();
            assert!(
                (6..=14).contains(&lines.len()),
                "{}: {} lines",
                rule.id,
                lines.len()
            );
            assert!(
                lines.iter().all(|line| line.chars().count() <= 100),
                "{}",
                rule.id
            );
            assert!(
                rule.text.contains("What to do: ") && rule.text.chars().any(|c| c.is_ascii_digit()),
                "{}",
                rule.id
            );
            assert!(
                !rule.title.ends_with('.') && rule.title.len() < 80,
                "{}",
                rule.id
            );
        }
    }

    /// What one of several hosts did, with a name for it.
    fn part(name: &str, change: fn(&mut Record)) -> Record {
        let mut record = sound();
        record.id = name.into();
        record.generator_mut().environment.system.hostname = Some(name.into());
        change(&mut record);
        record
    }

    #[test]
    fn several_hosts_are_told_what_each_of_them_is_and_nothing_that_none_is() {
        type Change = fn(&mut Record);
        let changes: [(&str, Change); 8] = [
            ("", |_| {}),
            ("starved", |one| {
                one.generator_mut().machine.steal_share = Some(0.3)
            }),
            ("clock_drift", |one| {
                one.generator_mut().calibration.clock_drift_ns = Some(2_000_000_000);
            }),
            ("memory_target", |one| {
                let storage = &mut one.generator_mut().environment.storage;
                storage.get_or_insert_default().is_memory = Some(true);
            }),
            ("device_disagrees", |one| {
                one.generator_mut().devices[0].read_bytes /= 10
            }),
            ("generator_bound", |one| {
                one.generator_mut().environment.process.allowed_cpus = "0".parse().ok();
                one.generator_mut().process.user_ns = 10_000_000_000;
            }),
            ("", |one| one.loops.in_flight_ns *= 2),
            ("", |one| one.elapsed_ns /= 2),
        ];
        let rules = |record: &Record| alone(record).map(|f| f.rule).collect::<BTreeSet<_>>();
        for (wanted, change) in changes {
            let (a, b) = (part("a", |_| {}), part("b", change));
            let mut all = a.clone();
            all.merge(&b).unwrap();
            let of_any: BTreeSet<_> = rules(&a).union(&rules(&b)).copied().collect();
            assert!(
                rules(&all).is_subset(&of_any),
                "{wanted}: {:?}",
                rules(&all)
            );
            let tells = |all: &Record, start: &str| {
                let mut found = alone(all).filter(|finding| finding.message.starts_with(start));
                found.any(|finding| finding.rule == wanted) || wanted.is_empty()
            };
            assert!(tells(&all, "on b: "), "{wanted}");
            all.merge(&part("c", change)).unwrap();
            assert!(tells(&all, "on b, c: "), "{wanted}");
        }
    }

    #[test]
    fn ranks_of_one_machine_that_all_show_it_are_called_by_its_name() {
        let of = |ill: u32| {
            let ranks = (0..4).map(|rank| {
                let machine = if rank < 3 { "vm" } else { "other" };
                let mut part = part(machine, |_| {});
                part.id = rank.to_string();
                let host = part.generator_mut();
                host.rank = Some(rank);
                host.environment.system.boot_id = Some(machine.into());
                let storage = &mut host.environment.storage;
                storage.get_or_insert_default().is_memory = Some(rank >= 4 - ill);
                part
            });
            let all = Record::merge_all(ranks).unwrap();
            let found = alone(&all).find(|finding| finding.rule == "memory_target");
            let message = found.unwrap().message;
            let place = message.split_once(": ").map(|(place, _)| place.to_owned());
            place.unwrap()
        };
        assert_eq!(of(4), "on vm (3 ranks), other (rank 3)");
        assert_eq!(of(3), "on vm (rank 1), vm (rank 2), other (rank 3)");
    }

    #[test]
    fn a_rule_that_asks_for_a_host_looks_at_each() {
        for file in files() {
            let source = std::fs::read_to_string(&file).unwrap();
            let rule = source.split("#[cfg(test)]").next().unwrap_or_default();
            let asks = [".generator()", "in_memory("]
                .iter()
                .any(|call| rule.contains(call));
            assert!(
                !(asks && rule.contains("Check::Alone(")) || file.ends_with("rule.rs"),
                "{} asks what is of one host: Check::OfHost",
                file.display()
            );
        }
    }

    #[test]
    fn a_rule_is_found_by_its_name_alone() {
        assert!(explain("order_aliased").is_some_and(|text| text.contains("time")));
        assert_eq!(explain("order"), None);
    }
}
