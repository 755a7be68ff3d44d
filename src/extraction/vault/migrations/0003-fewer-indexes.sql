-- Nothing looked items up by name or folder, and every item paid for it.
DROP INDEX live_items_by_name;
DROP INDEX live_items_by_folder;
-- By session alone: rows come in its order, so that it only ever grows at its end.
DROP INDEX content_versions_by_session;
CREATE INDEX content_versions_by_session ON content_versions (session);
