// Artifacts: documents in, with exactly what became of them.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import type { IngestRequest } from '../../knowledge/index.ts';
import { knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import { documentBodyBytes } from '../limits.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import {
  acceptedAnswer,
  artifactBody,
  artifactQuery,
  artifactsAnswer,
  artifactsQuery,
  artifactView,
  estimateAnswer,
  revisionsAnswer,
  viewOfAccepted,
  viewOfArtifact,
  viewOfRevision,
  wishOf,
} from '../schemas/artifacts.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const config = knowledgeAccess;
/**
 * What a document says may come from a file that nobody looked at; it is cleaned. What it is known by is not: without the
 * character it could be the name of another document.
 */
const taking = { ...knowledgeAccess, nulAllowedIn: ['text', 'title', 'metadata'] };

export function artifactRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  takingRoutes(server, dependencies);
  ownRoutes(server, dependencies);
}

function takingRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { artifacts } = dependencies.knowledge;
  const bodyLimit = documentBodyBytes(artifacts.maxDocumentBytes);

  server.post(
    `${knowledgePath}/artifacts`,
    {
      config: taking,
      bodyLimit,
      schema: {
        operationId: 'artifacts.ingest',
        tags,
        summary: 'Takes a document in; it can be searched when this answers, and is read in the background',
        querystring: artifactQuery,
        body: artifactBody,
        response: { 200: acceptedAnswer, 202: acceptedAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const space = await spaceOf(dependencies, request, { ...request.query, ...request.body });
      const accepted = await artifacts.ingest(space, checked(request.body), callerSignal(reply.raw));
      return reply.code(accepted.outcome === 'unchanged' ? 200 : 202).send(viewOfAccepted(accepted));
    },
  );

  server.post(
    `${knowledgePath}/artifacts/estimate`,
    {
      config: taking,
      bodyLimit,
      schema: {
        operationId: 'artifacts.estimate',
        tags,
        summary: 'What taking a document in would cost; nothing is written',
        querystring: artifactQuery,
        body: artifactBody,
        response: { 200: estimateAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const space = await spaceOf(dependencies, request, { ...request.query, ...request.body });
      const estimate = await artifacts.estimate(space, checked(request.body), callerSignal(reply.raw));
      return {
        chunks: estimate.chunks,
        tokens: estimate.tokens,
        model_calls: estimate.modelCalls,
        prompt_tokens: estimate.promptTokens,
        answer_tokens: estimate.answerTokens,
        embedding_calls: estimate.embeddingCalls,
      };
    },
  );
}

function checked(body: z.infer<typeof artifactBody>): IngestRequest {
  const wish = wishOf(body);
  if (!wish) throw new CoreError('INPUT_INVALID', 'Nothing was taken in. Give either "text" or "file".');
  return wish;
}

function ownRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { artifacts } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/artifacts`,
    {
      config,
      schema: {
        operationId: 'artifacts.list',
        tags,
        summary: 'Artifacts of a space, newest first',
        querystring: artifactsQuery,
        response: { 200: artifactsAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { type, source_system: sourceSystem, limit, before } = request.query;
      const { spaceId } = await spaceOf(dependencies, request, request.query);
      const found = await artifacts.list({
        spaceId,
        limit: limit + 1,
        ...(type === undefined ? {} : { type }),
        ...(sourceSystem === undefined ? {} : { sourceSystem }),
        ...(before === undefined ? {} : { before }),
      });
      const page = found.slice(0, limit).map(viewOfRevision);
      return { artifacts: page, next: found.length > limit ? (page.at(-1)?.revision_id ?? null) : null };
    },
  );

  server.get(
    `${knowledgePath}/artifacts/:id`,
    {
      config,
      schema: {
        operationId: 'artifacts.get',
        tags,
        summary: 'One artifact with its text, and exactly which parts are in and which are missing',
        params: idParams,
        querystring: artifactQuery,
        response: { 200: artifactView, ...errorAnswers },
      },
    },
    async (request) =>
      viewOfArtifact(
        await artifacts.get(await spaceOf(dependencies, request, request.query), request.params.id),
      ),
  );

  server.get(
    `${knowledgePath}/artifacts/:id/revisions`,
    {
      config,
      schema: {
        operationId: 'artifacts.revisions',
        tags,
        summary: 'All revisions of an artifact, newest first',
        params: idParams,
        querystring: artifactQuery,
        response: { 200: revisionsAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const space = await spaceOf(dependencies, request, request.query);
      return { revisions: (await artifacts.revisions(space, request.params.id)).map(viewOfRevision) };
    },
  );

  server.delete(
    `${knowledgePath}/artifacts/:id`,
    {
      config,
      schema: {
        operationId: 'artifacts.remove',
        tags,
        summary: 'Removes an artifact with everything that was derived from it alone',
        params: idParams,
        querystring: artifactQuery,
        response: { 204: z.null().describe('It is gone.'), ...errorAnswers },
      },
    },
    async (request, reply) => {
      await artifacts.delete(await spaceOf(dependencies, request, request.query), request.params.id);
      return reply.code(204).send(null);
    },
  );
}
