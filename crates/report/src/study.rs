//! A study in the forms of files: CSV, JSON and Markdown.

mod csv;
mod json;
mod markdown;

pub use csv::study_csv;
pub use json::study_json;
pub(crate) use markdown::escaped;
pub use markdown::study_markdown;

/// First line of a report in Markdown.
const MARKDOWN_MARK: &str = "<!-- fathom report -->";
/// Stands at the end of every page.
const HTML_MARK: &str = "<footer>Written by Fathom from records alone.</footer>";

/// Whether a text is a study in one of its forms, which may be written anew without asking.
#[must_use]
pub fn is_study(text: &str) -> bool {
    text.starts_with(MARKDOWN_MARK)
        || text.contains(HTML_MARK)
        || csv::is_study_csv(text)
        || json::is_study_json(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Block, Breadth, document};
    use crate::study_text;
    use analyze::{Study, StudyOptions, study};
    use record::{Histogram, Operations, Record, Role, SCHEMA, Trial};

    fn operations(count: u64, latency_ns: u64) -> Operations {
        let mut latency = Histogram::default();
        latency.record_many(latency_ns, count - count / 100);
        latency.record_many(latency_ns * 20, count / 100);
        Operations {
            count,
            bytes: count * 4096,
            smallest_bytes: Some(4096),
            largest_bytes: Some(4096),
            latency,
            ..Operations::default()
        }
    }

    /// One slot: the candidate does a tenth more, and everything wanders a little.
    fn slot(arm: usize, row: usize, block: u32, slot: u32) -> Record {
        let wander = u64::from(block * 7 % 5) * 20 + u64::from(slot * 13 % 7) * 10;
        let count = [10_000, 11_000][arm] + wander;
        let mut record = Record {
            schema: SCHEMA,
            id: format!("r-{slot}"),
            kind: "run".into(),
            started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 60, slot % 60),
            elapsed_ns: 1_000_000_000,
            trial: Some(Trial {
                plan: "plan".into(),
                arm: ["before", "after"][arm].into(),
                row: ["RND4K Q1T1 read", "MIX 70/30"][row].into(),
                block,
                slot,
                role: [Role::Baseline, Role::Candidate][arm],
                lead_in_ns: Some(500_000_000),
                ..Trial::default()
            }),
            ..Record::default()
        };
        record.operations.insert("read", operations(count, 90_000));
        if row == 1 {
            record
                .operations
                .insert("write", operations(count / 2, 30_000));
        }
        record.generator_mut().process.user_ns = 3_000 * count;
        for (key, value) in [
            ("engine", "io_uring"),
            ("block-size", "4k"),
            ("random", "true"),
            ("direct", "true"),
            ("threads", "1"),
        ] {
            record.effective.insert(key.into(), value.into());
        }
        let depth = [1_u64, 16][row];
        record
            .effective
            .insert("queue-depth".into(), depth.to_string());
        (record.loops.worker_ns, record.loops.in_flight_ns) = (
            u128::from(record.elapsed_ns),
            u128::from(depth * record.elapsed_ns),
        );
        record.generator_mut().machine.steal_share = (row == 1).then_some(0.03);
        record.generator_mut().environment.system.kernel_release =
            Some(["6.1.0", "6.12.0"][arm].into());
        record.generator_mut().environment.cpu.model = Some("Some CPU".into());
        record
    }

    /// Two arms, two rows and eight blocks.
    fn experiment() -> Vec<Record> {
        const ORDER: [[usize; 2]; 8] = [
            [0, 1],
            [1, 0],
            [1, 0],
            [0, 1],
            [1, 0],
            [0, 1],
            [0, 1],
            [1, 0],
        ];
        let mut out = Vec::new();
        for (block, order) in (0_u32..).zip(ORDER) {
            for row in [0, 1] {
                for arm in order {
                    let number = u32::try_from(out.len()).unwrap();
                    out.push(slot(arm, row, block, number));
                }
            }
        }
        out
    }

    /// The study of the experiment with one of its findings, as rules have tests of their own.
    fn golden() -> Study {
        let mut out = study(&experiment(), &StudyOptions::default());
        out.findings.retain(|finding| finding.rule == "starved");
        out
    }

    #[test]
    fn what_has_a_verdict_is_no_single_observation() {
        let mut study = golden();
        study.findings.clear();
        let cells = study.rows.iter_mut().flat_map(|row| &mut row.cells);
        for figure in cells.flatten().flat_map(|cell| &mut cell.figures) {
            figure.bounds = None;
        }
        let judged = study_markdown(&study);
        assert!(judged.contains("\nNothing that the audit looks at speaks against it."));
        study.overall.fill_with(|| None);
        for row in &mut study.rows {
            row.comparisons.fill_with(|| None);
        }
        assert!(study_markdown(&study).contains("\nAs single observations: "));
    }

    #[test]
    fn an_experiment_as_markdown() {
        insta::assert_snapshot!(study_markdown(&golden()), @r##"
        <!-- fathom report -->
        # Storage study

        32 records, 2 arms, 2 rows. Measured on 2026-01-01.

        ## Answer

        Compared: operations a second, each arm with before; differences below 5.0 % do not matter.

        - after over all rows: Faster by 9.9 % [9.9 to 10.1], 16 blocks.
        - after: +10.0 % [+9.8, +10.1] in the geometric mean of 2 rows.

        ## Can it be believed?

        With reservations: the hypervisor took 3% of this machine's CPU time (16 of 32 records, such as MIX 70/30 of before).

        ## Rows

        | Row             | before |                   after |
        | --------------- | -----: | ----------------------: |
        | RND4K Q1T1 read |  10.1K |  ▲ +9.9 % [+9.6, +10.3] |
        | MIX 70/30       |  15.1K | ▲ +10.0 % [+9.8, +10.3] |

        IOPS: of the baseline the level, of the others the change against it. ▲ faster.

        ### RND4K Q1T1 read

        - after: Faster by 9.9 % [9.6 to 10.3], 8 blocks.

        | Arm    |  Bandwidth |  IOPS | 95 % interval (IOPS) | Mean latency | p99 latency | CPU/op |    n |
        | ------ | ---------: | ----: | -------------------: | -----------: | ----------: | -----: | ---: |
        | before | 39.3 MiB/s | 10.1K |              ±0.50 % |       107 µs |    90.11 µs |   3 µs |    8 |
        | after  | 43.2 MiB/s | 11.1K |              ±0.36 % |       107 µs |    90.11 µs |   3 µs |    8 |

        95 % interval: of these 8 runs within 30 s; at other times the level may lie outside

        engine io_uring, block-size 4k, random true, queue-depth 1, threads 1, direct true

        ### MIX 70/30

        - after: Faster by 10.0 % [9.8 to 10.3], 8 blocks.

        | Operation | Arm    |  Bandwidth |  IOPS | 95 % interval (IOPS) | Mean latency | p99 latency | CPU/op |    n |
        | --------- | ------ | ---------: | ----: | -------------------: | -----------: | ----------: | -----: | ---: |
        | read      | before | 39.3 MiB/s | 10.1K |              ±0.35 % |       107 µs |    90.11 µs |      - |    8 |
        | read      | after  | 43.3 MiB/s | 11.1K |              ±0.32 % |       107 µs |    90.11 µs |      - |    8 |
        | write     | before | 19.7 MiB/s | 5.03K |              ±0.35 % |     35.66 µs |    30.08 µs |      - |    8 |
        | write     | after  | 21.6 MiB/s | 5.54K |              ±0.32 % |     35.66 µs |    30.08 µs |      - |    8 |
        | all       | before | 59.0 MiB/s | 15.1K |              ±0.35 % |     83.24 µs |    90.11 µs |   2 µs |    8 |
        | all       | after  | 64.9 MiB/s | 16.6K |              ±0.32 % |     83.24 µs |    90.11 µs |   2 µs |    8 |

        95 % interval: of these 8 runs within 30 s; at other times the level may lie outside

        - machine: blocks differ more than slots within a block: pairs take it out (p = 0.0073)

        engine io_uring, block-size 4k, random true, queue-depth 16, threads 1, direct true

        ## Findings

        - warning `starved` (16 of 32 records, such as MIX 70/30 of before): the hypervisor took 3% of this machine's CPU time
          - repeat when the host is quiet, or on a machine with CPUs of its own

        ## Method and limits

        - Measured by fathom.
        - Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, IOPS are operations a second; a source's own units are converted, but for those of numbers that a command or a table states.
        - n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there is no plan. Operations within a run are not independent and are never counted as n.
        - Levels are estimated on logarithms over blocks (Hodges-Lehmann with the exact signed-rank interval); intervals are of 95 % for one look at one figure.
        - The interval of a level is of these runs in this time. A device that slows down for minutes, or a noisy neighbour, may give another level outside it.
        - Geometric mean: in every pass the mean over rows of the logarithms of the ratios, each row with the same weight; its interval is over passes (Fleming and Wallace, CACM 29(3), 1986).
        - A verdict rests on the differences within blocks, in logarithms of ratios; where an experiment may stop at a look, its interval is as wide as looking requires. Differences below 5.0 % do not matter. Nothing is dropped as an outlier, corrected for drift, or sorted by result.
        - Latency counts from the intended start of an operation. Percentiles are of one run each, from histograms whose buckets are at most 0.8 % wide, and never averaged over operations of several; one with fewer than ten operations above it is not shown. A maximum is the largest of all blocks.
        - All this is of these machines in these sessions: another device, fill, temperature or kernel may differ by more than any interval here.

        ## Environments

        |        | before | after  |
        | ------ | ------ | ------ |
        | kernel | 6.1.0  | 6.12.0 |

        The same in all arms: CPU Some CPU; measured with fathom.
        "##);
    }

    #[test]
    fn an_experiment_in_the_terminal() {
        let text = study_text(&golden(), crate::TextLayout::default());
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        insta::assert_snapshot!(text, @r##"
        32 records, 2 arms, 2 rows. Measured on 2026-01-01.

        Compared: operations a second, each arm with before; differences below 5.0 % do not matter.
        after over all rows: Faster by 9.9 % [9.9 to 10.1], 16 blocks.
        after: +10.0 % [+9.8, +10.1] in the geometric mean of 2 rows.

        Can it be believed? With reservations: the hypervisor took 3% of this machine's CPU time (16 of 32
          records, such as MIX 70/30 of before).

        RND4K Q1T1 read
          after: Faster by 9.9 % [9.6 to 10.3], 8 blocks.
        Arm      Bandwidth   IOPS  95 % interval (IOPS)  Mean latency  p99 latency  CPU/op  n
        before  39.3 MiB/s  10.1K               ±0.50 %        107 µs     90.11 µs    3 µs  8
        after   43.2 MiB/s  11.1K               ±0.36 %        107 µs     90.11 µs    3 µs  8
          95 % interval: of these 8 runs within 30 s; at other times the level may lie outside
          engine io_uring, block-size 4k, random true, queue-depth 1, threads 1, direct true

        MIX 70/30
          after: Faster by 10.0 % [9.8 to 10.3], 8 blocks.
        Operation     Arm   Bandwidth   IOPS  95 % interval (IOPS)  Mean latency  p99 latency  CPU/op  n
        read       before  39.3 MiB/s  10.1K               ±0.35 %        107 µs     90.11 µs       -  8
        read        after  43.3 MiB/s  11.1K               ±0.32 %        107 µs     90.11 µs       -  8
        write      before  19.7 MiB/s  5.03K               ±0.35 %      35.66 µs     30.08 µs       -  8
        write       after  21.6 MiB/s  5.54K               ±0.32 %      35.66 µs     30.08 µs       -  8
        all        before  59.0 MiB/s  15.1K               ±0.35 %      83.24 µs     90.11 µs    2 µs  8
        all         after  64.9 MiB/s  16.6K               ±0.32 %      83.24 µs     90.11 µs    2 µs  8
          95 % interval: of these 8 runs within 30 s; at other times the level may lie outside
          machine: blocks differ more than slots within a block: pairs take it out (p = 0.0073)
          engine io_uring, block-size 4k, random true, queue-depth 16, threads 1, direct true

        warning[starved] (16 of 32 records, such as MIX 70/30 of before): the hypervisor took 3% of this
          machine's CPU time
          help: repeat when the host is quiet, or on a machine with CPUs of its own

        Measured by fathom.
        Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, IOPS
          are operations a second; a source's own units are converted, but for those of numbers that a
          command or a table states.
        n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there
          is no plan. Operations within a run are not independent and are never counted as n.
        Levels are estimated on logarithms over blocks (Hodges-Lehmann with the exact signed-rank interval);
          intervals are of 95 % for one look at one figure.
        The interval of a level is of these runs in this time. A device that slows down for minutes, or a
          noisy neighbour, may give another level outside it.
        Geometric mean: in every pass the mean over rows of the logarithms of the ratios, each row with the
          same weight; its interval is over passes (Fleming and Wallace, CACM 29(3), 1986).
        A verdict rests on the differences within blocks, in logarithms of ratios; where an experiment may
          stop at a look, its interval is as wide as looking requires. Differences below 5.0 % do not
          matter. Nothing is dropped as an outlier, corrected for drift, or sorted by result.
        Latency counts from the intended start of an operation. Percentiles are of one run each, from
          histograms whose buckets are at most 0.8 % wide, and never averaged over operations of several;
          one with fewer than ten operations above it is not shown. A maximum is the largest of all blocks.
        All this is of these machines in these sessions: another device, fill, temperature or kernel may
          differ by more than any interval here.

        differs  before   after
        kernel    6.1.0  6.12.0
        the same      CPU Some CPU; measured with fathom
        "##);
    }

    #[test]
    fn one_arm_has_one_table_with_a_line_a_row() {
        let one: Vec<Record> = experiment()
            .into_iter()
            .filter(|record| record.trial.as_ref().is_some_and(|t| t.arm == "after"))
            .collect();
        let study = study(&one, &StudyOptions::default());
        let document = document(&study, Breadth::Screen);
        let rows = document
            .sections
            .iter()
            .find(|section| section.id == "rows")
            .unwrap();
        let Some(Block::Table(table)) = rows
            .blocks
            .iter()
            .find(|block| matches!(block, Block::Table(_)))
        else {
            panic!("no table")
        };
        let lines = table.as_text(&study, Breadth::Screen);
        let names: Vec<[&str; 2]> = lines
            .iter()
            .map(|line| [line[0].as_str(), line[1].as_str()])
            .collect();
        assert_eq!(
            names,
            [
                ["Row", "Operation"],
                ["RND4K Q1T1 read", "read"],
                ["MIX 70/30", "read"],
                ["MIX 70/30", "write"],
                ["MIX 70/30", "all"]
            ]
        );
        assert_eq!(
            study_markdown(&study)
                .lines()
                .filter(|line| line.starts_with("| ---"))
                .count(),
            1
        );
    }

    #[test]
    fn a_name_with_line_breaks_and_escapes_breaks_no_form() {
        let hostile = "a\nb\u{1b}[31m|\r\u{202e}\"c\",d";
        let named = |name: &str| {
            let mut records = experiment();
            for record in &mut records {
                let trial = record.trial.as_mut().unwrap();
                trial.row = trial.row.replace("RND4K Q1T1 read", name);
                trial.arm = trial.arm.replace("after", name);
            }
            study(&records, &StudyOptions::default())
        };
        let (plain, hostile) = (named("plain"), named(hostile));
        let lines = |text: &str| text.lines().count();
        let has_escapes = |text: &str| text.contains(['\u{1b}', '\u{202e}', '\r']);
        let [markdown, page] = [study_markdown(&hostile), crate::html(&hostile)];
        assert_eq!(lines(&markdown), lines(&study_markdown(&plain)));
        assert!(!has_escapes(&markdown) && !has_escapes(&page));
        let of_tables = |text: &str| text.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(of_tables(&markdown), of_tables(&study_markdown(&plain)));
        let text = study_text(&hostile, crate::TextLayout::default());
        assert!(
            !has_escapes(&text) && !text.contains("\nb\u{fffd}"),
            "{text}"
        );
        let rows = |study: &Study| {
            let text = study_csv(study);
            text.split('"')
                .step_by(2)
                .collect::<String>()
                .lines()
                .count()
        };
        assert_eq!(
            rows(&hostile),
            rows(&plain),
            "a line break stands between quotes"
        );
        let value: serde_json::Value = serde_json::from_str(&study_json(&hostile)).unwrap();
        assert_eq!(value["rows"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn thresholds_of_runs_stand_in_the_files_of_reports() {
        let mut records = experiment();
        let threshold = record::Threshold::parse("read.p99<1us").unwrap();
        for record in &mut records {
            record.hold_against(std::slice::from_ref(&threshold));
            record.outcome = record::Outcome::default();
        }
        let study = study(&records, &StudyOptions::default());
        for text in [study_markdown(&study), crate::html(&study)] {
            let text = text.replace("&lt;", "<");
            assert!(text.contains("read.p99<1us") && text.contains("met in 0 of 8 runs"));
        }
        assert!(study_csv(&study).contains(",threshold read.p99<1us,met,1,0,"));
        let value: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let held = &value["rows"][0]["cells"][0]["thresholds"];
        assert_eq!(held.as_array().map(Vec::len), Some(8));
        assert_eq!(held[0]["thresholds"][0]["holds"], false);
    }

    #[test]
    fn machine_forms_hold_what_the_text_says_and_are_known_again() {
        let records = experiment();
        let study = study(&records, &StudyOptions::default());
        let value: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let read = &value["rows"][0]["cells"][1]["figures"][1];
        assert_eq!(
            (
                read["metric"].as_str(),
                read["unit"].as_str(),
                read["by_block"].as_array().map(Vec::len)
            ),
            (Some("operations"), Some("1/s"), Some(8))
        );
        assert!(read["estimate"]["low"].as_f64().unwrap() < read["value"].as_f64().unwrap());
        let judged = &value["rows"][0]["cells"][1]["comparison"]["judged"];
        let percent = judged["estimate"]["percent"].as_f64().unwrap();
        assert_eq!(
            (judged["verdict"].as_str(), judged["row"].as_str()),
            (Some("faster"), Some("RND4K Q1T1 read"))
        );
        assert!((percent - 10.0).abs() < 1.0, "{percent}");
        let csv = study_csv(&study);
        let columns = csv.lines().next().unwrap().split(',').count();
        assert_eq!(columns, 20);
        assert!(
            csv.lines().any(
                |line| line.contains("RND4K Q1T1 read,after,read,operations")
                    && line.contains("Faster")
            ),
            "{csv}"
        );
        for text in [csv, study_json(&study), study_markdown(&study)] {
            assert!(is_study(&text), "{}", &text[..60]);
        }
        assert!(!is_study("# My notes") && !is_study(&crate::json(&experiment()[..1])));
    }

    #[test]
    fn where_runs_depend_on_when_they_ran_every_form_shows_a_range_and_none_says_95_percent_of_it()
    {
        let mut records = experiment();
        records
            .iter_mut()
            .zip(0..)
            .for_each(|(record, number)| record.elapsed_ns += number * 20_000_000);
        let study = study(&records, &StudyOptions::default());
        let at = study_markdown(&study);
        let texts = [
            at,
            study_text(&study, crate::TextLayout::default()),
            crate::html(&study),
        ];
        for text in texts {
            assert!(
                text.contains("range [") && text.contains("A range stands where the runs"),
                "{text}"
            );
            assert!(
                !text.contains("95 % interval:") && !text.contains("95 % interval ("),
                "{text}"
            );
        }
        let value: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let cell = &value["rows"][0]["cells"][1];
        let rate = &cell["figures"][1];
        assert!(
            rate["estimate"].is_null() && rate["range"]["n"] == 8,
            "{rate}"
        );
        assert_eq!(
            rate["range"]["why"],
            "the level rose or fell from run to run"
        );
        assert!(cell["span_ns"].as_u64().unwrap() > 28_000_000_000, "{cell}");
        let csv = study_csv(&study);
        let line = csv
            .lines()
            .find(|line| line.contains("RND4K Q1T1 read,after,read,operations"))
            .unwrap();
        assert!(
            line.contains(",,least and greatest: the level rose") && line.contains(",range,"),
            "{line}"
        );
    }
}
