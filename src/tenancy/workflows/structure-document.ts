// One document, or several together, to JSON that fits the schema: one answer, one repair, or a clear failure.
import { findJson } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import type { ModelMessage, WorkflowTask } from '../ports.ts';
import { askModel } from './ask-model.ts';
import type { DocumentSource } from './documents.ts';
import { readSource, warningsOf } from './documents.ts';
import { modelChoice } from './model-options.ts';
import { repairPrompt, structurePrompt, wantsObject } from './structure-prompt.ts';
import type { WorkflowParts } from './workflow-parts.ts';

export interface Structured {
  readonly output: unknown;
  readonly model: string;
  readonly warnings: readonly string[];
}

/** A failure's message names so many violations; `details` has all. */
const mostNamed = 3;

/** Fails with DEPLOYMENT_ANSWER_INVALID, …_DOCUMENT_UNREADABLE, …_SCHEMA_TOO_SLOW, or as the gateway does. */
export async function structureDocument(
  parts: WorkflowParts,
  task: WorkflowTask,
  sources: readonly DocumentSource[],
): Promise<Structured> {
  const { options, input, signal } = task;
  const documents = [];
  for (const source of sources) documents.push(await readSource(parts.documents, source, signal));
  const instructions = [options['instructions'], input.parameters['instructions']].filter(
    (each) => typeof each === 'string',
  );
  const messages = structurePrompt(options['schema'], instructions, documents);
  const first = await attempt(parts, task, messages);
  const last =
    first.violations.length === 0
      ? first
      : await attempt(parts, task, repairPrompt(messages, first.text, first.violations));
  if (last.violations.length > 0) throw invalid(last);
  return { output: last.value, model: last.model, warnings: documents.flatMap(warningsOf) };
}

interface Attempted {
  readonly text: string;
  readonly model: string;
  readonly value: unknown;
  readonly violations: readonly string[];
}

async function attempt(
  parts: WorkflowParts,
  task: WorkflowTask,
  messages: readonly ModelMessage[],
): Promise<Attempted> {
  const schema = task.options['schema'];
  const { text, model } = await askModel(parts, task, {
    temperature: 0,
    ...modelChoice(task.options),
    messages,
    json: wantsObject(schema),
  });
  const found = findJson(text);
  if (!found) return { text, model, value: undefined, violations: ['the answer holds no whole JSON value'] };
  const violations = await parts.schemas.violations(schema, found.value, task.signal);
  return { text, model, value: found.value, violations };
}

function invalid({ model, violations }: Attempted): DeploymentError {
  const named = violations.slice(0, mostNamed).join('; ');
  const more = violations.length > mostNamed ? `; and ${violations.length - mostNamed} more` : '';
  const wrong = `gave no JSON that fits the schema, also when told what was wrong: ${named}${more}.`;
  return new DeploymentError(
    'DEPLOYMENT_ANSWER_INVALID',
    `${model} ${wrong} Name a more able model, make the schema simpler, or say more in the instructions.`,
    {
      details: { model, violations },
      tenantMessage: `The model ${wrong} Please try again with more "instructions".`,
    },
  );
}
