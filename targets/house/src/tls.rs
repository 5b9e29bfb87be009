//! TLS as a server speaks it: what it shows, and whom it lets in.

use crate::listener::ListenError;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Certificate chain and key, as PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The authorities of which a client must show a certificate; anybody may come if not given.
    pub clients: Option<PathBuf>,
}

/// What a server shows of itself, and the protocols that it takes, by their names in ALPN.
///
/// # Errors
/// A file of the certificate cannot be used.
pub fn server_tls(files: &TlsFiles, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, ListenError> {
    let wrong = |path: &PathBuf, why: String| ListenError::Tls {
        path: path.clone(),
        why,
    };
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&pem(&files.key)?)
        .map_err(|e| wrong(&files.key, e.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(&files.certificate, e.to_string()))?;
    let config = match &files.clients {
        Some(authorities) => config.with_client_cert_verifier(admitted(authorities, provider)?),
        None => config.with_no_client_auth(),
    };
    let mut config = config
        .with_single_cert(chain, key)
        .map_err(|e| wrong(&files.certificate, e.to_string()))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ListenError> {
    let read = |e: rustls::pki_types::pem::Error| ListenError::Tls {
        path: path.to_owned(),
        why: e.to_string(),
    };
    CertificateDer::pem_slice_iter(&pem(path)?)
        .collect::<Result<_, _>>()
        .map_err(read)
}

fn pem(path: &Path) -> Result<Vec<u8>, ListenError> {
    sys::read_at_most(path, sys::MOST_OF_A_TEXT).map_err(|e| ListenError::Tls {
        path: path.to_owned(),
        why: e.to_string(),
    })
}

/// Whoever shows a certificate of these authorities.
fn admitted(
    authorities: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, ListenError> {
    let wrong = |why: String| ListenError::Tls {
        path: authorities.to_owned(),
        why,
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authorities)? {
        let added = roots.add(certificate);
        added.map_err(|error| wrong(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let built = verifier.build();
    built.map_err(|error| wrong(error.to_string()))
}
