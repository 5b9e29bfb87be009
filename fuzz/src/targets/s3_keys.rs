//! Files of keys: read or refused, and what is said about them holds no secret.

/// The seeds have it as a secret; where it is moved to, nothing may show it.
const SECRET: &str = "S3CR3T-VALUE";

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let said = match s3::Keyring::parse(text) {
        Ok(keys) => format!("{keys:?}"),
        Err(error) => error.to_string(),
    };
    // As the name of a key or of a field it is no secret.
    let is_value = text
        .lines()
        .filter(|line| line.contains(SECRET))
        .all(|line| line.trim_start().starts_with("secret = "));
    assert!(!is_value || !said.contains(SECRET), "{said}");
}
