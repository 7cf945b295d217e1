//! PostgreSQL over TLS: whom each `sslmode` believes, and what is said when it believes nobody.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use clawhold_log::{Append, Epoch, Log, Number, PostgresLog};
use tempfile::TempDir;

use super::certificates::certify;
use super::postgres_server::{Server, identity};

#[test]
fn the_server_is_known_by_its_certificate_and_its_host_where_the_mode_says_so() {
    let bench = Bench::start();
    bench.server.admit("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n");
    let root = bench.files.path().join("ca.pem");
    let known = format!("sslrootcert={}", root.display());
    let mut log = PostgresLog::open(&bench.url(&format!("sslmode=verify-full&{known}"))).unwrap();
    assert!(log.take_over(Epoch(1), b"").is_ok());
    assert_eq!(log.append(Number(2), Epoch(1), b"two").unwrap(), Append::Done);
    let plain = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                 WHERE a.application_name = 'clawhold' AND NOT s.ssl";
    assert_eq!(bench.server.sql(plain), "0", "a connection is not encrypted");

    for mode in ["require", "prefer"] {
        assert!(PostgresLog::open(&bench.url(&format!("sslmode={mode}"))).is_ok(), "{mode}");
    }
    bench.refuses("sslmode=disable", "no encryption");
    // The system's authorities have not signed it, and neither has this one.
    bench.refuses("sslmode=verify-full", "UnknownIssuer");
    let other = tempfile::tempdir().unwrap();
    certify(other.path());
    let unknown = format!("sslrootcert={}", other.path().join("ca.pem").display());
    for mode in ["require", "verify-ca", "verify-full"] {
        bench.refuses(&format!("sslmode={mode}&{unknown}"), "certificate");
    }
    bench.refuses("sslmode=verify-full&sslrootcert=/none/ca.pem", "/none/ca.pem");

    // The certificate names the address, not this name of the same host.
    let by_name = |mode: &str| {
        let url = bench.url(&format!("sslmode={mode}&{known}"));
        PostgresLog::open(&url.replace("@127.0.0.1:", "@localhost:"))
    };
    let error = by_name("verify-full").unwrap_err();
    let text = clawhold_log::chain(&error);
    assert!(text.contains("NotValidForName") || text.contains("localhost"), "{text}");
    assert!(by_name("verify-ca").is_ok());
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_ours() {
    let bench = Bench::start();
    let rule = "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca";
    bench.server.admit(&format!("local all all trust\n{rule}\n"));
    let known = format!("sslmode=verify-full&sslrootcert={}", bench.file("ca.pem"));
    bench.refuses(&known, "certificate");
    let own =
        format!("{known}&sslcert={}&sslkey={}", bench.file("client.pem"), bench.file("client.key"));
    let mut log = PostgresLog::open(&bench.url(&own)).unwrap();
    assert!(log.take_over(Epoch(1), b"").is_ok());
}

/// A server that speaks TLS, and the certificates.
struct Bench {
    server: Server,
    files: TempDir,
    _folder: TempDir,
}

impl Bench {
    fn start() -> Self {
        let (files, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        certify(files.path());
        let (user, group) = identity();
        // PostgreSQL runs as another user than these tests and takes no key that others can read.
        fs::set_permissions(files.path(), Permissions::from_mode(0o755)).unwrap();
        let key = files.path().join("server.key");
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        chown(&key, Some(user), Some(group)).unwrap();
        let settings = format!(
            "ssl = on\nssl_cert_file = '{0}/server.pem'\nssl_key_file = '{0}/server.key'\n\
             ssl_ca_file = '{0}/ca.pem'\n",
            files.path().display()
        );
        let server = Server::start(folder.path(), &settings);
        Self { server, files, _folder: folder }
    }

    fn url(&self, options: &str) -> String {
        format!("{}&{options}", self.server.url("encrypted"))
    }

    fn file(&self, name: &str) -> String {
        let path: &Path = &self.files.path().join(name);
        path.display().to_string()
    }

    fn refuses(&self, options: &str, part: &str) {
        let error = PostgresLog::open(&self.url(options)).unwrap_err();
        let text = clawhold_log::chain(&error);
        assert!(text.contains(part), "{options}: {text}");
        assert!(!text.contains("a%20pass") && !text.contains("a pass/word"), "{text}");
    }
}
