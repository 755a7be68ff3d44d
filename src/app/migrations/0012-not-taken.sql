-- Knowledge: what a chunk's reading listed and was not taken, by reason: [{"reason": …, "count": …}]. Null: nothing.
alter table chunk_step add column not_taken jsonb;
