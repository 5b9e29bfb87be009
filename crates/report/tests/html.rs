//! The HTML report as a reader meets it: its size, its bytes, and its controls in a real browser.

#[path = "html/chromium.rs"]
mod chromium;

use analyze::{StudyOptions, study};
use chromium::{NO_BROWSER, chromium};
use record::{
    Calibration, Coverage, Environment, ErrorCount, Histogram, HostAccount, Interval, LoadAccount,
    Measurements, Operations, Outcome, PaceAccount, Preference, Quantity, Record, RequestPhases,
    Role, SCHEMA, Status, Stopping, TargetFact, ThresholdResult, Trial,
};
use report::{PageCheck, check_page, html};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use units::random::Random;

const SECOND: u64 = 1_000_000_000;

/// What a made-up experiment looks like.
struct Shape {
    arms: Vec<String>,
    rows: Vec<String>,
    blocks: u32,
    seconds: u64,
}

fn whole(x: f64) -> u64 {
    units::lossless::f64_to_u64_saturating(x)
}

/// Latencies with a tail: normal logarithms, and one in a thousand twenty times as long.
fn latencies(rng: &mut Random, median_ns: f64, count: u64) -> Histogram {
    const DRAWS: u64 = 60;
    let mut out = Histogram::default();
    for draw in 0..DRAWS.min(count) {
        let share = count / DRAWS + u64::from(draw < count % DRAWS);
        out.record_many(whole(median_ns * (0.25 * rng.normal()).exp()), share);
    }
    out.record_many(
        whole(median_ns * 20.0 * (0.4 * rng.normal()).exp()),
        count / 1000,
    );
    out
}

fn operations(rng: &mut Random, bytes: u64, median_ns: f64, count: u64) -> Operations {
    let latency = latencies(rng, median_ns, count);
    Operations {
        count: latency.count(),
        bytes: latency.count() * bytes,
        smallest_bytes: Some(bytes),
        largest_bytes: Some(bytes),
        latency,
        ..Operations::default()
    }
}

