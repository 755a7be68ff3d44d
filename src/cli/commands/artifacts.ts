// headworks artifacts: manage ingested documents.
import { Option } from 'commander';
import type { Artifact } from '../../api/artifacts.ts';
import { artifactsApi } from '../../api/artifacts.ts';
import { callApi } from '../../api/client.ts';
import type { CliCommand } from '../command.ts';
import { exampleId } from '../command.ts';
import { commandFor } from '../derive.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';

export function register(group: CliCommand): void {
  commandFor(group, artifactsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks artifacts list --type email --json'],
    print: ({ out }, { artifacts, next }) => {
      out.list(artifacts, 'There are no documents here. Add some with "headworks ingest PATH".', [
        'id',
        'type',
        'title',
        'chunk_count',
        'source_system',
        'ingested_at',
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, artifactsApi.get, {
    name: 'get',
    description: 'get an artifact and its processing status: what is missing, and why',
    options: [new Option('--text', 'print its text as well')],
    examples: [`headworks artifacts get ${exampleId} --text`],
    print: ({ out }, artifact, { own }) => printArtifact(out, artifact, own['text'] === true),
  });

  commandFor(group, artifactsApi.listRevisions, {
    name: 'revisions',
    examples: [`headworks artifacts revisions ${exampleId}`],
    print: ({ out }, { revisions }) =>
      out.list(revisions, 'There are no revisions.', [
        'revision_id',
        'title',
        'chunk_count',
        'ingested_at',
        ['', ({ is_latest }) => (is_latest ? 'latest' : '')],
      ]),
  });

  commandFor(group, artifactsApi.delete, {
    name: 'delete',
    examples: [`headworks artifacts delete ${exampleId} --force`],
    resolve: async ({ params, query }, { client }) => {
      const id = String(params['id']);
      const subject = await callApi(client, 'GET /api/v1/knowledge/artifacts/:id', { params: { id }, query });
      return { subject: subject.title };
    },
    confirm: (_input, title) =>
      `Delete "${title}" with its events, and the entities that no other document mentions?`,
    print: ({ out }, _none, { subject }) => out.line(`"${printable(subject)}" is deleted.`),
  });
}

function printArtifact(out: Output, artifact: Artifact, withText: boolean): void {
  const { status } = artifact;
  const stepText = ({ completed, failed, skipped, queued }: (typeof status.steps)['read']): string =>
    completed + failed + skipped + queued === 0
      ? 'not configured'
      : [`${completed} completed`, ...parts({ failed, skipped, queued })].join(', ');
  out.facts([
    ['id', artifact.id],
    ['title', artifact.title],
    ['type', artifact.type],
    ['source', `${artifact.source_system}: ${artifact.source_id}`],
    ['written', out.ago(artifact.source_ts)],
    ['ingested', out.ago(artifact.ingested_at)],
    ['size', `${counted(artifact.chunk_count, 'chunk')}, about ${counted(artifact.token_count, 'token')}`],
    ['state', status.state],
    ['indexed', stepText(status.steps.index)],
    ['read', `${stepText(status.steps.read)} (${status.read_by_rules} by rules)`],
    ...status.model_fallbacks.map(
      ({ cause, positions }) =>
        [
          '',
          `read by rules because a model failed (${cause}): ${chunkNumbers(positions)}; see "headworks repair"`,
        ] as [string, string],
    ),
    ...status.dropped.map(
      ({ reason, count, positions }) =>
        ['dropped', `${count} × ${dropReasons[reason]}: ${chunkNumbers(positions)}`] as [string, string],
    ),
    ['embedded', stepText(status.steps.embed)],
    ['graph', stepText(status.steps.graph)],
    ...artifact.warnings.map((warning) => ['warning', warning] as [string, string]),
    ...status.missing.map(
      ({ step, positions, cause, message, state: how }) =>
        ['missing', `${step} of ${chunkNumbers(positions)}: ${message ?? cause ?? how}`] as [string, string],
    ),
  ]);
  if (!withText) return;
  out.line();
  for (const line of artifact.text.split('\n')) out.line(printable(line));
}

const dropReasons: Readonly<Record<Artifact['status']['dropped'][number]['reason'], string>> = {
  'mention-without-name': 'mention without a name',
  'mention-not-in-text': 'mention whose name is not in the text',
  'event-no-object': 'event that is not an object',
  'event-category-unknown': 'event of an unknown category',
  'event-quote-not-in-text': 'event whose quote is not in the text',
  'quote-not-in-text': 'further quote that is not in the text',
  'actor-not-mentioned': 'actor without a mention',
  'mentions-too-many': 'mention above the maximum per chunk',
  'events-too-many': 'event above the maximum per chunk',
  'actors-too-many': 'actor above the maximum per event',
  'quotes-too-many': 'quote above the maximum per event',
};

/** `chunk 0`, or `chunks 0–41, 43`: there may be thousands. */
function chunkNumbers(positions: readonly number[]): string {
  if (positions.length === 0) return 'the document';
  const ranges: { first: number; last: number }[] = [];
  for (const position of positions.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range && position <= range.last + 1) range.last = position;
    else ranges.push({ first: position, last: position });
  }
  const shown = ranges
    .slice(0, maxRanges)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}–${last}`));
  const more = ranges.length > maxRanges ? ' and others' : '';
  return `${positions.length === 1 ? 'chunk' : 'chunks'} ${shown.join(', ')}${more}`;
}

const maxRanges = 20;

const parts = (counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
