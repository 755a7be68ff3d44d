// The dashboards of Acme Retail in the response shapes of Looker.
import type { ContentChange, WrittenItems } from '../../simulators/looker/types.ts';
import type { FolderName, PersonKey, Report, Tile } from './acme-company.ts';
import {
  dashboards,
  explores,
  folders,
  fullName,
  handover,
  looks,
  net,
  people,
  personKeys,
} from './acme-company.ts';

type Item = Readonly<Record<string, unknown>>;

const idOf = (index: number): string => String(index + 1);
const indexOfFolder = (name: FolderName): number => folders.findIndex(([each]) => each === name);

function folderFacts(index: number): Item {
  const [name = '', parent = null] = folders[index] ?? [];
  return {
    id: idOf(index),
    name,
    parent_id: parent === null ? null : idOf(parent),
    child_count: folders.filter(([, above]) => above === index).length,
    is_shared_root: parent === null,
  };
}

function ownerFacts(owner: PersonKey): Item {
  const { written, hasLeft } = people[owner];
  const id = idOf(personKeys.indexOf(owner));
  return { user_id: id, last_updater_id: id, user_name: written, is_owner_disabled: hasLeft === true };
}

function queryFacts([, explore, fields]: Tile): Item {
  const [model = '', view = ''] = explore.split('::');
  return {
    model,
    view,
    fields: fields.map((field) => `${view}.${field}`),
    filters: { [`${view}.created_date`]: '90 days' },
  };
}

/** One per day in October. */
const changedAt = (index: number): string =>
  `2026-10-${String(index + 1).padStart(2, '0')}T09:00:00.000+00:00`;

const reportFacts = ({ title, owner, folder, says, views }: Report, index: number): Item => ({
  title,
  description: says,
  view_count: views,
  folder: folderFacts(indexOfFolder(folder)),
  folder_id: idOf(indexOfFolder(folder)),
  ...ownerFacts(owner),
  created_at: '2025-03-03T09:00:00.000+00:00',
  updated_at: changedAt(index),
  last_accessed_at: changedAt(index),
  last_viewed_at: changedAt(index),
});

const dashboard = (made: Report, index: number): Item => ({
  ...reportFacts(made, index),
  dashboard_elements: made.tiles.map((tile, nth) => ({
    id: `${idOf(index)}0${nth}`,
    title: tile[0],
    type: 'vis',
    note_text: tile[3] ?? null,
    query: queryFacts(tile),
  })),
});

function look(made: Report, index: number): Item {
  const query = queryFacts(made.tiles[0] ?? net);
  return { ...reportFacts(made, index), model: { id: query['model'], label: query['model'] }, query };
}

function user(key: PersonKey): Item {
  const { first, last, email, hasLeft } = people[key];
  return {
    first_name: first,
    last_name: last,
    display_name: fullName(people[key]),
    email,
    credentials_email: { email, is_disabled: hasLeft === true, type: 'email' },
    is_disabled: hasLeft === true,
  };
}

/** The written items; the simulator generates the rest. */
export const acmeItems: WrittenItems = {
  dashboards: dashboards.map(dashboard),
  looks: looks.map(look),
  folders: folders.map((_, index) => folderFacts(index)),
  users: personKeys.map(user),
  groups: ['Finance', 'Sales Ops', 'SalesOps', 'Data Platform', 'Marketing', 'Stores BI'].map((name) => ({
    name,
  })),
  explores: explores.map((description) => ({ description })),
};

/** The dashboard that gets a new owner. */
export const handoverId = idOf(dashboards.findIndex(({ title }) => title === handover.title));

/** The change between the two extractions. Idempotent. */
export const handoverChange: ContentChange = {
  type: 'dashboards',
  write: {
    [handoverId]: { ...ownerFacts(handover.to), updated_at: handover.at },
  },
};

export const acmeCounts = {
  lookml_models: 4,
  lookml_dashboards: 3,
  boards: 3,
  roles: 4,
  permission_sets: 3,
  model_sets: 2,
  scheduled_plans: 8,
} as const;