/// One slot: the first seconds are faster, arm 1 stalls for two seconds, and in some blocks of arm
/// 2 the level drops.
fn slot(shape: &Shape, row: usize, arm: usize, block: u32, position: u32) -> Record {
    let mut rng = Random::of(&[row as u64, arm as u64, u64::from(block)]);
    let bytes = if row.is_multiple_of(3) { 1 << 20 } else { 4096 };
    let level = 3000.0
        * (1.0 + row as f64)
        * (1.0 + 0.07 * arm as f64)
        * (1.0 + 0.01 * f64::from(block))
        * (0.02 * rng.normal()).exp();
    let mut record = Record {
        interval_ns: SECOND,
        elapsed_ns: shape.seconds * SECOND,
        ..place(shape, row, arm, block, position)
    };
    for second in 0..shape.seconds {
        let burst = if second < 5 { 1.6 } else { 1.0 };
        let drop = if arm == 2 && second > shape.seconds / 2 {
            0.6
        } else {
            1.0
        };
        let stalled = arm == 1 && (18..20).contains(&second);
        let count = if stalled {
            0
        } else {
            whole(level * burst * drop * (0.03 * rng.normal()).exp())
        };
        let mut interval = Interval {
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            in_flight: 8,
            ..Interval::default()
        };
        let read = operations(&mut rng, bytes, 8e9 / level, count);
        record.operations.insert("read", read.clone());
        // Later blocks keep counts alone: a whole matrix of histograms by second would not fit in
        // the memory of a small machine.
        let kept = if block == 0 {
            read
        } else {
            Operations {
                latency: Histogram::default(),
                ..read
            }
        };
        interval.operations.insert("read", kept);
        record.series.push(interval);
    }
    record.generator_mut().process.user_ns = record.operations.count() * 700;
    record
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn place(shape: &Shape, row: usize, arm: usize, block: u32, position: u32) -> Record {
    let mut environment = Environment::default();
    environment.fathom.version = "0.1.0".into();
    environment.system.hostname = Some("bench-1".into());
    environment.system.kernel_release = Some("6.12.4".into());
    environment.cpu.model = Some("Made-up CPU @ 3 GHz".into());
    environment.cpu.governor = Some(if arm == 1 {
        "powersave".into()
    } else {
        "performance".into()
    });
    let effective: BTreeMap<String, String> = [
        (
            "block-size",
            if row.is_multiple_of(3) { "1m" } else { "4k" }.to_owned(),
        ),
        ("queue-depth", (1 << (row % 8)).to_string()),
        ("threads", "1".to_owned()),
        ("random", "true".to_owned()),
        ("read-percent", "100".to_owned()),
        ("engine", format!("engine-{arm}")),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    Record {
        schema: SCHEMA,
        id: format!("{row}-{arm}-{block}"),
        kind: "run".into(),
        name: shape.rows[row].clone(),
        started_at: format!(
            "2026-11-{:02}T{:02}:{:02}:{:02}.000Z",
            1 + position / 86_400,
            position / 3600 % 24,
            position / 60 % 60,
            position % 60
        ),
        asked: effective.clone(),
        effective,
        targets: vec![TargetFact {
            path: "/data/t".into(),
            kind: "file".into(),
            files: 1,
            bytes: 8 << 30,
            ..TargetFact::default()
        }],
        hosts: vec![HostAccount {
            environment,
            calibration: Calibration {
                clock: "tsc".into(),
                clock_read_ns: 18.0,
                ..Calibration::default()
            },
            ..HostAccount::default()
        }],
        operations: Measurements::default(),
        coverage: Some(Coverage {
            block_bytes: 4096,
            blocks: 2 << 20,
            touched: 1000,
            uses: 5000,
            hottest_fifth_share: 0.7,
            buckets: (0..100).map(|bucket| 4000 / (1 + bucket)).collect(),
        }),
        outcome: Outcome {
            status: Status::Ok,
            ..Outcome::default()
        },
        trial: Some(Trial {
            plan: "made-up".into(),
            arm: shape.arms[arm].clone(),
            row: shape.rows[row].clone(),
            block,
            slot: position,
            role: if arm == 0 {
                Role::Baseline
            } else {
                Role::Candidate
            },
            stopping: Stopping::Fixed,
            arm_number: u32::try_from(arm).expect("few arms"),
            row_number: u32::try_from(row).expect("few rows"),
            ..Trial::default()
        }),
        ..Record::default()
    }
}

/// All slots in a random order within their blocks.
fn experiment(shape: &Shape) -> Vec<Record> {
    let mut out = Vec::new();
    let mut rng = Random::new(7);
    let mut position = 0;
    for block in 0..shape.blocks {
        for row in 0..shape.rows.len() {
            let mut order: Vec<usize> = (0..shape.arms.len()).collect();
            rng.shuffle(&mut order);
            for arm in order {
                out.push(slot(shape, row, arm, block, position));
                position += 1;
            }
        }
    }
    out
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn small() -> Shape {
    let rows = texts(&[
        "SEQ1M Q1T1",
        "RND4K Q2T1",
        "RND4K Q4T1",
        "SEQ1M Q8T1",
        "RND4K Q16T1",
        "RND4K Q32T1",
    ]);
    Shape {
        arms: texts(&["sync", "io_uring", "io_uring with registered buffers"]),
        rows,
        blocks: 8,
        seconds: 40,
    }
}

fn page(records: &[Record]) -> String {
    html(&study(records, &StudyOptions::default()))
}

#[test]
fn a_matrix_of_140_cells_stays_below_two_megabytes() {
    let arms = (0..7).map(|arm| format!("branch-{arm}")).collect();
    let rows = (0..20)
        .map(|row| format!("upload of {row} MiB files by 4 users"))
        .collect();
    let records = experiment(&Shape {
        arms,
        rows,
        blocks: 10,
        seconds: 20,
    });
    assert_eq!(records.len(), 1400);
    let page = page(&records);
    assert_eq!(page.matches("<article").count(), 20);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let (said, console) = in_browser(&browser, "matrix.html", &page, 1280, LAYOUT);
    assert_eq!(console, "");
    let said: serde_json::Value =
        serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(
        (
            said["wide"].as_array().map(Vec::len),
            said["clipped"].as_array().map(Vec::len)
        ),
        (Some(0), Some(0)),
        "{said}"
    );
    say(&format!(
        "{} bytes, laid out {} ms after the start of the navigation",
        page.len(),
        said["loaded_ms"]
    ));
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let shape = Shape {
        blocks: 2,
        seconds: 6,
        ..small()
    };
    assert_eq!(page(&experiment(&shape)), page(&experiment(&shape)));
}

#[test]
fn every_part_of_a_report_is_there_in_its_order() {
    let page = page(&experiment(&small()));
    let at: Vec<usize> = [
        "answer",
        "belief",
        "rows",
        "latency",
        "series",
        "drift",
        "heat",
        "places",
        "findings",
        "method",
        "environments",
    ]
    .iter()
    .map(|id| {
        page.find(&format!("<section id=\"{id}\""))
            .unwrap_or_else(|| panic!("no section {id}"))
    })
    .collect();
    assert!(at.is_sorted(), "{at:?}");
    for needed in [
        "≠ differs",
        "powersave",
        "baseline</span>",
        "warm-up to",
        "level ×",
        "class=\"stall\"",
        "class=\"whisker\"",
        "class=\"band\"",
        "p99.9<",
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'"));
    for forbidden in ["http://", "https://", "NaN", "inf ", "url(", "eval("] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(forbidden), "{forbidden}");
    }
}

/// Names that would do something if they were not text.
fn hostile() -> Vec<Record> {
    let mut records = experiment(&Shape {
        arms: texts(&[
            "<script>window.pwned=1</script>",
            "\"><img src=x onerror=window.pwned=1>",
        ]),
        rows: texts(&["a'b\"c</article>\n& \u{202e}txt.exe", "שלום 4K"]),
        blocks: 6,
        seconds: 6,
    });
    for record in &mut records {
        record.generator_mut().environment.cpu.model =
            Some("</td></table><script>window.pwned=1</script>".into());
        record.effective.insert(
            "engine\"><script>".into(),
            "</code><script>window.pwned=1</script>".into(),
        );
    }
    records
}

#[test]
fn hostile_names_stay_text() {
    let page = page(&hostile());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(
        !page.contains("<img")
            && !page.contains('\u{202e}')
            && page.contains("&lt;script&gt;window.pwned=1")
    );
    assert_eq!(
        page.matches("<article").count(),
        page.matches("</article>").count()
    );
}

fn times(ns: u64, count: u64) -> Histogram {
    let mut out = Histogram::default();
    (0..count).for_each(|k| out.record(ns + ns * (k * 7 % 100) / 50));
    out
}

/// A load of users of whom most sleep; `rate`: of arrivals instead.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn load(name: &str, kinds: &[&str], ns: u64, rate: Option<f64>) -> Record {
    let mut record = place(&small(), 0, 0, 0, 0);
    let count = rate.map_or(3000, |rate| whole(rate * 10.0));
    let phases = RequestPhases {
        connecting: times(ns / 40, 50),
        sending: times(ns / 90, count),
        waiting: times(ns, count),
        receiving: times(ns / 5, count),
    };
    let threshold = |text: &str, holds| ThresholdResult {
        threshold: text.into(),
        holds,
        measured: "91.2 ms, 41.2 ms above the limit".into(),
        ..ThresholdResult::default()
    };
    record.trial = None;
    record.coverage = None;
    (record.name, record.id) = (name.into(), format!("{name}-{ns}"));
    record.kind = "load".into();
    record.operations = Measurements::default();
    record.elapsed_ns = 10_000_000_000;
    record.loops.in_flight_ns = u128::from(count * ns);
    record.generator_mut().process.user_ns = count * 90_000;
    record.effective = [
        ("scenario", name),
        ("mix", "get 50, put 40"),
        ("target", "s3://bench@http://127.0.0.1:9000"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    record.load = Some(LoadAccount {
        scenario: if rate.is_some() {
            "get".into()
        } else {
            name.into()
        },
        users: vec![25, 100, 100, 25],
        phases: kinds
            .iter()
            .map(|kind| ((*kind).to_owned(), phases.clone()))
            .collect(),
        iterations: times(300_000_000, count),
        thresholds: vec![
            threshold("get.p95<1s", true),
            threshold("p99<5ms", rate.is_some_and(|rate| rate <= 400.0)),
        ],
        lateness: rate.map(|_| times(20_000, count)),
        ..LoadAccount::default()
    });
    for kind in kinds {
        let latency = times(ns * 6 / 5, count);
        record.operations.insert(
            kind,
            Operations {
                count,
                bytes: count * 10_240,
                errors: u64::from(rate.is_none()),
                latency,
                ..Operations::default()
            },
        );
    }
    let error = |kind: &&str| ErrorCount {
        operation: (*kind).to_owned(),
        error: "503 <b>SlowDown</b>".into(),
        count: 1,
        first_file: format!("http://127.0.0.1:9000/bench/{}", "long-name/".repeat(9)),
        first_offset: None,
        class: None,
    };
    record.errors = kinds.iter().filter(|_| rate.is_none()).map(error).collect();
    match rate {
        Some(rate) => {
            record.pace = Some(PaceAccount {
                asked_per_second: Some(rate),
                achieved_per_second: rate,
                ..PaceAccount::default()
            });
        }
        None => drop(record.effective.insert("users".into(), "100".into())),
    }
    record
}

fn loads() -> Vec<Record> {
    let scenarios = [
        ("upload", &["put"][..]),
        ("mixed", &["delete", "get", "list", "put"][..]),
    ];
    let mut out: Vec<Record> = scenarios
        .iter()
        .map(|(name, kinds)| load(name, kinds, 5_000_000, None))
        .collect();
    let steps = [100.0, 200.0, 400.0, 800.0].map(|rate| {
        load(
            &format!("get@{rate}/s"),
            &["get"],
            1_000_000 + whole(rate * rate),
            Some(rate),
        )
    });
    out.extend(steps);
    out
}

/// The same loads on two machines.
fn loads_of_two() -> (Vec<Record>, StudyOptions) {
    let slower = |mut record: Record| {
        record.id.push_str("-b");
        record.generator_mut().environment.system.hostname = Some("bench-2".into());
        record
    };
    let records: Vec<Record> = loads()
        .into_iter()
        .chain(loads().into_iter().map(slower))
        .collect();
    let labels = (0..records.len())
        .map(|at| {
            if at < records.len() / 2 {
                "notebook"
            } else {
                "server"
            }
            .to_owned()
        })
        .collect();
    (
        records,
        StudyOptions {
            labels,
            ..StudyOptions::default()
        },
    )
}

#[test]
fn a_load_shows_its_failures_parts_thresholds_and_knee() {
    let page = page(&loads());
    assert!(page.contains("<bdi>Ops/s</bdi>") && !page.contains("IOPS"));
    for needed in [
        "<h4>Success</h4>",
        "<bdi>1 of 3001</bdi>",
        "<bdi>99.97 %</bdi>",
        "<bdi>waiting</bdi>",
        "<bdi>receiving</bdi>",
        "users waiting, mean",
        "iteration time p95",
        "<b class=\"no\">missed</b>",
        "503 &lt;b&gt;SlowDown",
        "<section id=\"arrivals\"",
        "knee: 400",
        "Knee of get: 400",
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    assert_eq!(
        page.matches("<bdi>100 %</bdi>").count(),
        8,
        "of the steps alone, in their own tables and in that of the curve"
    );
    let (records, options) = loads_of_two();
    let both = html(&study(&records, &options));
    assert!(
        both.contains("server (bench-2) against notebook (bench-1)")
            && both.contains("one run a side")
    );
    assert!(both.contains("<h4>p95 of iteration time</h4>"));
}

#[test]
fn what_is_judged_is_the_quantity_that_is_shown_at_first() {
    for (metric, id) in [("get.p50", "p50"), ("get.p99", "p99"), ("mean", "mean")] {
        let (records, mut options) = loads_of_two();
        options.metric = Quantity::parse(metric).expect("a quantity");
        let page = html(&study(&records, &options));
        assert!(
            page.contains(&format!(r#"name="metric" value="{id}" checked"#)),
            "{metric}"
        );
        let of_it = format!(r#"data-metric="{id}""#);
        let mut figures = page.split("<figure ").skip(1);
        assert!(
            figures.any(|figure| figure
                .split('>')
                .next()
                .is_some_and(|tag| tag.contains(&of_it))),
            "{metric}"
        );
    }
}

#[test]
fn a_load_is_no_wider_than_its_screen_and_the_console_is_silent() {
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let (records, options) = loads_of_two();
    // One word, which has no place to break, and is longer than a column is wide.
    let address = |label: &String| match label.as_str() {
        "server" => "s3://bench@http://127.0.0.1:9001".to_owned(),
        _ => "s3://bench@http://127.0.0.1:9000".to_owned(),
    };
    let of_servers = StudyOptions {
        labels: options.labels.iter().map(address).collect(),
        ..StudyOptions::default()
    };
    for (name, page) in [
        ("load.html", page(&loads())),
        ("loads.html", html(&study(&records, &options))),
        ("servers.html", html(&study(&records, &of_servers))),
    ] {
        for width in [1280, 390] {
            let (said, console) = in_browser(&browser, name, &page, width, LAYOUT);
            assert_eq!(console, "", "{name} {width}");
            let said: serde_json::Value =
                serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
            assert!(
                said["scroll"].as_u64() <= said["width"].as_u64(),
                "{name} {width}: {said}"
            );
            let found = [&said["wide"], &said["clipped"], &said["over"]]
                .map(|list| list.as_array().map(Vec::len));
            assert_eq!(found, [Some(0); 3], "{name} {width}: {said}");
        }
    }
}

#[test]
fn few_or_strange_records_are_no_reason_to_panic() {
    let mut odd = slot(&small(), 1, 0, 0, 0);
    odd.elapsed_ns = 0;
    odd.trial = None;
    odd.series[3].end_ns = 0;
    odd.coverage = Some(Coverage {
        blocks: u64::MAX,
        block_bytes: u64::MAX,
        buckets: vec![u64::MAX, 1],
        ..Coverage::default()
    });
    let failed = Record {
        outcome: Outcome {
            status: Status::Failed,
            message: Some("<b>".into()),
            ..Outcome::default()
        },
        ..odd.clone()
    };
    for records in [
        vec![],
        vec![Record::default()],
        vec![odd.clone()],
        vec![odd.clone(), failed.clone()],
        vec![failed],
        vec![odd.clone(), odd],
    ] {
        let page = page(&records);
        assert!(
            page.ends_with("</html>\n") && page.contains("id=\"method\"") && !page.contains("NaN")
        );
    }
}

/// Where pages are kept that a browser opens.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn keep(name: &str, page: &str) -> PathBuf {
    let path = file(name);
    fs::write(&path, page).expect("the directory of builds can be written");
    path
}

/// What a browser makes of a page of this width in which `probe` runs once it is loaded: the text
/// that the probe returns, and the console.
fn in_browser(browser: &Path, name: &str, page: &str, width: u32, probe: &str) -> (String, String) {
    let hook = format!(
        "<script>addEventListener('load', () => {{ let said; try {{ said = JSON.stringify((() => {{ {probe} }})()); }} \
         catch (e) {{ said = `threw ${{e}} ${{e.stack}}`; }} const pre = document.createElement('pre'); pre.id = 'probe'; pre.textContent = said; \
         document.body.append(pre); }});</script></body>"
    );
    let path = keep(name, &page.replace("</body>", &hook));
    let profile = file(&format!("{name}.profile"));
    let out = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
        ])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    let said = dom
        .split("<pre id=\"probe\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_else(|| panic!("no probe in:\n{log}"));
    (
        said.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
        console.join("\n"),
    )
}

const CONTROLS: &str = r#"
document.querySelectorAll('article').forEach(a => { a.style.contentVisibility = 'visible'; });
const shown = selector => [...document.querySelectorAll(selector)].filter(e => e.getClientRects().length > 0);
const press = (e, type) => e.dispatchEvent(new Event(type, { bubbles: true }));
const out = {};
const tools = document.getElementById('tools');
out.tools = tools.checkVisibility();
const filter = document.getElementById('filter');
filter.value = 'q32'; press(filter, 'input');
out.filtered = shown('article').map(a => a.dataset.name);
filter.value = 'no such row'; press(filter, 'input');
out.none = [shown('article').length, document.getElementById('none').checkVisibility()];
filter.value = ''; press(filter, 'input');
out.all = shown('article').length;
const box = document.querySelector('input[name="arm"][value="1"]');
box.click();
out.hidden_arm = [shown('[data-arm="1"]').length, shown('[data-arm="2"]').length > 0];
box.click();
out.shown_arm = shown('[data-arm="1"]').length > 0;
document.querySelector('input[name="metric"][value="p99"]').click();
out.metrics = [...new Set(shown('figure[data-metric]').map(f => f.dataset.metric))];
const paper = () => getComputedStyle(document.body).backgroundColor;
const theme = document.getElementById('theme');
theme.click(); const light = paper(); theme.click(); const dark = paper(); theme.click();
out.themes = light !== dark && !document.documentElement.dataset.theme;
const fold = document.getElementById('fold');
const open = () => document.querySelectorAll('.plots > details[open]').length;
const first = open(); fold.click(); const second = open(); fold.click();
out.fold = (first === 0) !== (second === 0) && open() === document.querySelectorAll('.plots > details').length * (second === 0);
document.querySelectorAll('.plots > details').forEach(d => { d.open = true; });
const line = document.querySelector('#series .plot .line');
line.scrollIntoView();
const where = line.getBoundingClientRect();
line.ownerSVGElement.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: where.x + where.width / 2, clientY: where.y + 5 }));
out.tip = document.getElementById('tip').textContent.split('\n').length;
out.no_native_titles = line.ownerSVGElement.querySelectorAll('title').length;
const values = () => [...document.querySelectorAll('#table-rows tbody tr')].map(tr => Number(tr.cells[1].dataset.value));
const column = document.querySelectorAll('#table-rows th[aria-sort]')[1];
const unsorted = values();
column.click(); const down = values(); column.click(); const up = values(); column.click();
out.sorted = down.every((v, i) => !i || down[i - 1] >= v) && up.every((v, i) => !i || up[i - 1] <= v) && values().join() === unsorted.join();
out.marked = document.querySelectorAll('#table-rows .mark').length > 0;
out.copies = document.querySelectorAll('.copy:not([hidden])').length;
out.resources = performance.getEntriesByType('resource').length;
return out;
"#;

const LAYOUT: &str = r#"
const loaded = performance.now();
document.querySelectorAll('article').forEach(a => { a.style.contentVisibility = 'visible'; });
document.querySelectorAll('details').forEach(d => { d.open = true; });
const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg') && e.getBoundingClientRect().right > innerWidth + 1);
const clipped = [...document.querySelectorAll('svg.plot text')].filter(t => { const r = t.getBoundingClientRect(), p = t.ownerSVGElement.getBoundingClientRect(); return r.width && (r.left < p.left - 2 || r.right > p.right + 2 || r.bottom > p.bottom + 3); });
const over = [...document.querySelectorAll('table :is(th, td)')].filter(c => c.scrollWidth > c.clientWidth + 1);
return { width: innerWidth, over: over.slice(0, 5).map(c => c.textContent), scroll: document.documentElement.scrollWidth, wide: wide.slice(0, 5).map(e => e.outerHTML.slice(0, 120)), clipped: clipped.slice(0, 5).map(t => t.textContent),
  pwned: window.pwned || 0, loaded_ms: Math.round(loaded) };
"#;

#[allow(
    clippy::print_stdout,
    reason = "a skipped test is counted by its line, and a time is shown and not judged"
)]
fn say(text: &str) {
    println!("{text}");
}

