-- The schema of Headworks 0.2.0: one section per domain.
-- Uses no SQL newer than PostgreSQL 15. Never edit this file after the release of 0.2.0: add 0002-….sql.
-- Ids of type uuid are version 7 and made by the server, so that they sort by creation time, unless a comment says otherwise.

----------------------------------------------------------------------------------------------------
-- Ledger: degradations and their repairs. Used by src/ledger; retention ledgerDays deletes resolved rows.

create table ledger_entries (
  id uuid primary key,                 -- sorts by the time of the first failure
  kind text not null,
  subject text not null,
  cause text not null,
  message text not null,
  details jsonb not null default '{}',
  count bigint not null check (count > 0),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  resolved_at timestamptz,
  resolution text,
  repair_attempts integer not null default 0,
  next_repair_at timestamptz,          -- background repair skips the row until then
  last_repair_error text,
  check ((resolved_at is null) = (resolution is null))
);

-- One open row per kind and subject: a repeated failure increments its count.
create unique index ledger_entries_open on ledger_entries (kind, subject) where resolved_at is null;

-- For background repair, which takes the row that has been due for longest.
create index ledger_entries_due on ledger_entries (coalesce(next_repair_at, first_seen_at))
  where resolved_at is null;

-- For retention.
create index ledger_entries_resolved on ledger_entries (resolved_at) where resolved_at is not null;

----------------------------------------------------------------------------------------------------
-- Audit log: administrative actions. Append-only; retention auditDays deletes old rows.

create table audit_log (
  id uuid primary key,                 -- sorts by time
  at timestamptz not null,
  actor text not null,                 -- 'admin' or the id of a key; never a credential
  action text not null,                -- the operation id, for example 'ledger.repair'
  subject text,                        -- what the action was applied to
  outcome text not null,               -- 'completed', 'rejected' or 'failed'
  status integer,                      -- the HTTP status of the response, for HTTP requests
  request_id text,
  details jsonb not null default '{}'
);

-- For retention and for listing by time.
create index audit_log_at on audit_log (at);

----------------------------------------------------------------------------------------------------
-- Dashboard: one-time login links. A used link is deleted, an expired one when the next is created.

create table login_link (
  token_hash bytea primary key,        -- SHA-256 of the token, so that reading the table is not enough to log in
  expires_at timestamptz not null
);

----------------------------------------------------------------------------------------------------
-- Extraction: registered sources and runs. Extracted items are in vaults (SQLite), not here.
-- Used by src/extraction/runs; retention extractionRunsDays deletes old runs.

create table extraction_sources (
  id uuid primary key,
  name text not null unique,
  kind text not null check (kind in ('looker', 'rest')),
  settings jsonb not null,             -- connection settings; secrets only as names of environment variables
  options jsonb not null default '{}', -- overrides of the server's extraction settings
  schedule text,                       -- cron expression of five fields, UTC
  vault text not null,                 -- a file in the vaults folder of the data folder
  is_active boolean not null,
  is_from_file boolean not null,       -- managed by extraction.sourcesFile
  last_scheduled_at timestamptz not null, -- occurrences up to this time are handled; moving it claims one, so that each runs once
  created_at timestamptz not null,
  modified_at timestamptz not null
);

create table extraction_runs (
  id uuid primary key,                 -- sorts by time; a CLI run brings its own
  source text not null,                -- a name without a reference: runs outlive their source
  origin text not null check (origin in ('schedule', 'http', 'cli')),
  vault text not null,
  state text not null check (state in ('queued', 'running', 'completed', 'incomplete', 'failed', 'interrupted')),
  job_id text,
  session text,                        -- id of the session in the vault
  types jsonb not null default '[]',   -- items, total and status per content type
  calls bigint not null default 0,
  rate_limited_calls bigint not null default 0, -- responses with status 429
  multiplier double precision not null default 1,
  items_per_second double precision,
  started_at timestamptz,
  finished_at timestamptz,
  reported_at timestamptz not null,    -- last heartbeat
  message text
);

create index extraction_runs_source on extraction_runs (source, id);

-- For runs without a recent heartbeat, which every listing checks.
create index extraction_runs_active on extraction_runs (state, reported_at) where state in ('queued', 'running');

-- For retention.
create index extraction_runs_finished on extraction_runs (finished_at) where finished_at is not null;

----------------------------------------------------------------------------------------------------
-- Gateway: models, cooldowns, attempts, gateway keys and usage. Provider keys are never stored.
-- Used by src/gateway; retention attemptsDays and usageDays delete old rows.

create table gateway_models (
  id bigint generated always as identity primary key,
  name text not null,
  provider text not null,
  base_url text not null,
  upstream_model text not null,
  env_var text,                        -- name of the environment variable with the provider key
  headers jsonb not null default '{}',
  is_local boolean not null,
  capabilities jsonb not null,
  quotas jsonb not null default '{}',
  is_active boolean not null default true,
  origin text not null check (origin in ('built-in', 'config', 'custom')),
  created_at timestamptz not null,
  cooldowns_cleared_at timestamptz,    -- cleared by an operator; a cooldown set before this time is void, also if it arrives later
  removed_at timestamptz               -- the row stays for its attempts and usage; its name can be used again
);
create unique index gateway_models_name on gateway_models (name) where removed_at is null;

