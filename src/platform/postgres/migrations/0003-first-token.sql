-- Scores use the time to the first token and the speed after it, so that a long response does not lower them.
alter table gateway_attempts
  add column first_token_ms double precision;  -- null: a whole response, or no content
