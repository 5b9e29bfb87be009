//! Who signed a form: its policy, with a key that is derived for one day, region and service.

use super::policy::expired;
use crate::keyring::Keyring;
use hmac::{Hmac, KeyInit as _, Mac as _};
use s3s::dto::{Timestamp, TimestampFormat};
use s3s::{S3Error, S3Result, s3_error};
use sha2::Sha256;

/// How long a key that was derived for a day signs, as AWS has it.
const LONGEST_MS: u64 = 7 * 86_400_000;
/// How far clocks may be apart.
const SKEW_MS: u64 = 15 * 60_000;

/// The fields of a signed form, in the order in which AWS misses them.
const FIELDS: [&str; 5] = [
    "policy",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-algorithm",
];

fn argument(message: &str) -> S3Error {
    s3_error!(InvalidArgument, "{message}")
}

/// That a field which a form needs is not there.
pub(crate) fn missing(field: &str) -> S3Error {
    argument(&format!(
        "Bucket POST must contain a field named '{field}'.  If it is specified, please check the order of the fields."
    ))
}

/// What a form says of its signature.
struct Signed<'a> {
    policy: &'a str,
    signature: &'a str,
    credential: &'a str,
    date: &'a str,
    algorithm: &'a str,
}

impl<'a> Signed<'a> {
    /// `None` for a form that nobody signed. Errors: `InvalidArgument` for one that is signed in
    /// part.
    fn of(field: impl Fn(&str) -> Option<&'a str>) -> S3Result<Option<Self>> {
        let given = FIELDS.map(&field);
        if field("signature").is_some() || field("awsaccesskeyid").is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
            ));
        }
        match given {
            [None, None, None, None, None] => Ok(None),
            [
                Some(policy),
                Some(signature),
                Some(credential),
                Some(date),
                Some(algorithm),
            ] => Ok(Some(Self {
                policy,
                signature,
                credential,
                date,
                algorithm,
            })),
            _ => {
                let absent = FIELDS
                    .into_iter()
                    .zip(given)
                    .find(|(_, value)| value.is_none());
                Err(missing(absent.map_or("policy", |(name, _)| name)))
            }
        }
    }
}

/// The access key that signed a form, or nobody. Errors: `InvalidArgument`, `AccessDenied`,
/// `InvalidAccessKeyId`, `SignatureDoesNotMatch`.
pub(crate) fn signer<'a>(
    field: impl Fn(&str) -> Option<&'a str>,
    keyring: &Keyring,
    region: &str,
    now_ms: u64,
) -> S3Result<Option<String>> {
    let Some(signed) = Signed::of(field)? else {
        return Ok(None);
    };
    if signed.algorithm != "AWS4-HMAC-SHA256" {
        return Err(argument("Only AWS4-HMAC-SHA256 is supported"));
    }
    let at_ms = milliseconds(signed.date)
        .ok_or_else(|| argument("X-Amz-Date must be formated via ISO8601 Long format"))?;
    let malformed = || {
        argument(
            "the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".",
        )
    };
    let parts: Vec<&str> = signed.credential.split('/').collect();
    let [access, day, its_region, service, terminal] = parts[..] else {
        return Err(malformed());
    };
    if day != &signed.date[..8] {
        return Err(argument(&format!(
            "incorrect date format \"{day}\". This date in the credential must be in the format \"yyyyMMdd\"."
        )));
    }
    if its_region != region {
        return Err(argument(&format!(
            "the region '{its_region}' is wrong; expecting '{region}'"
        )));
    }
    if service != "s3" {
        return Err(argument(&format!(
            "incorrect service \"{service}\". This endpoint belongs to \"s3\"."
        )));
    }
    if terminal != "aws4_request" {
        return Err(argument(&format!(
            "incorrect terminal \"{terminal}\". This endpoint uses \"aws4_request\"."
        )));
    }
    let unknown = || {
        s3_error!(
            InvalidAccessKeyId,
            "The AWS Access Key Id you provided does not exist in our records."
        )
    };
    let secret = keyring.secret_of(access).ok_or_else(unknown)?;
    if !is_signature(
        signed.signature,
        signed.policy,
        [
            &format!("AWS4{}", secret.expose()),
            day,
            region,
            service,
            terminal,
        ],
    ) {
        return Err(s3_error!(
            SignatureDoesNotMatch,
            "The request signature we calculated does not match the signature you provided. Check your key and signing method."
        ));
    }
    if now_ms.saturating_sub(at_ms) > LONGEST_MS || at_ms.saturating_sub(now_ms) > SKEW_MS {
        return Err(expired());
    }
    Ok(Some(access.to_owned()))
}

