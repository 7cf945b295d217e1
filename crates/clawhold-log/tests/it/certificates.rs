//! Certificates of the tests' own: an authority, a server on this host, and a client.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};

/// Writes `ca.pem`, and `server` and `client` with `.pem` and `.key`, that the authority signed. The
/// server is known as 127.0.0.1 and by no name.
pub(crate) fn certify(directory: &Path) {
    let ca_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = authority.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(authority, ca_key);
    fs::write(directory.join("ca.pem"), ca.pem()).unwrap();
    let server = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let mut client = CertificateParams::default();
    // Named apart from its authority: a certificate that names itself as its issuer is not trusted.
    client.distinguished_name.push(DnType::CommonName, "clawhold");
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for (name, params) in [("server", server), ("client", client)] {
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        fs::write(directory.join(format!("{name}.pem")), signed.pem()).unwrap();
        fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}
