//! Conditions of policies: what a request must be like besides who makes it.
//!
//! Operators and keys are those below, named as AWS names them; whatever else a policy has is
//! refused when it is put. As AWS has it, a key that a request does not have meets no operator but
//! those that negate and those that end in `IfExists`.

mod query;
mod time;

use super::PolicyError;
use crate::keyring::matches;
use crate::storage::Tags;
use house::Peer;
use http::HeaderMap;
use query::parameter;
use std::borrow::Cow;
use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::net::IpAddr;
use time::time;

/// What conditions may ask of a request.
pub(crate) struct Circumstances<'a> {
    pub(crate) peer: Option<Peer>,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    /// The tags of the object that is asked for, read where a condition asks for one.
    pub(crate) tags: &'a (dyn Fn() -> Tags + Sync),
    /// When it is decided: milliseconds since 1970.
    pub(crate) now_ms: u64,
}

/// The tags of what is no object, or is not there.
pub(crate) const UNTAGGED: &(dyn Fn() -> Tags + Sync) = &Tags::new;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    SourceIp,
    SecureTransport,
    CurrentTime,
    /// The same as seconds since 1970.
    EpochTime,
    /// A parameter of listings.
    Query(&'static str),
    Header(&'static str),
    /// The value of a tag of the object that there is.
    ExistingTag(String),
}

/// The key whose values are numbers.
const MAX_KEYS: Key = Key::Query("max-keys");

/// What the name of a key begins with that ends in the one of a tag.
const EXISTING_TAG: &str = "s3:ExistingObjectTag/";

const KEYS: [(&str, Key); 19] = [
    ("aws:SourceIp", Key::SourceIp),
    ("aws:SecureTransport", Key::SecureTransport),
    ("aws:CurrentTime", Key::CurrentTime),
    ("aws:EpochTime", Key::EpochTime),
    ("aws:Referer", Key::Header("referer")),
    ("aws:UserAgent", Key::Header("user-agent")),
    ("s3:prefix", Key::Query("prefix")),
    ("s3:delimiter", Key::Query("delimiter")),
    ("s3:max-keys", MAX_KEYS),
    ("s3:x-amz-acl", Key::Header("x-amz-acl")),
    (
        "s3:x-amz-content-sha256",
        Key::Header("x-amz-content-sha256"),
    ),
    ("s3:x-amz-copy-source", Key::Header("x-amz-copy-source")),
    (
        "s3:x-amz-grant-full-control",
        Key::Header("x-amz-grant-full-control"),
    ),
    ("s3:x-amz-grant-read", Key::Header("x-amz-grant-read")),
    (
        "s3:x-amz-grant-read-acp",
        Key::Header("x-amz-grant-read-acp"),
    ),
    ("s3:x-amz-grant-write", Key::Header("x-amz-grant-write")),
    (
        "s3:x-amz-grant-write-acp",
        Key::Header("x-amz-grant-write-acp"),
    ),
    (
        "s3:x-amz-metadata-directive",
        Key::Header("x-amz-metadata-directive"),
    ),
    ("s3:x-amz-storage-class", Key::Header("x-amz-storage-class")),
];

/// The actions that have the parameters of listings; on another one they would be whatever a client
/// likes to add.
const LISTINGS: [&str; 3] = [
    "s3:ListBucket",
    "s3:ListBucketVersions",
    "s3:ListBucketMultipartUploads",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Equals,
    EqualsIgnoringCase,
    Like,
    Address,
    Truth,
    /// The order in which the number of a request stands to the one that is wanted, and another.
    Number(Ordering, Ordering),
    /// The same of times.
    Date(Ordering, Ordering),
    /// Whether the request has no such key.
    Absence,
}

/// Each operator, its test, and whether it negates it.
const OPERATORS: [(&str, Test, bool); 22] = [
    ("StringEquals", Test::Equals, false),
    ("StringNotEquals", Test::Equals, true),
    ("StringEqualsIgnoreCase", Test::EqualsIgnoringCase, false),
    ("StringNotEqualsIgnoreCase", Test::EqualsIgnoringCase, true),
    ("StringLike", Test::Like, false),
    ("StringNotLike", Test::Like, true),
    ("IpAddress", Test::Address, false),
    ("NotIpAddress", Test::Address, true),
    ("Bool", Test::Truth, false),
    ("NumericEquals", Test::Number(Equal, Equal), false),
    ("NumericNotEquals", Test::Number(Equal, Equal), true),
    ("NumericLessThan", Test::Number(Less, Less), false),
    ("NumericLessThanEquals", Test::Number(Less, Equal), false),
    ("NumericGreaterThan", Test::Number(Greater, Greater), false),
    (
        "NumericGreaterThanEquals",
        Test::Number(Greater, Equal),
        false,
    ),
    ("DateEquals", Test::Date(Equal, Equal), false),
    ("DateNotEquals", Test::Date(Equal, Equal), true),
    ("DateLessThan", Test::Date(Less, Less), false),
    ("DateLessThanEquals", Test::Date(Less, Equal), false),
    ("DateGreaterThan", Test::Date(Greater, Greater), false),
    ("DateGreaterThanEquals", Test::Date(Greater, Equal), false),
    ("Null", Test::Absence, false),
];

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Text(String),
    /// An address and how many of its first bits count.
    Network(IpAddr, u32),
    Truth(bool),
    Number(i64),
    /// Milliseconds since 1970.
    Time(u64),
}

