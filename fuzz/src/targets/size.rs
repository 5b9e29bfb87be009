//! Sizes: what is read is written exactly and read back.

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match units::Bytes::parse(text) {
        Ok(size) => {
            assert_eq!(units::Bytes::parse(&size.exact()), Ok(size));
            assert!(!size.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
