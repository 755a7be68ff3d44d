// headworks entities: list, merge and split entities.
import type { Command } from 'commander';
import { Option } from 'commander';
import type {
  Entities,
  Entity,
  EntityDetail,
  EntityMerge,
  EntityPair,
  EntityReview,
  UndoneMerge,
} from '../../api/entities.ts';
import { HeadworksError } from '../../core/index.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { counted, humanMoment } from '../output.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf, spaceWords } from './knowledge-space.ts';

export const entityPath = (id: string): string => `${knowledgePath}/entities/${encodeURIComponent(id)}`;

export const exampleEntity = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

export function entityName({ canonical_name, organization, email }: Entity): string {
  const more = organization ?? email;
  return more === null ? canonical_name : `${canonical_name} (${more})`;
}

export function registerEntities(program: Command, host: CommandHost): void {
  const group = program
    .command('entities')
    .description('who and what documents mention; merge, part and review them');
  examples(group, [
    'headworks entities --name alice',
    'headworks entities review',
    'headworks entities merge WINNER LOSER --reason "the same person"',
  ]);
  registerList(group, host);
  registerShow(group, host);
  registerMerge(group, host);
  registerUnmerge(group, host);
  registerSplit(group, host);
  registerReview(group, host);
}

interface ListOptions extends SpaceOption {
  readonly type?: string;
  readonly name?: string;
  readonly review?: boolean;
  readonly limit: number;
  readonly after?: string;
}

function registerList(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(group.command('list', { isDefault: true }).description('list entities'))
    .addOption(
      new Option('--type <type>', 'only of this type').choices([
        'person',
        'org',
        'project',
        'object',
        'place',
        'other',
      ]),
    )
    .option('--name <part>', 'part of a name or alias')
    .option('--review', 'only those that wait for another look')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 500), 50)
    .option('--after <id>', 'continue after this entity');
  examples(command, ['headworks entities list --type person --json', 'headworks entities list --review']);
  act<ListOptions>(host, command, async (session, options) => {
    const { type, name, review, limit, after } = options;
    const query = {
      type,
      name,
      needs_review: review === true ? true : undefined,
      limit,
      after,
      ...spaceFieldsOf(options),
    };
    const answer = await callServer<Entities>(session, 'GET', `${knowledgePath}/entities`, { query });
    if (session.out.isJson) session.out.json(answer);
    else showList(session, answer);
    return exitCodes.ok;
  });
}

function showList({ out }: CliSession, { entities, next }: Entities): void {
  if (entities.length === 0) {
    out.line('No such entities are known here.');
    return;
  }
  out.table(
    ['ID', 'TYPE', 'NAME', 'ALSO', 'MENTIONS', 'EVENTS', 'REVIEW'],
    entities.map((entity) => [
      entity.id,
      entity.type,
      entityName(entity),
      entity.aliases.slice(0, 3).join(', ') || '–',
      String(entity.mention_count),
      String(entity.event_count),
      entity.review_reason ?? '',
    ]),
    (text, column) => (column === 0 ? out.style('dim', text) : text),
  );
  if (next !== null) out.note(`There are more: add --after ${next}`);
}

function registerShow(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group.command('get').argument('<id>').description('one entity with its mentions, pairs and merges'),
  );
  examples(command, [`headworks entities get ${exampleEntity}`]);
  act<SpaceOption>(host, command, async (session, options, [id = '']) => {
    const query = spaceFieldsOf(options);
    const entity = await callServer<EntityDetail>(session, 'GET', entityPath(id), { query });
    if (session.out.isJson) session.out.json(entity);
    else showEntity(session, entity);
    return exitCodes.ok;
  });
}

function showEntity({ out, io }: CliSession, entity: EntityDetail): void {
  const none = '–';
  const now = io.clock.now();
  out.facts([
    ['id', entity.id],
    ['name', entity.canonical_name],
    ['type', entity.type],
    ['also', entity.aliases.join(', ') || none],
    ['role', entity.role ?? none],
    ['organization', entity.organization ?? none],
    ['email', entity.email ?? none],
    ['clues', entity.context_clues.join('; ') || none],
    ['review', entity.review_reason ?? 'no'],
    ['mentions', `${entity.mention_count}, in ${counted(entity.event_count, 'event')}`],
    ...entity.merges.map((merge): [string, string] => [
      merge.undone_at === null ? 'merge' : 'merge, undone',
      `${merge.id}: ${merge.loser_id} into ${merge.winner_id}, ${humanMoment(merge.merged_at, now)}, ` +
        `by ${merge.decided_by}: ${merge.reason}`,
    ]),
    ...entity.pairs.map((pair): [string, string] => [
      `pair, ${pair.state}`,
      `${pair.id}: with ${pair.entity_a === entity.id ? pair.entity_b : pair.entity_a}: ${pair.reason}`,
    ]),
  ]);
  if (entity.mentions.length === 0) return;
  out.line();
  out.table(
    ['MENTION', 'AS', 'RELATION', 'IN', 'READ BY'],
    entity.mentions.map((mention) => [
      mention.id,
      mention.surface_form,
      mention.relation ?? none,
      mention.title,
      `${mention.method}, ${Math.round(mention.confidence * 100)} %`,
    ]),
  );
}

