//! The device over TLS, with our own engine and with other people's clients and servers.

use crate::foreign::has;
use crate::served::Served;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory as libnbd and nbdkit want it: an authority, and a certificate of `localhost` and
/// 127.0.0.1.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object/tests/store/tls");
        for (name, as_name) in [
            ("ca.pem", "ca-cert.pem"),
            ("cert.pem", "server-cert.pem"),
            ("key.pem", "server-key.pem"),
        ] {
            std::fs::copy(from.join(name), dir.path().join(as_name)).unwrap();
        }
        Self(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn serve(&self, words: &[&str]) -> Served {
        let (certificate, key) = (self.file("server-cert.pem"), self.file("server-key.pem"));
        let tls = ["--tls-cert", &certificate, "--tls-key", &key];
        Served::start(&[&tls[..], words].concat())
    }

    /// An address with whom to believe.
    fn believing(&self, uri: &str) -> String {
        let before = if uri.contains('?') { '&' } else { '?' };
        let directory = self.0.path().display();
        format!("{uri}{before}tls-certificates={directory}")
    }
}

fn run(target: &str, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", target, "--allow-destroy", target, "--no-live"])
        .args(words)
        .output()
        .unwrap()
}

/// Writes all of it at some depth, reads it back, and finds what was written.
fn is_verified(target: &str, block: &str) {
    let output = run(
        target,
        &[
            "--write-percent",
            "100",
            "--random",
            "--queue-depth",
            "16",
            "--block-size",
            block,
            "--verify",
            "--verify-when",
            "passes",
            "--duration",
            "0s",
        ],
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("Failures: 0, Success: 100.00%"),
        "{target} {block}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What is said of a run that does not begin.
fn refused(target: &str) -> String {
    let output = run(target, &["--duration", "1s"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_our_engine_writes_over_tls_is_verified() {
    let certificates = Certificates::new();
    let served = certificates.serve(&["--size", "16m", "--tcp", "127.0.0.1:0"]);
    let uris: Vec<String> = served.uris().to_vec();
    assert!(uris[0].starts_with("nbds+unix:///") && uris[1].starts_with("nbds://127.0.0.1:"));
    for uri in &uris {
        for block in ["4k", "1m"] {
            is_verified(&certificates.believing(uri), block);
        }
    }
    assert_eq!(served.end(), Some(0));
}

#[test]
fn whoever_is_not_believed_or_speaks_in_the_clear_is_told_so() {
    let certificates = Certificates::new();
    let served = certificates.serve(&["--size", "1m", "--tcp", "127.0.0.1:0"]);
    let [unix, tcp] = served.uris() else {
        panic!("{:?}", served.uris())
    };
    let in_the_clear = refused(&unix.replace("nbds", "nbd"));
    assert!(in_the_clear.contains("requires TLS"), "{in_the_clear}");
    let stranger = refused(tcp);
    assert!(stranger.contains("UnknownIssuer"), "{stranger}");
    let other = certificates.believing(tcp) + "&tls-hostname=disk.example";
    let another = refused(&other);
    assert!(another.contains("not valid for name"), "{another}");
    let nowhere = refused(&format!("{tcp}?tls-certificates=/nowhere"));
    assert!(nowhere.contains("/nowhere/ca-cert.pem"), "{nowhere}");
    is_verified(&format!("{tcp}?tls-verify-peer=0"), "4k");
    assert_eq!(served.end(), Some(0));
    let plain = Served::start(&["--size", "1m"]);
    let without = refused(&certificates.believing(&plain.uri().replace("nbd+", "nbds+")));
    assert!(without.contains("has no TLS"), "{without}");
}

#[test]
fn a_certificate_that_cannot_be_used_is_named_before_anybody_comes() {
    let certificates = Certificates::new();
    let key = certificates.file("server-key.pem");
    let said = Served::refused(&[
        "--size",
        "1m",
        "--unix",
        "/nowhere/s",
        "--tls-cert",
        &key,
        "--tls-key",
        &key,
    ]);
    assert!(said.contains("server-key.pem"), "{said}");
    let said = Served::refused(&["--size", "1m", "--unix", "/nowhere/s", "--tls-cert", &key]);
    assert!(said.contains("--tls-key"), "{said}");
}

#[test]
fn clients_of_libnbd_speak_tls_with_the_device() {
    if !has("nbdinfo") || !has("nbdcopy") {
        return;
    }
    let certificates = Certificates::new();
    let served = certificates.serve(&["--size", "16m", "--tcp", "127.0.0.1:0"]);
    let tcp = served.uris()[1].replace("127.0.0.1", "localhost");
    let uri = certificates.believing(&tcp);
    let info = Command::new("nbdinfo").arg(&uri).output().unwrap();
    let said = String::from_utf8_lossy(&info.stdout);
    assert!(
        info.status.success() && said.contains("with TLS") && said.contains("16777216"),
        "{info:?}"
    );
    let file = |name: &str| PathBuf::from(certificates.file(name));
    let bytes: Vec<u8> = (0..16_u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0])
        .collect();
    std::fs::write(file("there"), &bytes).unwrap();
    for (from, to) in [
        (certificates.file("there"), uri.clone()),
        (uri.clone(), certificates.file("back")),
    ] {
        let copied = Command::new("nbdcopy").args([&from, &to]).output().unwrap();
        assert!(copied.status.success(), "{from} {to}: {copied:?}");
    }
    assert!(std::fs::read(file("back")).unwrap() == bytes);
    let clear = Command::new("nbdinfo")
        .arg(tcp.replace("nbds", "nbd"))
        .output();
    assert!(
        !clear.unwrap().status.success(),
        "in the clear nothing is told"
    );
    assert_eq!(served.end(), Some(0));
}

#[test]
fn our_engine_speaks_tls_with_nbdkit() {
    if !has("nbdkit") {
        return;
    }
    let certificates = Certificates::new();
    let (socket, pid) = (certificates.file("s"), certificates.file("pid"));
    let directory = format!("--tls-certificates={}", certificates.0.path().display());
    let started = Command::new("nbdkit")
        .args([
            "--unix",
            &socket,
            "--pidfile",
            &pid,
            "--tls=require",
            &directory,
        ])
        .args(["memory", "16m"])
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
    let uri = format!("nbds+unix:///?socket={socket}");
    for block in ["4k", "1m"] {
        is_verified(&certificates.believing(&uri), block);
    }
    let pid = std::fs::read_to_string(pid).unwrap();
    let ended = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(ended.success());
}

impl Certificates {
    /// Whoever uses the directory shows this certificate.
    fn show(&self, certificate: &str, key: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object/tests/store/tls");
        for (name, as_name) in [(certificate, "client-cert.pem"), (key, "client-key.pem")] {
            std::fs::copy(from.join(name), self.0.path().join(as_name)).unwrap();
        }
    }

    /// Nobody comes in who is not of this authority.
    fn serve_those_of(&self, authority: &str, words: &[&str]) -> Served {
        let authorities = ["--tls-client-ca", authority];
        self.serve(&[&authorities[..], words].concat())
    }
}

#[test]
fn whoever_must_show_a_certificate_comes_in_with_the_right_one_alone() {
    let certificates = Certificates::new();
    let words = ["--size", "16m", "--tcp", "127.0.0.1:0"];
    let served = certificates.serve_those_of(&certificates.file("ca-cert.pem"), &words);
    let uris: Vec<String> = served.uris().to_vec();
    for uri in &uris {
        let uri = certificates.believing(uri);
        let missing = refused(&uri);
        assert!(missing.contains("CertificateRequired"), "{missing}");
    }
    certificates.show("own.pem", "own-key.pem");
    for uri in &uris {
        let wrong = refused(&certificates.believing(uri));
        assert!(wrong.contains("received fatal alert"), "{wrong}");
    }
    certificates.show("cert.pem", "own-key.pem");
    let not_its_key = refused(&certificates.believing(&uris[0]));
    assert!(not_its_key.contains("client-cert.pem"), "{not_its_key}");
    certificates.show("cert.pem", "key.pem");
    for uri in &uris {
        is_verified(&certificates.believing(uri), "4k");
    }
    // Who is refused, or says half a word, disturbs nobody.
    assert_eq!(served.end(), Some(0));
}

#[test]
fn a_certificate_of_another_authority_is_refused_by_its_name() {
    let certificates = Certificates::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object/tests/store/tls");
    let other = from.join("own.pem").to_str().unwrap().to_owned();
    let served = certificates.serve_those_of(&other, &["--size", "1m"]);
    certificates.show("cert.pem", "key.pem");
    let stranger = refused(&certificates.believing(&served.uri()));
    assert!(stranger.contains("UnknownCA"), "{stranger}");
    assert_eq!(served.end(), Some(0));
}

#[test]
fn authorities_of_clients_are_asked_for_with_tls_alone_and_have_to_be_some() {
    let certificates = Certificates::new();
    let key = certificates.file("server-key.pem");
    let certificate = certificates.file("server-cert.pem");
    let without = ["--size", "1m", "--unix", "/nowhere/s"];
    let asks = ["--tls-client-ca", &key];
    let said = Served::refused(&[&without[..], &asks].concat());
    assert!(said.contains("--tls-cert"), "{said}");
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let said = Served::refused(&[&without[..], &tls, &asks].concat());
    assert!(said.contains("server-key.pem"), "{said}");
}

#[test]
fn clients_of_libnbd_show_their_certificate_as_well() {
    if !has("nbdinfo") {
        return;
    }
    let certificates = Certificates::new();
    let words = ["--size", "16m", "--tcp", "127.0.0.1:0"];
    let served = certificates.serve_those_of(&certificates.file("ca-cert.pem"), &words);
    let tcp = served.uris()[1].replace("127.0.0.1", "localhost");
    let info = || {
        let uri = certificates.believing(&tcp);
        Command::new("nbdinfo").arg(uri).output().unwrap()
    };
    assert!(!info().status.success());
    certificates.show("cert.pem", "key.pem");
    let said = info();
    assert!(said.status.success(), "{said:?}");
    assert_eq!(served.end(), Some(0));
}

#[test]
fn our_engine_shows_its_certificate_to_nbdkit() {
    if !has("nbdkit") {
        return;
    }
    let certificates = Certificates::new();
    let (socket, pid) = (certificates.file("s"), certificates.file("pid"));
    let directory = format!("--tls-certificates={}", certificates.0.path().display());
    let started = Command::new("nbdkit")
        .args(["--unix", &socket, "--pidfile", &pid])
        .args(["--tls=require", "--tls-verify-peer", &directory])
        .args(["memory", "16m"])
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
    let uri = certificates.believing(&format!("nbds+unix:///?socket={socket}"));
    refused(&uri);
    certificates.show("own.pem", "own-key.pem");
    refused(&uri);
    certificates.show("cert.pem", "key.pem");
    is_verified(&uri, "4k");
    let pid = std::fs::read_to_string(pid).unwrap();
    let ended = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(ended.success());
}
