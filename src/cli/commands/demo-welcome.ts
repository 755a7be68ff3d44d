// The output of the demo when it is ready: addresses, credentials, and five commands to try.
import { dirname } from 'node:path';
import type { Situation } from '../../operations/demo/index.ts';
import { counted } from '../counted.ts';
import { folderWord, invocation } from '../invocation.ts';
import type { CliIo } from '../ports.ts';
import type { CliSession } from '../session.ts';

export interface DemoFacts {
  readonly url: string;
  /** A one-time login link. */
  readonly loginUrl: string;
  readonly dataFolder: string;
  readonly organization: string;
  readonly key: string;
  readonly reliableModel: string;
  /** Ledger kind. */
  readonly readByRulesKind: string;
  /** The current state: the user may have changed it since the first start. */
  readonly situation: Situation;
}

export interface ThingToTry {
  readonly what: string;
  readonly command: string;
}

export function thingsToTry(io: CliIo, facts: DemoFacts): readonly ThingToTry[] {
  const headworks = (words: string) =>
    `${invocation(io)} ${words} --data-dir ${folderWord(io, facts.dataFolder)}`;
  return [
    {
      what: 'Who decided which revenue counts, who objected, and what else was agreed?',
      command: headworks('search "who decided that net revenue is the one definition" --expand --limit 3'),
    },
    {
      what: 'Which revenue is the official one? Two dashboards contradict each other.',
      command: headworks('search "official revenue" --type doc --entities --limit 4'),
    },
    { what: pairsInWords(facts.situation), command: headworks('entities review --list') },
    sendAsTenant(facts),
    readAgain(facts, headworks),
  ];
}

function pairsInWords({ pairs, hasMorePairs, isOkaforOpen }: Situation): string {
  if (isOkaforOpen) return 'Is S. Okafor Sam or Sara? Undecided pairs are in the review queue.';
  if (pairs === 0) return 'The review queue of names is empty; new pairs appear here.';
  const many = hasMorePairs ? `${pairs} pairs or more` : counted(pairs, 'pair');
  return `Do two names mean the same person? ${many} of names in the review queue.`;
}

function sendAsTenant({ url, organization, key, situation: { limit } }: DemoFacts): ThingToTry {
  const allowed = limit === null ? '' : ` Its limit is ${limit}.`;
  return {
    what: `Send three requests at once as ${organization}.${allowed}`,
    command:
      `for store in Graz Basel Leeds; do curl -s -w ' %{http_code}\\n' --oauth2-bearer ${key} ` +
      `--json "{\\"text\\": \\"$store\\"}" ${url}/deployment/api/${organization}/summarize & done; wait`,
  };
}

function readAgain(
  { situation: { readByRules }, reliableModel, readByRulesKind }: DemoFacts,
  headworks: (words: string) => string,
): ThingToTry {
  if (readByRules === 0)
    return {
      what: 'Models have read every passage that rules had read. What else is degraded?',
      command: headworks('ledger list'),
    };
  const [passages, them] = [counted(readByRules, 'passage'), readByRules === 1 ? 'it' : 'them'];
  return {
    what: `Models were rate-limited, so rules read ${passages}. Let a model read ${them} again.`,
    command: `${headworks(`models warm ${reliableModel}`)} && ${headworks(`repair --kind ${readByRulesKind}`)}`,
  };
}

export function welcome({ io, out }: CliSession, facts: DemoFacts): void {
  out.line();
  out.line(
    `Headworks ${io.version}: the demo is ready. Acme Retail is fictional; the data was processed by this server.`,
  );
  out.line();
  out.facts([
    ['dashboard', facts.loginUrl],
    [
      '',
      `the link works once; get another: ${invocation(io)} dashboard --data-dir ${folderWord(io, facts.dataFolder)}`,
    ],
    ['API', `${facts.url}/docs`],
    ['API key', `${facts.key} (organization ${facts.organization})`],
    ['data', facts.dataFolder],
    [
      '',
      `to start over: ${invocation(io)} demo --reset --data-dir ${folderWord(io, dirname(facts.dataFolder))}`,
    ],
  ]);
  out.line();
  out.line('Try, in another terminal:');
  for (const [index, { what, command }] of thingsToTry(io, facts).entries()) {
    out.line(`  ${index + 1}. ${what}`);
    out.line(`     ${out.style('cyan', command)}`);
  }
  out.line();
  out.line('Ctrl-C stops the server and the simulators. The next start continues with the existing data.');
}
