//! Where a load goes: `s3://BUCKET@http://HOST:PORT[,http://HOST:PORT…]`, `http://HOST:PORT/path`, or
//! `share+http://HOST:PORT`.

use crate::LoadError;
use crate::secret::{NOT_KEPT, given, recorded_url, variable_of};
use trust::Trust;
use units::shell_word;

/// What targets look like.
const EXAMPLES: &str = "examples: s3://bucket@http://127.0.0.1:9000, s3://bucket@https://a:9000,https://b:9000, http://127.0.0.1:8080/upload, share+http://127.0.0.1:4001";

/// One server of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// As the Host header says it: without the port where it is the scheme's own.
    pub(crate) authority: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    S3 {
        bucket: String,
    },
    /// Objects lie below this path; it begins with a slash and ends with none.
    Http {
        path: String,
        /// What every request asks with, without the question mark.
        query: String,
    },
    /// A file share, which names what is put up.
    Share,
}

/// A parsed target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadTarget {
    /// As records keep it: without what lets somebody in.
    pub(crate) text: String,
    pub(crate) service: Service,
    pub(crate) endpoints: Vec<Endpoint>,
    /// It was taken from the environment, where secrets are put.
    is_of_variable: bool,
}

impl LoadTarget {
    /// Reads a target.
    ///
    /// # Errors
    /// The text is no target; the error says what one looks like.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        Self::read(text).map_err(|why| {
            let shown = recorded_url(text);
            LoadError::asked(format!("target {shown:?}: {why}; {EXAMPLES}"))
        })
    }

    /// As [`LoadTarget::parse`], or `@VARIABLE`: the variable of the environment that holds it. Of what a
    /// variable holds only scheme and hosts are told.
    ///
    /// # Errors
    /// As there, or the variable is not set or empty.
    pub fn given(text: &str) -> Result<Self, LoadError> {
        let held = given("target", text)?;
        let Some(variable) = variable_of(text) else {
            return Self::parse(&held);
        };
        let target = Self::read(held.trim()).map_err(|why| {
            LoadError::asked(format!(
                "--target @{variable}: what the variable {variable} of the environment holds is no target: {why}; {EXAMPLES}"
            ))
        })?;
        Ok(Self {
            text: target.scheme_and_hosts(),
            is_of_variable: true,
            ..target
        })
    }

    /// What is told of the path that its requests begin with.
    pub(crate) fn told_root(&self) -> String {
        let root = match &self.service {
            Service::S3 { bucket } => format!("/{bucket}"),
            Service::Http { path, .. } => path.clone(),
            Service::Share => String::new(),
        };
        match self.is_of_variable && !root.is_empty() {
            true => format!("/{NOT_KEPT}"),
            false => recorded_url(&root),
        }
    }

    /// A command that removes all whose names begin so, at a store that other tools know; who uses it
    /// believes whom the load believed.
    pub(crate) fn removal_of(&self, names: &str, trust: &Trust) -> Option<String> {
        let Service::S3 { bucket } = &self.service else {
            return None;
        };
        // Of several some may be gone, and each may have objects of its own.
        let [endpoint] = self.endpoints.as_slice() else {
            return None;
        };
        if self.is_of_variable {
            return None;
        }
        let scheme = if endpoint.is_tls { "https" } else { "http" };
        let trusting = match trust {
            Trust::Anybody if endpoint.is_tls => " --no-verify-ssl".to_owned(),
            Trust::File(file) if endpoint.is_tls => {
                let file = shell_word(&file.display().to_string());
                format!(" --ca-bundle {file}")
            }
            Trust::Anybody | Trust::File(_) | Trust::Public => String::new(),
        };
        Some(format!(
            "aws s3 rm {} --recursive --exclude '*' --include {} --endpoint-url {}{trusting}",
            shell_word(&format!("s3://{bucket}")),
            shell_word(&format!("{names}*")),
            shell_word(&format!("{scheme}://{}", endpoint.authority)),
        ))
    }

    /// Nothing but where it is.
    fn scheme_and_hosts(&self) -> String {
        let before = match &self.service {
            Service::S3 { .. } => format!("s3://{NOT_KEPT}@"),
            Service::Http { .. } => String::new(),
            Service::Share => "share+".to_owned(),
        };
        let behind = match &self.service {
            Service::Http { path, query } if !path.is_empty() || !query.is_empty() => {
                format!("/{NOT_KEPT}")
            }
            Service::Http { .. } | Service::S3 { .. } | Service::Share => String::new(),
        };
        let url = |endpoint: &Endpoint| {
            let scheme = if endpoint.is_tls { "https" } else { "http" };
            format!("{scheme}://{}{behind}", endpoint.authority)
        };
        let urls: Vec<String> = self.endpoints.iter().map(url).collect();
        format!("{before}{}", urls.join(","))
    }

    /// Reads a target; the error tells nothing of it.
    fn read(text: &str) -> Result<Self, String> {
        let refused = |why: &str| why.to_owned();
        let (service, urls) = if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, urls) = rest
                .split_once('@')
                .ok_or_else(|| refused("no @ between bucket and endpoint"))?;
            let may =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
            if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(may) {
                return Err(refused(
                    "a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens",
                ));
            }
            (
                Service::S3 {
                    bucket: bucket.to_owned(),
                },
                urls,
            )
        } else if let Some(url) = text.strip_prefix("share+") {
            (Service::Share, url)
        } else {
            (
                Service::Http {
                    path: String::new(),
                    query: String::new(),
                },
                text,
            )
        };
        let mut endpoints = Vec::new();
        let mut path = None;
        for url in urls.split(',') {
            let (endpoint, rest) = endpoint(url)?;
            endpoints.push(endpoint);
            let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
            let trimmed = (rest.trim_end_matches('/').to_owned(), query.to_owned());
            if *path.get_or_insert_with(|| trimmed.clone()) != trimmed {
                return Err(refused("several endpoints have one path and one query"));
            }
        }
        let (path, query) = path.unwrap_or_default();
        let service = match service {
            Service::S3 { .. } if !path.is_empty() || !query.is_empty() => {
                return Err(refused("an S3 endpoint has no path and no query"));
            }
            Service::S3 { bucket } => Service::S3 { bucket },
            Service::Share if !path.is_empty() || !query.is_empty() || endpoints.len() > 1 => {
                return Err(refused("a share is one server, without a path"));
            }
            Service::Share => Service::Share,
            Service::Http { .. } if [&path, &query].into_iter().any(|of| must_be_encoded(of)) => {
                return Err(refused(
                    "path and query have characters that must be percent-encoded, or a fragment",
                ));
            }
            Service::Http { .. } => Service::Http { path, query },
        };
        Ok(Self {
            text: recorded_url(text),
            service,
            endpoints,
            is_of_variable: false,
        })
    }

    /// Whether objects are addressed and requests signed as S3 does it.
    #[must_use]
    pub fn is_s3(&self) -> bool {
        matches!(self.service, Service::S3 { .. })
    }

    /// Whether it is a file share.
    #[must_use]
    pub fn is_share(&self) -> bool {
        self.service == Service::Share
    }

    /// `s3`, `http` or `share`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.service {
            Service::S3 { .. } => "s3",
            Service::Http { .. } => "http",
            Service::Share => "share",
        }
    }

    /// How many servers it names.
    #[must_use]
    pub fn endpoint_count(&self) -> u32 {
        u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX)
    }

    /// The target as it was given, without what lets somebody in.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Whether a part of a URL holds what has no place in a request line.
