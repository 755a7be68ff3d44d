// Plugs gateway, document reader and schema checker into workflows.
import type { Clock, IdSource } from '../core/index.ts';
import { systemClock, systemIds } from '../core/index.ts';
import type { DocumentReader, SchemaChecker, Workflow } from '../tenancy/index.ts';
import { DeploymentError } from '../tenancy/index.ts';
import type { DocumentIntake } from '../tenancy/workflows/index.ts';
import { workflowsOf } from '../tenancy/workflows/index.ts';
import type { GatewayClient, TextRequest } from '../gateway/index.ts';
import type { ServerDeps } from '../http/index.ts';
import type { DocumentsOptions } from '../platform/documents/index.ts';
import { contradictionOf, Documents, UnreadableDocument } from '../platform/documents/index.ts';
import type { SchemaChecksOptions } from '../platform/json-schema/index.ts';
import { SchemaChecks, SchemaCheckStopped } from '../platform/json-schema/index.ts';
import { knowledgeSearchOf } from './knowledge-search.ts';
import { spaceCheckOf } from './space-check.ts';

/** What of the gateway is needed. */
export interface CompletionGateway {
  readonly client: Pick<GatewayClient, 'completeText' | 'unknownModels'>;
}

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

/** Fails as the gateway does. */
export const languageModelOf = ({ client }: CompletionGateway) => ({
  unknownIn: async (model: string) => client.unknownModels(model),
  complete: (request: TextRequest) => client.completeText(request),
});
