// Model views.
import { describe, expect, it } from 'vitest';
import type { Model } from '../types.ts';
import { allKeys } from '../types.ts';
import { exampleCooldown, exampleModel, moment } from '../../../test/support/gateway/examples.ts';
import { availableAt, modelView } from './model-view.ts';
import { scoreOf } from '../state/scores.ts';

const emptyStats = { requests: 0, successes: 0, averageSeconds: 0, typicalSeconds: 0 };

const model: Model = {
  ...exampleModel('a/one'),
  id: 3,
  isActive: true,
  origin: 'built-in',
  missedLists: 0,
  retiredAt: null,
  createdAt: new Date(moment(0)),
};
const score = scoreOf(
  { requests: 3, successes: 2, averageSeconds: 1 / 3, typicalSeconds: 1 / 3 },
  { requests: 1, successes: 1, averageSeconds: 0.5, typicalSeconds: 0.5 },
  7,
);
const keyState = {
  keyCount: 1,
  isConfigured: true,
  keySource: 'A_API_KEY',
  needs: null,
  cooldowns: [],
  availableAt: null,
};

const health = { ...emptyStats, isFailing: false, lastFailure: null, backoffUntil: null };

describe('modelView', () => {
  it('shows the first state that applies (T3)', () => {
    const until = (cause: 'quota' | 'timeout') => ({
      ...keyState,
      availableAt: new Date(moment(5)),
      cooldowns: [exampleCooldown({ cause })],
    });
    const stateOf = (given: Partial<Model>, keys = keyState, now = health) =>
      modelView({ ...model, ...given }, score, keys, now, false).state;
    const failing = { ...health, isFailing: true };
    expect(stateOf({})).toBe('available');
    expect(stateOf({}, keyState, failing)).toBe('failing');
    expect(stateOf({}, until('quota') as never, failing)).toBe('quota-exhausted');
    expect(stateOf({}, until('timeout') as never, failing)).toBe('cooling-down');
    expect(stateOf({}, { ...keyState, isConfigured: false }, failing)).toBe('no-key');
    expect(stateOf({ isActive: false }, { ...keyState, isConfigured: false }, failing)).toBe('disabled');
  });

  it('shows the success rate of the last 15 minutes, and none without requests', () => {
    const of = (requests: number, successes: number) =>
      modelView(model, score, keyState, { ...health, requests, successes }, false).health;
    expect(of(3, 1)).toMatchObject({ requestCount: 3, successRate: 0.3333 });
    expect(of(0, 0)).toMatchObject({ requestCount: 0, successRate: null });
  });

  it('shows counts, rates and scores, rounded', () => {
    expect(modelView(model, score, keyState, health, true)).toMatchObject({
      id: 3,
      apiEndpoint: 'https://demo.example/v1/chat/completions',
      successCount: 2,
      failureCount: 1,
      requestCount: 3,
      successRate: 0.6667,
      averageResponseTime: 0.3333,
      reliabilityScore: 0.7867,
      recentSuccessRate: 1,
      recentRequestCount: 1,
      recentReliabilityScore: 0.98,
      effectiveReliabilityScore: 0.7867,
      decisionReason: expect.stringContaining('Long-term'),
      availableAt: null,
      keyCount: 1,
    });
  });

  it('omits recent numbers unless requested or when there are none', () => {
    const none = { recentSuccessRate: null, recentReliabilityScore: null };
    expect(modelView(model, score, keyState, health, false)).toMatchObject({
      ...none,
      recentRequestCount: null,
    });
    const quiet = scoreOf(emptyStats, emptyStats, 7);
    expect(modelView(model, quiet, keyState, health, true)).toMatchObject({
      ...none,
      recentRequestCount: 0,
      reliabilityScore: 0.5,
    });
  });

  it('shows the endpoint of an embedding model and when it is available again', () => {
    const embedder = { ...model, capabilities: { ...model.capabilities, embeddings: true } };
    const view = modelView(embedder, score, { ...keyState, availableAt: new Date(moment(5)) }, health, false);
    expect(view.apiEndpoint).toBe('https://demo.example/v1/embeddings');
    expect(view.availableAt).toEqual(new Date(moment(5)));
  });
});

describe('availableAt', () => {
  const cooling = (times: Record<string, number>) => ({
    of: (_: number, keyId: string) => {
      const until = times[keyId];
      return until === undefined ? undefined : exampleCooldown({ keyId, until });
    },
  });

  it('is now while one key is available, otherwise when the first one is', () => {
    expect(availableAt(cooling({ a: 5 }), 1, ['a', 'b'])).toBeNull();
    expect(availableAt(cooling({ a: 5, b: 3 }), 1, ['a', 'b'])).toBe(3);
    expect(availableAt(cooling({ [allKeys]: 9 }), 1, [])).toBe(9);
    expect(availableAt(cooling({ a: 9 }), 1, [])).toBeNull();
  });
});
