-- What components sent over the network, one row a request, refused ones included: no path, no header, no body.
CREATE TABLE egress (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  data       TEXT NOT NULL
) STRICT;
CREATE INDEX egress_by_session ON egress (session_id, seq);
