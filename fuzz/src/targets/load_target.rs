//! Targets of loads, `s3://bucket@http://host:port,…` and `http://…`: what is accepted reads back from its text unless something of it is left out there, which then stays so.

use object::LoadTarget;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    match LoadTarget::parse(text) {
        Ok(target) => {
            // What may let somebody in is not told again, and without it a text is another target or none.
            match target.text().contains("(not recorded)") {
                true => assert_eq!(object::recorded_url(target.text()), target.text()),
                false => assert_eq!(
                    LoadTarget::parse(target.text()).ok().as_ref(),
                    Some(&target)
                ),
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
