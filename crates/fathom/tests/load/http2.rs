//! HTTP/2: users as streams of shared connections.

use super::accounts::saw;
use super::client::Server;
use super::endpoints::slow_to_begin;
use super::own_server::{load, ok, pem, target, tls_server};
use super::server::{Act, Server as OldServer};
use super::{code, text};

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn users_share_connections_and_every_byte_arrives_with_and_without_tls() {
    let (plain, tls) = (Server::start(&["--memory"]), tls_server());
    for (scheme, server) in [("http", &plain), ("https", &tls)] {
        let target = target(scheme, &[&server.address]);
        // 3 MiB are more than the window of a stream, in either direction.
        let run = [
            "put-get-verify",
            "--target",
            &target,
            "--users",
            "8",
            "--object-size",
            "3MiB/20:1KiB/80",
            "--duration",
            "60s",
        ];
        let how = [
            "--iterations",
            "80",
            "--http2",
            "--http2-connections",
            "3",
            "--threads",
            "2",
        ];
        let trust = ["--cacert", &pem("ca.pem").to_string_lossy()].map(str::to_owned);
        let trust: Vec<&str> = trust
            .iter()
            .map(String::as_str)
            .filter(|_| scheme == "https")
            .collect();
        let record = ok(&[&run[..], &how, &trust].concat());
        let load = record.load.as_ref().unwrap();
        assert_eq!(
            record
                .verification
                .as_ref()
                .map(|verification| (verification.operations, verification.failures)),
            Some((80, 0))
        );
        assert_eq!(
            record.operations.kind("put").map(|put| put.bytes),
            record.operations.kind("get").map(|get| get.bytes)
        );
        assert_eq!(
            (
                load.connections_opened,
                saw(&record, "put"),
                saw(&record, "get")
            ),
            (3, 80, 80)
        );
        let effective = |key: &str| record.effective.get(key).map_or("", String::as_str);
        assert_eq!(
            (effective("protocol"), effective("http2-connections")),
            ("HTTP/2", "3")
        );
        for kind in ["put", "get"] {
            let (phases, all) = (&load.phases[kind], record.operations.kind(kind).unwrap());
            let parts = [
                &phases.connecting,
                &phases.sending,
                &phases.waiting,
                &phases.receiving,
            ];
            assert_eq!(
                parts.map(record::Histogram::sum).into_iter().sum::<u128>(),
                all.latency.sum(),
                "{kind}"
            );
            assert_eq!(phases.waiting.count(), all.count);
        }
    }
}

#[test]
fn a_handshake_is_connecting_for_all_who_wait_for_it() {
    const HOLD_NS: u64 = 200_000_000;
    let server = Server::start(&["--memory"]);
    let door = slow_to_begin(&server.address, HOLD_NS);
    let run = [
        "stat",
        "--target",
        &target("http", &[&door]),
        "--seeds",
        "3",
        "--users",
        "4",
        "--duration",
        "60s",
        "--iterations",
        "100",
    ];
    let record = ok(&[&run[..], &["--http2", "--http2-connections", "1"]].concat());
    let load = record.load.unwrap();
    let head = &load.phases["head"];
    assert_eq!((load.connections_opened, head.connecting.count()), (1, 4));
    assert!(
        head.connecting.max() >= Some(HOLD_NS) && head.waiting.quantile(0.5) < Some(HOLD_NS as f64),
        "{head:?}"
    );
}

#[test]
fn more_users_than_the_server_has_streams_wait_for_one() {
    // The server takes 128 streams of a connection.
    let server = Server::start(&["--memory"]);
    let run = [
        "get",
        "--target",
        &target("http", &[&server.address]),
        "--seeds",
        "3",
        "--users",
        "300",
        "--duration",
        "60s",
    ];
    let record = ok(&[
        &run[..],
        &[
            "--iterations",
            "900",
            "--http2",
            "--http2-connections",
            "1",
            "--threads",
            "1",
        ],
    ]
    .concat());
    assert_eq!(
        (
            record.operations.count(),
            record.operations.errors(),
            record.load.unwrap().connections_opened
        ),
        (900, 0, 1)
    );
}

#[test]
fn what_speaks_no_http2_is_told() {
    let old = OldServer::start(|_| Act::Answer);
    let (_, output) = load(&[
        "get",
        "--target",
        &old.s3("bench"),
        "--http2",
        "--timeout",
        "10s",
    ]);
    let said = text(&output);
    assert!(
        code(&output) == 2 && said.contains("does not answer in HTTP/2"),
        "{said}"
    );
}

#[test]
fn failures_of_the_server_are_counted_by_their_words() {
    let server = Server::start(&[
        "--memory",
        "--misbehave",
        "get.errors=20%:503,get.truncate=10%,seed=7",
    ]);
    let run = [
        "get",
        "--target",
        &target("http", &[&server.address]),
        "--seeds",
        "3",
        "--users",
        "4",
        "--duration",
        "60s",
        "--http2",
    ];
    let (records, output) = load(
        &[
            &run[..],
            &[
                "--object-size",
                "200KiB",
                "--iterations",
                "200",
                "--threshold",
                "errors<90%",
            ],
        ]
        .concat(),
    );
    assert_eq!(code(&output), 0, "{}", text(&output));
    let errors = &records[0].errors;
    assert!(
        errors
            .iter()
            .any(|error| error.error == "HTTP 503 SlowDown" && error.count > 10),
        "{errors:?}"
    );
    assert!(
        errors
            .iter()
            .any(|error| error.error.contains("HTTP/2 stream reset") && error.count > 2),
        "{errors:?}"
    );
    let get = records[0].operations.kind("get").unwrap();
    assert_eq!(
        (get.count + get.errors, get.bytes),
        (200, get.count * (200 << 10))
    );
}
