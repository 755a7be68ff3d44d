// Entities of knowledge: looked at, merged, parted, reviewed.
import { deciderOf, knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import {
  entitiesAnswer,
  entitiesQuery,
  entityDetail,
  entityMergeView,
  entityPairView,
  entityQuery,
  mergeBody,
  reviewAnswer,
  reviewQuery,
  splitBody,
  undoneMergeView,
  verdictBody,
  viewOfEntity,
  viewOfEntityDetail,
  viewOfMerge,
  viewOfPair,
  viewOfUndoneMerge,
} from '../schemas/entities.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const config = knowledgeAccess;

export function entityRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  readingRoutes(server, dependencies);
  mergingRoutes(server, dependencies);
  reviewRoutes(server, dependencies);
}

function readingRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { entities } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/entities`,
    {
      config,
      schema: {
        operationId: 'entities.list',
        tags,
        summary: 'Entities of a space, the oldest first',
        querystring: entitiesQuery,
        response: { 200: entitiesAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { type, needs_review: needsReview, name, limit, after } = request.query;
      const { spaceId } = await spaceOf(dependencies, request, request.query);
      const found = await entities.list({
        spaceId,
        limit: limit + 1,
        ...(type === undefined ? {} : { type }),
        ...(needsReview === undefined ? {} : { needsReview }),
        ...(name === undefined ? {} : { name }),
        ...(after === undefined ? {} : { after }),
      });
      const page = found.slice(0, limit).map(viewOfEntity);
      return { entities: page, next: found.length > limit ? (page.at(-1)?.entity_id ?? null) : null };
    },
  );

  server.get(
    `${knowledgePath}/entities/:id`,
    {
      config,
      schema: {
        operationId: 'entities.get',
        tags,
        summary: 'One entity with its mentions, pairs and merges',
        description: 'One that was merged answers with what it became part of.',
        params: idParams,
        querystring: entityQuery,
        response: { 200: entityDetail, ...errorAnswers },
      },
    },
    async (request) =>
      viewOfEntityDetail(
        await entities.get(await spaceOf(dependencies, request, request.query), request.params.id),
      ),
  );
}

function mergingRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { entities } = dependencies.knowledge;

  server.post(
    `${knowledgePath}/merges`,
    {
      config,
      schema: {
        operationId: 'entities.merge',
        tags,
        summary: 'Merges two entities; what was moved is recorded',
        querystring: entityQuery,
        body: mergeBody,
        response: { 201: entityMergeView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { winner_id: winner, loser_id: loser, reason } = request.body;
      const space = await spaceOf(dependencies, request, request.query);
      const merge = await entities.merge(space, winner, loser, reason, deciderOf(request));
      return reply.code(201).send(viewOfMerge(merge));
    },
  );

  server.post(
    `${knowledgePath}/merges/:id/undo`,
    {
      config,
      schema: {
        operationId: 'entities.unmerge',
        tags,
        summary: 'Undoes a merge exactly; later merges into the same winner stay',
        description:
          'Mentions that came after the merge under the loser’s name go with it; those that may be of either are named.',
        params: idParams,
        querystring: entityQuery,
        response: { 200: undoneMergeView, ...errorAnswers },
      },
    },
    async (request) =>
      viewOfUndoneMerge(
        await entities.unmerge(await spaceOf(dependencies, request, request.query), request.params.id),
      ),
  );

  server.post(
    `${knowledgePath}/entities/:id/split`,
    {
      config,
      schema: {
        operationId: 'entities.split',
        tags,
        summary: 'Some mentions become an entity of their own, with the events they are nearest to',
        description: 'Merging the two again undoes it.',
        params: idParams,
        querystring: entityQuery,
        body: splitBody,
        response: { 201: entityDetail, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { mention_ids: mentionIds, name } = request.body;
      const space = await spaceOf(dependencies, request, request.query);
      const made = await entities.split(space, request.params.id, mentionIds, name);
      return reply.code(201).send(viewOfEntityDetail(await entities.get(space, made.entityId)));
    },
  );
}

function reviewRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { entities } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/pairs`,
    {
      config,
      schema: {
        operationId: 'entities.review',
        tags,
        summary: 'Entities that may be the same and wait for an answer, surest first',
        querystring: reviewQuery,
        response: { 200: reviewAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const space = await spaceOf(dependencies, request, request.query);
      const asOf = new Date(dependencies.clock.now()).toISOString();
      const open = await entities.review(space, request.query.limit);
      return {
        pairs: open.map((pair) => ({
          ...viewOfPair(pair),
          a: viewOfEntity(pair.a),
          b: viewOfEntity(pair.b),
          as_of: asOf,
        })),
      };
    },
  );

  server.post(
    `${knowledgePath}/pairs/:id/verdict`,
    {
      config,
      schema: {
        operationId: 'entities.decide',
        tags,
        summary: 'Says whether two entities are the same',
        params: idParams,
        querystring: entityQuery,
        body: verdictBody,
        response: { 200: entityPairView, ...errorAnswers },
      },
    },
    async (request) => {
      const space = await spaceOf(dependencies, request, request.query);
      const { verdict, as_of: asOf } = request.body;
      const seenAt = asOf === undefined ? undefined : new Date(asOf);
      return viewOfPair(await entities.decide(space, request.params.id, verdict, deciderOf(request), seenAt));
    },
  );
}
