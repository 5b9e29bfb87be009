//! Bucket policies: who may do what besides the keys' own permissions.
//!
//! `NotAction`, `NotPrincipal`, `NotResource` and conditions that could not be evaluated are
//! refused when a policy is put: one that is kept is evaluated as a whole.

mod actions;
mod condition;

#[cfg(test)]
pub(crate) use condition::nowhere;
pub(crate) use condition::{Circumstances, UNTAGGED};

use crate::keyring::{Keyring, is_access_key, matches};
use condition::Condition;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Why a policy is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    #[error("This policy contains invalid Json: {0}")]
    Malformed(String),
    #[error("{0} is not supported in a bucket policy by this server")]
    Unsupported(&'static str),
    #[error("Policy has invalid resource: {0}")]
    ForeignResource(String),
    #[error("Policy has invalid action: {0}")]
    NoAction(String),
    #[error("Invalid principal in policy: {0} names no key, and would be denied nothing")]
    NobodyDenied(String),
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

/// What is asked for: a bucket, and a key in it.
pub(crate) type Place<'a> = (&'a str, Option<&'a str>);

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

/// An object of JSON with all that it says, also what it says twice.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for All<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(All(PhantomData))
    }
}

/// What a condition compares with; JSON's own truth is as good as its name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Truth(bool),
    Number(serde_json::Number),
    Text(String),
}

