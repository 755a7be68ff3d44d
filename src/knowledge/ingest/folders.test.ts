// Folders: what is due is read, only what changed, and a file that fails costs itself.
import { describe, expect, it } from 'vitest';
import { CoreError, seededIds, seededRandom, silentLog, VirtualClock } from '../../core/index.ts';
import type { FolderResult, IngestWish, KnowledgeFolder } from '../desk-ports.ts';
import type { FolderStore } from './folder-ports.ts';
import { Folders } from './folders.ts';

const { signal } = new AbortController();
const space = {
  spaceId: 1,
  organizationId: null,
  name: 'default',
  language: 'english',
  createdAt: new Date(0),
};

function world() {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const rows: KnowledgeFolder[] = [];
  const files = new Map([['/notes/a.md', { size: 5, modifiedMs: 1, text: 'one' }]]);
  const taken: string[] = [];
  let fails: Error | null = null;
  const change = (id: string, part: Partial<KnowledgeFolder>): void => {
    const at = rows.findIndex(({ folderId }) => folderId === id);
    const row = rows[at];
    if (row) rows[at] = { ...row, ...part };
  };
  const store: FolderStore = {
    list: async () => [...rows],
    add: async (folder) => !rows.some(({ path }) => path === folder.path) && rows.push(folder) > 0,
    remove: async (_, id) => {
      const at = rows.findIndex(({ folderId }) => folderId === id);
      return at >= 0 && rows.splice(at, 1).length === 1;
    },
    claim: async ({ folderId }, at) => {
      change(folderId, { lastRunAt: at });
      return true;
    },
    note: async (folderId, lastResult) => change(folderId, { lastResult }),
  };
  const folders = new Folders({
    store,
    spaces: { byId: async () => space },
    artifacts: {
      maxDocumentBytes: 100,
      ingest: async (_: unknown, { content, sourceId }: IngestWish) => {
        if (fails) throw fails;
        taken.push(`${sourceId ?? ''}: ${'bytes' in content ? Buffer.from(content.bytes).toString() : ''}`);
        return { outcome: 'added', artifactUid: '', revisionId: '', jobId: null, chunks: 1 };
      },
    } as never,
    files: {
      resolve: async (path) => path,
      // oxlint-disable-next-line typescript/require-await -- the port streams; these are all here already
      list: async function* () {
        for (const [path, { size, modifiedMs }] of files) yield { path, size, modifiedMs };
      },
      read: async (path) => Buffer.from(files.get(path)?.text ?? ''),
    },
    clock,
    ids: seededIds(seededRandom(1), () => clock.now()),
    log: silentLog,
  });
  const result = (): FolderResult | null => rows[0]?.lastResult ?? null;
  const failWith = (error: Error | null): void => void (fails = error);
  return { clock, folders, files, taken, rows, result, failWith };
}

describe('a watched folder', () => {
  it('is read at every look, but each file only when its size or time changed', async () => {
    const { folders, files, taken, result } = world();
    await folders.add(space, '/notes', null);
    await folders.readDue(signal);
    await folders.readDue(signal);
    expect(taken).toEqual(['/notes/a.md: one']);
    expect(result()).toMatchObject({ added: 1, failed: 0 });
    files.set('/notes/a.md', { size: 5, modifiedMs: 2, text: 'two' });
    await folders.readDue(signal);
    expect(taken).toEqual(['/notes/a.md: one', '/notes/a.md: two']);
  });

  it('notes a file that fails and goes on with the others; it is tried again when it changes', async () => {
    const { folders, files, result, taken } = world();
    files.set('/notes/a.md', { size: 101, modifiedMs: 1, text: 'large' });
    files.set('/notes/b.md', { size: 1, modifiedMs: 1, text: 'b' });
    await folders.add(space, '/notes', null);
    await folders.readDue(signal);
    expect(result()).toMatchObject({
      added: 1,
      failed: 1,
      problems: [expect.stringMatching(/a\.md: It has 101/)],
    });
    await folders.readDue(signal);
    expect(taken).toHaveLength(1);
    expect(result()).toMatchObject({ failed: 1 });
  });

  it('is left alone while the state store is away, and read again later', async () => {
    const { folders, taken, failWith } = world();
    await folders.add(space, '/notes', null);
    failWith(new CoreError('STATE_UNAVAILABLE', 'away'));
    await expect(folders.readDue(signal)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    failWith(null);
    await folders.readDue(signal);
    expect(taken).toHaveLength(1);
  });
});

describe('a folder on a schedule', () => {
  it('is read when its time has come since it was read last', async () => {
    const { folders, taken, clock, files } = world();
    await folders.add(space, '/notes', '0 13 * * *');
    await folders.readDue(signal);
    expect(taken).toEqual([]);
    await clock.advance(3_600_000);
    await folders.readDue(signal);
    expect(taken).toHaveLength(1);
    files.set('/notes/a.md', { size: 5, modifiedMs: 2, text: 'two' });
    await folders.readDue(signal);
    expect(taken).toHaveLength(1);
    await clock.advance(86_400_000);
    await folders.readDue(signal);
    expect(taken).toHaveLength(2);
  });

  it('is refused with a schedule that is none, or twice', async () => {
    const { folders, rows } = world();
    await expect(folders.add(space, '/notes', 'often')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const { folderId } = await folders.add(space, '/notes', null);
    await expect(folders.add(space, '/notes', null)).rejects.toMatchObject({ code: 'CONFLICT' });
    await folders.remove(space, folderId);
    await expect(folders.remove(space, folderId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(rows).toEqual([]);
  });
});
