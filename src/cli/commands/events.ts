// headworks events: what happened, according to what was read.
import type { KnowledgeEvent, KnowledgeEvents } from '../../api/knowledge.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

interface ListOptions extends SpaceOption {
  readonly category?: string;
  readonly entity?: string;
  readonly artifact?: string;
  readonly superseded?: boolean;
  readonly limit: number;
}

export function registerEvents(program: Command, host: CommandHost): void {
  const group = program.command('events').description('what happened, with who took part and the evidence');
  examples(group, ['headworks events --category Decision', 'headworks events get ID']);
  const list = addSpaceOptions(
    group.command('list', { isDefault: true }).description('events, those read last first'),
  )
    .option(
      '--category <category>',
      'Commitment, Execution, Decision, Collaboration, QualityRisk, Feedback, Change or Stakeholder',
    )
    .option('--entity <id>', 'in which it acts, or which are about it')
    .option('--artifact <id>', 'read out of this document')
    .option('--superseded', 'of replaced revisions too')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 500), 50);
  examples(list, ['headworks events list --category Commitment --json']);
  act<ListOptions>(host, list, async (session, options) => {
    const { category, entity, artifact, superseded, limit } = options;
    const query = {
      category,
      entity_id: entity,
      artifact_id: artifact,
      with_superseded: superseded,
      limit,
      ...spaceFieldsOf(options),
    };
    const answer = await callServer<KnowledgeEvents>(session, 'GET', `${knowledgePath}/events`, {
      query,
    });
    const { out } = session;
    if (out.isJson) out.json(answer);
    else if (answer.events.length === 0) out.line('No events are known here.');
    else
      out.table(
        ['ID', 'CATEGORY', 'WHEN', 'WHO', 'WHAT'],
        answer.events.map((each) => [
          each.id,
          each.category,
          each.event_time?.slice(0, 10) ?? '–',
          whoOf(each),
          each.narrative,
        ]),
      );
    return exitCodes.ok;
  });
  registerShow(group, host);
}

const whoOf = ({ actors }: KnowledgeEvent): string => actors.map(({ name }) => name).join(', ') || '–';

function registerShow(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group.command('get').argument('<id>').description('one event with its evidence'),
  );
  examples(command, ['headworks events get 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b']);
  act<SpaceOption>(host, command, async (session, options, [id = '']) => {
    const path = `${knowledgePath}/events/${encodeURIComponent(id)}`;
    const event = await callServer<KnowledgeEvent>(session, 'GET', path, {
      query: spaceFieldsOf(options),
    });
    const { out } = session;
    if (out.isJson) out.json(event);
    else
      out.facts([
        ['id', event.id],
        ['category', event.category],
        ['when', event.event_time ?? '–'],
        ['what', event.narrative],
        ['subject', event.subject ?? (event.subjects.map(({ name }) => name).join(', ') || '–')],
        ['who', event.actors.map(({ name, role }) => `${name} (${role})`).join(', ') || '–'],
        ['confidence', `${Math.round(event.confidence * 100)} %, read by ${event.method}`],
        ['artifact', event.artifact_id],
        ...(event.superseded_at === null ? [] : [['superseded', event.superseded_at] as [string, string]]),
        ...event.evidence.map(({ quote }) => ['evidence', `“${quote}”`] as [string, string]),
      ]);
    return exitCodes.ok;
  });
}
