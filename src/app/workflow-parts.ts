// Plugs gateway, document reader and schema checker into workflows.
import type { Clock, IdSource } from '../core/index.ts';
import { systemClock, systemIds } from '../core/index.ts';
import type { DocumentReader, LanguageModel, SchemaChecker, Workflow } from '../tenancy/index.ts';
import { DeploymentError } from '../tenancy/index.ts';
import type { DocumentIntake } from '../tenancy/workflows/index.ts';
import { workflowsOf } from '../tenancy/workflows/index.ts';
import type { OpenGateway } from '../gateway/index.ts';
import { completionText } from '../gateway/index.ts';
import { modelIdentity } from '../gateway/providers/catalogue.ts';
import type { ServerDeps } from '../http/index.ts';
import type { DocumentsOptions } from '../platform/documents/index.ts';
import { contradictionOf, Documents, UnreadableDocument } from '../platform/documents/index.ts';
import type { SchemaChecksOptions } from '../platform/json-schema/index.ts';
import { SchemaChecks, SchemaCheckStopped } from '../platform/json-schema/index.ts';
import { deadlineOf } from '../resilience/index.ts';
import type { JsonFormat } from './json-formats.ts';
import { JsonFormats } from './json-formats.ts';
import { knowledgeSearchOf } from './knowledge-search.ts';
import { spaceCheckOf } from './space-check.ts';

/** What of the gateway is needed. */
export type CompletionGateway = Pick<OpenGateway, 'read' | 'complete' | 'defaults'> & {
  readonly models: Pick<OpenGateway['models'], 'list'>;
};

export interface WorkflowHouseParts {
  readonly gateway: CompletionGateway;
  /** Without it there are no workflows that need knowledge. */
  readonly knowledge?: Pick<ServerDeps['knowledge'], 'spaces' | 'artifacts' | 'search'>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /** Limits other than the usual ones. */
  readonly documentLimits?: Omit<DocumentsOptions, 'clock'>;
  readonly schemaLimits?: Omit<SchemaChecksOptions, 'clock'>;
}

/** Threads start at first need and are ended with `closing`. */
export function createWorkflows(
  {
    gateway,
    knowledge,
    clock = systemClock,
    ids = systemIds,
    documentLimits,
    schemaLimits,
  }: WorkflowHouseParts,
  closing: AsyncDisposableStack,
): readonly Workflow[] {
  const documents = new Documents({ clock, ...documentLimits });
  closing.defer(() => documents.close());
  const schemas = new SchemaChecks({ clock, ...schemaLimits });
  closing.defer(() => schemas.close());
  return workflowsOf({
    model: languageModelOf(gateway),
    documents: documentReaderOf(documents),
    schemas: schemaCheckerOf(schemas),
    ids,
    ...(knowledge ? { ingest: documentIntakeOf(knowledge), search: knowledgeSearchOf(knowledge) } : {}),
  });
}

