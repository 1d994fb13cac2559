-- Messages that wait for a session. `taken` by a run that has not delivered them yet: the next run puts them back.
CREATE TABLE inbox (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  delivery   TEXT NOT NULL,
  data       TEXT NOT NULL,
  taken      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX inbox_by_session ON inbox (session_id, seq);
