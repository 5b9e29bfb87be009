//! Cross-origin requests: which pages may talk to a bucket.

use crate::documents;
use crate::keyring::matches;
use crate::protocol::custom;
use crate::storage::{BucketDocument, ObjectStore};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use s3s::dto::{CORSConfiguration, CORSRule};
use s3s::{S3Error, S3Result, s3_error};

const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "HEAD"];
const MOST_RULES: usize = 100;

/// Refuses rules that could never hold or hold too much. Errors: `MalformedXML`, `InvalidRequest`.
pub(crate) fn check(configuration: &CORSConfiguration) -> S3Result<()> {
    let rules = &configuration.cors_rules;
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(s3_error!(
            MalformedXML,
            "A CORS configuration has 1 to 100 rules"
        ));
    }
    for rule in rules {
        if rule.allowed_methods.is_empty() || rule.allowed_origins.is_empty() {
            return Err(s3_error!(
                MalformedXML,
                "A CORS rule has methods and origins"
            ));
        }
        if let Some(method) = rule
            .allowed_methods
            .iter()
            .find(|method| !METHODS.contains(&method.as_str()))
        {
            return Err(s3_error!(
                InvalidRequest,
                "Found unsupported HTTP method in CORS config. Unsupported method is {method}"
            ));
        }
        if let Some(origin) = rule
            .allowed_origins
            .iter()
            .find(|origin| origin.matches('*').count() > 1)
        {
            return Err(s3_error!(
                InvalidRequest,
                "AllowedOrigin \"{origin}\" can not have more than one wildcard."
            ));
        }
    }
    Ok(())
}

/// What a page asks before it sends.
pub(crate) struct Preflight<'a> {
    pub(crate) origin: &'a str,
    pub(crate) method: &'a str,
    /// Names of headers, separated by commas.
    pub(crate) headers: &'a str,
}

