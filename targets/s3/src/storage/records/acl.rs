//! Access control lists as bytes. They stand last in a record, behind its lock, and a record
//! without one is as it was before there were any.

use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{Acl, Grant, Grantee, Right, StorageResult};
use bytes::Bytes;

/// What the list of a bucket, which is a document of its own, begins with.
const FORM: u8 = 1;

fn right_code(right: Right) -> u8 {
    match right {
        Right::Read => 1,
        Right::Write => 2,
        Right::ReadAcl => 3,
        Right::WriteAcl => 4,
        Right::Full => 5,
    }
}

/// The owner, then for each grant 1 and a key, 2 for any key or 3 for everybody, and the right.
pub(super) fn encode_acl(out: &mut Encoder, acl: &Acl) {
    out.text(&acl.owner);
    out.count(acl.grants.len());
    for Grant { grantee, right } in &acl.grants {
        match grantee {
            Grantee::Key(key) => {
                out.u8(1);
                out.text(key);
            }
            Grantee::AnyKey => out.u8(2),
            Grantee::Everybody => out.u8(3),
        }
        out.u8(right_code(*right));
    }
}

pub(super) fn decode_acl(read: &mut Decoder<'_>) -> StorageResult<Acl> {
    let (owner, count) = (read.text()?, read.count()?);
    let one = |read: &mut Decoder<'_>| {
        let grantee = match read.u8()? {
            1 => Grantee::Key(read.text()?),
            2 => Grantee::AnyKey,
            3 => Grantee::Everybody,
            _ => return Err(read.wrong()),
        };
        let right = match read.u8()? {
            1 => Right::Read,
            2 => Right::Write,
            3 => Right::ReadAcl,
            4 => Right::WriteAcl,
            5 => Right::Full,
            _ => return Err(read.wrong()),
        };
        Ok(Grant { grantee, right })
    };
    let grants = (0..count)
        .map(|_| one(read))
        .collect::<StorageResult<_>>()?;
    Ok(Acl { owner, grants })
}

/// The list of a bucket as its document.
pub(crate) fn bucket_acl(acl: &Acl) -> Bytes {
    let mut out = Encoder::new();
    out.u8(FORM);
    encode_acl(&mut out, acl);
    out.finish()
}

/// Errors: `Corrupt` for what is no list, which then grants nothing.
pub(crate) fn read_bucket_acl(bytes: &[u8]) -> StorageResult<Acl> {
    let mut read = Decoder::new(bytes, "the access control list of a bucket");
    if read.u8()? != FORM {
        return Err(read.wrong());
    }
    let acl = decode_acl(&mut read)?;
    read.end()?;
    Ok(acl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back_and_every_shorter_one_is_corrupt() {
        let grants = [
            (Grantee::Everybody, Right::Read),
            (Grantee::AnyKey, Right::Write),
            (Grantee::Key("lee".into()), Right::ReadAcl),
            (Grantee::Key("kim".into()), Right::WriteAcl),
            (Grantee::Key(String::new()), Right::Full),
        ];
        let acl = Acl {
            owner: "kim".into(),
            grants: grants
                .map(|(grantee, right)| Grant { grantee, right })
                .into(),
        };
        let bytes = bucket_acl(&acl);
        assert_eq!(read_bucket_acl(&bytes).unwrap(), acl);
        assert!((0..bytes.len()).all(|cut| read_bucket_acl(&bytes[..cut]).is_err()));
        assert!(read_bucket_acl(&[&bytes[..], &[0]].concat()).is_err());
    }
}
