//! The words that S3 has for access control lists: canned ones, headers, documents.
//!
//! A key is granted something by its access key, which is its id here. Whom nobody knows cannot be
//! granted anything: an id of no key, an address, a group that this server does not have.

use crate::keyring::Keyring;
use crate::protocol::invalid_argument;
use crate::storage::{self, Acl, Grantee, Right};
use http::{HeaderMap, HeaderValue};
use s3s::dto::{self, AccessControlPolicy, ObjectCannedACL, Owner, Type};
use s3s::{S3Error, S3Result, s3_error};

const ALL_USERS: &str = "http://acs.amazonaws.com/groups/global/AllUsers";
const AUTHENTICATED_USERS: &str = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";
const LOG_DELIVERY: &str = "http://acs.amazonaws.com/groups/s3/LogDelivery";

/// The most grants of a list, as AWS has it.
const MOST_GRANTS: usize = 100;

/// The header of a canned list.
const CANNED: &str = "x-amz-acl";

/// The headers that grant, what each grants, and how documents name it.
const RIGHTS: [(&str, Right, &str); 5] = [
    ("x-amz-grant-read", Right::Read, dto::Permission::READ),
    ("x-amz-grant-write", Right::Write, dto::Permission::WRITE),
    (
        "x-amz-grant-read-acp",
        Right::ReadAcl,
        dto::Permission::READ_ACP,
    ),
    (
        "x-amz-grant-write-acp",
        Right::WriteAcl,
        dto::Permission::WRITE_ACP,
    ),
    (
        "x-amz-grant-full-control",
        Right::Full,
        dto::Permission::FULL_CONTROL,
    ),
];

/// Whose the objects of a bucket are, and whether lists count in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// All are the bucket owner's, and there are no lists.
    #[default]
    BucketOwnerEnforced,
    /// Each is its writer's who does not give it to the bucket's owner.
    BucketOwnerPreferred,
    /// Each is its writer's.
    ObjectWriter,
}

impl Ownership {
    /// Each with the name that S3 has for it.
    const NAMES: [(Self, &'static str); 3] = [
        (Self::BucketOwnerEnforced, "BucketOwnerEnforced"),
        (Self::BucketOwnerPreferred, "BucketOwnerPreferred"),
        (Self::ObjectWriter, "ObjectWriter"),
    ];

    /// The one that S3 calls so; `None` for another name.
    pub fn parse(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(ownership, _)| *ownership)
    }

    pub(crate) fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(known, _)| *known == self);
        found.map_or("", |(_, name)| name)
    }
}

/// What a request asks a list to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Canned(Canned),
    Grants(Vec<storage::Grant>),
}

/// A list by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Canned {
    Private,
    PublicRead,
    PublicReadWrite,
    AuthenticatedRead,
    BucketOwnerRead,
    BucketOwnerFullControl,
}

impl Canned {
    /// Errors: `NotImplemented` for those that grant to services of AWS, `InvalidArgument`.
    fn parse(name: &str) -> S3Result<Self> {
        match name {
            ObjectCannedACL::PRIVATE => Ok(Self::Private),
            ObjectCannedACL::PUBLIC_READ => Ok(Self::PublicRead),
            ObjectCannedACL::PUBLIC_READ_WRITE => Ok(Self::PublicReadWrite),
            ObjectCannedACL::AUTHENTICATED_READ => Ok(Self::AuthenticatedRead),
            ObjectCannedACL::BUCKET_OWNER_READ => Ok(Self::BucketOwnerRead),
            ObjectCannedACL::BUCKET_OWNER_FULL_CONTROL => Ok(Self::BucketOwnerFullControl),
            ObjectCannedACL::AWS_EXEC_READ | "log-delivery-write" => Err(s3_error!(
                NotImplemented,
                "The canned ACL {name} grants to a service that this server does not have"
            )),
            _ => Err(invalid_argument("x-amz-acl is none of the canned ACLs")),
        }
    }

    /// What it grants besides everything to the owner.
    fn grants(self, bucket_owner: &str) -> Vec<(Grantee, Right)> {
        let to_bucket_owner = |right| vec![(Grantee::Key(bucket_owner.to_owned()), right)];
        match self {
            Self::Private => Vec::new(),
            Self::PublicRead => vec![(Grantee::Everybody, Right::Read)],
            Self::PublicReadWrite => vec![
                (Grantee::Everybody, Right::Read),
                (Grantee::Everybody, Right::Write),
            ],
            Self::AuthenticatedRead => vec![(Grantee::AnyKey, Right::Read)],
            Self::BucketOwnerRead => to_bucket_owner(Right::Read),
            Self::BucketOwnerFullControl => to_bucket_owner(Right::Full),
        }
    }
}

