//! Signatures of components: Ed25519 over code and manifest together. The section `airlock:signature` is the last of the file and
//! signs every byte before it: one byte of version, 32 of the public key, 64 of the signature.

use super::InstallError;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt::Write as _;
use wasmparser::{Encoding, Parser, Payload};

const SECTION: &str = "airlock:signature";
const VERSION: u8 = 1;
const CONTENT: usize = 1 + 32 + 64;

/// Who signed a component: `ed25519:` and 64 hex digits. `None` where nobody did.
///
/// # Errors
/// A signature that does not fit its file, stands elsewhere than at its end, or is there twice.
pub fn signer(name: &str, bytes: &[u8]) -> Result<Option<String>, InstallError> {
    let wrong = |why| InstallError::Signature { name: name.into(), why };
    let Some((start, content)) = section(name, bytes)? else { return Ok(None) };
    let content: &[u8; CONTENT] = content.try_into().map_err(|_| wrong("it does not have the length of one"))?;
    let ([version], rest) = content.split_first_chunk::<1>().ok_or_else(|| wrong("it is empty"))?;
    if *version != VERSION {
        return Err(wrong("it is of a version that this program does not know"));
    }
    let (key, signature) = rest.split_at(32);
    let signed = UnparsedPublicKey::new(&ED25519, key).verify(&bytes[..start], signature);
    signed.map_err(|_| wrong("the file is not the one that was signed"))?;
    Ok(Some(named(key)))
}

/// Where the section begins, and what it holds.
fn section<'a>(name: &str, bytes: &'a [u8]) -> Result<Option<(usize, &'a [u8])>, InstallError> {
    let wrong = |why| InstallError::Signature { name: name.into(), why };
    let (mut depth, mut end, mut found) = (0_usize, 0, None);
    for payload in Parser::new(0).parse_all(bytes) {
        // A file that is damaged is refused where it is read as a component.
        let Ok(payload) = payload else { return Ok(None) };
        let ours = matches!(&payload, Payload::CustomSection(s) if depth == 1 && s.name() == SECTION);
        match &payload {
            Payload::Version { encoding: Encoding::Component | Encoding::Module, .. } => depth += 1,
            Payload::End(_) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            _ => {}
        }
        if found.is_some() && depth == 1 {
            return Err(wrong("something stands behind it that nobody signed"));
        }
        if let (Payload::CustomSection(s), true) = (&payload, ours) {
            found = Some((end, s.data()));
        }
        if let (1, Some((_, range))) = (depth, payload.as_section()) {
            end = range.end;
        } else if let (1, Payload::Version { range, .. }) = (depth, &payload) {
            end = range.end;
        }
        if let Payload::ModuleSection { unchecked_range: range, .. }
        | Payload::ComponentSection { unchecked_range: range, .. } = &payload
        {
            end = range.end;
        }
    }
    Ok(found)
}

fn named(key: &[u8]) -> String {
    key.iter().fold("ed25519:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A publisher's key.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// From PKCS #8, as `openssl genpkey -algorithm ed25519 -outform DER` writes it. `None` for anything else.
    #[must_use]
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Self)
    }

    /// A new key, as PKCS #8. `None` where the system gives no randomness.
    #[must_use]
    pub fn generate() -> Option<Vec<u8>> {
        let made = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).ok()?;
        Some(made.as_ref().to_vec())
    }

    /// As [`signer`] names it.
    #[must_use]
    pub fn public(&self) -> String {
        named(self.0.public_key().as_ref())
    }

    /// The component with a signature at its end; one that is there is replaced.
    ///
    /// # Errors
    /// A signature that stands elsewhere.
    pub fn sign(&self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, InstallError> {
        let end = section(name, bytes)?.map_or(bytes.len(), |(start, _)| start);
        let mut signed = bytes[..end].to_vec();
        let signature = self.0.sign(&signed);
        let size = u8::try_from(1 + SECTION.len() + CONTENT).unwrap_or(u8::MAX);
        let name_size = u8::try_from(SECTION.len()).unwrap_or(u8::MAX);
        // Section 0; its size fits in one byte of LEB128, since it is below 128.
        signed.extend([0, size, name_size]);
        signed.extend(SECTION.as_bytes());
        signed.push(VERSION);
        signed.extend(self.0.public_key().as_ref());
        signed.extend(signature.as_ref());
        Ok(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap()
    }

    fn component() -> Vec<u8> {
        let text = r#"(component (core module (@custom "airlock:manifest" "{}") (func)) (component))"#;
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a_signature_covers_every_byte() {
        let key = key();
        let signed = key.sign("x", &component()).unwrap();
        assert_eq!(signer("x", &component()), Ok(None));
        assert_eq!(signer("x", &signed), Ok(Some(key.public())));
        assert_eq!(key.sign("x", &signed).unwrap(), signed, "signed again it is the same");
        for i in 0..signed.len() {
            let mut changed = signed.clone();
            changed[i] ^= 1;
            assert_ne!(signer("x", &changed), Ok(Some(key.public())), "byte {i}");
        }
    }

    #[test]
    fn what_stands_behind_a_signature_is_refused() {
        let key = key();
        let signed = key.sign("x", &component()).unwrap();
        let other = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap().sign("x", &component()).unwrap();
        let tail = &other[component().len()..];
        let custom = [&signed[..], &[0, 2, 1, b'a']].concat();
        for (bytes, part) in [
            (custom, "behind it"),
            ([&signed[..], tail].concat(), "behind it"),
            ([&component()[..], &[0, 22, 17], b"airlock:signature", &[1, 2, 3, 4]].concat(), "length"),
        ] {
            let error = signer("x", &bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let resigned = [&component()[..], tail].concat();
        assert_ne!(signer("x", &resigned).unwrap(), Some(key.public()), "another key is another publisher");
    }

    /// RFC 8410, section 10.3: the example of a private key. What it signs is what others verify.
    #[test]
    fn a_key_as_openssl_writes_it() {
        let der = [
            &[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20][..],
            &hex("d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842"),
        ]
        .concat();
        let public = SigningKey::from_pkcs8(&der).unwrap().public();
        assert_eq!(public, "ed25519:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1");
        assert!(SigningKey::from_pkcs8(b"no key").is_none());
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }
}
