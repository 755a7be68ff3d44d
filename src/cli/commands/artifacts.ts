// headworks artifacts: what was taken in, and exactly what became of it.
import type { Command } from 'commander';
import type { Artifact, Artifacts, Revisions } from '../../api/artifacts.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { counted, humanMoment, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

const own = `${knowledgePath}/artifacts`;
const pathOf = (id: string): string => `${own}/${encodeURIComponent(id)}`;

export function registerArtifacts(program: Command, host: CommandHost): void {
  const group = program.command('artifacts').description('documents that were taken in');
  examples(group, [
    'headworks artifacts',
    'headworks artifacts get 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    'headworks artifacts delete 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  ]);
  registerList(group, host);
  registerShow(group, host);
  registerRevisions(group, host);
  registerRemove(group, host);
}

interface ListOptions extends SpaceOption {
  readonly type?: string;
  readonly source?: string;
  readonly limit: number;
}

function registerList(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(group.command('list', { isDefault: true }).description('newest first'))
    .option('--type <type>', 'email, doc, chat, transcript or note')
    .option('--source <system>', 'only of this source: files, upload, vault:NAME, …')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 500), 50);
  examples(command, ['headworks artifacts list --type email --json']);
  act<ListOptions>(host, command, async (session, options) => {
    const { type, source, limit } = options;
    const query = { type, source_system: source, limit, ...spaceFieldsOf(options) };
    const answer = await callServer<Artifacts>(session, 'GET', own, { query });
    const { out, io } = session;
    if (out.isJson) out.json(answer);
    else if (answer.artifacts.length === 0)
      out.line('Nothing was taken in here. "headworks ingest PATH" does it.');
    else
      out.table(
        ['ID', 'TYPE', 'TITLE', 'CHUNKS', 'SOURCE', 'TAKEN IN'],
        answer.artifacts.map((each) => [
          each.id,
          each.type,
          each.title,
          String(each.chunk_count),
          each.source_system,
          humanMoment(each.ingested_at, io.clock.now()),
        ]),
      );
    return exitCodes.ok;
  });
}

function registerShow(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group.command('get').argument('<id>').description('which parts are in, and which are missing and why'),
  ).option('--text', 'its text as well');
  examples(command, ['headworks artifacts get 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --text']);
  act<SpaceOption & { text?: boolean }>(host, command, async (session, options, [id = '']) => {
    const query = spaceFieldsOf(options);
    const artifact = await callServer<Artifact>(session, 'GET', pathOf(id), { query });
    if (session.out.isJson) session.out.json(artifact);
    else show(session, artifact, options.text === true);
    return exitCodes.ok;
  });
}

function show({ out, io }: CliSession, artifact: Artifact, withText: boolean): void {
  const { status } = artifact;
  const stepText = ({ done, failed, skipped, pending }: (typeof status.steps)['read']): string =>
    done + failed + skipped + pending === 0
      ? 'not configured'
      : [`${done} done`, ...parts({ failed, skipped, pending })].join(', ');
  out.facts([
    ['id', artifact.id],
    ['title', artifact.title],
    ['type', artifact.type],
    ['source', `${artifact.source_system}: ${artifact.source_id}`],
    ['written', humanMoment(artifact.source_ts, io.clock.now())],
    ['taken in', humanMoment(artifact.ingested_at, io.clock.now())],
    ['size', `${counted(artifact.chunk_count, 'chunk')}, about ${counted(artifact.token_count, 'token')}`],
    ['state', status.state],
    ['searchable', stepText(status.steps.index)],
    ['read', `${stepText(status.steps.read)} (${status.read_by_rules} by rules)`],
    ...status.model_fallbacks.map(
      ({ cause, positions }) =>
        [
          '',
          `extracted by rules because a model failed (${cause}): ${chunkNumbers(positions)}; see "headworks repair"`,
        ] as [string, string],
    ),
    ...status.dropped.map(
      ({ reason, count, positions }) =>
        ['not taken', `${count} × ${notTakenWords[reason]}: ${chunkNumbers(positions)}`] as [string, string],
    ),
    ['embedded', stepText(status.steps.embed)],
    ['graph', stepText(status.steps.graph)],
    ...artifact.warnings.map((warning) => ['warning', warning] as [string, string]),
    ...status.missing.map(
      ({ step, positions, cause, message, status: how }) =>
        ['missing', `${step} of ${chunkNumbers(positions)}: ${message ?? cause ?? how}`] as [string, string],
    ),
  ]);
  if (!withText) return;
  out.line();
  for (const line of artifact.text.split('\n')) out.line(printable(line));
}

