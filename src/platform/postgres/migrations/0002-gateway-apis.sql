-- Models have APIs other than OpenAI's chat, prices and timeouts of their own.
alter table gateway_models
  add column apis jsonb not null default '["chat"]',
  add column key_header text not null default 'authorization',
  add column price jsonb,
  add column timeouts jsonb not null default '{}';

update gateway_models
  set capabilities = '{"reasoning": false, "endpoints": [], "maxOutputTokens": null}'::jsonb || capabilities;

-- Responses of OpenAI's Responses API, for `previous_response_id`.
create table gateway_responses (
  id text not null,
  caller text not null,                -- only this caller can read it
  previous_id text,
  created_at timestamptz not null,
  input text not null,                 -- JSON; as text, because jsonb has no U+0000
  response text not null,
  item_ids text[] not null,
  primary key (caller, id)
);
create index gateway_responses_created on gateway_responses (created_at);
create index gateway_responses_items on gateway_responses using gin (item_ids);
