//! NBD addresses: what is read is written as a URI that reads back.

use engine::NbdUrl;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match NbdUrl::parse(text) {
        Ok(url) => assert_eq!(
            NbdUrl::parse(&url.to_string()).expect("it reads its own form"),
            url
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
