// headworks entities: who and what is known, merged, parted, reviewed.
import type { Entities, EntityDetail } from '../../api/entities.ts';
import type { Command } from 'commander';
import { Option } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { counted } from '../counted.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../human-time.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { registerMerge, registerSplit, registerUnmerge } from './entities-merge.ts';
import { registerReview } from './entities-review.ts';
import { entityName } from './entity-name.ts';
import { entityPath, exampleEntity } from './entity-path.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

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
    group.command('show').argument('<id>').description('one entity with its mentions, pairs and merges'),
  );
  examples(command, [`headworks entities show ${exampleEntity}`]);
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
