-- Names that several entities share: which of them a mention without any other clue belongs to is decided again when the
-- second one appears, so that the order of documents does not matter.
alter table entity_mention
  add column by_name text;             -- its name, if nothing else is known about it; null: more is known, or it is older than this column
alter table entity
  -- unsettled: another entity of that name contradicts it, and mentions of both by the name only are to be separated
  add column namesakes text check (namesakes in ('unsettled', 'settled'));
create index entity_unsettled on entity (space_id) where namesakes = 'unsettled';
alter table entity_pair
  add column part text,                -- the given name or surname alone by which they match; null: otherwise, or older than this column
  add column is_crowded boolean not null default false;   -- too many share that part: not listed as open
create index entity_pair_part on entity_pair (space_id, part) where part is not null;

-- Inserts entities and names with their lookup keys, and completes existing entities: missing fields, a better name, further
-- notes up to `most_notes`. `artifact` is the source of the names. A row of `additions` with `namesakes` sets only that.
create or replace function knowledge_put_entities(space integer, artifact uuid, written_at timestamptz, entities jsonb, names jsonb,
  additions jsonb, most_notes integer)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  new_version bigint;
begin
  new_version := knowledge_touch_entities(space,
    array(select distinct t.id from jsonb_to_recordset(names || additions) as t (id uuid)));
  insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, role, organization, email,
    context_clues, first_artifact_uid, first_revision_id, needs_review, review_reason, namesakes, version, created_at,
    updated_at)
  select t.id, space, t.type, t.name, t.normalized, t.role, t.organization, t.email, t.notes, t.artifact, t.revision,
    t.review is not null, t.review, t.namesakes, new_version, written_at, written_at
  from jsonb_to_recordset(entities) as t (id uuid, type text, name text, normalized text, role text,
    organization text, email text, notes jsonb, artifact uuid, revision uuid, review text, namesakes text);
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
    email text, notes jsonb, namesakes text)
  where e.entity_id = t.id and e.space_id + 0 = space and t.namesakes is null;
  update entity e set namesakes = t.namesakes
  from jsonb_to_recordset(additions) as t (id uuid, namesakes text)
  where e.entity_id = t.id and e.space_id + 0 = space and t.namesakes is not null;
end $$;

-- Writes the reading of a chunk, or of a whole revision (`chunk` is null): mentions, and events with evidence, actors and
-- subjects, who are all mentioned. A missing row or an entity of another space fails the whole call.
create or replace function knowledge_put_reading(space integer, artifact uuid, revision uuid, chunk bigint, read_by text,
  written_at timestamptz, is_superseded boolean, mentions jsonb, events jsonb)
returns void language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  written integer;
begin
  insert into entity_mention (mention_id, space_id, entity_id, resolved_id, artifact_uid, revision_id, chunk_id, surface_form,
    start_char, end_char, method, confidence, relation, by_name)
  select t.id, space, t.entity, t.resolved, artifact, revision, chunk, t.surface, t.start_char, t.end_char, t.method, t.confidence,
    t.relation, t.by_name
  from jsonb_to_recordset(mentions) as t (id uuid, entity uuid, resolved uuid, surface text, start_char integer, end_char integer,
      method text, confidence real, relation text, by_name text)
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
  insert into event_actor (event_id, entity_id, resolved_id, space_id, role)
  select t.id, a.entity, a.resolved, space, a.role
  from jsonb_to_recordset(events) as t (id uuid, actors jsonb)
    cross join lateral jsonb_to_recordset(t.actors) as a (entity uuid, resolved uuid, role text)
  on conflict do nothing;
  insert into event_subject (event_id, entity_id, resolved_id, space_id)
  select t.id, a.entity, a.resolved, space
  from jsonb_to_recordset(events) as t (id uuid, about jsonb)
    cross join lateral jsonb_to_recordset(t.about) as a (entity uuid, resolved uuid)
  on conflict do nothing;
end $$;
