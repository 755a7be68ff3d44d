-- How many rows of content_versions a type has: an oldest version that somebody removed, as pruning does, is missed.
ALTER TABLE content_types ADD COLUMN versions INTEGER NOT NULL DEFAULT 0;
UPDATE content_types SET versions = (SELECT count(*) FROM content_versions WHERE content_type = content_types.number);