/** Documents of an organization go into its own spaces, whatever name is given. */
export function documentIntakeOf({
  spaces,
  artifacts,
}: NonNullable<WorkflowHouseParts['knowledge']>): DocumentIntake {
  return {
    ...spaceCheckOf(spaces),
    problemOf: (file) => contradictionOf(file, false),
    take: async ({ organizationId, space, document, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const { outcome, artifactUid, revisionId, jobId, chunks } = await artifacts.ingest(
        owned,
        { content: document, sourceSystem: 'deployment' },
        signal,
      );
      // What is new has just begun to be read; what was there already is known.
      const status = outcome === 'unchanged' ? (await artifacts.get(owned, artifactUid)).status : null;
      return {
        outcome,
        artifactUid,
        revisionId,
        jobId,
        chunks,
        state: status?.state ?? 'processing',
        stoodIn: status?.modelFallbacks.reduce((sum, { positions }) => sum + positions.length, 0) ?? 0,
      };
    },
  };
}

export function documentReaderOf(documents: Documents): DocumentReader {
  return {
    mediaTypes: documents.mediaTypes,
    contradiction: (file) => documents.contradiction(file),
    read: async (file, signal) => {
      try {
        return await documents.read(file, signal);
      } catch (error) {
        if (!(error instanceof UnreadableDocument)) throw error;
        throw new DeploymentError('DEPLOYMENT_DOCUMENT_UNREADABLE', error.message, { cause: error });
      }
    },
  };
}

export function schemaCheckerOf(schemas: SchemaChecks): SchemaChecker {
  return {
    problemOf: (schema) => schemas.problemOf(schema),
    violations: async (schema, value, signal) => {
      try {
        return await schemas.violations(schema, value, signal);
      } catch (error) {
        if (!(error instanceof SchemaCheckStopped)) throw error;
        throw new DeploymentError(
          'DEPLOYMENT_SCHEMA_TOO_SLOW',
          `The answer could not be checked against the JSON schema. ${error.message} Make the schema simpler; look at its patterns first.`,
          {
            cause: error,
            tenantMessage:
              'The answer could not be checked against the JSON schema in time. Please tell whoever gave you this API.',
          },
        );
      }
    },
  };
}

/** With `json`, what it is to look like. */
type ModelRequest = Parameters<LanguageModel['complete']>[0] & {
  readonly schema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
};

/** Fails as the gateway does; whether it is worth another try is the gateway's word. */
export function languageModelOf(
  gateway: CompletionGateway,
  clock: Clock = systemClock,
): LanguageModel & { complete(request: ModelRequest): ReturnType<LanguageModel['complete']> } {
  const formats = new JsonFormats(clock);
  return {
    unknownIn: (model) => unknownModels(gateway, model),
    complete: (request: ModelRequest) => {
      if (request.json !== true) return complete(gateway, request, 'words');
      const best = request.schema ? 'schema' : 'object';
      return formats.ask(request.model ?? 'auto', best, (format) => complete(gateway, request, format));
    },
  };
}

/** By the names that the gateway takes: its own, and those that providers have for the same model. */
async function unknownModels({ models }: CompletionGateway, written: string): Promise<readonly string[]> {
  const names = written.split(',').map((name) => name.trim());
  const wanted = names.filter((name) => name !== '' && name !== 'auto');
  if (wanted.length === 0) return [];
  try {
    const all = await models.list({
      activeOnly: false,
      availableOnly: false,
      configuredOnly: false,
      includeRecent: false,
      windowDays: 1,
    });
    const known = new Set(all.flatMap(({ name, upstreamModel }) => [name, modelIdentity(upstreamModel)]));
    return wanted.filter((name) => !known.has(name) && !known.has(modelIdentity(name)));
  } catch {
    // While the store is away nobody can tell.
    return [];
  }
}

async function complete(
  gateway: CompletionGateway,
  request: ModelRequest,
  format: JsonFormat,
): Promise<{ readonly text: string; readonly model: string }> {
  const { requestId, caller, messages, model = 'auto', temperature, maxTokens, signal } = request;
  const body = {
    model,
    messages,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...responseFormat(format, request.schema),
  };
  const completion = await gateway.complete({
    requestId,
    ask: gateway.read('chat', Buffer.from(JSON.stringify(body))),
    caller,
    allowFallback: true,
    deadlineMs: deadlineOf(signal)?.remainingMs() ?? gateway.defaults.deadlineMs,
    waitMs: gateway.defaults.waitMs,
    signal,
  });
  return { text: completionText(completion), model: completion.model.name };
}

function responseFormat(format: JsonFormat, schema: ModelRequest['schema']): object {
  if (format === 'words') return {};
  if (format === 'object' || !schema) return { response_format: { type: 'json_object' } };
  return { response_format: { type: 'json_schema', json_schema: { ...schema, strict: true } } };
}
