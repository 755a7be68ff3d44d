// What follows from a provider's list of models.
import { describe, expect, it } from 'vitest';
import { exampleModel } from '../../../test/support/gateway/examples.ts';
import type { Model, ModelDefinition } from '../types.ts';
import { matchesPattern, planList } from './list-effects.ts';
import type { ListedModel } from './model-list.ts';
import type { DiscoverySettings, ProviderDefinition } from './provider-definition.ts';
import { checkProviderDefinition } from './provider-definition.ts';

function demo(discovery: Partial<DiscoverySettings> = {}) {
  const checked = checkProviderDefinition({
    name: 'demo',
    baseUrl: 'https://demo.example/v1',
    envVar: 'DEMO_API_KEY',
    supports: ['tools'],
    discovery,
  });
  if ('problems' in checked) throw new Error(checked.problems.join());
  return checked.value as ProviderDefinition & { readonly discovery: DiscoverySettings };
}

const listed = (id: string, change: Partial<ListedModel> = {}): ListedModel => ({
  id,
  aliases: [],
  kind: 'chat',
  createdAt: null,
  contextTokens: null,
  maxOutputTokens: null,
  features: {},
  price: null,
  isDeprecated: false,
  ...change,
});

const known = (
  id: number,
  upstreamModel: string,
  change: Partial<Model> = {},
  definition: Partial<ModelDefinition> = {},
): Model => ({
  ...exampleModel(`demo/${upstreamModel}`, { upstreamModel, price: null, ...definition }),
  id,
  origin: 'discovered',
  isActive: true,
  createdAt: new Date(0),
  missedLists: 0,
  retiredAt: null,
  ...change,
});

const retired = { retiredAt: new Date(1), isActive: false };
const embedding = { capabilities: { ...exampleModel('x').capabilities, embeddings: true, tools: false } };

function plan(
  models: readonly ListedModel[],
  existing: readonly Model[] = [],
  { limit = 8, isComplete = true, ...discovery }: Partial<DiscoverySettings> & { isComplete?: boolean } = {},
) {
  const { effects, changes } = planList(demo(discovery), { models, isComplete }, existing, limit ?? 8);
  return { ...effects, changes: changes.map(({ model, change }) => `${change} ${model}`), details: changes };
}

