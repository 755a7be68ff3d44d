// Options of a completion from HTTP requests.
import { describe, expect, it } from 'vitest';
import { seededIds, seededRandom } from '../../core/index.ts';
import { attemptsId, parseRoutingHeaders } from './completions.ts';

const defaults = { deadlineMs: 120_000, waitMs: 0 };

describe('routing headers', () => {
  it('default to the configuration', () => {
    expect(parseRoutingHeaders({ host: 'x' }, defaults)).toEqual({
      allowFallback: true,
      isDeadlineByCaller: false,
      ...defaults,
    });
  });

  it.each([
    [{ 'x-headworks-fallback': 'none' }, { allowFallback: false }],
    [{ 'x-headworks-fallback': 'all' }, { allowFallback: true }],
    [{ 'x-headworks-timeout': '0.1' }, { deadlineMs: 100, isDeadlineByCaller: true }],
    [{ 'x-headworks-timeout': '3600' }, { deadlineMs: 3_600_000 }],
    [{ 'x-headworks-wait': '0' }, { waitMs: 0 }],
    [{ 'x-headworks-wait': '2.5' }, { waitMs: 2_500 }],
  ])('apply %j', (headers, expected) => {
    expect(parseRoutingHeaders(headers, { deadlineMs: 1, waitMs: 1 })).toMatchObject(expected);
  });

  it.each([
    ['x-headworks-fallback', 'NONE'],
    ['x-headworks-fallback', ''],
    ['x-headworks-timeout', '0'],
    ['x-headworks-timeout', '3601'],
    ['x-headworks-timeout', '-1'],
    ['x-headworks-timeout', '1e3'],
    ['x-headworks-timeout', 'Infinity'],
    ['x-headworks-timeout', ''],
    ['x-headworks-timeout', ' 5'],
    ['x-headworks-wait', '5s'],
    ['x-headworks-wait', '5, 6'],
  ])('reject %s: "%s" and name the header', (name, value) => {
    expect(() => parseRoutingHeaders({ [name]: value }, defaults)).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', details: { field: name } }) as Error,
    );
  });
});

const ids = seededIds(seededRandom(1), () => 0);

it('ids of attempts equal a generated request id and are unique when the caller sent the request id', () => {
  expect(attemptsId({ id: 'made-by-us', headers: {} }, ids)).toBe('made-by-us');
  expect(attemptsId({ id: 'made-by-us', headers: { 'x-request-id': 'no good\n' } }, ids)).toBe('made-by-us');
  const given = { id: 'always-the-same', headers: { 'x-request-id': 'always-the-same' } };
  const [first, second] = [attemptsId(given, ids), attemptsId(given, ids)];
  expect(first).toMatch(/^always-the-same\//);
  expect(first).not.toBe(second);
});