/// What a request has for a key.
enum Has<'a> {
    Address(IpAddr),
    Truth(bool),
    Text(Cow<'a, str>),
    /// Milliseconds since 1970.
    Time(u64),
}

/// One operator on one key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Condition {
    key: Key,
    test: Test,
    negates: bool,
    if_exists: bool,
    /// One of which must be met.
    wanted: Vec<Wanted>,
}

fn names<T: Copy>(table: impl IntoIterator<Item = T>, name: impl Fn(T) -> &'static str) -> String {
    table.into_iter().map(name).collect::<Vec<_>>().join(", ")
}

impl Condition {
    /// Errors: `Malformed` for what could not be evaluated.
    pub(super) fn parse(operator: &str, key: &str, values: &[String]) -> Result<Self, PolicyError> {
        let refused = |why: String| PolicyError::Malformed(format!("Condition: {why}"));
        let (plain, if_exists) = operator
            .strip_suffix("IfExists")
            .map_or((operator, false), |plain| (plain, true));
        let known = OPERATORS.into_iter().find(|(name, ..)| *name == plain);
        let (_, test, negates) = known.ok_or_else(|| {
            refused(format!(
                "{operator} is no operator of this server; there are {}",
                names(OPERATORS, |(name, ..)| name)
            ))
        })?;
        let key = Key::parse(key).ok_or_else(|| {
            let known = names(KEYS.iter(), |(name, _)| *name);
            refused(format!(
                "{key} is no key of this server; there are {known}, {EXISTING_TAG}TAG"
            ))
        })?;
        let fits = match test {
            Test::Address => key == Key::SourceIp,
            Test::Truth => key == Key::SecureTransport,
            Test::Equals | Test::EqualsIgnoringCase | Test::Like => !matches!(
                key,
                Key::SourceIp | Key::SecureTransport | Key::CurrentTime | Key::EpochTime | MAX_KEYS
            ),
            Test::Number(..) => matches!(key, MAX_KEYS | Key::EpochTime),
            Test::Date(..) => matches!(key, Key::CurrentTime | Key::EpochTime),
            Test::Absence => !if_exists,
        };
        if !fits {
            return Err(refused(format!("{operator} does not apply to that key")));
        }
        if values.is_empty() {
            return Err(refused(format!("{operator} has no value")));
        }
        let wanted = |text: &String| match test {
            Test::Equals | Test::EqualsIgnoringCase | Test::Like => Ok(Wanted::Text(text.clone())),
            Test::Address => network(text)
                .ok_or_else(|| refused(format!("{text} is no address such as 192.0.2.0/24"))),
            Test::Number(..) => text
                .parse()
                .ok()
                .map(Wanted::Number)
                .ok_or_else(|| refused(format!("{text} is no whole number"))),
            Test::Date(..) => time(text)
                .map(Wanted::Time)
                .ok_or_else(|| refused(format!("{text} is no time such as 2030-12-31T00:00:00Z"))),
            Test::Truth | Test::Absence => text
                .parse()
                .ok()
                .map(Wanted::Truth)
                .ok_or_else(|| refused(format!("{text} is neither true nor false"))),
        };
        let wanted = values.iter().map(wanted).collect::<Result<_, _>>()?;
        Ok(Self {
            key,
            test,
            negates,
            if_exists,
            wanted,
        })
    }

