//! What the audit says of a run beside the log of the device that it ran on.

use crate::served::Served;
use std::path::Path;
use std::process::Command;

fn fathom(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(args)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).unwrap()
}

/// One record a line of what `run` and `import` said of the same device.
fn measured(directory: &Path) -> Vec<serde_json::Value> {
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (log, records) = (path("log"), path("records.jsonl"));
    let served = Served::start(&["--size", "1m", "--log", &log]);
    let run = ["run", &served.uri(), "--no-live", "--total-bytes", "400k"];
    fathom(&[&run[..], &["--records", &records]].concat());
    assert_eq!(served.end(), Some(0));
    fathom(&["import", &log, "--records", &records]);
    let lines = std::fs::read_to_string(records).unwrap();
    let lines = lines.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_run_that_claims_what_the_device_did_not_do_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = measured(dir.path());
    assert_eq!(records.len(), 2);
    let audited = |records: &[serde_json::Value]| {
        let path = dir.path().join("audited.jsonl");
        let lines = records.iter().map(|record| format!("{record}\n"));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        fathom(&["audit", path.to_str().unwrap()])
    };
    let said = audited(&records);
    let is_silent = !said.contains("server_disagrees") && !said.contains("environment_differs");
    assert!(is_silent, "{said}");
    assert_eq!(records[0]["operations"]["read"]["count"], 100);
    records[0]["operations"]["read"]["count"] = 101.into();
    let said = audited(&records);
    let why = "read: 101 successful operations were counted, the device's log has 100";
    assert!(
        said.contains("server_disagrees") && said.contains(why),
        "{said}"
    );
}
