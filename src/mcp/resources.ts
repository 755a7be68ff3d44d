// Artifacts and entities as resources: `headworks://artifacts/ID` and `headworks://entities/ID`.
import { z } from 'zod';
import { CoreError } from '../core/index.ts';
import { windowOf } from './bounds.ts';
import type { Place, ResourceKind } from './fields.ts';
import { id, knowledgePath, maybe, resourceUri, text, wordsAreData } from './fields.ts';
import type { CallerKind, McpDeps } from './ports.ts';
import { inPlace } from './spaces-hint.ts';
import { entityFields, shortEntity, tailNote } from './tools/entity.ts';

/** What a client attaches to a conversation should not fill it. */
const longestText = 100_000;
const pageSize = 50;

export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

export function resourceTemplates(caller: CallerKind) {
  const query = caller === 'admin' ? '{?space,organization}' : '{?space}';
  return [
    {
      uriTemplate: `headworks://artifacts/{artifact_id}${query}`,
      name: 'artifact',
      title: 'A document',
      description: `The text of a document. ${wordsAreData}`,
      mimeType: 'text/plain',
    },
    {
      uriTemplate: `headworks://entities/{entity_id}${query}`,
      name: 'entity',
      title: 'A person, project or thing',
      description: `Who it is, by what names, and how often it is mentioned. ${wordsAreData}`,
      mimeType: 'application/json',
    },
  ];
}

const spaces = z.object({ spaces: z.array(z.object({ name: text, organization_id: maybe })) });
const artifacts = z.object({
  artifacts: z.array(z.object({ id: text, title: text, type: text, source_id: text, ingested_at: text })),
  next: maybe,
});

/**
 * Documents of the caller's own spaces, newest first, one space after the other; a page is of one space. For the admin
 * these are the house's own: those of organizations are reached by the template. Entities are too many to list.
 */
export async function listResources(
  { api, caller }: Pick<McpDeps, 'api' | 'caller'>,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly resources: ListedResource[]; readonly nextCursor?: string }> {
  const known = spaces.parse(await api.call('GET', `${knowledgePath}/spaces`, { signal })).spaces;
  const own = known.filter(({ organization_id: owner }) => caller !== 'admin' || owner === null);
  const names = own.map(({ name }) => name).sort();
  const { space = names[0], after } = cursor === undefined ? {} : positionIn(cursor);
  if (space === undefined) return { resources: [] };
  const query = { space, after, limit: pageSize };
  const call = api.call('GET', `${knowledgePath}/artifacts`, { query, signal });
  const page = artifacts.parse(await inPlace(call, { space }, { api, caller, signal }));
  const following = names.find((name) => name > space);
  const nextCursor =
    page.next !== null
      ? cursorOf({ space, after: page.next })
      : following === undefined
        ? null
        : cursorOf({ space: following });
  return {
    resources: page.artifacts.map((each) => ({
      uri: resourceUri('artifacts', each.id, { space }),
      name: each.source_id,
      title: each.title,
      description: `${each.type} in the space ${space}, taken in at ${each.ingested_at}`,
      mimeType: 'text/plain',
    })),
    ...(nextCursor === null ? {} : { nextCursor }),
  };
}

const position = z.object({ space: text, after: id.optional() });

const cursorOf = (at: z.infer<typeof position>): string =>
  Buffer.from(JSON.stringify(at)).toString('base64url');

function positionIn(cursor: string): z.infer<typeof position> {
  try {
    return position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch (error) {
    throw new CoreError('INPUT_INVALID', 'This cursor is not one of ours. Begin again without one.', {
      cause: error,
    });
  }
}

const readArtifact = z.object({ title: text, text });
const readEntity = z.object(entityFields);

/** Fails with INPUT_INVALID, NOT_FOUND, or whatever the API says. */
export async function readResource(
  { api, caller }: Pick<McpDeps, 'api' | 'caller'>,
  uri: string,
  signal: AbortSignal,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string }> {
  const { kind, id: wanted, place } = parsed(uri);
  if (caller === 'organization' && place.organization !== undefined)
    throw new CoreError(
      'INPUT_INVALID',
      'Leave "organization" out: this key sees its own organization only.',
    );
  const call = api.call('GET', `${knowledgePath}/${kind}/${wanted}`, { query: { ...place }, signal });
  const whenNotFound = 'Ids come from search and list_events.';
  const answer = await inPlace(call, place, { api, caller, signal }, { whenNotFound });
  if (kind === 'entities') {
    const entity = readEntity.parse(answer);
    const told = { ...shortEntity(entity), note: tailNote(entity) };
    return { uri, mimeType: 'application/json', text: JSON.stringify(told) };
  }
  const { text: whole } = readArtifact.parse(answer);
  const { text: part, next } = windowOf(whole, 0, longestText);
  const rest =
    next === null ? '' : `\n\n[${whole.length - next} characters follow: get_artifact with offset ${next}]`;
  return { uri, mimeType: 'text/plain', text: part + rest };
}

function parsed(uri: string): { readonly kind: ResourceKind; readonly id: string; readonly place: Place } {
  const url = URL.parse(uri);
  const wanted = id.safeParse(url?.pathname.slice(1));
  const { space, organization, ...strange } = Object.fromEntries(url?.searchParams ?? []);
  const strangers = Object.keys(strange).map((name) => JSON.stringify(name.slice(0, 100)));
  const kind = url?.protocol === 'headworks:' ? url.hostname : '';
  if ((kind === 'artifacts' || kind === 'entities') && wanted.success) {
    if (strangers.length === 0) return { kind, id: wanted.data, place: { space, organization } };
    throw new CoreError(
      'INPUT_INVALID',
      `Not known in the address of a resource: ${strangers.join(', ')}. Leave it out; only ?space=NAME can be there, for ` +
        'another space than the default one, and for the admin organization=NAME.',
    );
  }
  throw new CoreError(
    'INPUT_INVALID',
    'There is no such kind of resource. Addresses look like headworks://artifacts/ID and headworks://entities/ID, with ' +
      '?space=NAME for another space than the default one; the ids come from search.',
  );
}
