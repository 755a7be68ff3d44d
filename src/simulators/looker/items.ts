// The generated items of each type, with the fields of Looker's API that matter to readers of its content.
import type { Chance } from '../chance.ts';
import { mixed } from '../chance.ts';
import type { ItemContext, ItemGenerator, Json, World } from './item-parts.ts';
import {
  can,
  createdAt,
  fieldNames,
  modelNames,
  numberedId,
  numberedName,
  numberedTeam,
  personAt,
  reference,
  regions,
  reportTitle,
  subjects,
  teams,
  updatedAt,
  viewNames,
  writtenName,
} from './item-parts.ts';
import type { SimulatedType } from './types.ts';

// Folders: a tree under Shared, four children each.

/** The folder of this index as others show it. */
function folderBase(index: number): Json {
  const parent = Math.floor((index - 1) / 4);
  return {
    name: folderName(index),
    parent_id: index === 0 ? null : numberedId(parent),
    id: numberedId(index),
    content_metadata_id: String(20_000 + index),
    creator_id: index === 0 ? null : numberedId(index % 12),
    child_count: 4,
    is_shared_root: index === 0,
  };
}

function folderName(index: number): string {
  if (index === 0) return 'Shared';
  const team = teams[(index - 1) % teams.length] ?? '';
  if (index <= teams.length) return team;
  const region = regions[index % regions.length] ?? '';
  return index % 5 === 0 ? `${team} (archive ${index})` : `${team} ${region} ${index}`;
}

const folders: ItemGenerator = {
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
    note_text: chance.hits(0.2) ? 'Numbers before March come from the old system.' : null,
    query_id: String(70_000 + index),
    query: queryOf({ id: String(70_000 + index), model, view, fields }),
  };
}

function queryOf(facts: {
  readonly id: string;
  readonly model: string;
  readonly view: string;
  readonly fields: readonly string[];
}): Json {
  return {
    can: can('explore', 'run'),
    ...facts,
    filters: { [`${facts.view}.created_date`]: '90 days' },
    sorts: [`${facts.fields[0] ?? 'id'} desc`],
    limit: '500',
    vis_config: { type: 'looker_line', show_view_names: false, y_axes: [{ label: '', orientation: 'left' }] },
    query_timezone: 'UTC',
  };
}

// Dashboards and looks. The list of looks has no query, a look requested alone has.

/** What dashboards and looks have in common. */
function report(context: ItemContext, firstMetadataId: number, maxFavorites: number, maxViews: number): Json {
  const { index, chance } = context;
  const owner = reference(context, 'users');
  const folder = reference(context, 'folders');
  const updated = updatedAt(context);
  return {
    id: numberedId(index),
    content_metadata_id: String(firstMetadataId + index),
    title: reportTitle(chance),
    folder: folderBase(folder),
    folder_id: numberedId(folder),
    user_id: numberedId(owner),
    user_name: writtenName(personAt(owner), chance),
    is_owner_disabled: false,
    created_at: createdAt(context),
    updated_at: updated,
    last_accessed_at: updated,
    last_viewed_at: updated,
    last_updater_id: numberedId(owner),
    favorite_count: chance.below(maxFavorites),
    view_count: chance.below(maxViews),
    deleted: false,
  };
}

const dashboards: ItemGenerator = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const id = numberedId(index);
    return {
      can: can('copy', 'destroy', 'download', 'move', 'update'),
      ...report(context, 10_000, 12, 4_000),
      slug: mixed(index, 7).toString(36).padStart(7, '0'),
      query_timezone: chance.pick(['America/Los_Angeles', 'Europe/Berlin', 'UTC']),
      refresh_interval: chance.hits(0.1) ? '1 hour' : null,
      dashboard_filters: [{ id: `${id}1`, dashboard_id: id, name: 'Period', type: 'date_filter' }],
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
 * The API's document declares a response with `dashboard_id`, `folder_id` and `lookml`, and describes dashboards that are
 * sorted by `id` and `title`: these items have all of them.
 */
const lookmlDashboards: ItemGenerator = {
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
      lookml: `- dashboard: ${name}\n  title: ${name}\n  layout: newspaper\n  # revision ${version}\n`,
      lookml_link_id: `/projects/${model}/files/${name}.dashboard.lookml`,
    };
  },
  text: { field: 'description', value: ({ chance }) => `Kept in git by ${chance.pick(teams)}.` },
};

