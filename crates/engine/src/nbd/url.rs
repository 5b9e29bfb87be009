//! Addresses of NBD exports: the NBD URI specification's `nbd` and `nbd+unix`, and the older
//! spelling of QEMU.

use crate::EngineError;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The port that IANA assigns to NBD.
const DEFAULT_PORT: u16 = 10_809;
/// Longest string that the protocol allows, in bytes.
const LONGEST_NAME: usize = 4096;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// A server and the name of one of its exports; the empty name is the server's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUrl {
    pub(super) address: Address,
    export: String,
}

impl NbdUrl {
    /// Reads `nbd://HOST[:PORT]/[EXPORT]`, `nbd+unix:///[EXPORT]?socket=PATH` (both with percent
    /// escapes), `nbd:unix:PATH[:exportname=EXPORT]` or `nbd:HOST:PORT[:exportname=EXPORT]`.
    ///
    /// # Errors
    /// Anything else, and addresses that ask for TLS.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let parsed = if let Some(rest) = text.strip_prefix("nbd+unix://") {
            unix_uri(rest)
        } else if let Some(rest) = text.strip_prefix("nbd://") {
            tcp_uri(rest)
        } else if text.starts_with("nbds://") || text.starts_with("nbds+unix://") {
            Err("TLS is not supported")
        } else if let Some(rest) = text.strip_prefix("nbd:") {
            qemu_form(rest)
        } else {
            Err("it starts with none of nbd://, nbd+unix:// and nbd:")
        };
        parsed
            .and_then(|url| {
                if url.export.len() > LONGEST_NAME {
                    Err("the name of the export is longer than 4096 bytes")
                } else {
                    Ok(url)
                }
            })
            .map_err(|reason| EngineError::NbdAddress {
                url: text.into(),
                reason,
            })
    }

    /// The name of the export.
    #[must_use]
    pub fn export(&self) -> &str {
        &self.export
    }
}

/// The URI, which parses to the same address.
impl fmt::Display for NbdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = escape(self.export.as_bytes());
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => {
                write!(f, "nbd://[{host}]:{port}/{export}")
            }
            Address::Tcp { host, port } => write!(f, "nbd://{host}:{port}/{export}"),
            Address::Unix(path) => write!(
                f,
                "nbd+unix:///{export}?socket={}",
                escape(path.as_os_str().as_bytes())
            ),
        }
    }
}

fn tcp_uri(rest: &str) -> Result<NbdUrl, &'static str> {
    if rest.contains(['?', '#']) {
        return Err("nbd:// takes no parameters");
    }
    let (authority, export) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(NbdUrl {
        address: host_and_port(authority)?,
        export: text(unescape(export)?)?,
    })
}

fn unix_uri(rest: &str) -> Result<NbdUrl, &'static str> {
    let (place, query) = rest
        .split_once('?')
        .ok_or("nbd+unix:// needs ?socket=PATH")?;
    let export = place
        .strip_prefix('/')
        .ok_or("nbd+unix:// names no host: write nbd+unix:///EXPORT?socket=PATH")?;
    let mut socket = None;
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("socket", path)) if socket.is_none() => socket = Some(unescape(path)?),
            Some(_) | None => return Err("the only parameter is socket=PATH"),
        }
    }
    let socket = socket
        .filter(|path| !path.is_empty())
        .ok_or("the path of the socket is empty")?;
    Ok(NbdUrl {
        address: Address::Unix(path(&socket)),
        export: text(unescape(export)?)?,
    })
}

fn qemu_form(rest: &str) -> Result<NbdUrl, &'static str> {
    if rest.contains('\0') {
        return Err("NUL is no part of an address");
    }
    let (address, export) = rest.split_once(":exportname=").unwrap_or((rest, ""));
    let address = match address.strip_prefix("unix:") {
        Some("") => return Err("the path of the socket is empty"),
        Some(socket) => Address::Unix(socket.into()),
        None if address.contains(':') => host_and_port(address)?,
        None => return Err("write nbd:unix:PATH or nbd:HOST:PORT"),
    };
    Ok(NbdUrl {
        address,
        export: export.into(),
    })
}

fn host_and_port(authority: &str) -> Result<Address, &'static str> {
    if authority.contains('@') {
        return Err("a user name needs TLS, which is not supported");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest
            .split_once(']')
            .ok_or("the bracket of the address is not closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(digits) => digits
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or("the port is not a number from 1 to 65535")?,
        None if port.is_empty() => DEFAULT_PORT,
        None => return Err("only :PORT may follow the host"),
    };
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(|c: char| c.is_whitespace() || c.is_control() || "/?#[]".contains(c)) {
        return Err("the host has a character that no host name has");
    }
    Ok(Address::Tcp {
        host: host.into(),
        port,
    })
}