fn bad_request(message: &'static str) -> S3Error {
    custom("BadRequest", StatusCode::BAD_REQUEST, message)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl<'a> Preflight<'a> {
    /// The question in the headers of an `OPTIONS` request. Errors: `BadRequest` where it is none.
    pub(crate) fn asked(headers: &'a HeaderMap) -> S3Result<Self> {
        let no_origin = || bad_request("Insufficient information. Origin request header needed.");
        let no_method = || bad_request("Invalid Access-Control-Request-Method");
        let named = text(headers, header::ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default();
        if named
            .split(',')
            .any(|name| !name.trim().is_empty() && HeaderName::try_from(name.trim()).is_err())
        {
            return Err(bad_request("Invalid Access-Control-Request-Headers"));
        }
        Ok(Self {
            origin: text(headers, header::ORIGIN)
                .filter(|origin| !origin.is_empty())
                .ok_or_else(no_origin)?,
            method: text(headers, header::ACCESS_CONTROL_REQUEST_METHOD)
                .filter(|method| METHODS.contains(method))
                .ok_or_else(no_method)?,
            headers: named,
        })
    }
}

fn rules(store: &dyn ObjectStore, bucket: &str) -> Vec<CORSRule> {
    let kept = store.document(bucket, BucketDocument::Cors).ok().flatten();
    kept.and_then(|text| documents::read::<CORSConfiguration>(&text))
        .map(|cors| cors.cors_rules)
        .unwrap_or_default()
}

fn allows(rule: &CORSRule, origin: &str, method: &str) -> bool {
    rule.allowed_origins
        .iter()
        .any(|pattern| matches(pattern, origin))
        && rule
            .allowed_methods
            .iter()
            .any(|allowed| allowed.as_str() == method)
}

fn allows_headers(rule: &CORSRule, headers: &str) -> bool {
    let allowed = rule.allowed_headers.as_deref().unwrap_or_default();
    let named = headers
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    named.into_iter().all(|name| {
        allowed
            .iter()
            .any(|pattern| matches(&pattern.to_ascii_lowercase(), &name.to_ascii_lowercase()))
    })
}

fn insert(out: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        out.insert(name, value);
    }
}

fn answer(rule: &CORSRule, origin: &str) -> HeaderMap {
    let mut out = HeaderMap::new();
    let anybody = rule.allowed_origins.iter().any(|pattern| pattern == "*");
    insert(
        &mut out,
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        if anybody { "*" } else { origin },
    );
    if !anybody {
        insert(&mut out, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
    insert(
        &mut out,
        header::ACCESS_CONTROL_ALLOW_METHODS,
        &rule.allowed_methods.join(", "),
    );
    if let Some(exposed) = rule
        .expose_headers
        .as_ref()
        .filter(|exposed| !exposed.is_empty())
    {
        insert(
            &mut out,
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            &exposed.join(", "),
        );
    }
    insert(
        &mut out,
        header::VARY,
        "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
    );
    out
}

/// The headers that answer a question before a request; `None` where no rule allows it.
pub(crate) fn preflight(
    store: &dyn ObjectStore,
    bucket: &str,
    asked: &Preflight<'_>,
) -> Option<HeaderMap> {
    let rules = rules(store, bucket);
    let rule = rules.iter().find(|rule| {
        allows(rule, asked.origin, asked.method) && allows_headers(rule, asked.headers)
    })?;
    let mut out = answer(rule, asked.origin);
    if !asked.headers.is_empty() {
        insert(
            &mut out,
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            &asked.headers.to_ascii_lowercase(),
        );
    }
    if let Some(seconds) = rule.max_age_seconds {
        insert(
            &mut out,
            header::ACCESS_CONTROL_MAX_AGE,
            &seconds.to_string(),
        );
    }
    Some(out)
}

/// The headers that go with the answer to a request of a page, none where no rule allows it.
pub(crate) fn of_request(
    store: &dyn ObjectStore,
    bucket: &str,
    origin: &str,
    method: &str,
) -> HeaderMap {
    let rules = rules(store, bucket);
    rules
        .iter()
        .find(|rule| allows(rule, origin, method))
        .map(|rule| answer(rule, origin))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{NewBucket, StorageOptions, open_memory};
    use std::sync::Arc;

    fn store(rule: CORSRule) -> Arc<dyn ObjectStore> {
        let store = open_memory(StorageOptions::new(Arc::new(|| 0))).unwrap();
        store.create_bucket("pages", NewBucket::default()).unwrap();
        let text = documents::written(&CORSConfiguration {
            cors_rules: vec![rule],
        })
        .unwrap();
        store
            .set_document("pages", BucketDocument::Cors, Some(text))
            .unwrap();
        store
    }

    fn rule(origin: &str) -> CORSRule {
        CORSRule {
            allowed_headers: Some(vec!["x-amz-*".into()]),
            allowed_methods: vec!["GET".into(), "PUT".into()],
            allowed_origins: vec![origin.into()],
            expose_headers: Some(vec!["ETag".into()]),
            id: None,
            max_age_seconds: Some(60),
        }
    }

    #[test]
    fn a_page_is_answered_as_the_rule_says_and_others_are_not() {
        let store = store(rule("https://*.example.com"));
        let asked = |origin, method, headers| {
            preflight(
                &*store,
                "pages",
                &Preflight {
                    origin,
                    method,
                    headers,
                },
            )
        };
        let headers = asked("https://a.example.com", "PUT", "x-amz-date").unwrap();
        assert_eq!(
            headers["access-control-allow-origin"],
            "https://a.example.com"
        );
        assert_eq!(headers["access-control-max-age"], "60");
        assert!(asked("https://evil.com", "PUT", "").is_none());
        assert!(asked("https://a.example.com", "DELETE", "").is_none());
        assert!(asked("https://a.example.com", "PUT", "x-other").is_none());
        assert_eq!(
            of_request(&*store, "pages", "https://b.example.com", "GET")["access-control-expose-headers"],
            "ETag"
        );
        assert!(of_request(&*store, "pages", "https://evil.com", "GET").is_empty());
        assert!(of_request(&*store, "absent", "https://b.example.com", "GET").is_empty());
    }

    #[test]
    fn a_question_has_an_origin_a_method_and_names_of_headers() {
        let asked = |origin, method, names| {
            let pairs = [
                ("origin", origin),
                ("access-control-request-method", method),
                ("access-control-request-headers", names),
            ];
            let pair = |(name, value): (&'static str, &'static str)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            };
            Preflight::asked(&HeaderMap::from_iter(pairs.map(pair)))
                .map(drop)
                .map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(asked("http://a", "PUT", "x-amz-date, etag"), Ok(()));
        for (origin, method, names) in [
            ("", "PUT", ""),
            ("http://a", "put", ""),
            ("http://a", "PATCH", ""),
            ("http://a", "PUT", "a b"),
        ] {
            assert_eq!(
                asked(origin, method, names),
                Err("BadRequest".to_owned()),
                "{origin} {method} {names}"
            );
        }
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        let code = |rule| {
            check(&CORSConfiguration {
                cors_rules: vec![rule],
            })
            .unwrap_err()
            .code()
            .as_str()
            .to_owned()
        };
        assert_eq!(
            code(CORSRule {
                allowed_methods: vec!["FETCH".into()],
                ..rule("*")
            }),
            "InvalidRequest"
        );
        assert_eq!(code(rule("*.*")), "InvalidRequest");
        assert_eq!(
            code(CORSRule {
                allowed_origins: vec![],
                ..rule("*")
            }),
            "MalformedXML"
        );
        assert!(
            check(&CORSConfiguration {
                cors_rules: vec![rule("*")]
            })
            .is_ok()
        );
    }
}
