// The status of an artifact in each of its states: processed parts, missing parts, why, and what will complete them.
import { describe, expect, it } from 'vitest';
import type { ChunkStepResult } from './types.ts';
import type { StatusInput } from './artifacts.ts';
import { artifactStatus } from './artifacts.ts';

const chunks = [0, 1].map((position) => ({ chunkId: position + 10, position }));
const mark = (
  step: ChunkStepResult['step'],
  chunkId: number,
  more: Partial<ChunkStepResult> = {},
): ChunkStepResult => ({
  chunkId,
  step,
  status: 'completed',
  ...more,
});
const indexed = chunks.map(({ chunkId }) => mark('index', chunkId));
const read = chunks.map(({ chunkId }) => mark('read', chunkId, { method: 'rules' }));
const inGraph = chunks.map(({ chunkId }) => mark('graph', chunkId));
const ended = { state: 'completed', attempts: 1, reason: null } as const;

const statusOf = (facts: Partial<StatusInput>) =>
  artifactStatus({
    chunks,
    steps: indexed,
    job: ended,
    embeddingModel: null,
    isGraphEnabled: false,
    ...facts,
  });
const messages = (facts: Partial<StatusInput>) =>
  statusOf(facts).missing.map(({ step, cause, message }) => `${step} ${cause ?? ''}: ${message ?? ''}`);

describe('the status of an artifact', () => {
  it('is complete when every configured step is done', () => {
    const none = { completed: 0, failed: 0, skipped: 0, queued: 0 };
    expect(statusOf({ steps: [...indexed, ...read] })).toEqual({
      state: 'completed',
      chunks: 2,
      steps: { index: { ...none, completed: 2 }, read: { ...none, completed: 2 }, embed: none, graph: none },
      readByRules: 2,
      modelFallbacks: [],
      dropped: [],
      missing: [],
    });
  });

  it.each([
    ['queued', { state: 'queued', attempts: 0, reason: null }, /^read JOB_QUEUED: Its job is queued/],
    [
      'waiting for another try',
      { state: 'queued', attempts: 2, reason: null },
      /^read JOB_QUEUED: .*will be retried/,
    ],
    ['being read', { state: 'running', attempts: 1, reason: null }, /^read JOB_RUNNING: Its job is running/],
  ] as const)('reports when it is %s', (_, job, message) => {
    expect(statusOf({ job })).toMatchObject({ state: job.state, steps: { read: { queued: 2 } } });
    expect(messages({ job })).toEqual([expect.stringMatching(message)]);
  });

  it('names the job that does a missing step and when, and no repair that would not', () => {
    const steps = [...indexed, ...read];
    const facts = { embeddingModel: 'm2', isGraphEnabled: true };
    expect(statusOf({ ...facts, steps }).state).toBe('degraded');
    expect(messages({ ...facts, steps })).toEqual([
      expect.stringMatching(/^embed NOT_TRIED: A running server embeds it within 15 minutes/),
      expect.stringMatching(/^graph NOT_TRIED: A running server adds it to the graph within five minutes/),
    ]);
    expect(messages({ job: null })).toEqual([
      expect.stringMatching(/^read NOT_TRIED: A running server reads it within five minutes/),
    ]);
    expect(messages({ ...facts, steps }).join()).not.toContain('headworks repair');
  });

  it('reports why the job failed, and which model an outdated vector is from', () => {
    const job = { state: 'failed', attempts: 5, reason: 'The store was away.' } as const;
    expect(messages({ job })).toEqual([
      expect.stringMatching(
        /^read JOB_FAILED: Its job failed: The store was away\. A running server runs it again, after a delay/,
      ),
    ]);
    const old = chunks.map(({ chunkId }) => mark('embed', chunkId, { method: 'm1' }));
    expect(messages({ steps: [...indexed, ...read, ...old], embeddingModel: 'm2' })).toEqual([
      expect.stringMatching(
        /^embed NOT_TRIED: Its vector was made by m1, which is no longer the embedding model\./,
      ),
    ]);
  });

  it('has one row for all chunks that miss the same step for the same reason, with the original message', () => {
    const failed = {
      status: 'failed',
      cause: 'X',
      message: 'It failed. "headworks repair" embeds it.',
      method: 'm',
    } as const;
    const steps = [
      ...indexed,
      mark('read', 10, { method: 'model' }),
      mark('read', 11, { status: 'failed', cause: 'Y', message: 'Not read.' }),
      ...chunks.map(({ chunkId }) => mark('embed', chunkId, failed)),
      mark('graph', 10),
      mark('graph', 11, { status: 'skipped', cause: 'Z', message: 'The graph was away.' }),
    ];
    expect(statusOf({ steps, embeddingModel: 'm', isGraphEnabled: true })).toMatchObject({
      state: 'degraded',
      readByRules: 0,
      steps: { read: { completed: 1, failed: 1 }, embed: { failed: 2 }, graph: { completed: 1, skipped: 1 } },
      missing: [
        { step: 'read', positions: [1], state: 'failed', cause: 'Y', message: 'Not read.' },
        { step: 'embed', positions: [0, 1], state: 'failed', cause: 'X' },
        { step: 'graph', positions: [1], state: 'skipped', cause: 'Z' },
      ],
    });
  });

  it('counts rejected items, and reports truncated ones as missing', () => {
    const refused = { reason: 'event-quote-not-in-text', count: 2 } as const;
    const left = { reason: 'mentions-too-many', count: 7 } as const;
    const some = [...indexed, mark('read', 10, { dropped: [refused] })];
    expect(statusOf({ steps: [...some, mark('read', 11, { dropped: [refused] })] })).toMatchObject({
      state: 'completed',
      dropped: [{ ...refused, count: 4, positions: [0, 1] }],
      missing: [],
    });
    expect(statusOf({ steps: [...some, mark('read', 11, { dropped: [refused, left] })] })).toMatchObject({
      state: 'degraded',
      steps: { read: { completed: 2 } },
      dropped: [
        { ...refused, count: 4 },
        { ...left, positions: [1] },
      ],
      missing: [
        {
          step: 'read',
          positions: [1],
          state: 'completed',
          cause: 'READING_TOO_LARGE',
          message: expect.stringContaining('Not stored: 7 mentions.') as string,
        },
      ],
    });
  });

  it('reports people from fields beyond the limit as missing', () => {
    expect(statusOf({ steps: [...indexed, ...read], truncatedMentions: 5 })).toMatchObject({
      state: 'degraded',
      missing: [{ step: 'read', positions: [], state: 'completed', cause: 'READING_TOO_LARGE' }],
    });
  });

  it('is complete and lists the fallback when rules read after a failed model call', () => {
    const steps = [
      ...indexed,
      mark('read', 10, { method: 'rules', cause: 'DEADLINE_EXCEEDED' }),
      mark('read', 11, { method: 'rules' }),
      ...inGraph,
    ];
    expect(statusOf({ steps, isGraphEnabled: true })).toMatchObject({
      state: 'completed',
      readByRules: 2,
      modelFallbacks: [{ cause: 'DEADLINE_EXCEEDED', positions: [0] }],
    });
  });
});
