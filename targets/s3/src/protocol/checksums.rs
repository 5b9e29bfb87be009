//! The checksums that clients send beside the bytes, in headers or trailers, and those of assembled objects.

use super::convert;
use crate::storage::{Checksum, ChecksumAlgorithm, ChecksumKind, ETag, UploadedPart};
use base64_simd::STANDARD;
use crc_fast::{CrcAlgorithm, checksum_combine};
use md5::{Digest as _, Md5};
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Sha1, Sha256};
use s3s::{S3Result, TrailingHeaders, dto, s3_error};

pub(crate) const ALGORITHMS: [ChecksumAlgorithm; 5] =
    [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Crc32c, ChecksumAlgorithm::Crc64Nvme, ChecksumAlgorithm::Sha1, ChecksumAlgorithm::Sha256];

/// The header, or trailer, of a checksum.
pub(crate) fn header(algorithm: ChecksumAlgorithm) -> &'static str {
    match algorithm {
        ChecksumAlgorithm::Crc32 => "x-amz-checksum-crc32",
        ChecksumAlgorithm::Crc32c => "x-amz-checksum-crc32c",
        ChecksumAlgorithm::Crc64Nvme => "x-amz-checksum-crc64nvme",
        ChecksumAlgorithm::Sha1 => "x-amz-checksum-sha1",
        ChecksumAlgorithm::Sha256 => "x-amz-checksum-sha256",
    }
}

/// The bytes of one checksum.
fn width(algorithm: ChecksumAlgorithm) -> usize {
    match algorithm {
        ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c => 4,
        ChecksumAlgorithm::Crc64Nvme => 8,
        ChecksumAlgorithm::Sha1 => 20,
        ChecksumAlgorithm::Sha256 => 32,
    }
}

/// Reads the five fields out of any input or part that has them.
macro_rules! given_checksums {
    ($input:expr) => {
        [
            (ChecksumAlgorithm::Crc32, $input.checksum_crc32.clone()),
            (ChecksumAlgorithm::Crc32c, $input.checksum_crc32c.clone()),
            (ChecksumAlgorithm::Crc64Nvme, $input.checksum_crc64nvme.clone()),
            (ChecksumAlgorithm::Sha1, $input.checksum_sha1.clone()),
            (ChecksumAlgorithm::Sha256, $input.checksum_sha256.clone()),
        ]
    };
}
pub(crate) use given_checksums;

/// Writes kept checksums into any output that has the five fields.
macro_rules! set_checksums {
    ($output:expr, $kept:expr) => {
        for checksum in $kept {
            let value = Some(checksum.value.clone());
            match checksum.algorithm {
                ChecksumAlgorithm::Crc32 => $output.checksum_crc32 = value,
                ChecksumAlgorithm::Crc32c => $output.checksum_crc32c = value,
                ChecksumAlgorithm::Crc64Nvme => $output.checksum_crc64nvme = value,
                ChecksumAlgorithm::Sha1 => $output.checksum_sha1 = value,
                ChecksumAlgorithm::Sha256 => $output.checksum_sha256 = value,
            }
        }
    };
}
pub(crate) use set_checksums;

/// As fields of the protocol.
pub(crate) fn document(kept: &[Checksum]) -> Option<dto::Checksum> {
    let mut out = dto::Checksum::default();
    set_checksums!(out, kept);
    out.checksum_type = kept.first().map(|first| convert::kind_name(first.kind));
    (!kept.is_empty()).then_some(out)
}

pub(crate) type Given = [(ChecksumAlgorithm, Option<String>); 5];

/// The checksums of a body: what is computed while it comes in, and what it must be.
pub(crate) struct Hashes {
    hasher: Option<ChecksumHasher>,
    /// With the value of a header; without one it comes as a trailer, or the client only asked for it.
    wanted: Vec<(ChecksumAlgorithm, Option<String>)>,
}