create table gateway_cooldowns (
  model_id bigint not null references gateway_models on delete cascade,
  key_id text not null,                -- short hash of the provider key, or * for all keys
  until timestamptz not null,
  cause text not null,
  source text not null,
  reason text,
  set_at timestamptz not null,
  primary key (model_id, key_id)
);

create table gateway_attempts (
  id bigint generated always as identity primary key,
  request_id text not null,
  model_id bigint not null,            -- no reference: it adds a third to the cost of an insert, and model rows are never deleted
  at timestamptz not null,
  outcome text not null,               -- success or the failure class
  is_counted boolean not null,         -- counts toward reliability: not superseded by a later attempt of the same request on this model
  status smallint,
  duration_ms double precision not null,
  prompt_tokens integer not null default 0,
  completion_tokens integer not null default 0,
  caller text not null
);

-- Rows arrive in time order, so BRIN suffices: a B-tree adds another third to the cost of an insert.
create index gateway_attempts_at on gateway_attempts using brin (at);
create index gateway_attempts_model on gateway_attempts (model_id, at);
-- A request counts once per model: the next attempt finds the failure that it supersedes here.
create index gateway_attempts_failed on gateway_attempts (request_id, model_id) where is_counted and outcome <> 'success';

create table gateway_keys (
  id uuid primary key,
  name text not null,
  prefix text not null,
  hash text not null unique,           -- SHA-256; the key is shown once and not stored
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  daily_token_cap bigint
);

create table gateway_usage (
  day date not null,                   -- UTC
  caller text not null,
  model_id bigint not null references gateway_models on delete cascade,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  primary key (day, caller, model_id)
);

-- One row: when the models were last probed, by any process.
create table gateway_probe_schedule (
  is_singleton boolean primary key default true check (is_singleton),
  started_at timestamptz not null
);

----------------------------------------------------------------------------------------------------
-- Tenancy: organizations, keys, limits, deployments and executions with their files.
-- Used by src/tenancy; retention executionsDays and executionFilesDays delete old rows.

create table organizations (
  id text primary key,                 -- org_ and 16 random letters and digits
  name text not null,
  name_key text not null unique,       -- the name folded for comparison by the server, because lower() depends on the database
  created_at timestamptz not null
);

create table organization_keys (
  id uuid primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  prefix text not null,
  hash text not null unique,           -- SHA-256; the key is shown once and not stored
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);

create table organization_rate_limits (
  id uuid primary key,
  organization_id text not null unique references organizations on delete cascade,
  concurrent_request_limit integer not null check (concurrent_request_limit > 0),
  created_at timestamptz not null,
  modified_at timestamptz not null
);

-- One row per server that shares slots with others through Redis, replaced every second: what the others need of it
-- when Redis is down or was flushed.
create table admission_servers (
  server_id text primary key,          -- new with every start
  number integer not null,             -- number of the report, rising
  heartbeats integer not null,         -- heartbeats that Redis has replied to
  slots json not null,
  is_down boolean not null,            -- it has confirmed an outage of Redis
  shared_with json,                    -- servers between which it divided the limits; null: it decides nothing by itself
  reported_at timestamptz not null     -- by the clock of the database
);

create table deployments (
  id uuid primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  workflow text not null,
  options json not null,               -- json keeps the field order of a JSON schema
  webhook_url text,
  wait_seconds double precision not null default 0,
  is_active boolean not null default true,
  created_at timestamptz not null,
  modified_at timestamptz not null
);

-- Names are ASCII; without the collation, lower() depends on the locale of the database.
create unique index deployments_name on deployments (organization_id, lower(name collate "C"));

create table executions (
  id uuid primary key,                 -- sorts by time of acceptance
  organization_id text not null references organizations on delete cascade,
  deployment_id uuid not null references deployments on delete cascade,
  status text not null check (status in ('queued', 'running', 'completed', 'failed', 'canceled')),
  idempotency_key text,
  request_hash text not null,
  job_id uuid not null,
  parameters json not null,            -- json keeps key order, and characters that jsonb rejects
  accepted_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  result json,
  failure json,
  warnings json not null default '[]',
  check ((finished_at is null) = (status in ('queued', 'running')))
);

create unique index executions_idempotency on executions (deployment_id, idempotency_key)
  where idempotency_key is not null;
create index executions_unfinished on executions (id) where finished_at is null;
create index executions_organization on executions (organization_id, id);
create index executions_deployment on executions (deployment_id, id);
create index executions_finished on executions (finished_at) where finished_at is not null;

