//! What each host did where records are of several.

use super::{Breadth, CellValue, Column, Label, Table, TableLine};
use crate::ends::{MOST_TOLD, both_ends};
use analyze::{HostFigures, Study};
use record::Quantity;
use std::collections::BTreeSet;

/// The address of the table of hosts.
pub(crate) const HOSTS: &str = "hosts";

/// The hosts of every arm in a row; `None` where each record is of one.
pub(super) fn table(study: &Study, index: usize, room: Breadth) -> Option<Table<'_>> {
    let cells = study.rows[index].cells.iter().enumerate();
    let cells = cells.filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)));
    let mut hidden = 0;
    let mut hosts: Vec<(usize, &HostFigures)> = Vec::new();
    for (arm, cell) in cells {
        let told = match room {
            Breadth::Screen | Breadth::Paper => on_paper(&cell.hosts),
            Breadth::Browser | Breadth::Program => cell.hosts.iter().collect(),
        };
        hidden += cell.hosts.len() - told.len();
        hosts.extend(told.into_iter().map(|host| (arm, host)));
    }
    let mut quantities: Vec<&Quantity> = Vec::new();
    for figure in hosts.iter().flat_map(|(_, host)| &host.figures) {
        if !quantities.contains(&&figure.metric) {
            quantities.push(&figure.metric);
        }
    }
    // What must be seen at a glance has a column only where there is something to see.
    let is_any_slow = hosts.iter().any(|(_, host)| host.slow.is_some());
    let has_arms = study.arms.len() > 1 || room == Breadth::Program;
    let mut named = vec!["Host"];
    if has_arms {
        named.insert(0, "Arm");
    }
    if is_any_slow {
        named.push("Beside the others");
    }
    let lines = hosts.iter().map(|(arm, host)| {
        let figure = |quantity: &&Quantity| {
            let known = host.figures.iter().find(|of| of.metric == **quantity);
            known.map_or(CellValue::Nothing, CellValue::Figure)
        };
        let mut labels = vec![Label::Text(host.name.clone())];
        if has_arms {
            labels.insert(0, Label::Arm(*arm));
        }
        if is_any_slow {
            labels.push(Label::Text(host.slow.clone().unwrap_or_default()));
        }
        TableLine {
            labels,
            cells: quantities.iter().map(figure).collect(),
        }
    });
    let mut out = Table {
        id: HOSTS.to_owned(),
        columns: quantities
            .iter()
            .map(|of| Column::of_quantity(study, of))
            .collect(),
        lines: lines.collect(),
        ..Table::new("Hosts", &named)
    };
    if out.lines.is_empty() {
        return None;
    }
    out.notes.extend(size(study, index));
    if hidden > 0 {
        let text = "Of many hosts the slowest, the median and the fastest";
        out.notes.push(format!(
            "{text}; {hidden} are not shown here, and are on the page."
        ));
    }
    out.notes.push("What each host did of the workload that all of them did together, each over its own time: operations add up, rates where these times are the same, percentiles never.".to_owned());
    Some(out)
}

/// On how many machines how many ranks were.
fn size(study: &Study, index: usize) -> Option<String> {
    let cells = study.rows[index].cells.iter().flatten();
    let sizes: BTreeSet<&str> = cells
        .flat_map(|cell| cell.ranks.iter().flatten())
        .map(String::as_str)
        .collect();
    let sizes: Vec<&str> = sizes.into_iter().collect();
    (!sizes.is_empty()).then(|| format!("{}.", sizes.join("; ")))
}

