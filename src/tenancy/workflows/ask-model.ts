// One question to a model in the name of an organization.
import { HeadworksError } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import type { ModelMessage, WorkflowTask } from '../ports.ts';
import type { ModelChoice } from './model-options.ts';
import type { WorkflowParts } from './workflow-parts.ts';

const charactersPerToken = 4;

/** Fails as the gateway does; what is too long for every model fails with DEPLOYMENT_DOCUMENT_UNREADABLE. */
export async function askModel(
  { model, ids }: Pick<WorkflowParts, 'model' | 'ids'>,
  { organizationId, executionId, signal }: Pick<WorkflowTask, 'organizationId' | 'executionId' | 'signal'>,
  question: ModelChoice & { readonly messages: readonly ModelMessage[]; readonly json?: boolean },
): Promise<{ readonly text: string; readonly model: string }> {
  signal.throwIfAborted();
  try {
    return await model.complete({
      ...question,
      requestId: `${executionId}/${ids.token(6)}`,
      caller: `org:${organizationId}`,
      signal,
    });
  } catch (error) {
    if (!(error instanceof HeadworksError) || error.details['failureClass'] !== 'context-too-long')
      throw error;
    throw tooLong(question.messages, error);
  }
}

function tooLong(messages: readonly ModelMessage[], cause: unknown): DeploymentError {
  const characters = messages.reduce((sum, { content }) => sum + lengthOf(content), 0);
  const tokens = Math.ceil(characters / charactersPerToken).toLocaleString('en');
  return new DeploymentError(
    'DEPLOYMENT_DOCUMENT_UNREADABLE',
    `What was sent (about ${tokens} tokens) is longer than any model reads that may be asked. Split it, or let the deployment name a model that reads more.`,
    { cause, tenantMessage: `What was sent (about ${tokens} tokens) is too long to be read. Split it.` },
  );
}

function lengthOf(content: ModelMessage['content']): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
}
