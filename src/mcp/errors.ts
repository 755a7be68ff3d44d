// Error texts for models: what happened and what to do next. Never a stack trace or internals.
import type { ApiTransport } from '../api/client.ts';
import { callApi } from '../api/client.ts';
import { HeadworksError } from '../core/index.ts';

/** Added where the message of the API addresses a person at a terminal. */
const advice: Readonly<Record<string, string>> = {
  UNAUTHENTICATED:
    'You cannot fix this: tell the user that this connection needs a valid key (HEADWORKS_API_KEY for headworks mcp).',
  FORBIDDEN: 'You cannot fix this: tell the user that the key of this connection has no access to it.',
  SERVER_UNREACHABLE: 'Tell the user if it persists.',
};

const headerSentence = / Send [^.]* in the Authorization header[^.]*\./;

/**
 * The message without the sentence about the Authorization header: a model or a stdio client does not send it itself.
 */
export const withoutHeader = (message: string): string => message.replace(headerSentence, '');

export const unexpectedError =
  'An unexpected error occurred inside Headworks, not because of your input. Repeating the call is unlikely to help; tell ' +
  'the user, whose log has a line about it.';

/** Null for an unexpected error: then `unexpectedError` is the text. */
export function errorText(error: unknown): string | null {
  if (!(error instanceof HeadworksError)) return null;
  const { code, message, retryAfterMs } = error;
  return [
    withoutHeader(message),
    advice[code],
    retryAfterMs === undefined ? undefined : `Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`,
    `(${code})`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

const maxNames = 30;

/** The space that a tool works on. */
export interface SpaceRef {
  readonly space?: string;
  readonly organization?: string;
}

/** What a model can do about NOT_FOUND. */
export interface NotFoundAdvice {
  /** When the item is not in the space. */
  readonly whenNotFound?: string;
  /** When there is no such space. */
  readonly whenNoSpace?: string;
}

interface Lookup {
  readonly api: ApiTransport;
  readonly caller: 'admin' | 'organization';
  readonly signal: AbortSignal;
}

/**
 * Waits for `work`. A NOT_FOUND is rephrased for a model, with advice; when the space or the organization is unknown, with
 * the names that exist.
 */
export async function withSpaceHint<Result>(
  work: Promise<Result>,
  spaceRef: SpaceRef,
  lookup: Lookup,
  advice: NotFoundAdvice = {},
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const hasSpaceRef = spaceRef.space !== undefined || spaceRef.organization !== undefined;
    // If the names cannot be read, the message of the API has to do.
    const hint = hasSpaceRef ? await unknownSpace(spaceRef, lookup, advice).catch(() => null) : null;
    const message = hint ?? withAdvice(error.message, spaceRef, lookup, advice);
    throw new HeadworksError('NOT_FOUND', message, { cause: error });
  }
}

const isNotFound = (error: unknown): error is HeadworksError =>
  error instanceof HeadworksError && error.code === 'NOT_FOUND';

function withAdvice(
  message: string,
  { organization }: SpaceRef,
  { caller }: Lookup,
  { whenNotFound }: NotFoundAdvice,
): string {
  if (whenNotFound === undefined) return message;
  const isElsewhere = caller === 'admin' && organization === undefined;
  return `${message} ${whenNotFound}${isElsewhere ? ' Data of an organization is found only with "organization".' : ''}`;
}

/** Null: the space exists, something else was not found. */
async function unknownSpace(
  { space, organization }: SpaceRef,
  lookup: Lookup,
  { whenNoSpace }: NotFoundAdvice,
): Promise<string | null> {
  const { caller } = lookup;
  const spaces = await spacesOf(lookup, organization).catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  if (spaces === null) {
    const known = (await organizationsOf(lookup)).map(({ name }) => name);
    return `There is no organization ${JSON.stringify(organization)} here. Organizations here: ${listed(known)}.`;
  }
  if (space === undefined) return null;
  // The admin gets the spaces of everyone; without an organization those of the server are meant.
  const isServerOnly = caller === 'admin' && organization === undefined;
  const candidates = spaces.filter((each) => !isServerOnly || each.organization_id === null);
  if (candidates.some(isNamed(space))) return null;
  return [
    `There is no space ${JSON.stringify(space)} here. Spaces here: ${listed(candidates.map(({ name }) => name))}.`,
    ...(caller === 'admin' ? await ownersOf(space, lookup) : []),
    ...(whenNoSpace === undefined ? [] : [whenNoSpace]),
  ].join(' ');
}

const isNamed = (space: string) => (each: { readonly name: string }) =>
  each.name.toLowerCase() === space.toLowerCase();

/** Sentences that name the owner of a space, for admins. */
async function ownersOf(space: string, lookup: Lookup): Promise<readonly string[]> {
  const spaces = await spacesOf(lookup, undefined);
  const ids = new Set(spaces.filter(isNamed(space)).map((each) => each.organization_id));
  if (ids.size === 0) return [];
  const owners = (await organizationsOf(lookup)).filter(({ id }) => ids.has(id)).map(({ name }) => name);
  const whose = `${owners.length === 1 ? 'the organization' : 'organizations:'} ${listed(owners)}`;
  const is = `${JSON.stringify(space)} is a space of`;
  return [
    ...(owners.length === 0 ? [] : [`${is} ${whose}; give that as organization.`]),
    ...(ids.has(null) ? [`${is} the server itself; leave organization out.`] : []),
  ];
}

const spacesOf = async ({ api, signal }: Lookup, organization: string | undefined) =>
  (await callApi(api, 'GET /api/v1/knowledge/spaces', { query: { organization }, signal })).spaces;

/** Lists all organizations, which only the admin may. */
const organizationsOf = async ({ api, signal }: Lookup) =>
  (await callApi(api, 'GET /api/v1/organizations', { signal })).organizations;

function listed(names: readonly string[]): string {
  const rest = names.length - maxNames;
  return (names.slice(0, maxNames).join(', ') || 'none') + (rest > 0 ? ` and ${rest} more` : '');
}