create table execution_files (
  execution_id uuid not null references executions on delete cascade,
  position integer not null,
  name text not null,
  media_type text not null,
  bytes bytea not null,
  primary key (execution_id, position)
);

----------------------------------------------------------------------------------------------------
-- Knowledge: spaces, artifacts with revisions and chunks, the lexical index, entities, events, pairs and merges.
-- Used by src/knowledge. Every row belongs to a space. Tables and columns have the names of founding document 004.
-- Its operator query for entities that need another try works as written (without an embedder, no entity has a vector and
-- it returns all of them; merged_into is null excludes merged ones). Its manual merge does not work because every row belongs
-- to a space: use "headworks entities merge", which can be undone.
-- Vectors are real[], so storing them needs no extension; their indexes are created when pgvector is installed
-- (src/knowledge/vectors). Names are indexed by trigram when pg_trgm is installed (src/knowledge/entities).
-- Rows below an artifact or an entity do not reference the space themselves: checking it for each of a hundred rows per chunk
-- costs time, and all writers of a space would contend for its row.

create table knowledge_space (
  space_id integer generated always as identity primary key,
  organization_id text references organizations on delete cascade,  -- null: belongs to the server itself
  name text not null,
  name_key text not null,              -- the name folded for comparison by the server
  language text not null default 'english',  -- a text search configuration of PostgreSQL
  created_at timestamptz not null
);
create unique index knowledge_space_name on knowledge_space (coalesce(organization_id, ''), name_key);

create table artifact (
  artifact_uid uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  type text not null check (type in ('email', 'doc', 'chat', 'transcript', 'note')),
  source_system text not null,         -- files, upload, vault, …
  source_id text not null,             -- id in the source; ingesting the same id again adds a revision
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
  warnings jsonb not null default '[]',  -- sentences about what could not be read from the document
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
  space_id integer not null,
  artifact_uid uuid not null references artifact on delete cascade,
  revision_id uuid not null references artifact_revision on delete cascade,
  position integer not null,
  start_char integer not null,         -- offsets into the revision's text in UTF-16 code units
  end_char integer not null,
  token_count integer not null,
  heading text,                        -- headings above the chunk, outermost first, joined by " › "
  text text not null,
  unique (revision_id, position)
);
create index chunk_artifact on chunk (artifact_uid);
create index chunk_space on chunk (space_id, chunk_id);

-- The state of each chunk: one row per ingest step. A missing row means the step has not been tried.
create table chunk_step (
  chunk_id bigint not null references chunk on delete cascade,
  step text not null check (step in ('index', 'read', 'embed', 'graph')),
  space_id integer not null,
  status text not null check (status in ('completed', 'failed', 'skipped')),
  method text,                         -- read: model or rules; embed: the model's name
  cause text,                          -- an error code or class; null when completed
  message text,                        -- one sentence for people; null when completed
  updated_at timestamptz not null,
  dropped jsonb,                     -- read: entries of the reading that were rejected, [{"reason", "count"}]; null: none
  primary key (chunk_id, step)
);
create index chunk_step_open on chunk_step (space_id, step) where status <> 'completed';

-- The lexical index of the latest revisions. The included columns make scans by term index-only. No references to chunk
-- and space: checking them for a hundred rows per chunk more than halved the ingest rate (143 instead of 325 chunks per
-- second, measured). removePostings deletes postings, and the trigger below deletes those of deleted chunks.
create table chunk_posting (
  space_id integer not null,
  term text collate "C" not null,
  chunk_id bigint not null,
  tf smallint not null,                -- occurrences in title, headings and text
  title_tf smallint not null,          -- of these, occurrences in title and headings
  len smallint not null,               -- words in the chunk, with title and headings
  title_terms smallint not null,       -- distinct words of title and headings
  positions smallint[] not null,       -- from 1 in the text, from -20000 in title and headings
  primary key (space_id, term, chunk_id) include (tf, title_tf, len, title_terms)
);
create index chunk_posting_chunk on chunk_posting (chunk_id);

-- Totals over all chunks that have a posting.
create table corpus_total (
  space_id integer primary key references knowledge_space on delete cascade,
  chunk_count bigint not null,
  total_len bigint not null
);

create function delete_postings() returns trigger language plpgsql set search_path from current as $$
begin
  with deleted as (
    delete from chunk_posting p using deleted_chunk g where p.chunk_id = g.chunk_id
    returning p.space_id, p.chunk_id, p.len),
  lens as (select distinct space_id, chunk_id, len from deleted),
  less as (select space_id, count(*) as chunks, sum(len) as len from lens group by space_id)
  update corpus_total t set chunk_count = t.chunk_count - l.chunks, total_len = t.total_len - l.len
  from less l where t.space_id = l.space_id;
  return null;
end $$;
create trigger chunk_delete_postings after delete on chunk referencing old table as deleted_chunk
  for each statement execute function delete_postings();

