// A resource of a source file as a content type.
import type { ItemShape, JsonPath, ParentRule } from '../../types.ts';
import { placeholdersIn } from '../request-builder.ts';
import type { RestResource } from './schema.ts';
import type { TypeDescription } from './types.ts';

export function typeDescription(resource: RestResource): TypeDescription {
  const { name, path, query, pagination, total } = resource;
  const endpoint = {
    name: '',
    pagination: pagination.type === 'none' ? ('single' as const) : pagination.type,
    pageSize: pagination.type === 'none' ? undefined : pagination.page_size,
  };
  const totalHeader = total && 'header' in total ? total.header : null;
  return {
    type: {
      name,
      number: null,
      endpoints: [endpoint],
      shape: shapeOf(resource),
      parent: parentRule(resource),
    },
    endpoints: { '': { path, query, pagination, totalHeader } },
  };
}

/** In `id`: the parent's key is part of the id. */
export const parentInId = '{parent}';

function shapeOf({ id, single, items = [], fields, pagination, total }: RestResource): ItemShape {
  const { name, owner, folder, created_at: createdAt, updated_at: updatedAt } = fields;
  return {
    items: single ? { kind: 'single' } : { kind: 'list', path: items },
    id: id.filter((path) => path !== parentInId).map((path) => path.split('.')),
    isIdWithinParent: id.includes(parentInId) || undefined,
    name,
    owner,
    folder,
    createdAt,
    updatedAt,
    nextCursor: pagination.type === 'cursor' ? pagination.cursor_path : undefined,
    total: total && 'path' in total ? total.path : undefined,
  };
}

/** The placeholders in path and query, in their order. */
const placeholdersOf = ({ path, query }: RestResource): readonly string[] => [
  ...new Set([path, ...Object.values(query)].flatMap(placeholdersIn)),
];

const isChildPlaceholder = (name: string): boolean => /^child(\.|$)/.test(name);
const isParentPlaceholder = (name: string): boolean => /^parent\../.test(name);

/** `parent.owner.id` is at owner.id of the parent's item; `child` is the array element itself. */
const pathOf = (name: string): JsonPath => name.split('.').slice(1);

function parentRule(resource: RestResource): ParentRule | undefined {
  const { parent } = resource;
  if (parent === undefined) return undefined;
  const names = placeholdersOf(resource);
  const first = parent.children === undefined ? names[0] : names.find(isChildPlaceholder);
  if (first === undefined) throw new TypeError(`${resource.name} has no placeholder for its parent.`);
  const others = names.filter((name) => name !== first).map((name) => [name, pathOf(name)] as const);
  return {
    type: parent.resource,
    itemsAt: parent.children,
    keys: { [first]: pathOf(first) },
    parentKeys: others.length === 0 ? undefined : Object.fromEntries(others),
  };
}

/** What is wrong with the placeholders of a resource, or undefined. */
export function placeholderProblem(resource: RestResource): string | undefined {
  const { parent } = resource;
  const names = placeholdersOf(resource);
  if (parent === undefined)
    return names.length === 0 ? undefined : `{${names[0]}} needs a "parent" with its values`;
  const unknown = names.find((name) => !isChildPlaceholder(name) && !isParentPlaceholder(name));
  if (unknown !== undefined)
    return `{${unknown}} is not a placeholder; use {parent.…} or, with children, {child} or {child.…}`;
  const ofChild = names.filter(isChildPlaceholder);
  if (parent.children === undefined) {
    if (ofChild.length > 0) return `{${ofChild[0]}} needs "children" in "parent"; or write {parent.…}`;
    if (names.length === 0) return 'has a parent, but no placeholder like {parent.id} in its path or query';
    return names.length > 2 ? 'has more than two different placeholders' : undefined;
  }
  if (ofChild.length !== 1)
    return 'needs one placeholder like {child} or {child.name} for the elements of "children"';
  return names.length > 2 ? 'has more than one different {parent.…} placeholder' : undefined;
}
