//! AWS Signature Version 4 in the Authorization header, as "Authenticating Requests: Using the
//! Authorization Header" of the S3 API reference defines it. The key of the day is derived once,
//! the canonical request is hashed as it is written, and nothing is allocated a request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

type HmacSha256 = Hmac<Sha256>;

/// Payload hash of a request whose body is not signed.
pub(crate) const UNSIGNED: &[u8; 64] = &{
    let mut out = [b' '; 64];
    let text = b"UNSIGNED-PAYLOAD";
    let mut at = 0;
    while at < text.len() {
        out[at] = text[at];
        at += 1;
    }
    out
};

/// SHA-256 of nothing, in hexadecimal.
pub(crate) const EMPTY: &[u8; 64] =
    b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Keys of an account; its `Debug` shows none of them.
#[derive(Clone)]
pub struct Credentials {
    pub access_key: String,
    pub secret_key: String,
    pub session_token: Option<String>,
    pub region: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// A request as far as it is signed.
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    /// Encoded.
    pub(crate) path: &'a [u8],
    /// Encoded and sorted; empty where there is none.
    pub(crate) query: &'a [u8],
    pub(crate) host: &'a str,
    /// In hexadecimal, or [`UNSIGNED`].
    pub(crate) payload: &'a [u8; 64],
    /// Further headers to sign, with lower-case names.
    pub(crate) further: &'a [(&'a str, &'a [u8])],
}

/// Signs requests of one account.
pub(crate) struct Signer {
    keys: Credentials,
    second: u64,
    /// `20130524T000000Z`.
    stamp: [u8; 16],
    day_key: Option<HmacSha256>,
}

impl Signer {
    pub(crate) fn new(keys: Credentials) -> Self {
        Self {
            keys,
            second: u64::MAX,
            stamp: [0; 16],
            day_key: None,
        }
    }

    /// Moves to `second` since 1970.
    fn at(&mut self, second: u64) {
        if second == self.second && self.day_key.is_some() {
            return;
        }
        let same_day = self.day_key.is_some() && second / 86_400 == self.second / 86_400;
        self.second = second;
        self.stamp = stamp(second);
        if !same_day {
            let secret = [b"AWS4", self.keys.secret_key.as_bytes()].concat();
            let steps: [&[u8]; 4] = [
                &self.stamp[..8],
                self.keys.region.as_bytes(),
                b"s3",
                b"aws4_request",
            ];
            let key = steps.into_iter().fold(secret, |key, text| {
                keyed(&key)
                    .chain_update(text)
                    .finalize()
                    .into_bytes()
                    .to_vec()
            });
            self.day_key = Some(keyed(&key));
        }
    }

    /// Appends the signed headers and the authorization, each line ended, to `head`.
    pub(crate) fn sign(&mut self, second: u64, request: &Signed<'_>, head: &mut Vec<u8>) {
        self.at(second);
        let payload = trimmed(request.payload);
        let stamp = self.stamp;
        let token = self.keys.session_token.as_deref();
        let mut headers: [(&str, &[u8]); 8] = [("", b""); 8];
        let own = [
            ("host", request.host.as_bytes()),
            ("x-amz-content-sha256", payload),
            ("x-amz-date", &stamp),
        ];
        let all = own
            .into_iter()
            .chain(token.map(|token| ("x-amz-security-token", token.as_bytes())));
        let all = all.chain(request.further.iter().copied());
        let count = headers
            .iter_mut()
            .zip(all)
            .map(|(slot, header)| *slot = header)
            .count();
        let headers = &mut headers[..count];
        headers.sort_unstable_by_key(|(name, _)| *name);
        let signature = self.signature(request, headers, payload);
        let push = |head: &mut Vec<u8>, parts: &[&[u8]]| {
            parts.iter().for_each(|part| head.extend_from_slice(part))
        };
        for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
            push(head, &[name.as_bytes(), b": ", value, b"\r\n"]);
        }
        let region = self.keys.region.as_bytes();
        push(
            head,
            &[
                b"authorization: AWS4-HMAC-SHA256 Credential=",
                self.keys.access_key.as_bytes(),
                b"/",
                &stamp[..8],
                b"/",
                region,
            ],
        );
        push(head, &[b"/s3/aws4_request,SignedHeaders="]);
        names(headers, &mut |part| head.extend_from_slice(part));
        push(head, &[b",Signature=", &signature, b"\r\n"]);
    }

    fn signature(
        &self,
        request: &Signed<'_>,
        headers: &[(&str, &[u8])],
        payload: &[u8],
    ) -> [u8; 64] {
        let mut canonical = Sha256::new();
        for part in [
            request.method.as_bytes(),
            b"\n",
            request.path,
            b"\n",
            request.query,
            b"\n",
        ] {
            canonical.update(part);
        }
        for (name, value) in headers {
            [name.as_bytes(), b":", value, b"\n"]
                .iter()
                .for_each(|part| canonical.update(part));
        }
        canonical.update(b"\n");
        names(headers, &mut |part| canonical.update(part));
        canonical.update(b"\n");
        canonical.update(payload);
        let mut mac = self
            .day_key
            .clone()
            .expect("the key of the day was derived before");
        for part in [
            b"AWS4-HMAC-SHA256\n",
            &self.stamp[..],
            b"\n",
            &self.stamp[..8],
            b"/",
            self.keys.region.as_bytes(),
        ] {
            mac.update(part);
        }
        mac.update(b"/s3/aws4_request\n");
        mac.update(&hex(&canonical.finalize().into()));
        hex(&mac.finalize().into_bytes().into())
    }
}

