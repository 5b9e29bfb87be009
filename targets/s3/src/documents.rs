//! The documents of buckets as they are kept: the XML of the protocol, and of policies the JSON
//! that was put.

use crate::acl::Ownership;
use s3s::dto::{OwnershipControls, OwnershipControlsRule, PublicAccessBlockConfiguration};
use s3s::xml::{Deserialize, Deserializer, Serialize, Serializer};

/// A document as it is kept; `None` where it cannot be written, which no document that was read is.
pub(crate) fn written<T: Serialize>(document: &T) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = Serializer::new(&mut out);
    document.serialize(&mut serializer).ok()?;
    Some(out)
}

/// A document that was kept.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Option<T> {
    let mut deserializer = Deserializer::new(text);
    let document = T::deserialize(&mut deserializer).ok()?;
    deserializer.expect_eof().ok()?;
    Some(document)
}

/// Whether a block of public access says this. One that cannot be read says everything.
fn says(text: &[u8], what: impl Fn(&PublicAccessBlockConfiguration) -> Option<bool>) -> bool {
    read::<PublicAccessBlockConfiguration>(text).is_none_or(|block| what(&block) == Some(true))
}

/// Whether a block of public access makes policies void for those who are not known.
pub(crate) fn restricts_public(text: &[u8]) -> bool {
    says(text, |block| block.restrict_public_buckets)
}

/// Whether a block of public access refuses policies that allow everybody something.
pub(crate) fn blocks_public_policies(text: &[u8]) -> bool {
    says(text, |block| block.block_public_policy)
}

/// Whether a block of public access makes void what access control lists grant to more than single
/// keys.
pub(crate) fn ignores_public_lists(text: &[u8]) -> bool {
    says(text, |block| block.ignore_public_acls)
}

/// Whether a block of public access refuses access control lists that grant something to more than
/// single keys.
pub(crate) fn blocks_public_lists(text: &[u8]) -> bool {
    says(text, |block| block.block_public_acls)
}

/// Whose the objects of a bucket are. Controls that cannot be read turn lists off.
pub(crate) fn ownership(text: &[u8]) -> Ownership {
    let rules = read::<OwnershipControls>(text).map_or_else(Vec::new, |controls| controls.rules);
    match &rules[..] {
        [rule] => Ownership::parse(rule.object_ownership.as_str()).unwrap_or_default(),
        _ => Ownership::default(),
    }
}

/// The controls that say whose the objects of a bucket are.
pub(crate) fn ownership_controls(ownership: Ownership) -> OwnershipControls {
    let object_ownership = ownership.name().to_owned().into();
    OwnershipControls {
        rules: vec![OwnershipControlsRule { object_ownership }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ownership_reads_back_and_what_cannot_be_read_turns_lists_off() {
        for ownership in [
            Ownership::BucketOwnerEnforced,
            Ownership::BucketOwnerPreferred,
            Ownership::ObjectWriter,
        ] {
            let text = written(&ownership_controls(ownership)).unwrap();
            assert_eq!(super::ownership(&text), ownership);
        }
        assert_eq!(super::ownership(b"<torn"), Ownership::BucketOwnerEnforced);
    }

    #[test]
    fn documents_read_back() {
        let block = PublicAccessBlockConfiguration {
            restrict_public_buckets: Some(true),
            block_public_policy: Some(false),
            ..Default::default()
        };
        let text = written(&block).unwrap();
        assert_eq!(read::<PublicAccessBlockConfiguration>(&text), Some(block));
        assert!(restricts_public(&text) && !blocks_public_policies(&text));
        assert!(!ignores_public_lists(&text) && !blocks_public_lists(&text));
        assert!(restricts_public(b"<torn") && blocks_public_policies(b""));
        assert!(ignores_public_lists(b"<torn") && blocks_public_lists(b""));
    }
}
