// Handlers of artifacts.
import { artifactsApi, maxDocumentBodyBytes } from '../../api/artifacts.ts';
import { CoreError } from '../../core/index.ts';
import type { IngestRequest, Revision } from '../../knowledge/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { HandlerInput, TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';
import { spaceOf } from './knowledge.ts';

type ArtifactInput = HandlerInput<(typeof artifactsApi)['ingest']>['body'];

export function artifactRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { artifacts } = dependencies.knowledge;
  const bodyLimit = {
    bytes: maxDocumentBodyBytes(artifacts.maxDocumentBytes),
    setting: 'knowledge.maxDocumentBytes',
  };
  implement(
    server,
    artifactsApi,
    {
      ingest: async ({ query, body, caller, reply, signal }) => {
        const space = await spaceOf(dependencies, caller, { ...query, ...body });
        const { artifactUid: id, ...result } = await artifacts.ingest(space, ingestRequest(body), signal);
        if (result.outcome === 'unchanged') reply.code(200);
        return { ...result, id };
      },
      estimate: async ({ query, body, caller, signal }) => {
        const space = await spaceOf(dependencies, caller, { ...query, ...body });
        const { answerTokens, ...estimate } = await artifacts.estimate(space, ingestRequest(body), signal);
        return { ...estimate, completionTokens: answerTokens };
      },
      list: async ({ query: { limit, after: before, ...filter }, caller }) => {
        const { spaceId } = await spaceOf(dependencies, caller, filter);
        const { type, sourceSystem } = filter;
        const { items, next } = await pageOf(
          limit,
          (max) => artifacts.list({ spaceId, type, sourceSystem, before, limit: max }),
          ({ revisionId }) => revisionId,
        );
        return { artifacts: items.map(revisionView), next };
      },
      listStatuses: async ({ query: { ids, ...ref }, caller }) => {
        const space = await spaceOf(dependencies, caller, ref);
        const found = await Promise.all(ids.map((id) => artifacts.get(space, id).catch(nullIfDeleted)));
        return { statuses: found.filter((artifact) => artifact !== null).map(revisionView) };
      },
      get: async ({ params, query, caller }) =>
        revisionView(await artifacts.get(await spaceOf(dependencies, caller, query), params.id)),
      listRevisions: async ({ params, query, caller }) => {
        const space = await spaceOf(dependencies, caller, query);
        return { revisions: (await artifacts.revisions(space, params.id)).map(revisionView) };
      },
      delete: async ({ params, query, caller }) =>
        artifacts.delete(await spaceOf(dependencies, caller, query), params.id),
    },
    { ingest: { bodyLimit }, estimate: { bodyLimit } },
  );
}

const revisionView = <Found extends Revision>({ artifactUid, ...revision }: Found) => ({
  ...revision,
  id: artifactUid,
});

function ingestRequest({ text, file, sourceTs, mentions, ...input }: ArtifactInput): IngestRequest {
  if ((text === undefined) === (file === undefined))
    throw new CoreError('INPUT_INVALID', 'Nothing was ingested. Give either "text" or "file".');
  const { type, title, sourceSystem, sourceId, metadata } = input;
  return {
    content: file
      ? { name: file.name, mediaType: file.mediaType, bytes: Buffer.from(file.content, 'base64') }
      : { text: text ?? '' },
    type,
    title,
    sourceSystem,
    sourceId,
    metadata,
    sourceTs: sourceTs === undefined ? undefined : new Date(sourceTs),
    mentions: mentions?.map(({ name, type: entityType, relation, ...clues }) => ({
      surfaceForm: name,
      type: entityType,
      relation,
      contextClues: Object.fromEntries(Object.entries(clues).filter(([, value]) => value !== undefined)),
    })),
  };
}

/** Null for an artifact that was deleted since the list was read. */
function nullIfDeleted(error: unknown): null {
  if (error instanceof CoreError && error.code === 'NOT_FOUND') return null;
  throw error;
}
