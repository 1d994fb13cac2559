use super::*;
use crate::Ledger;
use model::id::SessionId;
use model::journal::Journal;
use model::message::PartBody;
use model::store::Store;
use std::collections::BTreeSet;
use std::path::Path;

fn v1(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch(include_str!("v1.sql")).unwrap();
    db
}

/// Tables, columns and indexes as SQLite itself describes them; the order of columns counts for nothing.
fn drawing(db: &Connection) -> BTreeSet<String> {
    let sql = "SELECT m.type || ' ' || m.name || ' ' || coalesce(c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk, '')
                 FROM sqlite_master AS m LEFT JOIN pragma_table_info(m.name) AS c
                WHERE m.name NOT LIKE 'sqlite_%'
               UNION ALL
               SELECT 'index ' || m.name || ' on ' || i.name FROM sqlite_master AS m, pragma_index_info(m.name) AS i
                WHERE m.type = 'index'
               UNION ALL
               SELECT 'reference ' || m.name || ' ' || f.\"from\" || ' ' || f.\"table\" || ' ' || f.on_delete
                 FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'";
    let mut q = db.prepare(sql).unwrap();
    q.query_map([], |r| r.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn an_old_ledger_becomes_like_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let (mut old, mut new) = (v1(&dir.path().join("old")), Connection::open(dir.path().join("new")).unwrap());
    migrate(&mut old).unwrap();
    migrate(&mut new).unwrap();
    assert_eq!(drawing(&old), drawing(&new));
    assert_eq!((version(&old).unwrap(), version(&new).unwrap()), (VERSION, VERSION));
    // Once more changes nothing.
    migrate(&mut old).unwrap();
    assert_eq!(drawing(&old), drawing(&new));
}

#[tokio::test]
async fn an_old_ledger_keeps_all_that_was_in_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(v1(&dir.path().join("airlock.db")));
    let ledger = Ledger::open(dir.path()).unwrap();
    // By the time of the last change, as version 1 sorted them.
    let listed: Vec<String> =
        ledger.sessions(model::store::Kin::All, 9).await.unwrap().into_iter().map(|s| s.info.title).collect();
    assert_eq!(listed, ["first", "second"]);
    assert_eq!(ledger.latest(Path::new("/w")).await.unwrap().unwrap().title, "first");
    let first = SessionId::parse("ses_1").unwrap();
    let history = ledger.history(&first).await.unwrap();
    assert!(matches!(&history[0].parts[0].body, PartBody::Text(t) if t.text == "hello"));
    assert_eq!(ledger.approvals(Path::new("/w")).await.unwrap().len(), 1);
    assert!(ledger.seen(&first, Path::new("/w/a.txt")).await.unwrap().is_some());
    let sizes = |db: &Connection| {
        let mut q = db.prepare("SELECT hash, size, used FROM blob_use ORDER BY hash")?;
        q.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?.collect::<Result<Vec<(String, i64, i64)>, _>>()
    };
    assert_eq!(ledger.read("look", sizes).await.unwrap(), [("h1".into(), 3, 1), ("h2".into(), 6, 1)]);
}
