//! The policy of a form: until when it holds, and what each field must be. Pure: time is an
//! argument.

use super::parser::FormError;
use s3s::dto::{Timestamp, TimestampFormat};
use s3s::{S3Error, S3Result, s3_error};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// Fields that need no condition, besides those that begin with `x-ignore-`.
const EXEMPT: [&str; 3] = ["policy", "x-amz-signature", "file"];

/// What the address of a form gives, and no field of it.
const BUCKET: &str = "bucket";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equals,
    StartsWith,
}

#[derive(Debug)]
struct Condition {
    operator: Operator,
    /// Lower case, without the `$`; `None` where it has none, and so names no field.
    field: Option<String>,
    value: String,
    /// As the policy has it, for who is told that it failed.
    said: String,
}

/// What a form must be.
#[derive(Debug)]
pub(crate) struct FormPolicy {
    expires_ms: u64,
    conditions: Vec<Condition>,
    /// How many bytes the file has.
    sizes: RangeInclusive<u64>,
}

fn invalid(what: &str) -> S3Error {
    s3_error!(InvalidPolicyDocument, "Invalid Policy: {what}")
}

fn refused(what: &str) -> S3Error {
    s3_error!(AccessDenied, "Invalid according to Policy: {what}")
}

/// That a policy, or the date of a form's signature, is of the past.
pub(crate) fn expired() -> S3Error {
    refused("Policy expired.")
}

impl FormPolicy {
    /// Reads the base64 of a policy. Errors: `InvalidPolicyDocument`.
    pub(crate) fn parse(encoded: &str) -> S3Result<Self> {
        let text = base64_simd::STANDARD
            .decode_to_vec(encoded)
            .or(Err(invalid("could not decode the base64")))?;
        let document: Map<String, Value> =
            serde_json::from_slice(&text).or(Err(invalid("Invalid JSON.")))?;
        if let Some(name) = document
            .keys()
            .find(|name| !matches!(name.as_str(), "expiration" | "conditions"))
        {
            return Err(invalid(&format!("Unexpected: '{name}'")));
        }
        let expiration = document
            .get("expiration")
            .ok_or_else(|| invalid("Policy is missing expiration."))?;
        let expiration = expiration
            .as_str()
            .ok_or_else(|| invalid("Invalid JSON."))?;
        let wrong = || invalid(&format!("Invalid 'expiration' value: '{expiration}'"));
        let at = Timestamp::parse(TimestampFormat::DateTime, expiration).or(Err(wrong()))?;
        let mut policy = Self {
            expires_ms: crate::protocol::milliseconds(&at),
            conditions: Vec::new(),
            sizes: 0..=u64::MAX,
        };
        let conditions = document
            .get("conditions")
            .ok_or_else(|| invalid("Policy is missing conditions."))?;
        for condition in conditions
            .as_array()
            .ok_or_else(|| invalid("Invalid 'conditions' value: must be a List."))?
        {
            policy.add(condition)?;
        }
        Ok(policy)
    }

