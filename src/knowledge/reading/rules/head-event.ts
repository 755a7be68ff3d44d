// Who met or wrote to whom: what the lines of attendees, senders and deciders of a document say together.
import type { ActorRole, ReadEvent } from '../../ports.ts';
import { quoteRange } from '../../text/quotes.ts';
import type { DocumentView } from '../../documents/document-view.ts';
import type { RefMention } from './event-people.ts';
import { narrativeOf } from './find-events.ts';
import type { HeadLine, HeadRole } from '../../documents/head-lines.ts';

const roles: Readonly<Record<HeadRole, ActorRole>> = {
  author: 'owner',
  decider: 'owner',
  participant: 'contributor',
  recipient: 'stakeholder',
  stakeholder: 'stakeholder',
};
const mostActors = 50;
const mostLines = 5;

/** Null unless it brings two people together. */
export function headEvent(
  text: string,
  head: readonly HeadLine[],
  mentions: readonly RefMention[],
  title: string,
  view: DocumentView,
): ReadEvent | null {
  const actors = new Map<string, { ref: string; role: ActorRole }>();
  const lines = head.slice(0, mostLines);
  for (const { start, end, role } of lines)
    for (const { ref, name, type, start: at } of mentions)
      if (type === 'person' && at >= start && at < end && !actors.has(name) && actors.size < mostActors)
        actors.set(name, { ref, role: roles[role] });
  if (actors.size < 2) return null;
  const names = [...actors.keys()];
  const evidence = lines.map((line) => {
    const { start, end } = quoteRange(text, line);
    return { quote: text.slice(start, end), startChar: start, endChar: end };
  });
  return {
    category: 'Collaboration',
    eventTime: view.date,
    narrative: narrativeOf(`${narrativeOf(title) || 'This document'}: ${names.join(', ')}`),
    subjectRef: null,
    subject: narrativeOf(title) || null,
    actors: [...actors.values()],
    evidence,
    confidence: 0.4,
  };
}