fn names(headers: &[(&str, &[u8])], out: &mut impl FnMut(&[u8])) {
    for (index, (name, _)) in headers.iter().enumerate() {
        if index > 0 {
            out(b";");
        }
        out(name.as_bytes());
    }
}

fn trimmed(payload: &[u8; 64]) -> &[u8] {
    payload.trim_ascii_end()
}

fn keyed(key: &[u8]) -> HmacSha256 {
    HmacSha256::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// SHA-256 of the pieces, in hexadecimal.
pub(crate) fn digest<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> [u8; 64] {
    let mut sum = Sha256::new();
    pieces.for_each(|piece| sum.update(piece));
    hex(&sum.finalize().into())
}

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 64];
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out
}

/// `second` since 1970 as `20130524T000000Z`; the calendar is Hinnant's civil-from-days.
fn stamp(second: u64) -> [u8; 16] {
    let (days, of_day) = (second / 86_400 + 719_468, second % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) = (
        day_of_year - (153 * shifted + 2) / 5 + 1,
        if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        },
    );
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
    let mut out = *b"00000000T000000Z";
    for (at, width, number) in [
        (0, 4, year),
        (4, 2, month),
        (6, 2, day),
        (9, 2, hour),
        (11, 2, minute),
        (13, 2, second % 60),
    ] {
        let mut rest = number;
        for digit in out[at..at + width].iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).expect("a digit is below 10");
            rest /= 10;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Friday, 24 May 2013, 00:00:00 UTC: the moment of the examples in the S3 API reference.
    const MOMENT: u64 = 1_369_353_600;
    const HOST: &str = "examplebucket.s3.amazonaws.com";

    fn signature(
        method: &str,
        path: &str,
        query: &str,
        payload: &[u8; 64],
        further: &[(&str, &[u8])],
    ) -> String {
        let mut signer = Signer::new(Credentials {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
            region: "us-east-1".into(),
        });
        let mut head = Vec::new();
        let request = Signed {
            method,
            path: path.as_bytes(),
            query: query.as_bytes(),
            host: HOST,
            payload,
            further,
        };
        signer.sign(MOMENT, &request, &mut head);
        let text = String::from_utf8(head).unwrap();
        assert!(
            text.contains(
                "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="
            ) && text.ends_with("\r\n")
        );
        text.rsplit_once("Signature=")
            .unwrap()
            .1
            .trim_end()
            .to_owned()
    }

    #[test]
    fn the_examples_of_the_s3_reference_are_signed_as_printed() {
        assert_eq!(
            signature("GET", "/test.txt", "", EMPTY, &[("range", b"bytes=0-9")]),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let put = digest([&b"Welcome to "[..], b"Amazon S3."].into_iter());
        let further: [(&str, &[u8]); 2] = [
            ("date", b"Fri, 24 May 2013 00:00:00 GMT"),
            ("x-amz-storage-class", b"REDUCED_REDUNDANCY"),
        ];
        assert_eq!(
            signature("PUT", "/test%24file.text", "", &put, &further),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
        assert_eq!(
            signature("GET", "/", "lifecycle=", EMPTY, &[]),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        assert_eq!(
            signature("GET", "/", "max-keys=2&prefix=J", EMPTY, &[]),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }

    #[test]
    fn the_empty_digest_is_that_of_nothing() {
        assert_eq!(&digest(std::iter::empty()), EMPTY);
        assert_eq!(trimmed(UNSIGNED), b"UNSIGNED-PAYLOAD");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (second, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_735_689_599, "20241231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(String::from_utf8(stamp(second).to_vec()).unwrap(), text);
        }
    }

    #[test]
    fn a_signer_that_crosses_midnight_signs_as_a_fresh_one() {
        let keys = Credentials {
            access_key: "a".into(),
            secret_key: "b".into(),
            session_token: Some("t".into()),
            region: "eu-central-1".into(),
        };
        let request = Signed {
            method: "GET",
            path: b"/b/k",
            query: b"",
            host: "h:1",
            payload: UNSIGNED,
            further: &[],
        };
        let mut kept = Signer::new(keys.clone());
        for second in [MOMENT - 1, MOMENT - 1, MOMENT, MOMENT + 1] {
            let [mut a, mut b] = [Vec::new(), Vec::new()];
            kept.sign(second, &request, &mut a);
            Signer::new(keys.clone()).sign(second, &request, &mut b);
            assert_eq!(a, b);
            assert!(
                String::from_utf8(a)
                    .unwrap()
                    .contains("x-amz-security-token: t\r\n")
            );
        }
    }

    #[test]
    fn keys_are_never_shown() {
        let keys = Credentials {
            access_key: "AKIA".into(),
            secret_key: "hidden".into(),
            session_token: None,
            region: "r".into(),
        };
        assert_eq!(format!("{keys:?}"), "Credentials { region: \"r\", .. }");
    }
}