    fn add(&mut self, condition: &Value) -> S3Result<()> {
        match condition {
            Value::Object(simple) => self.add_simple(simple),
            Value::Array(list) => self.add_list(list, condition),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(invalid("Invalid condition: must be a List or an Object"))
            }
        }
    }

    fn add_simple(&mut self, simple: &Map<String, Value>) -> S3Result<()> {
        let mut pairs = simple.iter();
        let (Some((field, value)), None) = (pairs.next(), pairs.next()) else {
            return Err(invalid(
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.",
            ));
        };
        let value = value
            .as_str()
            .ok_or_else(|| invalid("Invalid Simple-Condition: value must be a string."))?;
        let said = format!("[\"eq\", \"${field}\", \"{value}\"]");
        let field = Some(field.to_ascii_lowercase());
        self.conditions.push(Condition {
            operator: Operator::Equals,
            field,
            value: value.to_owned(),
            said,
        });
        Ok(())
    }

    fn add_list(&mut self, list: &[Value], whole: &Value) -> S3Result<()> {
        let operator = list
            .first()
            .ok_or_else(|| invalid("Invalid Condition: missing operation identifier."))?;
        let name = operator.as_str().ok_or_else(|| invalid("Invalid JSON."))?;
        let [_, first, second] = list else {
            return Err(invalid(&format!(
                "Invalid Condition: wrong number of arguments for '{name}'."
            )));
        };
        let operator = match name.to_ascii_lowercase().as_str() {
            "eq" => Operator::Equals,
            "starts-with" => Operator::StartsWith,
            "content-length-range" => {
                let bound = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
                let (Some(least), Some(most)) = (bound(first), bound(second)) else {
                    return Err(invalid("Invalid JSON."));
                };
                self.sizes = least.max(*self.sizes.start())..=most.min(*self.sizes.end());
                return Ok(());
            }
            _ => {
                return Err(invalid(&format!(
                    "Invalid Condition: unknown operation '{name}'."
                )));
            }
        };
        let (Some(field), Some(value)) = (first.as_str(), second.as_str()) else {
            return Err(invalid("Invalid JSON."));
        };
        let field = field.strip_prefix('$').map(str::to_ascii_lowercase);
        self.conditions.push(Condition {
            operator,
            field,
            value: value.to_owned(),
            said: whole.to_string(),
        });
        Ok(())
    }

    /// Whether these fields are what the policy demands. The bucket is the one of the address, and
    /// a policy holds for those that it has a condition for. Errors: `AccessDenied`.
    pub(crate) fn check(
        &self,
        bucket: &str,
        fields: &[(String, String)],
        now_ms: u64,
    ) -> S3Result<()> {
        if now_ms >= self.expires_ms {
            return Err(expired());
        }
        let field = |name: &str| {
            let mut fields = fields.iter();
            fields.find_map(|(field, value)| (field == name).then_some(value.as_str()))
        };
        if field(BUCKET).is_some_and(|named| named != bucket) {
            return Err(refused("the field bucket is not the bucket of the address"));
        }
        for condition in &self.conditions {
            let given = |name: &str| match name {
                BUCKET => bucket,
                name => field(name).unwrap_or_default(),
            };
            let value = condition.field.as_deref().map(given);
            if !value.is_some_and(|value| condition.holds(value)) {
                return Err(refused(&format!(
                    "Policy Condition failed: {}",
                    condition.said
                )));
            }
        }
        let covered = |name: &str| {
            self.conditions
                .iter()
                .any(|condition| condition.field.as_deref() == Some(name))
        };
        let free = |name: &str| EXEMPT.contains(&name) || name.starts_with("x-ignore-");
        let mut names = fields.iter().map(|(name, _)| name.as_str()).chain([BUCKET]);
        match names.find(|name| !free(name) && !covered(name)) {
            Some(name) => Err(refused(&format!("Extra input fields: {name}"))),
            None => Ok(()),
        }
    }

    /// How many bytes the file may have.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes(self.sizes.clone())
    }
}

impl Condition {
    fn holds(&self, value: &str) -> bool {
        match self.operator {
            Operator::Equals => value == self.value,
            // A content type may be a list, each of which begins so.
            Operator::StartsWith if self.field.as_deref() == Some("content-type") => value
                .split(',')
                .all(|one| one.trim_start().starts_with(&self.value)),
            Operator::StartsWith => value.starts_with(&self.value),
        }
    }
}

/// How many bytes a file may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sizes(RangeInclusive<u64>);

impl Sizes {
    /// Any up to the most that AWS takes at once.
    pub(crate) fn any(most: u64) -> Self {
        Self(0..=most)
    }

    pub(crate) fn at_most(self, most: u64) -> Self {
        Self(*self.0.start()..=most.min(*self.0.end()))
    }

    /// Refuses what is too long already. Errors: `TooLong`.
    pub(crate) fn check_so_far(&self, size: u64) -> Result<(), FormError> {
        if size > *self.0.end() {
            Err(FormError::TooLong {
                most: *self.0.end(),
            })
        } else {
            Ok(())
        }
    }

