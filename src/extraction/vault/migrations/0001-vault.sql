-- A vault: what one source holds, how it changed, and how it was read. Times are epoch milliseconds, hashes the first
-- 64 bits of SHA-256 as a signed integer. 'HWVT' marks the file as a vault.
PRAGMA application_id = 1213683284;

-- At most one row: the source this vault belongs to.
CREATE TABLE vault_source (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL
) STRICT;

-- Numbers 1 to 12 are document 001's; types of other sources get theirs here, from 101.
CREATE TABLE content_types (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- One row per extraction, however often it was interrupted and resumed. `number` orders them and is what people type.
CREATE TABLE extraction_sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'interrupted', 'completed', 'incomplete', 'failed')),
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  total_items INTEGER NOT NULL DEFAULT 0,
  total_calls INTEGER NOT NULL DEFAULT 0,
  errors INTEGER NOT NULL DEFAULT 0,
  -- Null when sequential.
  worker_count INTEGER,
  throughput_items_per_second REAL,
  -- JSON: the types as they were defined.
  types TEXT NOT NULL,
  config TEXT NOT NULL
) STRICT;

-- How far a session is with a type.
CREATE TABLE checkpoints (
  session INTEGER NOT NULL REFERENCES extraction_sessions (number),
  content_type INTEGER NOT NULL REFERENCES content_types (number),
  -- Null: everything. Else only this part was asked for, and nothing follows from what is missing.
  scope TEXT,
  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'incomplete')),
  started_at INTEGER,
  completed_at INTEGER,
  -- What the source says there is; null when it does not say.
  expected_total INTEGER,
  -- Different items seen; an item that came on two pages counts once here and once in `duplicates`.
  items_seen INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0,
  -- Why it is incomplete, for people.
  reason TEXT,
  PRIMARY KEY (session, content_type)
) STRICT, WITHOUT ROWID;

-- One row per page that is settled: a page is here with all of its items, or not at all.
CREATE TABLE pages (
  session INTEGER NOT NULL,
  content_type INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
  request TEXT NOT NULL,
  -- JSON of the PageOutcome without its request; null when failed.
  outcome TEXT,
  PRIMARY KEY (session, content_type, key),
  FOREIGN KEY (session, content_type) REFERENCES checkpoints (session, content_type)
) STRICT, WITHOUT ROWID;

-- What could not be taken in, with its cause. Place 0 is the page itself, 1, 2, … what was wrong within it.
CREATE TABLE dead_letters (
  session INTEGER NOT NULL,
  content_type INTEGER NOT NULL,
  page_key TEXT NOT NULL,
  place INTEGER NOT NULL,
  cause TEXT NOT NULL,
  message TEXT NOT NULL,
  raw BLOB,
  at INTEGER NOT NULL,
  -- When the page came after all.
  resolved_at INTEGER,
  PRIMARY KEY (session, content_type, page_key, place),
  FOREIGN KEY (session, content_type) REFERENCES checkpoints (session, content_type)
) STRICT, WITHOUT ROWID;

-- The newest state of each item, without its data: narrow, so that "seen again, unchanged" costs little.
CREATE TABLE item_heads (
  content_type INTEGER NOT NULL REFERENCES content_types (number),
  id TEXT NOT NULL,
  name TEXT,
  owner TEXT,
  folder TEXT,
  created_at INTEGER,
  updated_at INTEGER,
  -- Last seen, and by which session, and where in the source's order.
  synced_at INTEGER NOT NULL,
  session INTEGER NOT NULL,
  position INTEGER NOT NULL,
  deleted_at INTEGER,
  size INTEGER NOT NULL,
  -- Of the data as it is kept, and of the bytes as they came last: the same content may come in another order of keys.
  hash INTEGER NOT NULL,
  raw_hash INTEGER NOT NULL,
  -- The row of content_versions that holds the data.
  version INTEGER NOT NULL,
  PRIMARY KEY (content_type, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX live_items_by_name ON item_heads (content_type, name) WHERE deleted_at IS NULL;
CREATE INDEX live_items_by_folder ON item_heads (content_type, folder) WHERE deleted_at IS NULL AND folder IS NOT NULL;

-- Every state an item was ever seen in. A row without data says that the item was gone.
CREATE TABLE content_versions (
  content_type INTEGER NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES extraction_sessions (number),
  first_seen_at INTEGER NOT NULL,
  size INTEGER,
  hash INTEGER,
  data TEXT,
  PRIMARY KEY (content_type, id, number)
) STRICT;
CREATE INDEX content_versions_by_session ON content_versions (session, content_type, id);

-- What people and programs read: the newest state of each item with its data.
CREATE VIEW content_items AS
SELECT head.id, head.content_type, head.name, head.owner, head.folder, head.created_at, head.updated_at,
       head.synced_at, head.deleted_at, head.size, head.hash, version.data
FROM item_heads AS head
JOIN content_versions AS version
  ON version.content_type = head.content_type AND version.id = head.id AND version.number = head.version;
