//! Sizes: what is read is written exactly and read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(text) = fathom_fuzz::text(bytes) else {
        return;
    };
    match units::Bytes::parse(text) {
        Ok(size) => {
            assert_eq!(units::Bytes::parse(&size.exact()), Ok(size));
            assert!(!size.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
