// The vault against a model of it: any sessions, in any order of pages, with replays, crashes and failures.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParsedPage } from '../../src/extraction/types.ts';
import { canonicalJson, openVaultReader, verifyVault } from '../../src/extraction/vault/index.ts';
import { temporaryFolder } from '../support/services.ts';
import {
  dump,
  itemOf,
  noHeader,
  noTotals,
  offsetRequest,
  pageOf,
  specOf,
  vaultWorld,
  endWith,
} from '../support/vault-world.ts';
import type { VaultWorld } from '../support/vault-world.ts';

const pageSize = 3;

interface Observation {
  readonly id: string;
  readonly value: number;
  /** The same content in another order of keys. */
  readonly isTurned: boolean;
}

interface Step {
  readonly pages: readonly (readonly Observation[])[];
  /** In which order they are written: page `order[0] % pages.length` first, and so on. */
  readonly order: readonly number[];
  readonly failed: readonly number[];
  /** The write before which the process exits and starts again. */
  readonly crashAt: number;
  readonly replay: number;
}

const observation: fc.Arbitrary<Observation> = fc.record({
  id: fc.constantFrom('1', '2', '3', '4', '5', 'six', '7::x'),
  value: fc.integer({ min: 0, max: 2 }),
  isTurned: fc.boolean(),
});

const steps = fc.array(
  fc.record<Step>({
    pages: fc.array(fc.array(observation, { maxLength: pageSize }), { maxLength: 4 }),
    order: fc.array(fc.nat(100), { minLength: 4, maxLength: 4 }),
    failed: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.nat(3), { maxLength: 2 }) },
    ),
    crashAt: fc.nat(8),
    replay: fc.nat(8),
  }),
  { maxLength: 4 },
);

const jsonOf = ({ id, value, isTurned }: Observation): string =>
  isTurned ? `{ "value": ${value}, "id": "${id}" }` : JSON.stringify({ id, value });

const parsed = (step: Step): readonly ParsedPage[] =>
  step.pages.map((items, index) =>
    pageOf(
      offsetRequest(index * pageSize, pageSize),
      items.map((item) => itemOf(item.id, jsonOf(item), { name: String(item.value) })),
    ),
  );

function shuffled<T>(list: readonly T[], order: readonly number[]): readonly T[] {
  const left = [...list];
  return order.flatMap((pick) => (left.length === 0 ? [] : left.splice(pick % left.length, 1)));
}

/** Two items with the same id and different content. */
const hasContradiction = (page: Step['pages'][number]): boolean =>
  page.some(({ id, value }) => page.some((other) => other.id === id && other.value !== value));

/** The expected contents: id → canonical content of each version, null for a deletion. */
function runModel(all: readonly Step[]): Map<string, (string | null)[]> {
  const versions = new Map<string, (string | null)[]>();
  /** Items that were absent from the last complete session, and not seen since. */
  let absent = new Set<string>();
  for (const step of all) {
    const seen = new Map<string, { readonly rank: readonly [number, bigint]; readonly content: string }>();
    const pages = parsed(step).filter((_, index) => !step.failed.includes(index));
    for (const { request, items } of pages)
      items.forEach((item, place) => {
        const { position } = request;
        const start = position.kind === 'offset' ? position.offset : 0;
        const rank = [start + place, item.rawHash] as const;
        const other = seen.get(item.id);
        if (other && !(rank[0] > other.rank[0] || (rank[0] === other.rank[0] && rank[1] > other.rank[1])))
          return;
        seen.set(item.id, { rank, content: canonicalJson(JSON.parse(Buffer.from(item.raw).toString())) });
      });
    for (const [id, { content }] of seen) {
      const history = versions.get(id) ?? [];
      if (history.at(-1) !== content) versions.set(id, [...history, content]);
    }
    for (const id of seen.keys()) absent.delete(id);
    const isComplete = pages.length === step.pages.length && !step.pages.some(hasContradiction);
    if (!isComplete) continue;
    for (const [id, history] of versions) if (absent.has(id) && history.at(-1) !== null) history.push(null);
    absent = new Set([...versions.keys()].filter((id) => !seen.has(id)));
  }
  return versions;
}

