// How tools shape responses that a real server rarely returns.
import { describe, expect, it } from 'vitest';
import { CoreError } from '../core/index.ts';
import type { ApiTransport } from '../api/client.ts';
import { readResource } from './resources.ts';
import { allTools } from './server.ts';

type CallOptions = NonNullable<Parameters<ApiTransport['call']>[2]>;

const entityId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const otherId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c';
const at = '2026-03-01T12:00:00.000Z';
const idAt = (index: number): string => `0195a1b2-c3d4-7e5f-8a9b-${String(index).padStart(12, '0')}`;

const entity = (name: string, change: object = {}) => ({
  id: entityId,
  type: 'person',
  canonical_name: name,
  aliases: [],
  role: null,
  organization: null,
  email: null,
  context_clues: [],
  needs_review: false,
  mention_count: 1,
  event_count: 0,
  // Further fields of the API are not passed on.
  embedding_model: 'inner',
  first_artifact_id: null,
  review_reason: null,
  created_at: at,
  updated_at: at,
  ...change,
});

/** The tool's result, with these API responses by path. */
async function run(
  name: string,
  given: object,
  answers: Readonly<Record<string, unknown>>,
  calls: (CallOptions & { readonly path: string })[] = [],
) {
  const tool = allTools.find((each) => each.name === name);
  const call = async (_method: string, path: string, options: CallOptions = {}) => {
    calls.push({ path, ...options });
    const answer = answers[path.replace('/api/v1/', '').replace('knowledge/', '')];
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error(`no answer for ${path}`);
    return answer;
  };
  const api = { call } as ApiTransport;
  return tool?.run(given, { api, caller: 'admin', signal: new AbortController().signal });
}

describe('get_entity', () => {
  const detail = { ...entity('Ann Lee'), mentions: [] };

  it('selects the entity with exactly this name', async () => {
    const entities = [entity('Joann Lee', { id: otherId }), entity('A. Lee', { aliases: ['Ann lee'] })];
    const answers = { entities: { entities, next: null }, [`entities/${entityId}`]: detail };
    expect(await run('get_entity', { name: 'ann Lee' }, answers)).toMatchObject({
      entity: { canonical_name: 'Ann Lee' },
      candidates: [],
    });
  });

  it('lists candidates for an ambiguous name, and asks for more of it', async () => {
    const entities = [entity('Ann Lee'), entity('Ann Ray')];
    expect(await run('get_entity', { name: 'ann' }, { entities: { entities, next: 'more' } })).toMatchObject({
      entity: null,
      candidates: [{ canonical_name: 'Ann Lee' }, { canonical_name: 'Ann Ray' }],
      note: 'More than 2 entities may be meant; call again with the id of one as entity_id, or with more of the name.',
    });
    expect(
      await run('get_entity', { name: 'zoe' }, { entities: { entities: [], next: null } }),
    ).toMatchObject({
      entity: null,
      note: expect.stringContaining('Try part of the name') as string,
    });
  });

  it('returns mentions in pages', async () => {
    const mention = (index: number) => ({
      artifact_id: idAt(index),
      title: 'T',
      surface_form: 'Ann',
      start_char: null,
      confidence: 1,
    });
    const found = { ...detail, mention_count: 4, mentions: [0, 1, 2, 3].map(mention) };
    const answers = { [`entities/${entityId}`]: found };
    const answer = await run('get_entity', { entity_id: entityId, limit: 2, offset: 1 }, answers);
    expect(answer).toMatchObject({
      mentions: [{ artifact_id: idAt(1) }, { artifact_id: idAt(2) }],
      note: '1 mentions follow; call again with offset 3.',
    });
    expect(JSON.stringify(answer)).not.toContain('inner');
    const noteAt = async (offset: number, mention_count = 4) => {
      const many = { [`entities/${entityId}`]: { ...found, mention_count } };
      return (await run('get_entity', { entity_id: entityId, limit: 2, offset }, many))?.['note'];
    };
    expect(await noteAt(2)).toBeNull();
    expect(await noteAt(4)).toBe('Mentions end before this offset; begin before 4.');
    // The API shows the newest of many.
    const others =
      '896 older mentions are not available here; search with this entity_id among entity_ids, or list_events with it, ' +
      'finds others.';
    expect(await noteAt(0, 900)).toBe(
      `2 more of the newest 4 mentions follow; call again with offset 2. ${others}`,
    );
    expect(await noteAt(2, 900)).toBe(others);
    expect(await noteAt(4, 900)).toBe(`Mentions end before this offset; begin before 4. ${others}`);
  });

  it('reports how many aliases and clues were left out', async () => {
    const texts = (length: number) => Array.from({ length }, (_, index) => `${index}`);
    const known = { aliases: texts(23), context_clues: texts(21) };
    const left = 'Left out: 3 further aliases, 1 further context_clues.';
    const answers = { [`entities/${entityId}`]: { ...detail, ...known, mention_count: 0 } };
    expect(await run('get_entity', { entity_id: entityId }, answers)).toMatchObject({
      entity: { aliases: { length: 20 }, context_clues: { length: 20 } },
      note: left,
    });
    const call = async () => answers[`entities/${entityId}`];
    const { signal } = new AbortController();
    const uri = `headworks://entities/${entityId}`;
    const api = { call } as ApiTransport;
    const resource = await readResource({ api, caller: 'admin', signal }, uri);
    expect(JSON.parse(resource.text)).toMatchObject({ aliases: { length: 20 }, note: left });
    const entities = [entity('Ann Lee', known), entity('Ann Ray')];
    const unclear = await run('get_entity', { name: 'ann' }, { entities: { entities, next: null } });
    expect(unclear).toMatchObject({
      candidates: [{ aliases: { length: 20 } }, {}],
      note: expect.stringMatching(/^2 entities may be meant; .* Left out: 3 further aliases, 1 /) as string,
    });
  });
});