    /// Errors: `TooShort`.
    pub(crate) fn check_whole(&self, size: u64) -> Result<(), FormError> {
        let least = *self.0.start();
        if size < least {
            Err(FormError::TooShort { size, least })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(conditions: &str) -> S3Result<FormPolicy> {
        let text =
            format!(r#"{{"expiration":"2030-01-01T00:00:00.000Z","conditions":[{conditions}]}}"#);
        FormPolicy::parse(&base64_simd::STANDARD.encode_to_string(text))
    }

    fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn code<T>(outcome: S3Result<T>) -> Option<String> {
        outcome.err().map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn every_condition_holds_and_every_field_has_one() {
        let policy = policy(
            r#"{"bucket":"b"},["starts-with","$Key","a/"],["eq","$content-type","text/plain"],["content-length-range",1,"5"]"#,
        );
        let policy = policy.unwrap();
        let check = |pairs: &[(&str, &str)]| code(policy.check("b", &fields(pairs), 0));
        let (key, kind) = (("key", "a/k"), ("content-type", "text/plain"));
        assert_eq!(
            check(&[
                key,
                kind,
                ("policy", "p"),
                ("x-ignore-me", "x"),
                ("x-amz-signature", "s")
            ]),
            None
        );
        let denied = Some("AccessDenied".to_owned());
        assert_eq!(check(&[("key", "b/k"), kind]), denied);
        assert_eq!(check(&[key]), denied);
        assert_eq!(check(&[key, kind, ("x-amz-meta-a", "b")]), denied);
        assert_eq!(check(&[key, kind, ("bucket", "other")]), denied);
        assert_eq!(
            code(policy.check("other", &fields(&[key, kind]), 0)),
            denied
        );
        assert_eq!(
            code(policy.check("b", &fields(&[key, kind]), 1_893_456_000_000)),
            denied
        );
        let sizes = policy.sizes().at_most(100);
        assert!(
            sizes.check_so_far(5).is_ok()
                && sizes.check_so_far(6) == Err(FormError::TooLong { most: 5 })
        );
        assert!(
            sizes.check_whole(1).is_ok()
                && sizes.check_whole(0) == Err(FormError::TooShort { size: 0, least: 1 })
        );
    }

    #[test]
    fn the_bucket_is_the_one_of_the_address_whatever_the_form_says() {
        let of_b = policy(r#"{"bucket":"b"},{"key":"k"}"#).unwrap();
        let key = ("key", "k");
        let denied = Some("AccessDenied".to_owned());
        for (address, given, outcome) in [
            ("b", &[key][..], None),
            ("b", &[key, ("bucket", "b")], None),
            ("other", &[key], denied.clone()),
            ("other", &[key, ("bucket", "b")], denied.clone()),
            ("b", &[key, ("bucket", "other")], denied.clone()),
        ] {
            assert_eq!(
                code(of_b.check(address, &fields(given), 0)),
                outcome,
                "{address} {given:?}"
            );
        }
        let of_any = policy(r#"{"key":"k"}"#).unwrap();
        assert_eq!(code(of_any.check("b", &fields(&[key]), 0)), denied);
    }

    #[test]
    fn a_content_type_is_a_list_of_which_each_begins_so() {
        let policy = policy(r#"{"bucket":"b"},["starts-with","$Content-Type","text/"]"#).unwrap();
        let check = |value| code(policy.check("b", &fields(&[("content-type", value)]), 0));
        assert_eq!(
            (check("text/a, text/b"), check("text/a, image/b")),
            (None, Some("AccessDenied".to_owned()))
        );
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for conditions in [
            "true",
            "[]",
            r#"["eq","$key"]"#,
            r#"["eq","$key","a","b"]"#,
            r#"["other","$key","a"]"#,
            r#"["eq",1,"a"]"#,
            r#"{"a":"b","c":"d"}"#,
            r#"{"a":true}"#,
            "{}",
            r#"["content-length-range","x",1]"#,
            r#"["content-length-range",-1,1]"#,
        ] {
            assert_eq!(
                code(policy(conditions)),
                Some("InvalidPolicyDocument".to_owned()),
                "{conditions}"
            );
        }
        for text in [
            "",
            "[]",
            "{}",
            r#"{"conditions":[]}"#,
            r#"{"expiration":"soon","conditions":[]}"#,
            r#"{"expiration":"2030-01-01T00:00:00Z"}"#,
        ] {
            assert_eq!(
                code(FormPolicy::parse(
                    &base64_simd::STANDARD.encode_to_string(text)
                )),
                Some("InvalidPolicyDocument".to_owned())
            );
        }
        assert_eq!(
            code(FormPolicy::parse("not base64!")),
            Some("InvalidPolicyDocument".to_owned())
        );
        // Without its `$` it names no field, and holds for none.
        let nameless = policy(r#"["eq","key","k"]"#).unwrap();
        assert_eq!(
            code(nameless.check("b", &fields(&[("key", "k")]), 0)),
            Some("AccessDenied".to_owned())
        );
    }
}
