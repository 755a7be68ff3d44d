// Every regular expression that is listed as linear, analyzed again.
import { expect, it } from 'vitest';
import { findRegexes, problemOf, readVerdicts } from '../../scripts/check-regexes.ts';

/** On a busy machine some take over half a minute. */
const analysisTimeoutMs = 600_000;

it('every expression is linear, as scripts/regexes.json states (B1)', { timeout: 3_600_000 }, async () => {
  const found = await findRegexes();
  const { linear } = readVerdicts();
  const problems: string[] = [];
  for (const name of linear) {
    const regex = found.get(name);
    const problem = regex ? await problemOf(regex, analysisTimeoutMs) : 'is not in src/';
    if (problem !== null) problems.push(`${name} ${problem}`);
  }
  expect(problems).toEqual([]);
});
