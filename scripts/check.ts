// npm run check: every static check of the code and its docs.
import { partLine, runPart } from './run-part.ts';

const parts: Readonly<Record<string, readonly string[]>> = {
  types: ['tsc', '--noEmit', '-p', '.'],
  build: ['tsc', '--noEmit', '-p', 'tsconfig.build.json'], // only here declarations are checked
  web: ['tsc', '--noEmit', '-p', 'web'],
  lint: ['oxlint', '--type-aware', '--deny-warnings', '.'],
  format: ['oxfmt', '--check'],
  boundaries: ['node', 'scripts/check-boundaries.ts'],
  lockfile: ['node', 'scripts/check-lockfile.ts'],
  docs: ['node', 'scripts/check-docs.ts'],
  reference: ['node', 'scripts/reference.ts', '--check'],
  language: ['node', 'scripts/check-language.ts'],
  regexes: ['node', 'scripts/check-regexes.ts'],
  unused: ['knip', '--no-progress'],
  // Without tests: what only they use is marked @internal.
  production: ['knip', '--production', '--no-progress', '--tags=-internal'],
};

const results = await Promise.all(
  Object.entries(parts).map(async ([name, command]) => {
    const result = await runPart(name, command);
    console.log(partLine(result));
    return result;
  }),
);
for (const { name, output } of results.filter((result) => !result.isGood))
  console.log(`\n--- ${name}\n${output.trim()}`);
process.exitCode = results.every((result) => result.isGood) ? 0 : 1;
