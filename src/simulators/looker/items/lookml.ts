// LookML models and their explores. Explores belong to the initial models in turn.
import { fieldNames, modelNames, viewNames } from '../names.ts';
import type { ItemContext, ItemMaker, Json, World } from './item-context.ts';
import { can, numberedName } from './item-context.ts';

export const modelName = (index: number): string => numberedName(modelNames, index);

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

export const lookmlModels: ItemMaker = {
  id: modelName,
  make: ({ index }) => ({
    can: can('update'),
    allowed_db_connection_names: ['warehouse'],
    has_content: true,
    name: modelName(index),
    project_name: modelName(index),
    unlimited_db_connections: false,
  }),
  text: { field: 'label', value: ({ index }) => label(modelName(index)) },
};

export const explores: ItemMaker = {
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
      can_total: true,
      can_develop: true,
      can_save: true,
      connection_name: 'warehouse',
      project_name: model,
      model_name: model,
      view_name: name,
      hidden: false,
      sql_table_name: `analytics.${name}`,
      fields: fieldset(context, name),
      joins: [],
      supported_measure_types: [],
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
    tags: [],
    sql: `\${TABLE}.${name}`,
  });
  return {
    dimensions: fieldNames.slice(0, 3).map((name) => field(name, false)),
    measures: fieldNames.slice(3).map((name) => field(name, true)),
    filters: [],
    parameters: [],
  };
}

const label = (name: string): string =>
  name.replaceAll('_', ' ').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