    /// Whether a request for this action is as it must be.
    pub(super) fn holds(&self, action: &str, circumstances: &Circumstances<'_>) -> bool {
        let has = self.key.of(action, circumstances);
        if self.test == Test::Absence {
            return self.wanted.contains(&Wanted::Truth(has.is_none()));
        }
        match has {
            Some(has) => {
                let met = self.wanted.iter().any(|wanted| wanted.is(self.test, &has));
                met != self.negates
            }
            None => self.negates || self.if_exists,
        }
    }

    /// Whether any of the texts that it compares with is so.
    pub(super) fn any_text(&self, is_so: impl Fn(&str) -> bool) -> bool {
        self.wanted
            .iter()
            .any(|wanted| matches!(wanted, Wanted::Text(text) if is_so(text)))
    }

    /// Whether it lets in some addresses alone, so that what it allows is not public.
    pub(super) fn confines(&self) -> bool {
        let narrow = |wanted: &Wanted| matches!(wanted, Wanted::Network(_, bits) if *bits > 0);
        self.test == Test::Address
            && !self.negates
            && !self.if_exists
            && self.wanted.iter().all(narrow)
    }
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let tag = text
            .get(..EXISTING_TAG.len())
            .filter(|start| start.eq_ignore_ascii_case(EXISTING_TAG));
        if tag.is_some() {
            let name = text[EXISTING_TAG.len()..].to_owned();
            return Some(Self::ExistingTag(name)).filter(|_| text.len() > EXISTING_TAG.len());
        }
        let mut known = KEYS.into_iter();
        let found = known.find(|(name, _)| name.eq_ignore_ascii_case(text));
        found.map(|(_, key)| key)
    }

    /// What a request for this action has for it.
    fn of<'a>(&self, action: &str, circumstances: &Circumstances<'a>) -> Option<Has<'a>> {
        let peer = circumstances.peer;
        match self {
            Self::SourceIp => peer.map(|peer| Has::Address(peer.address.to_canonical())),
            Self::SecureTransport => peer.map(|peer| Has::Truth(peer.tls)),
            Self::CurrentTime | Self::EpochTime => Some(Has::Time(circumstances.now_ms)),
            Self::Query(name) => {
                let listed = LISTINGS.contains(&action);
                let query = circumstances.query.filter(|_| listed)?;
                parameter(query, name).map(Has::Text)
            }
            Self::Header(name) => {
                let value = circumstances.headers.get(*name)?;
                Some(Has::Text(String::from_utf8_lossy(value.as_bytes())))
            }
            Self::ExistingTag(name) => {
                let mut tags = (circumstances.tags)().into_iter();
                let found = tags.find(|(known, _)| known == name);
                found.map(|(_, value)| Has::Text(Cow::Owned(value)))
            }
        }
    }
}

