-- Knowledge: what ingest does with every chunk, each as one function, so that it is one trip to the store and is planned
-- once per connection. Statement by statement a chunk took 23 trips and 4 ms of planning, of 20 ms of the server's time
-- (npm run bench -- knowledge). Called by src/knowledge/postgres/. No SQL newer than Postgres 15.

-- Rows below an artifact or an entity go with it, which has its space checked. To check it again for each of a hundred
-- rows a chunk costs time, and all writers of a space would meet at its row.
alter table chunk drop constraint chunk_space_id_fkey;
alter table chunk_step drop constraint chunk_step_space_id_fkey;
alter table entity_alias drop constraint entity_alias_space_id_fkey;
alter table entity_key drop constraint entity_key_space_id_fkey;
alter table entity_mention drop constraint entity_mention_space_id_fkey;
alter table semantic_event drop constraint semantic_event_space_id_fkey;
alter table event_evidence drop constraint event_evidence_space_id_fkey;
alter table event_actor drop constraint event_actor_space_id_fkey;
alter table event_subject drop constraint event_subject_space_id_fkey;

-- Looked for by trigrams are names of one space: an index that begins with the space takes its place, made where pg_trgm is
-- there (src/knowledge/postgres/postgres-entity-store.ts).
drop index if exists entity_alias_trigram;

-- Which entities names, addresses and keys lead to, at most `most` each, and, of the names in `alike` that are nobody's,
-- those that are called much alike (needs pg_trgm; an empty list does not).
-- A table that grew since it was last analyzed looks to the planner as if each of thousands of lookups were best done by
-- reading it whole, or all of a space: minutes instead of a second for a chunk of 10,000 names. Hence, here and below, no
-- sequential scans, and lookups one by one (`lateral`); a `limit` around the likeness, without which the index of trigrams is
-- passed over for that of spaces (14 ms against 0.7 for five names among 1,500), and which bounds the work for a name that
-- thousands are like; the space as an array, which GIN indexes by itself (with 60,000 names of another space that are like
-- it, a name took 300 to 700 ms, and takes 0.7); and `space_id + 0` beside an id, for the same reason
-- (4 ms against 0.1 for eight ids). One plan serves for all: making one takes up to 2 ms, and five would be made first.
create function knowledge_find_entities(
  space integer, names text[], emails text[], keys text[], most integer,
  alike text[], most_alike integer, least_likeness real)
returns table (via text, found_key text, found_id uuid)
language plpgsql rows 100 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  strangers text[];
begin
  return query
    select 'name', t.key, hit.entity_id from unnest(names) as t (key)
      cross join lateral (select e.entity_id from entity e where e.space_id = space and e.normalized_name = t.key
        and e.merged_into is null limit most) hit
    union all
    select 'alias', t.key, hit.entity_id from unnest(names) as t (key)
      cross join lateral (select a.entity_id from entity_alias a where a.space_id = space
        and a.normalized_alias = t.key limit most) hit
    union all
    select 'email', t.key, hit.entity_id from unnest(emails) as t (key)
      cross join lateral (select e.entity_id from entity e where e.space_id = space and lower(e.email) = t.key
        and e.email is not null and e.merged_into is null limit most) hit
    union all
    select 'key', t.key, hit.entity_id from unnest(keys) as t (key)
      cross join lateral (select distinct few.entity_id from (select k.entity_id from entity_key k
        where k.space_id = space and k.key = t.key collate "C" limit most * 2) few limit most) hit;
  if cardinality(alike) = 0 then return; end if;
  select coalesce(array_agg(t.name), '{}') into strangers from unnest(alike) as t (name)
    left join lateral (select e.entity_id from entity e where e.space_id = space and e.normalized_name = t.name
      and e.merged_into is null limit 1) hit on true
    where hit.entity_id is null;
  if cardinality(strangers) > most_alike then return; end if;
  perform set_config('pg_trgm.similarity_threshold', least_likeness::text, true);
  return query
    select 'trigram', t.name, hit.entity_id from unnest(strangers) as t (name)
      cross join lateral (select a.entity_id from (
          select l.entity_id, l.normalized_alias from entity_alias l
          where array[l.space_id] @> array[space] and l.normalized_alias % t.name limit 5000) a
        order by similarity(a.normalized_alias, t.name) desc, a.entity_id limit 8) hit;
end $$;

-- Who these ids are now: the live entity of each, with names, addresses and clues of everything that was merged into it
-- (they stay with the row they came with), and whether it is mentioned in `artifact`.
create function knowledge_families(space integer, ids uuid[], artifact uuid, most_names integer, longest_chain integer)
returns table (root uuid, found uuid[], aliases text[], emails text[], organizations text[], roles text[], notes jsonb,
  is_in_artifact boolean)
