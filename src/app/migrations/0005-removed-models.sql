-- Models that somebody added can be taken out again. The row stays for what was written down of it (attempts, usage);
-- its name is free for another one.

alter table gateway_models add column removed_at timestamptz;
alter table gateway_models drop constraint gateway_models_name_key;
create unique index gateway_models_name on gateway_models (name) where removed_at is null;
