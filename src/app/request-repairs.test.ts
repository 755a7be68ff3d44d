import { describe, expect, it } from 'vitest';
import type { EmittedEvent, JobQueue } from '../core/index.ts';
import { event } from '../core/index.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { askingRepairs, modelKinds, repairWhenModelsAnswer, whenWarmed } from './request-repairs.ts';

function world() {
  const clock = new VirtualClock(0);
  const asked: unknown[] = [];
  const enqueue = async (_job: unknown, payload: unknown): Promise<string> => {
    asked.push(payload);
    throw new Error('The queue is away.');
  };
  const listen = repairWhenModelsAnswer(clock, { enqueue } as Pick<JobQueue, 'enqueue'>);
  const spec = event<Record<string, unknown>>({ level: 'info', message: '' });
  const emit = (name: string, payload: EmittedEvent['payload'] = {}) =>
    listen({ name, at: clock.now(), spec, payload });
  const answer = (outcome = 'success') => emit('gateway:attempt-finished', { outcome });
  return { clock, asked, emit, answer };
}

describe('repairs when models answer again', () => {
  it('are asked for with the first answer after none could, and only then', () => {
    const { asked, emit, answer } = world();
    answer();
    emit('gateway:models-exhausted');
    answer('rate_limit');
    expect(asked).toEqual([]);
    answer();
    answer();
    expect(asked).toEqual(modelKinds.map((kind) => ({ kind })));
  });

  it('are not asked for again and again while models come and go', async () => {
    const { clock, asked, emit, answer } = world();
    for (let turn = 0; turn < 5; turn++) {
      emit('gateway:models-exhausted');
      answer();
      await clock.advance(1_000);
    }
    expect(asked).toHaveLength(modelKinds.length);
    await clock.advance(300_000);
    answer();
    expect(asked).toHaveLength(2 * modelKinds.length);
  });
});

describe('parts that failed lately', () => {
  const spec = event<Record<string, unknown>>({ level: 'info', message: '' });

  it('are asked again by repairs that somebody wants, not by those on schedule', async () => {
    let asked = 0;
    const context = { id: '1', attempt: 1, signal: new AbortController().signal, progress: () => undefined };
    const handler = askingRepairs(
      async () => ({ result: asked }),
      () => (asked += 1),
    );
    expect(await handler({ due: true }, context)).toEqual({ result: 0 });
    expect(await handler({}, context)).toEqual({ result: 1 });
    expect(await handler({ kind: 'knowledge.chunk-not-embedded' }, context)).toEqual({ result: 2 });
  });

  it('are asked again when a model is said to be back, not when it is left alone', () => {
    let asked = 0;
    const listen = whenWarmed(() => (asked += 1));
    const emit = (payload: EmittedEvent['payload']) =>
      listen({ name: 'gateway:availability-updated', at: 0, spec, payload });
    emit({ model: 'm', availableAt: '2026-03-01T12:00:00Z' });
    expect(asked).toBe(0);
    emit({ model: 'm', availableAt: null });
    expect(asked).toBe(1);
  });
});
