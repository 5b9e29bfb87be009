//! One connection: TCP, or TLS over it. What it does is timed by who calls it; nothing is pooled or
//! retried here.

use crate::LoadError;
use crate::target::Endpoint;
use rustls::pki_types::ServerName;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trust::Trust;

/// How requests travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1: a connection for each user.
    #[default]
    One,
    /// HTTP/2: users share so many connections. Agreed on by TLS (ALPN), and taken as known where
    /// there is no TLS.
    Two { connections: u32 },
}

/// HTTP/2 as TLS calls it (RFC 9113, 3.2).
const HTTP2: &[u8] = b"h2";

/// How that begins to be said.
pub(crate) const NO_HTTP2: &str = "the endpoint does not answer in HTTP/2";

/// What HTTP/2 was asked of does not speak it, as far as can be seen.
pub(crate) fn speaks_no_http2(why: &str) -> io::Error {
    io::Error::other(format!("{NO_HTTP2} ({why})"))
}

/// An endpoint that was looked up.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Peer {
    /// Looks up the first address, once for the whole run, so that no name service is in any
    /// latency.
    pub(crate) fn find(
        endpoint: &Endpoint,
        trust: &Trust,
        version: HttpVersion,
    ) -> Result<Self, LoadError> {
        let unknown = |why: String| {
            LoadError::asked(format!(
                "cannot look up {}: {why}; check the name in the target",
                endpoint.host
            ))
        };
        let mut found = (endpoint.host.as_str(), endpoint.port)
            .to_socket_addrs()
            .map_err(|e| unknown(e.to_string()))?;
        let address = found
            .next()
            .ok_or_else(|| unknown("it has no address".into()))?;
        let tls = if endpoint.is_tls {
            let name =
                ServerName::try_from(endpoint.host.clone()).map_err(|e| unknown(e.to_string()))?;
            let mut config = trust::client_config(trust, None)
                .map_err(|why| LoadError::asked(format!("--cacert {why}")))?;
            if let HttpVersion::Two { .. } = version {
                config.alpn_protocols = vec![HTTP2.to_vec()];
            }
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        Ok(Self {
            address,
            authority: endpoint.authority.clone(),
            tls,
        })
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

fn is_refused_protocol(error: &io::Error) -> bool {
    let alert = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(
        alert,
        Some(rustls::Error::AlertReceived(
            rustls::AlertDescription::NoApplicationProtocol
        ))
    )
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
            Some((connector, name)) => match connector.connect(name.clone(), stream).await {
                Ok(stream) => Ok(Self::Tls(Box::new(stream))),
                Err(error) if is_refused_protocol(&error) => {
                    Err(speaks_no_http2("TLS refused the protocol"))
                }
                Err(error) => Err(error),
            },
        }
    }

    /// Whether HTTP/2 may be spoken: TLS agreed on it, or there is no TLS to ask.
    pub(crate) fn agreed_on_http2(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(HTTP2),
        }
    }

    /// Whether the server closed it, or sent something nobody asked for, while it lay idle. Costs
    /// no system call while nothing has happened.
    pub(crate) fn is_stale(&mut self) -> bool {
        let mut byte = [0];
        match self {
            Self::Plain(stream) => {
                !matches!(stream.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
            }
            // Tickets of the session may come at any time; the session takes them for itself, and
            // then has nothing to read.
            Self::Tls(stream) => {
                let mut context = Context::from_waker(std::task::Waker::noop());
                Pin::new(stream.as_mut())
                    .poll_read(&mut context, &mut ReadBuf::new(&mut byte))
                    .is_ready()
            }
        }
    }

    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }

    /// Throws received bytes away without copying them, as many as `room` is long at most; `None`
    /// where the transport cannot. Linux's TCP takes `MSG_TRUNC` for that (tcp(7)).
    pub(crate) fn poll_discard(
        &mut self,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Option<Poll<io::Result<usize>>> {
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
            let discard = || {
                Ok(rustix::net::recv(
                    &*stream,
                    &mut *room,
                    rustix::net::RecvFlags::TRUNC | rustix::net::RecvFlags::DONTWAIT,
                )?
                .1)
            };
            match stream.try_io(tokio::io::Interest::READABLE, discard) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Some(Poll::Ready(other)),
            }
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(context, pieces),
        }
    }

    pub(crate) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }

    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    use std::path::PathBuf;
    use tokio::io::AsyncWriteExt;

    fn pem(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/store/tls")
            .join(name)
    }

    fn acceptor() -> tokio_rustls::TlsAcceptor {
        let chain = CertificateDer::pem_file_iter(pem("cert.pem"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let key = rustls::pki_types::PrivateKeyDer::from_pem_file(pem("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        Arc::new(
            config
                .with_no_client_auth()
                .with_single_cert(chain, key)
                .unwrap(),
        )
        .into()
    }

    #[test]
    fn an_idle_tls_connection_is_stale_once_the_server_has_closed_it_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let endpoint = Endpoint {
                is_tls: true,
                host: "127.0.0.1".into(),
                port: listener.local_addr().unwrap().port(),
                authority: "127.0.0.1".into(),
            };
            let peer =
                Peer::find(&endpoint, &Trust::File(pem("ca.pem")), HttpVersion::One).unwrap();
            let accept = tokio::spawn(async move {
                acceptor()
                    .accept(listener.accept().await.unwrap().0)
                    .await
                    .unwrap()
            });
            let mut client = Stream::connect(&peer).await.unwrap();
            let mut server = accept.await.unwrap();
            // The tickets of the session have come, or not.
            assert!(!client.is_stale());
            server.shutdown().await.unwrap();
            let closing = async {
                while !client.is_stale() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(std::time::Duration::from_secs(30), closing)
                .await
                .unwrap();
        });
    }
}
