// Folders: due folders are scanned, only changed files are read, and a failing file affects no other.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { CoreError, seededIds, seededRandom, silentLog } from '../../core/index.ts';
import type { Degradation } from '../../ledger/index.ts';
import type { IngestRequest } from '../artifacts/types.ts';
import { KnowledgeError } from '../errors.ts';
import { folderRepair } from '../maintenance/repairs.ts';
import type { FolderResult, KnowledgeFolder, ClosedFolder, FolderStore } from './folder-store.ts';
import { Folders } from './folders.ts';

const { signal } = new AbortController();
const space = {
  spaceId: 1,
  organizationId: null,
  name: 'default',
  language: 'english',
  createdAt: new Date(0),
};

function openFolders() {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const rows: KnowledgeFolder[] = [];
  const files = new Map([['/notes/a.md', { size: 5, modifiedMs: 1, text: 'one' }]]);
  const taken: string[] = [];
  /** Documents that there are, by path. */
  const documents = new Map<string, string>();
  const recorded: Degradation[] = [];
  const closed: ClosedFolder[] = [];
  const recovered: string[] = [];
  /** Folders below that can be read. */
  const opened = new Set<string>();
  let unreadable: Error | null = null;
  let fails: Error | null = null;
  const change = (id: string, part: Partial<KnowledgeFolder>): void => {
    const at = rows.findIndex(({ folderId }) => folderId === id);
    const row = rows[at];
    if (row) rows[at] = { ...row, ...part };
  };
  const store: Pick<FolderStore, keyof FolderStore> = {
    list: async () => [...rows],
    get: async (id) => rows.find(({ folderId }) => folderId === id) ?? null,
    add: async (folder) => {
      const whole = {
        ...folder,
        spaceName: 'default',
        organizationId: null,
        lastRunAt: null,
        lastResult: null,
      };
      return !rows.some(({ path }) => path === folder.path) && rows.push(whole) > 0;
    },
    update: async (_, path, { schedule, deleteMissing }) => {
      const id = rows.find((row) => row.path === path)?.folderId ?? '';
      change(id, deleteMissing === undefined ? { schedule } : { schedule, deleteMissing });
      return rows.find((row) => row.path === path) ?? null;
    },
    ingested: async (_, below) =>
      [...documents].flatMap(([path, artifactUid]) =>
        path.startsWith(below) ? [{ path, artifactUid }] : [],
      ),
    delete: async (id) => {
      const at = rows.findIndex(({ folderId }) => folderId === id);
      return at >= 0 && rows.splice(at, 1).length === 1;
    },
    claim: async ({ folderId }, at) => {
      change(folderId, { lastRunAt: at });
      return true;
    },
    saveResult: async (folderId, lastResult) => change(folderId, { lastResult }),
  };
  const sources = new Set<string>();
  const folders = new Folders({
    store,
    spaces: { get: async () => space },
    artifacts: {
      maxDocumentBytes: 100,
      ingest: async (_: unknown, { content, sourceSystem, sourceId }: IngestRequest) => {
        sources.add(sourceSystem ?? '');
        if (fails) throw fails;
        const text = 'bytes' in content ? Buffer.from(content.bytes).toString() : '';
        if (text === 'bad') throw new KnowledgeError('KNOWLEDGE_DOCUMENT_UNREADABLE', 'It is damaged.');
        taken.push(`${sourceId ?? ''}: ${text}`);
        documents.set(sourceId ?? '', `uid of ${sourceId ?? ''}`);
        return { outcome: 'added', artifactUid: '', revisionId: '', jobId: null, chunks: 1 };
      },
      delete: async (_: unknown, uid: string) => {
        for (const [path, own] of documents) if (own === uid) documents.delete(path);
      },
    } as never,
    files: {
      resolve: async (path) => path,
      // oxlint-disable-next-line typescript/require-await -- the interface streams
      list: async function* (folder) {
        if (unreadable) throw unreadable;
        if (files.has(folder)) throw new Error('It is not a folder.');
        if (folder !== '/notes' && !opened.has(folder)) throw new Error('It may not be read.');
        for (const [path, { size, modifiedMs }] of files) yield { path, size, modifiedMs };
        yield* closed;
      },
      find: async (path) => {
        const file = files.get(path);
        return file ? { path, ...file } : null;
      },
      read: async (path) => Buffer.from(files.get(path)?.text ?? ''),
    },
    ledger: { record: async (row) => void recorded.push(row) },
    onRecovered: () => void recovered.push('recovered'),
    clock,
    ids: seededIds(seededRandom(1), () => clock.now()),
    log: silentLog,
  });
  const result = (): FolderResult | null => rows[0]?.lastResult ?? null;
  const failWith = (error: Error | null): void => void (fails = error);
  const closeWith = (error: Error | null): void => void (unreadable = error);
  const scanDue = () => folders.scanDue(signal);
  const put = (path: string, text: string, modifiedMs = 1): void =>
    void files.set(path, { size: 5, modifiedMs, text });
  const repair = async () => {
    const [row] = recorded;
    return row && folderRepair(folders).repair({ ...row, details: row.details ?? {} } as never, signal);
  };
  const state = { clock, files, sources, taken, documents, recorded, closed, opened, recovered, rows };
  return { ...state, folders, result, failWith, closeWith, scanDue, put, repair };
}