const notTakenWords: Readonly<Record<Artifact['status']['dropped'][number]['reason'], string>> = {
  'mention-without-name': 'a mention without a name',
  'mention-not-in-text': 'a mention whose name does not stand in the text',
  'event-no-object': 'an event that is no object',
  'event-category-unknown': 'an event of no known category',
  'event-quote-not-in-text': 'an event whose quote does not stand in the text',
  'quote-not-in-text': 'a further quote that does not stand in the text',
  'actor-not-mentioned': 'an actor whom no mention names',
  'mentions-too-many': 'a mention beyond what one reading may hold',
  'events-too-many': 'an event beyond what one reading may hold',
  'actors-too-many': 'an actor beyond what one event may have',
  'quotes-too-many': 'a quote beyond what one event may have',
};

/** `chunk 0`, or `chunks 0–41, 43`: there may be thousands. */
function chunkNumbers(positions: readonly number[]): string {
  if (positions.length === 0) return 'the document';
  const runs: { first: number; last: number }[] = [];
  for (const position of positions.toSorted((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run && position <= run.last + 1) run.last = position;
    else runs.push({ first: position, last: position });
  }
  const shown = runs
    .slice(0, mostRuns)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}–${last}`));
  const more = runs.length > mostRuns ? ' and others' : '';
  return `${positions.length === 1 ? 'chunk' : 'chunks'} ${shown.join(', ')}${more}`;
}

const mostRuns = 20;

const parts = (counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));

function registerRevisions(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group.command('revisions').argument('<id>').description('its revisions, newest first'),
  );
  examples(command, ['headworks artifacts revisions 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b']);
  act<SpaceOption>(host, command, async (session, options, [id = '']) => {
    const query = spaceFieldsOf(options);
    const answer = await callServer<Revisions>(session, 'GET', `${pathOf(id)}/revisions`, { query });
    const { out, io } = session;
    if (out.isJson) out.json(answer);
    else
      out.table(
        ['REVISION', 'TITLE', 'CHUNKS', 'TAKEN IN', ''],
        answer.revisions.map((each) => [
          each.revision_id,
          each.title,
          String(each.chunk_count),
          humanMoment(each.ingested_at, io.clock.now()),
          each.is_latest ? 'latest' : '',
        ]),
      );
    return exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('delete')
      .argument('<id>')
      .description('remove it with everything that was derived from it alone'),
  ).option('--force', 'do not ask');
  examples(command, ['headworks artifacts delete 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --force']);
  act<SpaceOption & { force?: boolean }>(host, command, async (session, options, [id = '']) => {
    const { out } = session;
    const query = spaceFieldsOf(options);
    const { title } = await callServer<Artifact>(session, 'GET', pathOf(id), { query });
    const question = `Remove "${title}" with its events, and the entities that nothing else mentions?`;
    if (options.force !== true && !(await confirm(session, question))) {
      out.line('Nothing was removed.');
      return exitCodes.error;
    }
    await callServer(session, 'DELETE', pathOf(id), { query });
    if (out.isJson) out.json({ removed: id });
    else out.line(`"${title}" is removed.`);
    return exitCodes.ok;
  });
}
