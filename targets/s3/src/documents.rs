//! The documents of buckets as they are kept: the XML of the protocol, and of policies the JSON
//! that was put.

use s3s::dto::PublicAccessBlockConfiguration;
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

/// Whether a block of public access makes policies void for those who are not known. One that
/// cannot be read does.
pub(crate) fn restricts_public(text: &[u8]) -> bool {
    read::<PublicAccessBlockConfiguration>(text)
        .is_none_or(|block| block.restrict_public_buckets == Some(true))
}

/// Whether a block of public access refuses policies that allow everybody something.
pub(crate) fn blocks_public_policies(text: &[u8]) -> bool {
    read::<PublicAccessBlockConfiguration>(text)
        .is_none_or(|block| block.block_public_policy == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(restricts_public(b"<torn") && blocks_public_policies(b""));
    }
}
