// Vaults of older versions: migrated, resumed, or started again with the reason.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { estimateExtraction } from '../../src/app/extract.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { messageOf, systemClock, systemIds, type EmittedEvent } from '../../src/core/index.ts';
import type { ContentType } from '../../src/extraction/types.ts';
import { diffSessions, exportVault, openVaultReader, verifyVault } from '../../src/extraction/vault/index.ts';
import { openVault } from '../../src/extraction/vault/sessions.ts';
import { readResumable } from '../../src/extraction/vault/session-state.ts';
import { lockVault } from '../../src/extraction/vault/file.ts';
import type { LookerSimulator } from '../../src/simulators/looker/server.ts';
import { environmentFor, extractLooker, simulatedLooker, unthrottled } from '../support/extraction-runs.ts';
import { addMigration, makeOlderVault } from '../support/older-vault.ts';
import { temporaryFolder } from '../support/services.ts';
import { specOf, typeNamed, vaultWorld } from '../support/vault-world.ts';
import { withoutRights } from '../support/without-rights.ts';

/** A vault of version 1, in a program of version 2. */
async function olderVault(types?: readonly ContentType[]): Promise<string> {
  addMigration();
  const path = join(await temporaryFolder(), 'old.vault');
  makeOlderVault(path, types);
  return path;
}

function versionOf(path: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare('PRAGMA user_version').get()?.['user_version'];
  } finally {
    db.close();
  }
}

const failureOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('It did not fail.');
};

describe('a vault of version 0.1', () => {
  it('is rejected by readers and extractions with one sentence, and not changed', async () => {
    const path = join(await temporaryFolder(), 'first.vault');
    const db = new DatabaseSync(path);
    db.exec('PRAGMA application_id = 1213683284; CREATE TABLE item_heads (id TEXT)');
    db.close();
    const before = await readFile(path);
    const options = { source: 'any', clock: systemClock, ids: systemIds };
    for (const open of [
      () => openVaultReader(path),
      () => openVault(path, options),
      () => readResumable(path, specOf()),
    ])
      expect(failureOf(open)).toMatchObject({
        code: 'SQLITE_UNUSABLE',
        message: `${path}: it is a vault of Headworks 0.1.0, which this version cannot read. Extract into a new vault, or use version 0.1.0 for this one; it was not changed.`,
      });
    expect(before.equals(await readFile(path))).toBe(true);
  });
});

describe('a vault of an older version', () => {
  it('is migrated by its first reader', async () => {
    const path = await olderVault();
    const reader = openVaultReader(path);
    expect(reader.wasOlder).toBe(true);
    expect(reader.items('dashboards', { limit: 9 })).toMatchObject([{ id: '0' }, { id: '1' }]);
    expect(reader.sessions()).toMatchObject([{ id: 'old', state: 'interrupted' }]);
    expect([...diffSessions(reader, 0, 1)]).toHaveLength(2);
    const exported = await exportVault(reader, join(path, '..', 'out'), new AbortController().signal);
    expect(exported).toMatchObject({ written: 2 });
    expect(verifyVault(reader)).toMatchObject({ problems: [{ kind: 'incomplete' }], isSound: true });
    reader.close();
    const again = openVaultReader(path);
    expect(again.wasOlder).toBe(false);
    again.close();
  });

  it('is read by a dry run without being changed', async () => {
    const path = await olderVault();
    const before = await readFile(path);
    expect(readResumable(path, specOf())).toMatchObject({
      progress: [{ type: 'dashboards', itemsSeen: 2, done: [{ itemCount: 2 }] }],
      changedTypes: [],
    });
    expect(before.equals(await readFile(path))).toBe(true);
  });

  it('of another source is rejected and not changed', async () => {
    const path = await olderVault();
    const open = () => openVault(path, { source: 'another', clock: systemClock, ids: systemIds });
    expect(failureOf(open)).toMatchObject({ code: 'EXTRACTION_VAULT_OF_OTHER_SOURCE' });
    expect(versionOf(path)).toBe(1);
  });

  it('without tables, left by a process that was killed at once, is a new one', async () => {
    const path = join(await temporaryFolder(), 'new.vault');
    const db = new DatabaseSync(path);
    db.exec('PRAGMA page_size = 8192; PRAGMA application_id = 1213683250');
    db.close();
    expect(readResumable(path, specOf())).toEqual({ progress: [], changedTypes: [] });
    expect((await vaultWorld(path)).vault.wasOlder).toBe(false);
  });

  it('is not migrated while an extraction writes to it', async () => {
    const path = await olderVault();
    const lock = lockVault(path);
    expect(() => openVaultReader(path)).toThrow(
      expect.objectContaining({
        code: 'EXTRACTION_BUSY',
        message: expect.stringMatching(/older version .* an extraction writes to it\. Try again/),
      }),
    );
    expect(versionOf(path)).toBe(1);
    lock.close();
    openVaultReader(path).close();
  });

  it.each([
    ['in a folder that is read-only too', 0o555],
    ['in a writable folder', 0o777],
  ])('that is read-only, %s, is rejected with commands to read a copy', async (_, mode) => {
    const path = await olderVault();
    const folder = join(path, '..');
    const before = await readFile(path);
    await chmod(path, 0o444);
    await chmod(folder, mode);
    let error: unknown;
    withoutRights(() => {
      error = failureOf(() => openVaultReader(path));
    });
    await chmod(folder, 0o755);
    expect(error).toMatchObject({ code: 'SQLITE_UNUSABLE', message: expect.stringContaining('older') });
    expect(before.equals(await readFile(path))).toBe(true);
    const [, copying = ''] = /read a copy: (.*) && headworks vault list/.exec(messageOf(error)) ?? [];
    await mkdir(join(folder, 'copy'));
    execFileSync('sh', ['-c', copying.replaceAll('FOLDER', join(folder, 'copy'))]);
    const copy = join(folder, 'copy', 'old.vault');
    expect((await stat(copy)).mode & 0o200).toBe(0o200);
    const reader = openVaultReader(copy);
    expect(reader.items('dashboards', { limit: 9 })).toHaveLength(2);
    reader.close();
  });

  it('is not created from an empty file', async () => {
    const path = join(await temporaryFolder(), 'empty.vault');
    execFileSync('touch', [path]);
    expect(() => openVaultReader(path)).toThrow(/it is empty/);
    expect((await stat(path)).size).toBe(0);
  });
});

