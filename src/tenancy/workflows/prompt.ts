// The workflow `prompt`: a template with {{parameters}}, and documents if there are any, completed by a model.
import type { ChatMessage } from '../../core/index.ts';
import { HeadworksError } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import { documentMessage, documentsAreData, fileProblems, readDocuments, warningsOf } from './documents.ts';
import type { ModelChoice } from './workflow.ts';
import {
  anything,
  checkFields,
  filesOnly,
  isGiven,
  modelChoice,
  modelFields,
  modelWarnings,
  text,
} from './workflow.ts';
import type {
  Fields,
  Workflow,
  WorkflowDeps,
  WorkflowProblem,
  WorkflowResult,
  WorkflowTask,
} from './workflow.ts';

const charactersPerToken = 4;
const template = text(100_000).superRefine((value, context) => {
  const message = typeof value === 'string' ? templateProblem(value) : null;
  if (message !== null) context.addIssue({ code: 'custom', message });
});
const optionFields = { template, system: template, ...modelFields } as const;

export function promptWorkflow(deps: WorkflowDeps): Workflow {
  return {
    name: 'prompt',
    checkOptions: async (options) => [
      ...(isGiven(options['template'])
        ? []
        : [{ field: 'template', message: 'is missing: the prompt, with {{parameters}} in it' }]),
      ...checkFields(options, optionFields, 'the workflow prompt'),
    ],
    warnings: (options) => modelWarnings(deps.model, options),
    checkInput: async (options, { parameters, files }) => [
      ...parameterProblems(options, parameters),
      ...fileProblems(files, (file) => deps.documents.contradiction(file)),
    ],
    run: (task) => run(deps, task),
  };
}

function parameterProblems(options: Fields, given: Fields): readonly WorkflowProblem[] {
  const names = templatesOf(options).flatMap(parametersOf);
  const missing = names.filter((name) => !Object.hasOwn(given, name) || !isGiven(given[name]));
  const fields = { files: filesOnly, ...Object.fromEntries(names.map((name) => [name, anything])) };
  return [
    ...[...new Set(missing)].map((field) => ({ field, message: 'is missing' })),
    ...checkFields(given, fields, 'the template of this deployment'),
  ];
}

/** System prompt and template, if present. */
function templatesOf({ system, template: prompt }: Fields): readonly string[] {
  return [system, prompt].filter((each) => typeof each === 'string');
}

async function run(deps: WorkflowDeps, task: WorkflowTask): Promise<WorkflowResult> {
  const { options, input } = task;
  const { system, template: prompt } = options;
  const documents = await readDocuments(deps, input.files, task);
  const instructions = [
    ...(typeof system === 'string' ? [fillTemplate(system, input.parameters)] : []),
    ...(documents.length > 0 ? [documentsAreData] : []),
  ];
  const completion = await completePrompt(deps, task, {
    ...modelChoice(options),
    messages: [
      ...(instructions.length > 0 ? [{ role: 'system', content: instructions.join('\n\n') } as const] : []),
      documentMessage(fillTemplate(String(prompt), input.parameters), documents),
    ],
  });
  return {
    result: { text: completion.text, model: completion.model },
    warnings: [
      ...documents.flatMap(warningsOf),
      ...(completion.text === '' ? ['The model returned no text; "max_tokens" may be too small.'] : []),
    ],
  };
}

/** Fails as the gateway does; input too long for every model fails with DEPLOYMENT_DOCUMENT_UNREADABLE. */
export async function completePrompt(
  { model, ids }: Pick<WorkflowDeps, 'model' | 'ids'>,
  { organizationId, executionId, signal }: Pick<WorkflowTask, 'organizationId' | 'executionId' | 'signal'>,
  prompt: ModelChoice & {
    readonly messages: readonly ChatMessage[];
    readonly json?: boolean | undefined;
  },
): Promise<{ readonly text: string; readonly model: string }> {
  signal.throwIfAborted();
  try {
    return await model.complete({
      ...prompt,
      requestId: `${executionId}/${ids.token(6)}`,
      caller: `org:${organizationId}`,
      signal,
    });
  } catch (error) {
    if (!(error instanceof HeadworksError) || error.details['failureClass'] !== 'context-too-long')
      throw error;
    throw inputTooLong(prompt.messages, error);
  }
}

function inputTooLong(messages: readonly ChatMessage[], cause: unknown): DeploymentError {
  const characters = messages.reduce((sum, { content }) => sum + lengthOf(content), 0);
  const tokens = Math.ceil(characters / charactersPerToken).toLocaleString('en');
  return new DeploymentError(
    'DEPLOYMENT_DOCUMENT_UNREADABLE',
    `The input (about ${tokens} tokens) is longer than the context of every model it may use. Split it, or let the deployment name a model with a larger context.`,
    { cause, tenantMessage: `The input (about ${tokens} tokens) is too long. Split it.` },
  );
}

function lengthOf(content: ChatMessage['content']): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
}

const placeholder = /\{\{([^{}]*)\}\}/g;
const parameterName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Fields of a request that never reach a workflow. */
const reserved: ReadonlySet<string> = new Set(['timeout']);

/** The parameters of a template, each once, in order. */
export function parametersOf(template: string): readonly string[] {
  return [...new Set(Array.from(template.matchAll(placeholder), ([, name]) => (name ?? '').trim()))];
}

/** What is wrong with a template; null when it is valid. */
export function templateProblem(template: string): string | null {
  const names = parametersOf(template);
  const bad = names.find((name) => !parameterName.test(name));
  if (bad !== undefined)
    return `has a parameter "{{${bad.slice(0, 100)}}}"; names consist of letters, digits and _, and do not begin with a digit`;
  const taken = names.find((name) => reserved.has(name));
  if (taken !== undefined)
    return `has a parameter "{{${taken}}}", which is reserved: "${taken}" sets how long a request waits for its result. Use another name`;
  return /\{\{|\}\}/.test(template.replaceAll(placeholder, ''))
    ? 'has "{{" or "}}" that belong to no {{parameter}}'
    : null;
}

/** Values are inserted once: a {{name}} in a value stays as it is. Values other than text are written as JSON. */
export function fillTemplate(template: string, values: Fields): string {
  return template.replaceAll(placeholder, (_, name: string) => {
    const value = values[name.trim()];
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  });
}
