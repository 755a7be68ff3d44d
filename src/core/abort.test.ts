import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { abortable, linkSignals, onAbort } from './abort.ts';

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('onAbort', () => {
  it('calls back once with the reason', () => {
    const controller = new AbortController();
    const run = vi.fn();
    onAbort(controller.signal, run);
    controller.abort('why');
    controller.abort('again');
    expect(run.mock.calls).toEqual([['why']]);
    expect(listeners(controller.signal)).toBe(0);
  });

  it('calls back at once when the signal has aborted already', () => {
    const run = vi.fn();
    onAbort(AbortSignal.abort('before'), run)();
    expect(run.mock.calls).toEqual([['before']]);
  });

  it('can be taken back', () => {
    const controller = new AbortController();
    const run = vi.fn();
    onAbort(controller.signal, run)();
    controller.abort();
    expect(run).not.toHaveBeenCalled();
    expect(listeners(controller.signal)).toBe(0);
  });

  it('does nothing without a signal', () => {
    const run = vi.fn();
    onAbort(undefined, run)();
    expect(run).not.toHaveBeenCalled();
  });
});

describe('linkSignals', () => {
  it('aborts with the first of its parents', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const linked = linkSignals(one.signal, undefined, two.signal);
    two.abort('two');
    one.abort('one');
    expect(linked.signal.reason).toBe('two');
  });

  it('is aborted from the start when a parent is', () => {
    expect(linkSignals(undefined, AbortSignal.abort('old')).signal.reason).toBe('old');
  });

  it('aborts by hand and leaves its parents alone', () => {
    const parent = new AbortController();
    const linked = linkSignals(parent.signal);
    linked.abort('mine');
    expect(linked.signal.reason).toBe('mine');
    expect(parent.signal.aborted).toBe(false);
  });

  it('lets go of its parents when disposed', () => {
    const parent = new AbortController();
    const linked = linkSignals(parent.signal, parent.signal);
    linked.dispose();
    expect(listeners(parent.signal)).toBe(0);
    parent.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});

describe('abortable', () => {
  it('gives what the work gives, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(await abortable(Promise.resolve(2), undefined)).toBe(2);
    expect(listeners(signal)).toBe(0);
  });

  it('stops waiting with the reason, also when the work fails later', async () => {
    const controller = new AbortController();
    const work = Promise.withResolvers<never>();
    const waiting = abortable(work.promise, controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    work.reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners(controller.signal)).toBe(0);
  });

  it('does not wait at all for a signal that has aborted', async () => {
    const never = new Promise<never>(() => undefined);
    await expect(abortable(never, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  });
});
