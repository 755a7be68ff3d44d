import { expect, it } from 'vitest';
import { shortageOf } from './shortage.ts';

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