create table chunk_vector (
  space_id integer not null references knowledge_space on delete cascade,
  model text not null,                 -- vectors of different models are never compared
  chunk_id bigint not null references chunk on delete cascade,
  embedding real[] not null,
  primary key (chunk_id, model)
);
create index chunk_vector_space on chunk_vector (space_id, model);

create table entity (
  entity_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  entity_type text not null check (entity_type in ('person', 'organization', 'project', 'object', 'place', 'other')),
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
  merged_into uuid references entity on delete cascade,   -- set: the row is kept so that the merge can be undone
  version bigint not null default 0,   -- entity_version at its last change
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index entity_name on entity (space_id, normalized_name) where merged_into is null;
create index entity_email on entity (space_id, lower(email)) where email is not null and merged_into is null;
create index entity_review on entity (space_id, review_reason) where needs_review and merged_into is null;
create index entity_merged on entity (merged_into) where merged_into is not null;
create index entity_first_artifact on entity (first_artifact_uid) where first_artifact_uid is not null;
create index entity_changed on entity (space_id, version);

-- Counts the writes of entities of a space, so that a writer can find what others wrote since it searched for candidates.
create table entity_version (
  space_id integer primary key references knowledge_space on delete cascade,
  version bigint not null
);

create table entity_alias (
  entity_id uuid not null references entity on delete cascade,
  space_id integer not null,
  alias text not null,
  normalized_alias text not null,
  first_artifact_uid uuid,             -- the artifact that introduced this name; deleted with it if no other has it. Null: a person
  primary key (entity_id, normalized_alias)
);
create index entity_alias_name on entity_alias (space_id, normalized_alias);
create index entity_alias_artifact on entity_alias (first_artifact_uid) where first_artifact_uid is not null;

-- Lookup keys of an entity besides its names: initials, nicknames, sorted words, addresses, distinctive fields.
-- Deleting a name deletes its keys.
create table entity_key (
  space_id integer not null,
  key text collate "C" not null,
  entity_id uuid not null,
  normalized_alias text not null,
  primary key (space_id, key, entity_id, normalized_alias),
  foreign key (entity_id, normalized_alias) references entity_alias on delete cascade
);
create index entity_key_alias on entity_key (entity_id, normalized_alias);

create table entity_mention (
  mention_id uuid primary key,
  space_id integer not null,
  entity_id uuid not null references entity on delete cascade,   -- unmerged: a merge moves it to the winner
  resolved_id uuid not null,           -- the entity it was resolved to; merges and their undo do not change it
  artifact_uid uuid not null,          -- deleted with its revision
  revision_id uuid not null references artifact_revision on delete cascade,
  chunk_id bigint references chunk on delete cascade,     -- null: a structured mention of the whole artifact
  surface_form text not null,
  start_char integer,                  -- offset into the revision's text
  end_char integer,
  method text not null check (method in ('model', 'rules', 'structured')),
  confidence real not null,
  relation text                        -- of a structured mention: owner, folder, model, explore, author, recipient, …
);
create index entity_mention_entity on entity_mention (entity_id, artifact_uid);
create index entity_mention_chunk on entity_mention (chunk_id);
create index entity_mention_revision on entity_mention (revision_id);
-- Partial, so that ingest does not pay for it: only mentions of merged entities differ.
create index entity_mention_resolved on entity_mention (resolved_id) where resolved_id <> entity_id;

create table semantic_event (
  event_id uuid primary key,
  space_id integer not null,
  artifact_uid uuid not null,          -- deleted with its revision
  revision_id uuid not null references artifact_revision on delete cascade,
  chunk_id bigint not null references chunk on delete cascade,
  category text not null check (category in ('Commitment', 'Execution', 'Decision', 'Collaboration', 'QualityRisk',
    'Feedback', 'Change', 'Stakeholder')),
  event_time timestamptz,
  narrative text not null,
  subject text,
  confidence real not null check (confidence between 0 and 1),
  method text not null check (method in ('model', 'rules')),
  superseded_at timestamptz,           -- when a newer revision replaced it
  created_at timestamptz not null
);
create index semantic_event_chunk on semantic_event (chunk_id);
create index semantic_event_revision on semantic_event (revision_id);
create index semantic_event_artifact on semantic_event (artifact_uid);
create index semantic_event_space on semantic_event (space_id, event_time) where superseded_at is null;

create table event_evidence (
  event_id uuid not null references semantic_event on delete cascade,
  space_id integer not null,
  chunk_id bigint not null,            -- deleted with its event
  start_char integer not null,         -- offset into the revision's text
  end_char integer not null,
  quote text not null,                 -- at most 25 words
  primary key (event_id, start_char, end_char)
);

-- entity_id and resolved_id as in entity_mention. After a merge both entities of one event have their own row with the same
-- entity_id: read with distinct.
create table event_actor (
  event_id uuid not null references semantic_event on delete cascade,
  entity_id uuid not null references entity on delete cascade,
  resolved_id uuid not null,
  space_id integer not null,
  role text not null check (role in ('owner', 'contributor', 'reviewer', 'stakeholder', 'other')),
  primary key (event_id, resolved_id, role)
);
create index event_actor_entity on event_actor (entity_id, event_id);

create table event_subject (
  event_id uuid not null references semantic_event on delete cascade,
  entity_id uuid not null references entity on delete cascade,
  resolved_id uuid not null,
  space_id integer not null,
  primary key (event_id, resolved_id)
);
create index event_subject_entity on event_subject (entity_id, event_id);

-- Candidate duplicates: two unmerged entities, the smaller id first.
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
  is_contradicted boolean not null default false, -- what its sides were merged into contradicts: not listed as open
  created_at timestamptz not null,
  check (entity_a < entity_b),
  unique (entity_a, entity_b)
);
create index entity_pair_open on entity_pair (space_id, confidence) where state in ('open', 'later');
create index entity_pair_b on entity_pair (entity_b);

