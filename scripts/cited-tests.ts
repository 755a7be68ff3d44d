// Tests that the docs name as proof: the file is there, and so is a test or group of that name.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `path.test.ts`, and where it is followed by it, the name: "what it does", or the part of it that matters. */
const citation = /`([\w./*-]+\.(?:test|contract)\.ts)`(?:: "([^"]+)")?/g;
/** How a page shortens paths: `G/` is `src/gateway/`. */
const abbreviation = /`([A-Z]\/)` is `([^`]+\/)`/g;
/** The first argument of it, test and describe, and of the functions that .each and .for return. */
const title = /(?:\b(?:it|test|describe)(?:\.\w+)*\(|\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** One line per test that the page `path` names and that does not exist. */
export function citedTestProblems(path: string, text: string): readonly string[] {
  const short = new Map([...text.matchAll(abbreviation)].map(([, name = '', folder = '']) => [name, folder]));
  return [...text.matchAll(citation)].flatMap(([, cited = '', name]) => {
    // A pattern of names, as in "x.test.ts beside x.ts".
    if (!cited.includes('/')) return [];
    const full = cited.replace(/^[A-Z]\//, (start) => short.get(start) ?? start);
    const files = [full, join(dirname(path), full)].flatMap(filesOf);
    if (files.length === 0) return [`there is no test ${cited}`];
    return name === undefined || files.some((file) => titlesIn(file).some((each) => each.includes(name)))
      ? []
      : [`${cited} has no test "${name}"`];
  });
}

/** One line per guarantee (`**L1. …`) of the page that no test cites by its number. */
export function uncitedGuarantees(text: string): readonly string[] {
  const cited = new Set(
    globSync(['{src,test,scripts}/**/*.{test,contract}.ts'])
      .flatMap(titlesIn)
      .flatMap((each) => /\(([^()]+)\)$/.exec(each)?.[1]?.split(/[;,] /) ?? []),
  );
  const numbers = [...text.matchAll(/^\*\*([A-Z]\d+)\. /gm)].map(([, number = '']) => number);
  return numbers.filter((number) => !cited.has(number)).map((number) => `no test cites ${number}`);
}

const filesOf = (pattern: string): readonly string[] =>
  pattern.includes('*') ? globSync(pattern) : [pattern].filter((file) => existsSync(file));

const titles = new Map<string, readonly string[]>();

function titlesIn(file: string): readonly string[] {
  const known = titles.get(file);
  if (known) return known;
  const found = [...readFileSync(file, 'utf8').matchAll(title)].map(([, , text = '']) =>
    text.replace(/\\(.)/g, '$1'),
  );
  titles.set(file, found);
  return found;
}
