// headworks entities: list, merge, split and review entities.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Entity, EntityDetail, EntityPair, EntityReview } from '../../api/entities.ts';
import { entitiesApi } from '../../api/entities.ts';
import { HeadworksError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exampleId, wholeNumber } from '../command.ts';
import { commandFor } from '../derive.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOptions } from './spaces.ts';
import { addSpaceOptions, spaceFieldsOf, spaceWords } from './spaces.ts';

const otherId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c';

export function register(group: CliCommand): void {
  commandFor(group, entitiesApi.list, {
    name: 'list',
    isDefault: true,
    flags: { needs_review: { description: 'only entities that need a review' }, limit: { default: 50 } },
    examples: ['headworks entities list --type person --json', 'headworks entities list --needs-review'],
    print: ({ out }, { entities, next }) => {
      out.list(entities, 'There are no such entities.', [
        'id',
        'type',
        ['name', entityName],
        ['aliases', ({ aliases }) => aliases.slice(0, 3).join(', ') || null],
        'mention_count',
        'event_count',
        ['review', ({ review_reason }) => review_reason ?? ''],
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, entitiesApi.get, {
    name: 'get',
    examples: [`headworks entities get ${exampleId}`],
    print: ({ out }, entity) => printEntity(out, entity),
  });

  commandFor(group, entitiesApi.listRelated, {
    name: 'related',
    arguments: { id: ['entity', 'id of the entity'] },
    examples: [`headworks entities related ${exampleId} --json`],
    print: ({ out }, { nodes, edges }) => {
      const labels = new Map(nodes.map(({ id, label }) => [id, label]));
      const [center] = nodes;
      out.line(`${center?.label ?? ''} (${center?.type ?? ''})`);
      out.list(edges, 'It has no events yet.', [
        ['from', ({ from }) => labels.get(from) ?? from],
        ['edge', ({ kind, role }) => (role === null ? kind : `${kind} (${role})`)],
        ['to', ({ to }) => labels.get(to) ?? to],
      ]);
    },
  });

  commandFor(group, entitiesApi.merge, {
    name: 'merge',
    description: 'merge two entities; "entities undo-merge" undoes it',
    arguments: {
      winner_id: ['winner', 'id of the entity that stays'],
      loser_id: ['loser', 'id of the entity to merge into it'],
    },
    flags: { reason: { description: 'reason, kept with the merge' } },
    examples: [`headworks entities merge ${exampleId} ${otherId} --reason "the same person"`],
    resolve: async ({ query, body }, { client, own }) => {
      if (own['force'] === true) return {};
      const read = (id = '') =>
        callApi(client, 'GET /api/v1/knowledge/entities/:id', { params: { id }, query });
      return { subject: { winner: await read(body.winner_id), loser: await read(body.loser_id) } };
    },
    confirm: (_input, { winner, loser }) =>
      `Merge ${loser.canonical_name} (${counted(loser.mention_count, 'mention')}) into ${winner.canonical_name}?`,
    print: (session, merge, { query }) => {
      session.out.line(`${merge.loser_id} is merged into ${merge.winner_id}.`);
      const words = `entities undo-merge ${merge.id}${spaceWords(query)}`;
      session.out.note(`Undo it with: ${session.commandLine(words)}`);
    },
  });

  commandFor(group, entitiesApi.undoMerge, {
    name: 'undo-merge',
    arguments: { id: ['merge', 'id of the merge; "headworks entities get" lists them'] },
    examples: [`headworks entities undo-merge ${exampleId}`],
    print: (session, { winner_id, loser_id, later_mentions: { moved, unclear } }, { query }) => {
      const { out } = session;
      out.line(`${loser_id} is an entity of its own again.`);
      if (moved > 0) out.line(`${counted(moved, 'later mention')} under its name moved back with it.`);
      if (unclear.length === 0) return;
      out.line(`${counted(unclear.length, 'later mention')} may be of either, and stayed with ${winner_id}:`);
      out.list(unclear, '', ['id', 'surface_form']);
      const words = `entities split ${winner_id} MENTION --name NAME${spaceWords(query)}`;
      out.note(`Split them off with: ${session.commandLine(words)}`);
    },
  });

  commandFor(group, entitiesApi.split, {
    name: 'split',
    arguments: {
      id: ['entity', 'id of the entity'],
      mention_ids: ['mentions', 'ids of the mentions to split off'],
    },
    examples: [`headworks entities split ${exampleId} ${otherId} --name "Alice Wong"`],
    print: (session, { canonical_name, id }, { params, query }) => {
      session.out.line(`${canonical_name} is an entity of its own now: ${id}`);
      const words = `entities merge ${params['id']} ${id}${spaceWords(query)}`;
      session.out.note(`Undo it with: ${session.commandLine(words)}`);
    },
  });

  registerReview(group);
}

function entityName({ canonical_name, organization, email }: Entity): string {
  const more = organization ?? email;
  return more === null ? canonical_name : `${canonical_name} (${more})`;
}

const percent = (confidence: number): string => `${Math.round(confidence * 100)}%`;

function printEntity(out: Output, { mentions, merges, pairs, ...entity }: EntityDetail): void {
  out.fields(entity);
  for (const { id, loser_id, winner_id, merged_at, undone_at, decided_by, reason } of merges)
    out.line(
      printable(
        `  merge ${id}: ${loser_id} into ${winner_id}, ${out.ago(merged_at)}, by ${decided_by}: ${reason}` +
          (undone_at === null ? '' : ` (undone ${out.ago(undone_at)})`),
      ),
    );
  for (const { id, state, entity_a, entity_b, reason } of pairs) {
    const other = entity_a === entity.id ? entity_b : entity_a;
    out.line(printable(`  pair ${id} (${state}) with ${other}: ${reason}`));
  }
  if (mentions.length === 0) return;
  out.line();
  out.list(mentions, '', [
    'id',
    'surface_form',
    'relation',
    'title',
    ['extracted by', ({ method, confidence }) => `${method}, ${percent(confidence)}`],
  ]);
}

type Verdict = 'same' | 'different' | 'later';
type OpenPair = EntityReview['pairs'][number];

interface ReviewOptions extends SpaceOptions {
  readonly limit: number;
  readonly pair?: string;
  readonly verdict?: Verdict;
  readonly list?: boolean;
}

function registerReview(group: CliCommand): void {
  const command = addSpaceOptions(
    group
      .command('review')
      .description('decide whether two entities are the same; on a terminal asks one pair after the other'),
  )
    .option('--limit <number>', 'maximum number of pairs, 1 to 100', wholeNumber(1, 100), 20)
    .option('--list', 'only list the pairs')
    .option('--pair <id>', 'decide this pair, with --verdict')
    .addOption(
      new Option('--verdict <verdict>', 'the decision on --pair').choices(['same', 'different', 'later']),
    );
  command.examples([
    'headworks entities review',
    'headworks entities review --list --json',
    `headworks entities review --pair ${exampleId} --verdict different`,
  ]);
  command.run<ReviewOptions>(async (session, options) => {
    const { pair, verdict } = options;
    if ((pair === undefined) !== (verdict === undefined))
      throw new UsageError('Give --pair and --verdict together.');
    if (pair !== undefined && verdict !== undefined) return decideOne(session, options, pair, verdict);
    const open = await readOpen(session, options);
    const { out } = session;
    if (out.isJson) out.json(open);
    else if (open.pairs.length === 0) out.line('No pairs await a review.');
    else if (options.list === true || !session.io.isTty.stderr) printPairs(session, options, open.pairs);
    else return reviewPairs(session, options, open.pairs);
    return exitCodes.ok;
  });
}

const readOpen = (session: CliSession, options: ReviewOptions): Promise<EntityReview> =>
  session.call('GET /api/v1/knowledge/pairs', { query: { limit: options.limit, ...spaceFieldsOf(options) } });

const decide = (
  session: CliSession,
  options: SpaceOptions,
  id: string,
  body: { readonly verdict: Verdict; readonly as_of?: string },
): Promise<EntityPair> =>
  session.call('POST /api/v1/knowledge/pairs/:id/verdict', {
    params: { id },
    query: spaceFieldsOf(options),
    body,
  });

async function decideOne(
  session: CliSession,
  options: SpaceOptions,
  pairId: string,
  verdict: Verdict,
): Promise<ExitCode> {
  const pair = await decide(session, options, pairId, { verdict });
  if (session.out.isJson) session.out.json(pair);
  else session.out.line(`Pair ${pair.id} is decided: ${pair.state}.`);
  return exitCodes.ok;
}

function describe(side: OpenPair['a']): string {
  const known = [side.role, side.organization, side.email].filter((clue) => clue !== null).join(', ');
  const aliases = side.aliases.slice(0, 4).join(', ');
  return [
    `${side.canonical_name} [${side.type}]`,
    known,
    aliases === '' ? '' : `also ${aliases}`,
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
  out.list(pairs, '', [
    'id',
    ['a', ({ a }) => entityName(a)],
    ['b', ({ b }) => entityName(b)],
    ['confidence', ({ confidence }) => percent(confidence)],
    ['reasons', reasonsOf],
  ]);
  const words = `entities review --pair PAIR --verdict same${spaceWords(options)}`;
  out.note(`Decide one (same, different or later) with: ${session.commandLine(words)}`);
}

const verdicts: Readonly<Record<string, Verdict>> = {
  s: 'same',
  same: 'same',
  d: 'different',
  different: 'different',
  l: 'later',
  later: 'later',
};

/** Reviews pairs until all are decided or the input is none of the choices. */
async function reviewPairs(
  session: CliSession,
  options: ReviewOptions,
  pairs: readonly OpenPair[],
): Promise<ExitCode> {
  const { out } = session;
  const decided = new Set<string>();
  let decidedCount = 0;
  let waiting = pairs;
  for (let pair = waiting[0]; pair; pair = waiting[0]) {
    const verdict = await readVerdict(
      session,
      pair,
      `${decided.size + 1} of ${decided.size + waiting.length}`,
    );
    if (verdict === undefined) break;
    const rejection = await decide(session, options, pair.id, { verdict, as_of: pair.as_of }).then(
      () => null,
      conflictMessage,
    );
    if (rejection === null) decidedCount += 1;
    else out.line(rejection);
    decided.add(pair.id);
    // A merge changes the other pairs.
    const isChanged = verdict === 'same' || rejection !== null;
    const open = isChanged ? (await readOpen(session, options)).pairs : waiting;
    waiting = open.filter(({ id }) => !decided.has(id));
  }
  out.line(`${counted(decidedCount, 'pair')} decided.`);
  return exitCodes.ok;
}

/** Another reviewer decided first: the review continues. */
function conflictMessage(error: unknown): string {
  if (error instanceof HeadworksError && error.code === 'CONFLICT') return error.message;
  throw error;
}

async function readVerdict(
  { out, io }: CliSession,
  pair: OpenPair,
  place: string,
): Promise<Verdict | undefined> {
  out.line(`${place}, ${percent(pair.confidence)} likely: ${reasonsOf(pair)}`);
  out.facts([
    ['a', describe(pair.a)],
    ['b', describe(pair.b)],
  ]);
  io.stderr.write('The same? [s]ame, [d]ifferent, [l]ater, anything else ends the review: ');
  return verdicts[(await io.readLine()).trim().toLowerCase()];
}