impl Wanted {
    fn is(&self, test: Test, has: &Has<'_>) -> bool {
        match (self, has) {
            (Self::Text(wanted), Has::Text(text)) => match test {
                Test::Like => matches(wanted, text),
                Test::EqualsIgnoringCase => wanted.eq_ignore_ascii_case(text),
                Test::Equals => wanted == text,
                Test::Address | Test::Truth | Test::Number(..) | Test::Date(..) | Test::Absence => {
                    false
                }
            },
            (Self::Time(wanted), Has::Time(now)) => stands(test, now.cmp(wanted)),
            (Self::Number(wanted), Has::Time(now)) => {
                let seconds = i64::try_from(now / 1000).unwrap_or(i64::MAX);
                stands(test, seconds.cmp(wanted))
            }
            (Self::Number(wanted), Has::Text(text)) => text
                .parse::<i64>()
                .is_ok_and(|number| stands(test, number.cmp(wanted))),
            (Self::Network(..), Has::Address(address)) => self.includes(*address),
            (Self::Truth(wanted), Has::Truth(truth)) => wanted == truth,
            (_, _) => false,
        }
    }

    fn includes(&self, address: IpAddr) -> bool {
        let Self::Network(network, bits) = self else {
            return false;
        };
        match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differ = network.to_bits() ^ address.to_bits();
                differ.checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differ = network.to_bits() ^ address.to_bits();
                differ.checked_shr(128 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Whether a test is met by what stands so to what is wanted.
fn stands(test: Test, order: Ordering) -> bool {
    match test {
        Test::Number(one, other) | Test::Date(one, other) => order == one || order == other,
        Test::Equals
        | Test::EqualsIgnoringCase
        | Test::Like
        | Test::Address
        | Test::Truth
        | Test::Absence => false,
    }
}

fn network(text: &str) -> Option<Wanted> {
    let (address, bits) = text
        .split_once('/')
        .map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| {
        bits.parse().ok().filter(|bits| *bits <= most)
    })?;
    Some(Wanted::Network(address, bits))
}

/// The circumstances of nobody in particular: no address, no query, no headers.
#[cfg(test)]
pub(crate) fn nowhere() -> Circumstances<'static> {
    static NONE: std::sync::LazyLock<HeaderMap> = std::sync::LazyLock::new(HeaderMap::new);
    Circumstances {
        peer: None,
        query: None,
        headers: &NONE,
        tags: UNTAGGED,
        now_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, header};

    fn condition(operator: &str, key: &str, values: &[&str]) -> Result<Condition, PolicyError> {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        Condition::parse(operator, key, &values)
    }

    fn from(address: &str, tls: bool) -> Circumstances<'static> {
        Circumstances {
            peer: Some(Peer {
                address: address.parse().unwrap(),
                tls,
            }),
            ..nowhere()
        }
    }

    #[test]
    fn addresses_lie_in_networks() {
        let holds = |operator: &str, network: &str, address: &str| {
            condition(operator, "aws:sourceip", &[network])
                .unwrap()
                .holds("s3:GetObject", &from(address, false))
        };
        for (network, address, inside) in [
            ("192.0.2.0/24", "192.0.2.200", true),
            ("192.0.2.0/24", "192.0.3.1", false),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7/32", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("192.0.2.0/24", "::ffff:192.0.2.1", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "::1", true),
            ("::/0", "127.0.0.1", false),
        ] {
            assert_eq!(
                holds("IpAddress", network, address),
                inside,
                "{network} {address}"
            );
            assert_eq!(
                holds("NotIpAddress", network, address),
                !inside,
                "{network} {address}"
            );
        }
        assert!(
            !condition("IpAddress", "aws:SourceIp", &["10.0.0.0/8"])
                .unwrap()
                .holds("s3:GetObject", &nowhere())
        );
        assert!(
            condition("NotIpAddress", "aws:SourceIp", &["10.0.0.0/8"])
                .unwrap()
                .holds("s3:GetObject", &nowhere())
        );
    }

