// Workflows with test doubles: a scripted model, a reader of text, a checker of required fields.
import type { HeadworksError } from '../../../src/core/index.ts';
import { seededIds, seededRandom } from '../../../src/core/index.ts';
import { UnreadableDocument } from '../../../src/platform/documents/media-types.ts';
import type {
  ExecutionInput,
  LanguageModel,
  UploadedFile,
  Workflow,
  WorkflowTask,
} from '../../../src/tenancy/index.ts';
import type { WorkflowDeps } from '../../../src/tenancy/index.ts';

const unused = (): Promise<never> => Promise.reject(new Error('not part of this test'));

type ModelRequest = Parameters<LanguageModel['complete']>[0];
/** What the model does with a request. */
export type Reply = string | HeadworksError | ((request: ModelRequest) => string | Promise<string>);

export interface WorkflowWorld {
  readonly deps: WorkflowDeps;
  readonly requests: ModelRequest[];
  run(
    workflow: Workflow,
    options: object,
    input: Partial<ExecutionInput>,
    signal?: AbortSignal,
  ): Promise<unknown>;
}

/** Replies in order; the last one is repeated. */
export function workflowWorld(...replies: readonly Reply[]): WorkflowWorld {
  const requests: ModelRequest[] = [];
  const deps: WorkflowDeps = {
    model: {
      unknownIn: async () => [],
      complete: async (request) => {
        requests.push(request);
        const reply = replies[Math.min(requests.length, replies.length) - 1] ?? '';
        if (reply instanceof Error) throw reply;
        return { text: typeof reply === 'string' ? reply : await reply(request), model: 'test-model' };
      },
    },
    documents: {
      contradiction: ({ name, mediaType }) => (mediaType === 'lie' ? `${name} lies` : null),
      read: async ({ name, bytes, mediaType }) => {
        const text = Buffer.from(bytes).toString();
        if (mediaType === 'image/png') return { kind: 'image', dataUrl: `data:image/png;base64,${text}` };
        if (text === 'unreadable') throw new UnreadableDocument(name, 'no.');
        return { kind: 'text', text, warnings: text.includes('scan') ? ['A page was left out.'] : [] };
      },
    },
    schemas: {
      problemOf: async (schema) => (Array.isArray(schema) ? 'It is a list.' : null),
      violations: async (schema, value) => {
        const { required = [] } = schema as { readonly required?: readonly string[] };
        return required
          .filter((name) => !Object.hasOwn(Object(value), name))
          .map((name) => `${name} is missing`);
      },
    },
    ids: seededIds(seededRandom(1), () => 0),
    ingest: { spaceProblem: async () => null, problemOf: () => null, ingest: unused },
    search: { spaceProblem: async () => null, filterProblems: () => [], search: unused },
  };
  return {
    deps,
    requests,
    run: (workflow, options, { parameters = {}, files = [] }, signal = new AbortController().signal) =>
      workflow.run({
        organizationId: 'org_1',
        executionId: 'e1',
        options: options as WorkflowTask['options'],
        input: { parameters, files },
        signal,
      }),
  };
}

export function textFile(name: string, content: string, mediaType = 'text/plain'): UploadedFile {
  return { name, mediaType, bytes: Buffer.from(content) };
}
