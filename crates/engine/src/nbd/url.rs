//! Addresses of NBD exports: the NBD URI specification's `nbd`, `nbds`, `nbd+unix` and `nbds+unix`
//! with libnbd's parameters for TLS, and the older spelling of QEMU.

use crate::EngineError;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use trust::{ShownCertificate, Trust};

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

/// Whom a client over TLS believes, and as whom it shows itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NbdTls {
    /// Where `ca-cert.pem` lies and, for a server that asks who comes, `client-cert.pem` and
    /// `client-key.pem`.
    certificates: Option<PathBuf>,
    /// Of whom the certificate of the server must be, if not of the host in the address.
    host: Option<String>,
    unverified: bool,
}

impl NbdTls {
    pub(super) fn trust(&self) -> Trust {
        match &self.certificates {
            _ if self.unverified => Trust::Anybody,
            Some(directory) => Trust::File(directory.join("ca-cert.pem")),
            None => Trust::Public,
        }
    }

    pub(super) fn identity(&self) -> Option<ShownCertificate> {
        let directory = self.certificates.as_ref()?;
        let certificate = directory.join("client-cert.pem");
        certificate.exists().then(|| ShownCertificate {
            certificate,
            key: directory.join("client-key.pem"),
        })
    }

    fn parameters(&self) -> Vec<String> {
        let directory = self.certificates.as_ref();
        let directory = directory.map(|path| escape(path.as_os_str().as_bytes()));
        let host = self.host.as_ref().map(|host| escape(host.as_bytes()));
        let unverified = self.unverified.then(|| "0".to_owned());
        let named = [
            ("tls-certificates", directory),
            ("tls-hostname", host),
            ("tls-verify-peer", unverified),
        ];
        named
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", value?)))
            .collect()
    }
}

/// A server and the name of one of its exports; the empty name is the server's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUrl {
    pub(super) address: Address,
    pub(super) tls: Option<NbdTls>,
    export: String,
}

impl NbdUrl {
    /// Reads `nbd://HOST[:PORT]/[EXPORT]`, `nbd+unix:///[EXPORT]?socket=PATH` (both with percent
    /// escapes), `nbd:unix:PATH[:exportname=EXPORT]` or `nbd:HOST:PORT[:exportname=EXPORT]`;
    /// `nbds://` and `nbds+unix://` for TLS, with `tls-certificates=DIR`, `tls-hostname=NAME` and
    /// `tls-verify-peer=0` as parameters.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let parsed = if let Some(rest) = text.strip_prefix("nbd+unix://") {
            unix_uri(rest, None)
        } else if let Some(rest) = text.strip_prefix("nbds+unix://") {
            unix_uri(rest, Some(NbdTls::default()))
        } else if let Some(rest) = text.strip_prefix("nbd://") {
            tcp_uri(rest, None)
        } else if let Some(rest) = text.strip_prefix("nbds://") {
            tcp_uri(rest, Some(NbdTls::default()))
        } else if let Some(rest) = text.strip_prefix("nbd:") {
            qemu_form(rest)
        } else {
            Err("it starts with none of nbd://, nbds://, nbd+unix://, nbds+unix:// and nbd:")
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

    /// An export of a server at a socket of the file system.
    #[must_use]
    pub fn at_socket(path: PathBuf, export: String) -> Self {
        Self {
            address: Address::Unix(path),
            tls: None,
            export,
        }
    }

    /// An export of a server at an address of the network.
    #[must_use]
    pub fn at_address(address: SocketAddr, export: String) -> Self {
        Self {
            address: Address::Tcp {
                host: address.ip().to_string(),
                port: address.port(),
            },
            tls: None,
            export,
        }
    }

    /// The same over TLS, with nothing said of whom to believe.
    #[must_use]
    pub fn over_tls(self) -> Self {
        Self {
            tls: Some(NbdTls::default()),
            ..self
        }
    }

    /// Of whom the server's certificate must be: a server without a host is this one.
    pub(super) fn shown_by(&self) -> &str {
        let told = self.tls.as_ref().and_then(|tls| tls.host.as_deref());
        told.unwrap_or(match &self.address {
            Address::Tcp { host, .. } => host,
            Address::Unix(_) => "localhost",
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
        let scheme = if self.tls.is_some() { "nbds" } else { "nbd" };
        let mut parameters = Vec::new();
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => {
                write!(f, "{scheme}://[{host}]:{port}/{export}")?;
            }
            Address::Tcp { host, port } => write!(f, "{scheme}://{host}:{port}/{export}")?,
            Address::Unix(path) => {
                write!(f, "{scheme}+unix:///{export}")?;
                let path = escape(path.as_os_str().as_bytes());
                parameters.push(format!("socket={path}"));
            }
        }
        parameters.extend(self.tls.iter().flat_map(NbdTls::parameters));
        for (number, parameter) in parameters.iter().enumerate() {
            let before = if number == 0 { '?' } else { '&' };
            write!(f, "{before}{parameter}")?;
        }
        Ok(())
    }
}

fn tcp_uri(rest: &str, mut tls: Option<NbdTls>) -> Result<NbdUrl, &'static str> {
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    if rest.contains('#') || (query.is_some() && tls.is_none()) {
        return Err("nbd:// takes no parameters");
    }
    for parameter in query.map(parameters).transpose()?.into_iter().flatten() {
        tls_parameter(parameter, tls.as_mut())?;
    }
    let (authority, export) = place.split_once('/').unwrap_or((place, ""));
    Ok(NbdUrl {
        address: host_and_port(authority)?,
        tls,
        export: text(unescape(export)?)?,
    })
}

