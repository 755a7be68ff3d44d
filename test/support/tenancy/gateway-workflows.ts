// Workflows as the server opens them, on a real gateway and without knowledge.
import { knowledgeSearchOf } from '../../../src/app/workflow-services.ts';
import type { CompletionGateway } from '../../../src/app/workflow-services.ts';
import { documentIntakeOf, languageModelOf } from '../../../src/app/workflow-services.ts';
import { systemClock, systemIds } from '../../../src/core/index.ts';
import type { Workflow } from '../../../src/tenancy/index.ts';
import { openWorkflows } from '../../../src/tenancy/open-tenancy.ts';
import { emptyKnowledgeServices } from '../knowledge-services.ts';

export function openGatewayWorkflows(
  gateway: CompletionGateway,
  closing: AsyncDisposableStack,
  schemaLimits: { readonly timeoutMs?: number } = {},
): readonly Workflow[] {
  return openWorkflows(
    {
      clock: systemClock,
      ids: systemIds,
      model: languageModelOf(gateway),
      search: knowledgeSearchOf(emptyKnowledgeServices),
      ingest: documentIntakeOf(emptyKnowledgeServices),
      schemaLimits,
    },
    closing,
  );
}
