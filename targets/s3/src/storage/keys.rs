//! Under which keys rows lie. Numbers are big-endian so that rows lie in their order; an S3 key
//! ends in NUL, which no key holds, so that the rows of a key lie before those of every longer key
//! that begins with it.

use super::{BucketDocument, StorageError, StorageResult};
use bytes::Bytes;

/// The longest key in bytes, as S3 has it.
const LONGEST_KEY: usize = 1024;

/// Refuses what cannot be a key.
pub(crate) fn check_key(key: &str) -> StorageResult<()> {
    match key.len() {
        0 => Err(StorageError::InvalidKey),
        bytes if bytes > LONGEST_KEY => Err(StorageError::KeyTooLong { bytes }),
        _ if key.contains('\0') => Err(StorageError::InvalidKey),
        _ => Ok(()),
    }
}

/// Under which key a document of a bucket lies.
pub(crate) fn document(bucket: u64, document: BucketDocument) -> Bytes {
    Bytes::from([bucket.to_be_bytes(), document.code().to_be_bytes()].concat())
}

/// Where all rows of a bucket lie in a table.
pub(crate) fn rows_of(bucket: u64) -> (Bytes, Option<Bytes>) {
    let from = id(bucket);
    let to = after_prefix(&from);
    (from, to)
}

/// Bucket and key, or bucket and a prefix of keys.
pub(crate) fn object(bucket: u64, key: &str) -> Bytes {
    let mut out = Vec::with_capacity(8 + key.len());
    out.extend_from_slice(&bucket.to_be_bytes());
    out.extend_from_slice(key.as_bytes());
    Bytes::from(out)
}

/// One of several rows of a key, by a number.
pub(crate) fn numbered(bucket: u64, key: &str, number: u64) -> Bytes {
    let mut out = Vec::with_capacity(17 + key.len());
    out.extend_from_slice(&bucket.to_be_bytes());
    out.extend_from_slice(key.as_bytes());
    out.push(0);
    out.extend_from_slice(&number.to_be_bytes());
    Bytes::from(out)
}

/// Where a version that is not in the live table lies: the newest first.
pub(crate) fn history(bucket: u64, key: &str, seq: u64) -> Bytes {
    numbered(bucket, key, !seq)
}

/// The first place after all numbered rows of a key.
pub(crate) fn after_numbered(bucket: u64, key: &str) -> Bytes {
    let mut out = object(bucket, key).to_vec();
    out.push(1);
    Bytes::from(out)
}

pub(crate) fn part(upload: u64, number: u32) -> Bytes {
    let mut out = Vec::with_capacity(12);
    out.extend_from_slice(&upload.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    Bytes::from(out)
}

pub(crate) fn id(id: u64) -> Bytes {
    Bytes::copy_from_slice(&id.to_be_bytes())
}

pub(crate) fn read_id(row: &[u8]) -> StorageResult<u64> {
    match row.try_into() {
        Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
        Err(_) => Err(StorageError::corrupt("a row that should be a number")),
    }
}

/// The S3 key of a row of `object`.
pub(crate) fn key_of(row: &[u8]) -> StorageResult<&str> {
    let key = row
        .get(8..)
        .ok_or_else(|| StorageError::corrupt("a row without a key"))?;
    std::str::from_utf8(key).or(Err(StorageError::corrupt("a key that is not text")))
}

/// The S3 key and the number of a row of `numbered`.
pub(crate) fn numbered_key_of(row: &[u8]) -> StorageResult<(&str, u64)> {
    let cut = row
        .len()
        .checked_sub(9)
        .filter(|cut| *cut >= 8)
        .ok_or_else(|| StorageError::corrupt("a row without a number"))?;
    Ok((key_of(&row[..cut])?, read_id(&row[cut + 1..])?))
}

/// The number at the end of a row of `part`.
pub(crate) fn part_number_of(row: &[u8]) -> StorageResult<u32> {
    match row.get(8..).map(<[u8; 4]>::try_from) {
        Some(Ok(bytes)) => Ok(u32::from_be_bytes(bytes)),
        Some(Err(_)) | None => Err(StorageError::corrupt("a row that should be a part")),
    }
}

/// The first place after everything that begins with `prefix`; `None` where there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut out = prefix[..=last].to_vec();
    out[last] += 1;
    Some(Bytes::from(out))
}

/// The first place after one row.
pub(crate) fn after_row(row: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(row.len() + 1);
    out.extend_from_slice(row);
    out.push(0);
    Bytes::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_lie_in_the_order_of_keys_and_newest_first(a in "[^\0]{0,6}", b in "[^\0]{0,6}", x: u64, y: u64) {
            let order = (a.as_bytes(), std::cmp::Reverse(x)).cmp(&(b.as_bytes(), std::cmp::Reverse(y)));
            prop_assert_eq!(history(1, &a, x).cmp(&history(1, &b, y)), order);
            let row = history(1, &a, x);
            prop_assert_eq!(numbered_key_of(&row).unwrap(), (a.as_str(), !x));
            prop_assert!(history(1, &a, x) < after_numbered(1, &a));
        }

        #[test]
        fn the_place_after_a_prefix_divides_what_begins_with_it_from_the_rest(prefix in proptest::collection::vec(any::<u8>(), 1..4), other in proptest::collection::vec(any::<u8>(), 0..6)) {
            if let Some(end) = after_prefix(&prefix) {
                prop_assert_eq!(other.as_slice() >= prefix.as_slice() && other.as_slice() < end.as_ref(), other.starts_with(&prefix));
            }
        }
    }

    #[test]
    fn keys_that_s3_refuses_are_refused_and_odd_ones_are_not() {
        for bad in ["", "a\0b", &"x".repeat(1025)] {
            assert!(check_key(bad).is_err());
        }
        for odd in [
            "..",
            "/",
            "//",
            "../../etc/passwd",
            &"x".repeat(1024),
            "ключ/鍵/🔑",
            "\u{1}",
            " ",
        ] {
            assert!(check_key(odd).is_ok());
        }
    }
}
