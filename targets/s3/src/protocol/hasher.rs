//! The arithmetic of checksums.

use crate::storage::ChecksumAlgorithm;
use md5::Md5;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Sha1, Sha256};
use sha2::Sha512;
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh64::Xxh64;

/// One checksum under way.
pub(crate) enum Hasher {
    Crc32(Crc32),
    Crc32c(Crc32c),
    Crc64Nvme(Crc64Nvme),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Box<Sha512>),
    Md5(Md5),
    Xxhash64(Box<Xxh64>),
    Xxhash3(Box<Xxh3>),
    Xxhash128(Box<Xxh3>),
}

impl Hasher {
    pub(crate) fn new(algorithm: ChecksumAlgorithm) -> Self {
        match algorithm {
            ChecksumAlgorithm::Crc32 => Self::Crc32(Crc32::new()),
            ChecksumAlgorithm::Crc32c => Self::Crc32c(Crc32c::new()),
            ChecksumAlgorithm::Crc64Nvme => Self::Crc64Nvme(Crc64Nvme::new()),
            ChecksumAlgorithm::Sha1 => Self::Sha1(Sha1::new()),
            ChecksumAlgorithm::Sha256 => Self::Sha256(Sha256::new()),
            ChecksumAlgorithm::Sha512 => Self::Sha512(Box::default()),
            ChecksumAlgorithm::Md5 => Self::Md5(Md5::default()),
            ChecksumAlgorithm::Xxhash64 => Self::Xxhash64(Box::new(Xxh64::new(0))),
            ChecksumAlgorithm::Xxhash3 => Self::Xxhash3(Box::new(Xxh3::new())),
            ChecksumAlgorithm::Xxhash128 => Self::Xxhash128(Box::new(Xxh3::new())),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32(hasher) => hasher.update(bytes),
            Self::Crc32c(hasher) => hasher.update(bytes),
            Self::Crc64Nvme(hasher) => hasher.update(bytes),
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => sha2::Digest::update(hasher.as_mut(), bytes),
            Self::Md5(hasher) => md5::Digest::update(hasher, bytes),
            Self::Xxhash64(hasher) => hasher.update(bytes),
            Self::Xxhash3(hasher) | Self::Xxhash128(hasher) => hasher.update(bytes),
        }
    }

    /// The bytes of the checksum, of numbers the highest first.
    pub(crate) fn finish(self) -> Vec<u8> {
        match self {
            Self::Crc32(hasher) => hasher.finalize().to_vec(),
            Self::Crc32c(hasher) => hasher.finalize().to_vec(),
            Self::Crc64Nvme(hasher) => hasher.finalize().to_vec(),
            Self::Sha1(hasher) => hasher.finalize().to_vec(),
            Self::Sha256(hasher) => hasher.finalize().to_vec(),
            Self::Sha512(hasher) => sha2::Digest::finalize(*hasher).to_vec(),
            Self::Md5(hasher) => md5::Digest::finalize(hasher).to_vec(),
            Self::Xxhash64(hasher) => hasher.digest().to_be_bytes().to_vec(),
            Self::Xxhash3(hasher) => hasher.digest().to_be_bytes().to_vec(),
            Self::Xxhash128(hasher) => hasher.digest128().to_be_bytes().to_vec(),
        }
    }
}