impl Hashes {
    /// From headers, the names of trailers, the algorithm named without a value, and one that is wanted in any case.
    pub(crate) fn new(given: Given, trailer: Option<&str>, named: Option<&str>, also: Option<ChecksumAlgorithm>) -> S3Result<Self> {
        let mut wanted: Vec<(ChecksumAlgorithm, Option<String>)> = Vec::new();
        for (algorithm, value) in given {
            if let Some(value) = value {
                check_shape(algorithm, &value)?;
                wanted.push((algorithm, Some(value)));
            }
        }
        if wanted.len() > 1 {
            return Err(s3_error!(InvalidRequest, "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."));
        }
        let trailing = trailer.unwrap_or_default().split(',').map(str::trim);
        let trailing = trailing.filter_map(|name| ALGORITHMS.into_iter().find(|algorithm| header(*algorithm).eq_ignore_ascii_case(name)));
        let named = named.map(convert::algorithm).transpose()?;
        for algorithm in trailing.chain(named.filter(|_| wanted.is_empty())).chain(also) {
            if wanted.iter().all(|(other, _)| *other != algorithm) {
                wanted.push((algorithm, None));
            }
        }
        Ok(Self { hasher: (!wanted.is_empty()).then(|| hasher(wanted.iter().map(|(algorithm, _)| *algorithm))), wanted })
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
    }

    /// The checksums to keep. Errors: `BadDigest` where one is not what was sent.
    pub(crate) fn finish(self, trailers: Option<&TrailingHeaders>) -> S3Result<Vec<Checksum>> {
        let Some(hasher) = self.hasher else { return Ok(Vec::new()) };
        let computed = hasher.finalize();
        let mut kept = Vec::with_capacity(self.wanted.len());
        for (algorithm, value) in self.wanted {
            let found = of(&computed, algorithm).unwrap_or_default();
            let expected = match value {
                Some(value) => Some(value),
                None => trailing_value(trailers, algorithm)?,
            };
            if expected.is_some_and(|expected| expected != found) {
                return Err(mismatch(algorithm));
            }
            kept.push(Checksum { algorithm, kind: ChecksumKind::FullObject, value: found });
        }
        Ok(kept)
    }
}

fn trailing_value(trailers: Option<&TrailingHeaders>, algorithm: ChecksumAlgorithm) -> S3Result<Option<String>> {
    let read = |headers: &http::HeaderMap| {
        headers.get(header(algorithm)).and_then(|value| value.to_str().ok()).map(|value| value.trim().to_owned())
    };
    let Some(value) = trailers.and_then(|trailers| trailers.read(read)).flatten() else { return Ok(None) };
    check_shape(algorithm, &value)?;
    Ok(Some(value))
}

fn mismatch(algorithm: ChecksumAlgorithm) -> s3s::S3Error {
    let name = convert::algorithm_name(algorithm);
    s3_error!(BadDigest, "The {} you specified did not match the calculated checksum.", name.as_str())
}

fn check_shape(algorithm: ChecksumAlgorithm, value: &str) -> S3Result<()> {
    match STANDARD.decode_to_vec(value) {
        Ok(bytes) if bytes.len() == width(algorithm) => Ok(()),
        _ => Err(s3_error!(InvalidRequest, "Value for {} header is invalid.", header(algorithm))),
    }
}

fn hasher(algorithms: impl Iterator<Item = ChecksumAlgorithm>) -> ChecksumHasher {
    let mut hasher = ChecksumHasher::default();
    for algorithm in algorithms {
        match algorithm {
            ChecksumAlgorithm::Crc32 => hasher.crc32 = Some(Crc32::new()),
            ChecksumAlgorithm::Crc32c => hasher.crc32c = Some(Crc32c::new()),
            ChecksumAlgorithm::Crc64Nvme => hasher.crc64nvme = Some(Crc64Nvme::new()),
            ChecksumAlgorithm::Sha1 => hasher.sha1 = Some(Sha1::new()),
            ChecksumAlgorithm::Sha256 => hasher.sha256 = Some(Sha256::new()),
        }
    }
    hasher
}

fn of(computed: &dto::Checksum, algorithm: ChecksumAlgorithm) -> Option<String> {
    match algorithm {
        ChecksumAlgorithm::Crc32 => computed.checksum_crc32.clone(),
        ChecksumAlgorithm::Crc32c => computed.checksum_crc32c.clone(),
        ChecksumAlgorithm::Crc64Nvme => computed.checksum_crc64nvme.clone(),
        ChecksumAlgorithm::Sha1 => computed.checksum_sha1.clone(),
        ChecksumAlgorithm::Sha256 => computed.checksum_sha256.clone(),
    }
}

