-- Knowledge: spaces, artifacts with their revisions and chunks, the lexical index, entities, events, pairs and merges.
-- Written by src/knowledge/postgres/. Every row belongs to a space. Names of tables and columns are those of founding
-- document 004 where it has one. Of its statements for operators, the one that finds entities needing another try works
-- as it stands (where nobody embeds, none has a vector, and it finds all; merged_into is null leaves merged ones out).
-- Its merge by hand does not, as every row here belongs to a space: use "headworks entities merge", which can be undone.
-- Vectors are real[]: they need no extension to be kept; indexes on them are made when pgvector is there (see
-- src/knowledge/postgres/postgres-vector-index.ts).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table knowledge_space (
  space_id integer generated always as identity primary key,
  organization_id text references organizations on delete cascade,  -- null: the house's own
  name text not null,
  name_key text not null,              -- what tells names apart, made by us
  language text not null default 'english',  -- a text search configuration of Postgres
  created_at timestamptz not null
);
create unique index knowledge_space_name on knowledge_space (coalesce(organization_id, ''), name_key);

create table artifact (
  artifact_uid uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  type text not null check (type in ('email', 'doc', 'chat', 'transcript', 'note')),
  source_system text not null,         -- files, upload, vault, …
  source_id text not null,             -- what the source calls it: the same again is another revision
  created_at timestamptz not null,
  unique (space_id, source_system, source_id)
);

create table artifact_revision (
  revision_id uuid primary key,
  artifact_uid uuid not null references artifact on delete cascade,
  space_id integer not null references knowledge_space on delete cascade,
  content_hash text not null,          -- SHA-256 of type, title, text and structured mentions
  title text not null,
  text text not null,
  source_ts timestamptz,
  metadata jsonb not null default '{}',
  warnings jsonb not null default '[]',  -- what reading the document left out, in sentences
  token_count integer not null,
  chunk_count integer not null,
  is_chunked boolean not null,
  is_latest boolean not null,
  job_id uuid,
  ingested_at timestamptz not null
);
create unique index artifact_revision_latest on artifact_revision (artifact_uid) where is_latest;
create index artifact_revision_artifact on artifact_revision (artifact_uid, ingested_at);
create index artifact_revision_space on artifact_revision (space_id, ingested_at) where is_latest;

create table chunk (
  chunk_id bigint generated always as identity primary key,
  space_id integer not null references knowledge_space on delete cascade,
  artifact_uid uuid not null references artifact on delete cascade,
  revision_id uuid not null references artifact_revision on delete cascade,
  position integer not null,
  start_char integer not null,         -- offsets into the revision's text, in UTF-16 units as JavaScript counts
  end_char integer not null,
  token_count integer not null,
  heading text,                        -- the headings above it, outermost first, joined by " › "
  text text not null,
  unique (revision_id, position)
);
create index chunk_artifact on chunk (artifact_uid);
create index chunk_space on chunk (space_id, chunk_id);

-- What has been done with each chunk: one row per step. A missing row means nothing has been tried.
create table chunk_step (
  chunk_id bigint not null references chunk on delete cascade,
  step text not null check (step in ('index', 'read', 'embed', 'graph')),
  space_id integer not null references knowledge_space on delete cascade,
  status text not null check (status in ('done', 'failed', 'skipped')),
  method text,                         -- read: model or rules; embed: the model's name
  cause text,                          -- an error code or class; null when done
  message text,                        -- one sentence; null when done
  updated_at timestamptz not null,
  primary key (chunk_id, step)
);
create index chunk_step_open on chunk_step (space_id, step) where status <> 'done';

