use super::object::{decode_etag, decode_pieces, encode_etag, encode_pieces};
use super::{
    Piece, decode_checksums, decode_content, decode_form, decode_named, encode_checksums,
    encode_content, encode_named, form,
};
use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{Checksum, ETag, NewMultipart, StorageResult, UploadedPart};
use bytes::Bytes;

/// An upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadRecord {
    pub(crate) started_ms: u64,
    pub(crate) new: NewMultipart,
}

impl UploadRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        out.u8(form(&self.new.content));
        out.u64(self.started_ms);
        out.text(&self.new.initiator);
        encode_named(&mut out, self.new.checksum);
        encode_content(&mut out, &self.new.content);
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the record of an upload");
        let form = decode_form(&mut read)?;
        let (started_ms, initiator, checksum) =
            (read.u64()?, read.text()?, decode_named(&mut read)?);
        let content = decode_content(&mut read, form)?;
        read.end()?;
        Ok(Self {
            started_ms,
            new: NewMultipart {
                content,
                checksum,
                initiator,
            },
        })
    }
}

/// A part of an upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartRecord {
    pub(crate) size: u64,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) checksums: Vec<Checksum>,
}

impl PartRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        out.u8(1);
        out.u64(self.size);
        encode_etag(&mut out, self.etag);
        out.u64(self.modified_ms);
        encode_pieces(&mut out, &self.pieces);
        encode_checksums(&mut out, &self.checksums);
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the record of a part");
        if read.u8()? != 1 {
            return Err(read.wrong());
        }
        let (size, etag, modified_ms) = (read.u64()?, decode_etag(&mut read)?, read.u64()?);
        let (pieces, checksums) = (decode_pieces(&mut read)?, decode_checksums(&mut read)?);
        read.end()?;
        Ok(Self {
            size,
            etag,
            modified_ms,
            pieces,
            checksums,
        })
    }

    pub(crate) fn numbered(self, number: u32) -> UploadedPart {
        UploadedPart {
            number,
            size: self.size,
            etag: self.etag,
            modified_ms: self.modified_ms,
            checksums: self.checksums,
        }
    }
}
