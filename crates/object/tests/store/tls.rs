//! TLS in front of a server, with a certificate of a test authority for 127.0.0.1.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/store/tls")
        .join(name)
}

/// The authority's certificate.
pub(crate) fn authority() -> PathBuf {
    file("ca.pem")
}

/// Starts a front that decrypts for the server at `behind`; its own port.
pub(crate) fn start(behind: u16) -> u16 {
    start_with(behind, &[])
}

/// As `start`, with the protocols that it agrees on (ALPN); without any it does not speak of them.
pub(crate) fn start_with(behind: u16, protocols: &[&str]) -> u16 {
    let chain = CertificateDer::pem_file_iter(file("cert.pem"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    listen(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut outside) = acceptor.accept(stream).await else {
                return;
            };
            let Ok(mut inside) = TcpStream::connect(("127.0.0.1", behind)).await else {
                return;
            };
            let _ended = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        }
    })
}

/// Serves each connection to a port of its own, on a thread that ends with the test; the port.
pub(crate) fn listen<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> u16 {
    let (tell, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().port()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    port.recv().unwrap()
}