describe('a list', () => {
  it('adds models with what it says about them, and what the provider supports otherwise', () => {
    const price = { inputPerMillion: 1, outputPerMillion: 2 };
    const { definitions, details } = plan([
      listed('big', { contextTokens: 1_000, maxOutputTokens: 100, features: { vision: true }, price }),
      listed('small', { features: { tools: false } }),
      listed('vectors', { kind: 'embeddings' }),
      listed('painter', { kind: 'other' }),
    ]);
    expect(definitions).toMatchObject([
      {
        name: 'demo/big',
        provider: 'demo',
        baseUrl: 'https://demo.example/v1',
        upstreamModel: 'big',
        envVar: 'DEMO_API_KEY',
        price,
        capabilities: {
          streaming: true,
          tools: true,
          vision: true,
          json: false,
          contextTokens: 1_000,
          maxOutputTokens: 100,
        },
      },
      { name: 'demo/small', price: null, capabilities: { tools: false, contextTokens: null } },
      { name: 'demo/vectors', capabilities: { embeddings: true, streaming: false, tools: false } },
    ]);
    expect(details[0]).toEqual({
      model: 'demo/big',
      change: 'added',
      detail: 'chat, context 1000, $1 / $2 per million tokens',
    });
  });

  it('adds no more than the limit: preferred ones first, then the newest, then the largest', () => {
    const models = [
      listed('old', { createdAt: 1, contextTokens: 9 }),
      listed('new', { createdAt: 9 }),
      listed('wide', { contextTokens: 99 }),
      listed('narrow', { contextTokens: 5 }),
      listed('unknown'),
      listed('cheap:free'),
    ];
    const order = ['cheap:free', 'new', 'old', 'wide', 'narrow', 'unknown'];
    for (const limit of [1, 3, 6])
      expect(plan(models, [], { limit, prefer: ['*:free'] }).changes).toEqual(
        order.slice(0, limit).map((id) => `added demo/${id}`),
      );
    expect(plan(models, [], { limit: 0 }).changes).toEqual([]);
    const vectors = [1, 2, 3].map((each) => listed(`v${each}`, { kind: 'embeddings' }));
    expect(plan(vectors, [], { limit: 8 }).changes).toEqual(['added demo/v1', 'added demo/v2']);
  });

  it('adds only what the settings include, and names that can be sent', () => {
    const models = [listed('gpt-5'), listed('gpt-5-pro'), listed('o9'), listed('with space'), listed('a,b')];
    expect(plan(models, [], { include: ['gpt-*'], exclude: ['*-pro'] }).changes).toEqual([
      'added demo/gpt-5',
    ]);
    expect(plan(models).changes).toEqual(['added demo/gpt-5', 'added demo/gpt-5-pro', 'added demo/o9']);
  });

  it('adds a model once, whatever its versions and aliases, and none that is deprecated', () => {
    expect(
      plan([
        listed('gpt-4o-2024-08-06', { createdAt: 9 }),
        listed('gpt-4o', { createdAt: 1 }),
        listed('small-2506', { aliases: ['small-latest'] }),
        listed('small-latest', { aliases: ['small-2506'] }),
        listed('only-2024-08-06'),
        listed('leaving', { isDeprecated: true }),
        listed('gpt-4o'),
      ]).changes,
    ).toEqual(['added demo/gpt-4o', 'added demo/small-2506', 'added demo/only-2024-08-06']);
  });

  it('touches no configured and no added model, and adds none of their names', () => {
    const existing = [
      known(1, 'mine', { origin: 'custom' }),
      known(2, 'set', { origin: 'config' }),
      { ...known(3, 'x', { origin: 'custom' }), name: 'demo/taken', provider: 'another' },
    ];
    expect(plan([listed('mine'), listed('set'), listed('taken'), listed('new')], existing)).toMatchObject({
      changes: ['added demo/new'],
      states: [],
      facts: [],
    });
    expect(plan([listed('new')], existing)).toMatchObject({ changes: ['added demo/new'], states: [] });
  });

  it('changes sizes, price and features of discovered models, and keeps what it no longer says', () => {
    const price = { inputPerMillion: 1, outputPerMillion: 2 };
    const before = known(1, 'big', {}, { price });
    expect(plan([listed('big', { features: { tools: true } })], [before]).changes).toEqual([]);
    const dearer = { inputPerMillion: 3, outputPerMillion: 4 };
    const { definitions, details } = plan(
      [listed('big', { price: dearer, contextTokens: 5, features: { vision: true } })],
      [before],
    );
    expect(definitions).toMatchObject([{ name: 'demo/big', price: dearer }]);
    expect(details).toEqual([
      {
        model: 'demo/big',
        change: 'changed',
        detail:
          'price: $1 / $2 per million tokens → $3 / $4 per million tokens, context: unknown → 5, vision: yes',
      },
    ]);
  });

  it('changes only sizes and price of built-in models', () => {
    const price = { inputPerMillion: 3, outputPerMillion: 4 };
    const builtIn = known(1, 'big', { origin: 'built-in' });
    expect(
      plan([listed('big', { price, contextTokens: 5, features: { tools: false, vision: true } })], [builtIn]),
    ).toMatchObject({
      definitions: [],
      facts: [{ id: 1, facts: { capabilities: { contextTokens: 5 }, price } }],
      changes: ['changed demo/big'],
    });
  });

  it('retires a model that the second list in a row does not have', () => {
    const list = [listed('other')];
    for (const origin of ['discovered', 'built-in'] as const) {
      expect(plan(list, [known(1, 'gone', { origin })])).toMatchObject({
        states: [{ id: 1, missedLists: 1, isRetired: false }],
        changes: ['missing demo/gone', 'added demo/other'],
      });
      expect(plan(list, [known(1, 'gone', { origin, missedLists: 1 })])).toMatchObject({
        states: [{ id: 1, missedLists: 2, isRetired: true }],
        changes: ['retired demo/gone', 'added demo/other'],
      });
      expect(plan(list, [known(1, 'gone', { origin, missedLists: 2, ...retired })]).states).toEqual([]);
    }
  });

  it('finds a model by other writing, by an alias and by its dated version', () => {
    const existing = [
      known(1, 'Meta-Llama', { origin: 'built-in' }),
      known(2, 'small-latest', { origin: 'built-in' }),
      known(3, 'claude-haiku-4-5', { origin: 'built-in' }),
      known(4, 'llama3.2', { origin: 'built-in' }),
    ];
    const list = [
      listed('meta-llama'),
      listed('small-2506', { aliases: ['small-latest'] }),
      listed('claude-haiku-4-5-20251001'),
      listed('llama3.2:latest'),
    ];
    expect(plan(list, existing)).toMatchObject({ changes: [], states: [] });
  });

  it('resets the count of misses when the model is listed again, and brings back a retired one', () => {
    expect(plan([listed('a')], [known(1, 'a', { missedLists: 1 })])).toMatchObject({
      states: [{ id: 1, missedLists: 0, isRetired: false }],
      changes: [],
    });
    for (const origin of ['discovered', 'built-in'] as const)
      expect(plan([listed('a')], [known(1, 'a', { origin, missedLists: 2, ...retired })])).toMatchObject({
        states: [{ id: 1, missedLists: 0, isRetired: false }],
        changes: ['returned demo/a'],
      });
  });

  it('retires nothing if it is empty, incomplete, or without models of that kind', () => {
    const existing = [
      known(1, 'chat', { missedLists: 1 }),
      known(2, 'vectors', { missedLists: 1 }, embedding),
    ];
    expect(plan([], existing).states).toEqual([]);
    expect(plan([listed('painter', { kind: 'other' })], existing).states).toEqual([]);
    expect(plan([listed('new')], existing, { isComplete: false }).states).toEqual([]);
    expect(plan([listed('new')], existing).states).toEqual([{ id: 1, missedLists: 2, isRetired: true }]);
  });

  it('keeps models that newer ones displace, up to the limit', () => {
    const existing = ['a', 'b', 'c', 'd'].map((id, index) => known(index + 1, id));
    const list = ['n1', 'n2', 'a', 'b', 'c', 'd'].map((id, index) => listed(id, { createdAt: 100 - index }));
    const { changes, states } = plan(list, existing, { limit: 2 });
    expect(changes).toEqual(['retired demo/c', 'retired demo/d', 'added demo/n1', 'added demo/n2']);
    expect(states).toEqual([3, 4].map((id) => ({ id, missedLists: 0, isRetired: true })));
    // They do not come back with the next list, unless they are among the best again.
    const after = [
      ...existing.slice(0, 2),
      known(3, 'c', retired),
      known(4, 'd', retired),
      known(5, 'n1'),
      known(6, 'n2'),
    ];
    expect(plan(list, after, { limit: 2 }).changes).toEqual([]);
    expect(plan(list, after, { limit: 2, prefer: ['c'] }).changes).toContain('returned demo/c');
  });

  it('retires discovered models that the settings exclude by now', () => {
    expect(plan([listed('a'), listed('b')], [known(1, 'a')], { exclude: ['a'] })).toMatchObject({
      changes: ['retired demo/a', 'added demo/b'],
    });
  });
});

it.each([
  ['gpt-4o', 'gpt-4o', true],
  ['GPT-4o', 'gpt-*', true],
  ['gpt-4o', '*', true],
  ['gpt-4o', '*4*o', true],
  ['gpt-4o', 'gpt-4o*', true],
  ['gpt-4o', 'gpt', false],
  ['gpt-4o', '*mini', false],
  ['abab', 'ab*ab*ab', false],
  ['aba', 'ab*ba', false],
])('the name %s and the pattern %s match: %s', (name, pattern, expected) => {
  expect(matchesPattern(name, pattern)).toBe(expected);
});
