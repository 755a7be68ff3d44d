// What the demo says when it is ready: where it is, how to get in, and five things to try, each a command to paste.
import { dirname } from 'node:path';
import type { Situation } from '../../app/demo/index.ts';
import { counted } from '../counted.ts';
import { folderWord, invocation } from '../invocation.ts';
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
  /** Of rows in the ledger. */
  readonly readByRulesKind: string;
  /** As it is now: after a first look around it may be another. */
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
      what: 'Who decided which revenue counts, who objected, and what else did they promise?',
      command: headworks('search "who decided that net revenue is the one definition" --expand --limit 3'),
    },
    {
      what: 'Which revenue is the official one? Two dashboards contradict each other.',
      command: headworks('search "official revenue" --type doc --entities --limit 4'),
    },
    { what: pairsInWords(facts.situation), command: headworks('entities review --list') },
    beTheTenant(facts),
    readAgain(facts, headworks),
  ];
}

function pairsInWords({ pairs, hasMorePairs, isOkaforOpen }: Situation): string {
  if (isOkaforOpen) return 'Is S. Okafor Sam or Sara? Nobody guessed: the pairs wait for you.';
  if (pairs === 0)
    return 'Who is who? Every pair of names that was in doubt is answered; new ones would be here.';
  const many = hasMorePairs ? `${pairs} pairs or more` : counted(pairs, 'pair');
  return `Do they mean the same? ${many} of names still ${pairs === 1 ? 'waits' : 'wait'} for you.`;
}

function beTheTenant({ url, organization, key, situation: { limit } }: DemoFacts): ThingToTry {
  const allowed = limit === null ? '' : ` It may have ${limit} under way.`;
  return {
    what: `Be the tenant ${organization}: three requests at once.${allowed}`,
    command:
      `for store in Graz Basel Leeds; do curl -s -w ' %{http_code}\\n' --oauth2-bearer ${key} ` +
      `--json "{\\"text\\": \\"$store\\"}" ${url}/deployment/api/${organization}/summarize & done; wait`,
  };
}

function readAgain(
  { situation: { readByRules }, steadyModel, readByRulesKind }: DemoFacts,
  headworks: (words: string) => string,
): ThingToTry {
  if (readByRules === 0)
    return {
      what: 'Whatever rules had to read, a model has read since. What else is not as it should be?',
      command: headworks('ledger list'),
    };
  const [passages, them] = [counted(readByRules, 'passage'), readByRules === 1 ? 'it' : 'them'];
  return {
    what: `Models were at their limits, so rules read ${passages}. Let a model read ${them} again.`,
    command: `${headworks(`models warm ${steadyModel}`)} && ${headworks(`repair --kind ${readByRulesKind}`)}`,
  };
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
      `the link logs in once; another one: ${invocation(io)} dashboard --data-dir ${folderWord(io, facts.dataFolder)}`,
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
  out.line('Ctrl-C stops it, simulators included. The next start goes on with what is there.');
}
