// Queries, and the tiles of dashboards that show them.
import type { Chance } from '../../chance.ts';
import { fieldNames, modelNames, regions, subjects, viewNames } from '../names.ts';
import type { Json } from './item-context.ts';
import { can } from './item-context.ts';

/** One of the tiles that dashboards share: a query with its picture. */
export function tile(index: number, chance: Chance): Json {
  const model = chance.pick(modelNames);
  const view = chance.pick(viewNames);
  const fields = [chance.pick(fieldNames), chance.pick(fieldNames)].map((field) => `${view}.${field}`);
  return {
    can: can('update'),
    id: String(50_000 + index),
    title: `${chance.pick(subjects)} by ${chance.pick(regions)}`,
    type: 'vis',
    body_text: null,
    note_text: chance.hits(0.2) ? 'Numbers before March come from the old system.' : null,
    query_id: String(70_000 + index),
    query: queryOf({ id: String(70_000 + index), model, view, fields }),
    refresh_interval: null,
    title_hidden: false,
    alert_count: 0,
  };
}

export function queryOf(facts: {
  readonly id: string;
  readonly model: string;
  readonly view: string;
  readonly fields: readonly string[];
}): Json {
  return {
    can: can('explore', 'run'),
    ...facts,
    pivots: null,
    filters: { [`${facts.view}.created_date`]: '90 days' },
    sorts: [`${facts.fields[0] ?? 'id'} desc`],
    limit: '500',
    vis_config: { type: 'looker_line', show_view_names: false, y_axes: [{ label: '', orientation: 'left' }] },
    query_timezone: 'UTC',
    has_table_calculations: false,
  };
}
