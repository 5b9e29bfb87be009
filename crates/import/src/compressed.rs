//! Compressed results: warp writes zstd and k6 gzip by themselves, so that both are read. Other
//! compressions are the user's, and refused.

use crate::error::{ImportError, Location, too_long};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::borrow::Cow;
use std::io::Read;

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const GZIP: &[u8] = b"\x1f\x8b";
const OTHERS: [(&[u8], &str, &str); 2] = [
    (b"\xfd7zXZ\0", "xz", "xz -dk"),
    (b"BZh", "bzip2", "bzip2 -dk"),
];

/// The bytes as their tool meant them; no more of them than are read.
pub(crate) fn plain<'a>(bytes: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>, ImportError> {
    if let Some((_, with, command)) = OTHERS.iter().find(|(magic, _, _)| bytes.starts_with(magic)) {
        return Err(ImportError::Compressed {
            file: name.to_owned(),
            with,
            command: format!("{command} '{name}'"),
        });
    }
    if bytes.starts_with(ZSTD) {
        return zstd(bytes)
            .map_err(|reason| damaged(name, "zstd", reason))
            .and_then(|out| admitted(out, name))
            .map(Cow::Owned);
    }
    if bytes.starts_with(GZIP) {
        let out = limited(MultiGzDecoder::new(bytes))
            .map_err(|error| damaged(name, "gzip", error.to_string()))?;
        return admitted(out, name).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(bytes))
}

/// All frames, one after the other, each with its checksum where it has one.
fn zstd(mut bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    while !bytes.is_empty() && out.len() <= crate::MOST_BYTES {
        let mut decoder = StreamingDecoder::new(&mut bytes).map_err(|error| error.to_string())?;
        let room = crate::MOST_BYTES + 1 - out.len();
        decoder
            .by_ref()
            .take(units::lossless::to_u64(room))
            .read_to_end(&mut out)
            .map_err(|error| error.to_string())?;
        let decoder = decoder.into_frame_decoder();
        let (written, calculated) = (
            decoder.get_checksum_from_data(),
            decoder.get_calculated_checksum(),
        );
        if out.len() <= crate::MOST_BYTES && written.is_some() && written != calculated {
            return Err("its checksum is not that of its content".into());
        }
    }
    Ok(out)
}

fn limited(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader
        .take(units::lossless::to_u64(crate::MOST_BYTES + 1))
        .read_to_end(&mut out)?;
    Ok(out)
}

fn admitted(out: Vec<u8>, name: &str) -> Result<Vec<u8>, ImportError> {
    if out.len() > crate::MOST_BYTES {
        return Err(too_long(
            name,
            out.len(),
            crate::MOST_BYTES,
            "split the file, or import a summary of it",
        ));
    }
    Ok(out)
}

fn damaged(name: &str, with: &'static str, reason: String) -> ImportError {
    ImportError::Damaged {
        file: name.to_owned(),
        with,
        place: Location::Whole,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a":1}` and the end of a line, as the zstd program compresses them, with its checksum.
    const FRAME: &[u8] = &[
        40, 181, 47, 253, 4, 88, 65, 0, 0, 123, 34, 97, 34, 58, 49, 125, 10, 226, 239, 236, 224,
    ];

    #[test]
    fn frames_are_read_one_after_the_other() {
        assert_eq!(&*plain(FRAME, "r").unwrap(), b"{\"a\":1}\n");
        let twice = [FRAME, FRAME].concat();
        assert_eq!(plain(&twice, "r").unwrap().len(), 16);
        assert!(matches!(plain(b"{}", "r"), Ok(Cow::Borrowed(b"{}"))));
    }

    #[test]
    fn what_is_damaged_or_cut_off_is_refused() {
        let mut wrong = FRAME.to_vec();
        let last = wrong.len() - 1;
        wrong[last] ^= 1;
        assert!(
            plain(&wrong, "r.zst")
                .unwrap_err()
                .to_string()
                .contains("checksum")
        );
        for end in 4..last {
            assert!(plain(&FRAME[..end], "r.zst").is_err(), "{end}");
        }
        assert!(
            plain(b"\x1f\x8b\x08\0", "r.gz")
                .unwrap_err()
                .to_string()
                .contains("gzip")
        );
    }

    #[test]
    fn other_compressions_are_refused_with_the_command() {
        let error = plain(b"BZh9....", "r.csv.bz2").unwrap_err().to_string();
        assert_eq!(
            error,
            "r.csv.bz2 is compressed with bzip2: decompress it first: bzip2 -dk 'r.csv.bz2'"
        );
    }

    #[test]
    fn gzip_is_read() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"{}").unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(&*plain(&bytes, "r.gz").unwrap(), b"{}");
    }
}