/// The MD5 of the header `Content-MD5`. Errors: `InvalidDigest`.
pub(crate) fn content_md5(header: Option<&str>) -> S3Result<Option<[u8; 16]>> {
    let Some(text) = header else { return Ok(None) };
    let digest = STANDARD.decode_to_vec(text.trim()).ok().and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    match digest {
        Some(digest) => Ok(Some(digest)),
        None => Err(s3_error!(InvalidDigest, "The Content-MD5 you specified was invalid.")),
    }
}

/// How the checksum of an assembled object is made where the client did not say. Errors: `InvalidRequest` where it cannot be made so.
pub(crate) fn kind(algorithm: ChecksumAlgorithm, named: Option<&str>) -> S3Result<ChecksumKind> {
    let refused = |kind: &str| {
        let name = convert::algorithm_name(algorithm);
        s3_error!(InvalidRequest, "The {kind} checksum type cannot be used with the {} checksum algorithm.", name.as_str().to_lowercase())
    };
    match (named, algorithm) {
        (Some(dto::ChecksumType::COMPOSITE), ChecksumAlgorithm::Crc64Nvme) => Err(refused(dto::ChecksumType::COMPOSITE)),
        (Some(dto::ChecksumType::FULL_OBJECT), ChecksumAlgorithm::Sha1 | ChecksumAlgorithm::Sha256) => {
            Err(refused(dto::ChecksumType::FULL_OBJECT))
        }
        (Some(dto::ChecksumType::FULL_OBJECT), _) | (None, ChecksumAlgorithm::Crc64Nvme) => Ok(ChecksumKind::FullObject),
        (Some(dto::ChecksumType::COMPOSITE) | None, _) => Ok(ChecksumKind::Composite),
        (Some(_), _) => Err(s3_error!(InvalidRequest, "Value for x-amz-checksum-type header is invalid.")),
    }
}

/// The checksum of an object made of these parts. Errors: `InvalidRequest` where a part has none of this algorithm.
pub(crate) fn assembled(algorithm: ChecksumAlgorithm, kind: ChecksumKind, parts: &[UploadedPart]) -> S3Result<Checksum> {
    let digest = |part: &UploadedPart| {
        let found = part.checksums.iter().find(|checksum| checksum.algorithm == algorithm);
        let bytes = found.and_then(|checksum| STANDARD.decode_to_vec(&checksum.value).ok());
        bytes.ok_or_else(|| {
            s3_error!(InvalidRequest, "Part {} was uploaded without the checksum that the upload was started with.", part.number)
        })
    };
    let value = match kind {
        ChecksumKind::Composite => {
            let mut hasher = hasher(std::iter::once(algorithm));
            for part in parts {
                hasher.update(&digest(part)?);
            }
            format!("{}-{}", of(&hasher.finalize(), algorithm).unwrap_or_default(), parts.len())
        }
        ChecksumKind::FullObject => {
            let mut whole: Option<u64> = None;
            for part in parts {
                let own = digest(part)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
                whole = Some(whole.map_or(own, |before| checksum_combine(crc(algorithm), before, own, part.size)));
            }
            let bytes = whole.unwrap_or_default().to_be_bytes();
            STANDARD.encode_to_string(&bytes[8 - width(algorithm).min(8)..])
        }
    };
    Ok(Checksum { algorithm, kind, value })
}

/// [`kind`] lets none but the three CRCs be of a whole assembled object.
fn crc(algorithm: ChecksumAlgorithm) -> CrcAlgorithm {
    match algorithm {
        ChecksumAlgorithm::Crc32c => CrcAlgorithm::Crc32Iscsi,
        ChecksumAlgorithm::Crc64Nvme => CrcAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Sha1 | ChecksumAlgorithm::Sha256 => CrcAlgorithm::Crc32IsoHdlc,
    }
}

/// The ETag of an object made of parts with these; `None` where one is not an MD5.
pub(crate) fn etag_of_parts<'a>(etags: impl Iterator<Item = &'a str>) -> Option<ETag> {
    let (mut md5, mut parts) = (Md5::new(), 0);
    for etag in etags {
        if etag.len() != 32 || !etag.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        md5.update(u128::from_str_radix(etag, 16).ok()?.to_be_bytes());
        parts += 1;
    }
    Some(ETag { md5: md5.finalize().into(), parts })
}

