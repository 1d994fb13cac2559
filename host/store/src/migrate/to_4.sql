-- How far an undo came.

ALTER TABLE undo ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
