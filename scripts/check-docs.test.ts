import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { ciProblems, findDocProblems } from './check-docs.ts';
import { factsOf, type DocFacts } from './doc-facts.ts';

const program = new Command('headworks').option('--json');
const jobs = program.command('jobs');
jobs.command('list').option('-s, --state <state>');
jobs.command('retry').argument('<id>');
program.command('serve').option('--port <value>');

const facts: DocFacts = {
  command: factsOf(program, ['--help']),
  environment: new Set(['HEADWORKS_PORT']),
  names: new Set(['STATE_UNAVAILABLE', 'DATABASE_URL', 'HEADWORKS_GONE']),
  scripts: new Set(['check', 'headworks']),
  exports: new Set(['headworks', 'headworks/core']),
};
const problemsOf = (text: string): readonly string[] => findDocProblems('README.md', text, facts);

describe('docs', () => {
  it.for([
    'see [the map](ARCHITECTURE.md) and [there](https://example.com/x) and `[no](link)`',
    'the code `STATE_UNAVAILABLE`, the variables `DATABASE_URL` and HEADWORKS\\_PORT',
    "import { Retry } from 'headworks/core'",
    '`npm run check`, `npm run headworks -- jobs list -s failed`, `headworks`',
    '```console\n$ headworks jobs retry some-id --json | jq . # then look\nnpx headworks serve --port=1 && npm run check\n```',
    '`headworks serve …`, `headworks-0.2.0.tgz`, `headworks <command> --help`',
    '`scripts/check-docs.test.ts`: "requires CI to run the command", `scripts/check-*.test.ts`, `x.test.ts` beside `x.ts`',
    '`S/` is `scripts/`. `S/check-docs.test.ts`: "docs", `S/check-docs.test.ts`: "reports a reference that does not exist: %s"',
    '`src/core/errors.ts`, `core/errors.ts`, `src/core/`, `scripts/*.ts`, `notes/mail.md`, `your/`',
    '`scripts/check-docs.ts` `findDocProblems`, `scripts/check-docs.ts`: `deadLinks` and `anchors`; `scripts/` `ciProblems`',
  ])('accepts a reference that exists: %s', (text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  it.for([
    ['[gone](docs/gone.md)', 'the link docs/gone.md leads nowhere'],
    ['[gone](#no-such-heading)', 'no heading for the link #no-such-heading'],
    ['raises STATE_GONE', 'there is no STATE_GONE in the code'],
    ['set `HEADWORKS_GONE`', 'there is no HEADWORKS_GONE in the code'],
    ["from 'headworks/gone'", 'the package does not export headworks/gone'],
    ['`npm run gone`', 'there is no "npm run gone"'],
    ['`headworks gone`', 'there is no command "headworks gone"'],
    ['```sh\nheadworks jobs gone\n```', 'there is no command "headworks jobs gone"'],
    ['`headworks jobs list --gone=3`', '"headworks jobs list" takes no --gone'],
    ['run `npm run check && headworks serve --gone`', '"headworks serve" takes no --gone'],
    ['`scripts/gone.test.ts`', 'there is no test scripts/gone.test.ts'],
    ['`S/check-docs.test.ts`', 'there is no test S/check-docs.test.ts'],
    ['`scripts/gone*.test.ts`', 'there is no test scripts/gone*.test.ts'],
    ['`scripts/check-docs.test.ts`: "it.for([" or `x`', 'scripts/check-docs.test.ts has no test "it.for(["'],
    ['`src/core/gone.ts`', 'there is no src/core/gone.ts'],
    ['see `core/gone.ts`', 'there is no core/gone.ts'],
    ['`src/gone/` and its README', 'there is no src/gone/'],
    ['`scripts/check-docs.ts` `gone`', 'scripts/check-docs.ts has no gone'],
    ['`scripts/check-docs.ts`: `anchors` and `gone`', 'scripts/check-docs.ts has no gone'],
  ] as const)('reports a reference that does not exist: %s', ([text, problem]) => {
    expect(problemsOf(text)).toEqual([`README.md: ${problem}`]);
  });
});

it('requires CI to run the command of the README', () => {
  const readme = '```sh\nnpm ci && npm test   # all of it\n```\n';
  expect(ciProblems('#!/bin/sh\nnpm ci && npm test\n', readme)).toEqual([]);
  expect(ciProblems('#!/bin/sh\nnpm test -- --unit\n', readme)).toHaveLength(1);
});
