//! Lists folders and writes notes, with nothing but the standard library: knows nothing of the host that runs it.

wit_bindgen::generate!({
    inline: r#"
        package local:lister;

        world lister {
            variant kind { file, folder, other }
            record entry { name: string, kind: kind, size: u64 }
            export list-directory: func(path: string) -> result<list<entry>, string>;
            export note: func(path: string, text: string, append: option<bool>) -> result<u64, string>;
        }
    "#,
});

use std::io::Write;

struct Lister;

impl Guest for Lister {
    fn list_directory(path: String) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(|e| format!("cannot list {path}: {e}"))? {
            let entry = entry.map_err(|e| e.to_string())?;
            // What may not be looked at is left out.
            let Ok(about) = entry.metadata() else { continue };
            let kind = if about.is_file() {
                Kind::File
            } else if about.is_dir() {
                Kind::Folder
            } else {
                Kind::Other
            };
            entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), kind, size: about.len() });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn note(path: String, text: String, append: Option<bool>) -> Result<u64, String> {
        let append = append.unwrap_or(false);
        let opened = std::fs::OpenOptions::new().create(true).write(true).append(append).truncate(!append).open(&path);
        let mut file = opened.map_err(|e| format!("cannot open {path}: {e}"))?;
        file.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(text.len() as u64)
    }
}

export!(Lister);
