import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { systemIds, CoreError, withTimeout } from '../../core/index.ts';
import type { EmbeddersDeps, EmbeddingGateway, Embedder } from './embedders.ts';
import { openEmbedders, GuardedEmbedder, blendOf, cautiousBlend, equalBlend } from './embedders.ts';

const { signal } = new AbortController();

/** A gateway with these models (`+name` embeds) that returns for each text a vector of its length. */
function gatewayWith(...names: readonly string[]) {
  const sent: unknown[] = [];
  const models = names.map((name, index) => ({
    id: names.length - index,
    name: name.replace('+', ''),
    capabilities: { embeddings: name.startsWith('+') },
  }));
  const gateway = {
    defaults: { maxBodyBytes: 1, deadlineMs: 1_000, waitMs: 0 },
    models: { listCallable: () => models },
    isDown: false,
    client: {
      embed: async ({ model, texts }: { model: string; texts: readonly string[] }) => {
        sent.push({ model, input: texts });
        if (gateway.isDown) throw new Error('no model responds');
        return texts.map((text) => Float32Array.of(text.length, 0));
      },
    },
  };
  return { gateway: gateway as unknown as EmbeddingGateway & { isDown: boolean }, sent, models };
}

function embedders(
  gateway: EmbeddingGateway,
  options: Partial<EmbeddersDeps['options']> = {},
  onModelChanged: () => void = () => undefined,
) {
  const usual = {
    embedder: 'auto',
    embeddingModel: null,
    embeddingBlend: null,
    cooldownSeconds: 30,
  } as const;
  const clock = new VirtualClock();
  return openEmbedders({
    gateway,
    clock,
    ids: systemIds,
    onModelChanged,
    options: { ...usual, ...options },
  });
}

describe('openEmbedders', () => {
  it('has no embedder when none is configured or no model can embed', () => {
    const { gateway } = gatewayWith('chat');
    expect(embedders(gateway, { embedder: 'none' }).current()).toMatchObject({ state: 'not-configured' });
    expect(embedders(gateway).current()).toMatchObject({
      state: 'not-configured',
      why: expect.stringMatching(/EMBEDDER=local/) as string,
    });
    expect(embedders(gateway, { embedder: 'gateway' }).current()).toMatchObject({
      state: 'not-configured',
      why: expect.stringMatching(/no embedding model is configured/) as string,
    });
  });

  it('returns the first embedding model as soon as there is one, and the same object each time', () => {
    const { gateway, models } = gatewayWith('chat');
    const found = embedders(gateway);
    expect(found.current().state).toBe('not-configured');
    models.push({ id: 9, name: 'second', capabilities: { embeddings: true } });
    models.push({ id: 5, name: 'first', capabilities: { embeddings: true } });
    const state = found.current();
    expect(state).toMatchObject({ state: 'ready', embedder: { model: 'first' } });
    expect(found.current()).toEqual(state);
  });

  it('calls only the configured model, with the texts in order', async () => {
    const { gateway, sent } = gatewayWith('+other', '+named');
    const state = embedders(gateway, { embeddingModel: 'named', embeddingBlend: '0.4' }).current();
    if (state.state !== 'ready') throw new Error(state.why);
    expect(state.embedder).toMatchObject({ model: 'named', blend: { kind: 'rerank', weight: 0.4 } });
    expect(await state.embedder.embed(['a', 'bcd'], signal)).toEqual([
      Float32Array.of(1, 0),
      Float32Array.of(1, 0),
    ]);
    expect(sent).toEqual([{ model: 'named', input: ['a', 'bcd'] }]);
  });

  it('names problem and remedy when the configured model is unknown or does not embed', () => {
    const { gateway } = gatewayWith('chat', '+embeds');
    const problemOf = (embeddingModel: string | null) => embedders(gateway, { embeddingModel }).problem();
    expect(problemOf('emb/none')).toMatchObject({
      why: expect.stringMatching(/no model of this name/) as string,
      remedy: expect.stringMatching(/models list/) as string,
    });
    expect(problemOf('chat')).toMatchObject({
      why: expect.stringMatching(/does not support embeddings/) as string,
    });
    expect([problemOf('embeds'), problemOf(null)]).toEqual([null, null]);
  });

  it('reports when the embedding model changes', () => {
    const { gateway, models } = gatewayWith('+later');
    let chosen = 0;
    const found = embedders(gateway, {}, () => void chosen++);
    for (const _ of 'ab') found.current();
    expect(chosen).toBe(1);
    models.push({ id: 0, name: 'first', capabilities: { embeddings: true } });
    for (const _ of 'ab') found.current();
    expect(chosen).toBe(2);
  });

  it('calls the embedder at once after its cooldown was reset', async () => {
    const { gateway, sent } = gatewayWith('+one');
    const found = embedders(gateway);
    const state = found.current();
    if (state.state !== 'ready') throw new Error(state.why);
    gateway.isDown = true;
    await expect(state.embedder.embed(['a'], signal)).rejects.toThrow('no model responds');
    gateway.isDown = false;
    await expect(state.embedder.embed(['a'], signal)).rejects.toThrow('called again');
    found.resetCooldown();
    expect(await state.embedder.embed(['a'], signal)).toHaveLength(1);
    expect(sent).toHaveLength(2);
  });
});

/** Runs `embed` with a timeout of 10 s, and resolves when its expectation has been checked. */
async function embedWithTimeout(embed: (signal: AbortSignal) => Promise<void>, clock: VirtualClock) {
  let checked: Promise<void> | undefined;
  const work = (callSignal: AbortSignal) => (checked = embed(callSignal));
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
    const embed = (callSignal: AbortSignal) =>
      expect(embedder.embed(['a'], callSignal)).rejects.toMatchObject({
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
    const embed = (callSignal: AbortSignal) =>
      expect(embedder.embed(['a'], callSignal)).rejects.toMatchObject({
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