    #[test]
    fn tags_of_the_object_are_asked_for_by_their_names() {
        let with = |tags: &[(&str, &str)], condition: &Condition| {
            let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
            let tags = || tags.iter().map(pair).collect();
            let tagged = Circumstances {
                tags: &tags,
                ..nowhere()
            };
            condition.holds("s3:GetObject", &tagged)
        };
        let key = "s3:ExistingObjectTag/security";
        let public = condition("StringEquals", key, &["public"]).unwrap();
        let not_secret = condition("StringNotEquals", key, &["secret"]).unwrap();
        for (tags, is_public, is_not_secret) in [
            (&[("security", "public")][..], true, true),
            (&[("security", "secret")], false, false),
            (&[("Security", "public"), ("other", "public")], false, true),
            (&[], false, true),
        ] {
            let seen = (with(tags, &public), with(tags, &not_secret));
            assert_eq!(seen, (is_public, is_not_secret), "{tags:?}");
        }
        for (operator, key) in [
            ("StringEquals", "s3:ExistingObjectTag/"),
            ("StringEquals", "s3:ExistingObjectTag"),
            ("StringEquals", "s3:RequestObjectTag/a"),
            ("NumericEquals", "s3:ExistingObjectTag/a"),
            ("IpAddress", "s3:ExistingObjectTag/a"),
        ] {
            assert!(
                condition(operator, key, &["1"]).is_err(),
                "{operator} {key}"
            );
        }
    }

    #[test]
    fn what_is_allowed_for_a_time_is_allowed_until_then() {
        // 2020-01-01T00:00:00Z and a second.
        let now = Circumstances {
            now_ms: 1_577_836_801_000,
            ..nowhere()
        };
        let holds = |operator: &str, key: &str, value: &str| {
            condition(operator, key, &[value])
                .unwrap()
                .holds("s3:GetObject", &now)
        };
        for (operator, value, is_so) in [
            ("DateLessThan", "2020-01-01T00:00:02Z", true),
            ("DateLessThan", "2020-01-01T00:00:01Z", false),
            ("DateLessThanEquals", "2020-01-01T00:00:01Z", true),
            ("DateGreaterThan", "2020-01-01", true),
            ("DateGreaterThan", "2020-01-01T01:00:00+01:00", true),
            ("DateGreaterThanEquals", "1577836802", false),
            ("DateEquals", "1577836801", true),
            ("DateNotEquals", "2020-01-01T00:00:01Z", false),
        ] {
            assert_eq!(
                holds(operator, "aws:CurrentTime", value),
                is_so,
                "{operator} {value}"
            );
            assert_eq!(
                holds(operator, "aws:EpochTime", value),
                is_so,
                "{operator} {value}"
            );
        }
        assert!(holds("NumericLessThan", "aws:EpochTime", "1577836802"));
        assert!(!holds("NumericLessThan", "aws:EpochTime", "1577836801"));
        for (operator, key, value) in [
            ("DateLessThan", "aws:CurrentTime", "soon"),
            ("DateLessThan", "aws:CurrentTime", ""),
            ("DateLessThan", "aws:Referer", "2020-01-01"),
            ("NumericLessThan", "aws:CurrentTime", "1"),
            ("StringEquals", "aws:CurrentTime", "2020-01-01"),
        ] {
            assert!(
                condition(operator, key, &[value]).is_err(),
                "{operator} {key}"
            );
        }
    }

    #[test]
    fn transport_is_secure_or_not() {
        let only = |truth: &str| condition("Bool", "aws:SecureTransport", &[truth]).unwrap();
        assert!(
            only("true").holds("s3:GetObject", &from("::1", true))
                && !only("true").holds("s3:GetObject", &from("::1", false))
        );
        assert!(only("false").holds("s3:GetObject", &from("::1", false)));
    }

