//! `airlock plugin sign`: for those who publish components.

use crate::cli::print_foreign;
use crate::report::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use runtime::RuntimeError;
use runtime::install::SigningKey;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct SignArgs {
    /// The component; the signature is added to it
    file: PathBuf,
    /// File of an Ed25519 key, PKCS #8 in PEM or DER
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Make the key if the file is not there
    #[arg(long)]
    new_key: bool,
}

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

pub fn sign(args: &SignArgs) -> Result<(), Report> {
    if args.new_key && !args.key.exists() {
        make_key(&args.key)?;
    }
    let key = read_key(&args.key)?;
    let name = args.file.display().to_string();
    let unusable = |e: std::io::Error| Report::usage(format!("{name} cannot be signed: {e}"), "Name a component file.");
    let bytes = runtime::read_bounded(&args.file).map_err(unusable)?;
    let signed = key.sign(&name, &bytes).map_err(RuntimeError::from)?;
    // Whole or not at all: a half-written component is none.
    let folder = args.file.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(unusable)?;
    fresh.write_all(&signed).map_err(unusable)?;
    let mode = std::fs::metadata(&args.file).map_err(unusable)?.permissions();
    fresh.as_file().set_permissions(mode).map_err(unusable)?;
    fresh.persist(&args.file).map_err(|e| unusable(e.error))?;
    print_foreign(&format!("{name} is signed by {}\n", key.public()))
}

fn read_key(path: &Path) -> Result<SigningKey, Report> {
    let unusable = |why: String| {
        let next = "Give an Ed25519 key as `openssl genpkey -algorithm ed25519` writes it, or add --new-key.";
        Report::usage(format!("the key {} cannot be used: {why}", path.display()), next)
    };
    let bytes = runtime::read_bounded(path).map_err(|e| unusable(e.to_string()))?;
    SigningKey::from_pkcs8(&der(&bytes)).ok_or_else(|| unusable("it is no Ed25519 key in PKCS #8".into()))
}

/// What a PEM file holds; anything else as it is.
fn der(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let inner = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(inner, _)| inner);
    let coded = inner.map(|i| i.split_whitespace().collect::<String>());
    coded.and_then(|c| STANDARD.decode(c).ok()).unwrap_or_else(|| bytes.to_vec())
}

fn make_key(path: &Path) -> Result<(), Report> {
    let failed = |why: String| Report::usage(format!("no key can be made at {}: {why}", path.display()), "");
    let key = SigningKey::generate().ok_or_else(|| failed("the system gives no randomness".into()))?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|e| failed(e.to_string()))?;
    file.write_all(format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(key)).as_bytes()).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key.pem");
        make_key(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let first = read_key(&path).unwrap().public();
        assert!(make_key(&path).is_err(), "nothing is written over");
        assert_eq!(read_key(&path).unwrap().public(), first);
        std::fs::write(dir.path().join("bad"), "no key").unwrap();
        assert!(read_key(&dir.path().join("bad")).err().unwrap().what.contains("no Ed25519 key"));
    }
}
