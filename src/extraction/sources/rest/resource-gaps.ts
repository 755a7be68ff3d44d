// The gaps in a resource's address, and what of its parent fills them.
import { gapsIn } from '../filled-path.ts';
import type { RestParent } from './rest-definition.ts';
import type { RawResource } from './rest-schema.ts';

/** In path and query, in the order in which they stand. */
export function gapsOf({ path, query }: RawResource): readonly string[] {
  return [...new Set([path, ...Object.values(query).map(String)].flatMap(gapsIn))];
}

export interface NamedParent {
  readonly resource: string;
  readonly children: string | undefined;
}

export function parentOf({ parent }: RawResource): NamedParent | undefined {
  if (parent === undefined) return undefined;
  return typeof parent === 'string'
    ? { resource: parent, children: undefined }
    : { resource: parent.resource, children: parent.children };
}

/** `parent.owner.id` is at owner.id of the parent's item; `child` is the child itself. */
const pathOf = (gap: string): readonly string[] => gap.split('.').slice(1);

/** Which gap is filled by what: the child's key first, then what of the parent is needed besides. */
export function resolveParent(resource: RawResource): RestParent | null {
  const parent = parentOf(resource);
  if (parent === undefined) return null;
  const gaps = gapsOf(resource);
  const own = parent.children === undefined ? gaps[0] : gaps.find(isChildGap);
  if (own === undefined) throw new TypeError(`The resource ${resource.name} has no gap for its parent.`);
  const other = gaps.find((gap) => gap !== own);
  return {
    resource: parent.resource,
    children: parent.children?.split('.') ?? null,
    key: { gap: own, path: pathOf(own) },
    parentKey: other === undefined ? null : { gap: other, path: pathOf(other) },
  };
}

const isChildGap = (gap: string): boolean => /^child(\.|$)/.test(gap);
const isParentGap = (gap: string): boolean => /^parent\../.test(gap);

/** What is wrong with the gaps of a resource, or nothing. */
export function gapProblem(resource: RawResource): string | undefined {
  const parent = parentOf(resource);
  const gaps = gapsOf(resource);
  const unknown = gaps.find((gap) => !isChildGap(gap) && !isParentGap(gap));
  if (parent === undefined)
    return gaps.length === 0 ? undefined : `{${gaps[0]}} needs a "parent" that says what to fill in`;
  if (unknown !== undefined)
    return `{${unknown}} is no gap; there are {parent.…} and, with children, {child} or {child.…}`;
  const childGaps = gaps.filter(isChildGap);
  if (parent.children === undefined) {
    if (childGaps.length > 0) return `{${childGaps[0]}} needs "children" in "parent"; or write {parent.…}`;
    if (gaps.length === 0) return 'has a parent, but no gap like {parent.id} in its path or query';
    return gaps.length > 2 ? 'has more than two different gaps' : undefined;
  }
  if (childGaps.length !== 1) return 'needs one gap like {child} or {child.name} for what "children" names';
  return gaps.length > 2 ? 'has more than one different {parent.…} gap' : undefined;
}
