-- Which artifact gave an entity a name: what it gave alone goes with it, also when it was never mentioned under that name
-- (the artifact was removed between the writing of its entities and of its mentions). Null: before this was known, or by hand.
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

alter table entity_alias add column first_artifact_uid uuid;
create index entity_alias_artifact on entity_alias (first_artifact_uid) where first_artifact_uid is not null;
create index entity_first_artifact on entity (first_artifact_uid) where first_artifact_uid is not null;
