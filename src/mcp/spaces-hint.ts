// A model that named a space or an organization that is not there is told which are.
import { z } from 'zod';
import { HeadworksError } from '../core/index.ts';
import type { Place } from './fields.ts';
import { knowledgePath, maybe, text } from './fields.ts';
import type { McpDeps } from './ports.ts';

const spacesAnswer = z.object({ spaces: z.array(z.object({ name: text, organization_id: maybe })) });
const organizationsAnswer = z.object({ organizations: z.array(z.object({ id: text, name: text })) });
const mostNames = 30;

interface Asking extends Pick<McpDeps, 'api' | 'caller'> {
  readonly signal: AbortSignal;
}

/** What a model can do. */
export interface Advice {
  /** When there is no such thing in the space. */
  readonly whenNotFound?: string;
  /** When there is no such space. */
  readonly whenNoSpace?: string;
}

/**
 * The work's answer. If it fails because something was not found: in words for a model, who has no terminal, with advice;
 * where that is the space or the organization, with the names there are.
 */
export async function inPlace<Answer>(
  work: Promise<Answer>,
  place: Place,
  asking: Asking,
  advice: Advice = {},
): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const isPlaced = place.space !== undefined || place.organization !== undefined;
    // Where the names cannot be had, what is said already has to do.
    const words = isPlaced ? await missing(place, asking, advice).catch(() => null) : null;
    const told = words ?? withAdvice(error.message, place, asking, advice);
    throw new HeadworksError('NOT_FOUND', told, { cause: error });
  }
}

const isNotFound = (error: unknown): error is HeadworksError =>
  error instanceof HeadworksError && error.code === 'NOT_FOUND';

function withAdvice(message: string, { organization }: Place, { caller }: Asking, { whenNotFound }: Advice) {
  if (whenNotFound === undefined) return message;
  const isElsewhere = caller === 'admin' && organization === undefined;
  return `${message} ${whenNotFound}${isElsewhere ? ' What is an organization’s is found with organization only.' : ''}`;
}

/** Null: it was something else that is not there. */
async function missing(
  { space, organization }: Place,
  asking: Asking,
  { whenNoSpace }: Advice,
): Promise<string | null> {
  const { api, caller, signal } = asking;
  const call = { query: { organization }, signal };
  const answer = await api.call('GET', `${knowledgePath}/spaces`, call).catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  if (answer === null) {
    const known = (await organizationsOf(asking)).map(({ name }) => name);
    return `There is no organization ${JSON.stringify(organization)} here. Organizations here: ${listed(known)}.`;
  }
  if (space === undefined) return null;
  const { spaces } = spacesAnswer.parse(answer);
  // The admin is told everybody's; without an organization the house's own are meant.
  const isOfAll = caller === 'admin' && organization === undefined;
  const here = spaces.filter((each) => !isOfAll || each.organization_id === null);
  if (here.some(isCalled(space))) return null;
  const names = listed(here.map(({ name }) => name));
  return [
    `There is no space ${JSON.stringify(space)} here. Spaces here: ${names}.`,
    ...(caller === 'admin' ? await elsewhere(space, asking) : []),
    ...(whenNoSpace === undefined ? [] : [whenNoSpace]),
  ].join(' ');
}

const isCalled = (space: string) => (each: { readonly name: string }) =>
  each.name.toLowerCase() === space.toLowerCase();

/** Whose it is, as sentences for the admin. */
async function elsewhere(space: string, asking: Asking): Promise<readonly string[]> {
  const { api, signal } = asking;
  const { spaces } = spacesAnswer.parse(await api.call('GET', `${knowledgePath}/spaces`, { signal }));
  const ids = new Set(spaces.filter(isCalled(space)).map((each) => each.organization_id));
  if (ids.size === 0) return [];
  const owners = (await organizationsOf(asking)).filter(({ id }) => ids.has(id)).map(({ name }) => name);
  const whose = `${owners.length === 1 ? 'the organization' : 'organizations:'} ${listed(owners)}`;
  const is = `${JSON.stringify(space)} is a space of`;
  return [
    ...(owners.length === 0 ? [] : [`${is} ${whose}; give that as organization.`]),
    ...(ids.has(null) ? [`${is} the server itself; leave organization out.`] : []),
  ];
}

/** For the admin only: nobody else is asked for one. */
async function organizationsOf({ api, signal }: Asking) {
  return organizationsAnswer.parse(await api.call('GET', '/api/v1/organizations', { signal })).organizations;
}

function listed(names: readonly string[]): string {
  const rest = names.length - mostNames;
  return (names.slice(0, mostNames).join(', ') || 'none') + (rest > 0 ? ` and ${rest} more` : '');
}
