// Handlers of the ledger.
import { ledgerApi } from '../../api/ledger.ts';
import { CoreError } from '../../core/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function ledgerRoutes(server: TypedServer, { ledger }: ServerDeps): void {
  implement(server, ledgerApi, {
    list: async ({ query: { limit, ...filter } }) => {
      const { items, next } = await pageOf(limit, (most) => ledger.list({ ...filter, limit: most }));
      return { entries: items, next };
    },
    listKinds: async () => {
      const repairs = new Map(ledger.repairs().map(({ kind, describe }) => [kind, describe]));
      const counts = new Map((await ledger.counts()).map((each) => [each.kind, each]));
      const kinds = [...new Set([...repairs.keys(), ...counts.keys()])].sort();
      return {
        kinds: kinds.map((kind) => ({
          kind,
          open: counts.get(kind)?.open ?? 0,
          repaired: counts.get(kind)?.repaired ?? 0,
          repair: repairs.get(kind) ?? null,
        })),
      };
    },
    get: async ({ params: { id } }) => {
      const entry = await ledger.get(id);
      if (!entry) throw new CoreError('NOT_FOUND', `There is no ledger entry ${id}.`);
      return entry;
    },
    repair: async ({ body }) => ({ jobId: await ledger.requestRepair(body ?? {}) }),
    resolve: async ({ params, body }) => ledger.resolve(params.id, body.how),
  });
}