const looks: ItemGenerator = {
  id: numberedId,
  make(context) {
    const { index } = context;
    return {
      can: can('copy', 'destroy', 'download', 'update'),
      ...report(context, 30_000, 5, 900),
      model: { id: modelOf(index), label: modelOf(index) },
      query_id: queryIdOf(index),
      short_url: `/looks/${index + 1}`,
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

const boards: ItemGenerator = {
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

const scheduledPlans: ItemGenerator = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const owner = reference(context, 'users');
    const { first, last, email } = personAt(owner);
    const id = numberedId(index);
    return {
      name: `${chance.pick(subjects)} every ${chance.pick(['Monday', 'morning', 'month'])}`,
      user_id: numberedId(owner),
      enabled: chance.hits(0.9),
      look_id: null,
      dashboard_id: numberedId(reference(context, 'dashboards')),
      crontab: `${chance.below(60)} 6 * * 1`,
      timezone: 'UTC',
      scheduled_plan_destination: [
        { id: `${id}1`, scheduled_plan_id: id, format: 'wysiwyg_pdf', address: email, type: 'email' },
      ],
      id,
      created_at: createdAt(context),
      updated_at: updatedAt(context),
      user: { id: numberedId(owner), first_name: first, last_name: last, display_name: `${first} ${last}` },
      can: can('run_now', 'update'),
    };
  },
  text: { field: 'filters_string', value: ({ index }) => `?Period=${30 + (index % 60)}+days` },
};

// LookML models and their explores. Explores belong to the initial models in turn.

const modelName = (index: number): string => numberedName(modelNames, index);

/** Unique within its model only: several models have an explore `orders`. */
const exploreName = (index: number, world: World): string =>
  numberedName(viewNames, Math.floor(index / world.lookml_models));

const modelOfExplore = (index: number, world: World): string => modelName(index % world.lookml_models);

/** Which explores a model has: every n-th, beginning with its own index. */
export function exploresOfModel(model: number, live: readonly number[], world: World): readonly Json[] {
  return live
    .filter((index) => index % world.lookml_models === model)
    .map((index) => {
      const name = exploreName(index, world);
      return { name, description: null, label: label(name), hidden: false, group_label: null };
    });
}

const lookmlModels: ItemGenerator = {
  id: modelName,
  make: ({ index }) => ({
    can: can('update'),
    has_content: true,
    name: modelName(index),
    project_name: modelName(index),
  }),
  text: { field: 'label', value: ({ index }) => label(modelName(index)) },
};

const explores: ItemGenerator = {
  id: (index, world) => `${modelOfExplore(index, world)}::${exploreName(index, world)}`,
  make(context) {
    const { index, world } = context;
    const model = modelOfExplore(index, world);
    const name = exploreName(index, world);
    return {
      id: `${model}::${name}`,
      name,
      label: label(name),
      title: label(name),
      scopes: [name],
      connection_name: 'warehouse',
      project_name: model,
      model_name: model,
      view_name: name,
      sql_table_name: `analytics.${name}`,
      fields: fieldset(context, name),
    };
  },
  text: { field: 'description', value: ({ index, world }) => `One row per ${exploreName(index, world)}.` },
};

function fieldset({ chance }: ItemContext, view: string): Json {
  const field = (name: string, isMeasure: boolean): Json => ({
    name: `${view}.${name}`,
    label: label(`${view} ${name}`),
    label_short: label(name),
    type: isMeasure ? 'number' : 'string',
    measure: isMeasure,
    hidden: chance.hits(0.1),
    view,
    view_label: label(view),
    sql: `\${TABLE}.${name}`,
  });
  return {
    dimensions: fieldNames.slice(0, 3).map((name) => field(name, false)),
    measures: fieldNames.slice(3).map((name) => field(name, true)),
  };
}

const label = (name: string): string =>
  name.replaceAll('_', ' ').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

// Users, groups, roles and permissions: none of them has an `updated_at`.

const permissions = [
  'access_data',
  'see_looks',
  'see_user_dashboards',
  'explore',
  'create_table_calculations',
];

const users: ItemGenerator = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const { first, last, email } = personAt(index);
    const id = numberedId(index);
    return {
      can: can('show_details'),
      avatar_url: `https://avatars.example/${id}.png`,
      credentials_email: { email, is_disabled: false, type: 'email', user_id: id },
      email,
      first_name: first,
      group_ids: [numberedId(reference(context, 'groups'))],
      id,
      is_disabled: chance.hits(0.08),
      last_name: last,
      personal_folder_id: null,
      role_ids: [numberedId(reference(context, 'roles'))],
      url: `/api/4.0/users/${id}`,
    };
  },
  text: {
    field: 'display_name',
    value: ({ index }) => `${personAt(index).first} ${personAt(index).last}`,
  },
};

