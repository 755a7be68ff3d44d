// headworks ingest --vault: items deleted at the source, and two vaults with one file name, with a server that stores artifacts.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { temporaryFolder } from '../../../test/support/services.ts';
import type { VaultWorld } from '../../../test/support/vault-world.ts';
import {
  itemOf,
  noHeader,
  noTotals,
  offsetRequest,
  pageOf,
  source,
  specOf,
  typeNamed,
  vaultWorld,
  endWith,
} from '../../../test/support/vault-world.ts';

interface Kept {
  readonly id: string;
  readonly source_system: string;
  readonly source_id: string;
  readonly title: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

let kept: Map<string, Kept>;
beforeEach(() => {
  kept = new Map();
});

/** Pages of two, so that there are some. */
const atOnce = 2;

function answer({
  method,
  path,
  body,
  query,
}: {
  method: string;
  path: string;
  body?: unknown;
  query?: object;
}) {
  if (method === 'POST') {
    const { source_system, source_id, title, metadata } = body as Kept;
    const key = `${source_system} ${source_id}`;
    const id = kept.get(key)?.id ?? `a${kept.size}`;
    kept.set(key, { id, source_system, source_id, title, metadata });
    return { outcome: 'added', id, revision_id: id, job_id: null, chunks: 1 };
  }
  const uid = path.split('/artifacts/')[1];
  const [key, found] = [...kept].find(([, { id }]) => id === uid) ?? [];
  if (method === 'DELETE') return void kept.delete(key ?? '');
  if (uid !== undefined) return found;
  const { source_system, after } = query as { source_system: string; after?: string };
  const own = [...kept.values()].filter((each) => each.source_system === source_system);
  const from = after === undefined ? 0 : own.findIndex(({ id }) => id === after) + 1;
  const page = own.slice(from, from + atOnce);
  const next = own.length > from + atOnce ? (page.at(-1)?.id ?? null) : null;
  return { artifacts: page, next };
}

async function ingest(vault: VaultWorld, ...options: string[]) {
  const world = new CliWorld({ cwd: '/', answer });
  expect(await world.start('ingest', '--vault', vault.path, ...options)).toBe(0);
  return world;
}

/** An extraction with these items of each type; `null`: none of the 99 that the source reports. */
function extract(
  vault: VaultWorld,
  seen: Readonly<Record<string, readonly string[] | null>>,
  of = source,
): void {
  const { sessions } = vault.vault;
  const types = Object.keys(seen).map((name) => typeNamed(name));
  const { id: session } = sessions.open(specOf({ fresh: true, types, source: of }));
  for (const [type, ids] of Object.entries(seen)) {
    const items = (ids ?? []).map((id) => itemOf(id, JSON.stringify({ title: id }), { name: `Title ${id}` }));
    if (items.length > 0) vault.writer.write(session, pageOf(offsetRequest(0, 100, type), items), noHeader);
    sessions.finishType(session, type, endWith(ids === null ? 99 : null));
  }
  sessions.finish(session, Object.values(seen).includes(null) ? 'incomplete' : 'completed', noTotals);
}

const sourceIds = () => [...kept.values()].map(({ source_id }) => source_id).sort();

describe('headworks ingest --vault', () => {
  it('lists documents whose items are gone at the source, and deletes them with --delete-missing', async () => {
    const vault = await vaultWorld();
    extract(vault, { dashboards: ['1', '2', '3'], looks: ['1'] });
    expect((await ingest(vault)).out).not.toContain('gone');
    extract(vault, { dashboards: ['1'], looks: ['1'] });
    expect((await ingest(vault)).out).not.toContain('gone');
    extract(vault, { dashboards: ['1'], looks: ['1'] });
    const printed = await ingest(vault);
    expect(printed.out).toContain(
      'dashboards/2 is gone at the source; its document is kept: headworks artifacts delete a1\n',
    );
    expect(printed.err).toContain('--delete-missing deletes them.');
    const json: unknown = JSON.parse((await ingest(vault, '--json')).out);
    expect(json).toMatchObject({
      missing: [{ source_id: 'dashboards/2', title: 'Title 2', id: 'a1' }, { source_id: 'dashboards/3' }],
      deleted: 0,
    });
    expect((await ingest(vault, '--delete-missing')).out).toContain('2 documents of missing items deleted.');
    expect(sourceIds()).toEqual(['dashboards/1', 'looks/1']);
  });

  it('treats items that a new vault never had as missing after two complete extractions (T2)', async () => {
    const first = await vaultWorld();
    extract(first, { dashboards: ['1', '2'] });
    await ingest(first);
    const second = await vaultWorld();
    extract(second, { dashboards: ['1'] });
    expect((await ingest(second, '--delete-missing')).out).not.toContain('deleted');
    extract(second, { dashboards: ['1'] });
    expect((await ingest(second, '--delete-missing')).out).toContain('1 document of missing items deleted.');
  });

  it('does not treat items of an incompletely read type as missing, and never deletes a whole type', async () => {
    const vault = await vaultWorld();
    extract(vault, { dashboards: ['1', '2'], looks: ['1'] });
    await ingest(vault);
    extract(vault, { dashboards: ['1'], looks: [] });
    extract(vault, { dashboards: null, looks: [] });
    const { out } = await ingest(vault, '--delete-missing');
    expect(out).toContain('The source returned no items of type looks');
    expect(out).not.toContain('dashboards/2 is gone');
    expect(sourceIds()).toEqual(['dashboards/1', 'dashboards/2', 'looks/1']);
  });

  it('keeps items of two vaults with the same file name apart', async () => {
    const first = await vaultWorld();
    const folder = join(await temporaryFolder(), 'other');
    await mkdir(folder);
    const other = 'looker https://other.example.com';
    const second = await vaultWorld(join(folder, 'acme.vault'), other);
    extract(first, { dashboards: ['1'] });
    extract(second, { dashboards: ['1'] }, other);
    // As it was ingested before sources were recorded.
    await ingest(first);
    for (const [key, each] of kept) kept.set(key, { ...each, metadata: {} });
    await ingest(first);
    expect(kept.size).toBe(1);
    for (const vault of [second, first, second]) await ingest(vault);
    expect([...kept.values()].map(({ source_system }) => source_system)).toEqual([
      'vault:acme',
      'vault:acme of looker https://other.example.com',
    ]);
  });

  it('rejects --delete-missing without a vault or a watched folder', async () => {
    const world = new CliWorld({ cwd: '/', answer });
    expect(await world.start('ingest', 'notes', '--delete-missing')).toBe(2);
    expect(world.err).toContain('--delete-missing needs --vault');
  });
});