-- The lexical index of latest revisions. Primary key with included columns: index-only scans by term. No references to
-- chunk and space: checking them for a hundred rows a chunk more than halved the rate of ingest (measured: 143 against
-- 325 chunks a second). Postings go by removePostings, or with their chunks by the trigger below.
create table chunk_posting (
  space_id integer not null,
  term text collate "C" not null,
  chunk_id bigint not null,
  tf smallint not null,                -- in title, headings and text together
  title_tf smallint not null,          -- of these, in title and headings
  len smallint not null,               -- words of the chunk, title and headings included
  title_terms smallint not null,       -- different words of title and headings
  positions smallint[] not null,       -- where it stands: from 1 on in the text, from -20000 on in title and headings
  primary key (space_id, term, chunk_id) include (tf, title_tf, len, title_terms)
);
create index chunk_posting_chunk on chunk_posting (chunk_id);

-- Of all chunks that have a posting.
create table corpus_total (
  space_id integer primary key references knowledge_space on delete cascade,
  chunk_count bigint not null,
  total_len bigint not null
);

create function forget_postings() returns trigger language plpgsql set search_path from current as $$
begin
  with gone as (
    delete from chunk_posting p using gone_chunk g where p.chunk_id = g.chunk_id
    returning p.space_id, p.chunk_id, p.len),
  lens as (select distinct space_id, chunk_id, len from gone),
  less as (select space_id, count(*) as chunks, sum(len) as len from lens group by space_id)
  update corpus_total t set chunk_count = t.chunk_count - l.chunks, total_len = t.total_len - l.len
  from less l where t.space_id = l.space_id;
  return null;
end $$;
create trigger chunk_forget_postings after delete on chunk referencing old table as gone_chunk
  for each statement execute function forget_postings();

create table chunk_vector (
  space_id integer not null references knowledge_space on delete cascade,
  model text not null,                 -- vectors of different models never meet
  chunk_id bigint not null references chunk on delete cascade,
  embedding real[] not null,
  primary key (chunk_id, model)
);
create index chunk_vector_space on chunk_vector (space_id, model);

