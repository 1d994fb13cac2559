-- The drawing of the data: what a new ledger is made from. A ledger of an older version comes here by the numbered files below
-- `migrate/`; a test holds both ways to the same end.
--
-- Order is `seq`, the ledger's own number; ids and clocks order nothing. `data` holds the record as JSON, in the shape that
-- `session export` prints; columns beside it exist only where something is looked up by them.

-- Whose ledger it is: one row, written when it is first opened and never changed.
CREATE TABLE owner (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  name TEXT NOT NULL
) STRICT;

CREATE TABLE session (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  id        TEXT NOT NULL UNIQUE,
  parent_id TEXT,
  directory TEXT NOT NULL,
  -- Milliseconds since the epoch of the last change, for people.
  updated   INTEGER NOT NULL,
  data      TEXT NOT NULL,
  -- Grows whenever another session is written than before: which one is the newest, whatever the clock did.
  touched   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_by_touch ON session (touched);
CREATE INDEX session_by_folder ON session (directory, touched);
CREATE INDEX session_by_parent ON session (parent_id);

CREATE TABLE message (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  data       TEXT NOT NULL,
  -- The undo that took it out of the talk. Such a message is kept for redo and is part of no history.
  undone_by  INTEGER
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

-- Beside the contents, so that their sum and their age are read without them.
CREATE TABLE blob_use (
  hash TEXT PRIMARY KEY REFERENCES blob (hash) ON DELETE CASCADE,
  size INTEGER NOT NULL,
  -- Grows with every keeping: where room is needed, the smallest goes first.
  used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_by_use ON blob_use (used);

-- Acts of components on the disk, noted before they are done. `after_image` is empty while the act has not been seen to end.
CREATE TABLE journal (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id   TEXT NOT NULL,
  data         TEXT NOT NULL,
  before_hash  TEXT,
  after_image  TEXT,
  after_hash   TEXT,
  -- The undo that took it back.
  undone_by    INTEGER
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

-- What was taken back, and how far it came. It is written before the first file is touched, so that one that was cut short can be
-- finished or taken back itself.
CREATE TABLE undo (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  -- applying → done → returning → redone; applying → returning as well.
  state      TEXT NOT NULL,
  data       TEXT NOT NULL,
  -- Steps that are known to be in place.
  done       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX undo_by_session ON undo (session_id, seq);

-- Messages that wait for a session. `taken` by a run that has not delivered them yet: the next run puts them back.
CREATE TABLE inbox (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  delivery   TEXT NOT NULL,
  data       TEXT NOT NULL,
  taken      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX inbox_by_session ON inbox (session_id, seq);

-- What components sent over the network, one row a request, refused ones included: no path, no header, no body.
CREATE TABLE egress (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  data       TEXT NOT NULL
) STRICT;
CREATE INDEX egress_by_session ON egress (session_id, seq);
