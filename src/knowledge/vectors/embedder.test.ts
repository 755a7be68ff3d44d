import { describe, expect, it } from 'vitest';
import { CoreError, withTimeout } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import type { Embedder } from './embedder.ts';
import { GuardedEmbedder, blendOf, cautiousBlend, equalBlend } from './embedder.ts';

const { signal } = new AbortController();

/** Runs `embed` with a timeout of 10 s, and resolves when its expectation has been checked. */
async function embedWithTimeout(embed: (signal: AbortSignal) => Promise<void>, clock: VirtualClock) {
  let checked: Promise<void> | undefined;
  const work = (within: AbortSignal) => (checked = embed(within));
  await withTimeout(work, { clock, timeoutMs: 10_000 }).catch(() => undefined);
  await checked;
}

function embedding(embed: Embedder['embed']) {
  const clock = new VirtualClock();
  const calls: number[] = [];
  let back = 0;
  const embedder = new GuardedEmbedder(
    {
      model: 'm',
      blend: cautiousBlend,
      embed: (texts, given) => {
        calls.push(texts.length);
        return embed(texts, given);
      },
    },
    { clock, cooldownMs: 30_000, onRecovered: () => (back += 1) },
  );
  return { embedder, clock, calls, timesBack: () => back };
}

describe('GuardedEmbedder', () => {
  it('returns vectors of length one', async () => {
    const { embedder } = embedding(async () => [Float32Array.of(3, 4)]);
    expect(await embedder.embed(['a'], signal)).toEqual([Float32Array.of(0.6, 0.8)]);
    expect(await embedder.embed([], signal)).toEqual([]);
  });

  it.each([
    ['too few', [Float32Array.of(1)]],
    ['of different lengths', [Float32Array.of(1), Float32Array.of(1, 2)]],
    ['without direction', [Float32Array.of(0), Float32Array.of(1)]],
    ['not of numbers', [Float32Array.of(Number.NaN), Float32Array.of(1)]],
    ['empty', [new Float32Array(), new Float32Array()]],
  ])('rejects vectors that are %s', async (_, vectors) => {
    const { embedder } = embedding(async () => vectors);
    await expect(embedder.embed(['a', 'b'], signal)).rejects.toMatchObject({
      code: 'KNOWLEDGE_EMBEDDING_FAILED',
    });
  });

  it('does not call a failed embedder during its cooldown, then calls it again', async () => {
    let isUp = false;
    const { embedder, clock, calls } = embedding(async () => {
      if (!isUp) throw new Error('no answer');
      return [Float32Array.of(1)];
    });
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('no answer');
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('called again in 30 s');
    expect(calls).toHaveLength(1);
    isUp = true;
    await clock.advance(30_000);
    expect(await embedder.embed(['a'], signal)).toHaveLength(1);
    expect(await embedder.embed(['a'], signal)).toHaveLength(1);
  });

  it('reports a timeout whatever error the aborted call throws', async () => {
    const { embedder, clock } = embedding(async (_, given) => {
      await new Promise((resolve) => given.addEventListener('abort', resolve));
      throw new CoreError('CANCELED', 'The caller went away before a model had answered.');
    });
    const embed = (within: AbortSignal) =>
      expect(embedder.embed(['a'], within)).rejects.toMatchObject({
        code: 'KNOWLEDGE_EMBEDDING_FAILED',
        message: 'The embedder m did not respond in time.',
      });
    const failing = embedWithTimeout(embed, clock);
    await clock.advance(10_000);
    await failing;
  });

  it('calls the embedder at once after resetCooldown and reports its recovery once', async () => {
    let isUp = false;
    const { embedder, calls, timesBack } = embedding(async () => {
      if (!isUp) throw new Error('no answer');
      return [Float32Array.of(1)];
    });
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('no answer');
    embedder.resetCooldown();
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('no answer');
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('called again in 30 s');
    expect([calls.length, timesBack()]).toEqual([2, 0]);
    isUp = true;
    embedder.resetCooldown();
    await embedder.embed(['a'], signal);
    await embedder.embed(['a'], signal);
    expect([calls.length, timesBack()]).toEqual([4, 1]);
  });

  it("starts no cooldown after a rejected text or the caller's abort", async () => {
    const refused = embedding(async () => {
      throw new CoreError('INPUT_INVALID', 'too long');
    });
    await expect(refused.embedder.embed(['a'], signal)).rejects.toMatchObject({ isRetryable: false });
    await expect(refused.embedder.embed(['a'], signal)).rejects.toThrow('too long');
    expect(refused.calls).toHaveLength(2);
    const left = embedding(async (_, given) => {
      given.throwIfAborted();
      return [];
    });
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(left.embedder.embed(['a'], gone)).rejects.toThrow('gone');
    await expect(left.embedder.embed(['a'], gone)).rejects.toThrow('gone');
    expect(left.calls).toHaveLength(2);
  });

  it('starts a cooldown after a timeout', async () => {
    const { embedder, clock, calls } = embedding(
      (_, given) =>
        new Promise((_resolve, reject) =>
          given.addEventListener('abort', () => reject(given.reason as Error)),
        ),
    );
    const embed = (within: AbortSignal) =>
      expect(embedder.embed(['a'], within)).rejects.toMatchObject({
        code: 'KNOWLEDGE_EMBEDDING_FAILED',
        isRetryable: true,
      });
    const waiting = embedWithTimeout(embed, clock);
    await clock.advance(10_000);
    await waiting;
    await expect(embedder.embed(['a'], signal)).rejects.toThrow('called again');
    expect(calls).toHaveLength(1);
  });
});

describe('blendOf', () => {
  it('returns the setting, else the default of the model, else a small weight', () => {
    expect(blendOf('anything', 'rrf')).toEqual(equalBlend);
    expect(blendOf('openai/text-embedding-3-small', '0.35')).toMatchObject({ kind: 'rerank', weight: 0.35 });
    expect(blendOf('openai/text-embedding-3-small', null)).toEqual(equalBlend);
    expect(blendOf('ollama/nomic-embed-text', null)).toEqual(equalBlend);
    expect(blendOf('use-lite-en-0.2.0', null)).toMatchObject({ kind: 'rerank', weight: 0.07 });
    expect(blendOf('acme/unknown', null)).toEqual(cautiousBlend);
  });
});
