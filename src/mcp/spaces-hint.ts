// A model that named a space or an organization that is not there is told which are.
import { z } from 'zod';
import { HeadworksError } from '../core/index.ts';
import type { Place } from './fields.ts';
import { knowledgePath, maybe, text } from './fields.ts';
import type { McpParts } from './ports.ts';

const spacesAnswer = z.object({ spaces: z.array(z.object({ name: text, organization_id: maybe })) });
const organizationsAnswer = z.object({ organizations: z.array(z.object({ id: text, name: text })) });
const mostNames = 30;

interface Asking extends Pick<McpParts, 'api' | 'caller'> {
  readonly signal: AbortSignal;
}

/**
 * The work's answer. If it fails because the space or the organization was not found: in words for a model, who has no
 * terminal, with the names there are.
 */
export async function inPlace<Answer>(work: Promise<Answer>, place: Place, asking: Asking): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    const isPlaced = place.space !== undefined || place.organization !== undefined;
    // Where the names cannot be had, what is said already has to do.
    const words = isPlaced && isNotFound(error) ? await missing(place, asking).catch(() => null) : null;
    throw words === null ? error : new HeadworksError('NOT_FOUND', words, { cause: error });
  }
}

const isNotFound = (error: unknown): boolean => error instanceof HeadworksError && error.code === 'NOT_FOUND';

/** Null: it was something else that is not there. */
async function missing({ space, organization }: Place, asking: Asking): Promise<string | null> {
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
  const so = spaces.filter(({ name }) => name.toLowerCase() === space.toLowerCase());
  if (so.some((each) => here.includes(each))) return null;
  const names = listed(here.map(({ name }) => name));
  const words = `There is no space ${JSON.stringify(space)} here. Spaces here: ${names}.`;
  if (so.length === 0) return words;
  const ids = new Set(so.map((each) => each.organization_id));
  const owners = (await organizationsOf(asking)).filter(({ id }) => ids.has(id)).map(({ name }) => name);
  const whose = `${owners.length === 1 ? 'the organization' : 'organizations:'} ${listed(owners)}`;
  return `${words} ${JSON.stringify(space)} is a space of ${whose}; give organization.`;
}

/** For the admin only: nobody else is asked for one. */
async function organizationsOf({ api, signal }: Asking) {
  return organizationsAnswer.parse(await api.call('GET', '/api/v1/organizations', { signal })).organizations;
}

function listed(names: readonly string[]): string {
  const rest = names.length - mostNames;
  return (names.slice(0, mostNames).join(', ') || 'none') + (rest > 0 ? ` and ${rest} more` : '');
}