/** `writers` connections write the pages under the write lock; with one, in order and without crashes. */
function runVault(world: VaultWorld, all: readonly Step[], writers: number): void {
  for (const step of all) {
    const isSequential = writers === 1;
    let session = world.vault.sessions.open(specOf({ fresh: true }));
    const pages = parsed(step).map((page, index) => ({ page, isFailed: step.failed.includes(index) }));
    const order = isSequential ? pages : shuffled(pages, step.order);
    let team = Array.from({ length: writers }, () => world.newWriter());
    let calls = 0;
    order.forEach(({ page, isFailed }, index) => {
      if (!isSequential && index === step.crashAt) {
        world.reopen();
        session = world.vault.sessions.open(specOf());
        expect(session.isResumed).toBe(true);
        calls = 0;
        team = Array.from({ length: writers }, () => world.newWriter());
      }
      if (isFailed) return world.vault.sessions.fail(session.id, page.request, 'http-500', 'It is broken.');
      calls++;
      const write = () => team[index % writers]?.write(session.id, page, noHeader);
      const first = write();
      if (isSequential || index !== step.replay) return;
      const repeated = { added: 0, changed: 0, unchanged: 0, repeated: page.items.length };
      expect(write()).toEqual({ ...first, written: repeated });
    });
    const state = world.vault.sessions.finishType(session.id, 'dashboards', endWith(null));
    const run = { ...noTotals, calls };
    world.vault.sessions.finish(session.id, state === 'completed' ? 'completed' : 'incomplete', run);
    world.reopen();
  }
}

function versionsIn(world: VaultWorld): Map<string, (string | null)[]> {
  const versions = new Map<string, (string | null)[]>();
  for (const { id, data } of world.rows('SELECT id, data FROM content_versions ORDER BY id, number')) {
    const content = typeof data === 'string' ? canonicalJson(JSON.parse(data)) : null;
    versions.set(String(id), [...(versions.get(String(id)) ?? []), content]);
  }
  return versions;
}

describe('a vault, after any sessions', () => {
  it('has the content of the model, and the same rows in whatever order pages were written', async () => {
    // One folder for all: shrinking a failure creates a hundred vaults.
    const folder = await temporaryFolder();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const fresh = () => vaultWorld(join(folder, `${(run += 1)}.vault`));
        const calm = await fresh();
        runVault(calm, all, 1);
        const expected = runModel(all);
        expect(sorted(versionsIn(calm))).toEqual(sorted(expected));
        const items = calm.rows('SELECT id, data, deleted_at IS NULL AS live FROM content_items ORDER BY id');
        expect(
          items.map(({ id, data, live }) => [id, canonicalJson(JSON.parse(String(data))), live === 1n]),
        ).toEqual(
          sorted(expected).map(([id, history]) => [
            id,
            history.findLast((content) => content !== null),
            history.at(-1) !== null,
          ]),
        );
        const wild = await fresh();
        runVault(wild, all, 8);
        expect(dump(wild)).toEqual(dump(calm));
        expect(damageIn(wild)).toEqual([]);
        const versions = 'SELECT id, session FROM content_versions GROUP BY id, session HAVING count(*) > 1';
        expect(wild.rows(versions)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

function damageIn({ path }: VaultWorld): readonly unknown[] {
  const reader = openVaultReader(path);
  const { problems } = verifyVault(reader);
  reader.close();
  return problems.filter(({ kind }) => kind === 'damaged');
}

const sorted = (versions: Map<string, (string | null)[]>) =>
  [...versions].sort(([one], [other]) => (one < other ? -1 : 1));
