//! Bucket policies: what is taken decides, and who is not known gets no more from a policy that says it is not public than addresses allow.
//!
//! The first line is the query of the request that is decided on.

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let (query, policy) = text.split_once('\n').unwrap_or(("", text));
    let Some([nobody, _, public]) = s3::fuzzing::policy(policy.as_bytes(), query) else {
        return;
    };
    assert!(
        !nobody || public || policy.contains("IpAddress") || policy.contains("\\u"),
        "{policy}"
    );
    // The same again, in other words of JSON.
    let plain: serde_json::Value = serde_json::from_str(policy).expect("a policy is JSON");
    assert!(plain.is_object());
}
