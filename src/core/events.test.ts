import { describe, expect, it } from 'vitest';
import type { EmittedEvent } from './events.ts';
import { event, EventBus, silentEmitter, withoutContent } from './events.ts';

const specs = {
  'demo:done': event<{ id: string; text: string }>({ level: 'info', message: 'did it', content: ['text'] }),
};

describe('EventBus', () => {
  it('hands every event to every listener, in order, with its time and spec', () => {
    const bus = new EventBus(specs, () => 42);
    const heard: [number, EmittedEvent][] = [];
    bus.listen((emitted) => heard.push([1, emitted]));
    bus.listen((emitted) => heard.push([2, emitted]));
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(heard.map(([who]) => who)).toEqual([1, 2]);
    expect(heard[0]?.[1]).toEqual({
      name: 'demo:done',
      at: 42,
      spec: specs['demo:done'],
      payload: { id: 'a', text: 'b' },
    });
  });

  it('does not let one listener that throws harm the others or the emitter', () => {
    const errors: unknown[] = [];
    const bus = new EventBus(
      specs,
      () => 0,
      (error) => errors.push(error),
    );
    let heard = 0;
    bus.listen(() => {
      throw new Error('broken');
    });
    bus.listen(() => (heard += 1));
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(heard).toBe(1);
    expect(errors).toMatchObject([{ message: 'broken' }]);
  });

  it('stops when told, also in the middle of an event', () => {
    const bus = new EventBus(specs, () => 0);
    let heard = 0;
    const stop = bus.listen(() => {
      heard += 1;
      stop();
    });
    bus.emit('demo:done', { id: 'a', text: 'b' });
    bus.emit('demo:done', { id: 'a', text: 'b' });
    expect(heard).toBe(1);
  });

  it('refuses an event that nobody defined', () => {
    const bus = new EventBus(specs, () => 0);
    expect(() => bus.emit('demo:other' as 'demo:done', { id: '', text: '' })).toThrow(/demo:other/);
  });
});

describe('withoutContent', () => {
  it('leaves out the fields that hold content', () => {
    const emitted = { name: 'demo:done', at: 0, spec: specs['demo:done'], payload: { id: 'a', text: 'b' } };
    expect(withoutContent(emitted as unknown as EmittedEvent)).toEqual({ id: 'a' });
  });
});

describe('silentEmitter', () => {
  it('takes anything', () => {
    expect(() => silentEmitter.emit('whatever', {})).not.toThrow();
  });
});
