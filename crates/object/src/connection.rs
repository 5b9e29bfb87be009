//! One connection: TCP, or TLS over it. What it does is timed by who calls it; nothing is pooled or retried here.

use crate::LoadError;
use crate::target::Endpoint;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{self, IoSlice};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Whom TLS believes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that browsers believe.
    #[default]
    Public,
    /// These authorities, from a PEM file, in addition.
    File(PathBuf),
    /// Anybody: encrypted, and not authenticated.
    Anybody,
}

/// An endpoint that was looked up.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Peer {
    /// Looks up the first address, once for the whole run, so that no name service is in any latency.
    pub(crate) fn find(endpoint: &Endpoint, trust: &Trust) -> Result<Self, LoadError> {
        let unknown = |why: String| LoadError::Target(format!("cannot look up {}: {why}; check the name in the target", endpoint.host));
        let mut found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs().map_err(|e| unknown(e.to_string()))?;
        let address = found.next().ok_or_else(|| unknown("it has no address".into()))?;
        let tls = if endpoint.is_tls {
            let name = ServerName::try_from(endpoint.host.clone()).map_err(|e| unknown(e.to_string()))?;
            Some((TlsConnector::from(Arc::new(client_config(trust)?)), name))
        } else {
            None
        };
        Ok(Self { address, authority: endpoint.authority.clone(), tls })
    }
}

fn client_config(trust: &Trust) -> Result<ClientConfig, LoadError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has the suites of the default versions");
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    match trust {
        Trust::Public => {}
        Trust::Anybody => {
            let verifier = Arc::new(BelievesAnybody(provider));
            return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
        }
        Trust::File(path) => {
            let refused = |why: String| LoadError::asked(format!("--cacert {}: {why}; it is a PEM file of certificates", path.display()));
            let mut count = 0;
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| refused(e.to_string()))? {
                roots.add(certificate.map_err(|e| refused(e.to_string()))?).map_err(|e| refused(e.to_string()))?;
                count += 1;
            }
            if count == 0 {
                return Err(refused("no certificate in it".into()));
            }
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Takes every certificate; signatures are still checked, so that the peer holds the key that it shows.
#[derive(Debug)]
struct BelievesAnybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for BelievesAnybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An open connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(crate) async fn connect(peer: &Peer) -> io::Result<Self> {
        let stream = TcpStream::connect(peer.address).await?;
        stream.set_nodelay(true)?;
        match &peer.tls {
            None => Ok(Self::Plain(stream)),
            Some((connector, name)) => Ok(Self::Tls(Box::new(connector.connect(name.clone(), stream).await?))),
        }
    }

    /// Whether the server closed it, or sent something nobody asked for, while it lay idle. Costs no system call while nothing has happened.
    pub(crate) fn is_stale(&self) -> bool {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        let mut byte = [0];
        match self {
            Self::Plain(_) => !matches!(stream.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock),
            // Bytes of the session itself may come at any time, and must not be taken from it.
            Self::Tls(_) => false,
        }
    }

    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }

    /// Throws received bytes away without copying them, as many as `room` is long at most; `None` where the transport cannot. Linux's TCP takes
    /// `MSG_TRUNC` for that (tcp(7)).
    pub(crate) fn poll_discard(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Option<Poll<io::Result<usize>>> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(_) => return None,
        };
        loop {
            match stream.poll_read_ready(context) {
                Poll::Pending => return Some(Poll::Pending),
                Poll::Ready(Err(error)) => return Some(Poll::Ready(Err(error))),
                Poll::Ready(Ok(())) => {}
            }
            let discard =
                || Ok(rustix::net::recv(&*stream, &mut *room, rustix::net::RecvFlags::TRUNC | rustix::net::RecvFlags::DONTWAIT)?.1);
            match stream.try_io(tokio::io::Interest::READABLE, discard) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Some(Poll::Ready(other)),
            }
        }
    }

    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(context, pieces),
        }
    }

    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }
}
