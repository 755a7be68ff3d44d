// Dashboards: users' own, and those that live in LookML.
import { mixed } from '../../chance.ts';
import {
  modelNames,
  personAt,
  regions,
  reportTitle,
  subjects,
  teams,
  viewNames,
  writtenName,
} from '../names.ts';
import { folderBase } from './folders.ts';
import type { ItemMaker, Json } from './item-context.ts';
import { can, createdAt, numberedId, numberedName, reference, updatedAt } from './item-context.ts';

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
