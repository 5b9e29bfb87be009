//! Targets of loads, `s3://bucket@http://host:port,…` and `http://…`: what is accepted reads back from its text, and no key is shown.

use object::LoadTarget;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match LoadTarget::parse(text) {
        Ok(target) => {
            // Of a query the text names no value that may be a secret.
            if !text.contains('?') {
                assert_eq!(
                    LoadTarget::parse(target.text()).ok().as_ref(),
                    Some(&target)
                );
            }
            assert_eq!(target.is_s3(), target.kind() == "s3");
            assert!(
                !text.contains(['\r', '\n', ' ', '#']),
                "what would end a line of a request is no target"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