#[test]
fn the_controls_work_in_a_browser_without_a_word_on_its_console() {
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let (said, console) = in_browser(
        &browser,
        "controls.html",
        &page(&experiment(&small())),
        1280,
        CONTROLS,
    );
    assert_eq!(console, "");
    let said: serde_json::Value =
        serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    let expected = serde_json::json!({
        "tools": true, "filtered": ["RND4K Q32T1"], "none": [0, true], "all": 6, "hidden_arm": [0, true], "shown_arm": true, "metrics": ["p99"],
        "themes": true, "fold": true, "tip": 4, "no_native_titles": 0, "copies": 7, "resources": 0,
        "sorted": true, "marked": true,
    });
    assert_eq!(said, expected);
}

#[test]
fn a_page_is_no_wider_than_a_phone_and_hostile_names_run_nothing() {
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    for (name, records) in [
        ("phone.html", experiment(&small())),
        ("hostile.html", hostile()),
    ] {
        let (said, console) = in_browser(&browser, name, &page(&records), 390, LAYOUT);
        assert_eq!(console, "", "{name}");
        let said: serde_json::Value =
            serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
        assert!(
            said["width"].as_u64() <= Some(500)
                && said["scroll"].as_u64() <= said["width"].as_u64(),
            "{name}: {said}"
        );
        assert_eq!(
            (&said["pwned"], said["wide"].as_array().map(Vec::len)),
            (&serde_json::json!(0), Some(0)),
            "{name}: {said}"
        );
        assert_eq!(
            said["clipped"].as_array().map(Vec::len),
            Some(0),
            "{name}: {said}"
        );
    }
}