fn unix_uri(rest: &str, mut tls: Option<NbdTls>) -> Result<NbdUrl, &'static str> {
    let (place, query) = rest
        .split_once('?')
        .ok_or("nbd+unix:// needs ?socket=PATH")?;
    let export = place
        .strip_prefix('/')
        .ok_or("nbd+unix:// names no host: write nbd+unix:///EXPORT?socket=PATH")?;
    let mut socket = None;
    for parameter in parameters(query)? {
        match parameter.split_once('=') {
            Some(("socket", path)) if socket.is_none() => socket = Some(unescape(path)?),
            Some(_) | None => tls_parameter(parameter, tls.as_mut())?,
        }
    }
    let socket = socket
        .filter(|path| !path.is_empty())
        .ok_or("the path of the socket is empty")?;
    Ok(NbdUrl {
        address: Address::Unix(path(&socket)),
        tls,
        export: text(unescape(export)?)?,
    })
}

const PARAMETERS: &str = "its parameters are socket=PATH of a Unix socket, tls-certificates=DIR, tls-hostname=NAME and tls-verify-peer=0, each once";

/// The parameters behind the question mark, none of them twice: the second would undo the first.
fn parameters(query: &str) -> Result<impl Iterator<Item = &str>, &'static str> {
    let mut names = std::collections::BTreeSet::new();
    let mut all = query.split('&');
    match all.all(|parameter| names.insert(parameter.split('=').next())) {
        true => Ok(query.split('&')),
        false => Err(PARAMETERS),
    }
}

/// Reads one parameter that only TLS has.
fn tls_parameter(parameter: &str, tls: Option<&mut NbdTls>) -> Result<(), &'static str> {
    let tls = tls.ok_or("the only parameter is socket=PATH")?;
    let (name, value) = parameter
        .split_once('=')
        .ok_or("a parameter has no value")?;
    let value = unescape(value)?;
    match name {
        "tls-certificates" if tls.certificates.is_none() && !value.is_empty() => {
            tls.certificates = Some(path(&value));
        }
        "tls-hostname" if tls.host.is_none() && !value.is_empty() => {
            let host = String::from_utf8(value);
            tls.host = Some(host.map_err(|_not_text| "the name of the host is not UTF-8")?);
        }
        "tls-verify-peer" => {
            tls.unverified = match &value[..] {
                b"0" | b"false" | b"no" | b"off" => true,
                b"1" | b"true" | b"yes" | b"on" => false,
                _ => return Err("tls-verify-peer is 0 or 1"),
            };
        }
        "tls-psk-file" | "tls-username" => {
            return Err("keys that both sides know (PSK) are not supported; use certificates");
        }
        _ => {
            return Err(PARAMETERS);
        }
    }
    Ok(())
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
        tls: None,
        export: export.into(),
    })
}

