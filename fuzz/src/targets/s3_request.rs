//! Requests to a whole S3 server in memory: every one is answered, every refusal has a code, and none is an internal error.

use crate::s3_client::{ACCESS, S3Answer, SECRET, requests};

pub fn run(bytes: &[u8]) {
    let server = s3::fuzzing::InMemory::new(ACCESS, SECRET, None).expect("a key");
    for request in requests(bytes, 6) {
        let method = request.method.clone();
        let heard = server.exchange(&request.wire());
        let answer = S3Answer::parse(&heard);
        // A line or a head that is too long is refused before it is a request.
        match answer.filter(|answer| answer.is_ours || ![400, 414, 431].contains(&answer.status)) {
            Some(answer) => answer.check(&method),
            None => assert!(!heard.is_empty(), "no answer"),
        }
    }
}
