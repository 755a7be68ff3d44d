import { describe, expect, it } from 'vitest';
import { Presence } from './presence.ts';

describe('Presence', () => {
  it('is idle at once without clients, and rejects clients from then on', async () => {
    const presence = new Presence();
    await presence.onIdle();
    expect(() => presence.attach()).toThrow(/stopping/);
  });

  it('waits until the last client detaches', async () => {
    const presence = new Presence();
    const detachFirst = presence.attach();
    const detachSecond = presence.attach();
    let isIdle = false;
    const waiting = presence.onIdle().then(() => (isIdle = true));
    detachFirst();
    detachFirst();
    await Promise.resolve();
    expect({ attached: presence.attached, isIdle }).toEqual({ attached: 1, isIdle: false });
    const detachThird = presence.attach();
    detachSecond();
    await Promise.resolve();
    expect(isIdle).toBe(false);
    detachThird();
    await waiting;
    expect({ attached: presence.attached, isIdle }).toEqual({ attached: 0, isIdle: true });
  });

  it('closes while clients are attached', async () => {
    const presence = new Presence();
    presence.attach();
    const waiting = presence.onIdle();
    presence.close();
    await waiting;
    expect(() => presence.attach()).toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN', isRetryable: true }),
    );
  });
});