fn malformed() -> S3Error {
    s3_error!(
        MalformedACLError,
        "The XML you provided was not well-formed or did not validate against our published schema"
    )
}

/// Whether a header asks for a list.
pub(crate) fn is_of_list(header: &str) -> bool {
    header == CANNED || RIGHTS.iter().any(|(name, ..)| *name == header)
}

/// Who can be granted something.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) keyring: &'a Keyring,
    /// Who owns what the list is of: known as its owner though the key may be gone.
    pub(crate) owner: &'a str,
}

impl Known<'_> {
    fn key(self, id: &str) -> S3Result<Grantee> {
        if id == self.owner || self.keyring.secret_of(id).is_some() {
            Ok(Grantee::Key(id.to_owned()))
        } else {
            Err(invalid_argument(
                "Invalid id: no key of this server is called so",
            ))
        }
    }
}

fn group(uri: &str) -> S3Result<Grantee> {
    match uri {
        ALL_USERS => Ok(Grantee::Everybody),
        AUTHENTICATED_USERS => Ok(Grantee::AnyKey),
        LOG_DELIVERY => Err(s3_error!(
            NotImplemented,
            "There is no delivery of logs that could be granted anything"
        )),
        _ => Err(invalid_argument("Invalid group uri")),
    }
}

fn no_address() -> S3Error {
    s3_error!(
        UnresolvableGrantByEmailAddress,
        "The e-mail address you provided does not match any account on record."
    )
}

/// The grantees of one header: `id="KEY", uri="GROUP"`. Errors: `InvalidArgument`,
/// `NotImplemented`, `UnresolvableGrantByEmailAddress`.
fn grantees(text: &str, known: Known<'_>) -> S3Result<Vec<Grantee>> {
    let one = |text: &str| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| invalid_argument("A grantee is id=, uri= or emailAddress="))?;
        let (name, value) = (name.trim(), value.trim());
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value);
        match name.to_ascii_lowercase().as_str() {
            "id" => known.key(value),
            "uri" => group(value),
            "emailaddress" => Err(no_address()),
            _ => Err(invalid_argument("A grantee is id=, uri= or emailAddress=")),
        }
    };
    text.split(',').map(one).collect()
}

/// One grant of a document.
fn granted(grant: &dto::Grant, known: Known<'_>) -> S3Result<storage::Grant> {
    let grantee = grant.grantee.as_ref().ok_or_else(malformed)?;
    let named = grant.permission.as_ref().ok_or_else(malformed)?.as_str();
    let grantee = match grantee.type_.as_str() {
        Type::CANONICAL_USER => known.key(grantee.id.as_deref().ok_or_else(malformed)?)?,
        Type::GROUP => group(grantee.uri.as_deref().ok_or_else(malformed)?)?,
        Type::AMAZON_CUSTOMER_BY_EMAIL => return Err(no_address()),
        _ => return Err(malformed()),
    };
    let right = RIGHTS.iter().find(|(.., name)| *name == named);
    Ok(storage::Grant {
        grantee,
        right: right.ok_or_else(malformed)?.1,
    })
}