/// What a quick profile of a disk measures, with made-up numbers.
fn quick_profile() -> Vec<Record> {
    let rows = texts(&[
        "SEQ1M Q8T1 read direct",
        "SEQ1M Q8T1 write direct",
        "SEQ1M Q1T1 read direct",
        "SEQ1M Q1T1 write direct",
        "RND4K Q32T1 read direct",
        "RND4K Q32T1 write direct",
        "RND4K Q1T1 read direct",
        "RND4K Q1T1 write direct",
        "RND4K Q1T1 write+fdatasync direct",
    ]);
    let shape = Shape {
        arms: texts(&["disk"]),
        rows,
        blocks: 6,
        seconds: 6,
    };
    let mut out = experiment(&shape);
    for record in &mut out {
        let name = record.name.clone();
        let is_on = |word: &str| name.contains(word).to_string();
        let depth = name.split(['Q', 'T']).nth_back(1).unwrap_or("1");
        let options = [
            ("random", is_on("RND")),
            (
                "block-size",
                if name.contains("1M") { "1m" } else { "4k" }.to_owned(),
            ),
            ("direct", is_on("direct")),
            ("queue-depth", depth.to_owned()),
            (
                "engine",
                if depth == "1" { "sync" } else { "io_uring" }.to_owned(),
            ),
        ];
        for (key, value) in options {
            record.effective.insert(key.to_owned(), value);
        }
        record.coverage = None;
        if name.contains(" write") {
            let reads = record.operations.kind("read").cloned().expect("it read");
            record.operations = Measurements::default();
            record.operations.insert("write", reads);
        }
    }
    out
}

