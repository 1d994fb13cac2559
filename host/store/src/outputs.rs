//! Large outputs, kept as files that the agent can read on: owner-only, gone after a week (agent-core, section 6.14).

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(crate) fn keep(folder: &Path, text: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("tool_{}", ulid::Ulid::generate()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    sweep(folder, SystemTime::now());
    Ok(path)
}

/// Removes what is older than a week. What cannot be removed is left: the next sweep tries again.
pub(crate) fn sweep(folder: &Path, now: SystemTime) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|m| now.duration_since(m).ok());
        if age.is_some_and(|a| a > KEPT_FOR) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_outputs_go_and_new_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let kept = keep(dir.path(), "text").unwrap();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "text");
        sweep(dir.path(), SystemTime::now() + KEPT_FOR / 2);
        assert!(kept.exists());
        sweep(dir.path(), SystemTime::now() + KEPT_FOR + Duration::from_secs(60));
        assert!(!kept.exists());
    }
}
