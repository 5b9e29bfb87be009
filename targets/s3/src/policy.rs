//! Bucket policies: who may do what besides the keys' own permissions.
//!
//! Conditions, `NotAction`, `NotPrincipal` and `NotResource` are refused when a policy is put: one that is kept is evaluated as a whole.

use crate::keyring::matches;
use serde::Deserialize;

/// Why a policy is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    #[error("This policy contains invalid Json: {0}")]
    Malformed(String),
    #[error("{0} is not supported in a bucket policy by this server")]
    Unsupported(&'static str),
    #[error("Policy has invalid resource: {0}")]
    ForeignResource(String),
}

/// What a policy says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Deny,
    Silent,
}

/// Who asks: an access key, or nobody known.
pub(crate) type Asker<'a> = Option<&'a str>;

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn list(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Principal {
    Text(String),
    Aws {
        #[serde(rename = "AWS")]
        aws: OneOrMany<String>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RawStatement {
    #[serde(rename = "Sid")]
    _sid: Option<String>,
    effect: Effect,
    principal: Option<Principal>,
    action: Option<OneOrMany<String>>,
    resource: Option<OneOrMany<String>>,
    condition: Option<serde_json::Value>,
    not_principal: Option<serde_json::Value>,
    not_action: Option<serde_json::Value>,
    not_resource: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RawPolicy {
    #[serde(rename = "Version")]
    _version: Option<String>,
    #[serde(rename = "Id")]
    _id: Option<String>,
    statement: OneOrMany<RawStatement>,
}

struct Statement {
    effect: Effect,
    principals: Vec<String>,
    actions: Vec<String>,
    resources: Vec<String>,
}

/// A policy that can be evaluated.
pub(crate) struct Policy {
    statements: Vec<Statement>,
}

const RESOURCE: &str = "arn:aws:s3:::";

impl Policy {
    /// Reads the policy of a bucket.
    pub(crate) fn parse(bucket: &str, text: &[u8]) -> Result<Self, PolicyError> {
        let raw: RawPolicy = serde_json::from_slice(text).map_err(|e| PolicyError::Malformed(e.to_string()))?;
        let statements = raw.statement.list().into_iter().map(|raw| Self::statement(bucket, raw));
        Ok(Self { statements: statements.collect::<Result<_, _>>()? })
    }

    fn statement(bucket: &str, raw: RawStatement) -> Result<Statement, PolicyError> {
        let refused = [
            ("Condition", raw.condition.is_some()),
            ("NotPrincipal", raw.not_principal.is_some()),
            ("NotAction", raw.not_action.is_some()),
            ("NotResource", raw.not_resource.is_some()),
        ];
        if let Some((what, _)) = refused.into_iter().find(|(_, there)| *there) {
            return Err(PolicyError::Unsupported(what));
        }
        let missing = |what: &str| PolicyError::Malformed(format!("a statement has no {what}"));
        let principals = match raw.principal.ok_or_else(|| missing("Principal"))? {
            Principal::Text(text) => vec![text],
            Principal::Aws { aws } => aws.list(),
        };
        let resources = raw.resource.ok_or_else(|| missing("Resource"))?.list();
        let within = |resource: &String| {
            let name = resource.strip_prefix(RESOURCE).map(|rest| rest.split('/').next().unwrap_or(rest));
            name.is_some_and(|pattern| matches(pattern, bucket))
        };
        if let Some(foreign) = resources.iter().find(|resource| !within(resource)) {
            return Err(PolicyError::ForeignResource(foreign.clone()));
        }
        let actions = raw.action.ok_or_else(|| missing("Action"))?.list();
        Ok(Statement { effect: raw.effect, principals, actions, resources })
    }

    /// Decides: a statement that denies goes before any that allows.
    pub(crate) fn decide(&self, asker: Asker<'_>, action: &str, bucket: &str, key: Option<&str>) -> Verdict {
        let resource = key.map_or_else(|| format!("{RESOURCE}{bucket}"), |key| format!("{RESOURCE}{bucket}/{key}"));
        let applies = |statement: &&Statement| {
            statement.principals.iter().any(|principal| names(principal, asker))
                && statement.actions.iter().any(|pattern| matches(&pattern.to_ascii_lowercase(), &action.to_ascii_lowercase()))
                && statement.resources.iter().any(|pattern| matches(pattern, &resource))
        };
        let mut verdict = Verdict::Silent;
        for statement in self.statements.iter().filter(applies) {
            match statement.effect {
                Effect::Deny => return Verdict::Deny,
                Effect::Allow => verdict = Verdict::Allow,
            }
        }
        verdict
    }

    /// Whether anybody at all is allowed something.
    pub(crate) fn is_public(&self) -> bool {
        self.statements
            .iter()
            .any(|statement| statement.effect == Effect::Allow && statement.principals.iter().any(|principal| principal == "*"))
    }
}

/// A principal is `*`, an access key, or an ARN that ends in `user/ACCESS-KEY`.
fn names(principal: &str, asker: Asker<'_>) -> bool {
    match asker {
        _ if principal == "*" => true,
        Some(key) => principal == key || principal.rsplit_once("user/").is_some_and(|(_, user)| user == key),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = r#"{"Version":"2012-10-17","Statement":[
        {"Sid":"r","Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":"arn:aws:s3:::b/pub/*"},
        {"Effect":"Deny","Principal":{"AWS":"*"},"Action":"s3:*","Resource":["arn:aws:s3:::b/pub/no*"]},
        {"Effect":"Allow","Principal":{"AWS":["arn:aws:iam::1:user/kim"]},"Action":"s3:Put*","Resource":"arn:aws:s3:::b/*"}]}"#;

    #[test]
    fn a_denial_goes_before_what_is_allowed() {
        let policy = Policy::parse("b", PUBLIC.as_bytes()).unwrap();
        assert_eq!(policy.decide(None, "s3:GetObject", "b", Some("pub/x")), Verdict::Allow);
        assert_eq!(policy.decide(None, "s3:GetObject", "b", Some("pub/no1")), Verdict::Deny);
        assert_eq!(policy.decide(None, "s3:GetObject", "b", Some("private")), Verdict::Silent);
        assert_eq!(policy.decide(None, "s3:PutObject", "b", Some("x")), Verdict::Silent);
        assert_eq!(policy.decide(Some("kim"), "s3:PutObject", "b", Some("x")), Verdict::Allow);
        assert_eq!(policy.decide(None, "s3:ListBucket", "b", None), Verdict::Silent);
        assert!(policy.is_public());
    }

    #[test]
    fn what_would_not_be_evaluated_is_not_taken() {
        let with = |extra: &str, resource: &str| {
            format!(r#"{{"Statement":{{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"{resource}"{extra}}}}}"#)
        };
        let error = |text: String| Policy::parse("b", text.as_bytes()).err().unwrap();
        assert_eq!(error(with(r#","Condition":{}"#, "arn:aws:s3:::b/*")), PolicyError::Unsupported("Condition"));
        assert!(matches!(error(with("", "arn:aws:s3:::other/*")), PolicyError::ForeignResource(_)));
        assert!(matches!(error("{".into()), PolicyError::Malformed(_)));
        assert!(matches!(error(with(r#","Surprise":1"#, "arn:aws:s3:::b/*")), PolicyError::Malformed(_)));
    }
}
