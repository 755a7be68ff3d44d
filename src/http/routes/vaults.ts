// Looking into the vault of a run: types, pages that did not come, items, versions.
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams as params } from '../schemas/fields.ts';
import {
  vaultData,
  vaultDataQuery,
  vaultItem,
  vaultItemQuery,
  vaultItems,
  vaultItemsQuery,
  vaultSummary,
  viewOfDeadLetter,
  viewOfItem,
  viewOfType,
  viewOfVersion,
} from '../schemas/vaults.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['extraction'];
const config = { access: 'admin' } as const;

export function vaultRoutes(server: TypedServer, { extraction: { vaults } }: HttpDependencies): void {
  server.get(
    '/api/v1/extraction/runs/:id/vault',
    {
      config,
      schema: {
        operationId: 'extraction.vault.summary',
        tags,
        summary: 'What the vault of a run holds, and which pages did not come',
        params,
        response: { 200: vaultSummary, ...errorAnswers },
      },
    },
    async (request) => {
      const { types, deadLetters } = await vaults.summary(request.params.id);
      return { types: types.map(viewOfType), dead_letters: deadLetters.map(viewOfDeadLetter) };
    },
  );

  server.get(
    '/api/v1/extraction/runs/:id/vault/items',
    {
      config,
      schema: {
        operationId: 'extraction.vault.items',
        tags,
        summary: 'Items of one type',
        params,
        querystring: vaultItemsQuery,
        response: { 200: vaultItems, ...errorAnswers },
      },
    },
    async (request) => {
      const { type, after, limit } = request.query;
      // One more than asked for tells whether there is a next page.
      const found = await vaults.items(request.params.id, { type, after, limit: limit + 1 });
      const items = found.slice(0, limit).map(viewOfItem);
      return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null };
    },
  );

  server.get(
    '/api/v1/extraction/runs/:id/vault/item',
    {
      config,
      schema: {
        operationId: 'extraction.vault.item',
        tags,
        summary: 'One item and its versions',
        params,
        querystring: vaultItemQuery,
        response: { 200: vaultItem, ...errorAnswers },
      },
    },
    async (request) => {
      const { type, item: id } = request.query;
      const { item, versions } = await vaults.item(request.params.id, type, id);
      return { item: viewOfItem(item), versions: versions.map(viewOfVersion) };
    },
  );

  server.get(
    '/api/v1/extraction/runs/:id/vault/data',
    {
      config,
      schema: {
        operationId: 'extraction.vault.data',
        tags,
        summary: 'One item as it was in one version',
        params,
        querystring: vaultDataQuery,
        response: { 200: vaultData, ...errorAnswers },
      },
    },
    async (request) => {
      const { type, item, version = null } = request.query;
      return { json: await vaults.data(request.params.id, type, item, version) };
    },
  );
}
