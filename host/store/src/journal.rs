//! The journal of acts on the disk, and what each session has seen.

use crate::ledger::Ledger;
use crate::query::to_json;
use async_trait::async_trait;
use model::egress::Egress;
use model::id::SessionId;
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::store::StoreError;
use rusqlite::params;
use std::path::Path;

#[async_trait]
impl Journal for Ledger {
    async fn keep(&self, hash: &str, content: Vec<u8>) -> Result<(), JournalError> {
        let hash = hash.to_owned();
        let insert = move |tx: &rusqlite::Transaction<'_>| {
            let size = i64::try_from(content.len()).unwrap_or(i64::MAX);
            let sql = "INSERT OR IGNORE INTO blob (hash, content) VALUES (?1, ?2)";
            tx.prepare_cached(sql)?.execute(params![hash, content])?;
            let sql = "INSERT INTO blob_use (hash, size, used)
                       VALUES (?1, ?2, (SELECT coalesce(max(used), 0) + 1 FROM blob_use))
                       ON CONFLICT (hash) DO UPDATE SET used = excluded.used";
            tx.prepare_cached(sql)?.execute(params![hash, size])
        };
        self.write("keep a content", insert).await.map(drop).map_err(failed("keep a content"))
    }

    async fn begin(&self, entry: Entry) -> Result<EntryId, JournalError> {
        let insert = move |tx: &rusqlite::Transaction<'_>| {
            let sql = "INSERT INTO journal (session_id, data, before_hash) VALUES (?1, ?2, ?3)";
            let row = params![entry.session.as_str(), to_json(&entry)?, hash_of(&entry.before)];
            tx.prepare_cached(sql)?.execute(row)?;
            Ok(EntryId(tx.last_insert_rowid()))
        };
        self.write("note an act", insert).await.map_err(failed("note an act"))
    }

    async fn finish(&self, id: EntryId, after: Image) -> Result<(), JournalError> {
        let update = move |tx: &rusqlite::Transaction<'_>| {
            let sql = "UPDATE journal SET after_image = ?2, after_hash = ?3 WHERE seq = ?1";
            tx.prepare_cached(sql)?.execute(params![id.0, to_json(&after)?, hash_of(&after)])
        };
        self.write("note what an act left", update).await.map(drop).map_err(failed("note what an act left"))
    }

    async fn seen(&self, session: &SessionId, path: &Path) -> Result<Option<Seen>, JournalError> {
        let attempt = "look up a seen file";
        let row = self.look_up_seen(session, path.to_string_lossy().into_owned()).await.map_err(failed(attempt))?;
        row.map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|e| JournalError { attempt, why: e.to_string() })
    }

    async fn mark_seen(&self, session: &SessionId, path: &Path, seen: Seen) -> Result<(), JournalError> {
        let path = path.to_string_lossy().into_owned();
        self.note_seen(session, path, &seen).await.map_err(failed("mark a file as seen"))
    }

    async fn egress(&self, record: Egress) -> Result<(), JournalError> {
        let attempt = "note a request";
        let note = move |tx: &rusqlite::Transaction<'_>| crate::egress::note(tx, &record);
        self.write(attempt, note).await.map_err(failed(attempt))
    }
}

fn hash_of(image: &Image) -> Option<&str> {
    match image {
        Image::File { hash, kept: true, .. } => Some(hash),
        Image::File { .. } | Image::Absent | Image::Folder | Image::Link { .. } | Image::Special => None,
    }
}

fn failed(attempt: &'static str) -> impl Fn(StoreError) -> JournalError {
    move |e| JournalError { attempt, why: e.to_string() }
}
