// Events of knowledge: what happened, with evidence.
import { knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import {
  knowledgeEventQuery,
  knowledgeEventsAnswer,
  knowledgeEventsQuery,
  knowledgeEventView,
  viewOfKnowledgeEvent,
} from '../schemas/knowledge-events.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const config = knowledgeAccess;

export function knowledgeEventRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { events } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/events`,
    {
      config,
      schema: {
        operationId: 'knowledge.events.list',
        tags,
        summary: 'Events of a space, those read last first',
        querystring: knowledgeEventsQuery,
        response: { 200: knowledgeEventsAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const {
        category,
        entity_id: entityId,
        artifact_uid: artifactUid,
        from,
        to,
        limit,
        before,
      } = request.query;
      const { spaceId } = await spaceOf(dependencies, request, request.query);
      const found = await events.list({
        spaceId,
        limit: limit + 1,
        withSuperseded: request.query.with_superseded,
        ...(category === undefined ? {} : { category }),
        ...(entityId === undefined ? {} : { entityId }),
        ...(artifactUid === undefined ? {} : { artifactUid }),
        ...(from === undefined ? {} : { from: new Date(from) }),
        ...(to === undefined ? {} : { to: new Date(to) }),
        ...(before === undefined ? {} : { before }),
      });
      const page = found.slice(0, limit).map(viewOfKnowledgeEvent);
      return { events: page, next: found.length > limit ? (page.at(-1)?.event_id ?? null) : null };
    },
  );

  server.get(
    `${knowledgePath}/events/:id`,
    {
      config,
      schema: {
        operationId: 'knowledge.events.get',
        tags,
        summary: 'One event with who took part and its evidence',
        params: idParams,
        querystring: knowledgeEventQuery,
        response: { 200: knowledgeEventView, ...errorAnswers },
      },
    },
    async (request) =>
      viewOfKnowledgeEvent(
        await events.get(await spaceOf(dependencies, request, request.query), request.params.id),
      ),
  );
}