impl Scalar {
    fn text(self) -> String {
        match self {
            Self::Truth(truth) => truth.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// By operator, then by key.
type RawConditions = Pairs<Pairs<OneOrMany<Scalar>>>;

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Principal {
    Text(String),
    Texts(Vec<String>),
    /// By what kind of principal they are.
    Kinds(Pairs<OneOrMany<String>>),
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
    condition: Option<RawConditions>,
    not_principal: Option<serde_json::Value>,
    not_action: Option<serde_json::Value>,
    not_resource: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RawPolicy {
    version: Option<String>,
    #[serde(rename = "Id")]
    _id: Option<String>,
    statement: OneOrMany<RawStatement>,
}

#[derive(Deserialize)]
struct RawVersion {
    #[serde(rename = "Version")]
    version: Option<String>,
}

struct Statement {
    effect: Effect,
    principals: Vec<String>,
    actions: Vec<String>,
    resources: Vec<String>,
    conditions: Vec<Condition>,
}

impl Statement {
    fn has_variable(&self) -> bool {
        let is_one = |text: &str| text.contains("${");
        self.resources.iter().any(|text| is_one(text))
            || self
                .conditions
                .iter()
                .any(|condition| condition.any_text(is_one))
    }
}

/// A policy that can be evaluated.
pub(crate) struct Policy {
    statements: Vec<Statement>,
}

/// The versions of the language of policies.
const VERSIONS: [&str; 2] = ["2008-10-17", WITH_VARIABLES];
/// The one in which `${…}` stands for something of the request; before it was a text.
const WITH_VARIABLES: &str = "2012-10-17";

const RESOURCE: &str = "arn:aws:s3:::";

impl Policy {
    /// Reads the policy of a bucket.
    pub(crate) fn parse(bucket: &str, text: &[u8]) -> Result<Self, PolicyError> {
        let raw: RawPolicy =
            serde_json::from_slice(text).map_err(|e| PolicyError::Malformed(e.to_string()))?;
        let variables = raw.version.as_deref() == Some(WITH_VARIABLES);
        let statements = raw
            .statement
            .list()
            .into_iter()
            .map(|raw| Self::statement(bucket, raw))
            .map(|statement| match statement {
                Ok(statement) if variables && statement.has_variable() => {
                    Err(PolicyError::Unsupported("A variable (`${…}`)"))
                }
                other => other,
            });
        Ok(Self {
            statements: statements.collect::<Result<_, _>>()?,
        })
    }

    /// Reads a policy that is to be kept. What names nobody and nothing is refused, and what denies
    /// something to a key that there is not; where such a one was kept before, it says nothing.
    pub(crate) fn parse_new(
        bucket: &str,
        text: &[u8],
        keyring: &Keyring,
    ) -> Result<Self, PolicyError> {
        let policy = Self::parse(bucket, text)?;
        let version: RawVersion =
            serde_json::from_slice(text).map_err(|e| PolicyError::Malformed(e.to_string()))?;
        let wrong = |what: &str| Err(PolicyError::Malformed(what.to_owned()));
        if version
            .version
            .as_deref()
            .is_some_and(|version| !VERSIONS.contains(&version))
        {
            return wrong("the Version is none that there is");
        }
        if policy.statements.is_empty() {
            return wrong("Statement is empty");
        }
        let nobody = |statement: &Statement| {
            statement.principals.is_empty() || statement.principals.iter().any(String::is_empty)
        };
        if policy.statements.iter().any(nobody) {
            return wrong("a statement has an empty Principal");
        }
        for statement in &policy.statements {
            if statement.actions.is_empty() || statement.resources.is_empty() {
                return wrong("a statement has no Action or no Resource");
            }
            let mut actions = statement.actions.iter();
            if let Some(action) = actions.find(|action| !actions::is_of_any(action)) {
                return Err(PolicyError::NoAction(action.clone()));
            }
            let nobody = |name: &&String| *name != "*" && keyring.secret_of(key_of(name)).is_none();
            if statement.effect == Effect::Deny
                && let Some(nobody) = statement.principals.iter().find(nobody)
            {
                return Err(PolicyError::NobodyDenied(nobody.clone()));
            }
        }
        Ok(policy)
    }

    fn statement(bucket: &str, raw: RawStatement) -> Result<Statement, PolicyError> {
        let refused = [
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
            Principal::Texts(texts) => texts,
            Principal::Kinds(Pairs(kinds)) => {
                if kinds.iter().any(|(kind, _)| kind != "AWS") {
                    return Err(PolicyError::Unsupported("A Principal other than AWS"));
                }
                kinds
                    .into_iter()
                    .flat_map(|(_, names)| names.list())
                    .collect()
            }
        };
        let nobody = |principal: &&String| !could_be_named(principal);
        if raw.effect == Effect::Deny
            && let Some(nobody) = principals.iter().find(nobody)
        {
            return Err(PolicyError::NobodyDenied(nobody.clone()));
        }
        let resources = raw.resource.ok_or_else(|| missing("Resource"))?.list();
        let within = |resource: &String| {
            let name = resource
                .strip_prefix(RESOURCE)
                .map(|rest| rest.split('/').next().unwrap_or(rest));
            name.is_some_and(|pattern| matches(pattern, bucket))
        };
        if let Some(foreign) = resources.iter().find(|resource| !within(resource)) {
            return Err(PolicyError::ForeignResource(foreign.clone()));
        }
        let actions = raw.action.ok_or_else(|| missing("Action"))?.list();
        let mut conditions = Vec::new();
        for (operator, keys) in raw
            .condition
            .map_or_else(Vec::new, |Pairs(operators)| operators)
        {
            for (key, values) in keys.0 {
                let values: Vec<String> = values.list().into_iter().map(Scalar::text).collect();
                conditions.push(Condition::parse(&operator, &key, &values)?);
            }
        }
        Ok(Statement {
            effect: raw.effect,
            principals,
            actions,
            resources,
            conditions,
        })
    }

    /// Decides: a statement that denies goes before any that allows.
    pub(crate) fn decide(
        &self,
        asker: Asker<'_>,
        action: &str,
        (bucket, key): Place<'_>,
        circumstances: &Circumstances<'_>,
    ) -> Verdict {
        let resource = key.map_or_else(
            || format!("{RESOURCE}{bucket}"),
            |key| format!("{RESOURCE}{bucket}/{key}"),
        );
        let applies = |statement: &&Statement| {
            statement
                .principals
                .iter()
                .any(|principal| names(principal, asker))
                && statement.actions.iter().any(|pattern| {
                    matches(&pattern.to_ascii_lowercase(), &action.to_ascii_lowercase())
                })
                && statement
                    .resources
                    .iter()
                    .any(|pattern| matches(pattern, &resource))
                && statement
                    .conditions
                    .iter()
                    .all(|condition| condition.holds(action, circumstances))
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

    /// Whether anybody at all, from anywhere, is allowed something.
    pub(crate) fn is_public(&self) -> bool {
        let open = |statement: &Statement| {
            statement.effect == Effect::Allow
                && statement
                    .principals
                    .iter()
                    .any(|principal| principal == "*")
                && !statement.conditions.iter().any(Condition::confines)
        };
        self.statements.iter().any(open)
    }
}

/// Whether some asker could have this name, as [`names`] tells it.
fn could_be_named(principal: &str) -> bool {
    principal == "*" || is_access_key(key_of(principal))
}

/// The key that a principal names if any.
fn key_of(principal: &str) -> &str {
    principal
        .rsplit_once("user/")
        .map_or(principal, |(_, key)| key)
}

/// A principal is `*`, an access key, or an ARN that ends in `user/ACCESS-KEY`.
fn names(principal: &str, asker: Asker<'_>) -> bool {
    match asker {
        _ if principal == "*" => true,
        Some(key) => principal == key || key_of(principal) == key,
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

    fn kim() -> Keyring {
        Keyring::single("kim", "kim-secret").unwrap()
    }

    #[test]
    fn a_policy_that_names_nobody_or_nothing_is_not_kept_and_says_nothing_where_it_was() {
        let statement = |principal: &str| {
            format!(
                r#"{{"Effect":"Allow","Principal":{principal},"Action":"s3:*","Resource":"arn:aws:s3:::b"}}"#
            )
        };
        let with = |version: &str, statements: &str| {
            format!(r#"{{"Version":"{version}","Statement":[{statements}]}}"#)
        };
        for text in [
            with("2012-10-17", ""),
            with("2012-10-16", &statement("\"*\"")),
            with("2012-10-17", &statement("\"\"")),
            with("2012-10-17", &statement(r#"{"AWS":[]}"#)),
        ] {
            assert!(
                Policy::parse_new("b", text.as_bytes(), &kim()).is_err(),
                "{text}"
            );
            assert!(Policy::parse("b", text.as_bytes()).is_ok(), "{text}");
        }
        assert!(
            Policy::parse_new(
                "b",
                with("2008-10-17", &statement("\"*\"")).as_bytes(),
                &kim()
            )
            .is_ok()
        );
    }

    #[test]
    fn a_denial_goes_before_what_is_allowed() {
        let policy = Policy::parse("b", PUBLIC.as_bytes()).unwrap();
        assert_eq!(
            policy.decide(None, "s3:GetObject", ("b", Some("pub/x")), &nowhere()),
            Verdict::Allow
        );
        assert_eq!(
            policy.decide(None, "s3:GetObject", ("b", Some("pub/no1")), &nowhere()),
            Verdict::Deny
        );
        assert_eq!(
            policy.decide(None, "s3:GetObject", ("b", Some("private")), &nowhere()),
            Verdict::Silent
        );
        assert_eq!(
            policy.decide(None, "s3:PutObject", ("b", Some("x")), &nowhere()),
            Verdict::Silent
        );
        assert_eq!(
            policy.decide(Some("kim"), "s3:PutObject", ("b", Some("x")), &nowhere()),
            Verdict::Allow
        );
        assert_eq!(
            policy.decide(None, "s3:ListBucket", ("b", None), &nowhere()),
            Verdict::Silent
        );
        assert!(policy.is_public());
    }

    #[test]
    fn what_would_not_be_evaluated_is_not_taken() {
        let with = |extra: &str, resource: &str| {
            format!(
                r#"{{"Statement":{{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"{resource}"{extra}}}}}"#
            )
        };
        let error = |text: String| Policy::parse("b", text.as_bytes()).err().unwrap();
        assert_eq!(
            error(with(r#","NotAction":{}"#, "arn:aws:s3:::b/*")),
            PolicyError::Unsupported("NotAction")
        );
        for condition in [
            r#"{"Bool":{"aws:MultiFactorAuthPresent":true}}"#,
            r#"{"DateLessThan":{"aws:CurrentTime":"x"}}"#,
            "[]",
            r#"{"Bool":1}"#,
        ] {
            let extra = format!(r#","Condition":{condition}"#);
            assert!(
                matches!(
                    error(with(&extra, "arn:aws:s3:::b/*")),
                    PolicyError::Malformed(_)
                ),
                "{condition}"
            );
        }
        assert!(matches!(
            error(with("", "arn:aws:s3:::other/*")),
            PolicyError::ForeignResource(_)
        ));
        assert!(matches!(error("{".into()), PolicyError::Malformed(_)));
        assert!(matches!(
            error(with(r#","Surprise":1"#, "arn:aws:s3:::b/*")),
            PolicyError::Malformed(_)
        ));
    }

    #[test]
    fn a_denial_that_would_keep_nobody_out_of_nothing_is_not_taken() {
        let parse = |effect: &str, principal: &str, version: &str, rest: &str| {
            let text = format!(
                r#"{{{version}"Statement":{{"Effect":"{effect}","Principal":{principal},"Action":"s3:GetObject"{rest}}}}}"#
            );
            Policy::parse("b", text.as_bytes()).map(drop)
        };
        let all = r#","Resource":"arn:aws:s3:::b/*""#;
        for (principal, taken) in [
            (r#""*""#, true),
            (r#""kim""#, true),
            (r#"{"AWS":["kim","arn:aws:iam::1:user/lee"]}"#, true),
            (r#"{"AWS":"arn:aws:iam::1:root"}"#, false),
            (r#"{"AWS":"arn:aws:iam::1:role/kim"}"#, false),
            (r#"{"AWS":"arn:aws:iam::*:user/*"}"#, false),
            (r#"{"AWS":["kim","ki*"]}"#, false),
            (r#"{"AWS":"kim","CanonicalUser":"c"}"#, false),
        ] {
            assert_eq!(
                parse("Deny", principal, "", all).is_ok(),
                taken,
                "{principal}"
            );
        }
        // Whom an ARN allows something that names no key is nobody.
        assert!(parse("Allow", r#"{"AWS":"arn:aws:iam::1:root"}"#, "", all).is_ok());
        let new = r#""Version":"2012-10-17","#;
        for (version, rest, taken) in [
            (
                new,
                r#","Resource":"arn:aws:s3:::b/${aws:username}/*""#,
                false,
            ),
            (
                new,
                r#","Resource":"arn:aws:s3:::b/*","Condition":{"StringLike":{"aws:Referer":"${aws:userid}"}}"#,
                false,
            ),
            (
                "",
                r#","Resource":"arn:aws:s3:::b/${aws:username}/*""#,
                true,
            ),
            (new, r#","Resource":"arn:aws:s3:::b/$x/*""#, true),
        ] {
            assert_eq!(
                parse("Deny", r#""*""#, version, rest).is_ok(),
                taken,
                "{rest}"
            );
        }
    }

    #[test]
    fn a_new_policy_names_actions_and_keys_that_there_are() {
        let parse = |effect: &str, principal: &str, action: &str, resource: &str| {
            let text = format!(
                r#"{{"Statement":{{"Effect":"{effect}","Principal":{{"AWS":"{principal}"}},"Action":{action},"Resource":{resource}}}}}"#
            );
            Policy::parse_new("b", text.as_bytes(), &kim()).map(drop)
        };
        let all = r#""arn:aws:s3:::b/*""#;
        for action in [
            r#""s3:getobject""#,
            r#""*""#,
            r#""s3:Get*Version""#,
            r#""s3:ReplicateObject""#,
        ] {
            assert_eq!(parse("Deny", "*", action, all), Ok(()), "{action}");
        }
        for action in [
            r#""s3:GetObjects""#,
            r#"["s3:*","GetObject"]"#,
            r#""ec2:*""#,
        ] {
            assert!(
                matches!(
                    parse("Deny", "*", action, all),
                    Err(PolicyError::NoAction(_))
                ),
                "{action}"
            );
        }
        assert!(
            parse("Deny", "*", "[]", all).is_err() && parse("Deny", "*", r#""*""#, "[]").is_err()
        );
        assert_eq!(
            parse("Deny", "arn:aws:iam::1:user/kim", r#""*""#, all),
            Ok(())
        );
        assert_eq!(
            parse("Deny", "lee", r#""*""#, all),
            Err(PolicyError::NobodyDenied("lee".to_owned()))
        );
        assert_eq!(parse("Allow", "lee", r#""*""#, all), Ok(()));
    }

    #[test]
    fn all_conditions_must_hold_and_one_that_is_said_twice_counts_twice() {
        let policy = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket","Resource":"arn:aws:s3:::b",
            "Condition":{"StringLike":{"s3:prefix":["a*","b*"]},"StringLike":{"s3:prefix":"*z"},"Bool":{"aws:SecureTransport":false}}}}"#;
        let policy = Policy::parse("b", policy.as_bytes()).unwrap();
        let verdict = |query: &str, tls: bool| {
            let peer = Some(house::Peer {
                address: std::net::Ipv4Addr::LOCALHOST.into(),
                tls,
            });
            policy.decide(
                None,
                "s3:ListBucket",
                ("b", None),
                &Circumstances {
                    peer,
                    query: Some(query),
                    ..nowhere()
                },
            )
        };
        assert_eq!(verdict("prefix=az", false), Verdict::Allow);
        for (query, tls) in [
            ("prefix=az", true),
            ("prefix=a", false),
            ("prefix=cz", false),
            ("", false),
        ] {
            assert_eq!(verdict(query, tls), Verdict::Silent, "{query} {tls}");
        }
    }

    #[test]
    fn what_is_confined_to_addresses_is_not_public() {
        let public = |network: &str| {
            let text = format!(
                r#"{{"Statement":{{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::b","Condition":{{"IpAddress":{{"aws:SourceIp":"{network}"}}}}}}}}"#
            );
            Policy::parse("b", text.as_bytes()).unwrap().is_public()
        };
        assert!(!public("10.0.0.0/32") && public("0.0.0.0/0"));
    }
}
