// headworks entities merge, unmerge and split: what belongs together, and what does not.
import type { EntityDetail, EntityMerge, UndoneMerge } from '../../api/entities.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { counted } from '../counted.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { entityPath, exampleEntity } from './entity-path.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf, spaceWords } from './knowledge-space.ts';

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
      .argument('<merge>', 'id of the merge; "headworks entities show" lists them')
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
      .argument('<mentions...>', 'ids of its mentions that mean somebody else')
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