impl Wanted {
    /// What headers ask for, if anything. Errors: `InvalidArgument`, `InvalidRequest`,
    /// `NotImplemented`, `UnresolvableGrantByEmailAddress`, `MalformedACLError`.
    pub(crate) fn of(headers: &HeaderMap, known: Known<'_>) -> S3Result<Option<Self>> {
        let text = |value: &HeaderValue| match value.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(invalid_argument("A header of an ACL is not text")),
        };
        let mut canned = headers.get_all(CANNED).iter();
        let (canned, second) = (canned.next(), canned.next());
        let mut grants = Vec::new();
        for (header, right, _) in RIGHTS {
            for value in headers.get_all(header) {
                let granted = grantees(&text(value)?, known)?.into_iter();
                grants.extend(granted.map(|grantee| storage::Grant { grantee, right }));
            }
        }
        match (canned, grants.is_empty()) {
            (None, true) => Ok(None),
            (None, false) => Self::listed(grants).map(Some),
            (Some(_), _) if second.is_some() => {
                Err(invalid_argument("x-amz-acl is there more than once"))
            }
            (Some(name), true) => Ok(Some(Self::Canned(Canned::parse(&text(name)?)?))),
            (Some(_), false) => Err(s3_error!(
                InvalidRequest,
                "Specifying both Canned ACLs and Header Grants is not allowed"
            )),
        }
    }

    /// What a document asks for. Errors: as for headers, and `AccessDenied` where it names another
    /// owner: what has an owner keeps it.
    pub(crate) fn of_document(document: &AccessControlPolicy, known: Known<'_>) -> S3Result<Self> {
        let owner = document.owner.as_ref().ok_or_else(malformed)?;
        if owner.id.as_deref().unwrap_or_default() != known.owner {
            return Err(crate::access::denied());
        }
        let grants = document.grants.as_deref().unwrap_or_default().iter();
        Self::listed(
            grants
                .map(|grant| granted(grant, known))
                .collect::<S3Result<_>>()?,
        )
    }

    fn listed(grants: Vec<storage::Grant>) -> S3Result<Self> {
        if grants.len() > MOST_GRANTS {
            return Err(s3_error!(
                MalformedACLError,
                "An ACL has at most 100 grants"
            ));
        }
        Ok(Self::Grants(grants))
    }

    /// As a list of what this key owns. The owner comes last, as nothing is said of an order.
    pub(crate) fn list(self, owner: &str, bucket_owner: &str) -> Acl {
        let grants = match self {
            Self::Grants(grants) => grants,
            Self::Canned(canned) => {
                let own = (Grantee::Key(owner.to_owned()), Right::Full);
                let mut pairs = canned.grants(bucket_owner);
                // Of what the bucket's owner owns there is nothing to grant to them.
                pairs.retain(|(grantee, _)| *grantee != own.0);
                pairs.push(own);
                let grant = |(grantee, right)| storage::Grant { grantee, right };
                pairs.into_iter().map(grant).collect()
            }
        };
        Acl {
            owner: owner.to_owned(),
            grants,
        }
    }
}

