import { describe, expect, it } from 'vitest';
import { Presence } from './presence.ts';

describe('Presence', () => {
  it('is alone at once when nobody is attached, and lets nobody in after that', async () => {
    const presence = new Presence();
    await presence.whenAlone();
    expect(() => presence.attach()).toThrow(/stopping/);
  });

  it('waits for the last one to leave', async () => {
    const presence = new Presence();
    const leaveFirst = presence.attach();
    const leaveSecond = presence.attach();
    let alone = false;
    const waiting = presence.whenAlone().then(() => (alone = true));
    leaveFirst();
    leaveFirst();
    await Promise.resolve();
    expect({ attached: presence.attached, alone }).toEqual({ attached: 1, alone: false });
    const leaveThird = presence.attach();
    leaveSecond();
    await Promise.resolve();
    expect(alone).toBe(false);
    leaveThird();
    await waiting;
    expect({ attached: presence.attached, alone }).toEqual({ attached: 0, alone: true });
  });

  it('closes over the heads of those attached', async () => {
    const presence = new Presence();
    presence.attach();
    const waiting = presence.whenAlone();
    presence.close();
    await waiting;
    expect(() => presence.attach()).toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN', isRetryable: true }),
    );
  });
});
