import { describe, expect, it } from 'vitest';
import type { Price, TokenUsage } from '../types.ts';
import { costOf } from './cost.ts';

const chat = { api: 'chat', operation: 'chat' } as const;
const usage = (change: Partial<TokenUsage> = {}): TokenUsage => ({
  prompt: 1_000_000,
  completion: 500_000,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  isEstimated: false,
  ...change,
});
const price: Price = {
  inputPerMillion: 3,
  outputPerMillion: 15,
  cacheReadPerMillion: 0.3,
  cacheWritePerMillion: 3.75,
};

describe('costOf', () => {
  it('multiplies prompt and completion with their prices', () => {
    expect(costOf(price, usage(), chat)).toBeCloseTo(3 + 7.5, 12);
  });

  it('is 0 for counting tokens, whatever the price', () => {
    const count = { api: null, operation: 'messages/count_tokens' } as const;
    for (const each of [price, null]) expect(costOf(each, usage(), count)).toBe(0);
  });

  it('prices cached tokens separately, as part of the prompt', () => {
    const cached = usage({ cacheRead: 600_000, cacheWrite: 100_000, completion: 0 });
    expect(costOf(price, cached, chat)).toBeCloseTo(0.3 * 3 + 0.6 * 0.3 + 0.1 * 3.75, 12);
  });

  it('prices cached tokens as others where they have no price of their own', () => {
    const plain = { inputPerMillion: 3, outputPerMillion: 15 };
    const cached = usage({ cacheRead: 600_000, cacheWrite: 100_000, completion: 0 });
    expect(costOf(plain, cached, chat)).toBeCloseTo(3, 12);
  });

  it('counts reasoning tokens once, as completion tokens', () => {
    expect(costOf(price, usage({ prompt: 0, reasoning: 400_000 }), chat)).toBeCloseTo(7.5, 12);
  });

  it('never becomes negative for inconsistent usage', () => {
    expect(costOf(price, usage({ prompt: 0, completion: 0, cacheRead: 1_000_000 }), chat)).toBeCloseTo(
      0.3,
      12,
    );
  });

  it('is unknown without a price, without usage, and for estimated tokens of other endpoints', () => {
    expect(costOf(null, usage(), chat)).toBeNull();
    expect(costOf(price, undefined, chat)).toBeNull();
    const estimated = usage({ isEstimated: true });
    expect(costOf(price, estimated, { api: null, operation: 'audio/speech' })).toBeNull();
    expect(costOf(price, estimated, chat)).not.toBeNull();
    expect(costOf(price, estimated, { api: null, operation: 'embeddings' })).not.toBeNull();
  });

  it('is zero for a model whose price is zero', () => {
    expect(costOf({ inputPerMillion: 0, outputPerMillion: 0 }, usage(), chat)).toBe(0);
  });
});