#[test]
fn a_quick_profile_begins_with_its_eight_numbers_and_prints_on_four_pages() {
    let page = report::page(&quick_profile(), &StudyOptions::default(), "1").expect("a page");
    assert_eq!(page.lacks_records, None);
    let page = page.html;
    // Real latencies are less alike than these and pack to about 45 KB more: both stay below 200.
    assert!(page.len() < 150_000, "{} bytes", page.len());
    let card = page.find("class=\"card\"").expect("a card");
    assert!(card < page.find("id=\"rows\"").expect("rows"));
    assert_eq!(page.matches("class=\"big\"").count(), 8);
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let probe = "const table = document.getElementById('table-rows'); const box = table.closest('.scroll'); return table.scrollWidth <= box.clientWidth;";
    let (fits, _) = in_browser(&browser, "columns.html", &page, 1280, probe);
    assert_eq!(
        fits, "true",
        "a column of the rows is cut off at 1280 pixels"
    );
    let pages = printed_pages(&browser, "profile", &page);
    assert!((1..=4).contains(&pages), "{pages} pages");
}

/// How many sheets a page takes.
fn printed_pages(browser: &Path, name: &str, page: &str) -> usize {
    let path = keep(&format!("{name}.html"), page);
    let pdf = file(&format!("{name}.pdf"));
    let profile = file(&format!("{name}.pdf.profile"));
    let out = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .arg("--no-pdf-header-footer")
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    assert!(out.status.success(), "{out:?}");
    let print = fs::read(&pdf).expect("a print");
    let print = String::from_utf8_lossy(&print);
    print.matches("/Type /Page\n").count()
}

