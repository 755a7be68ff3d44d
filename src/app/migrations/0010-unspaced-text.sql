-- Knowledge: scripts that put no spaces between words (Chinese, Japanese, Thai, …; Korean puts few) are found by pairs of
-- neighbouring letters. Postgres takes a whole run of such letters for one word, which nobody ever types.
-- No SQL newer than Postgres 15. Never edit this file once it is released: add another.

-- Is there such a letter? Thai, Lao, Burmese, Khmer, kana, bopomofo, hangul, Han.
create function has_unspaced(given text) returns boolean language sql immutable parallel safe as $$
  select given ~ ('[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f'
    '\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff'
    '\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U000323af]')
$$;

-- What to_tsvector is to make words of: the text with each such run as its pairs of letters (東京都: 東京 京都), so that a
-- phrase still stands in its order. With singles: each Han letter once more at the end, since one alone may be a word.
-- Other text comes back as it is (0.03 ms for 5,000 letters). plpgsql: its plans are kept, in SQL each call cost 1 ms.
create function lexical_text(given text, with_singles boolean) returns text language plpgsql immutable parallel safe as $$
begin
  if not has_unspaced(given) then return given; end if;
  return (
    select string_agg(
        case when not is_run then letter
          when next_is_run then case when prev_is_run then '' else ' ' end || letter || next_letter || ' '
          when prev_is_run then ''
          else ' ' || letter || ' ' end, '' order by place)
      || case when not with_singles then '' else ' ' || coalesce(string_agg(distinct letter, ' ') filter (
        where letter ~ '[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]'), '') end
    from (
      select letter, place, is_run, lead(letter) over w as next_letter, lead(is_run, 1, false) over w as next_is_run,
        lag(is_run, 1, false) over w as prev_is_run
      from (
        select letter, place, has_unspaced(letter) as is_run
        from string_to_table(given, null) with ordinality as one (letter, place)) as one
      window w as (order by place)) as run);
end $$;

-- What is in the index already, again: as src/knowledge/postgres/postgres-postings.ts writes it.
create table unspaced_chunk as
  select c.chunk_id, c.space_id, s.language, c.text as body,
    case when c.heading is null then r.title else r.title || E'\n' || c.heading end as title
  from chunk c join artifact_revision r using (revision_id) join knowledge_space s on s.space_id = c.space_id
  where r.is_latest and (has_unspaced(c.text) or has_unspaced(r.title) or has_unspaced(coalesce(c.heading, '')));

delete from chunk_posting p using unspaced_chunk u where p.chunk_id = u.chunk_id;

with given as materialized (
  select chunk_id, space_id, to_tsvector(language::regconfig, left(lexical_text(left(body, 200000), true), 200000)) as body,
    to_tsvector(language::regconfig, left(lexical_text(left(title, 200000), false), 200000)) as title
  from unspaced_chunk),
word as materialized (
  select g.chunk_id, g.space_id, w.* from given g cross join lateral (
    select coalesce(b.lexeme, t.lexeme) as term,
      coalesce(cardinality(b.positions), 0) + coalesce(cardinality(t.positions), 0) as tf,
      coalesce(cardinality(t.positions), 0) as title_tf,
      case when t.positions is null then b.positions
        else (select array_agg(p - 20001) from unnest(t.positions) as p)::smallint[] || coalesce(b.positions, '{}')
        end as positions
    from unnest(g.body) as b full join unnest(g.title) as t on t.lexeme = b.lexeme) as w),
size as (
  select chunk_id, least(sum(tf), 32767) as len, least(count(*) filter (where title_tf > 0), 32767) as title_terms
  from word group by chunk_id)
insert into chunk_posting (space_id, term, chunk_id, tf, title_tf, len, title_terms, positions)
select space_id, term, chunk_id, tf, title_tf, len, title_terms, positions from word join size using (chunk_id);

update corpus_total t set chunk_count = n.chunks, total_len = n.len
from (
  select space_id, count(*) as chunks, sum(len) as len
  from (select distinct space_id, chunk_id, len from chunk_posting
    where space_id in (select space_id from unspaced_chunk)) as one
  group by space_id) as n
where t.space_id = n.space_id;

drop table unspaced_chunk;