-- Merges: what resolved_id does not have and undoing a merge needs.
create table entity_merge (
  merge_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  winner_id uuid not null references entity on delete cascade,
  loser_id uuid not null references entity on delete cascade,
  reason text not null,
  decided_by text not null,            -- name, email, score, model, admin, organization id
  winner_aliases text[] not null,      -- normalized names of the winner before the merge; later ones may be the loser's
  settled_pairs jsonb not null,        -- pairs between the two as they were before the merge decided them
  merged_at timestamptz not null,
  undone_at timestamptz
);
create index entity_merge_winner on entity_merge (winner_id);
create index entity_merge_loser on entity_merge (loser_id);

-- Folders whose files are ingested repeatedly.
create table knowledge_folder (
  folder_id uuid primary key,
  space_id integer not null references knowledge_space on delete cascade,
  path text not null,
  schedule text,                       -- cron expression of five fields, UTC; null: watched for changes
  created_at timestamptz not null,
  last_run_at timestamptz,
  last_result jsonb,
  delete_missing boolean not null default false,  -- whether documents are deleted when their file is gone
  unique (space_id, path)
);

-- Scripts written without spaces (Chinese, Japanese, Thai, …; Korean has few): indexed by pairs of adjacent letters, because
-- PostgreSQL treats a whole run of such letters as one word, which is not a useful search term.

-- Whether the text has such a letter: Thai, Lao, Burmese, Khmer, kana, bopomofo, hangul, Han.
create function has_unspaced(given text) returns boolean language sql immutable parallel safe as $$
  select given ~ ('[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f'
    '\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff'
    '\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U000323af]')
$$;

-- The input of to_tsvector: the text with each such run replaced by its pairs of letters (東京都: 東京 京都), which keeps the
-- order for phrase search. With singles: each Han letter is repeated at the end, because one alone may be a word. Other text
-- is returned unchanged (0.03 ms for 5,000 letters). In plpgsql because its plans are cached; in SQL each call cost 1 ms.
create function lexical_text(given text, with_singles boolean) returns text language plpgsql immutable parallel safe as $$
begin
  if not has_unspaced(given) then return given; end if;
  return (
    select string_agg(
        case when not is_run then letter
          when next_is_run then case when prev_is_run then '' else ' ' end || letter || next_letter || ' '
          when prev_is_run then ''
          else ' ' || letter || ' ' end, '' order by place)
      || case when not with_singles then '' else ' ' || coalesce(string_agg(distinct letter, ' ') filter (
        where letter ~ '[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]'), '') end
    from (
      select letter, place, is_run, lead(letter) over w as next_letter, lead(is_run, 1, false) over w as next_is_run,
        lag(is_run, 1, false) over w as prev_is_run
      from (
        select letter, place, has_unspaced(letter) as is_run
        from string_to_table(given, null) with ordinality as one (letter, place)) as one
      window w as (order by place)) as run);
end $$;

-- Ingest, one function per step, so that a chunk takes one round trip per step and is planned once per connection. Statement
-- by statement a chunk took 23 round trips and 4 ms of planning, of 20 ms of server time (npm run bench -- knowledge).

-- The entities found by name, email and key, at most `most` each. For names in `alike` that match no entity, also the
-- entities with similar names (needs pg_trgm unless the list is empty). The row 'version' has the version of the space.
-- Planner fences, here and below. When a table has grown since its last analyze, the planner prefers to read the table or the
-- whole space for each of thousands of lookups: minutes instead of a second for a chunk of 10,000 names. Therefore:
-- sequential scans are off, and lookups are `lateral`, one by one; a `limit` around the similarity, without which the planner
-- takes the index on the space instead of the trigram index (14 ms instead of 0.7 for five names among 1,500), and which
-- bounds the work for a name similar to thousands; the space as an array, which GIN indexes natively (with 60,000 similar
-- names in another space one name took 300 to 700 ms, now 0.7); `space_id + 0` beside an id for the same reason
-- (4 ms instead of 0.1 for eight ids). force_generic_plan: planning takes up to 2 ms, and five custom plans would come first.
create function knowledge_find_entities(
  space integer, names text[], emails text[], keys text[], most integer,
  alike text[], most_alike integer, least_likeness real)
