//! Servers of HTTP/2 that end connections, do not answer, or do not speak it.

use super::server::{Act, Server};
use super::{MS, context, in_parts, kind, plan, preset, run, tls};
use bytes::Bytes;
use object::{HttpVersion, LoadError, LoadPlan, Trust};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const BODY: &[u8] = b"an answer";

/// What a server does with its connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// GOAWAY after so many requests of a connection, all of which are answered.
    Ends(u64),
    /// No answer to any request.
    Silent,
    /// To every request the first bytes of an object as a part of it.
    FirstPart,
}

/// Length of a part.
const PART: &[u8] = &[b'x'; 1024];

/// Starts a server; its port and how many requests it saw.
fn start(habit: Habit) -> (u16, Arc<AtomicU64>) {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    (
        tls::listen(move |stream| serve(stream, habit, Arc::clone(&count))),
        seen,
    )
}

async fn serve(stream: tokio::net::TcpStream, habit: Habit, count: Arc<AtomicU64>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    let (mut served, mut unanswered) = (0, Vec::new());
    while let Some(Ok((request, mut answer))) = connection.accept().await {
        count.fetch_add(1, SeqCst);
        served += 1;
        match habit {
            Habit::Silent => unanswered.push(answer),
            Habit::FirstPart => {
                let head = http::Response::builder().status(206);
                let head = head.header("content-range", "bytes 0-1023/4096");
                let is_get = request.method() == http::Method::GET;
                let mut body = answer
                    .send_response(head.body(()).unwrap(), !is_get)
                    .unwrap();
                if is_get {
                    body.send_data(Bytes::from_static(PART), true).unwrap();
                }
            }
            Habit::Ends(after) => {
                let mut body = answer
                    .send_response(http::Response::new(()), false)
                    .unwrap();
                body.send_data(Bytes::from_static(BODY), true).unwrap();
                if served == after {
                    connection.graceful_shutdown();
                }
            }
        }
    }
}

fn fetch(scheme: &str, port: u16, iterations: u64) -> LoadPlan {
    let mut plan = plan(
        preset("fetch", 4, 60_000),
        &format!("{scheme}://127.0.0.1:{port}/file"),
    );
    (plan.iterations, plan.version, plan.threads) =
        (Some(iterations), HttpVersion::Two { connections: 1 }, 1);
    plan
}

#[test]
fn a_connection_that_the_server_ends_is_followed_by_another() {
    let (port, seen) = start(Habit::Ends(10));
    let record = run(&fetch("http", port, 200));
    let get = kind(&record, "get");
    assert_eq!(
        (get.count + get.errors, get.bytes),
        (200, get.count * BODY.len() as u64)
    );
    assert!(
        record.load.unwrap().connections_opened >= 15,
        "{}",
        seen.load(SeqCst)
    );
    // What the server had not taken when it ended the connection may fail, under that name.
    assert!(get.count >= 150, "{get:?}");
    let words = record.errors.iter().all(|error| {
        error
            .error
            .contains("the server ended the HTTP/2 connection")
    });
    assert!(words, "{:?}", record.errors);
}

#[test]
fn who_is_not_answered_gives_up_after_the_time_given() {
    let (port, seen) = start(Habit::Silent);
    let mut plan = fetch("http", port, 8);
    plan.timeout_ns = 150 * MS;
    let record = run(&plan);
    assert_eq!(
        (
            record.operations.count(),
            record.operations.errors(),
            seen.load(SeqCst)
        ),
        (0, 8, 8)
    );
    assert_eq!(
        record
            .errors
            .iter()
            .map(|error| (error.error.as_str(), error.count))
            .collect::<Vec<_>>(),
        [("timeout", 8)]
    );
}

#[test]
fn a_part_that_is_not_the_one_that_was_asked_for_is_an_error_over_http2_as_well() {
    let (port, _) = start(Habit::FirstPart);
    let target = format!("s3://bucket@http://127.0.0.1:{port}");
    let mut plan = plan(in_parts(), &target);
    (plan.iterations, plan.version, plan.threads) =
        (Some(200), HttpVersion::Two { connections: 1 }, 1);
    let record = run(&plan);
    let get = kind(&record, "get");
    assert_eq!(get.count + get.errors, 200);
    assert!((1..150).contains(&get.count), "{get:?}");
    assert_eq!(
        record.errors[0].error,
        "the answer is another part than was asked for"
    );
}

#[test]
fn tls_without_http2_is_told_whichever_way_it_refuses() {
    let server = Server::start(|_| Act::Answer);
    for protocols in [&[][..], &["http/1.1"]] {
        let mut plan = fetch("https", tls::start_with(server.port, protocols), 4);
        plan.trust = Trust::File(tls::authority());
        let error = object::execute(&plan, &context(), &mut host::NoWatch).unwrap_err();
        assert!(
            matches!(&error, LoadError::Asked(said) if said.contains("does not answer in HTTP/2 (TLS ")),
            "{error:?}"
        );
    }
}
