// Artifacts and entities as resources: `headworks://artifacts/ID` and `headworks://entities/ID`.
import { z } from 'zod';
import { callApi } from '../api/client.ts';
import { id } from '../api/fields.ts';
import { CoreError } from '../core/index.ts';
import { bounded, windowOf } from './bounds.ts';
import type { CallerContext, CallerKind } from './derive.ts';
import { textIsData } from './derive.ts';
import type { SpaceRef } from './errors.ts';
import { withSpaceHint } from './errors.ts';

/** A resource that a client attaches should not fill the model's context. */
const maxTextLength = 100_000;
const pageSize = 50;

type ResourceKind = 'artifacts' | 'entities';

/** `headworks://artifacts/ID?space=bi`. */
export function resourceUri(kind: ResourceKind, itemId: string, { space, organization }: SpaceRef): string {
  const query = new URLSearchParams({ ...(space && { space }), ...(organization && { organization }) });
  return `headworks://${kind}/${itemId}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

export function resourceTemplates(caller: CallerKind) {
  const query = caller === 'admin' ? '{?space,organization}' : '{?space}';
  return [
    {
      uriTemplate: `headworks://artifacts/{artifact_id}${query}`,
      name: 'artifact',
      title: 'A document',
      description: `The text of a document. ${textIsData}`,
      mimeType: 'text/plain',
    },
    {
      uriTemplate: `headworks://entities/{entity_id}${query}`,
      name: 'entity',
      title: 'A person, project or thing',
      description: `Its names, role and number of mentions. ${textIsData}`,
      mimeType: 'application/json',
    },
  ];
}

/**
 * Documents of the caller's own spaces, newest first, one space after the other; a page is of one space. For the admin
 * these are the spaces of the server: those of organizations are available by the template. Entities are too many to list.
 */
export async function listResources(context: CallerContext, cursor: string | undefined) {
  const { api, caller, signal } = context;
  const { spaces } = await callApi(api, 'GET /api/v1/knowledge/spaces', { signal });
  const own = spaces.filter(({ organization_id: owner }) => caller !== 'admin' || owner === null);
  const names = own.map(({ name }) => name).sort();
  const { space = names[0], after } = cursor === undefined ? {} : positionIn(cursor);
  if (space === undefined) return { resources: [] };
  const query = { space, after, limit: pageSize };
  const call = callApi(api, 'GET /api/v1/knowledge/artifacts', { query, signal });
  const { artifacts, next } = await withSpaceHint(call, { space }, context);
  const following = names.find((name) => name > space);
  const position = next === null ? following && { space: following } : { space, after: next };
  return {
    resources: artifacts.map((each) => ({
      uri: resourceUri('artifacts', each.id, { space }),
      name: each.source_id,
      title: each.title,
      description: `${each.type} in the space ${space}, ingested at ${each.ingested_at}`,
      mimeType: 'text/plain',
    })),
    ...(position && { nextCursor: Buffer.from(JSON.stringify(position)).toString('base64url') }),
  };
}

const position = z.object({ space: z.string(), after: id.optional() });

function positionIn(cursor: string): z.infer<typeof position> {
  try {
    return position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch (error) {
    throw new CoreError('INPUT_INVALID', 'The cursor is invalid. Begin again without one.', { cause: error });
  }
}

/** Fails with INPUT_INVALID, NOT_FOUND, or an error of the API. */
export async function readResource(
  context: CallerContext,
  uri: string,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string }> {
  const { api, caller, signal } = context;
  const { kind, params, query } = parseUri(uri);
  if (caller === 'organization' && query.organization !== undefined)
    throw new CoreError(
      'INPUT_INVALID',
      'Leave "organization" out: this key can access its own organization only.',
    );
  const advice = { whenNotFound: 'Ids come from search and list_events.' };
  if (kind === 'entities') {
    const call = callApi(api, 'GET /api/v1/knowledge/entities/:id', { params, query, signal });
    const {
      mentions: _mentions,
      pairs: _pairs,
      merges: _merges,
      ...entity
    } = await withSpaceHint(call, query, context, advice);
    const { value, leftOut } = bounded(entity);
    return { uri, mimeType: 'application/json', text: JSON.stringify({ ...value, note: leftOut }) };
  }
  const call = callApi(api, 'GET /api/v1/knowledge/artifacts/:id', { params, query, signal });
  const { text } = await withSpaceHint(call, query, context, advice);
  const { text: part, next } = windowOf(text, 0, maxTextLength);
  const rest =
    next === null ? '' : `\n\n[${text.length - next} characters follow: get_artifact with offset ${next}]`;
  return { uri, mimeType: 'text/plain', text: part + rest };
}

function parseUri(uri: string): {
  readonly kind: ResourceKind;
  readonly params: { readonly id: string };
  readonly query: SpaceRef;
} {
  const url = URL.parse(uri);
  const itemId = id.safeParse(url?.pathname.slice(1));
  const { space, organization, ...others } = Object.fromEntries(url?.searchParams ?? []);
  const unknown = Object.keys(others).map((name) => JSON.stringify(name.slice(0, 100)));
  const kind = url?.protocol === 'headworks:' ? url.hostname : '';
  if ((kind !== 'artifacts' && kind !== 'entities') || !itemId.success)
    throw new CoreError(
      'INPUT_INVALID',
      'There is no such kind of resource. URIs look like headworks://artifacts/ID and headworks://entities/ID, with ' +
        '?space=NAME for another space than the default one; ids come from search.',
    );
  if (unknown.length > 0)
    throw new CoreError(
      'INPUT_INVALID',
      `Unknown in the address of a resource: ${unknown.join(', ')}. Leave it out; only space=NAME, and for the admin ` +
        'organization=NAME, are allowed.',
    );
  return { kind, params: { id: itemId.data }, query: { space, organization } };
}