returns table (via text, found_key text, found_id uuid)
language plpgsql rows 100 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  unknown_names text[];
begin
  -- Read first, so that whatever is written from here on has a higher version.
  return query select 'version', coalesce((select v.version from entity_version v where v.space_id = space), 0)::text,
    null::uuid;
  return query
    select 'name', t.key, hit.entity_id from unnest(names) as t (key)
      cross join lateral (select e.entity_id from entity e where e.space_id = space and e.normalized_name = t.key
        and e.merged_into is null limit most) hit
    union all
    select 'alias', t.key, hit.entity_id from unnest(names) as t (key)
      cross join lateral (select a.entity_id from entity_alias a where a.space_id = space
        and a.normalized_alias = t.key limit most) hit
    union all
    select 'email', t.key, hit.entity_id from unnest(emails) as t (key)
      cross join lateral (select e.entity_id from entity e where e.space_id = space and lower(e.email) = t.key
        and e.email is not null and e.merged_into is null limit most) hit
    union all
    select 'key', t.key, hit.entity_id from unnest(keys) as t (key)
      cross join lateral (select distinct few.entity_id from (select k.entity_id from entity_key k
        where k.space_id = space and k.key = t.key collate "C" limit most * 2) few limit most) hit;
  if cardinality(alike) = 0 then return; end if;
  select coalesce(array_agg(t.name), '{}') into unknown_names from unnest(alike) as t (name)
    left join lateral (select e.entity_id from entity e where e.space_id = space and e.normalized_name = t.name
      and e.merged_into is null limit 1) hit on true
    where hit.entity_id is null;
  if cardinality(unknown_names) > most_alike then return; end if;
  perform set_config('pg_trgm.similarity_threshold', least_likeness::text, true);
  return query
    select 'trigram', t.name, hit.entity_id from unnest(unknown_names) as t (name)
      cross join lateral (select a.entity_id from (
          select l.entity_id, l.normalized_alias from entity_alias l
          where array[l.space_id] @> array[space] and l.normalized_alias % t.name limit 5000) a
        order by similarity(a.normalized_alias, t.name) desc, a.entity_id limit 8) hit;
end $$;

-- The unmerged entity of each id (root), each with itself and everything merged into it, directly or not (member). Follows at
-- most 32 merges.
create function knowledge_family(ids uuid[]) returns table (root uuid, member uuid)
language plpgsql stable rows 20 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query
    with recursive up as (
      select e.entity_id as at, e.merged_into, 0 as depth from unnest(ids) as t (id) join entity e on e.entity_id = t.id
      union
      select e.entity_id, e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.merged_into
        where up.depth < 32),
    family as (
      select distinct up.at as root_id, up.at as member_id, 0 as depth from up where up.merged_into is null
      union all
      select f.root_id, e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member_id
        where f.depth < 32)
    select f.root_id, f.member_id from family f;
end $$;

-- The unmerged entity of each id, with the names, emails and clues of everything merged into it (these stay with their
-- original row), and whether it is mentioned in `artifact`, or was created for it: its mentions may not be written yet.
create function knowledge_families(space integer, ids uuid[], artifact uuid, most_names integer)
returns table (root uuid, found uuid[], aliases text[], emails text[], organizations text[], roles text[], notes jsonb,
  is_in_artifact boolean)
language plpgsql rows 20 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query
    with recursive up as (
      select t.id as found_id, t.id as at, e.merged_into, 0 as depth from unnest(ids) as t (id)
        cross join lateral (select l.merged_into from entity l where l.entity_id = t.id and l.space_id + 0 = space limit 1) e
      union all
      select up.found_id, e.entity_id, e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.merged_into
        where up.depth < 32),
    live as (select up.at as id, array_agg(up.found_id) as found_ids from up where up.merged_into is null group by up.at),
    family as (
      select live.id, live.id as member, 0 as depth from live
      union all
      select f.id, e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
        where f.depth < 32),
    gathered as (
      select f.id,
        coalesce(array_agg(distinct lower(m.email)) filter (where m.email is not null), '{}') as emails,
        coalesce(array_agg(distinct m.organization) filter (where m.organization is not null), '{}') as organizations,
        coalesce(array_agg(distinct m.role) filter (where m.role is not null), '{}') as roles,
        jsonb_agg(m.context_clues) as notes
      from family f join entity m on m.entity_id = f.member group by f.id),
    named as (
      select f.id, (array_agg(distinct a.alias))[1:most_names] as aliases
      from family f join entity_alias a on a.entity_id = f.member group by f.id)
    select live.id, live.found_ids, coalesce(named.aliases, '{}'), gathered.emails, gathered.organizations,
      gathered.roles, gathered.notes,
      exists (select from entity_mention m where m.entity_id = live.id and m.artifact_uid = artifact)
        or exists (select from entity e where e.entity_id = live.id and e.first_artifact_uid = artifact)
    from live join gathered on gathered.id = live.id left join named on named.id = live.id;
