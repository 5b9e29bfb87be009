//! Records of the object store: damaged ones are refused, and what is read is written as the same bytes.

pub fn run(bytes: &[u8]) {
    for again in s3::fuzzing::records(bytes) {
        // An object says twice what listings show, and flags have bits that nothing uses: what is written reads back as itself.
        assert!(s3::fuzzing::records(&again).contains(&again));
    }
}
