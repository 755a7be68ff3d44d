-- Models, their cooldowns, what was asked of them, gateway keys and usage. Keys of providers are never here.
-- Written by src/gateway/postgres/; attempts and usage go by retention (attemptsDays, usageDays).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table gateway_models (
  id bigint generated always as identity primary key,
  name text not null unique,
  provider text not null,
  base_url text not null,
  upstream_model text not null,
  env_var text,                        -- the name of the variable; its value stays in the environment
  headers jsonb not null default '{}',
  is_local boolean not null,
  capabilities jsonb not null,
  quotas jsonb not null default '{}',
  is_active boolean not null default true,
  origin text not null check (origin in ('built-in', 'config', 'added')),
  created_at timestamptz not null,
  cooldowns_cleared_at timestamptz     -- by hand; cooldowns set no later are void, also those that arrive afterwards
);

create table gateway_cooldowns (
  model_id bigint not null references gateway_models on delete cascade,
  key_id text not null,                -- a short hash of the provider's key, or * for all
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
  model_id bigint not null,            -- no reference: it would cost a third of writing a row, and models are never deleted
  at timestamptz not null,
  outcome text not null,               -- success, or the class of failure
  counts boolean not null,             -- speaks of reliability, and no later attempt of its request there took its place
  status smallint,
  duration_ms double precision not null,
  prompt_tokens integer not null default 0,
  completion_tokens integer not null default 0,
  caller text not null
);

-- Rows come in the order of time, so ranges of pages will do: a tree would cost another third of writing a row.
create index gateway_attempts_at on gateway_attempts using brin (at);
create index gateway_attempts_model on gateway_attempts (model_id, at);
-- A request counts once per model: its next attempt finds the failure that it takes the place of. Success is the end.
create index gateway_attempts_failed on gateway_attempts (request_id, model_id) where counts and outcome <> 'success';

create table gateway_keys (
  id uuid primary key,
  name text not null,
  prefix text not null,
  hash text not null unique,           -- SHA-256; the key itself is shown once and kept nowhere
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

-- One row: when models were last probed, by whichever process.
create table gateway_probe_rounds (
  is_only boolean primary key default true check (is_only),
  started_at timestamptz not null
);
