// Bodies that are not what was asked for, in place of the right one.
import type { Answer } from './answers.ts';

/** What stands in for the right body of a 200. Kinds 0 to 3: half of it, a web page, plain text, JSON of another shape. */
export const malformedKinds = 4;

export function malformed(right: Answer, kind: number, isList: boolean): Answer {
  if (kind === 1)
    return { ...right, ...as('text/html', '<!DOCTYPE html><html><body>Sign in to go on</body></html>') };
  if (kind === 2) return { ...right, ...as('text/plain', 'An internal error occurred. Please try again.') };
  if (kind === 3 && isList)
    return {
      ...right,
      ...as('application/json', '{"message":"An error has occurred.","documentation_url":""}'),
    };
  return { ...right, body: right.body.subarray(0, right.body.length >> 1) };

  function as(type: string, text: string): Pick<Answer, 'body' | 'headers'> {
    return {
      body: Buffer.from(text),
      headers: { ...right.headers, 'content-type': `${type}; charset=utf-8` },
    };
  }
}

/** The right body, but its item, or the first of its items, lacks what is named. A body that is no JSON stays as it is. */
export function without(right: Answer, names: readonly string[], put?: null): Answer {
  if (right.status !== 200) return right;
  const body = JSON.parse(right.body.toString('utf8')) as unknown;
  const item: unknown = Array.isArray(body) ? body[0] : body;
  if (typeof item !== 'object' || item === null) return right;
  for (const name of names)
    if (put === null && name in item) Object.assign(item, { [name]: null });
    else Reflect.deleteProperty(item, name);
  return { ...right, body: Buffer.from(JSON.stringify(body)) };
}