/// All hosts where there are few; of many the slowest, the median and the fastest.
fn on_paper(hosts: &[HostFigures]) -> Vec<&HostFigures> {
    let all = hosts.iter();
    if hosts.len() <= MOST_TOLD {
        return all.collect();
    }
    // Of a walk an operation is a directory of any size.
    let rates = ["walk.entries", "iops"].map(Quantity::named);
    let rate = |host: &&HostFigures| {
        let known = |rate: &Quantity| host.figures.iter().find(|of| of.metric == *rate);
        let known = rates.iter().find_map(known);
        known.and_then(|of| of.point).unwrap_or_default()
    };
    let told = both_ends(all.collect(), rate).into_iter();
    told.map(|(_, host)| host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{html, study_csv, study_json, study_markdown};
    use analyze::{StudyOptions, study};
    use record::{Operations, Record};

    fn part(name: &str, count: u64) -> Record {
        let mut operations = Operations {
            count,
            bytes: count * 4096,
            ..Operations::default()
        };
        operations.latency.record_many(80_000, count);
        let mut record = Record {
            id: name.into(),
            kind: "run".into(),
            name: "reads".into(),
            elapsed_ns: 1_000_000_000,
            ..Record::default()
        };
        record.operations.insert("read", operations);
        record.generator_mut().environment.system.hostname = Some(name.into());
        record
    }

    #[test]
    fn each_host_of_a_merged_record_has_a_line_in_every_form() {
        let records = [Record::merge_all([part("a", 1500), part("b", 3000)]).unwrap()];
        let study = study(&records, &StudyOptions::default());
        let lines = table(&study, 0, Breadth::Paper)
            .unwrap()
            .as_text(&study, Breadth::Paper);
        let named = ["Host", "Beside the others", "Bandwidth", "IOPS"];
        assert_eq!(lines[0][..4], named);
        let slow = "SLOW, 67% of the median host";
        assert_eq!(lines[1][..4], ["a", slow, "5.86 MiB/s", "1.50K"]);
        assert_eq!(lines[2][..4], ["b", "", "11.7 MiB/s", "3.00K"]);
        for page in [study_markdown(&study), html(&study)] {
            assert!(page.contains("Hosts") && page.contains("11.7 MiB/s"));
        }
        let csv = study_csv(&study);
        let of_b = csv.lines().find(|line| line.contains("on b"));
        assert!(
            of_b.unwrap().contains(",bandwidth,bytes/s,1,12288000,"),
            "{csv}"
        );
        let json: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let hosts = &json["rows"][0]["cells"][0]["hosts"];
        assert_eq!(
            (&hosts[0]["host"], &hosts[1]["host"]),
            (&"a".into(), &"b".into())
        );
        assert_eq!(hosts[1]["figures"][1]["value"], 3000.0);
    }

    #[test]
    fn ranks_are_in_the_order_of_their_numbers_after_the_slow_ones_with_their_machines() {
        let parts = (0..12).map(|rank| {
            let mut part = part("x", if rank == 11 { 500 } else { 1500 });
            part.id = rank.to_string();
            part.group = Some(record::GroupAccount {
                size: 12,
                ..record::GroupAccount::default()
            });
            let host = part.generator_mut();
            host.rank = Some(rank);
            host.environment.system.boot_id = Some((rank / 6).to_string());
            part
        });
        let records = [Record::merge_all(parts).unwrap()];
        let study = study(&records, &StudyOptions::default());
        let table = table(&study, 0, Breadth::Paper).unwrap();
        let lines = table.as_text(&study, Breadth::Paper);
        let names: Vec<&str> = lines[1..4].iter().map(|line| line[0].as_str()).collect();
        assert_eq!(names, ["x (rank 11)", "x (rank 0)", "x (rank 1)"]);
        assert_eq!(lines[11][0], "x (rank 9)");
        assert_eq!(table.notes[0], "12 ranks on 2 machines.");
        let page = html(&study);
        assert!(page.contains("1 record of 12 ranks on 2 machines, 1 arm"));
    }

    #[test]
    fn records_of_other_sizes_are_not_said_to_be_of_one() {
        let ranks = |first: u32, size: u32| {
            let parts = (first..first + size).map(|rank| {
                let mut part = part("x", 1500);
                part.id = rank.to_string();
                part.group = Some(record::GroupAccount {
                    size,
                    ..record::GroupAccount::default()
                });
                part.generator_mut().rank = Some(rank);
                part
            });
            Record::merge_all(parts).unwrap()
        };
        let lead = |records: &[Record]| {
            let study = study(records, &StudyOptions::default());
            let page = html(&study);
            let at = page.find(&format!("{} records", records.len())).unwrap();
            page[at..].split(", ").next().unwrap().to_owned()
        };
        let (four, again) = (ranks(0, 4), ranks(4, 4));
        assert_eq!(
            lead(&[four.clone(), again]),
            "2 records of 4 ranks on 1 machine"
        );
        assert_eq!(lead(&[four.clone(), part("y", 6000)]), "2 records");
        assert_eq!(lead(&[four, ranks(4, 2)]), "2 records");
    }

    #[test]
    fn of_a_walk_paper_has_the_ends_by_entries() {
        let parts = (0..40_u64).map(|rank| {
            let mut part = part(&format!("n{rank:02}"), 0);
            part.operations = record::Measurements::default();
            let walk = Operations {
                count: 1000 - rank,
                ..Operations::default()
            };
            part.operations.insert("walk", walk);
            part.walk = Some(record::WalkAccount {
                entries: 20_000 + rank,
                ..record::WalkAccount::default()
            });
            let span = record::Span {
                start_ns: 0,
                end_ns: 1_000_000_000,
                elapsed_ns: 1_000_000_000,
            };
            part.spans.insert("walk".into(), span);
            part
        });
        let records = [Record::merge_all(parts).unwrap()];
        let study = study(&records, &StudyOptions::default());
        let table = table(&study, 0, Breadth::Paper).unwrap();
        let lines = table.as_text(&study, Breadth::Paper);
        assert_eq!((lines[1][0].as_str(), lines[9][0].as_str()), ("n00", "n39"));
    }

    #[test]
    fn of_many_hosts_paper_has_both_ends_and_the_page_all() {
        let named = |rank: u64| part(&format!("n{rank:03}"), 10_000 + rank * 7 % 100);
        let records = [Record::merge_all((0..100).map(named)).unwrap()];
        let study = study(&records, &StudyOptions::default());
        let lines = |room| table(&study, 0, room).unwrap().as_text(&study, room);
        let paper = lines(Breadth::Paper);
        assert_eq!(paper.len(), 1 + 9);
        // 7 times 43 is 1 more than 3 hundred.
        assert_eq!(
            (paper[1][0].as_str(), paper[2][0].as_str()),
            ("n000", "n043")
        );
        assert_eq!(paper[9][0], "n057");
        assert_eq!(lines(Breadth::Browser).len(), 1 + 100);
        let notes = table(&study, 0, Breadth::Paper).unwrap().notes;
        assert!(notes[0].contains("; 91 are not shown here"), "{notes:?}");
    }

    #[test]
    fn records_of_one_host_have_no_such_table() {
        let records = [part("a", 2000)];
        let study = study(&records, &StudyOptions::default());
        assert!(table(&study, 0, Breadth::Paper).is_none());
        assert!(!study_json(&study).contains("\"hosts\""));
    }
}
