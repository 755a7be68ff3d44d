// node scripts/test-names.ts COMMIT [LATER]: the tests of a commit, and their counterparts in a later one.
import { execFileSync } from 'node:child_process';

interface Test {
  readonly file: string;
  readonly title: string;
  /** Words of its title and body, to recognize it under another name. */
  readonly words: ReadonlySet<string>;
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 30 });

/** The start of a test, or of a table of tests; the title may follow the table. */
const start = /^[ \t]*(?:it|test)(?:\.\w+)*\(/gm;
const title = /(?:^[ \t]*(?:it|test)(?:\.\w+)*\(|\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/;

function testsOf(commit: string): readonly Test[] {
  const files = git('ls-tree', '-r', '--name-only', commit)
    .split('\n')
    .filter((file) => /\.(?:test|contract)\.tsx?$/.test(file));
  return files.flatMap((file) => {
    const text = git('show', `${commit}:${file}`);
    const starts = [...text.matchAll(start)].map(({ index }) => index);
    return starts.flatMap((from, at) => {
      const source = text.slice(from, starts[at + 1] ?? text.length);
      const [, , name] = title.exec(source) ?? [];
      return name === undefined
        ? []
        : [{ file, title: name.replace(/\\(.)/g, '$1'), words: wordsOf(source) }];
    });
  });
}

const wordsOf = (source: string): ReadonlySet<string> =>
  new Set(source.match(/[A-Za-z]{3,}|\d{2,}/g)?.map((word) => word.toLowerCase()) ?? []);

/** Words that few tests have count more. */
function weigher(tests: readonly Test[]): (word: string) => number {
  const counts = new Map<string, number>();
  for (const { words } of tests) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (word) => Math.log(tests.length / (counts.get(word) ?? 1));
}

interface Pair {
  readonly test: Test;
  readonly now: Test;
  readonly similarity: number;
}

/** Similarity from 0 to 1 of a test to those that share words with it. */
function similarTests(
  test: Test,
  candidates: ReadonlyMap<string, readonly Test[]>,
  weight: (word: string) => number,
): readonly Pair[] {
  const shared = new Map<Test, number>();
  for (const word of test.words)
    for (const candidate of candidates.get(word) ?? [])
      shared.set(candidate, (shared.get(candidate) ?? 0) + weight(word));
  const total = ({ words }: Test) => [...words].reduce((sum, word) => sum + weight(word), 0);
  return [...shared]
    .toSorted((one, other) => other[1] - one[1])
    .slice(0, 20)
    .map(([now, common]) => ({ test, now, similarity: (2 * common) / (total(test) + total(now)) }));
}

/** Below this, two tests are not the same. */
const minSimilarity = 0.35;
/** Added to the similarity of tests whose files correspond. */
const fileBonus = 0.25;

/**
 * The counterpart of each test that was renamed: the best pairs first, each later test once. Tests move together: where the
 * other tests of a file went counts, too.
 */
function matchTests(
  old: readonly Test[],
  later: readonly Test[],
  known: readonly (readonly [Test, Test])[],
): ReadonlyMap<Test, Pair> {
  const weight = weigher([...old, ...later]);
  const byWord = Map.groupBy(
    later.flatMap((test) => [...test.words].map((word) => ({ word, test }))),
    ({ word }) => word,
  );
  const candidates = new Map(
    [...byWord]
      .filter(([, all]) => all.length < 500) // words that half of all tests have are useless
      .map(([word, all]) => [word, all.map(({ test }) => test)]),
  );
  const similar = old.flatMap((test) => similarTests(test, candidates, weight));
  const first = bestPairs(similar);
  const shares = fileShares([...known, ...[...first.values()].map(({ test, now }) => [test, now] as const)]);
  return bestPairs(
    similar.map((pair) => ({
      ...pair,
      similarity: pair.similarity + fileBonus * (shares.get(`${pair.test.file} ${pair.now.file}`) ?? 0),
    })),
  );
}

/** Which share of the tests of a file went to a later file, by both names. */
function fileShares(pairs: readonly (readonly [Test, Test])[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const totals = new Map<string, number>();
  for (const [test, now] of pairs) {
    const key = `${test.file} ${now.file}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    totals.set(test.file, (totals.get(test.file) ?? 0) + 1);
  }
  return new Map(
    [...counts].map(([key, count]) => [key, count / (totals.get(key.split(' ', 1)[0] ?? '') ?? 1)]),
  );
}

function bestPairs(all: readonly Pair[]): ReadonlyMap<Test, Pair> {
  const pairs = all
    .filter(({ similarity }) => similarity >= minSimilarity)
    .toSorted((one, other) => other.similarity - one.similarity);
  const matched = new Map<Test, Pair>();
  const taken = new Set<Test>();
  for (const pair of pairs) {
    if (matched.has(pair.test) || taken.has(pair.now)) continue;
    matched.set(pair.test, pair);
    taken.add(pair.now);
  }
  return matched;
}

const [before, after] = process.argv.slice(2);
if (before === undefined) {
  console.error('node scripts/test-names.ts COMMIT [LATER]');
  process.exit(2);
}
const old = testsOf(before);
if (after === undefined) {
  for (const { file, title: name } of old) console.log(`${file}: ${name}`);
} else {
  const later = testsOf(after);
  const byTitle = Map.groupBy(later, (test) => test.title);
  const oldTitles = new Set(old.map((test) => test.title));
  const changed = old.filter((test) => !byTitle.has(test.title));
  const matched = matchTests(
    changed,
    later.filter((test) => !oldTitles.has(test.title)),
    old.flatMap((test) => (byTitle.get(test.title) ?? []).slice(0, 1).map((now) => [test, now] as const)),
  );
  const outcomes = old.map((test) => {
    const same = byTitle.get(test.title);
    if (same)
      return { kind: same.some(({ file }) => file === test.file) ? 'same' : 'moved', test, now: same[0] };
    const now = matched.get(test)?.now;
    return { kind: now ? 'renamed' : 'unmatched', test, now };
  });
  for (const { kind, test, now } of outcomes)
    console.log(
      `${kind}\t${test.file}: ${test.title}${now && kind !== 'same' ? `\t${now.file}: ${now.title}` : ''}`,
    );
  const counts = Object.entries(Object.groupBy(outcomes, ({ kind }) => kind)).map(
    ([kind, all]) => `${all?.length} ${kind}`,
  );
  const added = later.length - outcomes.filter(({ now }) => now).length;
  console.error(
    `${old.length} titles in ${before}, ${later.length} in ${after}: ${counts.join(', ')}; about ${added} new`,
  );
}
