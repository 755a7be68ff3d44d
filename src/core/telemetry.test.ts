import { describe, expect, it } from 'vitest';
import type { EmittedEvent } from './telemetry.ts';
import { event, EventBus, silentEmitter, withoutContent } from './telemetry.ts';

const specs = {
  'demo:done': event<{ id: string; text: string }>({ level: 'info', message: 'did it', content: ['text'] }),
};

describe('EventBus', () => {
  it('passes every event to every listener, in order, with its time and spec', () => {
    const bus = new EventBus(specs);
    const received: [number, EmittedEvent][] = [];
    bus.listen((emitted) => received.push([1, emitted]));
    bus.listen((emitted) => received.push([2, emitted]));
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(received.map(([who]) => who)).toEqual([1, 2]);
    expect(received[0]?.[1]).toEqual({
      name: 'demo:done',
      spec: specs['demo:done'],
      payload: { id: 'a', text: 'b' },
    });
  });

  it('calls the other listeners when one throws', () => {
    const errors: unknown[] = [];
    const bus = new EventBus(specs, (error) => errors.push(error));
    let received = 0;
    bus.listen(() => {
      throw new Error('broken');
    });
    bus.listen(() => (received += 1));
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(received).toBe(1);
    expect(errors).toMatchObject([{ message: 'broken' }]);
  });

  it('stops listening, also in the middle of an event', () => {
    const bus = new EventBus(specs);
    let received = 0;
    const stop = bus.listen(() => {
      received += 1;
      stop();
    });
    bus.emit('demo:done', { id: 'a', text: 'b' });
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(received).toBe(1);
  });

  it('rejects an event that is not defined', () => {
    const bus = new EventBus(specs);
    expect(() => bus.emit('demo:other' as 'demo:done', { id: '', text: '' })).toThrow(/demo:other/);
  });
});

describe('withoutContent', () => {
  it('leaves out the content fields', () => {
    const emitted = { name: 'demo:done', spec: specs['demo:done'], payload: { id: 'a', text: 'b' } };
    expect(withoutContent(emitted as unknown as EmittedEvent)).toEqual({ id: 'a' });
  });
});

describe('silentEmitter', () => {
  it('accepts any event', () => {
    expect(() => silentEmitter.emit('whatever', {})).not.toThrow();
  });
});
