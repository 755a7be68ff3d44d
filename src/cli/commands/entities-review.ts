// headworks entities review: goes through what may be the same, one question at a time.
import type { EntityPair, EntityReview } from '../../api/entities.ts';
import type { Command } from 'commander';
import { Option } from 'commander';
import { HeadworksError } from '../../core/index.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { counted } from '../counted.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';
import { entityName } from './entity-name.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf, spaceWords } from './knowledge-space.ts';

type Verdict = 'same' | 'different' | 'later';
type OpenPair = EntityReview['pairs'][number];

interface ReviewOptions extends SpaceOption {
  readonly limit: number;
  readonly pair?: string;
  readonly verdict?: Verdict;
  readonly list?: boolean;
}

export function registerReview(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('review')
      .description('say of doubtful names whether they mean the same; asks one by one on a terminal'),
  )
    .option('--limit <n>', 'how many at most', wholeNumber(1, 100), 20)
    .option('--list', 'only show them')
    .option('--pair <id>', 'answer this one, with --verdict')
    .addOption(new Option('--verdict <verdict>', 'the answer').choices(['same', 'different', 'later']));
  examples(command, [
    'headworks entities review',
    'headworks entities review --list --json',
    'headworks entities review --pair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --verdict different',
  ]);
  act<ReviewOptions>(host, command, async (session, options) => {
    const { pair, verdict } = options;
    if ((pair === undefined) !== (verdict === undefined))
      throw new UsageError('give --pair and --verdict together.');
    if (pair !== undefined && verdict !== undefined) return answerOne(session, options, pair, verdict);
    const open = await readOpen(session, options);
    const { out } = session;
    if (out.isJson) out.json(open);
    else if (open.pairs.length === 0) out.line('Nothing is in doubt here.');
    else if (options.list === true || !session.io.isTty.stderr) showList(session, options, open.pairs);
    else return ask(session, options, open.pairs);
    return exitCodes.ok;
  });
}

const readOpen = (session: CliSession, options: ReviewOptions) =>
  callServer<EntityReview>(session, 'GET', `${knowledgePath}/pairs`, {
    query: { limit: options.limit, ...spaceFieldsOf(options) },
  });

const decide = (
  session: CliSession,
  options: SpaceOption,
  pairId: string,
  body: { readonly verdict: Verdict; readonly as_of?: string },
) =>
  callServer<EntityPair>(session, 'POST', `${knowledgePath}/pairs/${encodeURIComponent(pairId)}/verdict`, {
    query: spaceFieldsOf(options),
    body,
  });

async function answerOne(
  session: CliSession,
  options: SpaceOption,
  pairId: string,
  verdict: Verdict,
): Promise<ExitCode> {
  const pair = await decide(session, options, pairId, { verdict });
  if (session.out.isJson) session.out.json(pair);
  else session.out.line(`The pair ${pair.id} is said to be: ${pair.state}.`);
  return exitCodes.ok;
}

function describe(side: OpenPair['a']): string {
  const known = [side.role, side.organization, side.email].filter((clue) => clue !== null).join(', ');
  const also = side.aliases.slice(0, 4).join(', ');
  return [
    `${side.canonical_name} [${side.type}]`,
    known,
    also === '' ? '' : `also ${also}`,
    counted(side.mention_count, 'mention'),
  ]
    .filter(Boolean)
    .join('; ');
}

const reasonsOf = ({ evidence, reason }: OpenPair): string => {
  const reasons: unknown = evidence['reasons'];
  return Array.isArray(reasons) && reasons.length > 0 ? reasons.join('; ') : reason;
};

function showList(session: CliSession, options: ReviewOptions, pairs: readonly OpenPair[]): void {
  const { out } = session;
  out.table(
    ['PAIR', 'ONE', 'OTHER', 'LIKELY', 'WHY'],
    pairs.map((pair) => [
      pair.id,
      entityName(pair.a),
      entityName(pair.b),
      `${Math.round(pair.confidence * 100)} %`,
      reasonsOf(pair),
    ]),
  );
  const words = `entities review --pair PAIR --verdict same${spaceWords(options)}`;
  out.note(`Answer one (same, different or later) with: ${session.commandLine(words)}`);
}

const answers: Readonly<Record<string, Verdict>> = {
  s: 'same',
  same: 'same',
  d: 'different',
  different: 'different',
  l: 'later',
  later: 'later',
};

/** Until all are answered, or somebody answers with nothing. */
async function ask(
  session: CliSession,
  options: ReviewOptions,
  pairs: readonly OpenPair[],
): Promise<ExitCode> {
  const { out } = session;
  const passed = new Set<string>();
  let answered = 0;
  let waiting = pairs;
  for (let pair = waiting[0]; pair; pair = waiting[0]) {
    const verdict = await askOne(session, pair, `${passed.size + 1} of ${passed.size + waiting.length}`);
    if (verdict === undefined) break;
    const refusal = await decide(session, options, pair.id, { verdict, as_of: pair.as_of }).then(
      () => null,
      ifOvertaken,
    );
    if (refusal === null) answered += 1;
    else out.line(refusal);
    passed.add(pair.id);
    // A merge changes who the others are asked about.
    const isChanged = verdict === 'same' || refusal !== null;
    const open = isChanged ? (await readOpen(session, options)).pairs : waiting;
    waiting = open.filter(({ id }) => !passed.has(id));
  }
  out.line(`${counted(answered, 'pair')} answered.`);
  return exitCodes.ok;
}

/** Why the answer was not taken, when somebody else was faster: no reason to stop asking. */
function ifOvertaken(error: unknown): string {
  if (error instanceof HeadworksError && error.code === 'CONFLICT') return error.message;
  throw error;
}

async function askOne({ out, io }: CliSession, pair: OpenPair, place: string): Promise<Verdict | undefined> {
  out.line(`${place}, ${Math.round(pair.confidence * 100)} % likely: ${reasonsOf(pair)}`);
  out.facts([
    ['one', describe(pair.a)],
    ['other', describe(pair.b)],
  ]);
  io.stderr.write('The same? [s]ame, [d]ifferent, [l]ater, anything else ends: ');
  return answers[(await io.readLine()).trim().toLowerCase()];
}
