-- Whose ledger it is. One of an older version belongs to the person who opens it first.
CREATE TABLE owner (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  name TEXT NOT NULL
) STRICT;