fn must_be_encoded(text: &str) -> bool {
    text.bytes().any(|b| b <= b' ' || b >= 127 || b == b'#')
}

/// One URL: its server, and its path.
fn endpoint(url: &str) -> Result<(Endpoint, &str), String> {
    let (scheme, rest) = url
        .split_once("://")
        .ok_or("each of its servers begins with http:// or https://")?;
    let is_tls = match scheme {
        "http" => false,
        "https" => true,
        _ => return Err("each of its servers begins with http:// or https://".into()),
    };
    let (authority, path) = rest
        .find(['/', '?'])
        .map_or((rest, ""), |at| rest.split_at(at));
    if authority.contains('@') {
        return Err("keys do not belong into a target; they are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and other servers are told by --header 'Authorization: …'".into());
    }
    let usual = if is_tls { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (
            host,
            port.parse::<u16>()
                .map_err(|_may_be_a_password| "its port is no number up to 65535")?,
        ),
        Some(_) | None => (authority, usual),
    };
    let may = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if host.is_empty() || !host.chars().all(may) || port == 0 {
        return Err("it has no host, or one with letters that hosts have not, or port 0".into());
    }
    let shown = if port == usual {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    Ok((
        Endpoint {
            is_tls,
            host: bare.to_owned(),
            port,
            authority: shown,
        },
        path,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_s3_target_has_a_bucket_and_endpoints() {
        let target =
            LoadTarget::parse("s3://my-bucket@http://127.0.0.1:9000,https://[::1]").unwrap();
        assert_eq!(
            target.service,
            Service::S3 {
                bucket: "my-bucket".into()
            }
        );
        let shown: Vec<_> = target
            .endpoints
            .iter()
            .map(|e| (e.is_tls, e.host.as_str(), e.port, e.authority.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                (false, "127.0.0.1", 9000, "127.0.0.1:9000"),
                (true, "::1", 443, "[::1]")
            ]
        );
    }

    #[test]
    fn the_command_that_removes_objects_is_one_that_a_shell_reads_and_the_server_answers() {
        let by = |target: &str, trust| LoadTarget::read(target).unwrap().removal_of("f-1-", &trust);
        let file = || Trust::File("/etc/my ca.pem".into());
        for (target, trust, endpoint) in [
            ("http://h:9000", Trust::Public, "http://h:9000"),
            ("http://h:9000", Trust::Anybody, "http://h:9000"),
            ("https://h", Trust::Public, "https://h"),
            ("https://h", Trust::Anybody, "https://h --no-verify-ssl"),
            (
                "https://[::1]:9",
                file(),
                "'https://[::1]:9' --ca-bundle '/etc/my ca.pem'",
            ),
        ] {
            let command = format!(
                "aws s3 rm s3://bench --recursive --exclude '*' --include 'f-1-*' --endpoint-url {endpoint}"
            );
            assert_eq!(by(&format!("s3://bench@{target}"), trust), Some(command));
        }
        assert_eq!(by("s3://bench@http://a,http://b", Trust::Public), None);
        assert_eq!(by("http://h/x", Trust::Public), None);
    }

    #[test]
    fn a_plain_target_has_a_path() {
        let target = LoadTarget::parse("http://localhost/api/entry/").unwrap();
        assert_eq!(
            target.service,
            Service::Http {
                path: "/api/entry".into(),
                query: String::new(),
            }
        );
        let target = LoadTarget::parse("http://localhost?a=b%2Cc&token=x").unwrap();
        assert_eq!(
            target.service,
            Service::Http {
                path: String::new(),
                query: "a=b%2Cc&token=x".into(),
            }
        );
        assert_eq!(
            target.text(),
            "http://localhost?a=(not recorded)&token=(not recorded)"
        );
        assert_eq!(target.endpoints[0].authority, "localhost");
    }

    #[test]
    fn a_share_is_one_server() {
        let target = LoadTarget::parse("share+https://h:8443/").unwrap();
        assert!(target.is_share() && target.endpoints[0].is_tls);
        assert_eq!(
            (target.kind(), target.text()),
            ("share", "share+https://h:8443/")
        );
    }

    #[test]
    fn what_is_no_target_is_refused_with_an_example() {
        for text in [
            "",
            "bucket",
            "s3://bucket",
            "s3://@http://h:1",
            "s3://UPPER@http://h:1",
            "s3://bucket@h:1",
            "s3://bucket@ftp://h:1",
            "s3://bucket@http://h:99999",
            "s3://bucket@http://h:0",
            "s3://bucket@http://key:secret@h:1",
            "s3://bucket@http://h:1/path",
            "http://h/a?b=c#d",
            "s3://bucket@http://h?b=c",
            "share+http://h/?b=c",
            "http://h:1/a,http://h:2/b",
            "http:///x",
            "share+http://h:1/path",
            "share+http://h:1,http://h:2",
            "share+h:1",
        ] {
            let error = LoadTarget::parse(text).unwrap_err();
            assert!(
                matches!(&error, LoadError::Asked(said) if said.contains("examples: s3://")),
                "{text}: {error:?}"
            );
        }
    }

    #[test]
    fn no_error_tells_a_password() {
        for text in [
            "http://user:swordfish@h:1/x",
            "https://user:sword/fish@h/x",
            "http://user:sword?fish@h/x",
            "http://user:sword@fish@h/x",
            "user:swordfish@h:1",
            "s3://bucket@http://key:swordfish@h:1",
            "s3://key:swordfish@http://h:1",
            "share+http://:swordfish@h:1",
            "http://h:1,http://user:swordfish@h:2",
            "http://h:1/a#b?token=swordfish",
            "http://h/x?format=json,sig:swordfish",
            "https://h/x,AKIA:swordfish",
            "share+http://h/g/swordfish",
            "AKIA:swordfish",
        ] {
            let error = LoadTarget::parse(text).unwrap_err().to_string();
            assert!(
                !error.contains("sword") && !error.contains("fish"),
                "{text}: {error}"
            );
            assert!(error.contains("(not recorded)"), "{text}: {error}");
        }
    }

    #[test]
    fn of_what_a_variable_holds_only_scheme_and_hosts_are_told() {
        for (text, told) in [
            ("http://h:8/a/b?page=2", "http://h:8/(not recorded)"),
            ("https://h/", "https://h"),
            (
                "s3://my-bucket@http://a:9000,https://b",
                "s3://(not recorded)@http://a:9000,https://b",
            ),
            ("share+http://h:1", "share+http://h:1"),
        ] {
            assert_eq!(LoadTarget::read(text).unwrap().scheme_and_hosts(), told);
        }
        for (text, shown, hidden) in [
            ("http://h/", "", ""),
            ("http://h/a/sid=2", "/a/(not recorded)", "/(not recorded)"),
            ("s3://my-bucket@http://a", "/my-bucket", "/(not recorded)"),
            ("share+http://h:1", "", ""),
        ] {
            let mut target = LoadTarget::read(text).unwrap();
            assert_eq!(target.told_root(), shown);
            target.is_of_variable = true;
            assert_eq!(target.told_root(), hidden);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _any = LoadTarget::parse(&text).is_ok() || LoadTarget::parse(&format!("s3://abc@http://{text}")).is_ok();
        }
    }
}