const otherId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c';

interface MergeOptions extends SpaceOption {
  readonly reason: string;
  readonly force?: boolean;
}

export function registerMerge(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('merge')
      .argument('<winner>', 'id of the entity that stays')
      .argument('<loser>', 'id of the entity that becomes part of it')
      .description('merge two entities; it can be undone'),
  )
    .option('--reason <text>', 'why, for those who look at it later', 'Merged by hand.')
    .option('--force', 'do not ask');
  examples(command, [`headworks entities merge ${exampleEntity} ${otherId} --reason "the same person"`]);
  act<MergeOptions>(host, command, async (session, options, [winner = '', loser = '']) => {
    const { out } = session;
    const query = spaceFieldsOf(options);
    if (options.force !== true) {
      const stays = await callServer<EntityDetail>(session, 'GET', entityPath(winner), { query });
      const goes = await callServer<EntityDetail>(session, 'GET', entityPath(loser), { query });
      const question = `Make ${goes.canonical_name} (${counted(goes.mention_count, 'mention')}) part of ${stays.canonical_name}?`;
      if (!(await confirm(session, question))) {
        out.line('Nothing was merged.');
        return exitCodes.error;
      }
    }
    const body = { winner_id: winner, loser_id: loser, reason: options.reason };
    const path = `${knowledgePath}/merges`;
    const merge = await callServer<EntityMerge>(session, 'POST', path, { query, body });
    if (out.isJson) out.json(merge);
    else {
      out.line(`${merge.loser_id} is part of ${merge.winner_id} now.`);
      out.note(`Undo it with: ${session.commandLine(`entities unmerge ${merge.id}${spaceWords(options)}`)}`);
    }
    return exitCodes.ok;
  });
}

export function registerUnmerge(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('unmerge')
      .argument('<merge>', 'id of the merge; "headworks entities get" lists them')
      .description('undo a merge exactly; later merges into the same winner stay'),
  );
  examples(command, [`headworks entities unmerge ${exampleEntity}`]);
  act<SpaceOption>(host, command, async (session, options, [id = '']) => {
    const path = `${knowledgePath}/merges/${encodeURIComponent(id)}/undo`;
    const merge = await callServer<UndoneMerge>(session, 'POST', path, {
      query: spaceFieldsOf(options),
    });
    if (session.out.isJson) session.out.json(merge);
    else showUndone(session, options, merge);
    return exitCodes.ok;
  });
}

function showUndone(
  session: CliSession,
  options: SpaceOption,
  { winner_id, loser_id, later_mentions }: UndoneMerge,
): void {
  const { out } = session;
  const { moved, unclear } = later_mentions;
  out.line(`${loser_id} is on its own again.`);
  if (moved > 0) out.line(`${counted(moved, 'mention')} made since under its name went with it.`);
  if (unclear.length === 0) return;
  out.line(
    `${counted(unclear.length, 'mention')} made since may be of either, and stayed with ${winner_id}:`,
  );
  out.table(
    ['MENTION', 'AS'],
    unclear.map(({ mention_id, surface_form }) => [mention_id, surface_form]),
  );
  const words = `entities split ${winner_id} MENTION --name NAME${spaceWords(options)}`;
  out.note(`Part them with: ${session.commandLine(words)}`);
}

interface SplitOptions extends SpaceOption {
  readonly name: string;
}

export function registerSplit(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('split')
      .argument('<id>', 'id of the entity')
      .argument('<mentions...>', 'ids of the mentions to split off')
      .description('make some mentions an entity of their own, with their events'),
  ).requiredOption('--name <name>', 'what the new one is called');
  examples(command, [`headworks entities split ${exampleEntity} ${otherId} --name "Alice Wong"`]);
  act<SplitOptions>(host, command, async (session, options, [id = '', ...mentions]) => {
    const body = { mention_ids: mentions, name: options.name };
    const query = spaceFieldsOf(options);
    const path = `${entityPath(id)}/split`;
    const made = await callServer<EntityDetail>(session, 'POST', path, { query, body });
    if (session.out.isJson) session.out.json(made);
    else {
      session.out.line(`${made.canonical_name} is an entity of its own now: ${made.id}`);
      const words = `entities merge ${id} ${made.id}${spaceWords(options)}`;
      session.out.note(`Undo it with: ${session.commandLine(words)}`);
    }
    return exitCodes.ok;
  });
}

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
    else if (options.list === true || !session.io.isTty.stderr) printPairs(session, options, open.pairs);
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

function printPairs(session: CliSession, options: ReviewOptions, pairs: readonly OpenPair[]): void {
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

/** Runs until all pairs are decided or the answer is empty. */
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
    // A merge changes the other pairs.
    const isChanged = verdict === 'same' || refusal !== null;
    const open = isChanged ? (await readOpen(session, options)).pairs : waiting;
    waiting = open.filter(({ id }) => !passed.has(id));
  }
  out.line(`${counted(answered, 'pair')} answered.`);
  return exitCodes.ok;
}

/** The conflict with another reviewer's decision; the review continues. */
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
