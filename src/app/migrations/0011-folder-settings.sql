-- What becomes of documents whose files went from a folder that is read again and again.
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

alter table knowledge_folder add column removes_missing boolean not null default false;
