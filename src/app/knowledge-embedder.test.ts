import { describe, expect, it } from 'vitest';
import { systemIds } from '../core/index.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import type { EmbeddingGateway, EmbedderDeps } from './knowledge-embedder.ts';
import { createEmbedders } from './knowledge-embedder.ts';

const { signal } = new AbortController();

/** A gateway with these models (`+name` embeds) that gives each text a vector of its length. */
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
    isAway: false,
    client: {
      embed: async ({ model, texts }: { model: string; texts: readonly string[] }) => {
        sent.push({ model, input: texts });
        if (gateway.isAway) throw new Error('no model responds');
        return texts.map((text) => Float32Array.of(text.length, 0));
      },
    },
  };
  return { gateway: gateway as unknown as EmbeddingGateway & { isAway: boolean }, sent, models };
}

function embedders(
  gateway: EmbeddingGateway,
  options: Partial<EmbedderDeps['options']> = {},
  onModelChanged: () => void = () => undefined,
) {
  const usual = {
    embedder: 'auto',
    embeddingModel: null,
    embeddingBlend: null,
    cooldownSeconds: 30,
  } as const;
  const clock = new VirtualClock();
  const parts = { gateway, clock, ids: systemIds, onModelChanged, options: { ...usual, ...options } };
  return createEmbedders(parts, new AsyncDisposableStack());
}

describe('who embeds', () => {
  it('is nobody when that was chosen, or when no model can', () => {
    const { gateway } = gatewayWith('talker');
    expect(embedders(gateway, { embedder: 'none' }).current()).toMatchObject({ state: 'not-configured' });
    expect(embedders(gateway).current()).toMatchObject({ state: 'not-configured', why: /EMBEDDER=local/ });
    expect(embedders(gateway, { embedder: 'gateway' }).current()).toMatchObject({
      state: 'not-configured',
      why: /no model that embeds is configured/,
    });
  });

  it('is the first model that can, as soon as there is one, and the same object each time', () => {
    const { gateway, models } = gatewayWith('talker');
    const found = embedders(gateway);
    expect(found.current().state).toBe('not-configured');
    models.push({ id: 9, name: 'second', capabilities: { embeddings: true } });
    models.push({ id: 5, name: 'first', capabilities: { embeddings: true } });
    const state = found.current();
    expect(state).toMatchObject({ state: 'ready', embedder: { model: 'first' } });
    expect(found.current()).toEqual(state);
  });

  it('is the model that was named and no other, in the order of the texts', async () => {
    const { gateway, sent } = gatewayWith('+other', '+wanted');
    const state = embedders(gateway, { embeddingModel: 'wanted', embeddingBlend: '0.4' }).current();
    if (state.state !== 'ready') throw new Error(state.why);
    expect(state.embedder).toMatchObject({ model: 'wanted', blend: { kind: 'rerank', weight: 0.4 } });
    expect(await state.embedder.embed(['a', 'bcd'], signal)).toEqual([
      Float32Array.of(1, 0),
      Float32Array.of(1, 0),
    ]);
    expect(sent).toEqual([{ model: 'wanted', input: ['a', 'bcd'] }]);
  });

  it('is said to be impossible when the named model is not there or does not embed, with the remedy', () => {
    const { gateway } = gatewayWith('talker', '+embeds');
    const problemOf = (embeddingModel: string | null) => embedders(gateway, { embeddingModel }).problem();
    expect(problemOf('emb/none')).toMatchObject({ why: /no model of this name/, remedy: /models list/ });
    expect(problemOf('talker')).toMatchObject({ why: /does not embed/ });
    expect([problemOf('embeds'), problemOf(null)]).toEqual([null, null]);
  });

  it('tells when another model embeds from now on', () => {
    const { gateway, models } = gatewayWith('+later');
    let chosen = 0;
    const found = embedders(gateway, {}, () => void chosen++);
    for (const _ of 'ab') found.current();
    expect(chosen).toBe(1);
    models.push({ id: 0, name: 'first', capabilities: { embeddings: true } });
    for (const _ of 'ab') found.current();
    expect(chosen).toBe(2);
  });

  it('is asked again at once when somebody wants that', async () => {
    const { gateway, sent } = gatewayWith('+one');
    const found = embedders(gateway);
    const state = found.current();
    if (state.state !== 'ready') throw new Error(state.why);
    gateway.isAway = true;
    await expect(state.embedder.embed(['a'], signal)).rejects.toThrow('no model responds');
    gateway.isAway = false;
    await expect(state.embedder.embed(['a'], signal)).rejects.toThrow('called again');
    found.resetCooldown();
    expect(await state.embedder.embed(['a'], signal)).toHaveLength(1);
    expect(sent).toHaveLength(2);
  });
});
