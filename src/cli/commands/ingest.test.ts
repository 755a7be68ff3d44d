// headworks ingest, artifacts, events and spaces, against a server double.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const at = '2026-03-01T11:00:00.000Z';
const uid = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const counts = { completed: 1, failed: 0, skipped: 0, queued: 0 };
const none = { completed: 0, failed: 0, skipped: 0, queued: 0 };
const artifact = {
  id: uid,
  revision_id: uid,
  type: 'note',
  source_system: 'files',
  source_id: '/notes/a.md',
  title: 'Minutes',
  source_ts: null,
  content_hash: 'x',
  token_count: 9,
  chunk_count: 1,
  is_latest: true,
  warnings: ['A page was left out.'],
  ingested_at: at,
  metadata: {},
  job_id: 'j1',
  text: 'Ann decided.',
  status: {
    state: 'degraded',
    chunks: 1,
    steps: { index: counts, read: counts, embed: none, graph: { ...none, skipped: 1 } },
    read_by_rules: 1,
    model_fallbacks: [] as object[],
    dropped: [] as object[],
    missing: [
      { step: 'graph', positions: [0], status: 'skipped', cause: 'X', message: 'The graph was unavailable.' },
    ],
  },
};
const complete = { ...artifact, status: { ...artifact.status, state: 'completed', missing: [] } };
const event = {
  id: uid,
  artifact_id: uid,
  revision_id: uid,
  category: 'Decision',
  event_time: at,
  narrative: 'Ann decided.',
  subject: null,
  confidence: 0.5,
  method: 'rules',
  superseded_at: null,
  actors: [{ entity_id: uid, name: 'Ann', role: 'owner' }],
  subjects: [],
  evidence: [{ quote: 'Ann decided.', start_char: 0, end_char: 12 }],
};
const walk = {
  added: 1,
  revised: 0,
  unchanged: 0,
  failed: 1,
  deleted: 0,
  missing_count: 2,
  missing: [{ path: '/srv/notes/old.md', artifact_id: uid }],
  problems: ['/srv/notes/bad.pdf: It is damaged.'],
};
const folder = {
  id: uid,
  space: 'default',
  organization_id: null,
  path: '/srv/notes',
  schedule: null,
  delete_missing: false,
  created_at: at,
  last_run_at: null,
  last_result: walk,
  outcome: 'updated',
};

const withModel = {
  chunks: 2,
  tokens: 900,
  model_calls: 2,
  prompt_tokens: 2_140,
  completion_tokens: 1_400,
  embedding_calls: 1,
};

let shown: object;
let estimated: typeof withModel;
beforeEach(() => {
  shown = complete;
  estimated = withModel;
});

const world = (cwd: string, stdin = '') =>
  new CliWorld({
    cwd,
    stdin,
    answer: ({ method, path, body }) => {
      if (JSON.stringify(body)?.includes('bad.txt'))
        throw new CoreError('INPUT_INVALID', 'Nothing was ingested. It is bad.');
      if (path.endsWith('/artifacts/estimate')) return estimated;
      if (path.endsWith('/artifacts') && method === 'POST') {
        if (JSON.stringify(body).includes('odd.txt'))
          throw new CoreError('INTERNAL', 'Something went wrong.');
        return { outcome: 'added', id: uid, revision_id: uid, job_id: 'j1', chunks: 1 };
      }
      if (path.includes('/jobs/')) return { id: 'j1', name: 'knowledge.ingest', state: 'completed' };
      if (path.endsWith('/artifacts')) return { artifacts: [artifact], next: null };
      if (path.endsWith('/revisions')) return { revisions: [artifact] };
      if (path.includes('/artifacts/')) return method === 'DELETE' ? undefined : shown;
      if (path.endsWith('/events')) return { events: [event], next: null };
      if (path.includes('/events/')) return event;
      if (path.endsWith('/scan')) return walk;
      if (path.includes('/folders')) return method === 'GET' ? { folders: [folder] } : folder;
      if (path.endsWith('/spaces') && method === 'GET') return { spaces: [space] };
      return method === 'DELETE' ? undefined : space;
    },
  });
const space = { name: 'bi', organization_id: null, language: 'english', created_at: at };

async function notes(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await mkdir(join(path, 'notes', '.hidden'), { recursive: true });
  await writeFile(join(path, 'notes', 'a.md'), '# A');
  await writeFile(join(path, 'notes', 'picture.png'), 'no document');
  await writeFile(join(path, 'notes', '.hidden', 'b.md'), 'hidden');
  return path;
}