describe('a session of an older version', () => {
  const models = typeNamed('dashboards');
  const parent = { type: 'dashboards', keys: { name: ['name'] } };
  const explores = typeNamed('explores', { parent });
  const changed = typeNamed('explores', { parent: { ...parent, hasChildrenAt: ['has_content'] } });

  it('is resumed when its types are unchanged', async () => {
    const world = await vaultWorld(await olderVault([models, explores]));
    expect(world.vault.sessions.open(specOf({ types: [models, explores] }))).toMatchObject({
      id: 'old',
      isResumed: true,
      changedTypes: [],
      progress: [{ itemsSeen: 2, done: [{ itemCount: 2 }] }, { done: [] }],
    });
  });

  it.each([
    ['another definition', { types: [models, changed] }, ['explores']],
    ['another definition, when finished', { types: [models, changed], fresh: 'when-finished' }, ['explores']],
    ['another definition and --fresh', { types: [models, changed], fresh: true }, []],
    ['other types', { types: [models] }, []],
    ['another part', { types: [models, { ...changed, scope: 'folders 12' }] }, []],
  ] as const)('is not resumed with %s, and the changed types are named', async (_, types, changedTypes) => {
    const path = await olderVault([models, explores]);
    expect(readResumable(path, specOf(types))).toMatchObject({ progress: [], changedTypes });
    const world = await vaultWorld(path);
    expect(world.vault.sessions.open(specOf(types))).toMatchObject({ isResumed: false, changedTypes });
  });

  it('with types edited by hand is not resumed', async () => {
    const path = await olderVault();
    const db = new DatabaseSync(path);
    db.exec(`UPDATE extraction_sessions SET types = 'not JSON'`);
    db.close();
    const world = await vaultWorld(path);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isResumed: false, changedTypes: [] });
  });
});

describe('an extraction that starts again', () => {
  const named = (name: string, payload: object) => expect.objectContaining({ name, payload });

  async function dryRun(looker: LookerSimulator, flags: Readonly<Record<string, string>>) {
    const events: EmittedEvent[] = [];
    const config = resolveConfig({
      flags: { ...unthrottled, ...flags },
      env: environmentFor(looker),
      cwd: dirname(flags['vault'] ?? ''),
    });
    const onEvent = (event: EmittedEvent) => void events.push(event);
    const options = { signal: new AbortController().signal, env: {}, onEvent, onSecret: () => undefined };
    await estimateExtraction(config, { kind: 'looker' }, options);
    return events;
  }

  it('reports a changed definition, as does a dry run', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    const vault = join(folder, 'test.vault');
    const flags = { types: 'dashboards,lookml_models,explores', vault };
    await extractLooker(looker, folder, { ...flags, 'max-calls': '2' });
    const db = new DatabaseSync(vault);
    db.exec(`UPDATE extraction_sessions SET types = replace(types, '"hasChildrenAt":["has_content"],', '')`);
    db.close();
    const changedTypes = named('extraction:types-changed', { vault, types: ['explores'] });
    expect(await dryRun(looker, flags)).toContainEqual(changedTypes);
    const { events, result } = await extractLooker(looker, folder, { ...flags, 'retry-failed': 'true' });
    expect(events).toContainEqual(changedTypes);
    expect(events.map(({ name }) => name)).not.toContain('extraction:setting-ignored');
    expect(result).toMatchObject({ state: 'completed', isResumed: false });
  });

  it('reports that --retry-failed has nothing to retry', async () => {
    const looker = await simulatedLooker({ items: { users: 15, roles: 2 } });
    const folder = await temporaryFolder();
    const vault = join(folder, 'test.vault');
    const { events } = await extractLooker(looker, folder, { types: 'users,roles', 'max-calls': '1' });
    expect(events.map(({ name }) => name)).not.toContain('extraction:setting-ignored');
    const flags = { types: 'users', 'retry-failed': 'true', vault };
    const ignored = named('extraction:setting-ignored', {
      setting: '--retry-failed',
      reason: 'there is no unfinished extraction of exactly these types: everything is extracted',
    });
    expect(await dryRun(looker, flags)).toContainEqual(ignored);
    expect((await extractLooker(looker, folder, flags)).events).toContainEqual(ignored);
  });
});
