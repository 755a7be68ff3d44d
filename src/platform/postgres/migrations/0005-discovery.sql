-- Models are discovered in the lists of their providers, and retired when the lists no longer have them.
alter table gateway_models
  drop constraint gateway_models_origin_check,
  add constraint gateway_models_origin_check check (origin in ('built-in', 'config', 'custom', 'discovered')),
  add column listed jsonb,                             -- what the list says about a built-in model
  add column missed_lists integer not null default 0,  -- lists in a row that did not have it
  add column retired_at timestamptz;                   -- inactive; the row stays for its attempts and usage

create table gateway_discoveries (
  id uuid primary key,
  at timestamptz not null,
  provider text not null,
  cause text not null check (cause in ('schedule', 'manual', 'repair')),
  outcome text not null check (outcome in ('completed', 'empty', 'failed')),
  message text,                        -- why it failed
  listed integer not null,
  changes jsonb not null
);
create index gateway_discoveries_at on gateway_discoveries (at desc, id desc);
create index gateway_discoveries_provider on gateway_discoveries (provider, at desc, id desc);

-- All servers of a store share it: in each interval one of them reads the list of a provider.
create table gateway_discovery_schedule (
  provider text primary key,
  started_at timestamptz not null
);