describe('headworks ingest', () => {
  it('ingests a folder, waits until the documents are read, and prints the outcome', async () => {
    const at = world(await notes());
    expect(await at.start('ingest', 'notes', '--space', 'bi', '--organization', 'acme')).toBe(0);
    const posts = at.calls.filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(1);
    expect(posts[0]?.body).toMatchObject({
      file: { content: Buffer.from('# A').toString('base64') },
      source_system: 'files',
      space: 'bi',
      organization: 'acme',
    });
    expect(at.out).toContain('1 added, 0 revised, 0 unchanged.');
    expect(at.calls.some(({ path }) => path === '/api/v1/jobs/j1')).toBe(true);
  });

  it('continues after a rejected document, with its own exit code', async () => {
    const folderPath = await notes();
    await writeFile(join(folderPath, 'notes', 'bad.txt'), 'bad');
    const at = world(folderPath);
    expect(await at.start('ingest', 'notes')).toBe(4);
    expect(at.out).toMatch(/1 added.*\n.*bad\.txt: Nothing was ingested\. It is bad\./);
    const only = world(folderPath);
    expect(await only.start('ingest', 'notes/bad.txt')).toBe(1);
    expect(await only.start('ingest', 'notes/bad.txt', '--estimate')).toBe(1);
  });

  it('reports documents with missing parts', async () => {
    shown = artifact;
    const at = world(await notes());
    expect(await at.start('ingest', 'notes')).toBe(4);
    expect(at.out).toContain(`Parts of "Minutes" are missing: see "headworks artifacts get ${uid}".`);
  });

  it('reports extraction by rules after a model failure, and what to do next', async () => {
    const standIns = [{ cause: 'DEADLINE_EXCEEDED', positions: [0, 1, 2, 5] }];
    shown = { ...complete, status: { ...complete.status, model_fallbacks: standIns } };
    const at = world(await notes());
    expect(await at.start('ingest', 'notes')).toBe(0);
    expect(at.out).toMatch(
      /A model failed \(DEADLINE_EXCEEDED\), so rules read 4 chunks of 1 document: .*"headworks repair"/,
    );
    const json = world(await notes());
    expect(await json.start('ingest', 'notes', '--json')).toBe(0);
    expect(JSON.parse(json.out)).toMatchObject({
      model_fallbacks: { documents: 1, chunks: 4, causes: ['DEADLINE_EXCEEDED'] },
    });
    expect(await at.run('artifacts', 'get', uid)).toBe(0);
    expect(at.out).toMatch(/read by rules because a model failed \(DEADLINE_EXCEEDED\): chunks 0–2, 5;/);
  });

  it('shows extracted items that were dropped', async () => {
    const notTaken = [{ reason: 'event-quote-not-in-text', count: 3, positions: [0, 1] }];
    shown = { ...complete, status: { ...complete.status, dropped: notTaken } };
    const at = world(await notes());
    expect(await at.run('artifacts', 'get', uid)).toBe(0);
    expect(at.out).toMatch(/dropped +3 × event whose quote is not in the text: chunks 0–1/);
  });

  it('continues after a document that crashes the server', async () => {
    const folderPath = await notes();
    await writeFile(join(folderPath, 'notes', 'odd.txt'), 'odd');
    const at = world(folderPath);
    expect(await at.start('ingest', 'notes')).toBe(4);
    expect(at.out).toMatch(/1 added.*\n.*odd\.txt: Something went wrong/);
  });

  it('reports how many links and pipes of a folder it skipped', async () => {
    const path = await notes();
    await symlink(join(path, 'notes', 'a.md'), join(path, 'notes', 'b.md'));
    execFileSync('mkfifo', [join(path, 'notes', 'pipe.txt')]);
    const at = world(path);
    expect(await at.start('ingest', 'notes')).toBe(0);
    expect(at.out).toContain('1 added');
    expect(at.out).toContain('Skipped: 1 symbolic link.');
    expect(at.out).toContain('Skipped: 1 pipe, socket or device.');
    const json = world(path);
    expect(await json.start('ingest', 'notes', '--json')).toBe(0);
    expect(JSON.parse(json.out)).toMatchObject({ skipped: { links: 1, special: 1 } });
  });

  it('reads standard input, and does not wait with --no-wait', async () => {
    const at = world('/', 'Hello.');
    expect(await at.start('ingest', '-', '--title', 'T', '--type', 'transcript', '--no-wait', '--json')).toBe(
      0,
    );
    expect(at.calls).toHaveLength(1);
    expect(at.calls[0]?.body).toEqual({ text: 'Hello.', title: 'T', type: 'transcript' });
    expect(JSON.parse(at.out)).toMatchObject({
      artifacts: [{ outcome: 'added' }],
      failures: [],
      degraded: [],
    });
  });

  it('estimates without ingesting', async () => {
    const at = world(await notes());
    expect(await at.start('ingest', 'notes', '--estimate')).toBe(0);
    expect(at.out).toContain(
      '1 document: 2 chunks, about 900 tokens of text. Reading calls a model 2 times, with about 2,140 prompt tokens and 1,400 completion tokens; 1 embedding call.',
    );
    expect(at.out).toContain('Calls to resolve entities are not included.');
    expect(at.calls.map(({ path }) => path)).toEqual(['/api/v1/knowledge/artifacts/estimate']);
  });

  it('estimates without a model when none is configured', async () => {
    estimated = {
      chunks: 1,
      tokens: 1,
      model_calls: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      embedding_calls: 0,
    };
    const at = world(await notes());
    expect(await at.start('ingest', 'notes', '--estimate')).toBe(0);
    expect(at.out).toContain(
      '1 document: 1 chunk, about 1 token of text. Read by rules, no model is called; no embeddings.',
    );
    expect(at.out).not.toContain('not included');
    const json = world(await notes());
    expect(await json.start('ingest', 'notes', '--estimate', '--json')).toBe(0);
    expect(JSON.parse(json.out)).toEqual({
      documents: 1,
      ...estimated,
      failures: [],
      skipped: { links: 0, special: 0 },
    });
  });

  it('has the server scan folders from now on', async () => {
    const at = world('/srv');
    expect(await at.start('ingest', 'notes', '--schedule', '0 3 * * *')).toBe(0);
    expect(at.calls[0]).toMatchObject({
      path: '/api/v1/knowledge/folders',
      body: { path: '/srv/notes', schedule: '0 3 * * *' },
    });
  });

  it('rejects missing arguments and missing files', async () => {
    expect(await world('/').start('ingest')).toBe(2);
    const at = world('/');
    expect(await at.start('ingest', 'nowhere/at/all')).toBe(2);
    expect(at.err).toContain('There is no file or folder /nowhere/at/all. Check the path.');
  });
});

