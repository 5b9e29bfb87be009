//! Objects that the kernel sends: the same bytes, in all the ways that they are asked for.

use super::client::{ACCESS, Client, Request, SECRET, Server, noise};
use super::options::{counter, tls_file};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

const SIZES: [usize; 4] = [65_537, 131_072, 1_048_583, 5_000_000];

/// For as long as the test lasts.
const LONG: [&str; 2] = ["--verify-every", "1h"];

fn server(dir: &Path, more: &[&str]) -> Server {
    Server::start(&[&["--data", dir.to_str().unwrap(), "--sync", "never"], more].concat())
}

fn handed(server: &Server) -> u64 {
    counter(server, "fathom_s3_storage_bytes_handed_total")
}

/// A bucket with an object of each size, each of which was read once.
fn filled(server: &Server) -> (Client, Vec<Vec<u8>>) {
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    let objects: Vec<Vec<u8>> = SIZES
        .iter()
        .zip(1..)
        .map(|(size, seed)| noise(seed, *size))
        .collect();
    for (at, object) in objects.iter().enumerate() {
        client.put(&format!("/bucket/{at}"), object.clone()).ok();
        assert!(client.call("GET", &format!("/bucket/{at}")).ok().body == *object);
    }
    (client, objects)
}

#[test]
fn whole_objects_and_ranges_come_as_they_were_put() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &LONG);
    let (mut client, objects) = filled(&server);
    assert_eq!(handed(&server), 0, "nothing was compared before");
    for (at, object) in objects.iter().enumerate() {
        let path = format!("/bucket/{at}");
        assert!(
            client.call("GET", &path).ok().body == *object,
            "object {at}"
        );
        let head = client.call("HEAD", &path).ok();
        assert_eq!(
            (head.headers["content-length"].clone(), head.body.len()),
            (object.len().to_string(), 0)
        );
        for (from, to) in [
            (0, 1),
            (1, 65_000),
            (65_000, object.len()),
            (object.len() - 1, object.len()),
        ] {
            let range = client
                .send(
                    Request::new("GET", &path).header("range", &format!("bytes={from}-{}", to - 1)),
                )
                .ok();
            assert!(
                range.status == 206 && range.body == object[from..to],
                "object {at}, {from} to {to}"
            );
        }
    }
    let asked: usize = SIZES
        .iter()
        .map(|size| size + 1 + 64_999 + (size - 65_000) + 1)
        .sum();
    assert_eq!(
        handed(&server),
        asked as u64,
        "all of it was left to the kernel"
    );
}

#[test]
fn many_clients_at_once_each_get_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &LONG);
    let (_, objects) = filled(&server);
    std::thread::scope(|scope| {
        for first in 0..8 {
            let (mut client, objects) = (server.client(), &objects);
            scope.spawn(move || {
                for turn in 0..12 {
                    let at = (first + turn) % objects.len();
                    assert!(
                        client.call("GET", &format!("/bucket/{at}")).ok().body == objects[at],
                        "client {first}, turn {turn}"
                    );
                }
            });
        }
    });
    assert!(handed(&server) > 0);
}

#[test]
fn requests_in_a_row_who_reads_slowly_and_who_goes_away_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &LONG);
    let (mut client, objects) = filled(&server);
    let line = |at: usize, last: bool| {
        let signed = client.signed(Request::new("GET", &format!("/bucket/{at}")));
        let headers: String = signed
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!(
            "GET /bucket/{at} HTTP/1.1\r\n{headers}{}\r\n",
            if last { "connection: close\r\n" } else { "" }
        )
    };
    let mut gone = std::net::TcpStream::connect(&server.address).unwrap();
    gone.write_all(line(3, false).as_bytes()).unwrap();
    gone.read_exact(&mut [0; 100_000]).unwrap();
    drop(gone);
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(
            [line(2, false), line(3, false), line(0, true)]
                .concat()
                .as_bytes(),
        )
        .unwrap();
    let (mut taken, mut piece) = (Vec::new(), vec![0; 3001]);
    while let count @ 1.. = stream.read(&mut piece).unwrap() {
        taken.extend_from_slice(&piece[..count]);
    }
    for at in [2, 3, 0] {
        let head = taken
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap()
            + 4;
        assert!(
            taken[..head].starts_with(b"HTTP/1.1 200 OK\r\n"),
            "answer {at}"
        );
        assert!(
            taken[head..head + objects[at].len()] == objects[at],
            "body {at}"
        );
        taken.drain(..head + objects[at].len());
    }
    assert!(taken.is_empty() && handed(&server) > 0);
    assert!(client.call("GET", "/bucket/3").ok().body == objects[3]);
}

/// A server of which objects were read over and over, and every byte compared.
fn compared(serve: &[&str], load: &[&str], scheme: &str) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), serve);
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args([
        "load",
        "get",
        "--verify",
        "--object-size",
        "700KiB",
        "--seeds",
        "6",
        "--users",
        "4",
        "--iterations",
        "60",
    ]);
    command
        .args([
            "--target",
            &format!("s3://bench@{scheme}://{}", server.address),
            "--no-live",
        ])
        .args(load);
    let ran = command
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    server
}

#[test]
fn what_goes_through_our_hands_is_not_left_to_the_kernel() {
    assert!(handed(&compared(&LONG, &[], "http")) > 0);
    assert_eq!(handed(&compared(&LONG, &["--http2"], "http")), 0, "frames");
    assert_eq!(
        handed(&compared(
            &[&LONG[..], &["--misbehave", "get.bandwidth=1GB/s"]].concat(),
            &[],
            "http"
        )),
        0,
        "a bandwidth"
    );
    assert_eq!(
        handed(&compared(&["--verify-every", "0s"], &[], "http")),
        0,
        "every read is compared"
    );
    let (cert, key, ca) = (
        tls_file("cert.pem"),
        tls_file("key.pem"),
        tls_file("ca.pem"),
    );
    compared(
        &["--tls-cert", &cert, "--tls-key", &key],
        &["--cacert", &ca],
        "https",
    );
}
