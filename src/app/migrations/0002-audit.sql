-- The audit trail: who did what with administrative rights, and what came of it.
-- Written by src/app/audit/postgres-audit-trail.ts; only ever appended to; old rows go by retention (auditDays).
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table audit_log (
  id uuid primary key,                 -- version 7, made by us: sorts by time
  at timestamptz not null,
  actor text not null,                 -- who: 'admin', or the id of a key; never a credential
  action text not null,                -- what, for example 'ledger.repair' or 'POST /api/v1/jobs/:id/retry'
  subject text,                        -- to what
  outcome text not null,               -- 'done', 'refused' or 'failed'
  status integer,                      -- the HTTP status that was answered, if it came that way
  request_id text,
  details jsonb not null default '{}'
);

-- For retention, and for listing by time.
create index audit_log_at on audit_log (at);
