//! Access control lists: who was granted what on an object or a bucket, besides what keys and
//! policies give. Pure: who asks is an argument.

/// To whom something is granted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Grantee {
    /// An access key.
    Key(String),
    /// Whoever signs with a key that the server knows.
    AnyKey,
    Everybody,
}

impl Grantee {
    /// Whether more than one key is meant.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Key(_) => false,
            Self::AnyKey | Self::Everybody => true,
        }
    }
}

/// What is granted. Of an object, `Write` means nothing, as in S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    Read,
    Write,
    ReadAcl,
    WriteAcl,
    /// All of these.
    Full,
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    pub grantee: Grantee,
    pub right: Right,
}

/// The list of an object or a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acl {
    /// The access key of the owner.
    pub owner: String,
    pub grants: Vec<Grant>,
}

impl Acl {
    /// The list of what nobody but its owner may touch.
    pub fn private(owner: &str) -> Self {
        let grant = Grant {
            grantee: Grantee::Key(owner.to_owned()),
            right: Right::Full,
        };
        Self {
            owner: owner.to_owned(),
            grants: vec![grant],
        }
    }

    /// Whether more than single keys are granted something.
    pub fn is_public(&self) -> bool {
        self.grants.iter().any(|grant| grant.grantee.is_public())
    }

    /// Whether the list gives this key, or nobody known, a right. Who owns a thing may always read
    /// and change its list.
    pub(crate) fn gives(&self, asker: Option<&str>, right: Right, public: Public) -> bool {
        let owns = asker == Some(self.owner.as_str());
        if owns && matches!(right, Right::ReadAcl | Right::WriteAcl) {
            return true;
        }
        let names = |grantee: &Grantee| match grantee {
            Grantee::Key(key) => asker == Some(key.as_str()),
            Grantee::AnyKey => public == Public::Counts && asker.is_some(),
            Grantee::Everybody => public == Public::Counts,
        };
        self.grants.iter().any(|grant| {
            (grant.right == right || grant.right == Right::Full) && names(&grant.grantee)
        })
    }
}

/// Whether grants to more than single keys count, which a bucket's block of public access decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Public {
    Counts,
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_what_it_says_to_whom_it_names() {
        let grant = |grantee, right| Grant { grantee, right };
        let acl = Acl {
            owner: "kim".into(),
            grants: vec![
                grant(Grantee::Everybody, Right::Read),
                grant(Grantee::AnyKey, Right::Write),
                grant(Grantee::Key("lee".into()), Right::Full),
            ],
        };
        for (asker, right, open, closed) in [
            (None, Right::Read, true, false),
            (None, Right::Write, false, false),
            (None, Right::ReadAcl, false, false),
            (None, Right::Full, false, false),
            (Some("max"), Right::Read, true, false),
            (Some("max"), Right::Write, true, false),
            (Some("max"), Right::WriteAcl, false, false),
            (Some("lee"), Right::WriteAcl, true, true),
            (Some("lee"), Right::Read, true, true),
            (Some("kim"), Right::WriteAcl, true, true),
            (Some("kim"), Right::ReadAcl, true, true),
        ] {
            let gives = |public| acl.gives(asker, right, public);
            assert_eq!(
                (gives(Public::Counts), gives(Public::Ignored)),
                (open, closed),
                "{asker:?} {right:?}"
            );
        }
        assert!(acl.is_public() && !Acl::private("kim").is_public());
        let private = Acl::private("kim");
        assert!(private.gives(Some("kim"), Right::Read, Public::Ignored));
        assert!(!private.gives(None, Right::Read, Public::Counts));
    }
}
