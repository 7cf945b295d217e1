//! Paths as text that any JSON carries, whatever bytes they are made of.
//!
//! What is plain UTF-8 stays readable; `%`, control characters and bytes that are not UTF-8 are
//! written as `%` and two hex digits.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns `path` as text.
pub(crate) fn encode(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || character.is_control() {
                let mut buffer = [0; 4];
                escape(character.encode_utf8(&mut buffer).as_bytes(), &mut text);
            } else {
                text.push(character);
            }
        }
        escape(chunk.invalid(), &mut text);
    }
    text
}

/// Returns the path that `text` stands for; none if `text` was not written by [`encode`].
pub(crate) fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

fn escape(bytes: &[u8], text: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        text.push('%');
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_plain_path_stays_readable() {
        assert_eq!(encode(Path::new("src/über mich.rs")), "src/über mich.rs");
        assert_eq!(encode(Path::new("100%\n")), "100%25%0A");
    }

    #[test]
    fn any_bytes_come_back() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..random.usize(0..40)).map(|_| random.u8(1..)).collect();
            let path = Path::new(OsStr::from_bytes(&bytes));
            let text = encode(path);
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert_eq!(decode(&text).as_deref(), Some(path));
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        assert_eq!(decode("50%"), None);
        assert_eq!(decode("50%zz"), None);
    }
}
