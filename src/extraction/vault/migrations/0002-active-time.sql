-- How long the runs of a session worked, all together: a session may lie interrupted for days.
ALTER TABLE extraction_sessions ADD COLUMN active_ms INTEGER NOT NULL DEFAULT 0;
-- Since when a run works on it; left behind by a run that was killed, and settled by the next.
ALTER TABLE extraction_sessions ADD COLUMN active_since INTEGER;
-- Until now the throughput was that of the last run; it is all there is to tell how long older sessions took.
UPDATE extraction_sessions SET active_ms = CAST(round(total_items * 1000 / throughput_items_per_second) AS INTEGER)
WHERE throughput_items_per_second > 0;
