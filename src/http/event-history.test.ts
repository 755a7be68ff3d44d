import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EmittedEvent } from '../core/index.ts';
import { Redactor } from '../core/index.ts';
import { EventHistory } from './event-history.ts';

const emitted = (name: string): EmittedEvent => ({
  name,
  at: 0,
  spec: { level: 'info', message: 'x', content: ['text'] },
  payload: { someId: 1, text: 'content' },
});

describe('EventHistory', () => {
  it('writes an event without its content, named in snake_case, in one line of data', () => {
    const history = new EventHistory('a', new Redactor(), 10);
    expect(history.add(emitted('job:completed')).text).toBe(
      'id: a-1\nevent: job:completed\n' +
        'data: {"name":"job:completed","at":"1970-01-01T00:00:00.000Z","payload":{"some_id":1}}\n\n',
    );
  });

  it('gives exactly what came after an event, or says that something is missing', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 0, max: 40 }),
        (capacity, count, last) => {
          const history = new EventHistory('start-1', new Redactor(), capacity);
          for (let index = 0; index < count; index++) history.add(emitted('x'));
          const { isComplete, events } = history.after(`start-1-${last}`);
          const numbers = events.map(({ number }) => number);
          const wanted = Array.from({ length: Math.max(count - last, 0) }, (_, index) => last + 1 + index);
          const isKept = last <= count && count - last <= capacity;
          expect(isComplete).toBe(isKept);
          if (isKept) expect(numbers).toEqual(wanted);
          else expect(numbers).toHaveLength(Math.min(count, capacity));
        },
      ),
    );
  });

  it.each([
    '',
    '-',
    'x',
    'start-2-1',
    'start-1-',
    'start-1-1.5',
    'start-1--1',
    'start-1-99999',
    'start-1-abc',
  ])('takes the id "%s" for one it does not know', (id) => {
    const history = new EventHistory('start-1', new Redactor(), 10);
    history.add(emitted('x'));
    expect(history.after(id).isComplete).toBe(false);
  });
});