language plpgsql rows 20 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query
    with recursive up as (
      select t.id as found_id, t.id as at, e.merged_into, 0 as depth from unnest(ids) as t (id)
        cross join lateral (select l.merged_into from entity l where l.entity_id = t.id and l.space_id + 0 = space limit 1) e
      union all
      select up.found_id, e.entity_id, e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.merged_into
        where up.depth < longest_chain),
    live as (select up.at as id, array_agg(up.found_id) as found_ids from up where up.merged_into is null group by up.at),
    family as (
      select live.id, live.id as member, 0 as depth from live
      union all
      select f.id, e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
        where f.depth < longest_chain),
    gathered as (
      select f.id,
        coalesce(array_agg(distinct lower(m.email)) filter (where m.email is not null), '{}') as emails,
        coalesce(array_agg(distinct m.organization) filter (where m.organization is not null), '{}') as organizations,
        coalesce(array_agg(distinct m.role) filter (where m.role is not null), '{}') as roles,
        jsonb_agg(m.context_clues) as notes
      from family f join entity m on m.entity_id = f.member group by f.id),
    named as (
      select f.id, (array_agg(distinct a.alias))[1:most_names] as aliases
      from family f join entity_alias a on a.entity_id = f.member group by f.id)
    select live.id, live.found_ids, coalesce(named.aliases, '{}'), gathered.emails, gathered.organizations,
      gathered.roles, gathered.notes,
      exists (select from entity_mention m where m.entity_id = live.id and m.artifact_uid = artifact)
    from live join gathered on gathered.id = live.id left join named on named.id = live.id;
end $$;

-- New entities, names with the keys they are looked for under, and what is added to entities that are there: what was
-- not known yet, a better name, further notes up to `most_notes`. `artifact` is where the names come from.
create function knowledge_put_entities(space integer, artifact uuid, written_at timestamptz, entities jsonb, names jsonb,
  additions jsonb, most_notes integer)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, role, organization, email,
    context_clues, first_artifact_uid, first_revision_id, needs_review, review_reason, created_at, updated_at)
  select t.id, space, t.type, t.name, t.normalized, t.role, t.organization, t.email, t.notes, t.artifact, t.revision,
    t.review is not null, t.review, written_at, written_at
  from jsonb_to_recordset(entities) as t (id uuid, type text, name text, normalized text, role text,
    organization text, email text, notes jsonb, artifact uuid, revision uuid, review text);
  if exists (
    select from jsonb_to_recordset(names) as t (id uuid)
      left join lateral (select true as is_own from entity e where e.entity_id = t.id and e.space_id + 0 = space limit 1) own
        on true
    where own.is_own is null)
  then raise foreign_key_violation using message = 'An entity that gets a name is gone, or is of another space.'; end if;
  insert into entity_alias (entity_id, space_id, alias, normalized_alias, first_artifact_uid)
  select t.id, space, t.alias, t.normalized, artifact
  from jsonb_to_recordset(names) as t (id uuid, alias text, normalized text)
  on conflict do nothing;
  insert into entity_key (space_id, key, entity_id, normalized_alias)
  select space, own.key, t.id, t.normalized
  from jsonb_to_recordset(names) as t (id uuid, normalized text, keys jsonb)
    cross join lateral jsonb_array_elements_text(t.keys) as own (key)
  on conflict do nothing;
  update entity e set
    role = coalesce(e.role, t.role), organization = coalesce(e.organization, t.organization),
    email = coalesce(e.email, t.email), canonical_name = coalesce(t.name, e.canonical_name),
    normalized_name = coalesce(t.normalized, e.normalized_name),
    context_clues = case when jsonb_array_length(e.context_clues) >= most_notes then e.context_clues
      else e.context_clues || coalesce((select jsonb_agg(note) from jsonb_array_elements(t.notes) note
        where not e.context_clues @> jsonb_build_array(note)), '[]') end,
    updated_at = written_at
  from jsonb_to_recordset(additions) as t (id uuid, name text, normalized text, role text, organization text,
    email text, notes jsonb)
  where e.entity_id = t.id and e.space_id + 0 = space;
end $$;

-- The same if nothing has changed since somebody looked: `revision` is the latest, there is no entity of a new one's name
-- that is not in `seen`, and those that something is added to are live. False: nothing was written, look again. One
-- writer of a space at a time.
create function knowledge_put_entities_as_seen(space integer, artifact uuid, written_at timestamptz, entities jsonb,
  names jsonb, additions jsonb, most_notes integer, revision uuid, seen uuid[], live uuid[], lock_name text)
