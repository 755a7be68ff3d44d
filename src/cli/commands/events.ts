// headworks events: list events that documents report.
import type { Command } from 'commander';
import { eventsApi } from '../../api/knowledge.ts';
import type { CliContext } from '../command.ts';
import { exampleId, examples } from '../command.ts';
import { commandFor } from '../derive.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks events --category Decision', 'headworks events get ID']);

  commandFor(group, context, eventsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks events list --category Commitment --json'],
    print: ({ out }, { events, next }) => {
      out.list(events, 'There are no such events.', {
        ID: ({ id }) => id,
        CATEGORY: ({ category }) => category,
        WHEN: ({ event_time }) => event_time?.slice(0, 10) ?? null,
        ACTORS: ({ actors }) => actors.map(({ name }) => name).join(', ') || null,
        EVENT: ({ narrative }) => narrative,
      });
      out.nextPage(next);
    },
  });

  commandFor(group, context, eventsApi.get, {
    name: 'get',
    examples: [`headworks events get ${exampleId}`],
    print: ({ out }, event) =>
      out.facts([
        ['id', event.id],
        ['category', event.category],
        ['when', event.event_time],
        ['event', event.narrative],
        ['subject', event.subject ?? (event.subjects.map(({ name }) => name).join(', ') || null)],
        ['actors', event.actors.map(({ name, role }) => `${name} (${role})`).join(', ') || null],
        ['confidence', `${Math.round(event.confidence * 100)} %, extracted by ${event.method}`],
        ['artifact', event.artifact_id],
        ...(event.superseded_at === null ? [] : ([['superseded', event.superseded_at]] as const)),
        ...event.evidence.map(({ quote }) => ['evidence', `“${quote}”`] as const),
      ]),
  });
}
