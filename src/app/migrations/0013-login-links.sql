-- Links that log a browser in to the dashboard, once.
-- Written by src/app/dashboard/postgres-logins.ts; a used one is deleted, an old one when the next is made.
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

create table login_link (
  token_hash bytea primary key,        -- SHA-256 of the token: whoever reads the table cannot log in
  expires_at timestamptz not null
);
