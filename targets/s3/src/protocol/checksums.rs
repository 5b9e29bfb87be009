//! The checksums that clients send beside the bytes, in headers or trailers, and those of assembled
//! objects.

use super::convert;
use super::errors::custom;
use super::hasher::Hasher;
use crate::storage::{Checksum, ChecksumAlgorithm, ChecksumKind, ETag, UploadedPart};
use base64_simd::STANDARD;
use crc_fast::{CrcAlgorithm, checksum_combine};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use md5::{Digest as _, Md5};
use s3s::{S3Result, TrailingHeaders, dto, s3_error};

/// What the headers of checksums begin with.
const PREFIX: &str = "x-amz-checksum-";

pub(crate) const ALGORITHMS: [ChecksumAlgorithm; 10] = [
    ChecksumAlgorithm::Crc32,
    ChecksumAlgorithm::Crc32c,
    ChecksumAlgorithm::Crc64Nvme,
    ChecksumAlgorithm::Sha1,
    ChecksumAlgorithm::Sha256,
    ChecksumAlgorithm::Sha512,
    ChecksumAlgorithm::Md5,
    ChecksumAlgorithm::Xxhash64,
    ChecksumAlgorithm::Xxhash3,
    ChecksumAlgorithm::Xxhash128,
];

/// The header, or trailer, of a checksum.
pub(crate) fn header(algorithm: ChecksumAlgorithm) -> &'static str {
    match algorithm {
        ChecksumAlgorithm::Crc32 => "x-amz-checksum-crc32",
        ChecksumAlgorithm::Crc32c => "x-amz-checksum-crc32c",
        ChecksumAlgorithm::Crc64Nvme => "x-amz-checksum-crc64nvme",
        ChecksumAlgorithm::Sha1 => "x-amz-checksum-sha1",
        ChecksumAlgorithm::Sha256 => "x-amz-checksum-sha256",
        ChecksumAlgorithm::Sha512 => "x-amz-checksum-sha512",
        ChecksumAlgorithm::Md5 => "x-amz-checksum-md5",
        ChecksumAlgorithm::Xxhash64 => "x-amz-checksum-xxhash64",
        ChecksumAlgorithm::Xxhash3 => "x-amz-checksum-xxhash3",
        ChecksumAlgorithm::Xxhash128 => "x-amz-checksum-xxhash128",
    }
}

/// The bytes of one checksum.
fn width(algorithm: ChecksumAlgorithm) -> usize {
    match algorithm {
        ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c => 4,
        ChecksumAlgorithm::Crc64Nvme | ChecksumAlgorithm::Xxhash64 | ChecksumAlgorithm::Xxhash3 => {
            8
        }
        ChecksumAlgorithm::Md5 | ChecksumAlgorithm::Xxhash128 => 16,
        ChecksumAlgorithm::Sha1 => 20,
        ChecksumAlgorithm::Sha256 => 32,
        ChecksumAlgorithm::Sha512 => 64,
    }
}

/// Whether the protocol library's documents have an element for it. The headers have one for each.
pub(crate) fn is_in_documents(algorithm: ChecksumAlgorithm) -> bool {
    match algorithm {
        ChecksumAlgorithm::Crc32
        | ChecksumAlgorithm::Crc32c
        | ChecksumAlgorithm::Crc64Nvme
        | ChecksumAlgorithm::Sha1
        | ChecksumAlgorithm::Sha256 => true,
        ChecksumAlgorithm::Sha512
        | ChecksumAlgorithm::Md5
        | ChecksumAlgorithm::Xxhash64
        | ChecksumAlgorithm::Xxhash3
        | ChecksumAlgorithm::Xxhash128 => false,
    }
}

