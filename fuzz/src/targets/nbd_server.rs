//! A server's bytes: whatever it says, every request ends at most once, with no more bytes than it asked for, and the client comes to an end.
//!
//! The first byte says how much of a sound handshake comes before the rest of the input.

use engine::{Completion, Engine, NbdEngine, NbdUrl, Op, Request};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::sync::LazyLock;
use tempfile::TempDir;

const DEPTH: u32 = 4;
const BLOCK: u32 = 512;
const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";
/// An export of 1 MiB that can flush and write through, and the acceptance of the option.
const ACCEPTED: &[u8] = b"\x00\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x07\0\0\0\x03\0\0\0\x0c\0\0\0\0\0\0\0\x10\0\0\0\x0d\x00\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x07\0\0\0\x01\0\0\0\0";

struct Place {
    listener: UnixListener,
    url: NbdUrl,
    _directory: TempDir,
}

static PLACE: LazyLock<Place> = LazyLock::new(|| {
    let directory = TempDir::new().expect("a temporary directory");
    let socket = directory.path().join("s");
    let url =
        NbdUrl::parse(&format!("nbd:unix:{}", socket.display())).expect("the address of a socket");
    Place {
        listener: UnixListener::bind(socket).expect("a socket"),
        url,
        _directory: directory,
    }
});

fn serve(says: &[u8]) {
    let (mut stream, _) = PLACE.listener.accept().expect("the client connects");
    let _the_client_may_have_gone = stream
        .write_all(says)
        .and_then(|()| stream.shutdown(Shutdown::Write));
    let mut heard = Vec::new();
    let _until_it_goes = stream.read_to_end(&mut heard);
}

fn converse() {
    let Ok(mut engine) = NbdEngine::connect(&PLACE.url, DEPTH, BLOCK as usize) else {
        return;
    };
    let ops = [Op::Read, Op::Write, Op::Read, Op::Fsync];
    let requests = ops.into_iter().zip(0..).map(|(op, slot)| {
        let len = if op.transfers() { BLOCK } else { 0 };
        Request {
            slot,
            file: 0,
            op,
            offset: u64::from(slot * BLOCK),
            len,
        }
    });
    let requests: Vec<Request> = requests.collect();
    engine
        .submit(&requests)
        .expect("errors of single requests are completions");
    let mut done: Vec<Completion> = Vec::new();
    while done.len() < requests.len() && engine.reap(1, u64::MAX, &mut done).is_ok() {}
    for completion in &done {
        assert_eq!(
            done.iter()
                .filter(|other| other.slot == completion.slot)
                .count(),
            1,
            "{done:?}"
        );
        assert!(
            completion.result <= i64::from(requests[completion.slot as usize].len),
            "{done:?}"
        );
    }
}

pub fn run(bytes: &[u8]) {
    let Some((sound, rest)) = bytes.split_first() else {
        return;
    };
    let says = match sound % 3 {
        0 => rest.to_vec(),
        1 => [GREETING, rest].concat(),
        _ => [GREETING, ACCEPTED, rest].concat(),
    };
    std::thread::scope(|scope| {
        LazyLock::force(&PLACE);
        let server = scope.spawn(|| serve(&says));
        converse();
        // The scope waits for the end of the work, this for the end of the thread and what it holds.
        server.join().expect("the server only writes and reads");
    });
}
