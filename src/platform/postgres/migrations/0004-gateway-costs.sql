-- What calls cost, limits of keys in requests and US dollars, and a log of requests.

-- A row is a call to a model, or a request that no model completed (model_id is null, outcome is an error code).
alter table gateway_attempts
  alter column model_id drop not null,
  add column cache_read_tokens integer not null default 0,   -- of prompt_tokens
  add column cache_write_tokens integer not null default 0,
  add column cost_usd double precision,                      -- null: unknown
  add column api text not null default '',                   -- chat, responses, messages, embeddings, …; empty: before this migration
  add column requested_model text not null default '',
  add column call_number smallint not null default 1,        -- of its request; of a request without a response: calls made
  add column waited_ms double precision not null default 0,  -- from the start of the request to this call
  add column ends_request boolean not null default false;    -- the request ended with this row: the log of requests lists these

alter table gateway_keys rename column daily_token_cap to tokens_per_day;
alter table gateway_keys
  add column requests_per_minute integer,
  add column usd_per_day double precision;

alter table gateway_usage
  add column cost_usd double precision,                      -- sum of known costs; null: none is known
  add column unpriced_requests bigint not null default 0;    -- requests whose cost is unknown
update gateway_usage set unpriced_requests = requests;

-- Bodies of requests, only with gateway.logContent.
create table gateway_request_contents (
  request_id text primary key,
  at timestamptz not null,
  request text not null,
  response text                        -- null: no response
);
create index gateway_request_contents_at on gateway_request_contents (at);
