// The workflow `prompt`: a template with parameters, and documents if there are any, to a model; its words come back.
import type { Workflow, WorkflowAnswer, WorkflowProblem, WorkflowTask } from '../ports.ts';
import { askModel } from './ask-model.ts';
import type { FieldCheck, Fields } from './check-fields.ts';
import { anything, checkFields, isGiven, notAsField, text } from './check-fields.ts';
import { dataNotOrders, documentMessage, fileProblems, readSource, warningsOf } from './documents.ts';
import { modelChecks, modelChoice, modelWarnings } from './model-options.ts';
import { filled, parametersOf, templateProblem } from './template.ts';
import type { WorkflowParts } from './workflow-parts.ts';

const longestTemplate = 100_000;

const template: FieldCheck = (value) => text(longestTemplate)(value) ?? templateProblem(String(value));

const optionChecks: Readonly<Record<string, FieldCheck>> = { template, system: template, ...modelChecks };

export function promptWorkflow(parts: WorkflowParts): Workflow {
  return {
    name: 'prompt',
    unavailable: null,
    checkOptions: async (options) => [
      ...(isGiven(options['template'])
        ? []
        : [{ field: 'template', message: 'is missing: the prompt, with {{parameters}} in it' }]),
      ...checkFields(options, optionChecks, 'the workflow prompt'),
    ],
    warnings: (options) => modelWarnings(parts.model, options),
    checkInput: async (options, { parameters, files }) => [
      ...parameterProblems(options, parameters),
      ...fileProblems(parts.documents, files),
    ],
    run: (task) => run(parts, task),
  };
}

function parameterProblems(options: Fields, given: Fields): readonly WorkflowProblem[] {
  const names = templatesOf(options).flatMap(parametersOf);
  const missing = names.filter((name) => !Object.hasOwn(given, name) || !isGiven(given[name]));
  const checks = { files: notAsField, ...Object.fromEntries(names.map((name) => [name, anything])) };
  return [
    ...[...new Set(missing)].map((field) => ({ field, message: 'is missing' })),
    ...checkFields(given, checks, 'the template of this deployment'),
  ];
}

/** System prompt and template, as far as there are any. */
function templatesOf({ system, template: prompt }: Fields): readonly string[] {
  return [system, prompt].filter((each) => typeof each === 'string');
}

async function run(parts: WorkflowParts, task: WorkflowTask): Promise<WorkflowAnswer> {
  const { options, input, signal } = task;
  const { system, template: prompt } = options;
  const documents = [];
  for (const file of input.files)
    documents.push(await readSource(parts.documents, { name: file.name, file }, signal));
  const orders = [
    ...(typeof system === 'string' ? [filled(system, input.parameters)] : []),
    ...(documents.length > 0 ? [dataNotOrders] : []),
  ];
  const answer = await askModel(parts, task, {
    ...modelChoice(options),
    messages: [
      ...(orders.length > 0 ? [{ role: 'system', content: orders.join('\n\n') } as const] : []),
      documentMessage(filled(String(prompt), input.parameters), documents),
    ],
  });
  return {
    result: { text: answer.text, model: answer.model },
    warnings: [
      ...documents.flatMap(warningsOf),
      ...(answer.text === '' ? ['The model said nothing; "max_tokens" may be too small.'] : []),
    ],
  };
}
