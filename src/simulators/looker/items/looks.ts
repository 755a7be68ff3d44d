// Looks: the listing has no query, the look itself has.
import {
  fieldNames,
  modelNames,
  personAt,
  regions,
  reportTitle,
  subjects,
  viewNames,
  writtenName,
} from '../names.ts';
import { folderBase } from './folders.ts';
import type { ItemMaker, Json } from './item-context.ts';
import { can, createdAt, numberedId, numberedName, reference, updatedAt } from './item-context.ts';
import { queryOf } from './queries.ts';

export const looks: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const owner = reference(context, 'users');
    const folder = reference(context, 'folders');
    const updated = updatedAt(context);
    return {
      can: can('copy', 'destroy', 'download', 'update'),
      content_metadata_id: String(30_000 + index),
      id: numberedId(index),
      title: reportTitle(chance),
      user_id: numberedId(owner),
      content_favorite_id: null,
      created_at: createdAt(context),
      deleted: false,
      deleted_at: null,
      favorite_count: chance.below(5),
      is_run_on_load: true,
      last_accessed_at: updated,
      last_updater_id: numberedId(owner),
      last_viewed_at: updated,
      model: { id: modelOf(index), label: modelOf(index) },
      public: false,
      query_id: queryIdOf(index),
      short_url: `/looks/${index + 1}`,
      folder: folderBase(folder),
      folder_id: numberedId(folder),
      updated_at: updated,
      user_name: writtenName(personAt(owner), chance),
      view_count: chance.below(900),
      is_owner_disabled: false,
    };
  },
  more: ({ index }) => ({ query: lookQuery(index), url: `/looks/${index + 1}` }),
  text: { field: 'description', value: ({ chance }) => `${chance.pick(subjects)}, ${chance.pick(regions)}.` },
};

const modelOf = (index: number): string => numberedName(modelNames, index % modelNames.length);
const queryIdOf = (index: number): string => String(80_000 + index);

function lookQuery(index: number): Json {
  const view = numberedName(viewNames, index % viewNames.length);
  const fields = fieldNames.slice(0, 3).map((field) => `${view}.${field}`);
  return queryOf({ id: queryIdOf(index), model: modelOf(index), view, fields });
}