#[test]
fn two_steps_of_a_search_share_a_sheet() {
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let mut steps = loads();
    steps.retain(|record| record.name.starts_with("get@"));
    let page = page(&steps);
    let pages = printed_pages(&browser, "search", &page);
    let alone = page.replace(
        "  .load { line-height: 1.15; }",
        "  article { break-before: page; } .load { line-height: 1.15; }",
    );
    assert_ne!(alone, page, "the rule is not there any more");
    let of_alone = printed_pages(&browser, "search-alone", &alone);
    assert!(pages + 2 <= of_alone, "{pages} pages, {of_alone} alone");
}

#[test]
fn without_scripts_everything_but_the_tools_is_there_and_shown() {
    let page = report::page(&quick_profile(), &StudyOptions::default(), "1").expect("a page");
    assert_eq!(page.lacks_records, None);
    let page = page.html;
    let Some(browser) = chromium() else {
        return say(NO_BROWSER);
    };
    let inside = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!doctype html><body><iframe id=\"page\" width=\"1280\" height=\"900\" sandbox=\"allow-same-origin\" srcdoc=\"{inside}\"></iframe></body>"
    );
    let (said, _) = in_browser(&browser, "bare.html", &frame, 1280, WITHOUT_SCRIPTS);
    let said: serde_json::Value =
        serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(
        said,
        serde_json::json!({
            "ran": 0,
            "hidden": ["form#tools.tools", "button#.copy", "p#none.", "div#tip."],
            "card": 8,
            "shown": ["rows", "table-rows", "findings"],
            "folded": [],
        })
    );
}

