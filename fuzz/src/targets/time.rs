//! Times: what is read is written exactly and read back.

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match units::Nanos::parse(text) {
        Ok(time) => {
            assert_eq!(units::Nanos::parse(&time.exact()), Ok(time));
            assert!(!time.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
