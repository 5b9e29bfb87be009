//! Headers that ask for an access control list: whoever is granted something there is known.
//!
//! The first byte chooses the header.

const HEADERS: [&str; 6] = [
    "x-amz-acl",
    "x-amz-grant-read",
    "x-amz-grant-write",
    "x-amz-grant-read-acp",
    "x-amz-grant-write-acp",
    "x-amz-grant-full-control",
];

pub fn run(bytes: &[u8]) {
    let Some((which, value)) = bytes.split_first() else {
        return;
    };
    let header = HEADERS[usize::from(*which) % HEADERS.len()];
    if let Some(list) = s3::fuzzing::list(&[(header, value)]) {
        assert!(s3::fuzzing::records(&list).contains(&list));
        for pair in list.windows(3) {
            assert!(
                pair != b"max",
                "a key that nobody knows was granted something"
            );
        }
    }
}
