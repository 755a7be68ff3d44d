// Ids by which attempts are grouped.
import { expect, it } from 'vitest';
import { seededIds, seededRandom } from '../../core/index.ts';
import { attemptsId } from './attempts-id.ts';

const ids = seededIds(seededRandom(1), () => 0);

it("are the request's own where we made it, and never twice the same where the caller did", () => {
  expect(attemptsId({ id: 'made-by-us', headers: {} }, ids)).toBe('made-by-us');
  expect(attemptsId({ id: 'made-by-us', headers: { 'x-request-id': 'no good\n' } }, ids)).toBe('made-by-us');
  const given = { id: 'always-the-same', headers: { 'x-request-id': 'always-the-same' } };
  const [first, second] = [attemptsId(given, ids), attemptsId(given, ids)];
  expect(first).toMatch(/^always-the-same\//);
  expect(first).not.toBe(second);
});
