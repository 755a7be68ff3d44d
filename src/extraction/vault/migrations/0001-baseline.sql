-- A vault: the items of one source, how they changed, and how they were extracted.
-- Times are epoch milliseconds; hashes are the first 64 bits of SHA-256 as a signed integer.

-- At most one row: the source that the vault belongs to.
CREATE TABLE vault_source (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL
) STRICT;

-- Numbers 1 to 12 are those of document 001; types of other sources are numbered from 101.
CREATE TABLE content_types (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Expected rows of items and content_versions: shows rows that were removed by hand.
  item_count INTEGER NOT NULL DEFAULT 0,
  version_count INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row per extraction, however often it was interrupted and resumed. `number` orders them; users refer to it.
CREATE TABLE extraction_sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'interrupted', 'completed', 'incomplete', 'failed')),
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  total_items INTEGER NOT NULL DEFAULT 0,
  total_calls INTEGER NOT NULL DEFAULT 0,
  errors INTEGER NOT NULL DEFAULT 0,
  -- Null: extracted sequentially.
  worker_count INTEGER,
  throughput_items_per_second REAL,
  -- JSON: the definitions of the content types.
  types TEXT NOT NULL,
  config TEXT NOT NULL,
  -- Total running time of all runs of the session, in milliseconds.
  active_ms INTEGER NOT NULL DEFAULT 0,
  -- Start of the current run; after a run was killed it stays set until the next run closes it.
  active_since INTEGER
) STRICT;

-- The progress of a session with a type.
CREATE TABLE checkpoints (
  session INTEGER NOT NULL REFERENCES extraction_sessions (number),
  content_type INTEGER NOT NULL REFERENCES content_types (number),
  -- Null: everything. Otherwise only this part was requested, and missing items are not deleted ones.
  scope TEXT,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'incomplete')),
  started_at INTEGER,
  completed_at INTEGER,
  -- The source's own count; null when unknown.
  expected_total INTEGER,
  -- Distinct items; an item on two pages counts once here and once in `duplicates`.
  items_seen INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0,
  -- Committed pages: shows rows of pages that were removed by hand.
  page_count INTEGER NOT NULL DEFAULT 0,
  -- JSON: how many lists ended by which evidence ({"total": 1, "empty-page": 3}); null until the type has ended.
  list_ends TEXT,
  -- Why it is incomplete, as text for users.
  reason TEXT,
  PRIMARY KEY (session, content_type)
) STRICT, WITHOUT ROWID;

-- One row per committed or failed page: a page is here with all of its items, or not at all.
CREATE TABLE pages (
  session INTEGER NOT NULL,
  content_type INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('committed', 'failed')),
  -- JSON of the PageRequest.
  request TEXT NOT NULL,
  -- JSON of the PageResult without its request; null when failed.
  result TEXT,
  PRIMARY KEY (session, content_type, key),
  FOREIGN KEY (session, content_type) REFERENCES checkpoints (session, content_type)
) STRICT, WITHOUT ROWID;

-- Failed pages (item_index 0) and rejected parts of pages (1, 2, …) with their cause.
CREATE TABLE dead_letters (
  session INTEGER NOT NULL,
  content_type INTEGER NOT NULL,
  page_key TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  cause TEXT NOT NULL,
  message TEXT NOT NULL,
  raw BLOB,
  created_at INTEGER NOT NULL,
  -- When the page was committed after all.
  resolved_at INTEGER,
  PRIMARY KEY (session, content_type, page_key, item_index),
  FOREIGN KEY (session, content_type) REFERENCES checkpoints (session, content_type)
) STRICT, WITHOUT ROWID;

-- The newest state of each item without its data: narrow, so that an unchanged item costs little.
CREATE TABLE items (
  content_type INTEGER NOT NULL REFERENCES content_types (number),
  id TEXT NOT NULL,
  name TEXT,
  owner TEXT,
  folder TEXT,
  created_at INTEGER,
  updated_at INTEGER,
  -- When, by which session and at which position of the source's order the item was last seen.
  synced_at INTEGER NOT NULL,
  session INTEGER NOT NULL,
  position INTEGER NOT NULL,
  -- The list it was last seen in: empty for the only root list of a type, as in the keys of pages.
  list TEXT NOT NULL,
  -- Bit n: part n of the id is a number in the item.
  id_kinds INTEGER NOT NULL,
  deleted_at INTEGER,
  size INTEGER NOT NULL,
  -- Hashes of the stored data and of the bytes received last: the same content may come with another order of keys.
  hash INTEGER NOT NULL,
  raw_hash INTEGER NOT NULL,
  -- Set when raw_hash differs from hash: its complement, for verification.
  raw_check INTEGER,
  -- The row of content_versions with the data.
  version INTEGER NOT NULL,
  PRIMARY KEY (content_type, id)
) STRICT, WITHOUT ROWID;

-- Every state of an item. A row without data records a deletion.
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
-- Rows are inserted in the order of sessions, so that this index grows only at its end.
CREATE INDEX content_versions_by_session ON content_versions (session);

-- For users and programs: the newest state of each item with its data.
CREATE VIEW content_items AS
SELECT item.id, item.content_type, item.name, item.owner, item.folder, item.created_at, item.updated_at,
       item.synced_at, item.deleted_at, item.size, item.hash, version.data
FROM items AS item
JOIN content_versions AS version
  ON version.content_type = item.content_type AND version.id = item.id AND version.number = item.version;