describe('headworks artifacts, events and spaces', () => {
  it('list and show', async () => {
    shown = artifact;
    const at = world('/');
    expect(await at.run('artifacts', '--type', 'note')).toBe(0);
    expect(await at.run('artifacts', 'get', uid, '--text')).toBe(0);
    expect(await at.run('artifacts', 'revisions', uid)).toBe(0);
    expect(at.out).toMatch(/missing\s+graph of chunk 0: The graph was unavailable\./);
    expect(at.out).toMatch(/embedded\s+not configured/);
    expect(at.out).toMatch(/size\s+1 chunk, about 9 tokens/);
    expect(at.out).toContain('Ann decided.');
    expect(await at.run('events', '--category', 'Decision')).toBe(0);
    expect(await at.run('events', 'get', uid)).toBe(0);
    expect(at.out).toContain('“Ann decided.”');
    expect(await at.run('spaces')).toBe(0);
  });

  it('create and delete, after a confirmation unless forced', async () => {
    const at = world('/', 'no\n');
    expect(await at.run('artifacts', 'delete', uid)).toBe(1);
    expect(await at.run('artifacts', 'delete', uid, '--force')).toBe(0);
    expect(await at.run('spaces', 'create', 'bi', '--language', 'german')).toBe(0);
    expect(await at.run('spaces', 'delete', 'bi', '--force', '--json')).toBe(0);
    expect(await at.run('folders', 'delete', uid, '--force')).toBe(0);
    expect(at.calls.filter(({ method }) => method === 'DELETE').map(({ path }) => path)).toEqual([
      `/api/v1/knowledge/artifacts/${uid}`,
      '/api/v1/knowledge/spaces/bi',
      `/api/v1/knowledge/folders/${uid}`,
    ]);
  });
});

describe('headworks folders', () => {
  it('lists folders of all spaces or of one, with failures and missing files', async () => {
    const at = world('/');
    expect(await at.run('folders')).toBe(0);
    expect(await at.run('folders', 'list', '--space', 'bi')).toBe(0);
    expect(at.calls.map(({ query }) => query)).toEqual([{ all: 'true' }, { space: 'bi' }]);
    expect(at.out).toMatch(/\/srv\/notes\s+default\s+watched/);
    expect(at.out).toContain('/srv/notes/bad.pdf: It is damaged.');
    expect(at.out).toContain(
      `/srv/notes/old.md is gone; its document is kept: headworks artifacts delete ${uid}`,
    );
    expect(at.out).toContain('… and 1 more.');
  });

  it('updates the schedule of a known folder', async () => {
    const at = world('/srv');
    expect(await at.run('folders', 'create', 'notes', '--delete-missing')).toBe(0);
    expect(await at.run('ingest', 'notes', '--watch')).toBe(0);
    expect(at.calls.map(({ body }) => body)).toEqual([
      { path: '/srv/notes', delete_missing: true },
      { path: '/srv/notes' },
    ]);
    expect(at.out).toContain(
      '/srv/notes was already registered; its schedule is updated: watched for changes.',
    );
  });

  it('scans a folder now, and exits with 4 when a file could not be read', async () => {
    const at = world('/');
    expect(await at.run('folders', 'scan', uid, '--delete-missing')).toBe(4);
    expect(at.calls).toMatchObject([
      { path: `/api/v1/knowledge/folders/${uid}/scan`, body: { delete_missing: true } },
    ]);
    expect(at.out).toContain('1 added, 0 revised, 0 unchanged.');
    expect(await at.run('folders', 'scan', uid, '--json')).toBe(4);
  });
});