    #[test]
    fn parameters_of_listings_count_for_listings_alone() {
        let asked = |query: &'static str| Circumstances {
            query: Some(query),
            ..nowhere()
        };
        let home = condition("StringEquals", "s3:prefix", &["home/a b", "x"]).unwrap();
        assert!(
            home.holds("s3:ListBucket", &asked("list-type=2&prefix=home%2Fa+b"))
                && home.holds("s3:ListBucket", &asked("prefix=x"))
        );
        for query in [
            "prefix=home",
            "prefix=x&prefix=x",
            "",
            "prefix",
            "prefix=%zz",
        ] {
            assert!(!home.holds("s3:ListBucket", &asked(query)), "{query}");
        }
        assert!(
            !home.holds("s3:GetObject", &asked("prefix=x")),
            "a GET has no prefix, whatever its query says"
        );
        let like = condition("StringNotLike", "s3:prefix", &["secret*"]).unwrap();
        assert!(
            !like.holds("s3:ListBucket", &asked("prefix=secret/1"))
                && like.holds("s3:ListBucket", &asked("prefix=open"))
        );
        assert!(
            condition("StringLikeIfExists", "s3:prefix", &["a*"])
                .unwrap()
                .holds("s3:ListBucket", &asked(""))
        );
    }

    #[test]
    fn numbers_are_compared_and_absence_is_told() {
        let asked = |query: &'static str| Circumstances {
            query: Some(query),
            ..nowhere()
        };
        let holds = |operator: &str, query: &'static str| {
            condition(operator, "s3:max-keys", &["10"])
                .unwrap()
                .holds("s3:ListBucket", &asked(query))
        };
        for (operator, nine, ten, eleven) in [
            ("NumericEquals", false, true, false),
            ("NumericNotEquals", true, false, true),
            ("NumericLessThan", true, false, false),
            ("NumericLessThanEquals", true, true, false),
            ("NumericGreaterThan", false, false, true),
            ("NumericGreaterThanEquals", false, true, true),
        ] {
            let found =
                ["max-keys=9", "max-keys=10", "max-keys=11"].map(|query| holds(operator, query));
            assert_eq!(found, [nine, ten, eleven], "{operator}");
            assert_eq!(
                holds(operator, ""),
                operator == "NumericNotEquals",
                "{operator}"
            );
        }
        assert!(holds("NumericLessThanIfExists", ""));
        for (wanted, with, without) in [("true", false, true), ("false", true, false)] {
            let null = condition("Null", "s3:prefix", &[wanted]).unwrap();
            assert_eq!(null.holds("s3:ListBucket", &asked("prefix=")), with);
            assert_eq!(null.holds("s3:ListBucket", &asked("")), without);
        }
    }

    #[test]
    fn headers_are_compared_as_text() {
        let headers = HeaderMap::from_iter([(
            header::REFERER,
            HeaderValue::from_static("https://example.org/page"),
        )]);
        let from_page = Circumstances {
            headers: &headers,
            ..nowhere()
        };
        assert!(
            condition("StringLike", "aws:Referer", &["https://example.org/*"])
                .unwrap()
                .holds("s3:GetObject", &from_page)
        );
        assert!(
            !condition("StringLike", "aws:Referer", &["https://example.com/*"])
                .unwrap()
                .holds("s3:GetObject", &from_page)
        );
    }

    #[test]
    fn what_could_not_be_evaluated_is_refused_by_name() {
        for (operator, key, value, says) in [
            (
                "BinaryEquals",
                "s3:prefix",
                "eA==",
                "BinaryEquals is no operator",
            ),
            ("DateLessThan", "s3:max-keys", "10", "does not apply"),
            ("NumericEquals", "s3:prefix", "1", "does not apply"),
            ("StringEquals", "s3:max-keys", "1", "does not apply"),
            ("NumericEquals", "s3:max-keys", "1.5", "no whole number"),
            ("NullIfExists", "s3:prefix", "true", "does not apply"),
            ("StringEquals", "aws:userid", "x", "aws:userid is no key"),
            ("StringEquals", "aws:SourceIp", "10.0.0.1", "does not apply"),
            (
                "IpAddress",
                "aws:SourceIp",
                "10.0.0.0/33",
                "10.0.0.0/33 is no address",
            ),
            ("IpAddress", "aws:SourceIp", "ten", "ten is no address"),
            (
                "Bool",
                "aws:SecureTransport",
                "yes",
                "neither true nor false",
            ),
        ] {
            let error = condition(operator, key, &[value]).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(condition("StringEquals", "s3:prefix", &[]).is_err());
    }
}