/// Milliseconds since 1970 of `yyyymmddThhmmssZ`.
fn milliseconds(text: &str) -> Option<u64> {
    let plain = |range: std::ops::Range<usize>| {
        text.get(range)
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (day, time) = (plain(0..8)?, plain(9..15)?);
    if text.len() != 16 || !text.ends_with('Z') || text.as_bytes()[8] != b'T' {
        return None;
    }
    let long = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &day[..4],
        &day[4..6],
        &day[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    Some(crate::protocol::milliseconds(
        &Timestamp::parse(TimestampFormat::DateTime, &long).ok()?,
    ))
}

fn mac(key: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is one");
    mac.update(text.as_bytes());
    mac
}

/// Compares in a time that tells nothing.
fn is_signature(
    hex: &str,
    text: &str,
    [secret, day, region, service, terminal]: [&str; 5],
) -> bool {
    let key = [day, region, service, terminal].into_iter();
    let key = key.fold(secret.as_bytes().to_vec(), |key, step| {
        mac(&key, step).finalize().into_bytes().to_vec()
    });
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .filter(|_| !byte.is_ascii_uppercase())
    };
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(*pair.get(1)?)?).ok();
    let given: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
    given.is_some_and(|given| mac(&key, text).verify_slice(&given).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_451_347_200_000;

    /// The form of AWS's own example of POST with signature version 4, with our secret.
    fn form() -> Vec<(&'static str, String)> {
        let policy = base64_simd::STANDARD.encode_to_string("{}");
        let key = ["20151229", "us-east-1", "s3", "aws4_request"].into_iter();
        let key = key.fold(b"AWS4root-secret".to_vec(), |key, step| {
            mac(&key, step).finalize().into_bytes().to_vec()
        });
        let signature = mac(&key, &policy)
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        vec![
            ("policy", policy),
            ("x-amz-signature", signature),
            (
                "x-amz-credential",
                "root/20151229/us-east-1/s3/aws4_request".into(),
            ),
            ("x-amz-date", "20151229T000000Z".into()),
            ("x-amz-algorithm", "AWS4-HMAC-SHA256".into()),
        ]
    }

    fn signer_of(form: &[(&str, String)], now_ms: u64) -> Result<Option<String>, String> {
        let keyring = Keyring::single("root", "root-secret").unwrap();
        let field = |name: &str| {
            form.iter()
                .find(|(field, _)| *field == name)
                .map(|(_, value)| value.as_str())
        };
        signer(field, &keyring, "us-east-1", now_ms)
            .map_err(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn who_signed_is_known_for_seven_days_and_who_did_not_is_nobody() {
        assert_eq!(signer_of(&form(), NOW), Ok(Some("root".to_owned())));
        assert_eq!(
            signer_of(&form(), NOW + LONGEST_MS),
            Ok(Some("root".to_owned()))
        );
        assert_eq!(
            signer_of(&form(), NOW + LONGEST_MS + 1),
            Err("AccessDenied".to_owned())
        );
        assert_eq!(
            signer_of(&form(), NOW - SKEW_MS - 1),
            Err("AccessDenied".to_owned())
        );
        assert_eq!(signer_of(&[("key", "k".into())], NOW), Ok(None));
    }

    #[test]
    fn anything_else_than_what_was_signed_is_refused() {
        for (name, value, code) in [
            ("policy", "e30", "SignatureDoesNotMatch"),
            ("x-amz-signature", "00", "SignatureDoesNotMatch"),
            ("x-amz-signature", "x", "SignatureDoesNotMatch"),
            ("x-amz-algorithm", "AWS4-HMAC-SHA1", "InvalidArgument"),
            ("x-amz-date", "20151230T000000Z", "InvalidArgument"),
            ("x-amz-date", "2015-12-29", "InvalidArgument"),
            ("x-amz-date", "20151229T00000éZ", "InvalidArgument"),
            ("x-amz-credential", "root", "InvalidArgument"),
            (
                "x-amz-credential",
                "root/20151229/eu-west-1/s3/aws4_request",
                "InvalidArgument",
            ),
            (
                "x-amz-credential",
                "root/20151229/us-east-1/sts/aws4_request",
                "InvalidArgument",
            ),
            (
                "x-amz-credential",
                "root/20151229/us-east-1/s3/aws5_request",
                "InvalidArgument",
            ),
            (
                "x-amz-credential",
                "kim/20151229/us-east-1/s3/aws4_request",
                "InvalidAccessKeyId",
            ),
        ] {
            let mut changed = form();
            changed
                .iter_mut()
                .filter(|(field, _)| *field == name)
                .for_each(|(_, old)| *old = value.to_owned());
            assert_eq!(
                signer_of(&changed, NOW),
                Err(code.to_owned()),
                "{name} {value}"
            );
        }
        for index in 0..FIELDS.len() {
            let mut partial = form();
            partial.remove(index);
            assert_eq!(signer_of(&partial, NOW), Err("InvalidArgument".to_owned()));
        }
        assert_eq!(
            signer_of(&[("awsaccesskeyid", "root".into())], NOW),
            Err("InvalidRequest".to_owned())
        );
    }
}
