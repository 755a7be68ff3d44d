// Connects workflows to the gateway, to knowledge, and to document and schema threads.
import type { Clock, IdSource } from '../core/index.ts';
import { systemClock, systemIds } from '../core/index.ts';
import type { GatewayClient, TextRequest } from '../gateway/index.ts';
import type { DocumentIntake, DocumentReader, SchemaChecker, Workflow } from '../tenancy/index.ts';
import { createWorkflows, DeploymentError } from '../tenancy/index.ts';
import type { ServerDeps } from '../http/index.ts';
import type { DocumentsOptions } from '../platform/documents/index.ts';
import { contradictionOf, Documents, UnreadableDocument } from '../platform/documents/index.ts';
import type { SchemaChecksOptions } from '../platform/json-schema/index.ts';
import { SchemaChecks, SchemaCheckStopped } from '../platform/json-schema/index.ts';
import { knowledgeSearchOf, spaceCheckOf } from './knowledge-search.ts';

export interface CompletionGateway {
  readonly client: Pick<GatewayClient, 'completeText' | 'unknownModels'>;
}

export interface WorkflowSources {
  readonly gateway: CompletionGateway;
  readonly knowledge: Pick<ServerDeps['knowledge'], 'spaces' | 'artifacts' | 'search'>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /** Overrides for tests. */
  readonly documentLimits?: Omit<DocumentsOptions, 'clock'>;
  readonly schemaLimits?: Omit<SchemaChecksOptions, 'clock'>;
}

/** Threads start on first use and end with `closing`. */
export function openWorkflows(
  { gateway, knowledge, clock = systemClock, ids = systemIds, documentLimits, schemaLimits }: WorkflowSources,
  closing: AsyncDisposableStack,
): readonly Workflow[] {
  const documents = new Documents({ clock, ...documentLimits });
  closing.defer(() => documents.close());
  const schemas = new SchemaChecks({ clock, ...schemaLimits });
  closing.defer(() => schemas.close());
  return createWorkflows({
    model: languageModelOf(gateway),
    documents: documentReaderOf(documents),
    schemas: schemaCheckerOf(schemas),
    ids,
    ingest: documentIntakeOf(knowledge),
    search: knowledgeSearchOf(knowledge),
  });
}

/** Only spaces of the organization itself are resolved, whatever name is given. */
export function documentIntakeOf({ spaces, artifacts }: WorkflowSources['knowledge']): DocumentIntake {
  return {
    ...spaceCheckOf(spaces),
    problemOf: (file) => contradictionOf(file, false),
    ingest: async ({ organizationId, space, document, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const { outcome, artifactUid, revisionId, jobId, chunks } = await artifacts.ingest(
        owned,
        { content: document, sourceSystem: 'deployment' },
        signal,
      );
      // Extraction of new content has just begun; that of unchanged content is known.
      const status = outcome === 'unchanged' ? (await artifacts.get(owned, artifactUid)).status : null;
      return {
        outcome,
        artifactUid,
        revisionId,
        jobId,
        chunks,
        state: status?.state ?? 'processing',
        fallbackChunks: status?.modelFallbacks.reduce((sum, { positions }) => sum + positions.length, 0) ?? 0,
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
          `The answer could not be validated against the JSON schema. ${error.message} Simplify the schema, its patterns first.`,
          {
            cause: error,
            tenantMessage:
              'The answer could not be validated against the JSON schema in time. Please contact the provider of this API.',
          },
        );
      }
    },
  };
}

/** Fails as the gateway does. */
export const languageModelOf = ({ client }: CompletionGateway) => ({
  unknownIn: async (model: string) => client.unknownModels(model),
  complete: (request: TextRequest) => client.completeText(request),
});
