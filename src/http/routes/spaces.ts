// Handlers of knowledge spaces and folders.
import { foldersApi, spacesApi } from '../../api/spaces.ts';
import type { FolderResult, KnowledgeFolder } from '../../knowledge/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { ownerOf, spaceOf } from '../knowledge-space.ts';

export function spaceRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { spaces, folders } = dependencies.knowledge;
  implement(server, spacesApi, {
    list: async ({ query: { organization }, caller }) => {
      const isAll = caller?.kind === 'admin' && organization === undefined;
      const owner = isAll ? undefined : ownerOf(dependencies, caller, organization);
      return { spaces: await spaces.list(owner) };
    },
    create: async ({ query, body: { name, language, organization = query.organization }, caller }) =>
      spaces.create(ownerOf(dependencies, caller, organization), name, language),
    delete: async ({ params, query, caller }) => {
      await spaces.delete(await spaceOf(dependencies, caller, { ...query, ...params }));
      return null;
    },
  });

  implement(server, foldersApi, {
    list: async ({ query: { all, ...ref }, caller }) => {
      const spaceId = all ? undefined : (await spaceOf(dependencies, caller, ref)).spaceId;
      return { folders: (await folders.list(spaceId)).map(folderView) };
    },
    create: async ({ body: { path, cron = null, deleteMissing, ...ref }, caller, reply }) => {
      const space = await spaceOf(dependencies, caller, ref);
      const { outcome, ...folder } = await folders.create(space, {
        path,
        cron,
        removesMissing: deleteMissing,
      });
      reply.code(outcome === 'added' ? 201 : 200);
      return { ...folderView(folder), outcome };
    },
    scan: async ({ params, body, signal }) =>
      resultView(await folders.scan(params.id, { removesMissing: body.deleteMissing }, signal)),
    delete: async ({ params }) => {
      await folders.delete(params.id);
      return null;
    },
  });
}

const folderView = ({ folderId, spaceName, removesMissing, lastResult, ...folder }: KnowledgeFolder) => ({
  ...folder,
  id: folderId,
  space: spaceName,
  deleteMissing: removesMissing,
  lastResult: lastResult && resultView(lastResult),
});

const resultView = ({ removed, missing, ...result }: FolderResult) => ({
  ...result,
  deleted: removed,
  missing: missing.map(({ path, artifactUid }) => ({ path, artifactId: artifactUid })),
});
