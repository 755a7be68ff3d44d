-- The ledger: what fell back or stayed undone, and how it was repaired.
-- Written by src/ledger/postgres/postgres-ledger-store.ts; rows repaired long ago go by retention (ledgerDays).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table ledger_entries (
  id uuid primary key,                 -- version 7, made by us: sorts by time of the first failure
  kind text not null,
  subject text not null,
  cause text not null,
  message text not null,
  details jsonb not null default '{}',
  count bigint not null check (count > 0),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  repaired_at timestamptz,
  repaired_how text,
  repair_attempts integer not null default 0,
  next_repair_at timestamptz,          -- background repair does not touch it before
  last_repair_error text,
  check ((repaired_at is null) = (repaired_how is null))
);

-- One open row per kind and subject: what failed again is counted, not added.
create unique index ledger_entries_open on ledger_entries (kind, subject) where repaired_at is null;

-- For the background repair, which asks for what has been due for longest.
create index ledger_entries_due on ledger_entries (coalesce(next_repair_at, first_seen_at))
  where repaired_at is null;

-- For retention.
create index ledger_entries_repaired on ledger_entries (repaired_at) where repaired_at is not null;
