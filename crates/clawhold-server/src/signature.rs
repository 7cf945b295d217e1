//! Signatures over what leaves for other programs and over what comes from them.
//!
//! HMAC-SHA256 over the bytes as they are sent. A signature is compared in constant time, and one
//! that is too old counts as none.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The header of a signed webhook, in and out.
pub(crate) const HEADER: &str = "clawhold-signature";
/// Seconds by which the moment of a signature may be off.
pub(crate) const SKEW_S: u64 = 300;

/// Returns the signature over `parts`, one after the other, in hexadecimal.
pub(crate) fn sign(secret: &[u8], parts: &[&[u8]]) -> String {
    hex(&mac(secret, parts).finalize().into_bytes())
}

/// Tells whether `signature`, in hexadecimal, is the one over `parts`.
pub(crate) fn is_genuine(secret: &[u8], parts: &[&[u8]], signature: &str) -> bool {
    let Some(tag) = unhex(signature) else { return false };
    !secret.is_empty() && mac(secret, parts).verify_slice(&tag).is_ok()
}

/// Tells whether two texts are the same, in a time that says nothing about where they differ.
pub(crate) fn is_same(secret: &[u8], given: &[u8]) -> bool {
    let tag = mac(b"compare", &[secret]).finalize().into_bytes();
    !secret.is_empty() && mac(b"compare", &[given]).verify_slice(&tag).is_ok()
}

/// Returns the header that signs `body` at the second `at_s`: `t=SECONDS,v1=HEX`.
pub(crate) fn header(secret: &[u8], at_s: u64, body: &[u8]) -> String {
    let at = at_s.to_string();
    format!("t={at},v1={}", sign(secret, &[at.as_bytes(), b".", body]))
}

/// Returns the genuine signature in a header over `body`, if there is one of about now.
pub(crate) fn check_header(secret: &[u8], now_s: u64, header: &str, body: &[u8]) -> Option<String> {
    let mut at = None;
    let mut signatures = Vec::new();
    for part in header.split(',').take(10) {
        match part.trim().split_once('=') {
            Some(("t", value)) => at = Some(value),
            Some(("v1", value)) => signatures.push(value),
            Some(_) | None => {}
        }
    }
    let at = at.filter(|at| is_recent(now_s, at))?;
    let parts: [&[u8]; 3] = [at.as_bytes(), b".", body];
    let genuine = signatures.into_iter().find(|one| is_genuine(secret, &parts, one));
    genuine.map(str::to_owned)
}

/// Tells whether seconds since 1970, as text, lie within [`SKEW_S`] of now.
pub(crate) fn is_recent(now_s: u64, at: &str) -> bool {
    let digits = !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_digit());
    digits && at.parse().is_ok_and(|at: u64| now_s.abs_diff(at) <= SKEW_S)
}

/// Returns the first 32 hexadecimal digits of a digest: a name for something that came.
pub(crate) fn print(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    hex(&digest.finalize()[..16])
}

fn mac(secret: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 128 {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_known_vector() {
        // RFC 4231, test case 2.
        let signature = sign(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature, known);
        assert!(is_genuine(b"Jefe", &[b"what do ya want for nothing?"], known));
    }

    #[test]
    fn what_is_forged_short_old_or_empty_counts_as_unsigned() {
        let (secret, body) = (b"s3cret".as_slice(), b"{\"a\":1}".as_slice());
        let good = header(secret, 1_000, body);
        assert!(check_header(secret, 1_300, &good, body).is_some());
        assert!(check_header(secret, 700, &good, body).is_some());
        assert_eq!(check_header(secret, 1_301, &good, body), None, "five minutes and a second");
        assert_eq!(check_header(secret, 699, &good, body), None);
        assert_eq!(check_header(secret, 1_000, &good, b"{\"a\": 1}"), None, "re-encoded");
        assert_eq!(check_header(b"other", 1_000, &good, body), None);
        assert_eq!(check_header(b"", 1_000, &header(b"", 1_000, body), body), None);
        for bad in ["", "t=1000", "t=1000,v1=", "v1=00", "t=1000,v1=zz", "t=x,v1=00"] {
            assert_eq!(check_header(secret, 1_000, bad, body), None, "{bad}");
        }
        assert!(!is_genuine(secret, &[body], &sign(secret, &[body])[..62]));
        assert!(is_same(b"token", b"token") && !is_same(b"token", b"tokem"));
        assert!(!is_same(b"", b""));
    }
}