/// Reads the five fields out of any part or form that has them.
macro_rules! given_checksums {
    ($input:expr) => {
        [
            (ChecksumAlgorithm::Crc32, $input.checksum_crc32.clone()),
            (ChecksumAlgorithm::Crc32c, $input.checksum_crc32c.clone()),
            (
                ChecksumAlgorithm::Crc64Nvme,
                $input.checksum_crc64nvme.clone(),
            ),
            (ChecksumAlgorithm::Sha1, $input.checksum_sha1.clone()),
            (ChecksumAlgorithm::Sha256, $input.checksum_sha256.clone()),
        ]
        .into_iter()
        .filter_map(|(algorithm, value)| Some((algorithm, value?)))
        .collect::<$crate::protocol::checksums::Given>()
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
                ChecksumAlgorithm::Sha512
                | ChecksumAlgorithm::Md5
                | ChecksumAlgorithm::Xxhash64
                | ChecksumAlgorithm::Xxhash3
                | ChecksumAlgorithm::Xxhash128 => {}
            }
        }
    };
}
pub(crate) use set_checksums;

/// The headers of the checksums for which the protocol library has no fields.
pub(crate) fn told(kept: &[Checksum]) -> HeaderMap {
    let pair = |checksum: &Checksum| {
        let value = HeaderValue::from_str(&checksum.value).ok()?;
        Some((HeaderName::from_static(header(checksum.algorithm)), value))
    };
    kept.iter()
        .filter(|checksum| !is_in_documents(checksum.algorithm))
        .filter_map(pair)
        .collect()
}

/// The checksums of a request's headers. Errors: `InvalidRequest` for one that is not known, which
/// would otherwise not be checked.
pub(crate) fn given_in(headers: &HeaderMap) -> S3Result<Given> {
    let mut given = Given::new();
    for (name, value) in headers {
        let Some(rest) = name
            .as_str()
            .strip_prefix(PREFIX)
            .filter(|rest| !["algorithm", "mode", "type"].contains(rest))
        else {
            continue;
        };
        let algorithm = ALGORITHMS
            .into_iter()
            .find(|algorithm| header(*algorithm)[PREFIX.len()..] == *rest);
        let algorithm = algorithm.ok_or_else(|| {
            s3_error!(
                InvalidRequest,
                "{} is no checksum that this server knows.",
                name.as_str()
            )
        })?;
        given.push((algorithm, value.to_str().unwrap_or_default().to_owned()));
    }
    Ok(given)
}

/// As fields of the protocol.
pub(crate) fn document(kept: &[Checksum]) -> Option<dto::Checksum> {
    let mut out = dto::Checksum::default();
    set_checksums!(out, kept);
    out.checksum_type = kept.first().map(|first| convert::kind_name(first.kind));
    (!kept.is_empty()).then_some(out)
}

pub(crate) type Given = Vec<(ChecksumAlgorithm, String)>;

/// Where the value of a checksum comes from.
enum Value {
    Header(String),
    /// After the body, as `x-amz-trailer` says: it must come.
    Trailer,
    /// The client asked for it, or this server keeps it.
    Computed,
}

/// The checksums of a body: what is computed while it comes in, and what it must be.
pub(crate) struct Hashes {
    wanted: Vec<(ChecksumAlgorithm, Value, Hasher)>,
}

impl Hashes {
    /// From headers, the names of trailers, the algorithm named without a value, and one that is
    /// wanted in any case. Where there is none, CRC64NVME is computed, as AWS does. Errors:
    /// `InvalidRequest` for a checksum that is not known, or several.
    pub(crate) fn new(
        given: Given,
        trailer: Option<&str>,
        named: Option<&str>,
        also: Option<ChecksumAlgorithm>,
    ) -> S3Result<Self> {
        let mut values = Vec::new();
        for (algorithm, value) in given {
            check_shape(algorithm, &value)?;
            values.push((algorithm, Value::Header(value)));
        }
        for name in trailer
            .into_iter()
            .flat_map(|names| names.split(','))
            .map(str::trim)
        {
            let algorithm = ALGORITHMS
                .into_iter()
                .find(|algorithm| header(*algorithm).eq_ignore_ascii_case(name));
            let unknown = || {
                s3_error!(
                    InvalidRequest,
                    "The value specified in the x-amz-trailer header is not supported: {}",
                    name
                )
            };
            values.push((algorithm.ok_or_else(unknown)?, Value::Trailer));
        }
        if values.len() > 1 {
            return Err(s3_error!(
                InvalidRequest,
                "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
            ));
        }
        let named = named.map(convert::algorithm).transpose()?;
        if let (Some(named), Some((given, _))) = (named, values.first())
            && named != *given
        {
            return Err(s3_error!(
                InvalidRequest,
                "Value for x-amz-sdk-checksum-algorithm header is invalid."
            ));
        }
        for algorithm in named.into_iter().chain(also) {
            if values.iter().all(|(other, _)| *other != algorithm) {
                values.push((algorithm, Value::Computed));
            }
        }
        if values.is_empty() {
            values.push((ChecksumAlgorithm::Crc64Nvme, Value::Computed));
        }
        let wanted = values
            .into_iter()
            .map(|(algorithm, value)| (algorithm, value, Hasher::new(algorithm)))
            .collect();
        Ok(Self { wanted })
    }

