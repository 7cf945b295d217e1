//! Encrypted connections, with as much trust as the URL's `sslmode` says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{LogError, OpenError};

/// Which certificates of a server are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Any: `disable`, `prefer` and `require`.
    Anybody,
    /// One that an authority signed, for whatever host: `verify-ca`.
    Authority(Option<PathBuf>),
    /// One that an authority signed for this host: `verify-full`.
    Host(Option<PathBuf>),
    /// As the first, and with a certificate of our own in these two files.
    Known(Box<Trust>, PathBuf, PathBuf),
}

impl Trust {
    /// Adds the files of a certificate and key of our own.
    pub(super) fn with_own(self, own: Option<(PathBuf, PathBuf)>) -> Self {
        match own {
            Some((certificate, key)) => Self::Known(Box::new(self), certificate, key),
            None => self,
        }
    }

    /// Returns what makes connections secure.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, LogError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| LogError::Engine(Box::new(error)))?;
        let verifier = self.verifier(&provider)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let config = match self {
            Self::Known(_, certificate, key) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unreadable(key, std::io::Error::other(error.to_string())))?;
                builder
                    .with_client_auth_cert(chain, secret)
                    .map_err(|error| unreadable(certificate, std::io::Error::other(error)))?
            }
            Self::Anybody | Self::Authority(_) | Self::Host(_) => builder.with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, LogError> {
        match self {
            Self::Anybody => Ok(Arc::new(AnyCertificate(Arc::clone(provider)))),
            Self::Authority(root) => Ok(Arc::new(AnyHost(web_pki(root.as_deref(), provider)?))),
            Self::Host(root) => Ok(web_pki(root.as_deref(), provider)?),
            Self::Known(trust, _, _) => trust.verifier(provider),
        }
    }
}

fn web_pki(
    root: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, LogError> {
    let mut roots = RootCertStore::empty();
    match root.filter(|path| *path != Path::new("system")) {
        Some(path) => {
            for certificate in certificates(path)? {
                roots
                    .add(certificate)
                    .map_err(|error| unreadable(path, std::io::Error::other(error)))?;
            }
        }
        // What the system cannot read is missed when a certificate needs it.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| LogError::Engine(Box::new(error)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LogError> {
    let broken = |text: String| unreadable(path, std::io::Error::other(text));
    let found = CertificateDer::pem_file_iter(path).map_err(|error| broken(error.to_string()))?;
    let found: Vec<_> =
        found.collect::<Result<_, _>>().map_err(|error| broken(error.to_string()))?;
    if found.is_empty() {
        return Err(broken("the file holds no certificate".to_owned()));
    }
    Ok(found)
}

fn unreadable(path: &Path, source: std::io::Error) -> LogError {
    OpenError::File { path: path.to_owned(), source }.into()
}

/// Takes any certificate whose key the server has.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes a certificate that an authority signed, for whatever host it is.
#[derive(Debug)]
struct AnyHost(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let checked =
            self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let other_host = matches!(
            checked,
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            ))
        );
        // The name is looked at last: whatever else is wrong was said before.
        if other_host { Ok(ServerCertVerified::assertion()) } else { checked }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
