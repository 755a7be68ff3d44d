// Events of knowledge over HTTP: what happened, who did it, where it stands.
import { z } from 'zod';
import type { StoredEvent } from '../../knowledge/index.ts';
import { actorRoles, eventCategories } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { id, instant, isoOrNull, limitOf } from './fields.ts';

export const knowledgeEventView = z
  .object({
    event_id: id,
    artifact_uid: id,
    revision_id: id,
    category: z.enum(eventCategories),
    event_time: instant.nullable(),
    narrative: z.string(),
    subject: z.string().nullable(),
    confidence: z.number(),
    method: z.enum(['model', 'rules']).describe('Who read it; rules are less sure.'),
    superseded_at: instant.nullable().describe('Set when a newer revision took its place.'),
    actors: z.array(z.object({ entity_id: id, name: z.string(), role: z.enum(actorRoles) })),
    subjects: z.array(z.object({ entity_id: id, name: z.string() })),
    evidence: z.array(
      z.object({
        quote: z.string(),
        start_char: z.number().int().describe('In the revision’s text, in UTF-16 units.'),
        end_char: z.number().int(),
      }),
    ),
  })
  .meta({
    id: 'KnowledgeEvent',
    description: 'Something that happened, with who took part and the evidence.',
  });

export const knowledgeEventsQuery = z.strictObject({
  category: z.enum(eventCategories).optional(),
  entity_id: id.optional().describe('Events in which it acts, or which are about it.'),
  artifact_uid: id.optional(),
  from: instant.optional().describe('By the time of the event.'),
  to: instant.optional(),
  with_superseded: z.stringbool().default(false).describe('Events of replaced revisions too.'),
  limit: limitOf(500, 100),
  before: id.optional().describe('Only events before this one: `next` of the page before.'),
  ...spaceFields,
});

export const knowledgeEventQuery = z.strictObject(spaceFields);

export const knowledgeEventsAnswer = z
  .object({
    events: z.array(knowledgeEventView),
    next: z.string().nullable().describe('Give it as `before` for the next page.'),
  })
  .meta({ id: 'KnowledgeEvents', description: 'Events, those read last first.' });

export const viewOfKnowledgeEvent = (event: StoredEvent): z.infer<typeof knowledgeEventView> => ({
  event_id: event.eventId,
  artifact_uid: event.artifactUid,
  revision_id: event.revisionId,
  category: event.category as (typeof eventCategories)[number],
  event_time: isoOrNull(event.eventTime),
  narrative: event.narrative,
  subject: event.subject,
  confidence: event.confidence,
  method: event.method,
  superseded_at: isoOrNull(event.supersededAt),
  actors: event.actors.map(({ entityId, name, role }) => ({
    entity_id: entityId,
    name,
    role: role as (typeof actorRoles)[number],
  })),
  subjects: event.subjects.map(({ entityId, name }) => ({ entity_id: entityId, name })),
  evidence: event.evidence.map(({ quote, startChar, endChar }) => ({
    quote,
    start_char: startChar,
    end_char: endChar,
  })),
});