    /// One checksum of bytes that the client says nothing of.
    pub(crate) fn computed(algorithm: ChecksumAlgorithm) -> Self {
        Self {
            wanted: vec![(algorithm, Value::Computed, Hasher::new(algorithm))],
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        for (_, _, hasher) in &mut self.wanted {
            hasher.update(bytes);
        }
    }

    /// The checksums to keep. Errors: `BadDigest` where one is not what was sent,
    /// `MalformedTrailerError` where one was announced that did not come, or came without.
    pub(crate) fn finish(self, trailers: Option<&TrailingHeaders>) -> S3Result<Vec<Checksum>> {
        let announced = |algorithm| {
            self.wanted
                .iter()
                .any(|(known, value, _)| *known == algorithm && matches!(value, Value::Trailer))
        };
        let sent = trailers
            .and_then(|trailers| trailers.read(given_in))
            .transpose()?
            .unwrap_or_default();
        if sent.iter().any(|(algorithm, _)| !announced(*algorithm)) {
            return Err(malformed_trailer());
        }
        let mut kept = Vec::with_capacity(self.wanted.len());
        for (algorithm, value, hasher) in self.wanted {
            let found = STANDARD.encode_to_string(hasher.finish());
            let expected = match value {
                Value::Header(value) => Some(value),
                Value::Trailer => Some(trailing_value(&sent, algorithm)?),
                Value::Computed => None,
            };
            if expected.is_some_and(|expected| expected != found) {
                return Err(mismatch(algorithm));
            }
            kept.push(Checksum {
                algorithm,
                kind: ChecksumKind::FullObject,
                value: found,
            });
        }
        Ok(kept)
    }
}

fn malformed_trailer() -> s3s::S3Error {
    custom(
        "MalformedTrailerError",
        StatusCode::BAD_REQUEST,
        "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    )
}

fn trailing_value(sent: &Given, algorithm: ChecksumAlgorithm) -> S3Result<String> {
    let (_, value) = sent
        .iter()
        .find(|(known, _)| *known == algorithm)
        .ok_or_else(malformed_trailer)?;
    let value = value.trim();
    check_shape(algorithm, value)?;
    Ok(value.to_owned())
}

fn mismatch(algorithm: ChecksumAlgorithm) -> s3s::S3Error {
    s3_error!(
        BadDigest,
        "The {} you specified did not match the calculated checksum.",
        convert::algorithm_text(algorithm)
    )
}

fn check_shape(algorithm: ChecksumAlgorithm, value: &str) -> S3Result<()> {
    match STANDARD.decode_to_vec(value) {
        Ok(bytes) if bytes.len() == width(algorithm) => Ok(()),
        _ => Err(s3_error!(
            InvalidRequest,
            "Value for {} header is invalid.",
            header(algorithm)
        )),
    }
}

/// The MD5 of the header `Content-MD5`. Errors: `InvalidDigest`.
pub(crate) fn content_md5(header: Option<&str>) -> S3Result<Option<[u8; 16]>> {
    let Some(text) = header else { return Ok(None) };
    let digest = STANDARD
        .decode_to_vec(text.trim())
        .ok()
        .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    match digest {
        Some(digest) => Ok(Some(digest)),
        None => Err(s3_error!(
            InvalidDigest,
            "The Content-MD5 you specified was invalid."
        )),
    }
}

/// How the checksum of an assembled object is made where the client did not say. Errors:
/// `InvalidRequest` where it cannot be made so.
pub(crate) fn kind(algorithm: ChecksumAlgorithm, named: Option<&str>) -> S3Result<ChecksumKind> {
    let refused = |kind: &str| {
        let name = convert::algorithm_text(algorithm).to_lowercase();
        s3_error!(
            InvalidRequest,
            "The {kind} checksum type cannot be used with the {name} checksum algorithm."
        )
    };
    match (named, algorithm) {
        (Some(dto::ChecksumType::COMPOSITE), ChecksumAlgorithm::Crc64Nvme) => {
            Err(refused(dto::ChecksumType::COMPOSITE))
        }
        (_, algorithm) if !is_in_documents(algorithm) => Err(s3_error!(
            NotImplemented,
            "Uploads in parts with {} are not implemented; a single PUT may have it",
            convert::algorithm_text(algorithm)
        )),
        (
            Some(dto::ChecksumType::FULL_OBJECT),
            ChecksumAlgorithm::Sha1 | ChecksumAlgorithm::Sha256,
        ) => Err(refused(dto::ChecksumType::FULL_OBJECT)),
        (Some(dto::ChecksumType::FULL_OBJECT), _) | (None, ChecksumAlgorithm::Crc64Nvme) => {
            Ok(ChecksumKind::FullObject)
        }
        (Some(dto::ChecksumType::COMPOSITE) | None, _) => Ok(ChecksumKind::Composite),
        (Some(_), _) => Err(s3_error!(
            InvalidRequest,
            "Value for x-amz-checksum-type header is invalid."
        )),
    }
}

/// The checksum of an object made of these parts. Errors: `InvalidRequest` where a part has none of
/// this algorithm.
pub(crate) fn assembled(
    algorithm: ChecksumAlgorithm,
    kind: ChecksumKind,
    parts: &[UploadedPart],
) -> S3Result<Checksum> {
    let digest = |part: &UploadedPart| {
        let found = part
            .checksums
            .iter()
            .find(|checksum| checksum.algorithm == algorithm);
        let bytes = found.and_then(|checksum| STANDARD.decode_to_vec(&checksum.value).ok());
        bytes.ok_or_else(|| {
            s3_error!(
                InvalidRequest,
                "Part {} was uploaded without the checksum that the upload was started with.",
                part.number
            )
        })
    };
    let value = match kind {
        ChecksumKind::Composite => {
            let mut hasher = Hasher::new(algorithm);
            for part in parts {
                hasher.update(&digest(part)?);
            }
            format!(
                "{}-{}",
                STANDARD.encode_to_string(hasher.finish()),
                parts.len()
            )
        }
        ChecksumKind::FullObject => {
            let mut whole: Option<u64> = None;
            for part in parts {
                let own = digest(part)?
                    .iter()
                    .fold(0, |number, byte| number << 8 | u64::from(*byte));
                whole = Some(whole.map_or(own, |before| {
                    checksum_combine(crc(algorithm), before, own, part.size)
                }));
            }
            let bytes = whole.unwrap_or_default().to_be_bytes();
            STANDARD.encode_to_string(&bytes[8 - width(algorithm).min(8)..])
        }
    };
    Ok(Checksum {
        algorithm,
        kind,
        value,
    })
}

/// [`kind`] lets none but the three CRCs be of a whole assembled object.
fn crc(algorithm: ChecksumAlgorithm) -> CrcAlgorithm {
    match algorithm {
        ChecksumAlgorithm::Crc32c => CrcAlgorithm::Crc32Iscsi,
        ChecksumAlgorithm::Crc64Nvme => CrcAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Crc32
        | ChecksumAlgorithm::Sha1
        | ChecksumAlgorithm::Sha256
        | ChecksumAlgorithm::Sha512
        | ChecksumAlgorithm::Md5
        | ChecksumAlgorithm::Xxhash64
        | ChecksumAlgorithm::Xxhash3
        | ChecksumAlgorithm::Xxhash128 => CrcAlgorithm::Crc32IsoHdlc,
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
    Some(ETag {
        md5: md5.finalize().into(),
        parts,
    })
}

/// Errors: `BadDigest` where the client expected another checksum of the assembled object.
pub(crate) fn check_assembled(computed: &Checksum, given: &Given) -> S3Result<()> {
    for (algorithm, value) in given {
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
        vec![(algorithm, value.to_owned())]
    }

    fn whole(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> Checksum {
        let mut hashes = Hashes::computed(algorithm);
        hashes.update(bytes);
        hashes.finish(None).unwrap().remove(0)
    }

    #[test]
    fn values_are_those_that_everybody_computes() {
        // Check values of the CRC catalogue over "123456789", and FIPS 180 over nothing.
        assert_eq!(
            whole(ChecksumAlgorithm::Crc32, b"123456789").value,
            STANDARD.encode_to_string(0xcbf4_3926_u32.to_be_bytes())
        );
        assert_eq!(
            whole(ChecksumAlgorithm::Crc32c, b"123456789").value,
            STANDARD.encode_to_string(0xe306_9283_u32.to_be_bytes())
        );
        assert_eq!(
            whole(ChecksumAlgorithm::Crc64Nvme, b"123456789").value,
            STANDARD.encode_to_string(0xae8b_1486_0a79_9888_u64.to_be_bytes())
        );
        assert_eq!(
            whole(ChecksumAlgorithm::Sha256, b"").value,
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
        // RFC 1321, and xxHash's own values for nothing with seed 0.
        let hex = |algorithm| {
            let bytes = STANDARD.decode_to_vec(whole(algorithm, b"").value).unwrap();
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        assert_eq!(
            hex(ChecksumAlgorithm::Md5),
            "d41d8cd98f00b204e9800998ecf8427e"
        );
        assert!(
            hex(ChecksumAlgorithm::Sha512)
                .starts_with("cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc")
        );
        assert_eq!(hex(ChecksumAlgorithm::Xxhash64), "ef46db3751d8e999");
        assert_eq!(hex(ChecksumAlgorithm::Xxhash3), "2d06800538d394c2");
        assert_eq!(
            hex(ChecksumAlgorithm::Xxhash128),
            "99aa06d3014798d86001c324468d497f"
        );
    }

    #[test]
    fn another_value_than_sent_is_a_bad_digest_and_a_malformed_one_invalid() {
        let right = whole(ChecksumAlgorithm::Crc32c, b"bytes").value;
        for (value, good) in [(right.as_str(), true), ("AAAAAA==", false)] {
            let mut hashes =
                Hashes::new(given(ChecksumAlgorithm::Crc32c, value), None, None, None).unwrap();
            hashes.update(b"bytes");
            assert_eq!(hashes.finish(None).is_ok(), good);
        }
        for value in ["", "AAAA", "!", "AAAAAAAA"] {
            assert!(
                Hashes::new(given(ChecksumAlgorithm::Crc32c, value), None, None, None).is_err(),
                "{value}"
            );
        }
    }

    #[test]
    fn each_algorithm_is_compared_and_one_that_is_not_known_is_named() {
        for algorithm in ALGORITHMS {
            let right = whole(algorithm, b"bytes").value;
            let wrong = STANDARD.encode_to_string(vec![0; width(algorithm)]);
            for (value, good) in [(right, true), (wrong, false)] {
                let headers = HeaderMap::from_iter([(
                    HeaderName::from_static(header(algorithm)),
                    HeaderValue::from_str(&value).unwrap(),
                )]);
                let mut hashes =
                    Hashes::new(given_in(&headers).unwrap(), None, None, None).unwrap();
                hashes.update(b"bytes");
                assert_eq!(hashes.finish(None).is_ok(), good, "{algorithm:?}");
            }
        }
        let named = |name| {
            given_in(&HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_static("AAAAAA=="),
            )]))
        };
        assert!(
            named("x-amz-checksum-bogus")
                .unwrap_err()
                .message()
                .unwrap()
                .contains("x-amz-checksum-bogus")
        );
        assert!(
            named("x-amz-checksum-mode").unwrap().is_empty()
                && named("x-amz-checksum-type").unwrap().is_empty()
        );
    }

    #[test]
    fn a_trailer_that_was_announced_must_come_and_one_that_is_not_known_is_refused() {
        let code = |trailer| {
            Hashes::new(Given::new(), Some(trailer), None, None)
                .map(|hashes| hashes.finish(None).unwrap_err())
        };
        assert_eq!(
            code("x-amz-checksum-sha512").unwrap().code().as_str(),
            "MalformedTrailerError"
        );
        for trailer in [
            "x-amz-checksum-bogus",
            "x-other",
            "x-amz-checksum-crc32, x-amz-checksum-md5",
        ] {
            assert_eq!(
                code(trailer).unwrap_err().code().as_str(),
                "InvalidRequest",
                "{trailer}"
            );
        }
    }

    #[test]
    fn where_no_checksum_is_given_one_is_kept() {
        let mut hashes = Hashes::new(Given::new(), None, None, None).unwrap();
        hashes.update(b"bytes");
        assert_eq!(
            hashes.finish(None).unwrap(),
            [whole(ChecksumAlgorithm::Crc64Nvme, b"bytes")]
        );
    }

    #[test]
    fn the_crc_of_parts_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for algorithm in [
            ChecksumAlgorithm::Crc32,
            ChecksumAlgorithm::Crc32c,
            ChecksumAlgorithm::Crc64Nvme,
        ] {
            let part = |(index, bytes): (usize, &[u8])| UploadedPart {
                number: u32::try_from(index).unwrap() + 1,
                size: bytes.len() as u64,
                etag: ETag {
                    md5: [0; 16],
                    parts: 0,
                },
                modified_ms: 0,
                checksums: vec![whole(algorithm, bytes)],
            };
            let parts: Vec<UploadedPart> = bytes.chunks(33_333).enumerate().map(part).collect();
            assert_eq!(
                assembled(algorithm, ChecksumKind::FullObject, &parts)
                    .unwrap()
                    .value,
                whole(algorithm, &bytes).value
            );
            assert!(
                assembled(algorithm, ChecksumKind::Composite, &parts)
                    .unwrap()
                    .value
                    .ends_with("-4")
            );
        }
    }

    #[test]
    fn the_etag_of_parts_is_the_md5_of_theirs() {
        // md5(md5("a") md5("b")).
        let parts = [
            "0cc175b9c0f1b6a831c399e269772661",
            "92eb5ffee6ae2fec3ad71c777531578f",
        ];
        assert_eq!(
            etag_of_parts(parts.into_iter()).unwrap().to_string(),
            "96e024ba2074fe77e8e965ba43a704be-2"
        );
        for wrong in [
            "",
            "0cc1",
            "0cc175b9c0f1b6a831c399e26977266é",
            "0cc175b9c0f1b6a831c399e26977266g",
        ] {
            assert_eq!(etag_of_parts(std::iter::once(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn kinds_follow_the_algorithms() {
        assert_eq!(
            kind(ChecksumAlgorithm::Crc64Nvme, None).unwrap(),
            ChecksumKind::FullObject
        );
        assert_eq!(
            kind(ChecksumAlgorithm::Crc32, None).unwrap(),
            ChecksumKind::Composite
        );
        assert!(kind(ChecksumAlgorithm::Sha256, Some("FULL_OBJECT")).is_err());
        assert!(kind(ChecksumAlgorithm::Crc64Nvme, Some("COMPOSITE")).is_err());
        assert!(kind(ChecksumAlgorithm::Crc32, Some("OTHER")).is_err());
    }
}
