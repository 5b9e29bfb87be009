//! Any bytes on a connection to an S3 server in memory: it comes to an end, and what it answers is HTTP with codes of S3.
//!
//! The first byte says whether the server has been told to misbehave.

use crate::s3_client::{ACCESS, S3Answer, SECRET};

const MISCHIEF: &str =
    "latency=5ms,bandwidth=1kB/s,stall=1s/every:3s,errors=30%:503,truncate=30%,corrupt=30%";

pub fn run(bytes: &[u8]) {
    let Some((mischief, bytes)) = bytes.split_first() else {
        return;
    };
    let mischief = (mischief % 2 == 1).then(|| {
        s3::Misbehaviour::parse(MISCHIEF, &s3::Vocabulary::http(&s3::OPERATION_KINDS))
            .expect("models")
    });
    let is_told = mischief.is_some();
    let server = s3::fuzzing::InMemory::new(ACCESS, SECRET, mischief).expect("a key");
    let heard = server.exchange(bytes);
    let Some(answer) = S3Answer::parse(&heard) else {
        // Silence, the frames of HTTP/2, or the old version that was asked for.
        assert!(!heard.starts_with(b"HTTP/1.1"));
        return;
    };
    let is_head = bytes.windows(5).any(|window| window == b"HEAD ");
    if answer.is_ours && !is_told && !is_head {
        answer.check("");
    }
}
