-- Organizations, their keys, published workflows, executions with their files, and concurrency limits.
-- Written by src/deployments/postgres/ and src/admission/postgres/; executions and files go by retention
-- (executionsDays, executionFilesDays).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table organizations (
  id text primary key,                 -- org_ and 16 letters and digits, made by us
  name text not null,
  name_key text not null unique,       -- the name without what does not tell names apart; made by us, as lower() differs
                                       -- from database to database
  created_at timestamptz not null
);

create table organization_keys (
  id uuid primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  prefix text not null,
  hash text not null unique,           -- SHA-256; the key itself is shown once and kept nowhere
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

create table deployments (
  id uuid primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  workflow text not null,
  options json not null,               -- json, as for executions: keeps the order of a schema's fields
  webhook_url text,
  wait_seconds double precision not null default 0,
  is_active boolean not null default true,
  created_at timestamptz not null,
  modified_at timestamptz not null
);

-- Names are ASCII; lower() depends on the database's language without the collation.
create unique index deployments_name on deployments (organization_id, lower(name collate "C"));

create table executions (
  id uuid primary key,                 -- version 7: sorts by time of acceptance
  organization_id text not null references organizations on delete cascade,
  deployment_id uuid not null references deployments on delete cascade,
  status text not null check (status in ('queued', 'executing', 'completed', 'error', 'stopped')),
  idempotency_key text,
  request_hash text not null,
  job_id uuid not null,
  parameters json not null,            -- json, not jsonb: keeps order, and characters that jsonb refuses
  accepted_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  result json,
  failure json,
  warnings json not null default '[]',
  check ((ended_at is null) = (status in ('queued', 'executing')))
);

create unique index executions_idempotency on executions (deployment_id, idempotency_key)
  where idempotency_key is not null;
create index executions_unfinished on executions (id) where ended_at is null;
create index executions_organization on executions (organization_id, id);
create index executions_deployment on executions (deployment_id, id);
create index executions_ended on executions (ended_at) where ended_at is not null;

create table execution_files (
  execution_id uuid not null references executions on delete cascade,
  position integer not null,
  name text not null,
  media_type text not null,
  bytes bytea not null,
  primary key (execution_id, position)
);
