// What a schema cannot say about resources: names, parents, gaps, and what does not go together.
import type { RawResource } from './rest-schema.ts';
import { gapProblem, parentOf } from './resource-gaps.ts';
import type { Problem, SourceFile } from './source-file.ts';

export const parentInId = '{parent}';

export function checkResources(
  resources: readonly RawResource[],
  { lineOf }: SourceFile,
): readonly Problem[] {
  return resources.flatMap((resource, index) =>
    [
      ...nameProblems(resource, index, resources),
      ...parentProblems(resource, resources),
      ...shapeProblems(resource),
    ].map(([key, text]) => ({
      line: lineOf(['resources', index], key),
      text: `resources.${index} (${resource.name}): ${text}`,
    })),
  );
}

type Found = readonly (readonly [key: string, text: string])[];

function nameProblems({ name }: RawResource, index: number, resources: readonly RawResource[]): Found {
  const isTaken = resources.findIndex((other) => other.name === name) < index;
  return isTaken ? [['name', 'another resource has this name']] : [];
}

function parentProblems(resource: RawResource, resources: readonly RawResource[]): Found {
  const gap = gapProblem(resource);
  const gaps: Found = gap === undefined ? [] : [['path', gap]];
  const parent = parentOf(resource)?.resource;
  if (parent === undefined) return gaps;
  if (!resources.some(({ name }) => name === parent))
    return [
      [
        'parent',
        `there is no resource "${parent}"; there are ${resources.map(({ name }) => name).join(', ')}`,
      ],
    ];
  return isInRing(resource, resources)
    ? [['parent', 'is its own parent, directly or through others'], ...gaps]
    : gaps;
}

function isInRing(resource: RawResource, resources: readonly RawResource[]): boolean {
  let at = parentOf(resource)?.resource;
  for (let steps = 0; at !== undefined && steps < resources.length; steps++) {
    if (at === resource.name) return true;
    const name: string = at;
    const next = resources.find((other) => other.name === name);
    at = next && parentOf(next)?.resource;
  }
  return false;
}

function shapeProblems(resource: RawResource): Found {
  const { pagination, single, items, id } = resource;
  const ids = [id].flat();
  const hasNoSize =
    (pagination.type === 'offset' && pagination.limit_param === null && pagination.page_size === undefined) ||
    (pagination.type === 'page' && pagination.size_param === null && pagination.page_size === undefined);
  return [
    ...(single && items !== undefined
      ? [['items', 'does not go with "single": then the whole body is the item'] as const]
      : []),
    ...(single && pagination.type !== 'none'
      ? [['pagination', 'does not go with "single": one item has no pages'] as const]
      : []),
    ...(hasNoSize
      ? [['pagination', 'says no parameter for the size of pages; then say "page_size"'] as const]
      : []),
    ...idProblems(ids, resource.parent !== undefined),
  ];
}

function idProblems(ids: readonly string[], hasParent: boolean): Found {
  if (!ids.includes(parentInId)) return [];
  if (!hasParent) return [['id', `${parentInId} needs a "parent"`]];
  return ids.length > 1 && ids.lastIndexOf(parentInId) === 0
    ? []
    : [['id', `${parentInId} stands first in a list of paths`]];
}
