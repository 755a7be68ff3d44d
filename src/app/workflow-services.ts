// What workflows use of the gateway and of knowledge. Only spaces of the organization itself are resolved.
import { searchApi } from '../api/knowledge.ts';
import { fromWire, toWire } from '../api/names.ts';
import type { TextRequest } from '../core/index.ts';
import { CoreError, zodErrorMessage } from '../core/index.ts';
import type { GatewayClient } from '../gateway/index.ts';
import type { ServerDeps } from '../http/index.ts';
import { searchRequest, searchView } from '../http/routes/knowledge.ts';
import type { Spaces } from '../knowledge/index.ts';
import { contradictionOf } from '../platform/documents/media-types.ts';
import type { DocumentIntake, KnowledgeSearch, SpaceCheck } from '../tenancy/index.ts';

const { body: searchBody, output } = searchApi.search;
const filterFields = searchBody.pick({ filters: true, graph_filters: true });

/** Search with the parameters and limits of the HTTP API. */
export function knowledgeSearchOf({
  spaces,
  search,
}: Pick<ServerDeps['knowledge'], 'spaces' | 'search'>): KnowledgeSearch {
  return {
    ...spaceCheckOf(spaces),
    filterProblems: (fields) =>
      (filterFields.safeParse(fields, { error: zodErrorMessage }).error?.issues ?? []).flatMap((issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
        return unknown.length > 0
          ? unknown.slice(0, maxUnknownFields).map((key) => ({
              field: [...issue.path, key.slice(0, maxFieldLength)].join('.'),
              message: 'is unknown',
            }))
          : [{ field: issue.path.join('.'), message: issue.message }];
      }),
    search: async ({ organizationId, space, query, parameters, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const request = fromWire(searchBody, searchBody.parse({ query, ...parameters }));
      const response = await search.search(owned, searchRequest(request as never), signal);
      return { answer: toWire(output, searchView(response)) as never, warning: response.warning };
    },
  };
}

/** Names of unknown fields are shown, and may be very long, and many. */
const maxFieldLength = 100;
const maxUnknownFields = 20;

/** Checks the spaces that deployments name. */
function spaceCheckOf(spaces: Pick<Spaces, 'resolve'>): SpaceCheck {
  return {
    spaceProblem: async (organizationId, space) => {
      try {
        await spaces.resolve(organizationId, space);
        return null;
      } catch (error) {
        const isUnknown = error instanceof CoreError && error.code === 'NOT_FOUND';
        if (!isUnknown) throw error;
        return `is not a space of this organization; create it first: headworks spaces create ${shown(space)} --organization ${organizationId}`;
      }
    },
  };
}

/** Shows only what could be a name. */
const shown = (space: string): string => (/^[\w.-]{1,100}$/.test(space) ? space : 'NAME');

export interface CompletionGateway {
  readonly client: Pick<GatewayClient, 'completeText' | 'unknownModels'>;
}

export function documentIntakeOf({
  spaces,
  artifacts,
}: Pick<ServerDeps['knowledge'], 'spaces' | 'artifacts'>): DocumentIntake {
  return {
    ...spaceCheckOf(spaces),
    problemOf: (file) => contradictionOf(file, false),
    ingest: async ({ organizationId, space, document, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const { outcome, artifactUid, revisionId, chunks } = await artifacts.ingest(
        owned,
        { content: document, sourceSystem: 'deployment' },
        signal,
      );
      // Extraction of new content has just begun; that of unchanged content is known.
      const status = outcome === 'unchanged' ? (await artifacts.get(owned, artifactUid)).status : null;
      return {
        outcome,
        artifactUid,
        revisionId,
        chunks,
        state: status?.state ?? 'queued',
        fallbackChunks: status?.modelFallbacks.reduce((sum, { positions }) => sum + positions.length, 0) ?? 0,
      };
    },
  };
}

/** Fails as the gateway does. */
export const languageModelOf = ({ client }: CompletionGateway) => ({
  unknownIn: async (model: string) => client.unknownModels(model),
  complete: (request: TextRequest) => client.completeText(request),
});
