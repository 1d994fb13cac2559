-- A ledger as version 1 left it, with something in every table: the ground of the test of what comes after. Never changed.
--
-- Order is `seq`, the ledger's own number; ids and clocks order nothing. `data` holds the record as JSON, in the shape that
-- `session export` prints; columns beside it exist only where something is looked up by them.

CREATE TABLE session (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  id        TEXT NOT NULL UNIQUE,
  parent_id TEXT,
  directory TEXT NOT NULL,
  -- Milliseconds since the epoch of the last change: what `session list` sorts by.
  updated   INTEGER NOT NULL,
  data      TEXT NOT NULL
) STRICT;
CREATE INDEX session_by_directory ON session (directory, updated);

CREATE TABLE message (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  data       TEXT NOT NULL
) STRICT;
CREATE INDEX message_by_session ON message (session_id, seq);

CREATE TABLE part (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  data       TEXT NOT NULL
) STRICT;
CREATE INDEX part_by_session ON part (session_id, seq);
CREATE INDEX part_by_message ON part (message_id);

-- Answers of "always", valid in one worktree. They turn an ask into an allow and nothing else.
CREATE TABLE approval (
  worktree   TEXT NOT NULL,
  permission TEXT NOT NULL,
  pattern    TEXT NOT NULL,
  PRIMARY KEY (worktree, permission, pattern)
) STRICT, WITHOUT ROWID;

-- Contents named by the journal, once each.
CREATE TABLE blob (
  hash    TEXT PRIMARY KEY,
  content BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Acts of components on the disk, noted before they are done. `after_image` is empty while the act has not been seen to end.
CREATE TABLE journal (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id   TEXT NOT NULL,
  data         TEXT NOT NULL,
  before_hash  TEXT,
  after_image  TEXT,
  after_hash   TEXT
) STRICT;
CREATE INDEX journal_by_session ON journal (session_id, seq);
CREATE INDEX journal_by_before ON journal (before_hash);
CREATE INDEX journal_by_after ON journal (after_hash);

-- A file as a session last saw or left it: the ground of the stale-file check.
CREATE TABLE seen (
  session_id TEXT NOT NULL,
  path       TEXT NOT NULL,
  data       TEXT NOT NULL,
  PRIMARY KEY (session_id, path)
) STRICT, WITHOUT ROWID;

INSERT INTO session (id, parent_id, directory, updated, data) VALUES
  ('ses_1', NULL, '/w', 20, '{"id":"ses_1","title":"first","directory":"/w","worktree":"/w","agent":"build","model":{"providerID":"a","modelID":"b"},"version":"0.1.0","cost":0.5,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1,"updated":20}}'),
  ('ses_2', NULL, '/w', 10, '{"id":"ses_2","title":"second","directory":"/w","worktree":"/w","agent":"build","model":{"providerID":"a","modelID":"b"},"version":"0.1.0","cost":0.0,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1,"updated":10}}');
INSERT INTO message (id, session_id, data) VALUES
  ('msg_1', 'ses_1', '{"role":"user","id":"msg_1","sessionID":"ses_1","time":{"created":1},"agent":"build","model":{"providerID":"a","modelID":"b"}}');
INSERT INTO part (id, message_id, session_id, data) VALUES
  ('prt_1', 'msg_1', 'ses_1', '{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hello"}');
INSERT INTO approval (worktree, permission, pattern) VALUES ('/w', 'edit', 'a.txt');
INSERT INTO blob (hash, content) VALUES ('h1', x'6f6c64'), ('h2', x'6e6577657221');
INSERT INTO journal (session_id, data, before_hash, after_image, after_hash) VALUES
  ('ses_1', '{"session":"ses_1","message":"msg_1","call":"c1","tool":"write","op":"write","path":"/w/a.txt","before":{"kind":"file","hash":"h1","size":3,"mode":420,"kept":true},"time":5}', 'h1', '{"kind":"file","hash":"h2","size":6,"mode":420,"kept":true}', 'h2');
INSERT INTO seen (session_id, path, data) VALUES ('ses_1', '/w/a.txt', '{"device":1,"inode":2,"size":6,"modified_ns":3,"changed_ns":4}');
PRAGMA user_version = 1;