describe('search', () => {
  it('reports what it left out of long lists', async () => {
    const found = (entities: number, events: number) => ({
      primary_results: [],
      related_context: Array.from({ length: events }, (_, index) => ({
        id: idAt(index),
        category: 'Decision',
        summary: 's',
        event_time: null,
        artifact_id: otherId,
        reason: 'r'.repeat(500),
        evidence: [],
      })),
      entities: Array.from({ length: entities }, () => ({
        id: entityId,
        name: 'n',
        type: 'organization',
        mentions: 1,
      })),
    });
    const answer = await run('search', { query: 'x' }, { search: found(31, 100) });
    expect(answer).toMatchObject({
      entities: { length: 30 },
      note: expect.stringMatching(
        /^Nothing was found\. .* \d+ further events were left out, .* 1 further entities were left out, to keep/,
      ) as string,
    });
    expect((await run('search', { query: 'x' }, { search: found(30, 1) }))?.['note']).not.toContain(
      'left out',
    );
  });
});

describe('list_events', () => {
  it('leaves events that do not fit to the next page', async () => {
    const events = Array.from({ length: 100 }, (_, index) => ({
      id: idAt(index),
      revision_id: otherId,
      subject: null,
      method: 'model',
      superseded_at: null,
      category: 'Decision',
      event_time: null,
      narrative: 'n'.repeat(5_000),
      artifact_id: otherId,
      confidence: 1,
      actors: [],
      subjects: [],
      evidence: [{ quote: 'q'.repeat(5_000), start_char: 0, end_char: 5_000 }],
    }));
    const answer = (await run('list_events', { limit: 100 }, { events: { events, next: null } })) as {
      events: readonly { id: string; narrative: string }[];
      next: string;
      note: string;
    };
    expect(JSON.stringify(answer).length).toBeLessThan(45_000);
    expect(answer.next).toBe(answer.events.at(-1)?.id);
    expect(answer.note).toContain(`after = ${answer.next}`);
    expect(answer.events[0]?.narrative).toMatch(/… \[4000 more characters\]$/);
  });
});