/// Errors: `BadDigest` where the client expected another checksum of the assembled object.
pub(crate) fn check_assembled(computed: &Checksum, given: &Given) -> S3Result<()> {
    for (algorithm, value) in given {
        let Some(value) = value else { continue };
        let whole = |text: &str| text.split('-').next().unwrap_or(text).to_owned();
        if *algorithm != computed.algorithm || whole(value) != whole(&computed.value) {
            return Err(mismatch(*algorithm));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(algorithm: ChecksumAlgorithm, value: &str) -> Given {
        ALGORITHMS.map(|one| (one, (one == algorithm).then(|| value.to_owned())))
    }

    fn whole(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> Checksum {
        let mut hashes = Hashes::new(ALGORITHMS.map(|one| (one, None)), None, None, Some(algorithm)).unwrap();
        hashes.update(bytes);
        hashes.finish(None).unwrap().remove(0)
    }

    #[test]
    fn values_are_those_that_everybody_computes() {
        // Check values of the CRC catalogue over "123456789", and FIPS 180 over nothing.
        assert_eq!(whole(ChecksumAlgorithm::Crc32, b"123456789").value, STANDARD.encode_to_string(0xcbf4_3926_u32.to_be_bytes()));
        assert_eq!(whole(ChecksumAlgorithm::Crc32c, b"123456789").value, STANDARD.encode_to_string(0xe306_9283_u32.to_be_bytes()));
        assert_eq!(
            whole(ChecksumAlgorithm::Crc64Nvme, b"123456789").value,
            STANDARD.encode_to_string(0xae8b_1486_0a79_9888_u64.to_be_bytes())
        );
        assert_eq!(whole(ChecksumAlgorithm::Sha256, b"").value, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn another_value_than_sent_is_a_bad_digest_and_a_malformed_one_invalid() {
        let right = whole(ChecksumAlgorithm::Crc32c, b"bytes").value;
        for (value, good) in [(right.as_str(), true), ("AAAAAA==", false)] {
            let mut hashes = Hashes::new(given(ChecksumAlgorithm::Crc32c, value), None, None, None).unwrap();
            hashes.update(b"bytes");
            assert_eq!(hashes.finish(None).is_ok(), good);
        }
        for value in ["", "AAAA", "!", "AAAAAAAA"] {
            assert!(Hashes::new(given(ChecksumAlgorithm::Crc32c, value), None, None, None).is_err(), "{value}");
        }
    }

    #[test]
    fn the_crc_of_parts_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for algorithm in [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Crc32c, ChecksumAlgorithm::Crc64Nvme] {
            let part = |(index, bytes): (usize, &[u8])| UploadedPart {
                number: u32::try_from(index).unwrap() + 1,
                size: bytes.len() as u64,
                etag: ETag { md5: [0; 16], parts: 0 },
                modified_ms: 0,
                checksums: vec![whole(algorithm, bytes)],
            };
            let parts: Vec<UploadedPart> = bytes.chunks(33_333).enumerate().map(part).collect();
            assert_eq!(assembled(algorithm, ChecksumKind::FullObject, &parts).unwrap().value, whole(algorithm, &bytes).value);
            assert!(assembled(algorithm, ChecksumKind::Composite, &parts).unwrap().value.ends_with("-4"));
        }
    }

    #[test]
    fn the_etag_of_parts_is_the_md5_of_theirs() {
        // md5(md5("a") md5("b")).
        let parts = ["0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"];
        assert_eq!(etag_of_parts(parts.into_iter()).unwrap().to_string(), "96e024ba2074fe77e8e965ba43a704be-2");
        for wrong in ["", "0cc1", "0cc175b9c0f1b6a831c399e26977266é", "0cc175b9c0f1b6a831c399e26977266g"] {
            assert_eq!(etag_of_parts(std::iter::once(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn kinds_follow_the_algorithms() {
        assert_eq!(kind(ChecksumAlgorithm::Crc64Nvme, None).unwrap(), ChecksumKind::FullObject);
        assert_eq!(kind(ChecksumAlgorithm::Crc32, None).unwrap(), ChecksumKind::Composite);
        assert!(kind(ChecksumAlgorithm::Sha256, Some("FULL_OBJECT")).is_err());
        assert!(kind(ChecksumAlgorithm::Crc64Nvme, Some("COMPOSITE")).is_err());
        assert!(kind(ChecksumAlgorithm::Crc32, Some("OTHER")).is_err());
    }
}
