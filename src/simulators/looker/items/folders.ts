// Folders: a tree under Shared, four children each.
import { regions, teams } from '../names.ts';
import type { ItemMaker, Json } from './item-context.ts';
import { can, createdAt, numberedId } from './item-context.ts';

/** The folder of this index as others show it. */
export function folderBase(index: number): Json {
  const parent = Math.floor((index - 1) / 4);
  return {
    name: folderName(index),
    parent_id: index === 0 ? null : numberedId(parent),
    id: numberedId(index),
    content_metadata_id: String(20_000 + index),
    creator_id: index === 0 ? null : numberedId(index % 12),
    child_count: 4,
    is_embed: false,
    is_personal: false,
    is_personal_descendant: false,
    is_shared_root: index === 0,
    is_users_root: false,
  };
}

function folderName(index: number): string {
  if (index === 0) return 'Shared';
  const team = teams[(index - 1) % teams.length] ?? '';
  if (index <= teams.length) return team;
  const region = regions[index % regions.length] ?? '';
  return index % 5 === 0 ? `${team} (archive ${index})` : `${team} ${region} ${index}`;
}

export const folders: ItemMaker = {
  id: numberedId,
  make: (context) => ({
    can: can('create', 'update'),
    ...folderBase(context.index),
    created_at: createdAt(context),
  }),
  text: { field: 'external_id', value: ({ index }) => `folder-${index}` },
};
