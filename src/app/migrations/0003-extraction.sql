-- Registered extraction sources and the runs of them, and of commands. What was extracted is in vaults, not here.
-- Written by src/extraction/runs/postgres/; old runs go by retention (extractionRunsDays).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table extraction_sources (
  id uuid primary key,                 -- version 7, made by us
  name text not null unique,
  kind text not null check (kind in ('looker', 'rest')),
  settings jsonb not null,             -- where it is; secrets only as names of environment variables
  options jsonb not null default '{}', -- what differs from the server's own extraction settings
  schedule text,                       -- five cron fields in UTC
  vault text not null,                 -- a file in the data folder's vaults
  is_active boolean not null,
  is_from_file boolean not null,       -- kept in step with extraction.sourcesFile
  last_scheduled_at timestamptz not null, -- occurrences up to here are dealt with: each is taken once, by moving this
  created_at timestamptz not null,
  modified_at timestamptz not null
);

create table extraction_runs (
  id uuid primary key,                 -- version 7: sorts by time; of a command's run, made by the command
  source text not null,                -- a name, not a reference: runs outlive their source
  origin text not null check (origin in ('schedule', 'http', 'cli')),
  vault text not null,
  state text not null check (state in ('waiting', 'running', 'completed', 'incomplete', 'failed', 'interrupted')),
  job_id text,
  session text,                        -- in the vault
  types jsonb not null default '[]',   -- items, total and status by content type
  calls bigint not null default 0,
  refusals bigint not null default 0,  -- answers with status 429
  multiplier double precision not null default 1,
  items_per_second double precision,
  started_at timestamptz,
  finished_at timestamptz,
  reported_at timestamptz not null,    -- last sign of life
  message text
);

create index extraction_runs_source on extraction_runs (source, id);

-- For runs that stopped giving signs of life, which every look at the runs asks for.
create index extraction_runs_active on extraction_runs (state, reported_at) where state in ('waiting', 'running');

-- For retention.
create index extraction_runs_finished on extraction_runs (finished_at) where finished_at is not null;
