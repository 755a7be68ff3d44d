// The score formulas and their explanations.
import { describe, expect, it } from 'vitest';
import { explainScore, reliability, scoreOf, typicalMs } from './scores.ts';

const emptyTally = { requests: 0, successes: 0, averageSeconds: 0, typicalSeconds: 0 };

const stats = (requests: number, successes: number, typicalSeconds = 1) => ({
  requests,
  successes,
  averageSeconds: 17,
  typicalSeconds,
});

describe('the time that a score uses', () => {
  const of = (durationMs: number, completionTokens: number, firstTokenMs: number | null = null) =>
    typicalMs({ durationMs, completionTokens, firstTokenMs });

  it('is that of the first 200 tokens: a long response at the same speed takes no longer', () => {
    expect(of(2_500, 200, 500)).toBe(2_500);
    expect(of(20_500, 2_000, 500)).toBe(2_500);
    expect(of(20_000, 2_000)).toBe(2_000);
  });

  it('is the whole time of shorter responses, and of those without tokens', () => {
    expect(of(900, 20, 500)).toBe(900);
    expect(of(900, 20)).toBe(900);
    expect(of(900, 0)).toBe(900);
  });

  it('is longer for a model with a late first token, or with few tokens per second', () => {
    expect(of(9_500, 2_000, 8_500)).toBe(8_600);
    expect(of(60_000, 200, 500)).toBe(60_000);
    // Clocks are read at different moments.
    expect(of(400, 2_000, 500)).toBe(500);
  });
});

describe('score', () => {
  it.each([
    ['nothing known', emptyTally, 0.5],
    ['all succeed at once', stats(10, 10, 0), 1],
    ['nothing succeeds', stats(10, 0, 0), 0],
    ['half succeed in two seconds', stats(10, 5, 2), 0.6 * 0.5 + 0.4 * 0.8],
    ['slower than ten seconds earns nothing for speed', stats(4, 4, 25), 0.6],
  ])('%s: %j scores %d', (_, given, expected) => {
    expect(reliability(given)).toBeCloseTo(expected, 12);
  });

  it('uses the recent score from three recent requests on', () => {
    const longTerm = stats(100, 100, 0);
    expect(scoreOf(longTerm, stats(2, 0), 7)).toMatchObject({ effectiveScore: 1, recentReliabilityScore: 0 });
    expect(scoreOf(longTerm, stats(3, 0), 7)).toMatchObject({ effectiveScore: 0, reliabilityScore: 1 });
    expect(scoreOf(longTerm, emptyTally, 7)).toMatchObject({
      effectiveScore: 1,
      recentReliabilityScore: null,
    });
  });

  it('reports which one it uses and why', () => {
    expect(scoreOf(emptyTally, emptyTally, 7).decisionReason).toContain('prior 0.5');
    expect(scoreOf(stats(9, 9), stats(2, 2), 7).decisionReason).toMatch(
      /^Long-term: only 2 in the last 7 days/,
    );
    expect(scoreOf(stats(9, 9), stats(5, 2), 1).decisionReason).toMatch(
      /^Recent: 5 requests in the last day/,
    );
  });

  it('explains itself with its numbers', () => {
    const steps = explainScore(scoreOf(stats(10, 5, 2), stats(4, 0), 7));
    expect(steps.join('\n')).toContain(
      '5 of 10 requests succeeded, in 2 s on average for up to 200 tokens: 0.6 × 0.5 + 0.4 × max(0, 1 − 2 / 10) = 0.62',
    );
    expect(steps.join('\n')).toContain('0 of 4 requests succeeded, so the score is 0.');
    expect(steps.at(-1)).toContain('Effective score: 0.');
  });
});
