import { describe, expect, it } from 'vitest';
import { systemIds } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import type { EmbeddersDeps, EmbeddingGateway } from './embedders.ts';
import { openEmbedders } from './embedders.ts';

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
