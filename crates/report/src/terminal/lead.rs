//! What was measured, on what, and where it differs from what was asked.

use super::page::{Page, counted, share};
use analyze::Effective;
use record::Record;
use units::{ByteRate, Bytes, Nanos, Rate};

/// Switches and how the lead calls them.
const SWITCHES: [(&str, &str); 10] = [
    ("direct", "direct"),
    ("sync", "O_SYNC"),
    ("dsync", "O_DSYNC"),
    ("end-fsync", "fsync at the end"),
    ("fixed-buffers", "fixed buffers"),
    ("fixed-files", "fixed files"),
    ("sqpoll", "sqpoll"),
    ("iopoll", "iopoll"),
    ("verify", "verified"),
    ("scatter", "hot set scattered"),
];

/// Ways to share the target among threads and how the lead calls them.
const SHARING: [(&str, &str); 4] = [
    ("shared", "all on the whole target"),
    ("partitioned", "each on its part"),
    ("per-worker", "each on its own file"),
    ("interleaved", "block by block by turns"),
];

pub(super) fn write(page: &mut Page, record: &Record) {
    let name = if record.name.is_empty() {
        &record.kind
    } else {
        &record.name
    };
    let start = if name.is_empty() {
        String::new()
    } else {
        format!("{name}: ")
    };
    page.wrapped(&start, 2, &[what(record), place(record)].concat());
    page.wrapped("  ", 2, &how(record).join(", "));
    for difference in &record.differences {
        let [asked, effective] = [&difference.asked, &difference.effective]
            .map(|text| text.as_deref().unwrap_or("nothing"));
        page.wrapped(
            "  ",
            4,
            &format!(
                "{}: asked {asked}, effective {effective} ({})",
                difference.key, difference.reason
            ),
        );
    }
    for notice in record.notes() {
        page.wrapped("  ", 4, &format!("note: {notice}"));
    }
}

fn what(record: &Record) -> String {
    let effective = Effective::of(record);
    if let Some(meta) = effective.text("meta").filter(|words| !words.is_empty()) {
        let payload = effective
            .text("payload")
            .and_then(|text| Bytes::parse(text).ok());
        let payload = payload.map_or_else(String::new, |bytes| format!(" of {bytes}"));
        return format!("{} of files{payload}", meta.replace(',', ", "));
    }
    let order = match (effective.is_on("random"), effective.text("distribution")) {
        (false, _) => "sequential".to_owned(),
        (true, None | Some("uniform")) => "random".to_owned(),
        (true, Some("zipf")) => format!(
            "random zipf({})",
            effective.text("zipf-theta").unwrap_or("?")
        ),
        (true, Some("pareto")) => format!(
            "random pareto({})",
            effective.text("pareto-h").unwrap_or("?")
        ),
        (true, Some(other)) => format!("random {other}"),
    };
    let mix = match effective.read_share() {
        None => "operations".to_owned(),
        Some(reads) if reads >= 1.0 => "reads".to_owned(),
        Some(reads) if reads <= 0.0 => "writes".to_owned(),
        Some(reads) => format!("{} reads and {} writes", share(reads), share(1.0 - reads)),
    };
    let block = effective
        .block_bytes()
        .map(|bytes| Bytes(bytes).to_string());
    let block = block.or_else(|| effective.text("block-size").map(str::to_owned));
    [
        Some(order),
        Some(mix),
        block.map(|block| format!("of {block}")),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" ")
}

fn place(record: &Record) -> String {
    let Some(first) = record.targets.first() else {
        return String::new();
    };
    let more = record.targets.len() - 1;
    let more = if more > 0 {
        format!(" and {}", counted(more as u64, "further target"))
    } else {
        String::new()
    };
    let files = record
        .targets
        .iter()
        .fold(0_u64, |sum, target| sum.saturating_add(target.files));
    let bytes = record
        .targets
        .iter()
        .fold(0_u64, |sum, target| sum.saturating_add(target.bytes));
    let files = if files > 1 {
        format!(", {}", counted(files, "file"))
    } else {
        String::new()
    };
    let bytes = if bytes > 0 {
        format!(", {}", Bytes(bytes))
    } else {
        String::new()
    };
    format!(" on {}{more} ({}{files}{bytes})", first.path, first.kind)
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn how(record: &Record) -> Vec<String> {
    let effective = Effective::of(record);
    let mut out: Vec<String> = effective
        .text("engine")
        .map(str::to_owned)
        .into_iter()
        .collect();
    let other_than = |key: &str, usual: &str| effective.text(key).filter(|text| *text != usual);
    let threads = effective.number("threads");
    out.extend(threads.map(|n| counted(n, "thread")));
    out.extend(
        effective
            .number("queue-depth")
            .map(|n| format!("queue depth {n}")),
    );
    out.extend(
        SWITCHES
            .iter()
            .filter(|(key, _)| effective.is_on(key))
            .map(|(_, word)| (*word).to_owned()),
    );
    for key in ["fsync", "fdatasync"] {
        out.extend(
            effective
                .number(key)
                .filter(|n| *n > 0)
                .map(|n| format!("{key} every {}", counted(n, "write"))),
        );
    }
    out.extend(other_than("cache", "as-is").map(|state| format!("{state} cache")));
    out.extend(other_than("lock-mode", "none").map(|mode| format!("{mode} locks")));
    let sharing = threads
        .filter(|n| *n > 1)
        .and_then(|_| effective.text("file-distribution"));
    out.extend(sharing.map(|mode| {
        SHARING
            .iter()
            .find(|(word, _)| *word == mode)
            .map_or(mode, |(_, phrase)| phrase)
            .to_owned()
    }));
    if effective.thinks() {
        out.extend(
            effective
                .text("think-time")
                .map(|time| format!("think time {time}")),
        );
    }
    if let Some(pace) = &record.pace {
        let arrival = effective.text("arrival").unwrap_or("paced");
        out.extend(
            pace.asked_per_second
                .map(|rate| format!("{arrival} {}", Rate(rate))),
        );
        out.extend(
            pace.asked_bytes_per_second
                .map(|rate| format!("{arrival} {}", ByteRate(rate))),
        );
    }
    let asked = effective
        .text("duration")
        .and_then(|text| Nanos::parse(text).ok())
        .filter(|time| time.0 > 0);
    out.extend(asked.map(|time| format!("for {time}")));
    if effective.is_on("run-until-complete") {
        out.push("until complete".to_owned());
    }
    out.extend(
        effective
            .text("total-bytes")
            .and_then(|text| Bytes::parse(text).ok())
            .map(|bytes| format!("until {bytes}")),
    );
    let stonewall = effective
        .text("stonewall")
        .and_then(|text| Nanos::parse(text).ok());
    out.extend(stonewall.map(|at| {
        let goes_on = if effective.is_on("wear-out") {
            " and the wear-out after it"
        } else {
            ""
        };
        format!("to the stonewall at {at}{goes_on}")
    }));
    out.push(format!("measured {}", Nanos(record.elapsed_ns)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TargetFact;

    #[test]
    fn the_heading_tells_of_all_files_of_a_target() {
        let of = |files| Record {
            targets: vec![TargetFact {
                path: "/data".into(),
                kind: "directory".into(),
                files,
                bytes: 24 << 20,
                hole_bytes: None,
            }],
            ..Record::default()
        };
        assert_eq!(place(&of(6)), " on /data (directory, 6 files, 24 MiB)");
        assert_eq!(place(&of(1)), " on /data (directory, 24 MiB)");
    }
}
