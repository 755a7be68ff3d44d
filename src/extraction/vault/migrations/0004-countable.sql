-- How many rows of item_heads a type has: a row that somebody removed is missed.
ALTER TABLE content_types ADD COLUMN items INTEGER NOT NULL DEFAULT 0;
UPDATE content_types SET items = (SELECT count(*) FROM item_heads WHERE content_type = number);
-- Set where raw_hash is not that of the data (it came in another order of keys): its complement, to be verified by.
ALTER TABLE item_heads ADD COLUMN raw_check INTEGER;
UPDATE item_heads SET raw_check = ~raw_hash WHERE raw_hash <> hash;
-- How many pages are committed: those of the newest session of a type are all there.
ALTER TABLE checkpoints ADD COLUMN pages INTEGER NOT NULL DEFAULT 0;
UPDATE checkpoints SET pages = (SELECT count(*) FROM pages WHERE pages.session = checkpoints.session
  AND pages.content_type = checkpoints.content_type AND state = 'done');