returns boolean language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(lock_name, 0));
  perform from artifact_revision r where r.revision_id = revision and r.space_id + 0 = space and r.is_latest
    for share;
  if not found then return false; end if;
  if exists (
    select from jsonb_to_recordset(entities) as t (normalized text, is_unchecked boolean)
      cross join lateral (select from entity e where e.space_id = space and e.normalized_name = t.normalized
        and e.merged_into is null and e.entity_id <> all(seen) limit 1) hit
    where not t.is_unchecked)
  then return false; end if;
  if exists (
    select from unnest(live) as t (id)
      left join lateral (select e.entity_id from entity e where e.entity_id = t.id and e.space_id + 0 = space
        and e.merged_into is null limit 1) hit on true
    where hit.entity_id is null)
  then return false; end if;
  perform knowledge_put_entities(space, artifact, written_at, entities, names, additions, most_notes);
  return true;
end $$;

-- What was read in a chunk, or is known of a whole revision (`chunk` is null): mentions, events with evidence, actors
-- and subjects, who are all mentioned. Foreign keys, and an entity of another space, fail it as a whole.
create function knowledge_put_reading(space integer, artifact uuid, revision uuid, chunk bigint, read_by text,
  written_at timestamptz, is_superseded boolean, mentions jsonb, events jsonb)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  written integer;
begin
  insert into entity_mention (mention_id, space_id, entity_id, artifact_uid, revision_id, chunk_id, surface_form,
    start_char, end_char, method, confidence, relation)
  select t.id, space, t.entity, artifact, revision, chunk, t.surface, t.start_char, t.end_char, t.method, t.confidence,
    t.relation
  from jsonb_to_recordset(mentions) as t (id uuid, entity uuid, surface text, start_char integer, end_char integer,
      method text, confidence real, relation text)
    cross join lateral (select from entity e where e.entity_id = t.entity and e.space_id + 0 = space limit 1) own;
  get diagnostics written = row_count;
  if written <> jsonb_array_length(mentions)
  then raise foreign_key_violation using message = 'An entity that is mentioned is gone, or is of another space.'; end if;
  insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, event_time, narrative,
    subject, confidence, method, superseded_at, created_at)
  select t.id, space, artifact, revision, chunk, t.category, t.event_time, t.narrative, t.subject, t.confidence, read_by,
    case when is_superseded then written_at end, written_at
  from jsonb_to_recordset(events) as t (id uuid, category text, event_time timestamptz, narrative text, subject text,
    confidence real);
  insert into event_evidence (event_id, space_id, chunk_id, start_char, end_char, quote)
  select t.id, space, chunk, v.start_char, v.end_char, v.quote
  from jsonb_to_recordset(events) as t (id uuid, evidence jsonb)
    cross join lateral jsonb_to_recordset(t.evidence) as v (start_char integer, end_char integer, quote text)
  on conflict do nothing;
  insert into event_actor (event_id, entity_id, space_id, role)
  select t.id, a.entity, space, a.role
  from jsonb_to_recordset(events) as t (id uuid, actors jsonb)
    cross join lateral jsonb_to_recordset(t.actors) as a (entity uuid, role text)
  on conflict do nothing;
  insert into event_subject (event_id, entity_id, space_id)
  select t.id, t.about, space
  from jsonb_to_recordset(events) as t (id uuid, about uuid) where t.about is not null
  on conflict do nothing;
end $$;

-- The same where nothing was found before, of entities that are all live. False: nothing was written; something was
-- there, or the place or an entity is gone or was merged. What is found in a place is written by one at a time.
create function knowledge_put_first_reading(space integer, artifact uuid, revision uuid, chunk bigint, read_by text,
  written_at timestamptz, mentions jsonb, events jsonb, entities uuid[])
returns boolean language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  is_latest boolean;
  live integer;
begin
  if chunk is null then
    select r.is_latest into is_latest from artifact_revision r
      where r.revision_id = revision and r.space_id + 0 = space for update;
  else
    select r.is_latest into is_latest from chunk c join artifact_revision r using (revision_id)
      where c.chunk_id = chunk and c.space_id + 0 = space and c.revision_id = revision for update of c;
  end if;
  if not found then return false; end if;
  perform from unnest(entities) as t (id) cross join lateral (select from entity e where e.entity_id = t.id
    and e.space_id + 0 = space and e.merged_into is null for key share) held;
  get diagnostics live = row_count;
  if live <> cardinality(entities)
    or exists (select from semantic_event e where e.chunk_id = chunk)
    or exists (select from entity_mention m where m.chunk_id = chunk)
    or chunk is null and exists (select from entity_mention m where m.revision_id = revision and m.chunk_id is null)
  then return false; end if;
  perform knowledge_put_reading(space, artifact, revision, chunk, read_by, written_at, not is_latest, mentions, events);
  return true;
end $$;
