// Headers that steer one request.
import { describe, expect, it } from 'vitest';
import { parseRoutingHeaders } from './request-headers.ts';

const defaults = { deadlineMs: 120_000, waitMs: 0 };

describe('steering', () => {
  it('is as configured when no header says otherwise', () => {
    expect(parseRoutingHeaders({ host: 'x' }, defaults)).toEqual({ allowFallback: true, ...defaults });
  });

  it.each([
    [{ 'x-headworks-fallback': 'none' }, { allowFallback: false }],
    [{ 'x-headworks-fallback': 'all' }, { allowFallback: true }],
    [{ 'x-headworks-timeout': '0.1' }, { deadlineMs: 100 }],
    [{ 'x-headworks-timeout': '3600' }, { deadlineMs: 3_600_000 }],
    [{ 'x-headworks-wait': '0' }, { waitMs: 0 }],
    [{ 'x-headworks-wait': '2.5' }, { waitMs: 2_500 }],
  ])('follows %j', (headers, expected) => {
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
  ])('refuses %s: "%s", and names the header', (name, value) => {
    expect(() => parseRoutingHeaders({ [name]: value }, defaults)).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', details: { field: name } }) as Error,
    );
  });
});