const groups: ItemGenerator = {
  id: numberedId,
  make: ({ index, chance }) => ({
    can: can('add_to_content_metadata', 'update'),
    id: numberedId(index),
    name: numberedTeam(index),
    user_count: chance.below(80),
  }),
  text: { field: 'external_group_id', value: ({ index }) => `okta-${index + 1}` },
};

const roles: ItemGenerator = {
  id: numberedId,
  make(context) {
    const { index } = context;
    const permissionSet = reference(context, 'permission_sets');
    const modelSet = reference(context, 'model_sets');
    return {
      can: can('update'),
      id: numberedId(index),
      permission_set: { ...permissionSetFacts(permissionSet), name: permissionSetName(permissionSet) },
      permission_set_id: numberedId(permissionSet),
      model_set: { ...modelSetFacts(modelSet), name: modelSetName(modelSet) },
      model_set_id: numberedId(modelSet),
      url: `/api/4.0/roles/${index + 1}`,
    };
  },
  text: { field: 'name', value: ({ index }) => `${numberedTeam(index)} Analyst` },
};

const permissionSets: ItemGenerator = {
  id: numberedId,
  make: ({ index }) => permissionSetFacts(index),
  text: { field: 'name', value: ({ index }) => permissionSetName(index) },
};

const modelSets: ItemGenerator = {
  id: numberedId,
  make: ({ index }) => modelSetFacts(index),
  text: { field: 'name', value: ({ index }) => modelSetName(index) },
};

const permissionSetName = (index: number): string => `${numberedTeam(index)} permissions`;
const modelSetName = (index: number): string => `${numberedTeam(index)} models`;

function permissionSetFacts(index: number): Json {
  return {
    can: can('update'),
    all_access: false,
    built_in: index === 0,
    id: numberedId(index),
    permissions: permissions.slice(0, 2 + (index % 4)),
    url: `/api/4.0/permission_sets/${index + 1}`,
  };
}

function modelSetFacts(index: number): Json {
  return {
    can: can('update'),
    all_access: index === 0,
    built_in: index === 0,
    id: numberedId(index),
    models: modelNames.slice(0, 1 + (index % 3)),
    url: `/api/4.0/model_sets/${index + 1}`,
  };
}

export const itemGenerators: Readonly<Record<SimulatedType, ItemGenerator>> = {
  dashboards,
  lookml_dashboards: lookmlDashboards,
  looks,
  lookml_models: lookmlModels,
  explores,
  folders,
  boards,
  users,
  groups,
  roles,
  permission_sets: permissionSets,
  model_sets: modelSets,
  scheduled_plans: scheduledPlans,
};
