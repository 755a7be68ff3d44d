// What the demo says when it is ready: where it is, how to get in, and five things to try, each a command to paste.
import { relative } from 'node:path';
import type { CliIo } from '../ports.ts';
import type { CliSession } from '../session.ts';

export interface DemoFacts {
  readonly url: string;
  /** Logs a browser in, once. */
  readonly loginUrl: string;
  readonly dataFolder: string;
  readonly organization: string;
  readonly key: string;
  readonly steadyModel: string;
}

export interface ThingToTry {
  readonly what: string;
  readonly command: string;
}

export function thingsToTry(io: CliIo, facts: DemoFacts): readonly ThingToTry[] {
  const folder = shellWord(shortPath(io.cwd, facts.dataFolder));
  const headworks = (words: string) => `${invocation(io)} ${words} --data-dir ${folder}`;
  const address = `${facts.url}/deployment/api/${facts.organization}/summarize`;
  return [
    {
      what: 'Who decided which revenue counts, who objected, and what else did they promise?',
      command: headworks('search "who decided that net revenue is the one definition" --expand --limit 3'),
    },
    {
      what: 'Which revenue is the official one? Two dashboards contradict each other.',
      command: headworks('search "official revenue" --type doc --entities --limit 4'),
    },
    {
      what: 'Is S. Okafor Sam or Sara? Nobody guessed: the pairs wait for you.',
      command: headworks('entities review --list'),
    },
    {
      what: `Be the tenant ${facts.organization}: three requests at once, two are allowed.`,
      command:
        `for store in Graz Basel Leeds; do curl -s -w ' %{http_code}\\n' --oauth2-bearer ${facts.key} ` +
        `--json "{\\"text\\": \\"$store\\"}" ${address} & done; wait`,
    },
    {
      what: 'Models were at their limits, so rules read two documents. Let a model read them again.',
      command: `${headworks(`models warm ${facts.steadyModel}`)} && ${headworks('repair --kind knowledge.chunk-read-by-rules')}`,
    },
  ];
}

export function welcome({ io, out }: CliSession, facts: DemoFacts): void {
  out.line();
  out.line(
    `Headworks ${io.version}: the demo is ready. Acme Retail does not exist; what you see did happen, in embedded stores.`,
  );
  out.line();
  out.facts([
    ['dashboard', facts.loginUrl],
    [
      '',
      `the link logs in once; another one: ${invocation(io)} dashboard --data-dir ${shellWord(shortPath(io.cwd, facts.dataFolder))}`,
    ],
    ['API', `${facts.url}/docs`],
    ['API key', `${facts.key} (organization ${facts.organization})`],
    ['data', `${facts.dataFolder} (headworks demo --reset starts over)`],
  ]);
  out.line();
  out.line('Try, in another terminal:');
  for (const [index, { what, command }] of thingsToTry(io, facts).entries()) {
    out.line(`  ${index + 1}. ${what}`);
    out.line(`     ${out.style('cyan', command)}`);
  }
  out.line();
  out.line('Ctrl-C stops it, simulators included. The next start goes on with what is there.');
}

/** The words that start this program again, as whoever started it would write them. */
function invocation(io: CliIo): string {
  const isOurScript = io.env['npm_package_name'] === 'headworks' && io.env['npm_lifecycle_event'] !== 'npx';
  return isOurScript ? 'npm run -s headworks --' : 'headworks';
}

function shortPath(from: string, path: string): string {
  const short = relative(from, path);
  return short === '' || short.startsWith('..') ? path : short;
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