fn path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsStr::from_bytes(bytes).into()
}

fn text(bytes: Vec<u8>) -> Result<String, &'static str> {
    String::from_utf8(bytes).map_err(|_not_text| "the name of the export is not UTF-8")
}

fn unescape(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        (bytes, rest) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                (pushed(bytes, hex(*high)? << 4 | hex(*low)?)?, after)
            }
            (b'%', _) => return Err("% is not followed by two hexadecimal digits"),
            _ => (pushed(bytes, *first)?, after),
        };
    }
    Ok(bytes)
}

fn pushed(mut bytes: Vec<u8>, byte: u8) -> Result<Vec<u8>, &'static str> {
    if byte == 0 {
        return Err("NUL is no part of an address");
    }
    bytes.push(byte);
    Ok(bytes)
}

fn hex(digit: u8) -> Result<u8, &'static str> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err("% is not followed by two hexadecimal digits"),
    }
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(host: &str, port: u16, export: &str) -> NbdUrl {
        NbdUrl {
            address: Address::Tcp {
                host: host.into(),
                port,
            },
            export: export.into(),
        }
    }

    fn unix(socket: &str, export: &str) -> NbdUrl {
        NbdUrl {
            address: Address::Unix(socket.into()),
            export: export.into(),
        }
    }

    #[test]
    fn every_spelling_names_the_same_parts() {
        for (text, wanted) in [
            ("nbd://host", tcp("host", 10_809, "")),
            ("nbd://host/", tcp("host", 10_809, "")),
            ("nbd://host:1234/disk", tcp("host", 1234, "disk")),
            ("nbd://host:1234//disk", tcp("host", 1234, "/disk")),
            ("nbd://[::1]/a%20b", tcp("::1", 10_809, "a b")),
            ("nbd://[fe80::1]:7/x", tcp("fe80::1", 7, "x")),
            ("nbd+unix:///?socket=/run/s", unix("/run/s", "")),
            (
                "nbd+unix:///disk/1?socket=/run/a%26b",
                unix("/run/a&b", "disk/1"),
            ),
            ("nbd:unix:/run/s", unix("/run/s", "")),
            ("nbd:unix:/run/a:b:exportname=c d", unix("/run/a:b", "c d")),
            ("nbd:host:99:exportname=x", tcp("host", 99, "x")),
        ] {
            assert_eq!(NbdUrl::parse(text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        for (text, reason) in [
            ("/dev/nbd0", "none of"),
            ("nbds://host/", "TLS"),
            ("nbd://user@host/", "TLS"),
            ("nbd:///disk", "host is missing"),
            ("nbd://host:0/", "port"),
            ("nbd://host:70000/", "port"),
            ("nbd://[::1/", "bracket"),
            ("nbd://[::1]x/", "follow the host"),
            ("nbd://host/?socket=/s", "no parameters"),
            ("nbd://host/%zz", "hexadecimal"),
            ("nbd://host/%f", "hexadecimal"),
            ("nbd://host/%00", "NUL"),
            ("nbd://host/%ff", "UTF-8"),
            ("nbd+unix:///disk", "needs ?socket"),
            ("nbd+unix://host/disk?socket=/s", "names no host"),
            ("nbd+unix:///disk?socket=", "empty"),
            ("nbd+unix:///disk?socket=/a&socket=/b", "only parameter"),
            ("nbd:unix:", "empty"),
            ("nbd:host", "nbd:HOST:PORT"),
            ("nbd:host/x:99", "no host name"),
            ("nbd:[[x]:99", "no host name"),
            ("nbd://a b/", "no host name"),
        ] {
            let error = NbdUrl::parse(text).unwrap_err().to_string();
            assert!(
                error.contains(reason) && error.contains(text),
                "{text}: {error}"
            );
        }
        assert!(NbdUrl::parse(&format!("nbd://host/{}", "x".repeat(4097))).is_err());
        assert!(
            NbdUrl::parse("nbd:unix:/run/s:exportname=a\0")
                .unwrap_err()
                .to_string()
                .contains("NUL")
        );
    }

    proptest! {
        #[test]
        fn an_address_survives_being_written_and_read(export in "[^\0]{0,40}", socket in "/[^\0]{1,40}", host in "[a-z0-9.-]{1,20}|[0-9a-f:]{1,10}:", port in 1_u16..) {
            for url in [tcp(&host, port, &export), unix(&socket, &export)] {
                prop_assert_eq!(NbdUrl::parse(&url.to_string()).unwrap(), url);
            }
        }

        #[test]
        fn no_text_is_a_panic(text in "(nbd:|nbd://|nbd\\+unix://)?\\PC{0,60}") {
            let _either_is_fine = NbdUrl::parse(&text);
        }
    }
}