create table entity (
  entity_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  entity_type text not null check (entity_type in ('person', 'org', 'project', 'object', 'place', 'other')),
  canonical_name text not null,
  normalized_name text not null,
  role text,
  organization text,
  email text,
  context_clues jsonb not null default '[]',
  context_embedding real[],
  embedding_model text,
  first_artifact_uid uuid,
  first_revision_id uuid,
  needs_review boolean not null default false,
  review_reason text,                  -- embedding-missing | candidates-unknown | confirmation-failed | resolution-failed | uncertain
  merged_into uuid references entity on delete cascade,   -- set: kept only so that a merge can be undone
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index entity_name on entity (space_id, normalized_name) where merged_into is null;
create index entity_email on entity (space_id, lower(email)) where email is not null and merged_into is null;
create index entity_review on entity (space_id, review_reason) where needs_review and merged_into is null;
create index entity_merged on entity (merged_into) where merged_into is not null;

create table entity_alias (
  entity_id uuid not null references entity on delete cascade,
  space_id integer not null references knowledge_space on delete cascade,
  alias text not null,
  normalized_alias text not null,
  primary key (entity_id, normalized_alias)
);
create index entity_alias_name on entity_alias (space_id, normalized_alias);

-- What an entity is looked for under besides its names: initials, nicknames, sorted words, addresses, telling fields.
-- Made by src/knowledge/resolution/lookup-keys.ts; a name that is forgotten takes its keys along.
create table entity_key (
  space_id integer not null references knowledge_space on delete cascade,
  key text collate "C" not null,
  entity_id uuid not null,
  normalized_alias text not null,
  primary key (space_id, key, entity_id, normalized_alias),
  foreign key (entity_id, normalized_alias) references entity_alias on delete cascade
);
create index entity_key_alias on entity_key (entity_id, normalized_alias);

create table entity_mention (
  mention_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  entity_id uuid not null references entity on delete cascade,
  artifact_uid uuid not null,          -- goes with its revision
  revision_id uuid not null references artifact_revision on delete cascade,
  chunk_id bigint references chunk on delete cascade,     -- null: a structured mention of the whole artifact
  surface_form text not null,
  start_char integer,                  -- in the revision's text
  end_char integer,
  method text not null check (method in ('model', 'rules', 'structured')),
  confidence real not null,
  relation text                        -- of a structured mention: owner, folder, model, explore, author, recipient, …
);
create index entity_mention_entity on entity_mention (entity_id, artifact_uid);
create index entity_mention_chunk on entity_mention (chunk_id);
create index entity_mention_revision on entity_mention (revision_id);

create table semantic_event (
  event_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  artifact_uid uuid not null,          -- goes with its revision
  revision_id uuid not null references artifact_revision on delete cascade,
  chunk_id bigint not null references chunk on delete cascade,
  category text not null check (category in ('Commitment', 'Execution', 'Decision', 'Collaboration', 'QualityRisk',
    'Feedback', 'Change', 'Stakeholder')),
  event_time timestamptz,
  narrative text not null,
  subject text,
  confidence real not null check (confidence between 0 and 1),
  method text not null check (method in ('model', 'rules')),
  superseded_at timestamptz,           -- set when a newer revision took its place
  created_at timestamptz not null
);
create index semantic_event_chunk on semantic_event (chunk_id);
create index semantic_event_revision on semantic_event (revision_id);
create index semantic_event_artifact on semantic_event (artifact_uid);
create index semantic_event_space on semantic_event (space_id, event_time) where superseded_at is null;

create table event_evidence (
  event_id uuid not null references semantic_event on delete cascade,
  space_id integer not null references knowledge_space on delete cascade,
  chunk_id bigint not null,            -- goes with its event
  start_char integer not null,         -- in the revision's text
  end_char integer not null,
  quote text not null,                 -- at most 25 words
  primary key (event_id, start_char, end_char)
);

create table event_actor (
  event_id uuid not null references semantic_event on delete cascade,
  entity_id uuid not null references entity on delete cascade,
  space_id integer not null references knowledge_space on delete cascade,
  role text not null check (role in ('owner', 'contributor', 'reviewer', 'stakeholder', 'other')),
  primary key (event_id, entity_id, role)
);
create index event_actor_entity on event_actor (entity_id, event_id);

create table event_subject (
  event_id uuid not null references semantic_event on delete cascade,
  entity_id uuid not null references entity on delete cascade,
  space_id integer not null references knowledge_space on delete cascade,
  primary key (event_id, entity_id)
);
create index event_subject_entity on event_subject (entity_id, event_id);

-- Possibly the same: two live entities, the smaller id first.
create table entity_pair (
  pair_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  entity_a uuid not null references entity on delete cascade,
  entity_b uuid not null references entity on delete cascade,
  confidence real not null,
  reason text not null,
  evidence jsonb not null default '{}',
  state text not null default 'open' check (state in ('open', 'same', 'different', 'later')),
  decided_by text,                     -- model, admin, organization id
  decided_at timestamptz,
  created_at timestamptz not null,
  check (entity_a < entity_b),
  unique (entity_a, entity_b)
);
create index entity_pair_open on entity_pair (space_id, confidence) where state in ('open', 'later');
create index entity_pair_b on entity_pair (entity_b);

-- What each merge moved, so that it can be undone exactly.
create table entity_merge (
  merge_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  winner_id uuid not null references entity on delete cascade,
  loser_id uuid not null references entity on delete cascade,
  reason text not null,
  decided_by text not null,            -- name, email, score, model, admin, organization id
  moved jsonb not null,
  merged_at timestamptz not null,
  undone_at timestamptz
);
create index entity_merge_winner on entity_merge (winner_id);
create index entity_merge_loser on entity_merge (loser_id);

-- Folders that are read again and again.
create table knowledge_folder (
  folder_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  path text not null,
  cron text,                           -- null: watched
  created_at timestamptz not null,
  last_run_at timestamptz,
  last_result jsonb,
  unique (space_id, path)
);
