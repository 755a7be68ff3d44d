// Handlers of extraction: sources, runs and vaults.
import { runsApi, sourcesApi, vaultsApi } from '../../api/extraction.ts';
import type {
  ExtractionSource,
  ItemRecord,
  SourceChange,
  SourceInput,
  VersionRecord,
} from '../../extraction/index.ts';
import { inputOf } from '../../extraction/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function extractionRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { sources, runs, vaults } = dependencies.extraction;
  /** In wire names already: a source is shown as it was registered. */
  const view = (source: ExtractionSource) => ({
    ...inputOf(source),
    id: source.id,
    is_from_file: source.isFromFile,
    next_run_at: runs.nextRunAt(source)?.toISOString() ?? null,
    created_at: source.createdAt.toISOString(),
    modified_at: source.modifiedAt.toISOString(),
  });

  implement(server, sourcesApi, {
    list: async ({ reply }) => reply.send({ sources: (await sources.list()).map(view) }),
    create: async ({ request, reply }) => reply.send(view(await sources.add(request.body as SourceInput))),
    get: async ({ params, reply }) => reply.send(view(await sources.get(params.id))),
    update: async ({ params, request, reply }) =>
      reply.send(view(await sources.change(params.id, request.body as SourceChange))),
    delete: async ({ params }) => sources.remove(params.id),
  });

  implement(server, runsApi, {
    start: async ({ params, body }) => {
      const { fresh = false, retryFailed = false } = body ?? {};
      return runs.start(params.id, { fresh, retryFailed });
    },
    list: async ({ query: { source, state: states, limit, after: before } }) => {
      const { items, next } = await pageOf(limit, (max) => runs.list({ source, states, before, limit: max }));
      return { runs: items, next };
    },
    get: async ({ params }) => runs.get(params.id),
    stop: async ({ params }) => runs.stop(params.id),
    report: async ({ body }) => runs.report(body),
    getSamples: async ({ params }) => ({
      samples: dependencies.activity.run(params.id).map((sample) => ({ ...sample, at: new Date(sample.at) })),
    }),
  });

  implement(server, vaultsApi, {
    get: async ({ params }) => {
      const { types, deadLetters } = await vaults.summary(params.id);
      return {
        types,
        deadLetters: deadLetters.map(({ pageKey, at, ...letter }) => ({
          ...letter,
          page: pageKey,
          at: new Date(at),
        })),
      };
    },
    listItems: async ({ params, query: { limit, ...filter } }) => {
      const { items, next } = await pageOf(limit, (max) =>
        vaults.items(params.id, { ...filter, limit: max }),
      );
      return { items: items.map(itemView), next };
    },
    getItem: async ({ params, query }) => {
      const { item, versions } = await vaults.item(params.id, query.type, query.item);
      return { item: itemView(item), versions: versions.map(versionView) };
    },
    getData: async ({ params, query: { type, item, version = null } }) => ({
      json: await vaults.data(params.id, type, item, version),
    }),
  });
}

const dateOrNull = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

const itemView = ({ updatedAt, syncedAt, deletedAt, ...item }: ItemRecord) => ({
  ...item,
  updatedAt: dateOrNull(updatedAt),
  seenAt: new Date(syncedAt),
  deletedAt: dateOrNull(deletedAt),
});

const versionView = ({ number, session, firstSeenAt, hash }: VersionRecord) => ({
  number,
  session,
  firstSeenAt: new Date(firstSeenAt),
  isDeleted: hash === null,
});
