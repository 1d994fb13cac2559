-- Undo, an order of sessions that no clock decides, and a size and age beside each content.

ALTER TABLE session ADD COLUMN touched INTEGER NOT NULL DEFAULT 0;
UPDATE session SET touched = ranked.n
  FROM (SELECT seq, row_number() OVER (ORDER BY updated, seq) AS n FROM session) AS ranked WHERE ranked.seq = session.seq;
DROP INDEX session_by_directory;
CREATE INDEX session_by_touch ON session (touched);
CREATE INDEX session_by_folder ON session (directory, touched);
CREATE INDEX session_by_parent ON session (parent_id);

ALTER TABLE message ADD COLUMN undone_by INTEGER;
ALTER TABLE journal ADD COLUMN undone_by INTEGER;

CREATE TABLE blob_use (
  hash TEXT PRIMARY KEY REFERENCES blob (hash) ON DELETE CASCADE,
  size INTEGER NOT NULL,
  used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_by_use ON blob_use (used);
-- The newest act that names a content stands for its age.
INSERT INTO blob_use (hash, size, used)
  SELECT hash, length(content), coalesce((SELECT max(seq) FROM journal WHERE before_hash = hash OR after_hash = hash), 0) FROM blob;

CREATE TABLE undo (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  state      TEXT NOT NULL,
  data       TEXT NOT NULL
) STRICT;
CREATE INDEX undo_by_session ON undo (session_id, seq);
