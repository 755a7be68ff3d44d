// What tools make of the API's answers, where a whole server seldom gives such.
import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import type { ApiCallOptions } from '../ports.ts';
import { readResource } from '../resources.ts';
import { allTools } from './index.ts';

const entityId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

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
  // What the API says besides is not passed on.
  embedding_model: 'inner',
  ...change,
});

/** The tool's answer, where the API gives these answers by path. */
async function run(
  name: string,
  given: object,
  answers: Readonly<Record<string, unknown>>,
  calls: (ApiCallOptions & { readonly path: string })[] = [],
) {
  const tool = allTools.find((each) => each.name === name);
  const call = async (_method: string, path: string, options: ApiCallOptions = {}) => {
    calls.push({ path, ...options });
    const answer = answers[path.replace('/api/v1/', '').replace('knowledge/', '')];
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error(`nobody answers ${path}`);
    return answer;
  };
  return tool?.answer(given, { api: { call }, caller: 'admin', signal: new AbortController().signal });
}

describe('get_entity', () => {
  const detail = { ...entity('Ann Lee'), mentions: [] };

  it('takes the one that is called exactly so', async () => {
    const entities = [entity('Joann Lee', { id: 'other' }), entity('A. Lee', { aliases: ['Ann lee'] })];
    const answers = { entities: { entities, next: null }, [`entities/${entityId}`]: detail };
    expect(await run('get_entity', { name: 'ann Lee' }, answers)).toMatchObject({
      entity: { canonical_name: 'Ann Lee' },
      candidates: [],
    });
  });

  it('shows whom a name could mean, and asks for more of it', async () => {
    const entities = [entity('Ann Lee'), entity('Ann Ray')];
    expect(await run('get_entity', { name: 'ann' }, { entities: { entities, next: 'more' } })).toMatchObject({
      entity: null,
      candidates: [{ canonical_name: 'Ann Lee' }, { canonical_name: 'Ann Ray' }],
      note: 'More than 2 entities could be meant; call again with the id of one as entity_id, or with more of the name.',
    });
    expect(
      await run('get_entity', { name: 'zoe' }, { entities: { entities: [], next: null } }),
    ).toMatchObject({
      entity: null,
      note: expect.stringContaining('Try part of the name') as string,
    });
  });

  it('gives mentions in parts', async () => {
    const mention = (index: number) => ({
      artifact_id: `${index}`,
      title: 'T',
      surface_form: 'Ann',
      start_char: null,
      confidence: 1,
    });
    const found = { ...detail, mention_count: 4, mentions: [0, 1, 2, 3].map(mention) };
    const answers = { [`entities/${entityId}`]: found };
    const answer = await run('get_entity', { entity_id: entityId, limit: 2, offset: 1 }, answers);
    expect(answer).toMatchObject({
      mentions: [{ artifact_id: '1' }, { artifact_id: '2' }],
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
      '896 older mentions cannot be had here; search with this entity_id among entity_ids, or list_events with it, finds ' +
      'others.';
    expect(await noteAt(0, 900)).toBe(
      `2 more of the newest 4 mentions follow; call again with offset 2. ${others}`,
    );
    expect(await noteAt(2, 900)).toBe(others);
    expect(await noteAt(4, 900)).toBe(`Mentions end before this offset; begin before 4. ${others}`);
  });

  it('says how many names and clues were left out', async () => {
    const texts = (length: number) => Array.from({ length }, (_, index) => `${index}`);
    const known = { aliases: texts(23), context_clues: texts(11) };
    const left = 'Left out: 3 further aliases, 1 further context_clues.';
    const answers = { [`entities/${entityId}`]: { ...detail, ...known, mention_count: 0 } };
    expect(await run('get_entity', { entity_id: entityId }, answers)).toMatchObject({
      entity: { aliases: { length: 20 }, context_clues: { length: 10 } },
      note: left,
    });
    const call = async () => answers[`entities/${entityId}`];
    const { signal } = new AbortController();
    const uri = `headworks://entities/${entityId}`;
    const resource = await readResource({ api: { call }, caller: 'admin' }, uri, signal);
    expect(JSON.parse(resource.text)).toMatchObject({ aliases: { length: 20 }, note: left });
    const entities = [entity('Ann Lee', known), entity('Ann Ray')];
    const unclear = await run('get_entity', { name: 'ann' }, { entities: { entities, next: null } });
    expect(unclear).toMatchObject({
      candidates: [{ aliases: { length: 20 } }, {}],
      note: expect.stringMatching(/^2 entities could be meant; .* Left out: 3 further aliases, 1 /) as string,
    });
  });
});

describe('search', () => {
  it('says what it left out of long lists', async () => {
    const found = (entities: number, events: number) => ({
      primary_results: [],
      related_context: Array.from({ length: events }, (_, index) => ({
        id: `${index}`,
        category: 'Decision',
        summary: 's',
        event_time: null,
        artifact_id: 'a',
        reason: 'r'.repeat(1_000),
        evidence: [],
      })),
      entities: Array.from({ length: entities }, () => ({
        id: 'e',
        name: 'n',
        type: 'org',
        mentions: 1,
      })),
    });
    const answer = await run('search', { query: 'x' }, { search: found(31, 50) });
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
  it('leaves to the next page what does not fit', async () => {
    const events = Array.from({ length: 100 }, (_, index) => ({
      id: `event-${index}`,
      category: 'Decision',
      event_time: null,
      narrative: 'n'.repeat(5_000),
      artifact_id: 'a',
      confidence: 1,
      actors: [],
      subjects: [],
      evidence: [{ quote: 'q'.repeat(5_000) }],
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
  const pair = (evidence: object) => ({
    id: 'p',
    confidence: 0.8,
    reason: 'near-name',
    evidence,
    a: entity('Ann Lee'),
    b: entity('A. Lee', { aliases: Array.from({ length: 50 }, (_, index) => `Alias ${index}`) }),
  });

  it('tells what speaks for it, and that more wait', async () => {
    const calls: (ApiCallOptions & { readonly path: string })[] = [];
    const pairs = [pair({ reasons: ['same mail'] }), pair({ reasons: 7 }), pair({})];
    const answer = await run('review_queue', { limit: 2, organization: 'acme' }, { pairs: { pairs } }, calls);
    expect(calls[0]?.query).toMatchObject({ limit: 3, organization: 'acme' });
    expect(answer).toMatchObject({
      pairs: [{ reasons: ['same mail'] }, { reasons: ['near-name'], b: { aliases: { length: 20 } } }],
      note: expect.stringMatching(/^More pairs wait; .* Left out: 60 further aliases, 0 /) as string,
    });
  });
});

describe('job_status', () => {
  it('shows the admin the job that still reads', async () => {
    const counts = { done: 0, failed: 0, skipped: 0, pending: 1 };
    const steps = { index: counts, read: counts, embed: counts, graph: counts };
    const missing = [{ step: 'read', status: 'pending', cause: null, message: null, positions: [0, 1] }];
    const status = { state: 'processing', chunks: 2, steps, missing };
    const job = {
      id: 'j',
      name: 'knowledge.ingest',
      state: 'running',
      attempts: 1,
      created_at: 'now',
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
      note: expect.stringContaining('Ask again') as string,
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
      status: 'warning',
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

  it('begins with what is not well', async () => {
    expect(await run('status', {}, answers)).toMatchObject({
      status: 'warning',
      checks: [{ name: 'disk' }, { name: 'clock' }],
      open_degradations: [{ kind: 'b', open: 2 }],
      note: null,
    });
  });

  it('tells the rest when a part cannot be asked, and fails only when none can', async () => {
    const away = new CoreError('STATE_UNAVAILABLE', 'The state store is away.');
    expect(await run('status', {}, { ...answers, 'ledger/kinds': away })).toMatchObject({
      status: 'warning',
      open_degradations: [],
      note: '/api/v1/ledger/kinds: The state store is away. (STATE_UNAVAILABLE)',
    });
    const none = { doctor: away, alerts: away, 'jobs/counts': away, 'ledger/kinds': away };
    await expect(run('status', {}, none)).rejects.toThrow('The state store is away.');
  });
});