const watched = { path: '/notes', schedule: null };

describe('a watched folder', () => {
  it('is ingested under the stored source system `files`, by which missing files are found', async () => {
    const { folders, put, scanDue, sources } = openFolders();
    await folders.create(space, watched);
    put('/notes/new.md', 'new');
    await scanDue();
    expect([...sources]).toEqual(['files']);
  });

  it('is listed at every scan, and each file is read only when its size or time changed', async () => {
    const { folders, files, taken, result } = openFolders();
    await folders.create(space, watched);
    await folders.scanDue(signal);
    await folders.scanDue(signal);
    expect(taken).toEqual(['/notes/a.md: one']);
    expect(result()).toMatchObject({ added: 1, failed: 0 });
    files.set('/notes/a.md', { size: 5, modifiedMs: 2, text: 'two' });
    await folders.scanDue(signal);
    expect(taken).toEqual(['/notes/a.md: one', '/notes/a.md: two']);
  });

  it('records a file that fails and continues; retries it when it changes', async () => {
    const { folders, files, result, taken } = openFolders();
    files.set('/notes/a.md', { size: 101, modifiedMs: 1, text: 'large' });
    files.set('/notes/b.md', { size: 1, modifiedMs: 1, text: 'b' });
    await folders.create(space, watched);
    await folders.scanDue(signal);
    expect(result()).toMatchObject({
      added: 1,
      failed: 1,
      problems: [expect.stringMatching(/a\.md: It has 101/)],
    });
    await folders.scanDue(signal);
    expect(taken).toHaveLength(1);
    expect(result()).toMatchObject({ failed: 1 });
  });

  it('is not scanned while the state store is down, and scanned later', async () => {
    const { folders, taken, failWith } = openFolders();
    await folders.create(space, watched);
    failWith(new CoreError('STATE_UNAVAILABLE', 'away'));
    await expect(folders.scanDue(signal)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    failWith(null);
    await folders.scanDue(signal);
    expect(taken).toHaveLength(1);
  });
});

describe('a folder on a schedule', () => {
  it('is read when it has become due since the last scan', async () => {
    const { folders, taken, clock, files } = openFolders();
    await folders.create(space, { path: '/notes', schedule: '0 13 * * *' });
    await folders.scanDue(signal);
    expect(taken).toEqual([]);
    await clock.advance(3_600_000);
    await folders.scanDue(signal);
    expect(taken).toHaveLength(1);
    files.set('/notes/a.md', { size: 5, modifiedMs: 2, text: 'two' });
    await folders.scanDue(signal);
    expect(taken).toHaveLength(1);
    await clock.advance(86_400_000);
    await folders.scanDue(signal);
    expect(taken).toHaveLength(2);
  });

  it('is rejected with an invalid schedule, and gets a new schedule when it is added again', async () => {
    const { folders, rows } = openFolders();
    await expect(folders.create(space, { path: '/notes', schedule: 'often' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    const first = await folders.create(space, { path: '/notes', schedule: '0 3 * * *', deleteMissing: true });
    expect(first).toMatchObject({ outcome: 'created', schedule: '0 3 * * *', deleteMissing: true });
    expect(await folders.create(space, watched)).toMatchObject({
      outcome: 'updated',
      folderId: first.folderId,
      schedule: null,
      deleteMissing: true,
    });
    await folders.delete(first.folderId);
    await expect(folders.delete(first.folderId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(folders.scan('unknown', { deleteMissing: false }, signal)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(rows).toEqual([]);
  });
});

describe('a file that is rejected', () => {
  it('is in the ledger once, however often it is scanned, and retried by the repair', async () => {
    const { folders, scanDue, put, recorded, result, rows } = openFolders();
    put('/notes/b.md', 'bad');
    await folders.create(space, watched);
    await scanDue();
    await scanDue();
    const folderId = rows[0]?.folderId ?? '';
    expect(recorded).toMatchObject([
      {
        kind: 'knowledge.file-not-ingested',
        subject: `${folderId}:/notes/b.md`,
        cause: 'KNOWLEDGE_DOCUMENT_UNREADABLE',
        details: { folder_id: folderId, path: '/notes/b.md' },
      },
    ]);
    put('/notes/c.md', 'fine');
    await scanDue();
    expect(result()).toMatchObject({ added: 1, failed: 1, problems: ['/notes/b.md: It is damaged.'] });
    await folders.scan(folderId, { deleteMissing: false }, signal);
    expect(new Set(recorded.map(({ subject }) => subject)).size).toBe(1);
    expect(recorded).toHaveLength(2);
  });

  it.each([
    ['it was changed', 'repaired', (at: ReturnType<typeof openFolders>) => at.put('/notes/b.md', 'good', 2)],
    ['it was deleted', 'gone', (at: ReturnType<typeof openFolders>) => void at.files.delete('/notes/b.md')],
  ])('has its row closed when %s', async (_, outcome, change) => {
    const at = openFolders();
    at.put('/notes/b.md', 'bad');
    await at.folders.create(space, watched);
    await at.scanDue();
    expect(await at.repair()).toMatchObject({ outcome: 'still-broken', reason: 'It is damaged.' });
    expect(at.recovered).toEqual([]);
    change(at);
    await at.scanDue();
    expect(at.recovered).toEqual(['recovered']);
    expect(await at.repair()).toEqual({ outcome });
    expect(at.result()).toMatchObject({ failed: 0, problems: [] });
    await at.scanDue();
    expect(at.recovered).toEqual(['recovered']);
  });

  it('is not treated as deleted while its folder cannot be read; once the folder is gone, its row is closed', async () => {
    const at = openFolders();
    await at.folders.create(space, watched);
    at.closeWith(new Error('no such mount'));
    await at.scanDue();
    await at.scanDue();
    expect(at.recorded).toMatchObject([{ subject: `${at.rows[0]?.folderId}:/notes`, cause: 'Error' }]);
    expect(at.result()).toMatchObject({ failed: 1, problems: ['The folder cannot be read: no such mount'] });
    expect(await at.repair()).toMatchObject({ outcome: 'still-broken' });
    at.closeWith(null);
    await at.scanDue();
    expect(at.recovered).toEqual(['recovered']);
    expect(await at.repair()).toEqual({ outcome: 'repaired' });
    at.rows.length = 0;
    expect(await at.repair()).toEqual({ outcome: 'gone' });
  });
});

it('records an unreadable subfolder until it is readable', async () => {
  const at = openFolders();
  at.closed.push({ path: '/notes/sub', problem: 'The folder cannot be read (EACCES).' });
  await at.folders.create(space, watched);
  await at.scanDue();
  await at.scanDue();
  expect(at.taken).toHaveLength(1);
  expect(at.recorded).toMatchObject([{ subject: `${at.rows[0]?.folderId}:/notes/sub` }]);
  expect(at.result()).toMatchObject({ added: 1, failed: 1 });
  expect(await at.repair()).toEqual({ outcome: 'gone' });
  at.opened.add('/notes/sub');
  at.closed.length = 0;
  await at.scanDue();
  expect(at.recovered).toEqual(['recovered']);
  expect(await at.repair()).toEqual({ outcome: 'repaired' });
});

describe('a deleted file', () => {
  const withFiles = async (count: number, deleteMissing: boolean) => {
    const at = openFolders();
    at.files.clear();
    for (let index = 0; index < count; index++) at.put(`/notes/${index}.md`, 'x');
    await at.folders.create(space, { ...watched, deleteMissing });
    await at.scanDue();
    return at;
  };

  it('is listed with its document, which stays until the file is back or the document is deleted', async () => {
    const at = await withFiles(3, false);
    at.files.delete('/notes/1.md');
    await at.scanDue();
    expect(at.result()).toMatchObject({
      removed: 0,
      missingCount: 1,
      missing: [{ path: '/notes/1.md', artifactUid: 'uid of /notes/1.md' }],
    });
    expect(at.documents.size).toBe(3);
    at.documents.delete('/notes/1.md');
    expect(await at.folders.list()).toMatchObject([{ lastResult: { missingCount: 0, missing: [] } }]);
    at.put('/notes/1.md', 'x');
    await at.scanDue();
    expect(at.result()).toMatchObject({ missingCount: 0, missing: [] });
  });

  it('is deleted with its document if configured', async () => {
    const at = await withFiles(3, true);
    at.files.delete('/notes/1.md');
    await at.scanDue();
    expect(at.result()).toMatchObject({ removed: 1, missingCount: 0, missing: [] });
    expect([...at.documents.keys()]).toEqual(['/notes/0.md', '/notes/2.md']);
  });

  it.each([
    ['is empty', (at: ReturnType<typeof openFolders>) => at.files.clear(), 3],
    ['cannot be read', (at: ReturnType<typeof openFolders>) => at.closeWith(new Error('unavailable')), 3],
    [
      'has a folder below that cannot be read',
      (at: ReturnType<typeof openFolders>) => {
        at.files.delete('/notes/1.md');
        at.closed.push({ path: '/notes/sub', problem: 'It cannot be read.' });
      },
      3,
    ],
    [
      'lost most of its files at once',
      (at: ReturnType<typeof openFolders>) => {
        for (let index = 1; index < 30; index++) at.files.delete(`/notes/${index}.md`);
      },
      30,
    ],
  ])('never takes a document with it when the folder %s', async (_, change, count) => {
    const at = await withFiles(count, true);
    change(at);
    await at.scanDue();
    expect(at.documents.size).toBe(count);
    expect(at.result()?.problems).toHaveLength(1);
  });

  it('is deleted in a requested scan however many files are gone, unless the folder is empty', async () => {
    const at = await withFiles(30, false);
    for (let index = 1; index < 30; index++) at.files.delete(`/notes/${index}.md`);
    const id = at.rows[0]?.folderId ?? '';
    expect(await at.folders.scan(id, { deleteMissing: true }, signal)).toMatchObject({ removed: 29 });
    at.files.clear();
    expect(await at.folders.scan(id, { deleteMissing: true }, signal)).toMatchObject({
      removed: 0,
      missingCount: 1,
      problems: [expect.stringMatching(/is empty/) as string],
    });
  });

  it('is not treated as deleted when a scan skips it: hidden, or of another kind', async () => {
    const at = await withFiles(2, true);
    at.documents.set('/notes/.hidden.md', 'h');
    at.files.delete('/notes/1.md');
    const find = at.files.get.bind(at.files);
    at.files.get = (path) =>
      path === '/notes/.hidden.md' ? { size: 1, modifiedMs: 1, text: 'h' } : find(path);
    await at.scanDue();
    expect([...at.documents.keys()]).toEqual(['/notes/0.md', '/notes/.hidden.md']);
  });
});
