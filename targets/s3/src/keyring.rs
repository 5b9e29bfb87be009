//! Who may ask: access keys, their secrets, and what each may do in which buckets.

use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Result, s3_error};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// What a key may do in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    Read,
    Write,
    List,
}

impl Permission {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
        }
    }
}

/// Why keys could not be read. Secrets are never part of it.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("the keys are not what was expected: {0}")]
    Malformed(String),
    #[error("no key is given; write one [[key]] with `access` and `secret` for each")]
    Empty,
    #[error("access key `{0}` is given twice")]
    Twice(String),
    #[error("access key `{0}` may do nothing; give it `admin = true` or a [key.buckets] table")]
    Powerless(String),
    #[error(
        "access keys have 1 to 128 letters, digits, `-`, `_` or `.`, and secrets 8 to 128 characters; `{0}` has not"
    )]
    Unusable(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    key: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    access: String,
    secret: String,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    buckets: BTreeMap<String, Vec<Permission>>,
}

struct Key {
    secret: SecretKey,
    admin: bool,
    /// Patterns of bucket names, in which `*` stands for any text.
    buckets: Vec<(String, Vec<Permission>)>,
}

/// The keys that a server knows. Its `Debug` shows no secret.
pub struct Keyring {
    keys: HashMap<String, Key>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl Keyring {
    /// One key that may do everything.
    pub fn single(access: &str, secret: &str) -> Result<Self, KeyringError> {
        Self::of(vec![Entry {
            access: access.to_owned(),
            secret: secret.to_owned(),
            admin: true,
            buckets: BTreeMap::new(),
        }])
    }

    /// Keys as TOML: one `[[key]]` each with `access`, `secret`, and `admin = true` or
    /// `[key.buckets]`, in which a pattern of bucket names has a list of `read`, `write` and
    /// `list`.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        // The parser quotes the line at fault, and values of the wrong kind, either of which may
        // hold a secret: its place and reason are kept.
        let described = |e: toml::de::Error| {
            let line = e.span().map_or(0, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            });
            KeyringError::Malformed(format!("line {line}: {}", unquoted(e.message())))
        };
        let file: File = toml::from_str(text).map_err(described)?;
        Self::of(file.key)
    }

    /// Each key's name and what it may do, in the order of their names; never a secret.
    pub fn described(&self) -> Vec<String> {
        let granted = |(pattern, permissions): &(String, Vec<Permission>)| {
            let words: Vec<&str> = permissions
                .iter()
                .map(|permission| permission.name())
                .collect();
            format!("{} in {pattern}", words.join("/"))
        };
        let mut keys: Vec<String> = self
            .keys
            .iter()
            .map(|(access, key)| match key.admin {
                true => format!("{access} (everything)"),
                false => format!(
                    "{access} ({})",
                    key.buckets
                        .iter()
                        .map(granted)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            })
            .collect();
        keys.sort();
        keys
    }

    /// No key, with which nobody may do anything.
    pub(crate) fn none() -> Self {
        Self {
            keys: HashMap::new(),
        }
    }

    fn of(entries: Vec<Entry>) -> Result<Self, KeyringError> {
        if entries.is_empty() {
            return Err(KeyringError::Empty);
        }
        let mut keys = HashMap::new();
        for Entry {
            access,
            secret,
            admin,
            buckets,
        } in entries
        {
            if !is_access_key(&access) || !(8..=128).contains(&secret.len()) {
                return Err(KeyringError::Unusable(access));
            }
            if !admin && buckets.values().all(Vec::is_empty) {
                return Err(KeyringError::Powerless(access));
            }
            let key = Key {
                secret: SecretKey::from(secret),
                admin,
                buckets: buckets.into_iter().collect(),
            };
            if keys.insert(access.clone(), key).is_some() {
                return Err(KeyringError::Twice(access));
            }
        }
        Ok(Self { keys })
    }

    /// Whether a key may do everything.
    pub(crate) fn is_admin(&self, access: &str) -> bool {
        self.keys.get(access).is_some_and(|key| key.admin)
    }

    /// The secret of a key that this server knows.
    pub(crate) fn secret_of(&self, access: &str) -> Option<&SecretKey> {
        self.keys.get(access).map(|key| &key.secret)
    }

    /// Whether the keys' own table lets one do this in a bucket.
    pub(crate) fn permits(&self, access: &str, bucket: &str, permission: Permission) -> bool {
        let Some(key) = self.keys.get(access) else {
            return false;
        };
        key.admin
            || key
                .buckets
                .iter()
                .any(|(pattern, granted)| matches(pattern, bucket) && granted.contains(&permission))
    }

    /// Whether a key may do anything in a bucket, and so may know of it.
    pub(crate) fn knows(&self, access: &str, bucket: &str) -> bool {
        [Permission::Read, Permission::Write, Permission::List]
            .into_iter()
            .any(|permission| self.permits(access, bucket, permission))
    }

    /// Whether this is the secret of a key that may do everything.
    pub(crate) fn is_admin_secret(&self, secret: &str) -> bool {
        let mut found = false;
        for key in self.keys.values().filter(|key| key.admin) {
            found |= same(key.secret.expose().as_bytes(), secret.as_bytes());
        }
        found
    }
}