end $$;

-- Gives the entities a new version, after the lock of the space was taken. Returns it.
create function knowledge_touch_entities(space integer, ids uuid[]) returns bigint language plpgsql
  set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  new_version bigint;
begin
  insert into entity_version as v values (space, 1) on conflict (space_id) do update set version = v.version + 1
    returning v.version into new_version;
  update entity e set version = new_version where e.entity_id = any(ids) and e.space_id + 0 = space;
  return new_version;
end $$;

-- Inserts entities and names with their lookup keys, and completes existing entities: missing fields, a better name, further
-- notes up to `most_notes`. `artifact` is the source of the names.
create function knowledge_put_entities(space integer, artifact uuid, written_at timestamptz, entities jsonb, names jsonb,
  additions jsonb, most_notes integer)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  new_version bigint;
begin
  new_version := knowledge_touch_entities(space,
    array(select distinct t.id from jsonb_to_recordset(names || additions) as t (id uuid)));
  insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, role, organization, email,
    context_clues, first_artifact_uid, first_revision_id, needs_review, review_reason, version, created_at, updated_at)
  select t.id, space, t.type, t.name, t.normalized, t.role, t.organization, t.email, t.notes, t.artifact, t.revision,
    t.review is not null, t.review, new_version, written_at, written_at
  from jsonb_to_recordset(entities) as t (id uuid, type text, name text, normalized text, role text,
    organization text, email text, notes jsonb, artifact uuid, revision uuid, review text);
  if exists (
    select from jsonb_to_recordset(names) as t (id uuid)
      left join lateral (select true as is_own from entity e where e.entity_id = t.id and e.space_id + 0 = space limit 1) own
        on true
    where own.is_own is null)
  then raise foreign_key_violation using message = 'An entity that gets a name is gone, or is of another space.'; end if;
  insert into entity_alias (entity_id, space_id, alias, normalized_alias, first_artifact_uid)
  select t.id, space, t.alias, t.normalized, artifact
  from jsonb_to_recordset(names) as t (id uuid, alias text, normalized text)
  on conflict do nothing;
  insert into entity_key (space_id, key, entity_id, normalized_alias)
  select space, own.key, t.id, t.normalized
  from jsonb_to_recordset(names) as t (id uuid, normalized text, keys jsonb)
    cross join lateral jsonb_array_elements_text(t.keys) as own (key)
  on conflict do nothing;
  update entity e set
    role = coalesce(e.role, t.role), organization = coalesce(e.organization, t.organization),
    email = coalesce(e.email, t.email), canonical_name = coalesce(t.name, e.canonical_name),
    normalized_name = coalesce(t.normalized, e.normalized_name),
    context_clues = case when jsonb_array_length(e.context_clues) >= most_notes then e.context_clues
      else e.context_clues || coalesce((select jsonb_agg(note) from jsonb_array_elements(t.notes) note
        where not e.context_clues @> jsonb_build_array(note)), '[]') end,
    updated_at = written_at
  from jsonb_to_recordset(additions) as t (id uuid, name text, normalized text, role text, organization text,
    email text, notes jsonb)
  where e.entity_id = t.id and e.space_id + 0 = space;
end $$;

-- The same, if nothing relevant has changed since the caller searched for candidates: `revision` is the latest, no entity
-- that the search would find has been created or changed since version `seen` (null: not checked), and the entities to
-- complete are unmerged and unchanged. False: nothing was written, search again. One writer per space at a time.
create function knowledge_put_entities_as_seen(space integer, artifact uuid, written_at timestamptz, entities jsonb,
  names jsonb, additions jsonb, most_notes integer, revision uuid, seen bigint, found_names text[], found_emails text[],
  found_keys text[], alike text[], least_likeness real, live uuid[], lock_name text)
returns boolean language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  changed uuid[];
begin
  perform pg_advisory_xact_lock(hashtextextended(lock_name, 0));
  perform from artifact_revision r where r.revision_id = revision and r.space_id + 0 = space and r.is_latest
    for share;
  if not found then return false; end if;
  if exists (
    select from unnest(live) as t (id)
      left join lateral (select e.entity_id from entity e where e.entity_id = t.id and e.space_id + 0 = space
        and e.merged_into is null limit 1) hit on true
    where hit.entity_id is null)
  then return false; end if;
  changed := array(select e.entity_id from entity e where e.space_id = space and e.version > seen);
  if cardinality(changed) > 0 then
    if changed && live
      or exists (select from unnest(changed) as t (id)
        cross join lateral (select e.normalized_name, lower(e.email) as email from entity e where e.entity_id = t.id limit 1) e
        where e.normalized_name = any(found_names) or e.email = any(found_emails))
      or exists (select from unnest(changed) as t (id)
        cross join lateral (select from entity_alias a where a.entity_id = t.id
          and a.normalized_alias = any(found_names) limit 1) hit)
      or exists (select from unnest(changed) as t (id)
        cross join lateral (select from entity_key k where k.entity_id = t.id and k.key = any(found_keys collate "C")
          limit 1) hit)
    then return false; end if;
    if cardinality(alike) > 0 then
      perform set_config('pg_trgm.similarity_threshold', least_likeness::text, true);
      if exists (select from unnest(changed) as t (id) join entity_alias a on a.entity_id = t.id
        join unnest(alike) as n (name) on a.normalized_alias % n.name)
      then return false; end if;
    end if;
  end if;
  perform knowledge_put_entities(space, artifact, written_at, entities, names, additions, most_notes);
  return true;
