use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

struct Scene {
    root: PathBuf,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { root: dir.path().canonicalize().unwrap(), _dir: dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn with(self, name: &str, content: &str) -> Self {
        std::fs::write(self.at(name), content).unwrap();
        self
    }

    fn put(&self, name: &str, to: &Image, content: Option<&str>) -> Result<(), DiskError> {
        Restorer.put(&self.at(name), to, content.map(str::as_bytes), false)
    }

    fn look(&self, name: &str) -> Image {
        Restorer.look(&self.at(name)).unwrap().image
    }

    /// No file in the making is left behind.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(&self.root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn file(content: &str, mode: u32) -> Image {
    let hash = blake3::hash(content.as_bytes()).to_hex().to_string();
    Image::File { hash, size: content.len() as u64, mode, kept: true }
}

#[test]
fn whatever_stands_there_becomes_what_it_was() {
    let to = [Image::Absent, Image::Folder, Image::Link { target: "nowhere".into() }, file("new", 0o640)];
    for image in &to {
        for from in &to {
            let s = Scene::new();
            for step in [from, image] {
                s.put("x", step, Some("new")).unwrap();
            }
            assert_eq!(s.look("x"), *image, "{from:?} → {image:?}");
            let expected: &[&str] = if *image == Image::Absent { &[] } else { &["x"] };
            assert_eq!(s.names(), expected);
        }
    }
}

#[test]
fn a_file_keeps_its_mode_or_gets_it() {
    let s = Scene::new().with("a", "old");
    s.put("a", &file("new", 0o755), Some("new")).unwrap();
    assert_eq!(s.look("a"), file("new", 0o755));
    s.put("a", &file("new", 0o600), None).unwrap();
    assert_eq!(s.at("a").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_names_of_a_file_go_on_naming_it() {
    let s = Scene::new().with("a", "old");
    std::fs::hard_link(s.at("a"), s.at("b")).unwrap();
    assert!(Restorer.look(&s.at("a")).unwrap().shared);
    Restorer.put(&s.at("a"), &file("new", 0o644), Some(b"new"), true).unwrap();
    assert_eq!(std::fs::read(s.at("b")).unwrap(), b"new");
}

#[test]
fn no_link_is_followed() {
    let s = Scene::new();
    let out = Scene::new().with("f", "theirs");
    symlink(&out.root, s.at("d")).unwrap();
    let error = s.put("d/f", &file("mine", 0o644), Some("mine")).unwrap_err();
    assert!(error.to_string().contains("has become a link"), "{error}");
    assert!(Restorer.look(&s.at("d/f")).is_err());
    assert!(Restorer.rename(&s.at("d/f"), &s.at("g")).is_err());
    // A link in the place itself is replaced, not followed.
    symlink(out.at("f"), s.at("l")).unwrap();
    s.put("l", &file("mine", 0o644), Some("mine")).unwrap();
    assert_eq!((std::fs::read(out.at("f")).unwrap(), s.look("l")), (b"theirs".to_vec(), file("mine", 0o644)));
}

#[test]
fn nothing_of_somebody_elses_is_lost() {
    let s = Scene::new().with("a", "1").with("b", "2");
    assert!(Restorer.rename(&s.at("a"), &s.at("b")).is_err(), "the name is not free");
    std::fs::create_dir(s.at("d")).unwrap();
    std::fs::write(s.at("d/f"), "theirs").unwrap();
    for to in [Image::Absent, file("new", 0o644), Image::Link { target: "x".into() }] {
        assert!(s.put("d", &to, Some("new")).is_err());
    }
    let damaged = s.put("a", &file("other", 0o644), Some("new")).unwrap_err();
    assert!(damaged.to_string().contains("damaged"), "{damaged}");
    assert_eq!((s.look("a"), s.names()), (file("1", 0o644), vec!["a".into(), "b".into(), "d".into()]));
}

#[test]
fn what_is_not_there_is_absent_and_what_is_there_is_listed() {
    let s = Scene::new().with("a", "1");
    assert_eq!((s.look("x/y/z"), s.look("a/b")), (Image::Absent, Image::Absent));
    assert_eq!(Restorer.below(&s.root).unwrap(), [s.at("a")]);
    assert_eq!(Restorer.read(&s.at("a")).unwrap(), Some((blake3::hash(b"1").to_hex().to_string(), b"1".to_vec())));
    assert_eq!(Restorer.read(&s.at("x")).unwrap(), None);
}