fn host_and_port(authority: &str) -> Result<Address, &'static str> {
    if authority.contains('@') {
        return Err(
            "a user name belongs to keys that both sides know (PSK), which are not supported; use certificates",
        );
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

    #[test]
    fn an_address_that_is_made_reads_back_whatever_its_socket_and_export_are_called() {
        let export = "x y?z#%41/ü".to_owned();
        let path = PathBuf::from("/run/a b&c?d=e/%2F.sock");
        let at = NbdUrl::at_socket(path, export.clone());
        assert_eq!(
            at.to_string(),
            "nbd+unix:///x%20y%3Fz%23%2541/%C3%BC?socket=/run/a%20b%26c%3Fd%3De/%252F.sock"
        );
        for address in ["127.0.0.1:80", "[::1]:10809"] {
            let on_net = NbdUrl::at_address(address.parse().unwrap(), export.clone());
            for url in [
                at.clone(),
                on_net.clone(),
                at.clone().over_tls(),
                on_net.over_tls(),
            ] {
                assert_eq!(NbdUrl::parse(&url.to_string()).unwrap(), url);
            }
        }
    }

    fn tcp(host: &str, port: u16, export: &str) -> NbdUrl {
        NbdUrl {
            address: Address::Tcp {
                host: host.into(),
                port,
            },
            tls: None,
            export: export.into(),
        }
    }

    fn unix(socket: &str, export: &str) -> NbdUrl {
        NbdUrl {
            address: Address::Unix(socket.into()),
            tls: None,
            export: export.into(),
        }
    }

    fn over_tls(url: NbdUrl, tls: NbdTls) -> NbdUrl {
        NbdUrl {
            tls: Some(tls),
            ..url
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
    fn addresses_over_tls_say_whom_to_believe() {
        let believed = NbdTls {
            certificates: Some("/etc/a&b".into()),
            host: Some("disk.example".into()),
            unverified: false,
        };
        let query = "tls-certificates=/etc/a%26b&tls-hostname=disk.example";
        for (text, wanted) in [
            (
                "nbds://host/d".to_owned(),
                over_tls(tcp("host", 10_809, "d"), NbdTls::default()),
            ),
            (
                format!("nbds://host/d?{query}"),
                over_tls(tcp("host", 10_809, "d"), believed.clone()),
            ),
            (
                format!("nbds+unix:///d?socket=/s&{query}"),
                over_tls(unix("/s", "d"), believed.clone()),
            ),
        ] {
            assert_eq!(NbdUrl::parse(&text).unwrap(), wanted, "{text}");
        }
        let plain = NbdUrl::parse("nbds+unix:///?socket=/s").unwrap();
        assert_eq!(
            (plain.shown_by(), plain.tls.as_ref().unwrap().trust()),
            ("localhost", Trust::Public)
        );
        let named = NbdUrl::parse(&format!("nbds://host/?{query}")).unwrap();
        assert_eq!(named.shown_by(), "disk.example");
        assert_eq!(
            named.tls.unwrap().trust(),
            Trust::File("/etc/a&b/ca-cert.pem".into())
        );
        let anybody = NbdUrl::parse("nbds://host/?tls-verify-peer=0").unwrap();
        assert_eq!(anybody.tls.unwrap().trust(), Trust::Anybody);
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        for (text, reason) in [
            ("/dev/nbd0", "none of"),
            ("nbds://user@host/", "certificates"),
            ("nbd://user@host/", "certificates"),
            ("nbds://host/?tls-psk-file=/k", "certificates"),
            ("nbds://host/?tls-verify-peer=maybe", "0 or 1"),
            ("nbds://host/?tls-certificates=", "each once"),
            ("nbds://host/?socket=/s", "each once"),
            (
                "nbds://host/?tls-verify-peer=1&tls-verify-peer=0",
                "each once",
            ),
            ("nbds://host/?tls-hostname=a&tls-hostname=b", "each once"),
            ("nbds://host/?x", "no value"),
            ("nbd+unix:///?socket=/s&tls-hostname=a", "only parameter"),
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
            ("nbd+unix:///disk?socket=/a&socket=/b", "each once"),
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
        fn an_address_survives_being_written_and_read(export in "[^\0]{0,40}", socket in "/[^\0]{1,40}", host in "[a-z0-9.-]{1,20}|[0-9a-f:]{1,10}:", port in 1_u16.., unverified in any::<bool>()) {
            let tls = NbdTls { certificates: Some(socket.clone().into()), host: Some(host.clone()), unverified };
            let plain = [tcp(&host, port, &export), unix(&socket, &export)];
            let hidden = plain.clone().map(|url| over_tls(url, tls.clone()));
            for url in plain.into_iter().chain(hidden) {
                prop_assert_eq!(NbdUrl::parse(&url.to_string()).unwrap(), url);
            }
        }

        #[test]
        fn no_text_is_a_panic(text in "(nbd:|nbds?://|nbds?\\+unix://)?\\PC{0,60}") {
            let _either_is_fine = NbdUrl::parse(&text);
        }
    }
}
