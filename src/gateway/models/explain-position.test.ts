// The position of a model in the routing order, with its reason.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import type { ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import {
  MapCooldowns,
  modelOf,
  scriptedKeys,
  scriptedScores,
} from '../../../test/support/gateway/routing-world.ts';
import type { RoutingSnapshot } from '../routing/select-candidates.ts';
import { FailureBackoff } from '../state/availability.ts';
import type { ModelView } from './model-view.ts';
import { explainPosition } from './model-service.ts';

function world(scripted: readonly ScriptedModel[], policy: Partial<RoutingSnapshot['policy']> = {}) {
  const clock = new VirtualClock();
  const cooldowns = new MapCooldowns(clock);
  const backoff = new FailureBackoff(clock, []);
  const snapshot: RoutingSnapshot = {
    models: scripted.map((model, index) => modelOf(model, index + 1)),
    keys: scriptedKeys(() => 1),
    cooldowns,
    scores: scriptedScores(scripted),
    backoff,
    policy: { aliases: new Map(), modelOrder: [], ...policy },
  };
  const place = (name: string, change: Partial<ModelView> = {}) => {
    const model = snapshot.models.find((each) => each.name === name);
    if (!model) throw new Error(`No model ${name}.`);
    const view = { ...model, isConfigured: true, availableAt: null, cooldowns: [], ...change };
    return explainPosition(model, view as unknown as ModelView, snapshot);
  };
  const cool = (modelId: number, forMs = 1_000) =>
    cooldowns.extend({
      modelId,
      keyId: 'key-0',
      until: clock.now() + forMs,
      cause: 'rate-limit',
      source: 'test',
      reason: null,
      setAt: clock.now(),
    });
  return {
    place,
    cool,
    trials: cooldowns.trials,
    backOff: (id: number) => [1, 2, 3].forEach(() => backoff.failed(id)),
  };
}

const three: readonly ScriptedModel[] = [
  { name: 'a', score: 0.9 },
  { name: 'b', score: 0.7 },
  { name: 'c', score: 0.8 },
];

describe('the position of a model', () => {
  it('follows its score and names the model before it', () => {
    const { place } = world(three);
    expect(place('a')).toEqual({
      position: 1,
      positionReason: 'no available model has a higher score than its 0.9000.',
    });
    expect(place('b')).toEqual({
      position: 3,
      positionReason: 'its score is 0.7000; the model before it is c with 0.8000.',
    });
  });

  it('is last during its backoff and first when better models are backed off or cooling down', () => {
    const { place, backOff, cool } = world(three);
    backOff(1);
    expect(place('a')).toMatchObject({
      position: 3,
      positionReason: expect.stringContaining('failed in a row'),
    });
    expect(place('c')).toMatchObject({
      position: 1,
      positionReason: expect.stringContaining('a higher score are cooling'),
    });
    cool(3);
    expect(place('b').position).toBe(1);
  });

  it('of a model for another endpoint is among those for that endpoint', () => {
    const { place } = world([
      { name: 'a', score: 1 },
      { name: 'ranker', score: 0.2, capabilities: { endpoints: ['rerank'] } },
      { name: 'other', score: 0.4, capabilities: { endpoints: ['rerank', 'moderations'] } },
    ]);
    expect(['ranker', 'other', 'a'].map((name) => place(name).position)).toEqual([2, 1, 1]);
  });

  it('follows the configured order and says so', () => {
    const { place, cool } = world(three, { modelOrder: ['b', 'c'] });
    expect(place('b')).toEqual({
      position: 1,
      positionReason: 'it is the first available model of gateway.modelOrder.',
    });
    expect(place('c')).toEqual({
      position: 2,
      positionReason: 'gateway.modelOrder names b before it.',
    });
    expect(place('a')).toEqual({
      position: 3,
      positionReason: 'gateway.modelOrder names c before all models that it does not name.',
    });
    cool(2);
    expect(place('c')).toMatchObject({
      position: 1,
      positionReason: 'it is the first available model of gateway.modelOrder.',
    });
  });

  it('names the providers of the same model that share its load', () => {
    const { place } = world([
      { name: 'a/x', upstream: 'x', score: 0.8 },
      { name: 'b/x', upstream: 'x', score: 0.78 },
      { name: 'c/x', upstream: 'x', score: 0.5 },
    ]);
    expect(place('a/x').positionReason).toBe(
      'no available model has a higher score than its 0.8000. It shares the load with b/x, the same model.',
    );
    expect(place('c/x').positionReason).not.toContain('shares');
  });

  it('names the aliases that refer to it', () => {
    const aliases = new Map([
      ['gpt-4o-mini', ['b', 'auto']],
      ['fast', ['b']],
      ['other', ['c']],
    ]);
    expect(world(three, { aliases }).place('b').positionReason).toBe(
      'its score is 0.7000; the model before it is c with 0.8000. The aliases gpt-4o-mini and fast refer to it.',
    );
    expect(world(three, { aliases }).place('c').positionReason).toContain('The alias other refers to it.');
  });

  it('explains the trial after a cooldown', () => {
    const { place, cool, trials } = world(three);
    cool(1, 0);
    expect(place('a')).toEqual({
      position: 1,
      positionReason:
        'no available model has a higher score than its 0.9000. Its cooldown has ended: one request tries it before others do.',
    });
    trials.begin(1, 'key-0');
    expect(place('a')).toEqual({
      position: 3,
      positionReason: 'one request is trying it after its cooldown; others follow when that succeeds.',
    });
  });

  it('of an embedding model is among providers of the same model', () => {
    const embeddings = { embeddings: true };
    const { place } = world([
      { name: 'embed', upstream: 'talk', score: 1 },
      { name: 'a/embed', upstream: 'embed', score: 0.2, capabilities: embeddings },
      { name: 'b/embed', upstream: 'embed', score: 0.4, capabilities: embeddings },
      { name: 'c/other', upstream: 'other', score: 0.9, capabilities: embeddings },
    ]);
    expect(['a/embed', 'b/embed', 'c/other', 'embed'].map((name) => place(name).position)).toEqual([
      2, 1, 1, 1,
    ]);
  });
});

describe('a model that would not be called', () => {
  it.each<[string, Partial<ModelView>, string]>([
    ['disabled', { isActive: false }, 'it is disabled.'],
    ['without a key', { isConfigured: false, needs: 'KEY_1' }, 'it has no key: set KEY_1.'],
    [
      'cooling down',
      {
        availableAt: new Date('2026-03-01T12:00:00Z'),
        cooldowns: [{ cause: 'rate-limit' }, { cause: 'quota' }, { cause: 'quota' }] as never,
      },
      'it is cooling down until 2026-03-01T12:00:00.000Z (rate-limit, quota).',
    ],
    [
      'out of quota',
      { availableAt: new Date('2026-03-01T12:00:00Z'), cooldowns: [{ cause: 'quota' }] as never },
      'its quota is used up until 2026-03-01T12:00:00.000Z.',
    ],
  ])('because it is %s has no position and a reason', (_why, change, positionReason) => {
    expect(world(three).place('a', change)).toEqual({ position: null, positionReason });
  });
});