/// Whether a key may have this name.
pub(crate) fn is_access_key(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=128).contains(&name.len()) && name.chars().all(plain)
}

/// A message without what stands between its first and its last quote.
fn unquoted(message: &str) -> String {
    match (message.split_once('"'), message.rsplit_once('"')) {
        (Some((before, _)), Some((_, after))) => format!("{before}\"…\"{after}"),
        (None, _) | (_, None) => message.to_owned(),
    }
}

/// Compares in a time that tells the length alone.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}

/// Whether `text` is `pattern`, in which `*` stands for any text and `?` for any byte.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match (pattern.get(p), star) {
            (Some(b'*'), _) => {
                star = Some((p, t));
                p += 1;
            }
            (Some(b'?'), _) => (p, t) = (p + 1, t + 1),
            (Some(byte), _) if *byte == text[t] => (p, t) = (p + 1, t + 1),
            (_, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, t) = (at + 1, from + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Keys as the protocol library asks for them.
pub(crate) struct Secrets(pub(crate) std::sync::Arc<Keyring>);

#[async_trait::async_trait]
impl S3Auth for Secrets {
    async fn get_secret_key(&self, access: &str) -> S3Result<SecretKey> {
        match self.0.keys.get(access) {
            Some(key) => Ok(key.secret.clone()),
            None => Err(s3_error!(
                InvalidAccessKeyId,
                "The AWS Access Key Id you provided does not exist in our records."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = r#"
[[key]]
access = "root"
secret = "root-secret-key"
admin = true

[[key]]
access = "reader"
secret = "reader-secret-key"
[key.buckets]
"logs-*" = ["read", "list"]
"#;

    #[test]
    fn a_key_may_do_what_its_patterns_say_and_an_admin_everything() {
        let keys = Keyring::parse(KEYS).unwrap();
        assert!(keys.permits("root", "any", Permission::Write) && keys.is_admin("root"));
        assert!(keys.permits("reader", "logs-1", Permission::Read) && !keys.is_admin("reader"));
        assert!(!keys.permits("reader", "logs-1", Permission::Write));
        assert!(
            !keys.permits("reader", "other", Permission::Read)
                && !keys.permits("nobody", "logs-1", Permission::Read)
        );
        assert_eq!(
            keys.described(),
            ["reader (read/list in logs-*)", "root (everything)"]
        );
        assert!(
            keys.is_admin_secret("root-secret-key") && !keys.is_admin_secret("reader-secret-key")
        );
    }

    #[test]
    fn what_is_wrong_with_keys_is_named_and_no_secret_is_shown() {
        let shown = |text: &str| Keyring::parse(text).unwrap_err().to_string();
        assert!(shown("").contains("no key"));
        assert!(
            shown("[[key]]\naccess = \"a\"\nsecret = \"very-secret\"")
                .contains("`a` may do nothing")
        );
        let typo = shown("[[key]]\naccess = \"a\"\nsecret = \"very-secret\" 1");
        assert!(
            typo.contains("line 3") && !typo.contains("very-secret"),
            "{typo}"
        );
        let misplaced =
            shown("[[key]]\naccess = \"a\"\nsecret = \"x\"\n[key.buckets]\nb = \"very-secret\"");
        assert!(
            misplaced.contains("line 5: invalid type") && !misplaced.contains("very-secret"),
            "{misplaced}"
        );
        assert!(
            shown("[[key]]\naccess = \"a\"\nsecret = \"short\"\nadmin = true").contains("8 to 128")
        );
        let twice = format!(
            "{KEYS}\n[[key]]\naccess = \"root\"\nsecret = \"another-secret\"\nadmin = true"
        );
        assert!(shown(&twice).contains("`root` is given twice"));
        assert!(!format!("{:?}", Keyring::parse(KEYS).unwrap()).contains("secret-key"));
    }

    #[test]
    fn stars_stand_for_any_text_without_blowing_up() {
        for (pattern, text, holds) in [
            ("*", "", true),
            ("a*c", "abbbc", true),
            ("a*c", "abbb", false),
            ("a?c", "abc", true),
            ("**a*", "xxa", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), holds, "{pattern} {text}");
        }
        assert!(!matches(&"a*".repeat(200), &"a".repeat(150)));
    }
}
