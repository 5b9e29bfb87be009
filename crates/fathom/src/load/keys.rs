//! What lets a load in, from the environment alone, so that no command line shows it.

use object::{Credentials, LoadError, ShareSecret};

/// The secret of a file share, if there is one.
pub(super) fn secret() -> Option<ShareSecret> {
    let secret = std::env::var("PS_SHARED_SECRET").ok();
    secret.filter(|text| !text.is_empty()).map(ShareSecret::new)
}

/// Keys from the environment; none where neither is set.
pub(super) fn credentials() -> Result<Option<Credentials>, LoadError> {
    let read = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (read("AWS_ACCESS_KEY_ID"), read("AWS_SECRET_ACCESS_KEY")) {
        (None, None) => Ok(None),
        (Some(access_key), Some(secret_key)) => {
            let printable = |text: &str| text.bytes().all(|byte| (33..127).contains(&byte));
            let session_token = read("AWS_SESSION_TOKEN");
            let region = read("AWS_REGION")
                .or_else(|| read("AWS_DEFAULT_REGION"))
                .unwrap_or_else(|| "us-east-1".into());
            let all = [
                Some(access_key.as_str()),
                session_token.as_deref(),
                Some(region.as_str()),
            ];
            if !all.into_iter().flatten().all(printable) {
                return Err(LoadError::Asked(
                    "AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN or AWS_REGION holds blanks or control characters".into(),
                ));
            }
            Ok(Some(Credentials {
                access_key,
                secret_key,
                session_token,
                region,
            }))
        }
        (Some(_), None) => Err(LoadError::Asked(
            "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; set both".into(),
        )),
        (None, Some(_)) => Err(LoadError::Asked(
            "AWS_SECRET_ACCESS_KEY is set and AWS_ACCESS_KEY_ID is not; set both".into(),
        )),
    }
}
