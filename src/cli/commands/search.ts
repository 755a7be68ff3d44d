// headworks search: what knowledge says about a question.
import type { Command } from 'commander';
import type { SearchResponse } from '../../api/knowledge.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

interface SearchOptions extends SpaceOption {
  readonly limit: number;
  readonly type?: readonly string[];
  readonly source?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly category?: readonly string[];
  readonly entity?: readonly string[];
  readonly expand?: boolean;
  readonly budget?: number;
  readonly seeds?: number;
  readonly related?: readonly string[];
  readonly entities?: boolean;
}

export function registerSearch(program: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    program
      .command('search')
      .argument('<query...>', 'what to look for; "words in quotes" belong together')
      .description('search documents by words, vectors and the graph'),
  )
    .option('--limit <count>', 'results at most', wholeNumber(1, 50), 5)
    .option('--type <types...>', 'only email, doc, chat, transcript or note')
    .option('--source <systems...>', 'only of these source systems')
    .option(
      '--from <time>',
      'only documents written then (undated: taken in then) or later, such as 2026-03-01',
    )
    .option('--to <time>', 'only documents written then or earlier; a day counts whole, in UTC')
    .option('--category <categories...>', 'only passages with an event of these: Decision, Commitment, …')
    .option('--entity <ids...>', 'only passages that mention one of these entities')
    .option('--expand', 'also events that share an actor or a subject with the first results')
    .option('--budget <count>', 'related events at most', wholeNumber(0, 50))
    .option('--seeds <count>', 'how many of the first results are followed', wholeNumber(0, 50))
    .option('--related <categories...>', 'only related events of these categories')
    .option('--entities', 'also who and what is mentioned');
  examples(command, [
    'headworks search who decided on the launch date',
    `headworks search '"launch date"' --type email --from 2026-01-01`,
    'headworks search "open risks" --expand --entities --space bi',
    'headworks search budget --json',
  ]);
  act<SearchOptions>(host, command, search);
}

async function search(
  session: CliSession,
  options: SearchOptions,
  words: readonly string[],
): Promise<ExitCode> {
  const answer = await callServer<SearchResponse>(session, 'POST', `${knowledgePath}/search`, {
    body: bodyOf(words.join(' '), options),
  });
  if (session.out.isJson) session.out.json(answer);
  else show(session, answer);
  return exitCodes.ok;
}

function bodyOf(query: string, options: SearchOptions): Record<string, unknown> {
  const { limit, expand = false, entities = false, budget, seeds, related } = options;
  const { type, source, from, to, category, entity } = options;
  return {
    query,
    limit,
    filters: {
      types: type,
      sources: source,
      from: timeOf(from),
      to: timeOf(to),
      categories: category,
      entity_ids: entity,
    },
    graph_expand: expand,
    graph_budget: budget,
    graph_seed_limit: seeds,
    graph_filters: related,
    include_entities: entities,
    ...spaceFieldsOf(options),
  };
}

/** A day goes as it is, and so does what is no time at all: the server says what is wrong with it. */
function timeOf(text: string | undefined): string | undefined {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime()) || /^[\d-]+$/.test(text ?? '') ? text : time.toISOString();
}

const shownChars = 300;

function show({ out }: CliSession, answer: SearchResponse): void {
  if (answer.primary_results.length === 0)
    out.line(
      'Nothing was found. Try other words or fewer filters; "headworks artifacts list" shows what is there, ' +
        '"headworks ingest --help" how to bring more.',
    );
  for (const [index, hit] of answer.primary_results.entries()) {
    const where = [hit.type, hit.source_id, hit.source_ts?.slice(0, 10)].filter((part) => part).join(', ');
    out.line(
      `${index + 1}. ${out.style('bold', printable(titleOf(hit)))}  ${out.style('dim', printable(where))}`,
    );
    out.line(`   ${printable(excerpt(hit))}`);
  }
  if (answer.related_context !== null) {
    out.line();
    out.line(answer.related_context.length === 0 ? 'Nothing is related.' : 'Related:');
    for (const item of answer.related_context)
      out.line(
        `   ${printable(`${item.category}: ${item.summary}`)}  ${out.style('dim', printable(item.reason))}`,
      );
  }
  if (answer.entities !== null && answer.entities.length > 0) {
    out.line();
    out.line(`Mentioned: ${printable(answer.entities.map(mentioned).join(', '))}`);
  }
  if (answer.warning !== undefined) out.note(answer.warning);
}

const mentioned = ({ name, type, relations }: NonNullable<SearchResponse['entities']>[number]): string =>
  `${name} (${[type, ...relations].join(', ')})`;

/** Title and headings; the first heading is often the title. */
function titleOf({ title, heading }: SearchResponse['primary_results'][number]): string {
  if (heading === null) return title;
  return heading === title || heading.startsWith(`${title} › `) ? heading : `${title} › ${heading}`;
}

/** Around the first word that was looked for. */
function excerpt({ text, highlights }: SearchResponse['primary_results'][number]): string {
  const first = highlights[0]?.start ?? 0;
  const start = text.length <= shownChars ? 0 : Math.max(0, first - shownChars / 3);
  const end = Math.min(text.length, start + shownChars);
  return `${start > 0 ? '…' : ''}${text.slice(start, end).trim()}${end < text.length ? '…' : ''}`;
}