describe('review_queue', () => {
  const pair = (index: number) => ({
    id: idAt(index),
    entity_a: entityId,
    entity_b: otherId,
    confidence: 0.8,
    reason: 'near-name',
    evidence: { reasons: ['same mail'] },
    state: 'open',
    decided_by: null,
    decided_at: null,
    created_at: at,
    as_of: at,
    a: entity('Ann Lee'),
    b: entity('A. Lee', { aliases: Array.from({ length: 50 }, (_, alias) => `Alias ${alias}`) }),
  });

  it('returns pairs with their evidence, with a note that there may be more', async () => {
    const calls: (CallOptions & { readonly path: string })[] = [];
    const pairs = [pair(1), pair(2)];
    const given = { limit: 2, organization: 'acme' };
    const answer = await run('review_queue', given, { pairs: { pairs } }, calls);
    expect(calls[0]?.query).toMatchObject({ limit: 2, organization: 'acme' });
    expect(answer).toMatchObject({
      pairs: [{ evidence: { reasons: ['same mail'] } }, { b: { aliases: { length: 20 } } }],
      note: 'There may be more pairs. Left out: 60 further aliases.',
    });
    expect((await run('review_queue', { limit: 3 }, { pairs: { pairs } }))?.['note']).not.toContain(
      'more pairs',
    );
  });
});

describe('job_status', () => {
  it('shows the admin the running job', async () => {
    const counts = { completed: 0, failed: 0, skipped: 0, queued: 1 };
    const steps = { index: counts, read: counts, embed: counts, graph: counts };
    const missing = [{ step: 'read', state: 'queued', cause: null, message: null, positions: [0, 1] }];
    const status = { state: 'queued', chunks: 2, steps, missing };
    const job = {
      id: 'j',
      name: 'knowledge.ingest',
      state: 'running',
      attempts: 1,
      created_at: at,
      finished_at: null,
      progress: null,
      reason: null,
    };
    const answers = {
      [`artifacts/${entityId}`]: { id: entityId, title: 'T', job_id: 'j', status },
      'jobs/j': job,
    };
    expect(await run('job_status', { artifact_id: entityId }, answers)).toMatchObject({
      is_finished: false,
      missing: [{ step: 'read', chunks: 2 }],
      job: { state: 'running' },
      note: expect.stringContaining('Call again') as string,
    });
    expect(
      await run('job_status', { job_id: entityId }, { [`jobs/${entityId}`]: { ...job, state: 'failed' } }),
    ).toMatchObject({
      is_finished: true,
      artifact: null,
    });
  });
});

describe('status', () => {
  const check = { name: 'clock', state: 'ok', detail: 'Fine.', remedy: null };
  const answers = {
    doctor: {
      state: 'warning',
      checks: [check, { ...check, name: 'disk', state: 'warning', remedy: 'Make room.' }],
    },
    alerts: { alerts: [] },
    'jobs/counts': { counts: [] },
    'ledger/kinds': {
      kinds: [
        { kind: 'a', open: 0 },
        { kind: 'b', open: 2 },
      ],
    },
  };

  it('lists problems first', async () => {
    expect(await run('status', {}, answers)).toMatchObject({
      state: 'warning',
      checks: [{ name: 'disk' }, { name: 'clock' }],
      open_degradations: [{ kind: 'b', open: 2 }],
      note: null,
    });
  });

  it('returns the other parts when one fails, and fails only when all do', async () => {
    const away = new CoreError('STATE_UNAVAILABLE', 'The state store is unavailable.');
    expect(await run('status', {}, { ...answers, 'ledger/kinds': away })).toMatchObject({
      state: 'warning',
      open_degradations: [],
      note: 'GET /api/v1/ledger/kinds: The state store is unavailable. (STATE_UNAVAILABLE)',
    });
    const none = { doctor: away, alerts: away, 'jobs/counts': away, 'ledger/kinds': away };
    await expect(run('status', {}, none)).rejects.toThrow('The state store is unavailable.');
  });
});
