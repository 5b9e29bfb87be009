//! Truncations and mutations of real output, and input made to break a reader: errors, never a
//! panic.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use import::{Format, ImportError, import, import_as};
use proptest::prelude::*;
use std::path::Path;

fn samples() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect();
    all.sort();
    all
}

/// Whatever comes out can be stored: nothing in it is infinite or no number.
fn read(bytes: &[u8], name: &str) -> Result<usize, ImportError> {
    let records = import(bytes, name)?;
    for record in &records {
        let text = serde_json::to_string(record).unwrap();
        serde_json::from_str::<record::Record>(&text).unwrap();
    }
    Ok(records.len())
}

#[test]
fn a_json_result_that_is_cut_off_is_never_a_smaller_result() {
    for (name, bytes) in samples() {
        let text = bytes.trim_ascii_end();
        if !text.ends_with(b"}") || name.contains("points") || name.contains("elbencho") {
            continue;
        }
        for cut in (1..text.len()).step_by(997) {
            assert!(
                import(&text[..cut], &name).is_err(),
                "{name} cut to {cut} bytes"
            );
        }
    }
}

#[test]
fn a_table_that_is_cut_off_inside_a_row_is_an_error() {
    for name in [
        "warp-1.csv",
        "elbencho-3.1.csv",
        "elbencho-3.1.json",
        "k6-1.3-points.json",
    ] {
        let (_, bytes) = samples()
            .into_iter()
            .find(|(known, _)| known == name)
            .unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let whole: usize = lines[..2].iter().map(|line| line.len()).sum();
        let cut = whole + lines[2].len() / 4;
        assert!(
            import(&bytes[..cut], name).is_err(),
            "{name} cut to {cut} bytes"
        );
    }
}

#[test]
fn every_forced_format_refuses_every_other_sample() {
    for (name, bytes) in samples() {
        let own = import::recognise(&bytes, &name).unwrap();
        for format in Format::ALL.iter().filter(|format| **format != own) {
            let result = import_as(*format, &bytes, &name);
            assert!(result.is_err(), "{name} as {format}: {result:?}");
        }
    }
}

