import { describe, expect, it } from 'vitest';
import { CoreError, coreErrorCodes, HeadworksError, kindOf, messageOf, shortageOf } from './errors.ts';

describe('HeadworksError', () => {
  it('has its code, the name of its class and the given details', () => {
    class DemoError extends HeadworksError<'DEMO_GONE'> {}
    const cause = new Error('below');
    const error = new DemoError('DEMO_GONE', 'The demo is gone.', {
      isRetryable: true,
      retryAfterMs: 5,
      details: { id: 1 },
      cause,
    });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'DemoError',
      code: 'DEMO_GONE',
      message: 'The demo is gone.',
      isRetryable: true,
      retryAfterMs: 5,
      details: { id: 1 },
      cause,
    });
    expect(error.stack).toContain('The demo is gone.');
  });

  it('is not retryable and has no cause by default', () => {
    const error = new CoreError('INTERNAL', 'A bug.');
    expect(error).toMatchObject({ isRetryable: false, retryAfterMs: undefined, details: {} });
    expect('cause' in error).toBe(false);
  });

  it('states a consequence for every shared code', () => {
    for (const [code, { consequence }] of Object.entries(coreErrorCodes)) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(consequence).toMatch(/\.$/);
    }
  });
});

describe('messageOf', () => {
  it.each([
    [new Error('text'), 'text'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
  ])('reads %o as %s', (thrown, message) => {
    expect(messageOf(thrown)).toBe(message);
  });

  it('never throws', () => {
    expect(messageOf(Object.create(null))).toBe('an object without a message');
    expect(messageOf(Symbol('x'))).toBe('Symbol(x)');
  });
});

describe('kindOf', () => {
  it.each([
    [new CoreError('NOT_FOUND', 'x'), 'NOT_FOUND'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [Object.assign(new Error('x'), { code: 7 }), 'Error'],
    [new TypeError('x'), 'TypeError'],
    ['text', 'string'],
    [null, 'object'],
  ])('names %o %s', (thrown, kind) => {
    expect(kindOf(thrown)).toBe(kind);
  });
});

const failure = (fields: object, cause?: unknown) => Object.assign(new Error('failed', { cause }), fields);

it.each([
  [failure({ code: 'ENOSPC' }), 'disk'],
  [failure({ code: 'EDQUOT' }), 'disk'],
  [failure({ errcode: 13 }), 'disk'],
  [failure({ code: '53100' }), 'disk'],
  [failure({ code: 'EMFILE' }), 'files'],
  [failure({ code: 'ENFILE' }), 'files'],
  [failure({ code: '53000' }), 'files'],
  [failure({ code: '58P02' }), 'files'],
  [failure({ code: '58030' }), 'io'],
  [failure({ code: 'DATA_FOLDER_UNUSABLE' }, failure({ code: 'EMFILE' })), 'files'],
  [failure({ code: 'EIO' }), null],
  ['ENOSPC', null],
])('finds what is used up in %o and its causes', (error, shortage) => {
  expect(shortageOf(error)).toBe(shortage);
});

it('ends with causes in a circle', () => {
  const error = failure({ code: 'EIO' });
  error.cause = error;
  expect(shortageOf(error)).toBeNull();
});
