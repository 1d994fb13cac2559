use super::*;
use std::os::unix::fs::PermissionsExt;

fn vault(home: &Path) -> Vault {
    Vault::open(&Owner::local(), &home.join("cache"), &home.join("data")).unwrap()
}

#[test]
fn a_file_is_sealed_with_its_name() {
    let home = tempfile::tempdir().unwrap();
    let vault = vault(home.path());
    vault.write("a", b"content").unwrap();
    assert_eq!(vault.read("a").as_deref(), Some(&b"content"[..]));
    fs::copy(home.path().join("cache/a"), home.path().join("cache/b")).unwrap();
    assert!(vault.read("b").is_none(), "another name");
    for damage in [&b""[..], b"short", &[0; 40]] {
        fs::write(home.path().join("cache/a"), damage).unwrap();
        assert!(vault.read("a").is_none(), "{damage:?}");
    }
}

#[test]
fn what_is_unsealed_is_whole_and_never_changes() {
    let home = tempfile::tempdir().unwrap();
    let vault = vault(home.path());
    let content = vec![7; PIECE + 1];
    vault.write("a", &content).unwrap();
    let path = home.path().join("cache/a");
    let mut memory = vault.unseal("a").unwrap().unwrap();
    fs::write(&path, b"changed").unwrap();
    let through = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memory));
    assert!(fs::read(through).unwrap() == content, "the copy stands, without the seal before it");
    assert_eq!(memory.write(b"x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(memory.set_len(0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert!(vault.unseal("a").is_err(), "it holds no seal");
    vault.write("a", &content).unwrap();
    let mut damaged = fs::read(&path).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(vault.unseal("a").unwrap().is_none());
    assert!(vault.unseal("b").is_err(), "nothing of this name");
}

#[test]
fn another_key_opens_nothing() {
    let home = tempfile::tempdir().unwrap();
    vault(home.path()).write("a", b"content").unwrap();
    fs::remove_file(home.path().join("data/compiled.key")).unwrap();
    assert!(vault(home.path()).read("a").is_none());
}

/// Even where the key is the same: what one owner had compiled is not run for another.
#[test]
fn another_owner_finds_nothing() {
    let home = tempfile::tempdir().unwrap();
    vault(home.path()).write("a", b"content").unwrap();
    let bob = Owner::parse("bob").unwrap();
    let theirs = Vault::open(&bob, &home.path().join("cache"), &home.path().join("data")).unwrap();
    assert!(theirs.read("a").is_none());
}

#[test]
fn what_others_could_change_is_refused() {
    for (path, mode) in [("cache", 0o770), ("cache", 0o707), ("data/compiled.key", 0o644)] {
        let home = tempfile::tempdir().unwrap();
        drop(vault(home.path()));
        fs::set_permissions(home.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
        let error = Vault::open(&Owner::local(), &home.path().join("cache"), &home.path().join("data")).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{path} {mode:o}");
    }
}

#[test]
fn a_link_is_no_folder_of_ours() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("real")).unwrap();
    fs::set_permissions(home.path().join("real"), fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(home.path().join("real"), home.path().join("cache")).unwrap();
    assert!(Vault::open(&Owner::local(), &home.path().join("cache"), &home.path().join("data")).is_err());
}

#[test]
fn the_number_of_files_is_bounded() {
    let home = tempfile::tempdir().unwrap();
    let vault = vault(home.path());
    for n in 0..FILES + 20 {
        vault.write(&format!("f{n}"), b"x").unwrap();
    }
    assert_eq!(fs::read_dir(home.path().join("cache")).unwrap().count(), FILES);
    assert!(vault.read(&format!("f{}", FILES + 19)).is_some());
}
