import { describe, expect, it } from 'vitest';
import { countIn, nextLinkIn } from './page-headers.ts';

const base = new URL('https://api.test/v1/things?page=1');

const links: readonly (readonly [header: string | undefined, next: string | null])[] = [
  [undefined, null],
  ['', null],
  ['<https://api.test/v1/things?page=2>; rel="next"', 'https://api.test/v1/things?page=2'],
  ['<?page=2>; rel=next', 'https://api.test/v1/things?page=2'],
  ['</a>; rel="last", </b>; rel="prev NEXT"', 'https://api.test/b'],
  ['</a?x=1,2;3>; title="a, b; rel=next"; rel="prev"', null],
  ['</a>; rel="nextish"', null],
  ['<http://[>; rel="next"', null],
  ['rel="next"', null],
];

describe('what the headers of a page say', () => {
  it.for(links)('the link %s leads to %s', ([header, next]) => {
    expect(nextLinkIn(header, base)).toBe(next);
  });

  it.for([
    ['25', 25],
    [' 0 ', 0],
    [undefined, null],
    ['', null],
    ['-1', null],
    ['1e3', null],
    ['25, 25', null],
    ['99999999999999999999', null],
  ] as const)('the count %s is %s', ([header, count]) => {
    expect(countIn(header)).toBe(count);
  });
});
