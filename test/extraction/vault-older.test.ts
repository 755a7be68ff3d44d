// Vaults that an older version of the program made: read, gone on with, or begun anew with a word why.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { estimateExtraction } from '../../src/app/extract.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { messageOf, systemClock, systemIds, type EmittedEvent } from '../../src/core/index.ts';
import type { ContentType } from '../../src/extraction/types.ts';
import {
  diffSessions,
  exportVault,
  openVault,
  openVaultReader,
  readResumable,
  verifyVault,
} from '../../src/extraction/vault/index.ts';
import { lockVault } from '../../src/extraction/vault/file.ts';
import type { LookerSimulator } from '../../src/simulators/looker/index.ts';
import { environmentFor, extractLooker, simulatedLooker, unthrottled } from '../support/extraction-runs.ts';
import { makeOlderVault } from '../support/older-vault.ts';
import { temporaryFolder } from '../support/services.ts';
import { specOf, typeNamed, vaultWorld } from '../support/vault-world.ts';
import { withoutRights } from '../support/without-rights.ts';

async function olderVault(types?: readonly ContentType[]): Promise<string> {
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

describe('a vault of an older version', () => {
  it('is brought up to date by who reads it, once', async () => {
    const path = await olderVault();
    const reader = openVaultReader(path);
    expect(reader.wasOlder).toBe(true);
    expect(reader.items('dashboards', { limit: 9 })).toMatchObject([{ id: '0' }, { id: '1' }]);
    expect(reader.sessions()).toMatchObject([{ id: 'old', status: 'interrupted' }]);
    expect([...diffSessions(reader, 0, 1)]).toHaveLength(2);
    const exported = await exportVault(reader, join(path, '..', 'out'), new AbortController().signal);
    expect(exported).toMatchObject({ written: 2 });
    expect(verifyVault(reader)).toMatchObject({ problems: [{ kind: 'incomplete' }], isSound: true });
    reader.close();
    const again = openVaultReader(path);
    expect(again.wasOlder).toBe(false);
    again.close();
  });

  it('tells a dry run what it holds, and stays as it is', async () => {
    const path = await olderVault();
    const before = await readFile(path);
    expect(readResumable(path, specOf())).toMatchObject({
      progress: [{ type: 'dashboards', itemsSeen: 2, done: [{ itemCount: 2 }] }],
      redefined: [],
    });
    expect(before.equals(await readFile(path))).toBe(true);
  });

  it('of another source is refused as it is', async () => {
    const path = await olderVault();
    const open = () => openVault(path, { source: 'another', clock: systemClock, ids: systemIds });
    expect(failureOf(open)).toMatchObject({ code: 'EXTRACTION_VAULT_FOREIGN' });
    expect(versionOf(path)).toBe(1);
  });

  it('without a single table, left by a program that was killed at once, is a new one', async () => {
    const path = join(await temporaryFolder(), 'new.vault');
    const db = new DatabaseSync(path);
    db.exec('PRAGMA page_size = 8192; PRAGMA application_id = 1213683284');
    db.close();
    expect(readResumable(path, specOf())).toEqual({ progress: [], redefined: [] });
    expect((await vaultWorld(path)).vault.wasOlder).toBe(false);
  });

  it('that an extraction writes to is left alone until that is done', async () => {
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
    ['in a folder that anybody may write to', 0o777],
  ])('that is read-only, %s, is refused with commands that make a copy fit', async (_, mode) => {
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

  it('is not an empty file: that stays one', async () => {
    const path = join(await temporaryFolder(), 'empty.vault');
    execFileSync('touch', [path]);
    expect(() => openVaultReader(path)).toThrow(/it is empty/);
    expect((await stat(path)).size).toBe(0);
  });
});

describe('a session of an older version', () => {
  const models = typeNamed('dashboards');
  const parent = { from: 'dashboards', key: ['name'] };
  const explores = typeNamed('explores', { parent });
  const mended = typeNamed('explores', { parent: { ...parent, hasChildren: ['has_content'] } });

  it('goes on when its types are what they were', async () => {
    const world = await vaultWorld(await olderVault([models, explores]));
    expect(world.vault.sessions.open(specOf({ types: [models, explores] }))).toMatchObject({
      id: 'old',
      isResumed: true,
      redefined: [],
      progress: [{ itemsSeen: 2, done: [{ itemCount: 2 }] }, { done: [] }],
    });
  });

  it.each([
    ['another definition', { types: [models, mended] }, ['explores']],
    ['another definition, when over', { types: [models, mended], fresh: 'when-over' }, ['explores']],
    ['another definition, but a wish to begin', { types: [models, mended], fresh: true }, []],
    ['other types', { types: [models] }, []],
    ['another part', { types: [models, { ...mended, scope: 'folders 12' }] }, []],
  ] as const)('does not go on with %s, and says of what', async (_, asked, redefined) => {
    const path = await olderVault([models, explores]);
    expect(readResumable(path, specOf(asked))).toMatchObject({ progress: [], redefined });
    const world = await vaultWorld(path);
    expect(world.vault.sessions.open(specOf(asked))).toMatchObject({ isResumed: false, redefined });
  });

  it('that somebody changed by hand is begun anew', async () => {
    const path = await olderVault();
    const db = new DatabaseSync(path);
    db.exec(`UPDATE extraction_sessions SET types = 'not JSON'`);
    db.close();
    const world = await vaultWorld(path);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isResumed: false, redefined: [] });
  });
});

describe('an extraction that begins anew', () => {
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

  it('says that a definition has changed, and so does a dry run', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    const vault = join(folder, 'test.vault');
    const flags = { types: 'dashboards,lookml_models,explores', vault };
    await extractLooker(looker, folder, { ...flags, 'max-calls': '2' });
    const db = new DatabaseSync(vault);
    db.exec(`UPDATE extraction_sessions SET types = replace(types, '"hasChildren":["has_content"],', '')`);
    db.close();
    const redefined = named('extraction:types-redefined', { vault, types: ['explores'] });
    expect(await dryRun(looker, flags)).toContainEqual(redefined);
    const { events, result } = await extractLooker(looker, folder, { ...flags, 'retry-failed': 'true' });
    expect(events).toContainEqual(redefined);
    expect(events.map(({ name }) => name)).not.toContain('extraction:setting-ignored');
    expect(result).toMatchObject({ status: 'completed', isResumed: false });
  });

  it('says that --retry-failed finds nothing to ask for again', async () => {
    const looker = await simulatedLooker({ items: { users: 15, roles: 2 } });
    const folder = await temporaryFolder();
    const vault = join(folder, 'test.vault');
    const { events } = await extractLooker(looker, folder, { types: 'users,roles', 'max-calls': '1' });
    expect(events.map(({ name }) => name)).not.toContain('extraction:setting-ignored');
    const flags = { types: 'users', 'retry-failed': 'true', vault };
    const ignored = named('extraction:setting-ignored', {
      setting: '--retry-failed',
      reason: 'there is no unfinished extraction of just these types: everything is read',
    });
    expect(await dryRun(looker, flags)).toContainEqual(ignored);
    expect((await extractLooker(looker, folder, flags)).events).toContainEqual(ignored);
  });

  it('says that it brought the vault up to date, which a dry run does not', async () => {
    const looker = await simulatedLooker({ items: { dashboards: 3 } });
    const vault = join(await temporaryFolder(), 'test.vault');
    makeOlderVault(vault, [typeNamed('dashboards')], `looker ${looker.url}`);
    const flags = { types: 'dashboards', vault };
    const updated = named('extraction:vault-updated', { vault });
    expect(await dryRun(looker, flags)).not.toContainEqual(updated);
    expect(versionOf(vault)).toBe(1);
    const extractInto = async () => (await extractLooker(looker, dirname(vault), flags)).events;
    expect(await extractInto()).toContainEqual(updated);
    expect(await extractInto()).not.toContainEqual(updated);
  });
});
