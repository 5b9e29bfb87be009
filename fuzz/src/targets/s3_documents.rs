//! Documents that a bucket is told: what is taken is given back, and what is given back is taken and gives the same again.
//!
//! The first byte chooses the document.

use crate::s3_client::{ACCESS, S3Answer, S3Request, SECRET};

const DOCUMENTS: [&str; 8] = [
    "cors",
    "lifecycle",
    "policy",
    "tagging",
    "versioning",
    "publicAccessBlock",
    "ownershipControls",
    "acl",
];

pub fn run(bytes: &[u8]) {
    let Some((which, document)) = bytes.split_first() else {
        return;
    };
    let target = format!(
        "/bucket?{}",
        DOCUMENTS[usize::from(*which) % DOCUMENTS.len()]
    );
    let server = s3::fuzzing::InMemory::new(ACCESS, SECRET, None).expect("a key");
    let ask = |method: &str, body: &[u8]| {
        let answer =
            S3Answer::parse(&server.exchange(&S3Request::new(method, &target, body).wire()))
                .expect("an answer");
        answer.check(method);
        answer
    };
    let taken = ask("PUT", document).status;
    // A page asks, and rules are read for it, whatever they are.
    let preflight = b"OPTIONS /bucket/k HTTP/1.1\r\nhost: x\r\norigin: http://a.b\r\naccess-control-request-method: PUT\r\nconnection: close\r\n\r\n";
    S3Answer::parse(&server.exchange(preflight))
        .expect("an answer")
        .check("OPTIONS");
    S3Answer::parse(
        &server.exchange(b"GET /bucket/k HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    )
    .expect("an answer")
    .check("GET");
    if taken >= 300 || document.is_empty() {
        return;
    }
    let first = ask("GET", b"");
    assert_eq!(first.status, 200, "{}", first.text);
    let again = ask("PUT", first.text.as_bytes());
    assert!(again.status < 300, "{} for {:?}", again.text, first.text);
    assert_eq!(ask("GET", b"").text, first.text);
}
