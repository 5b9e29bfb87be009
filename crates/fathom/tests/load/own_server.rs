//! What the tests against `fathom serve s3` have in common.

use super::client::{ACCESS, SECRET, Server};
use super::{code, records, text};
use record::Record;
use std::path::PathBuf;
use std::process::{Command, Output};

/// `fathom load` with the keys of [`Server`].
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .arg("load")
        .args(arguments)
        .env_clear()
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

/// Runs a load and returns its records and what was said.
pub(crate) fn load(arguments: &[&str]) -> (Vec<Record>, Output) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let output = command(arguments)
        .args(["--records", file.to_str().unwrap()])
        .output()
        .unwrap();
    let records = if file.exists() {
        records(&file)
    } else {
        Vec::new()
    };
    (records, output)
}

/// The record of a load that went well.
pub(crate) fn ok(arguments: &[&str]) -> Record {
    let (records, output) = load(arguments);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let [record] = records.try_into().unwrap();
    record
}

/// A target of these addresses.
pub(crate) fn target(scheme: &str, addresses: &[&str]) -> String {
    format!(
        "s3://bench@{}",
        addresses
            .iter()
            .map(|address| format!("{scheme}://{address}"))
            .collect::<Vec<_>>()
            .join(",")
    )
}

/// Certificate, key and authority of 127.0.0.1.
pub(crate) fn pem(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../object/tests/store/tls")
        .join(name)
}

pub(crate) fn tls_server() -> Server {
    Server::start(&[
        "--memory",
        "--tls-cert",
        pem("cert.pem").to_str().unwrap(),
        "--tls-key",
        pem("key.pem").to_str().unwrap(),
    ])
}
