// headworks search: search documents by words, vectors and the graph.
import type { SearchResponse } from '../../api/knowledge.ts';
import { searchApi } from '../../api/knowledge.ts';
import type { CliCommand } from '../command.ts';
import { deriveCommand } from '../derive.ts';
import type { Output } from '../output.ts';
import { printable } from '../output.ts';

export function register(command: CliCommand): void {
  command.argument('<query...>', 'words to search for; "quoted words" match as a phrase');
  deriveCommand(command, searchApi.search, {
    flags: {
      query: { isHidden: true },
      limit: { default: 5 },
      types: { description: 'only documents of these types, separated by commas' },
      sources: { description: 'only documents of these source systems, separated by commas' },
      from: {
        description:
          'only documents written at this time or later (undated ones: ingested), such as 2026-03-01',
        parse: dayOrTime,
      },
      to: {
        description: 'only documents written at this time or earlier; a date includes the whole day, in UTC',
        parse: dayOrTime,
      },
    },
    examples: [
      'headworks search who decided on the launch date',
      `headworks search '"launch date"' --types email,note --from 2026-01-01`,
      'headworks search "open risks" --graph-expand --include-entities --space bi',
      'headworks search budget --json',
    ],
    prepare: ({ body }) => ({ body: { ...body, query: command.args.join(' ') } }),
    print: ({ out }, response) => printResults(out, response),
  });
}

/** A moment in UTC; a day stays a day, and what is neither is left to the check of the API. */
function dayOrTime(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) || /^[\d-]+$/.test(text) ? text : time.toISOString();
}

const maxExcerptLength = 300;

function printResults(out: Output, response: SearchResponse): void {
  if (response.primary_results.length === 0)
    out.line(
      'Nothing was found. Try other words or fewer filters; "headworks artifacts list" lists the documents, ' +
        '"headworks ingest" adds more.',
    );
  for (const [index, hit] of response.primary_results.entries()) {
    const where = [hit.type, hit.source_id, hit.source_ts?.slice(0, 10)].filter((part) => part).join(', ');
    out.line(
      `${index + 1}. ${out.style('bold', printable(titleOf(hit)))}  ${out.style('dim', printable(where))}`,
    );
    out.line(`   ${printable(excerpt(hit))}`);
  }
  if (response.related_context !== null) {
    out.line();
    out.line(response.related_context.length === 0 ? 'Nothing is related.' : 'Related:');
    for (const item of response.related_context)
      out.line(
        `   ${printable(`${item.category}: ${item.summary}`)}  ${out.style('dim', printable(item.reason))}`,
      );
  }
  if (response.entities !== null && response.entities.length > 0) {
    out.line();
    out.line(`Mentioned: ${printable(response.entities.map(mentioned).join(', '))}`);
  }
  if (response.warning !== undefined) out.note(response.warning);
}

const mentioned = ({ name, type, relations }: NonNullable<SearchResponse['entities']>[number]): string =>
  `${name} (${[type, ...relations].join(', ')})`;

/** Title and headings; the first heading is often the title. */
function titleOf({ title, heading }: SearchResponse['primary_results'][number]): string {
  if (heading === null) return title;
  return heading === title || heading.startsWith(`${title} › `) ? heading : `${title} › ${heading}`;
}

/** The text around the first match. */
function excerpt({ text, highlights }: SearchResponse['primary_results'][number]): string {
  const first = highlights[0]?.start ?? 0;
  const start = text.length <= maxExcerptLength ? 0 : Math.max(0, first - maxExcerptLength / 3);
  const end = Math.min(text.length, start + maxExcerptLength);
  return `${start > 0 ? '…' : ''}${text.slice(start, end).trim()}${end < text.length ? '…' : ''}`;
}
