// Connects workflows to the gateway and to knowledge.
import type { GatewayClient, TextRequest } from '../gateway/index.ts';
import type { ServerDeps } from '../http/index.ts';
import { contradictionOf } from '../platform/documents/media-types.ts';
import type { DocumentIntake } from '../tenancy/index.ts';
import { spaceCheckOf } from './knowledge-search.ts';

export interface CompletionGateway {
  readonly client: Pick<GatewayClient, 'completeText' | 'unknownModels'>;
}

/** Only spaces of the organization itself are resolved, whatever name is given. */
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
        state: status?.state ?? 'processing',
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
