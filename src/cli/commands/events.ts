// headworks events: list events extracted from documents.
import type { Command } from 'commander';
import { eventsApi } from '../../api/knowledge.ts';
import type { CliContext } from '../command.ts';
import { exampleId, examples } from '../command.ts';
import { commandFor } from '../derive.ts';
import { printable } from '../output.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks events --category Decision', 'headworks events get ID']);

  commandFor(group, context, eventsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks events list --category Commitment --json'],
    print: ({ out }, { events, next }) => {
      out.list(events, 'There are no such events.', [
        'id',
        'category',
        ['when', ({ event_time }) => event_time?.slice(0, 10) ?? null],
        ['actors', ({ actors }) => actors.map(({ name }) => name).join(', ') || null],
        'narrative',
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, context, eventsApi.get, {
    name: 'get',
    examples: [`headworks events get ${exampleId}`],
    print: ({ out }, { evidence, actors, subjects, ...event }) => {
      out.fields(event, {
        actors: actors.map(({ name, role }) => `${name} (${role})`),
        subjects: subjects.map(({ name }) => name),
      });
      for (const { quote } of evidence) out.line(printable(`  “${quote}”`));
    },
  });
}
