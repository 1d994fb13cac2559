//! Contents as they were last seen, in one unnamed file: memory holds only where each lies. Bounded; where the room ends, a file is
//! known by its identity alone, and its old content is not there to go back to.

use super::look::{Found, Look};
use model::journal::{Image, Seen};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Contents up to this size are kept.
pub(super) const KEEP: u64 = 1 << 20;
/// Bytes of all contents.
pub(super) const ROOM: u64 = 64 << 20;

#[derive(Default)]
pub(super) struct Spool {
    file: Option<File>,
    used: u64,
    known: HashMap<PathBuf, (Seen, Image)>,
    /// Where each content lies.
    places: HashMap<String, (u64, u32)>,
}

impl Spool {
    /// Gives every file of a look its image, with what is new kept. What it has no room for is said.
    pub(super) fn take_in(&mut self, look: &mut Look) {
        let mut left_out = 0_usize;
        // Contents pile up as files change: begin anew before there is no room for what stands now.
        if self.used > ROOM / 2 && self.live() < self.used / 2 {
            *self = Self::default();
        }
        for (path, found) in look.found.iter_mut().filter(|(_, f)| matches!(f.image, Image::File { .. })) {
            let image = self.image(path, found);
            left_out += usize::from(matches!(image, Image::File { kept: false, .. }));
            found.image = image;
        }
        self.known.retain(|path, _| look.found.contains_key(path));
        if left_out > 0 {
            let what = format!("the old content of {left_out} files that are large, unreadable or too many");
            look.uncovered.push(what);
        }
    }

    fn live(&self) -> u64 {
        self.known.values().map(|(seen, _)| seen.size).sum()
    }

    fn image(&mut self, path: &Path, found: &Found) -> Image {
        if let Some((seen, image)) = self.known.get(path)
            && *seen == found.seen
        {
            return image.clone();
        }
        let Ok(Some(image)) = self.read(path, found) else { return found.image.clone() };
        self.known.insert(path.into(), (found.seen.clone(), image.clone()));
        image
    }

    /// `None` = too large, or no room left.
    fn read(&mut self, path: &Path, found: &Found) -> io::Result<Option<Image>> {
        if found.seen.size > KEEP || self.used + found.seen.size > ROOM {
            return Ok(None);
        }
        // Neither a link nor a pipe that took its place meanwhile is opened for long.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let mut content = Vec::with_capacity(usize::try_from(found.seen.size).unwrap_or(0) + 1);
        file.take(KEEP + 1).read_to_end(&mut content)?;
        if content.len() as u64 != found.seen.size {
            return Ok(None);
        }
        let hash = blake3::hash(&content).to_hex().to_string();
        self.keep(&hash, &content)?;
        Ok(Some(Image::File { hash, size: found.seen.size, mode: found.mode, kept: true }))
    }

    fn keep(&mut self, hash: &str, content: &[u8]) -> io::Result<()> {
        if self.places.contains_key(hash) {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(content, self.used)?;
        self.places.insert(hash.into(), (self.used, u32::try_from(content.len()).unwrap_or(u32::MAX)));
        self.used += content.len() as u64;
        Ok(())
    }

    /// A content that was kept.
    pub(super) fn content(&self, hash: &str) -> Option<Vec<u8>> {
        let (at, len) = *self.places.get(hash)?;
        let mut content = vec![0; len as usize];
        self.file.as_ref()?.read_exact_at(&mut content, at).ok()?;
        Some(content)
    }
}
