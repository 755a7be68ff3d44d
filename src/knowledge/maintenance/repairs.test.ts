import { describe, expect, it } from 'vitest';
import type { EmittedEvent } from '../../core/index.ts';
import { event } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { onCooldownCleared, onModelsRecovered } from './repairs.ts';

const spec = event<Record<string, unknown>>({ level: 'info', message: '' });

function openRecovery() {
  const clock = new VirtualClock(0);
  const repairs: number[] = [];
  const listen = onModelsRecovered(clock, () => void repairs.push(clock.now()));
  const emit = (name: string, payload: EmittedEvent['payload'] = {}) => listen({ name, spec, payload });
  const answer = (outcome = 'success') => emit('gateway:attempt-finished', { outcome });
  return { clock, repairs, emit, answer };
}

describe('onModelsRecovered', () => {
  it('repairs at the first response after all models were exhausted, and only then', () => {
    const { repairs, emit, answer } = openRecovery();
    answer();
    emit('gateway:models-exhausted');
    answer('rate_limit');
    expect(repairs).toEqual([]);
    answer();
    answer();
    expect(repairs).toEqual([0]);
  });

  it('pauses between repairs while models respond only intermittently', async () => {
    const { clock, repairs, emit, answer } = openRecovery();
    for (let turn = 0; turn < 5; turn++) {
      emit('gateway:models-exhausted');
      answer();
      await clock.advance(1_000);
    }
    expect(repairs).toEqual([0]);
    await clock.advance(300_000);
    answer();
    expect(repairs).toHaveLength(2);
  });
});

describe('onCooldownCleared', () => {
  it('resets when a cooldown is cleared, not when one is set', () => {
    let resets = 0;
    const listen = onCooldownCleared(() => (resets += 1));
    const emit = (payload: EmittedEvent['payload']) =>
      listen({ name: 'gateway:availability-updated', spec, payload });
    emit({ model: 'm', availableAt: '2026-03-01T12:00:00Z' });
    expect(resets).toBe(0);
    emit({ model: 'm', availableAt: null });
    expect(resets).toBe(1);
  });
});