end $$;

-- Writes the reading of a chunk, or of a whole revision (`chunk` is null): mentions, and events with evidence, actors and
-- subjects, who are all mentioned. A missing row or an entity of another space fails the whole call.
create function knowledge_put_reading(space integer, artifact uuid, revision uuid, chunk bigint, read_by text,
  written_at timestamptz, is_superseded boolean, mentions jsonb, events jsonb)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  written integer;
begin
  insert into entity_mention (mention_id, space_id, entity_id, resolved_id, artifact_uid, revision_id, chunk_id, surface_form,
    start_char, end_char, method, confidence, relation)
  select t.id, space, t.entity, t.resolved, artifact, revision, chunk, t.surface, t.start_char, t.end_char, t.method, t.confidence,
    t.relation
  from jsonb_to_recordset(mentions) as t (id uuid, entity uuid, resolved uuid, surface text, start_char integer, end_char integer,
      method text, confidence real, relation text)
    cross join lateral (select from entity e where e.entity_id = t.entity and e.space_id + 0 = space limit 1) own;
  get diagnostics written = row_count;
  if written <> jsonb_array_length(mentions)
  then raise foreign_key_violation using message = 'An entity that is mentioned is gone, or is of another space.'; end if;
  insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, event_time, narrative,
    subject, confidence, method, superseded_at, created_at)
  select t.id, space, artifact, revision, chunk, t.category, t.event_time, t.narrative, t.subject, t.confidence, read_by,
    case when is_superseded then written_at end, written_at
  from jsonb_to_recordset(events) as t (id uuid, category text, event_time timestamptz, narrative text, subject text,
    confidence real);
  insert into event_evidence (event_id, space_id, chunk_id, start_char, end_char, quote)
  select t.id, space, chunk, v.start_char, v.end_char, v.quote
  from jsonb_to_recordset(events) as t (id uuid, evidence jsonb)
    cross join lateral jsonb_to_recordset(t.evidence) as v (start_char integer, end_char integer, quote text)
  on conflict do nothing;
  insert into event_actor (event_id, entity_id, resolved_id, space_id, role)
  select t.id, a.entity, a.resolved, space, a.role
  from jsonb_to_recordset(events) as t (id uuid, actors jsonb)
    cross join lateral jsonb_to_recordset(t.actors) as a (entity uuid, resolved uuid, role text)
  on conflict do nothing;
  insert into event_subject (event_id, entity_id, resolved_id, space_id)
  select t.id, a.entity, a.resolved, space
  from jsonb_to_recordset(events) as t (id uuid, about jsonb)
    cross join lateral jsonb_to_recordset(t.about) as a (entity uuid, resolved uuid)
  on conflict do nothing;
end $$;

-- The same, if the chunk or revision has no reading yet and all entities are unmerged. False: nothing was written, because
-- there is a reading, or the chunk, revision or an entity is gone or merged. One writer per chunk or revision at a time.
create function knowledge_put_first_reading(space integer, artifact uuid, revision uuid, chunk bigint, read_by text,
  written_at timestamptz, mentions jsonb, events jsonb, entities uuid[])
returns boolean language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  is_latest boolean;
  live integer;
begin
  if chunk is null then
    select r.is_latest into is_latest from artifact_revision r
      where r.revision_id = revision and r.space_id + 0 = space for update;
  else
    select r.is_latest into is_latest from chunk c join artifact_revision r using (revision_id)
      where c.chunk_id = chunk and c.space_id + 0 = space and c.revision_id = revision for update of c;
  end if;
  if not found then return false; end if;
  perform from unnest(entities) as t (id) cross join lateral (select from entity e where e.entity_id = t.id
    and e.space_id + 0 = space and e.merged_into is null for key share) held;
  get diagnostics live = row_count;
  if live <> cardinality(entities)
    or exists (select from semantic_event e where e.chunk_id = chunk)
    or exists (select from entity_mention m where m.chunk_id = chunk)
    or chunk is null and exists (select from entity_mention m where m.revision_id = revision and m.chunk_id is null)
  then return false; end if;
  perform knowledge_put_reading(space, artifact, revision, chunk, read_by, written_at, not is_latest, mentions, events);
  return true;
end $$;
