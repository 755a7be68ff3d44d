import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import type { ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import type { Model } from '../types.ts';
import { effectiveCatalog } from '../models/catalog.ts';
import { ProviderKeys } from '../models/provider-keys.ts';
import { noCandidateError } from './no-candidate.ts';
import {
  requestFor,
  MapCooldowns,
  modelOf,
  scriptedKeys,
  scriptedScores,
} from '../../../test/support/gateway/routing-world.ts';
import type { CompletionRequest } from '../types.ts';
import { GatewayError } from '../errors.ts';
import { FailureBackoff } from '../state/availability.ts';
import type { RoutingSnapshot } from './select-candidates.ts';
import { selectCandidates } from './select-candidates.ts';

const { builtIn: catalog } = effectiveCatalog([], []);

function snapshotOf(
  scripted: readonly ScriptedModel[],
  { aliases = {}, modelOrder = [] }: { aliases?: Record<string, string>; modelOrder?: string[] } = {},
) {
  const clock = new VirtualClock();
  const cooldowns = new MapCooldowns(clock);
  const backoff = new FailureBackoff(clock, []);
  const snapshot: RoutingSnapshot = {
    models: scripted.map((model, index) => modelOf(model, index + 1)),
    keys: scriptedKeys((name) => scripted.find((model) => model.name === name)?.keys ?? 1),
    cooldowns,
    scores: scriptedScores(scripted),
    backoff,
    policy: {
      aliases: new Map(Object.entries(aliases).map(([name, models]) => [name, models.split(',')])),
      modelOrder,
    },
  };
  const cool = (modelId: number) =>
    cooldowns.extend({
      modelId,
      keyId: 'key-0',
      until: clock.now() + 1_000,
      cause: 'rate-limit',
      source: 'test',
      reason: null,
      setAt: clock.now(),
    });
  const backOff = (modelId: number) => [1, 2, 3].forEach(() => backoff.failed(modelId));
  const names = (request: CompletionRequest, allowFallback = true) =>
    selectCandidates(request, allowFallback, snapshot).map(({ model }) => model.name);
  const error = (request: CompletionRequest, allowFallback = true): GatewayError => {
    try {
      names(request, allowFallback);
    } catch (thrown) {
      if (thrown instanceof GatewayError) return thrown;
      throw thrown;
    }
    throw new Error('It found candidates.');
  };
  return { names, error, cool, backOff };
}

const three: readonly ScriptedModel[] = [
  { name: 'a/x', upstream: 'x', score: 0.3 },
  { name: 'b/x', upstream: 'x', score: 0.9 },
  { name: 'c/y', upstream: 'y', score: 0.6 },
];

describe('the order of candidates', () => {
  it('is by effective score, then by name', () => {
    const { names } = snapshotOf([...three, { name: 'b/a', score: 0.6 }]);
    expect(names(requestFor('auto'))).toEqual(['b/x', 'b/a', 'c/y', 'a/x']);
  });

  it('puts discovered models behind those of operators, unless they are named, ordered or local', () => {
    const discovered = { origin: 'discovered', score: 0.99 } as const;
    const models = [
      { name: 'a/x', score: 0.1 },
      { name: 'b/found', ...discovered },
      { name: 'c/local', ...discovered, isLocal: true },
    ];
    expect(snapshotOf(models).names(requestFor('auto'))).toEqual(['c/local', 'a/x', 'b/found']);
    expect(snapshotOf(models).names(requestFor('b/found'))).toEqual(['b/found', 'c/local', 'a/x']);
    expect(snapshotOf(models, { modelOrder: ['b/found'] }).names(requestFor('auto'))[0]).toBe('b/found');
    const world = snapshotOf(models);
    world.cool(1);
    world.cool(3);
    expect(world.names(requestFor('auto'))[0]).toBe('b/found');
  });

  it('puts backed-off models behind and those cooling down last', () => {
    const world = snapshotOf(three);
    world.backOff(2);
    world.cool(3);
    expect(world.names(requestFor('auto'))).toEqual(['a/x', 'b/x', 'c/y']);
  });

  it.each([
    ['c/y', true, ['c/y', 'b/x', 'a/x']],
    ['c/y', false, ['c/y']],
    ['a/x,c/y', true, ['a/x', 'c/y', 'b/x']],
    [' a/x , c/y ', false, ['a/x', 'c/y']],
    ['x', true, ['b/x', 'a/x', 'c/y']],
    ['x', false, ['b/x', 'a/x']],
    ['c/y,x', false, ['c/y', 'b/x', 'a/x']],
    ['a/x,auto', false, ['a/x', 'b/x', 'c/y']],
    ['auto', false, ['b/x']],
    ['', true, ['b/x', 'c/y', 'a/x']],
    ['c/y,c/y', false, ['c/y']],
    ['a/x,x,a/x', false, ['a/x', 'b/x']],
    ['a/x,x,c/y', true, ['a/x', 'b/x', 'c/y', 'd/z']],
    ['c/y,,a/x,', false, ['c/y', 'a/x']],
  ])('for "%s" with fallback %s is %j', (model, allowFallback, expected) => {
    const fourth = expected.includes('d/z') ? [{ name: 'd/z', score: 1 }] : [];
    expect(snapshotOf([...three, ...fourth]).names(requestFor(model), allowFallback)).toEqual(expected);
  });

  it.each([
    ',',
    ' , ,',
    Array.from({ length: 33 }, (_, index) => `n${index}`).join(','),
    ','.repeat(5_000_000),
  ])('is rejected for commas without names and for more than 32 names (case %#)', (model) => {
    const invalid = { code: 'INPUT_INVALID', details: { field: 'model' } };
    expect(() => snapshotOf(three).names(requestFor(model))).toThrow(expect.objectContaining(invalid));
  });

  it('accepts 32 names', () => {
    const many = Array.from({ length: 32 }, (_, index) => ({ name: `m${String(index).padStart(2, '0')}` }));
    const wanted = many.map(({ name }) => name).toReversed();
    expect(snapshotOf([...three, ...many]).names(requestFor(wanted.join(',')))).toEqual([
      ...wanted,
      'b/x',
      'c/y',
      'a/x',
    ]);
  });

  it('keeps a named model first even while it is cooling down', () => {
    const world = snapshotOf(three);
    world.cool(1);
    expect(world.names(requestFor('a/x'))).toEqual(['a/x', 'b/x', 'c/y']);
  });

  it('is the best available model for auto without fallback', () => {
    const world = snapshotOf(three);
    world.cool(2);
    expect(world.names(requestFor('auto'), false)).toEqual(['c/y']);
  });
});

describe('an alias', () => {
  const aliases = { fast: 'c/y', 'gpt-4o': 'c/y,auto', x: 'c/y,a/x', broken: 'gone,c/y', lost: 'gone,away' };
  it.each([
    ['fast', false, ['c/y']],
    ['fast', true, ['c/y', 'b/x', 'a/x']],
    ['gpt-4o', false, ['c/y', 'b/x', 'a/x']],
    ['a/x,fast', false, ['a/x', 'c/y']],
    ['x', false, ['c/y', 'a/x']],
    ['broken', false, ['c/y']],
  ])('%s with fallback %s is %j', (model, allowFallback, expected) => {
    expect(snapshotOf(three, { aliases }).names(requestFor(model), allowFallback)).toEqual(expected);
  });

  it('whose models do not exist fails with their names', () => {
    const error = snapshotOf(three, { aliases }).error(requestFor('lost'));
    expect(error).toMatchObject({ code: 'GATEWAY_MODEL_NOT_FOUND', details: { model: 'lost' } });
    expect(error.message).toContain('The alias "lost" stands for gone and away; there is no such model.');
  });

  it('is suggested for a similar name', () => {
    const { error } = snapshotOf(three, { aliases: { 'gpt-4o-mini': 'c/y' } });
    expect(error(requestFor('gpt-4o-mni')).message).toContain('Did you mean gpt-4o-mini?');
  });
});

describe('the configured order', () => {
  it('comes before the score, for models and for providers of a model', () => {
    expect(snapshotOf(three, { modelOrder: ['c/y', 'a/x'] }).names(requestFor('auto'))).toEqual([
      'c/y',
      'a/x',
      'b/x',
    ]);
    expect(snapshotOf(three, { modelOrder: ['x'] }).names(requestFor('auto'))).toEqual(['b/x', 'a/x', 'c/y']);
    expect(snapshotOf(three, { modelOrder: ['gone', 'a/x'] }).names(requestFor('auto'), false)).toEqual([
      'a/x',
    ]);
  });

  it('comes after the names in the request', () => {
    expect(snapshotOf(three, { modelOrder: ['a/x'] }).names(requestFor('c/y'))).toEqual([
      'c/y',
      'a/x',
      'b/x',
    ]);
  });

  it('does not keep a model in front that is cooling down, in backoff or too small', () => {
    const modelOrder = ['small', 'a/x', 'c/y'];
    const world = snapshotOf([...three, { name: 'small', capabilities: { contextTokens: 10 } }], {
      modelOrder,
    });
    world.cool(1);
    world.backOff(3);
    expect(world.names(requestFor('auto'))).toEqual(['b/x', 'c/y', 'small', 'a/x']);
  });
});

describe('the filter', () => {
  it('drops models that are disabled or have no key or URL', () => {
    const { names } = snapshotOf([
      ...three,
      { name: 'off', isActive: false },
      { name: 'keyless', keys: 0 },
      { name: 'homeless', baseUrl: 'https://x.example/{ACCOUNT_ID}/v1' },
    ]);
    expect(names(requestFor('auto'))).toEqual(['b/x', 'c/y', 'a/x']);
  });

  it.each([
    ['streaming', { isStream: true }],
    ['tools', { requires: { tools: true, json: false, vision: false } }],
    ['json', { requires: { tools: false, json: true, vision: false } }],
    ['vision', { requires: { tools: false, json: false, vision: true } }],
  ])('drops models that do not support %s', (capability, request) => {
    const { names } = snapshotOf([...three, { name: 'poor', capabilities: { [capability]: false } }]);
    expect(names(requestFor('auto', request))).not.toContain('poor');
    expect(names(requestFor('auto'))).toContain('poor');
  });
});

describe('models that may be too small for the request', () => {
  const sizes: readonly ScriptedModel[] = [
    { name: 'small', score: 0.9, capabilities: { contextTokens: 1_000 } },
    { name: 'medium', score: 0.8, capabilities: { contextTokens: 4_000 } },
    { name: 'large', score: 0.1, capabilities: { contextTokens: 8_000 } },
    { name: 'unknown', score: 0.2 },
  ];
  const order = (estimatedTokens: number, differing: Partial<CompletionRequest> = {}) =>
    snapshotOf(sizes).names(requestFor('auto', { estimatedTokens, ...differing }));

  it('come last, those that lack least first, and are never left out', () => {
    expect(order(1_000)).toEqual(['small', 'medium', 'unknown', 'large']);
    expect(order(1_001)).toEqual(['medium', 'unknown', 'large', 'small']);
    expect(order(9_000)).toEqual(['unknown', 'large', 'medium', 'small']);
  });

  it('come last, too, when the caller allows a longer completion than they have', () => {
    const world = snapshotOf([
      { name: 'brief', score: 0.9, capabilities: { maxOutputTokens: 4_096 } },
      { name: 'other', score: 0.1 },
    ]);
    const estimate = { estimatedPromptTokens: 10, estimatedTokens: 8_202 };
    expect(world.names(requestFor('auto', estimate))).toEqual(['other', 'brief']);
    expect(world.names(requestFor('auto', { ...estimate, estimatedTokens: 4_106 }))).toEqual([
      'brief',
      'other',
    ]);
  });

  it('keep their place when they are named', () => {
    const { names } = snapshotOf(sizes);
    const long = { estimatedTokens: 9_000 };
    expect(names(requestFor('small', long), false)).toEqual(['small']);
    expect(names(requestFor('small,large', long))).toEqual(['small', 'large', 'unknown', 'medium']);
  });

  it('come after models in backoff and before those cooling down', () => {
    const world = snapshotOf(sizes);
    world.backOff(2);
    world.cool(4);
    expect(world.names(requestFor('auto', { estimatedTokens: 3_000 }))).toEqual([
      'large',
      'medium',
      'small',
      'unknown',
    ]);
  });
});

describe('embeddings', () => {
  const embeddings = { embeddings: true };
  const embeddingRequest = (model: string) => requestFor(model, { operation: 'embeddings' });
  const vectors: readonly ScriptedModel[] = [
    { name: 'chat', score: 1 },
    { name: 'a/e', upstream: 'e', capabilities: embeddings, score: 0.2 },
    { name: 'b/e', upstream: 'e', capabilities: embeddings, score: 0.4 },
    { name: 'c/f', upstream: 'f', capabilities: embeddings, score: 0.9 },
  ];

  it.each([
    ['a/e', true, ['a/e', 'b/e']],
    ['a/e', false, ['a/e']],
    ['e', true, ['b/e', 'a/e']],
    ['c/f', true, ['c/f']],
    ['b/e,a/e', true, ['b/e', 'a/e']],
    ['a/e,e', false, ['a/e', 'b/e']],
    ['a/e,auto', true, ['a/e', 'b/e']],
    ['auto', true, ['b/e', 'a/e']],
    ['auto', false, ['b/e']],
  ])('for "%s" with fallback %s use one model: %j', (model, allowFallback, expected) => {
    expect(snapshotOf(vectors).names(embeddingRequest(model), allowFallback)).toEqual(expected);
  });

  it.each(['c/f,a/e', 'a/e,c/f,auto', 'e,f'])(
    'with names of different models, "%s", are rejected',
    (model) => {
      const { names } = snapshotOf(vectors);
      for (const allowFallback of [true, false])
        expect(() => names(embeddingRequest(model), allowFallback)).toThrow(
          expect.objectContaining({ code: 'INPUT_INVALID', details: { field: 'model' } }),
        );
    },
  );

  it('are never of a discovered model with auto, which the next list would change', () => {
    const found = { origin: 'discovered', capabilities: embeddings } as const;
    const offered = [
      { name: 'a/e', upstream: 'e', capabilities: embeddings },
      { name: 'b/f', upstream: 'f', ...found },
      { name: 'c/f', upstream: 'f', ...found },
    ];
    expect(snapshotOf(offered).names(embeddingRequest('auto'))).toEqual(['a/e']);
    expect(snapshotOf(offered).names(embeddingRequest('f'))).toEqual(['b/f', 'c/f']);
  });

  it('with auto use the same model regardless of scores, backoff and cooldowns', () => {
    const world = snapshotOf(vectors);
    for (const id of [2, 3]) {
      world.backOff(id);
      world.cool(id);
    }
    expect(world.names(embeddingRequest('auto'))).toEqual(['b/e', 'a/e']);
  });

  it('use another provider of the same model when the named one has no key', () => {
    const keyless = vectors.map((model) => (model.name === 'a/e' ? { ...model, keys: 0 } : model));
    expect(snapshotOf(keyless).names(embeddingRequest('a/e'))).toEqual(['b/e']);
  });

  it('never use another model when this one has no key anywhere', () => {
    const keyless = vectors.map((model) => (model.upstream === 'e' ? { ...model, keys: 0 } : model));
    expect(snapshotOf(keyless).error(embeddingRequest('a/e'))).toMatchObject({
      code: 'GATEWAY_NOT_CONFIGURED',
      details: { envVars: ['KEY_2', 'KEY_3'] },
    });
  });
});

describe('when there is no candidate', () => {
  it('reports an unknown name with similar ones', () => {
    const { error } = snapshotOf([
      { name: 'groq/llama-3.3-70b-versatile', upstream: 'llama-3.3-70b-versatile' },
    ]);
    const unknown = error(requestFor('llama-3.3-70b'));
    expect(unknown.code).toBe('GATEWAY_MODEL_NOT_FOUND');
    expect(unknown.message).toContain(
      'Did you mean llama-3.3-70b-versatile or groq/llama-3.3-70b-versatile?',
    );
    expect(error(requestFor('zzz')).message).not.toContain('Did you mean');
    expect(error(requestFor('zzz'.repeat(10_000))).message.length).toBeLessThan(400);
  });

  it('reports one unknown name among known ones', () => {
    expect(snapshotOf(three).error(requestFor('a/x,unknown')).code).toBe('GATEWAY_MODEL_NOT_FOUND');
  });

  it('lists the variables that would help when no model has a key', () => {
    const { error } = snapshotOf([
      { name: 'a', keys: 0, envVar: 'GROQ_API_KEY' },
      { name: 'b', baseUrl: 'https://x/{CLOUDFLARE_ACCOUNT_ID}/v1' },
      { name: 'blind', keys: 0, envVar: 'BLIND_API_KEY', capabilities: { vision: false } },
    ]);
    const vision = { requires: { tools: false, json: false, vision: true } };
    const missing = error(requestFor('auto', vision));
    expect(missing.code).toBe('GATEWAY_NOT_CONFIGURED');
    expect(missing.message).toContain('one of CLOUDFLARE_ACCOUNT_ID or GROQ_API_KEY');
    expect(missing.details).toEqual({ envVars: ['CLOUDFLARE_ACCOUNT_ID', 'GROQ_API_KEY'] });
  });

  it('distinguishes variables needed together from alternatives', () => {
    const models = catalog
      .filter(({ provider }) => ['groq', 'cloudflare', 'ollama'].includes(provider))
      .map((definition, index): Model => {
        return {
          ...definition,
          id: index + 1,
          isActive: true,
          origin: 'built-in',
          createdAt: new Date(0),
          missedLists: 0,
          retiredAt: null,
        };
      });
    const message = (env: Record<string, string>) =>
      noCandidateError(models, requestFor('auto'), new ProviderKeys(env), models).message;
    expect(message({})).toContain(
      'Set one of CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID, ' +
        'GROQ_API_KEY, OLLAMA_API_KEY or OLLAMA_BASE_URL in the environment',
    );
    const cloudflare = models.filter(({ provider }) => provider === 'cloudflare');
    const half = new ProviderKeys({ CLOUDFLARE_API_TOKEN: 'x' });
    expect(noCandidateError(cloudflare, requestFor('auto'), half, models).message).toContain(
      'Set CLOUDFLARE_ACCOUNT_ID in the environment',
    );
  });

  it('reports that a named model is disabled', () => {
    const { error } = snapshotOf([...three, { name: 'off', isActive: false }]);
    expect(error(requestFor('off'), false)).toMatchObject({
      code: 'GATEWAY_NOT_CONFIGURED',
      details: { disabled: ['off'] },
    });
  });

  it('reports that there is no model at all', () => {
    expect(snapshotOf([]).error(requestFor('auto')).message).toContain('headworks models create');
  });

  it('names what configured models do not support, and the variables of those that do', () => {
    const { error } = snapshotOf([
      { name: 'poor', capabilities: { vision: false } },
      { name: 'rich', keys: 0, envVar: 'RICH_API_KEY' },
    ]);
    const unable = error(requestFor('auto', { requires: { tools: true, json: false, vision: true } }));
    expect(unable).toMatchObject({
      code: 'GATEWAY_CAPABILITY_UNSUPPORTED',
      details: { missing: ['vision'], envVars: ['RICH_API_KEY'] },
    });
    expect(unable.message).toContain('supports images.');
    expect(unable.message).toContain('RICH_API_KEY');
  });

  it('reports how a model declares an endpoint that none serves', () => {
    const { error } = snapshotOf([{ name: 'a' }]);
    expect(error(requestFor('a', { operation: 'rerank' })).message).toBe(
      'No configured model that the request allows serves /v1/rerank. Name one that does, or create it with --endpoints rerank.',
    );
  });

  it('reports the wrong kind of a named model and suggests others', () => {
    const isEmbedding = { capabilities: { embeddings: true } };
    const embeddings = (model: string) => requestFor(model, { operation: 'embeddings' });
    const { error } = snapshotOf([
      { name: 'a' },
      { name: 'vectors', ...isEmbedding },
      { name: 'keyless', keys: 0, envVar: 'RICH_API_KEY', ...isEmbedding },
    ]);
    expect(error(embeddings('a'))).toMatchObject({
      code: 'GATEWAY_CAPABILITY_UNSUPPORTED',
      message: '"a" is not an embedding model. Use vectors.',
      details: { missing: ['embeddings'], envVars: [] },
    });
    expect(error(requestFor('vectors,keyless'), false).message).toBe(
      '"vectors" and "keyless" are not chat models. Use a.',
    );
    const needsKey = snapshotOf([
      { name: 'a' },
      { name: 'keyless', keys: 0, envVar: 'RICH_API_KEY', ...isEmbedding },
    ]);
    expect(needsKey.error(embeddings('a'))).toMatchObject({
      message: '"a" is not an embedding model. Suitable models need RICH_API_KEY to be set.',
      details: { envVars: ['RICH_API_KEY'] },
    });
  });

  it('reports capabilities that no model has together', () => {
    const { error } = snapshotOf([
      { name: 'a', capabilities: { vision: false } },
      { name: 'b', capabilities: { tools: false } },
    ]);
    const unable = error(requestFor('auto', { requires: { tools: true, json: false, vision: true } }));
    expect(unable.message).toContain('chat, tools and images together');
  });
});