/// What a page in a frame that runs no script shows; what is folded must open on its own.
const WITHOUT_SCRIPTS: &str = r#"
const page = document.getElementById('page').contentDocument;
const all = selector => [...page.querySelectorAll(selector)];
return {
  ran: all('[aria-sort]').length,
  hidden: [...new Set(all('[hidden]').map(e => `${e.localName}#${e.id}.${e.className}`))],
  card: all('.card .big').filter(e => e.getClientRects().length).length,
  shown: ['rows', 'table-rows', 'findings'].filter(id => page.getElementById(id).getClientRects().length),
  folded: all('details').filter(e => !e.querySelector(':scope > summary')).map(e => e.outerHTML.slice(0, 80)),
};
"#;

/// Pages of what is measured, each with what is asked of its records.
fn of_each_verb() -> Vec<(&'static str, Vec<Record>, StudyOptions)> {
    let small = |arms: &[&str]| Shape {
        arms: texts(arms),
        rows: texts(&["SEQ1M Q1T1", "RND4K Q8T1"]),
        blocks: 8,
        seconds: 8,
    };
    let mut stated = experiment(&small(&["gzip", "zstd"]));
    for record in &mut stated {
        let speed = 100.0 + record.operations.count() as f64 / 1000.0;
        let of_command = record.summaries.entry("read".into()).or_default();
        of_command.figures.insert("speed".into(), speed);
    }
    let of_speed = StudyOptions {
        metric: Quantity::named("value:speed").preferring(Preference::Higher),
        question: "which packs faster than 3?".into(),
        ..StudyOptions::default()
    };
    let mut profile = quick_profile();
    profile.retain(|record| record.trial.as_ref().is_some_and(|trial| trial.block < 2));
    let (of_loads, options) = loads_of_two();
    vec![
        ("profile", profile, StudyOptions::default()),
        (
            "compare",
            experiment(&small(&["sync", "io_uring"])),
            StudyOptions::default(),
        ),
        ("load", loads(), StudyOptions::default()),
        ("loads of two", of_loads, options),
        ("lab", stated, of_speed),
    ]
}

