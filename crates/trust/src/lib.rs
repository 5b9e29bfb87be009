//! Whom a client of TLS believes, and as whom it shows itself.
//!
//! One configuration for whatever speaks TLS here, over connections of any kind. Absent on purpose:
//! connections, and the configuration of servers.
#![forbid(unsafe_code)]

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme,
    WantsVerifier,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// As whom a client shows itself: chain and key as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}; it is a PEM file of {wanted}", path.display())]
pub struct TrustError {
    path: PathBuf,
    why: String,
    wanted: &'static str,
}

/// What a client believes and shows.
///
/// # Errors
/// A file cannot be read or has not what it must.
pub fn client_config(
    trust: &Trust,
    identity: Option<&ShownCertificate>,
) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has the suites of the default versions");
    let builder = believing(builder, provider, trust)?;
    let Some(ShownCertificate { certificate, key }) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let wrong = |path: &Path, wanted, why: String| TrustError {
        path: path.to_owned(),
        why,
        wanted,
    };
    let chain = certificates(certificate)?;
    let secret = sys::read_at_most(key, sys::MOST_OF_A_TEXT)
        .map_err(|error| error.to_string())
        .and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).map_err(|error| error.to_string()))
        .map_err(|why| wrong(key, "a private key", why))?;
    builder
        .with_client_auth_cert(chain, secret)
        .map_err(|error| wrong(certificate, "certificates", error.to_string()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let refused = |why: String| TrustError {
        path: path.to_owned(),
        why,
        wanted: "certificates",
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(
        &sys::read_at_most(path, sys::MOST_OF_A_TEXT)
            .map_err(|error| refused(error.to_string()))?,
    )
    .collect();
    let found = found.map_err(|error| refused(error.to_string()))?;
    match found.is_empty() {
        true => Err(refused("no certificate in it".into())),
        false => Ok(found),
    }
}

fn believing(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    provider: Arc<CryptoProvider>,
    trust: &Trust,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TrustError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let path = match trust {
        Trust::Public => return Ok(builder.with_root_certificates(roots)),
        Trust::Anybody => {
            let verifier = Arc::new(BelievesAnybody(provider));
            return Ok(builder
                .dangerous()
                .with_custom_certificate_verifier(verifier));
        }
        Trust::File(path) => path,
    };
    let refused = |why: String| TrustError {
        path: path.clone(),
        why,
        wanted: "certificates",
    };
    let pinned = certificates(path)?;
    for certificate in &pinned {
        roots
            .add(certificate.clone())
            .map_err(|error| refused(error.to_string()))?;
    }
    let authorities =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let authorities = authorities.map_err(|error| refused(error.to_string()))?;
    let verifier = Arc::new(BelievesThese {
        pinned,
        authorities,
    });
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier))
}

/// Takes what these authorities have signed, and their certificates themselves: one that a server
/// made for itself is often that of an authority, which is no server's by the rules, and whoever
/// names it means that server.
#[derive(Debug)]
struct BelievesThese {
    pinned: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for BelievesThese {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pinned.iter().any(|pinned| pinned == end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        self.authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Takes every certificate; signatures are still checked, so that the peer holds the key that it
/// shows.
#[derive(Debug)]
struct BelievesAnybody(Arc<CryptoProvider>);

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
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_what_it_must_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let why = |trust: &Trust, identity: Option<&ShownCertificate>| {
            client_config(trust, identity).unwrap_err().to_string()
        };
        let trust = Trust::File(path.clone());
        assert!(why(&trust, None).contains("ca.pem"));
        std::fs::write(&path, "nothing of the kind").unwrap();
        let shown = path.display();
        assert_eq!(
            why(&trust, None),
            format!("{shown}: no certificate in it; it is a PEM file of certificates")
        );
        let identity = ShownCertificate {
            certificate: path.clone(),
            key: path,
        };
        assert!(why(&Trust::Anybody, Some(&identity)).contains("no certificate in it"));
        assert!(client_config(&Trust::Public, None).is_ok());
    }
}
