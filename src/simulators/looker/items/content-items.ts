// Folders: a tree under Shared, four children each.
import type { Chance } from '../../chance.ts';
import { mixed } from '../../chance.ts';
import {
  fieldNames,
  modelNames,
  numberedTeam,
  personAt,
  regions,
  reportTitle,
  subjects,
  teams,
  viewNames,
  writtenName,
} from '../names.ts';
import type { ItemMaker, Json } from './item-context.ts';
import { can, createdAt, numberedId, numberedName, reference, updatedAt } from './item-context.ts';

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

// Queries, and the tiles of dashboards that show them.

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

// Dashboards: users' own, and those that live in LookML.

export const dashboards: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const owner = reference(context, 'users');
    const folder = reference(context, 'folders');
    const id = numberedId(index);
    const updated = updatedAt(context);
    return {
      can: can('copy', 'destroy', 'download', 'move', 'update'),
      content_favorite_id: null,
      content_metadata_id: String(10_000 + index),
      hidden: false,
      id,
      query_timezone: chance.pick(['America/Los_Angeles', 'Europe/Berlin', 'UTC']),
      readonly: false,
      refresh_interval: chance.hits(0.1) ? '1 hour' : null,
      folder: folderBase(folder),
      title: reportTitle(chance),
      user_id: numberedId(owner),
      slug: mixed(index, 7).toString(36).padStart(7, '0'),
      preferred_viewer: 'dashboards-next',
      background_color: null,
      created_at: createdAt(context),
      crossfilter_enabled: chance.hits(0.3),
      dashboard_filters: [dateFilter(id)],
      dashboard_layouts: [],
      deleted: false,
      deleted_at: null,
      deleter_id: null,
      favorite_count: chance.below(12),
      last_accessed_at: updated,
      last_viewed_at: updated,
      updated_at: updated,
      last_updater_id: numberedId(owner),
      user_name: writtenName(personAt(owner), chance),
      load_configuration: 'cache_run',
      lookml_link_id: null,
      show_filters_bar: true,
      show_title: true,
      folder_id: numberedId(folder),
      view_count: chance.below(4_000),
      is_owner_disabled: false,
      url: `/dashboards/${id}`,
    };
  },
  text: {
    field: 'description',
    value: ({ chance }) =>
      `${chance.pick(subjects)} for ${chance.pick(teams)}, ${chance.pick(regions)}. Asked for by ${writtenName(personAt(chance.below(40)), chance)}.`,
  },
  hasTiles: true,
};

const lookmlName = (index: number): string =>
  `${numberedName(modelNames, index % modelNames.length)}::${numberedName(viewNames, index)}_overview`;

/**
 * The API's document declares an answer of `dashboard_id`, `folder_id` and `lookml`, and describes dashboards that are
 * sorted by `id` and `title`: these items have all of them.
 */
export const lookmlDashboards: ItemMaker = {
  id: lookmlName,
  make(context) {
    const { index, chance, version } = context;
    const id = lookmlName(index);
    const [model = '', name = ''] = id.split('::');
    return {
      can: can('copy'),
      id,
      dashboard_id: id,
      folder_id: 'lookml',
      title: reportTitle(chance),
      model: { id: model, label: model },
      readonly: true,
      hidden: false,
      lookml: `- dashboard: ${name}\n  title: ${name}\n  layout: newspaper\n  # revision ${version}\n`,
      lookml_link_id: `/projects/${model}/files/${name}.dashboard.lookml`,
    };
  },
  text: { field: 'description', value: ({ chance }) => `Kept in git by ${chance.pick(teams)}.` },
};

function dateFilter(dashboardId: string): Json {
  return {
    id: `${dashboardId}1`,
    dashboard_id: dashboardId,
    name: 'Period',
    title: 'Period',
    type: 'date_filter',
    default_value: '90 days',
    row: 0,
    listens_to_filters: [],
    allow_multiple_values: true,
    required: false,
    ui_config: { type: 'relative_timeframes', display: 'inline' },
  };
}

// Looks: the listing has no query, the look itself has.

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

// Boards and scheduled plans: what shows and sends dashboards and looks.

export const boards: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const id = numberedId(index);
    const section = {
      id: `${id}1`,
      board_id: id,
      title: chance.pick(subjects),
      created_at: createdAt(context),
      board_items: [{ id: `${id}11`, dashboard_id: numberedId(reference(context, 'dashboards')), order: 0 }],
    };
    return {
      can: can('update'),
      content_metadata_id: String(40_000 + index),
      created_at: createdAt(context),
      deleted_at: null,
      board_sections: [section],
      id,
      section_order: [section.id],
      title: `${numberedTeam(index)} start page`,
      updated_at: updatedAt(context),
      user_id: numberedId(reference(context, 'users')),
      primary_homepage: index === 0,
    };
  },
  text: { field: 'description', value: ({ chance }) => `Where ${chance.pick(subjects)} is looked at.` },
};

export const scheduledPlans: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const owner = reference(context, 'users');
    const { first, last, email } = personAt(owner);
    const id = numberedId(index);
    return {
      name: `${chance.pick(subjects)} every ${chance.pick(['Monday', 'morning', 'month'])}`,
      user_id: numberedId(owner),
      run_as_recipient: false,
      enabled: chance.hits(0.9),
      look_id: null,
      dashboard_id: numberedId(reference(context, 'dashboards')),
      require_results: false,
      send_all_results: false,
      crontab: `${chance.below(60)} 6 * * 1`,
      timezone: 'UTC',
      scheduled_plan_destination: [
        { id: `${id}1`, scheduled_plan_id: id, format: 'wysiwyg_pdf', address: email, type: 'email' },
      ],
      run_once: false,
      include_links: true,
      id,
      created_at: createdAt(context),
      updated_at: updatedAt(context),
      user: { id: numberedId(owner), first_name: first, last_name: last, display_name: `${first} ${last}` },
      can: can('run_now', 'update'),
    };
  },
  text: { field: 'filters_string', value: ({ index }) => `?Period=${30 + (index % 60)}+days` },
};