#[test]
fn a_digit_that_is_changed_in_any_section_of_any_page_is_found_there() {
    let mut rng = Random::new(3);
    for (name, records, options) in of_each_verb() {
        let page = report::page(&records, &options, "1").expect("a page").html;
        assert!(
            matches!(check_page(&page, "1"), PageCheck::Whole(_)),
            "{name}"
        );
        let starts: Vec<usize> = page
            .match_indices("<section id=")
            .map(|(at, _)| at)
            .collect();
        let source = page.find("id=\"source\"").expect("the records are in it");
        let ends = starts[1..].iter().copied().chain([source]);
        let mut checked = 0;
        for (start, end) in starts
            .iter()
            .copied()
            .zip(ends)
            .chain([(source, page.len())])
        {
            // What is read, not what places it.
            let mut is_text = false;
            let digits: Vec<usize> = page[start..end]
                .bytes()
                .enumerate()
                .filter(|(_, byte)| {
                    is_text = *byte == b'>' || is_text && *byte != b'<';
                    is_text && byte.is_ascii_digit()
                })
                .map(|(at, _)| start + at)
                .collect();
            if digits.is_empty() {
                continue;
            }
            let at = digits[rng.index(digits.len())];
            let mut changed = page.clone().into_bytes();
            changed[at] = b'0' + (changed[at] - b'0' + 1) % 10;
            let changed = String::from_utf8(changed).expect("digits are text");
            checked += 1;
            match check_page(&changed, "1") {
                PageCheck::Differs(_, found) => {
                    assert!(end < page.len() && found.count == 1, "{name}: {found:?}");
                    let told = &found.told[0];
                    assert_ne!(told.page, told.records, "{name}: {told:?}");
                }
                PageCheck::Unreadable(_) => assert_eq!(end, page.len(), "{name}"),
                other @ (PageCheck::Whole(_)
                | PageCheck::OtherVersion(..)
                | PageCheck::OtherVersionUnread(..)) => {
                    panic!("{name}, byte {at}: {other:?}")
                }
            }
        }
        assert!(checked >= 6, "{name}: {checked} sections have figures");
    }
}