/// A list as the protocol tells it.
pub(crate) fn told(acl: &Acl) -> (Owner, Vec<dto::Grant>) {
    let grants = acl.grants.iter().map(|grant| {
        let (id, uri, kind) = match &grant.grantee {
            Grantee::Key(key) => (Some(key.clone()), None, Type::CANONICAL_USER),
            Grantee::AnyKey => (None, Some(AUTHENTICATED_USERS.to_owned()), Type::GROUP),
            Grantee::Everybody => (None, Some(ALL_USERS.to_owned()), Type::GROUP),
        };
        let named = RIGHTS.iter().find(|(_, right, _)| *right == grant.right);
        dto::Grant {
            grantee: Some(dto::Grantee {
                display_name: id.clone(),
                email_address: None,
                id,
                type_: Type::from_static(kind),
                uri,
            }),
            permission: named.map(|(.., name)| dto::Permission::from_static(name)),
        }
    });
    (crate::protocol::owner(&acl.owner), grants.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring() -> Keyring {
        let key = |name: &str| {
            format!("[[key]]\naccess = \"{name}\"\nsecret = \"{name}-secret\"\nadmin = true\n")
        };
        Keyring::parse(&(key("kim") + &key("lee"))).unwrap()
    }

    fn wanted(headers: &[(&'static str, &'static str)]) -> Result<Option<Wanted>, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let keyring = keyring();
        let known = Known {
            keyring: &keyring,
            owner: "gone",
        };
        Wanted::of(&map, known).map_err(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn canned_lists_say_what_s3_documents_of_them() {
        let list = |name, owner: &str| {
            let asked = wanted(&[("x-amz-acl", name)]).unwrap().unwrap();
            let grants = asked.list(owner, "kim").grants.into_iter();
            grants
                .map(|grant| (grant.grantee, grant.right))
                .collect::<Vec<_>>()
        };
        let own = (Grantee::Key("lee".into()), Right::Full);
        let bucket_owner = |right| (Grantee::Key("kim".into()), right);
        for (name, others) in [
            ("private", vec![]),
            ("public-read", vec![(Grantee::Everybody, Right::Read)]),
            (
                "public-read-write",
                vec![
                    (Grantee::Everybody, Right::Read),
                    (Grantee::Everybody, Right::Write),
                ],
            ),
            ("authenticated-read", vec![(Grantee::AnyKey, Right::Read)]),
            ("bucket-owner-read", vec![bucket_owner(Right::Read)]),
            ("bucket-owner-full-control", vec![bucket_owner(Right::Full)]),
        ] {
            assert_eq!(list(name, "lee"), [others, vec![own.clone()]].concat());
        }
        assert_eq!(
            list("bucket-owner-read", "kim"),
            [bucket_owner(Right::Full)]
        );
    }

    #[test]
    fn headers_grant_to_keys_and_groups_and_to_nobody_else() {
        let grants = wanted(&[
            (
                "x-amz-grant-read",
                "id=\"kim\", uri=\"http://acs.amazonaws.com/groups/global/AllUsers\"",
            ),
            ("x-amz-grant-full-control", "id=gone"),
            ("x-amz-grant-write-acp", " ID = lee "),
        ]);
        let key = |name: &str| Grantee::Key(name.into());
        let expected = [
            (key("kim"), Right::Read),
            (Grantee::Everybody, Right::Read),
            (key("lee"), Right::WriteAcl),
            (key("gone"), Right::Full),
        ];
        let expected = expected.map(|(grantee, right)| storage::Grant { grantee, right });
        assert_eq!(grants, Ok(Some(Wanted::Grants(expected.into()))));
        assert_eq!(wanted(&[]), Ok(None));
        for (headers, code) in [
            (vec![("x-amz-grant-read", "id=max")], "InvalidArgument"),
            (vec![("x-amz-grant-read", "kim")], "InvalidArgument"),
            (vec![("x-amz-grant-read", "")], "InvalidArgument"),
            (vec![("x-amz-grant-read", "id=kim,")], "InvalidArgument"),
            (vec![("x-amz-grant-read", "uri=x")], "InvalidArgument"),
            (
                vec![("x-amz-grant-read", "emailAddress=kim@example.com")],
                "UnresolvableGrantByEmailAddress",
            ),
            (vec![("x-amz-acl", "public")], "InvalidArgument"),
            (vec![("x-amz-acl", "aws-exec-read")], "NotImplemented"),
            (
                vec![("x-amz-acl", "private"), ("x-amz-acl", "public-read")],
                "InvalidArgument",
            ),
            (
                vec![("x-amz-acl", "private"), ("x-amz-grant-read", "id=kim")],
                "InvalidRequest",
            ),
        ] {
            assert_eq!(wanted(&headers), Err(code.to_owned()), "{headers:?}");
        }
    }

    #[test]
    fn a_document_is_taken_where_nobody_owns_the_bucket() {
        let (keyring, owner) = (keyring(), "");
        let known = Known {
            keyring: &keyring,
            owner,
        };
        let of = |grantee: &str| {
            let text = format!(
                r#"<AccessControlPolicy><Owner><DisplayName></DisplayName><ID></ID></Owner><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">{grantee}</Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>"#
            );
            let document = crate::documents::read(text.as_bytes()).unwrap();
            Wanted::of_document(&document, known).map(|wanted| wanted.list(owner, owner))
        };
        assert_eq!(of("<ID></ID>").unwrap(), Acl::private(owner));
        assert!(of("<ID>max</ID>").is_err() && of("").is_err());
    }

    #[test]
    fn what_is_told_of_a_list_is_taken_as_the_same_list() {
        let keyring = keyring();
        let known = Known {
            keyring: &keyring,
            owner: "kim",
        };
        for canned in [
            Canned::Private,
            Canned::PublicReadWrite,
            Canned::AuthenticatedRead,
        ] {
            let acl = Wanted::Canned(canned).list("kim", "kim");
            let (owner, grants) = told(&acl);
            let document = AccessControlPolicy {
                owner: Some(owner),
                grants: Some(grants),
            };
            let again = Wanted::of_document(&document, known).unwrap();
            assert_eq!(again.list("kim", "kim"), acl);
            let stranger = Known {
                owner: "lee",
                ..known
            };
            let refused = Wanted::of_document(&document, stranger).unwrap_err();
            assert_eq!(refused.code().as_str(), "AccessDenied");
        }
    }
}