#[test]
fn more_series_than_memory_should_hold_are_refused_or_left_out() {
    let header = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tlast_byte\tend\tduration_ns\tcat\n";
    let rows: String =
        (0..70).map(|n| format!("0\t0\tOP{n}\tc\t1\t1\te\tf\t\t2026-01-01T00:00:00Z\t\t\t2026-01-01T00:00:01Z\t1\t0\n")).collect();
    let error = import(format!("{header}{rows}").as_bytes(), "w.csv")
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 66: more than 64 kinds"), "{error}");

    let points: String = (0..300)
        .map(|n| {
            let tags = format!(r#"{{"method":"GET","name":"n{n}"}}"#);
            format!(r#"{{"metric":"http_req_duration","type":"Point","data":{{"time":"2026-01-01T00:00:00Z","value":1,"tags":{tags}}}}}"#)
                + "\n"
        })
        .collect();
    let record = import(points.as_bytes(), "p").unwrap().remove(0);
    assert_eq!(record.operations.kind("get").unwrap().count, 300);
    assert!(
        record.summaries.len() <= 202
            && record
                .notices
                .iter()
                .any(|notice| notice.contains("left out"))
    );

    let jobs = vec![r#"{"jobname":"j","groupid":0}"#; 1100]
        .into_iter()
        .enumerate()
        .map(|(n, job)| job.replace("\"j\"", &format!("\"j{n}\"")));
    let fio = format!(
        r#"{{"fio version":"fio-3.1","jobs":[{}]}}"#,
        jobs.collect::<Vec<_>>().join(",")
    );
    let error = import(fio.as_bytes(), "f").unwrap_err().to_string();
    assert!(error.contains("more than 1024 results"), "{error}");
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (bytes, place) in [
        (
            r#"{"results":[{"command":"c","times":[-1.0]}]}"#,
            "results[0].times[0]",
        ),
        (
            r#"{"results":[{"command":"c","times":[1e300]}]}"#,
            "results[0].times[0]",
        ),
        (
            r#"{"results":[{"command":"c","times":[1],"exit_codes":[]}]}"#,
            "",
        ),
        (
            r#"{"fio version":"fio-3.1","jobs":[{"jobname":"j","read":{"bw":1e308}}]}"#,
            "jobs[0].read.bw",
        ),
        (
            r#"{"fio version":"fio-3.1","jobs":[{"jobname":"j","read":{"total_ios":-5}}]}"#,
            "jobs[0].read.total_ios",
        ),
        (
            r#"{"fio version":"fio-3.1","jobs":[{"jobname":"j","read":{"total_ios":1,"clat_ns":{"N":1,"bins":{"x":1}}}}]}"#,
            "clat_ns.bins.x",
        ),
    ] {
        match import(bytes.as_bytes(), "f") {
            Err(error) => assert!(error.to_string().contains(place), "{error}"),
            Ok(records) => assert_eq!((place, records.len()), ("", 1)),
        }
    }
}

#[test]
fn a_histogram_that_no_record_holds_is_refused() {
    let fio = |count: u64| {
        format!(
            r#"{{"fio version":"fio-3.1","jobs":[{{"jobname":"j","read":{{"total_ios":1,"clat_ns":{{"N":1,"bins":{{"5":{count}}}}}}}}}]}}"#
        )
    };
    assert_eq!(read(fio(1).as_bytes(), "f").unwrap(), 1);
    assert!(
        read(fio(u64::MAX).as_bytes(), "f")
            .unwrap_err()
            .to_string()
            .contains("64 bits")
    );
}

#[test]
fn a_result_without_results_is_an_error() {
    for bytes in [
        r#"{"results":[]}"#,
        r#"{"fio version":"fio-3.1","jobs":[]}"#,
    ] {
        let error = import_as(
            if bytes.contains("fio") {
                Format::Fio
            } else {
                Format::Hyperfine
            },
            bytes.as_bytes(),
            "f",
        )
        .unwrap_err();
        assert!(error.to_string().contains("holds no results"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn truncations_do_not_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let samples = samples();
        let (name, bytes) = &samples[which.index(samples.len())];
        let _records_or_error = read(&bytes[..at.index(bytes.len())], name);
    }

    #[test]
    fn mutations_do_not_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(b'0'), Just(b'9'), Just(b'-'), Just(b'e'), Just(b'"'), Just(b','), Just(b'}'), any::<u8>()]), 1..6),
        format in prop::sample::select(Format::ALL.to_vec()),
    ) {
        let samples = samples();
        let (name, bytes) = &samples[which.index(samples.len())];
        let mut bytes = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _records_or_error = read(&bytes, name);
        let _records_or_error = import_as(format, &bytes, name);
    }

    #[test]
    fn numbers_replaced_by_extremes_do_not_panic(which in any::<prop::sample::Index>(), nth in any::<prop::sample::Index>(), extreme in prop::sample::select(vec!["18446744073709551615", "-1", "1e308", "0", "null", "\"\"", "[]", "{}", "1e-300", "99999999999999999999"])) {
        let samples = samples();
        let (name, bytes) = &samples[which.index(samples.len())];
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
        let starts: Vec<usize> = text.char_indices().filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|c: char| c.is_ascii_digit() || c == '.')).map(|(at, _)| at).collect();
        let start = starts[nth.index(starts.len())];
        let end = start + text[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len() - start);
        let changed = format!("{}{extreme}{}", &text[..start], &text[end..]);
        let _records_or_error = read(changed.as_bytes(), name);
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), format in prop::sample::select(Format::ALL.to_vec())) {
        let _records_or_error = (read(&bytes, "x"), import_as(format, &bytes, "x"));
    }
}
