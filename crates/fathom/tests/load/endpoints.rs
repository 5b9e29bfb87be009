//! Several servers, and servers behind TLS.

use super::client::Server;
use super::own_server::{load, ok, pem, target, tls_server};
use super::{code, text};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use sys::{Clock, MachineClock};

/// Forwards connections to `behind`, holding the server's first bytes back; its address.
pub(crate) fn slow_to_begin(behind: &str, hold_ns: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let behind = behind.to_owned();
    std::thread::spawn(move || {
        for outside in listener.incoming() {
            let (outside, inside) = (outside.unwrap(), TcpStream::connect(&behind).unwrap());
            let (from, to) = (outside.try_clone().unwrap(), inside.try_clone().unwrap());
            std::thread::spawn(move || forward(from, to, 0));
            std::thread::spawn(move || forward(inside, outside, hold_ns));
        }
    });
    address
}

fn forward(mut from: TcpStream, mut to: TcpStream, hold_ns: u64) {
    let mut buffer = vec![0; 64 << 10];
    let mut hold_ns = hold_ns;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let clock = MachineClock::monotonic();
        clock.sleep_until(clock.now() + std::mem::take(&mut hold_ns));
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _no_matter = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn every_endpoint_has_its_share_and_its_own_account() {
    let server = Server::start(&["--memory"]);
    // One store behind three doors.
    let doors = [
        server.address.clone(),
        slow_to_begin(&server.address, 0),
        slow_to_begin(&server.address, 0),
    ];
    let addresses: Vec<&str> = doors.iter().map(String::as_str).collect();
    for how in [
        &["--users", "6"][..],
        &["--users", "6", "--rate", "500", "--threads", "1"],
    ] {
        let start = [
            "get",
            "--target",
            &target("http", &addresses),
            "--seeds",
            "4",
            "--duration",
            "1s",
        ];
        let record = ok(&[&start[..], how].concat());
        let endpoints = record.load.unwrap().endpoints;
        assert_eq!(
            endpoints
                .iter()
                .map(|endpoint| endpoint.address.as_str())
                .collect::<Vec<_>>(),
            addresses
        );
        assert_eq!(
            endpoints
                .iter()
                .map(|endpoint| endpoint.operations)
                .sum::<u64>(),
            record.operations.count()
        );
        for endpoint in &endpoints {
            assert!(
                endpoint.operations >= 2
                    && endpoint.errors == 0
                    && endpoint.connections_opened >= 1,
                "{how:?} {endpoints:?}"
            );
        }
    }
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn a_dead_endpoint_is_named_and_the_others_go_on() {
    let server = Server::start(&["--memory"]);
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    for addresses in [
        [dead.as_str(), &server.address],
        [server.address.as_str(), &dead],
    ] {
        let start = [
            "get",
            "--target",
            &target("http", &addresses),
            "--seeds",
            "4",
            "--users",
            "4",
            "--duration",
            "1s",
        ];
        let (records, output) = load(&[&start[..], &["--threshold", "errors<99%"]].concat());
        let said = text(&output);
        assert_eq!(code(&output), 0, "{said}");
        let [record] = records.try_into().unwrap();
        let of = |address: &str| {
            record
                .load
                .as_ref()
                .unwrap()
                .endpoints
                .iter()
                .find(|e| e.address == address)
                .unwrap()
        };
        assert!(
            of(&dead).operations == 0 && of(&dead).errors >= 4 && of(&dead).connections_failed >= 4,
            "{said}"
        );
        assert!(
            of(&server.address).operations > 20 && of(&server.address).errors == 0,
            "{said}"
        );
        assert_eq!(of(&dead).errors, record.operations.errors());
        assert!(
            said.contains(&format!("connect: connection refused at {dead}")),
            "{said}"
        );
        assert!(
            record
                .notices
                .iter()
                .any(|notice| notice.contains(&format!("{dead} did not answer before the load"))),
            "{said}"
        );
    }
    let (_, output) = load(&[
        "get",
        "--target",
        &target("http", &[&dead, &dead]),
        "--users",
        "2",
    ]);
    assert!(
        code(&output) == 1 && text(&output).contains("is the server running"),
        "{}",
        text(&output)
    );
    let (_, output) = load(&[
        "get",
        "--target",
        &target("http", &[&dead, &server.address]),
        "--users",
        "1",
    ]);
    assert!(
        code(&output) == 2 && text(&output).contains("2 endpoints need as many --users"),
        "{}",
        text(&output)
    );
}

#[test]
fn objects_travel_through_tls_and_its_handshake_is_connecting() {
    const HOLD_NS: u64 = 300_000_000;
    let server = tls_server();
    let door = slow_to_begin(&server.address, HOLD_NS);
    let target = target("https", &[&door]);
    let run = [
        "put-get-verify",
        "--target",
        &target,
        "--users",
        "2",
        "--object-size",
        "300KiB",
        "--duration",
        "60s",
        "--iterations",
        "20",
    ];
    let record = ok(&[&run[..], &["--cacert", pem("ca.pem").to_str().unwrap()]].concat());
    assert_eq!(
        record
            .verification
            .as_ref()
            .map(|verification| (verification.operations, verification.failures)),
        Some((20, 0))
    );
    let put = &record.load.as_ref().unwrap().phases["put"];
    assert_eq!(put.connecting.count(), 2);
    // Without TLS a connection stands before the server has said anything, and what it holds back
    // is waiting.
    assert!(
        put.connecting.min() >= Some(HOLD_NS) && put.waiting.quantile(0.5) < Some(HOLD_NS as f64),
        "{put:?}"
    );
    assert_eq!(
        record.effective.get("trust").map(String::as_str),
        Some("file")
    );
    assert_eq!(
        ok(&[&run[..], &["--insecure"]].concat())
            .effective
            .get("trust")
            .map(String::as_str),
        Some("anybody")
    );
    let (_, output) = load(&run);
    assert!(
        code(&output) == 2 && text(&output).contains("certificate"),
        "{}",
        text(&output)
    );
}
