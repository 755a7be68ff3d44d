// Workflows among stand-ins: a model that says what it is told to, a reader of text, a checker of required fields.
import type { HeadworksError } from '../../../src/core/index.ts';
import { seededIds, seededRandom } from '../../../src/core/index.ts';
import { DeploymentError } from '../../../src/tenancy/errors.ts';
import type {
  ExecutionInput,
  LanguageModel,
  UploadedFile,
  Workflow,
  WorkflowTask,
} from '../../../src/tenancy/ports.ts';
import type { WorkflowParts } from '../../../src/tenancy/workflows/workflow-parts.ts';

type Question = Parameters<LanguageModel['complete']>[0];
/** What the model does with a question. */
export type Saying = string | HeadworksError | ((question: Question) => string | Promise<string>);

export interface WorkflowWorld {
  readonly parts: WorkflowParts;
  readonly questions: Question[];
  run(
    workflow: Workflow,
    options: object,
    input: Partial<ExecutionInput>,
    signal?: AbortSignal,
  ): Promise<unknown>;
}

/** Sayings are said in order; the last one for ever. */
export function workflowWorld(...sayings: readonly Saying[]): WorkflowWorld {
  const questions: Question[] = [];
  const parts: WorkflowParts = {
    model: {
      unknownIn: async () => [],
      complete: async (question) => {
        questions.push(question);
        const saying = sayings[Math.min(questions.length, sayings.length) - 1] ?? '';
        if (saying instanceof Error) throw saying;
        return { text: typeof saying === 'string' ? saying : await saying(question), model: 'stand-in' };
      },
    },
    documents: {
      mediaTypes: ['text/plain', 'image/png'],
      contradiction: ({ name, mediaType }) => (mediaType === 'lie' ? `${name} lies` : null),
      read: async ({ name, bytes, mediaType }) => {
        const text = Buffer.from(bytes).toString();
        if (mediaType === 'image/png') return { kind: 'image', dataUrl: `data:image/png;base64,${text}` };
        if (text === 'unreadable')
          throw new DeploymentError('DEPLOYMENT_DOCUMENT_UNREADABLE', `${name}: no.`);
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
  };
  return {
    parts,
    questions,
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
